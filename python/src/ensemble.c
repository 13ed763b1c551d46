// calder.Ensemble: many instances of one model.
#include <math.h>
#include <string.h>

#include "calder_python.h"

static PyTypeObject* ensemble_type;

cal_ensemble* ensemble_enter(ensemble* self) {
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "the ensemble is being advanced; only one thread at a time may use it");
    else if (!self->ensemble)
        PyErr_SetString(PyExc_ValueError, "the ensemble is closed");
    else if (machine_check(self->machine))
        return self->ensemble;
    return NULL;
}

// --- Making one -----------------------------------------------------------------------------------------------------

static bool read_seed(PyObject* object, uint64_t* out) {
    if (!object) return true;
    *out = PyLong_AsUnsignedLongLong(object);
    return !PyErr_Occurred();
}

// No joint forces, and the model's controls.
static bool remember_start(ensemble* self) {
    const model_object* m = self->model;
    const size_t width = (size_t)m->actuator_count;
    self->tau = PyMem_Calloc((size_t)self->count * (size_t)m->v_count + 1, sizeof *self->tau);
    self->control = PyMem_Calloc((size_t)self->count * width + 1, sizeof *self->control);
    if (!self->tau || !self->control) return false;
    for (int i = 0; i < self->count && width > 0; i++)
        cal_model_initial(m->model, NULL, NULL, self->control + (size_t)i * width);
    return true;
}

static PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    (void)type;
    static char* const names[] = {"model", "n", SIM_KEYWORDS, "spread", "seed", NULL};
    PyObject *values[SIM_KEYWORD_COUNT + 2] = {NULL}, *given = NULL, *number = NULL, *texts;
    shared_machine* machine;
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_error error = {CAL_OK, ""};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|$OOOOOOOOOOOOOOO:Ensemble", (char**)names, &given, &number,
                                     &values[0], &values[1], &values[2], &values[3], &values[4], &values[5], &values[6],
                                     &values[7], &values[8], &values[9], &values[10], &values[11], &values[12],
                                     &values[13], &values[14]))
        return NULL;
    for (int i = 0; i < SIM_KEYWORD_COUNT + 2; i++)
        if (values[i] == Py_None) values[i] = NULL;
    model_object* model = model_check(given);
    if (!model || !arguments_int(number, "n", 1, 1, &def.count) ||
        !arguments_double(values[13], "spread", 0, &def.spread) || !read_seed(values[14], &def.seed) ||
        !arguments_int(values[12], "lanes", 0, 0, &def.lanes) ||
        !sim_def_read(model->model, "rk4", values, &def.sim, &machine, &texts))
        return NULL;
    ensemble* self = PyObject_New(ensemble, ensemble_type);
    if (!self) {
        machine_close(machine);
        Py_DECREF(texts);
        return NULL;
    }
    self->model = (model_object*)Py_NewRef((PyObject*)model);
    self->ensemble = self->lent = NULL;
    self->lendings = 0;
    self->machine = machine;
    self->texts = texts;
    self->tau = self->control = NULL;
    self->count = def.count;
    self->busy = false;
    def.machine = machine->machine;
    PyThreadState* thread = PyEval_SaveThread();
    const cal_status status = cal_ensemble_create_def(model->model, &def, &self->ensemble, &error);
    PyEval_RestoreThread(thread);
    if (status == CAL_OK && remember_start(self)) return (PyObject*)self;
    Py_DECREF((PyObject*)self);
    return status ? error_raise(status, &error) : PyErr_NoMemory();
}

void ensemble_destroy(ensemble* self) {
    cal_ensemble* unused = self->ensemble ? self->ensemble : self->lent;
    self->ensemble = NULL;
    self->lent = self->lendings > 0 ? unused : NULL;
    // As for a simulation: threads that a fork has lost cannot be waited for, and what one of them was advancing is not whole.
    if (!self->lent && machine_is_ours(self->machine) && !self->busy) cal_ensemble_destroy(unused);
}

static void dealloc(PyObject* object) {
    ensemble* self = (ensemble*)object;
    PyTypeObject* type = Py_TYPE(object);
    ensemble_destroy(self);
    machine_close(self->machine);
    Py_XDECREF(self->texts);
    Py_DECREF((PyObject*)self->model);
    PyMem_Free(self->tau);
    PyMem_Free(self->control);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject* close_ensemble(PyObject* object, PyObject* none) {
    (void)none;
    ensemble* self = (ensemble*)object;
    if (!self->busy && !self->ensemble) return Py_NewRef(Py_None);
    if (!ensemble_enter(self)) return NULL;
    ensemble_destroy(self);
    return Py_NewRef(Py_None);
}

static PyObject* enter_with(PyObject* object, PyObject* none) {
    (void)none;
    return Py_NewRef(object);
}

static PyObject* leave_with(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    (void)args, (void)count;
    return close_ensemble(object, NULL);
}

// --- Advancing ------------------------------------------------------------------------------------------------------

// In pieces, between which Python looks for Ctrl-C: where an advance ends changes no bits. The pieces of ranks, which make the same
// calls, do not depend on anybody's clock.
static cal_status advance_to(ensemble* self, double time, cal_error* error) {
    cal_ensemble* e = self->ensemble;
    double now = cal_ensemble_time(e);
    double piece = self->machine->ranks ? fmax((time - now) / 64, PIECE_FIRST) : PIECE_FIRST;
    cal_status status;
    do {
        double target = now + piece;
        if (!(target < time) || !(target > now)) target = time;
        PyThreadState* thread = PyEval_SaveThread();
        const double begin = clock_now();
        status = cal_ensemble_advance(e, target, error);
        const double taken = clock_now() - begin;
        PyEval_RestoreThread(thread);
        if (!self->machine->ranks) piece = piece_next(piece, taken);
        now = target;
        // One that failed rests, and the others have arrived: they go on.
    } while (PyErr_CheckSignals() == 0 && now < time && cal_ensemble_time(e) == now);
    return status;
}

static PyObject* advance(PyObject* object, PyObject* argument) {
    ensemble* self = (ensemble*)object;
    cal_error error = {CAL_OK, ""};
    const double time = PyFloat_AsDouble(argument);
    if (time == -1.0 && PyErr_Occurred()) return NULL;
    if (!isfinite(time)) return PyErr_Format(PyExc_ValueError, "the time to advance to must be finite");
    if (!ensemble_enter(self)) return NULL;
    self->busy = true;
    const cal_status status = advance_to(self, time, &error);
    self->busy = false;
    if (PyErr_Occurred()) return NULL;
    return status ? error_raise(status, &error) : Py_NewRef(Py_None);
}

// So many of the steps that are left, about as many as wished, that the time after all of them has the bits that it has after one
// call: time + left · step.
static int part_of(double time, double step, int left, double wished) {
    int part = wished < left ? (int)fmax(wished, 1) : left;
    const double end = time + left * step;
    while (part < left && part > 0 && (time + part * step) + (left - part) * step != end) part--;
    return part > 0 ? part : left;
}

static cal_status step_in_parts(ensemble* self, const char* solver, double step, int steps, cal_error* error) {
    double wished = self->machine->ranks ? steps : 64, end;
    cal_status status;
    do {
        const double time = cal_ensemble_time(self->ensemble);
        const int part = part_of(time, step, steps, wished);
        PyThreadState* thread = PyEval_SaveThread();
        const double begin = clock_now();
        status = cal_ensemble_step(self->ensemble, solver, step, part, error);
        const double taken = clock_now() - begin;
        PyEval_RestoreThread(thread);
        wished = piece_next(wished, taken);
        steps -= part;
        end = time + part * step;
        // As where it advances: one that failed rests, and the others have arrived.
    } while (PyErr_CheckSignals() == 0 && steps > 0 && step > 0 && cal_ensemble_time(self->ensemble) == end);
    return status;
}

static PyObject* take_steps(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"steps", "step", "solver", NULL};
    ensemble* self = (ensemble*)object;
    PyObject* values[3];
    const char* solver;
    double step;
    int steps;
    cal_error error = {CAL_OK, ""};
    if (!arguments_take("step", names, 2, 3, args, count, keywords, values) ||
        !arguments_int(values[0], "steps", 0, 0, &steps) || !arguments_double(values[1], "step", 0, &step) ||
        !arguments_text(values[2], "solver", "rk4", &solver) || !ensemble_enter(self))
        return NULL;
    self->busy = true;
    const cal_status status = step_in_parts(self, solver, step, steps, &error);
    self->busy = false;
    if (PyErr_Occurred()) return NULL;
    return status ? error_raise(status, &error) : Py_NewRef(Py_None);
}

// --- States ---------------------------------------------------------------------------------------------------------

static PyObject* get_state(PyObject* object, void* closure) {
    ensemble* self = (ensemble*)object;
    const bool velocities = closure != NULL;
    const int width = velocities ? self->model->v_count : self->model->q_count;
    if (!ensemble_enter(self)) return NULL;
    array* out = array_create_matrix(self->count, width);
    cal_status status = CAL_OK;
    for (int i = 0; out && !status && i < self->count; i++) {
        double* row = out->data + (size_t)i * (size_t)width;
        status = cal_ensemble_get(self->ensemble, i, velocities ? NULL : row, velocities ? row : NULL);
    }
    if (out) out->readonly = true;
    if (!status) return (PyObject*)out;
    Py_XDECREF((PyObject*)out);
    return error_raise(status, NULL);
}

// Rows for all instances, or one row that is everybody's.
static bool take_rows(PyObject* object, const char* name, int rows, int width, numbers* out, size_t* stride) {
    numbers_take_vector(NULL, name, 0, out);
    *stride = 0;
    if (!object) return true;
    if (numbers_take(object, name, 1, (Py_ssize_t[]){width}, out)) return true;
    PyErr_Clear();
    *stride = (size_t)width;
    return numbers_take(object, name, 2, (Py_ssize_t[]){rows, width}, out);
}

static const double* row_of(const numbers* n, size_t stride, int row) {
    return n->data ? n->data + stride * (size_t)row : NULL;
}

// Which instances: one, or all.
static bool read_instance(const ensemble* self, PyObject* object, int* first, int* last) {
    *first = 0;
    *last = self->count;
    if (!object) return true;
    const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (value == -1 && PyErr_Occurred()) return false;
    if (value < 0 || value >= self->count) {
        PyErr_Format(PyExc_IndexError, "instance %zd is out of range: there are %d", value, self->count);
        return false;
    }
    *first = (int)value;
    *last = *first + 1;
    return true;
}

static void remember(double* all, int width, int instance, const double* row) {
    if (row) memcpy(all + (size_t)instance * (size_t)width, row, (size_t)width * sizeof *row);
}

static bool apply(ensemble* self, PyObject* q, PyObject* v, PyObject* tau, PyObject* control, PyObject* instance) {
    const model_object* m = self->model;
    numbers given[4];
    size_t strides[4];
    int first, last, taken = 0;
    cal_error error = {CAL_OK, ""};
    if (!read_instance(self, instance, &first, &last)) return false;
    PyObject* const objects[4] = {q, v, tau, control};
    const char* const names[4] = {"q", "v", "tau", "control"};
    const int widths[4] = {m->q_count, m->v_count, m->v_count, m->actuator_count};
    while (taken < 4 &&
           take_rows(objects[taken], names[taken], last - first, widths[taken], &given[taken], &strides[taken]))
        taken++;
    cal_status status = CAL_OK;
    const bool ready = taken == 4 && ensemble_enter(self);
    for (int i = first; ready && !status && i < last; i++) {
        const int row = i - first;
        if (q || v)
            status = cal_ensemble_set(self->ensemble, i, row_of(&given[0], strides[0], row),
                                      row_of(&given[1], strides[1], row));
        if (!status && (tau || control))
            status = cal_ensemble_drive(self->ensemble, i, row_of(&given[2], strides[2], row),
                                        row_of(&given[3], strides[3], row), &error);
        if (!status && tau) remember(self->tau, m->v_count, i, row_of(&given[2], strides[2], row));
        if (!status && control) remember(self->control, m->actuator_count, i, row_of(&given[3], strides[3], row));
        if (status) error_raise(status, &error);
        if (status == CAL_BAD_ARGUMENT && !error.text[0]) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "instance %d: numbers must be finite, and quaternions have a length", i);
        }
    }
    while (taken > 0) numbers_release(&given[--taken]);
    return ready && !status;
}

static PyObject* set(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"q", "v", "tau", "control", "instance", NULL};
    PyObject* values[5];
    if (!arguments_take("set", names, 0, 2, args, count, keywords, values)) return NULL;
    if (!ensemble_enter((ensemble*)object)) return NULL;
    const bool applied = apply((ensemble*)object, values[0], values[1], values[2], values[3], values[4]);
    return applied ? Py_NewRef(Py_None) : NULL;
}

static int set_state(PyObject* object, PyObject* value, void* closure) {
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "states cannot be deleted");
        return -1;
    }
    return apply((ensemble*)object, closure ? NULL : value, closure ? value : NULL, NULL, NULL, NULL) ? 0 : -1;
}

static PyObject* get_driven(PyObject* object, void* closure) {
    ensemble* self = (ensemble*)object;
    const int width = closure ? self->model->actuator_count : self->model->v_count;
    if (!ensemble_enter(self)) return NULL;
    array* out = array_create_matrix(self->count, width);
    if (!out) return NULL;
    memcpy(out->data, closure ? self->control : self->tau, (size_t)self->count * (size_t)width * sizeof(double));
    out->readonly = true;
    return (PyObject*)out;
}

static int set_driven(PyObject* object, PyObject* value, void* closure) {
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "forces and controls cannot be deleted");
        return -1;
    }
    return apply((ensemble*)object, NULL, NULL, closure ? NULL : value, closure ? value : NULL, NULL) ? 0 : -1;
}

static PyObject* forward(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"q", "v", "tau", NULL};
    ensemble* self = (ensemble*)object;
    const model_object* m = self->model;
    PyObject* values[3];
    numbers given[3];
    int taken = 0;
    if (!arguments_take("forward", names, 2, 3, args, count, keywords, values)) return NULL;
    const int widths[3] = {m->q_count, m->v_count, m->v_count};
    for (; taken < 3; taken++) {
        numbers_take_vector(NULL, "", 0, &given[taken]);
        if (values[taken] &&
            !numbers_take(values[taken], names[taken], 2, (Py_ssize_t[]){self->count, widths[taken]}, &given[taken]))
            break;
    }
    array* out = taken == 3 && ensemble_enter(self) ? array_create_matrix(self->count, m->v_count) : NULL;
    cal_status status = CAL_OK;
    if (out) {
        self->busy = true;
        PyThreadState* thread = PyEval_SaveThread();
        status = cal_ensemble_forward(self->ensemble, given[0].data, given[1].data, given[2].data, out->data);
        PyEval_RestoreThread(thread);
        self->busy = false;
    }
    while (taken > 0) numbers_release(&given[--taken]);
    if (!status) return (PyObject*)out;
    Py_XDECREF((PyObject*)out);
    return error_raise(status, NULL);
}

// --- Looking --------------------------------------------------------------------------------------------------------

static PyObject* get_energy(PyObject* object, void* closure) {
    (void)closure;
    ensemble* self = (ensemble*)object;
    if (!ensemble_enter(self)) return NULL;
    array* out = array_create_matrix(self->count, 2);
    cal_status status = CAL_OK;
    for (int i = 0; out && !status && i < self->count; i++)
        status = cal_ensemble_energy(self->ensemble, i, &out->data[2 * i], &out->data[2 * i + 1]);
    if (!status) return (PyObject*)out;
    Py_XDECREF((PyObject*)out);
    return error_raise(status, NULL);
}

static PyObject* get_poses(PyObject* object, void* closure) {
    (void)closure;
    ensemble* self = (ensemble*)object;
    if (!ensemble_enter(self)) return NULL;
    const int bodies = cal_model_body_count(self->model->model);
    array* out = array_create(3, (Py_ssize_t[]){self->count, bodies, 7});
    cal_status status = CAL_OK;
    for (int i = 0; out && !status && i < self->count; i++)
        status = cal_ensemble_poses(self->ensemble, i, out->data + (size_t)i * (size_t)bodies * 7);
    if (!status) return (PyObject*)out;
    Py_XDECREF((PyObject*)out);
    return error_raise(status, NULL);
}

static PyObject* get_time(PyObject* object, void* closure) {
    (void)closure;
    cal_ensemble* e = ensemble_enter((ensemble*)object);
    return e ? PyFloat_FromDouble(cal_ensemble_time(e)) : NULL;
}

static PyObject* get_hash(PyObject* object, void* closure) {
    (void)closure;
    cal_ensemble* e = ensemble_enter((ensemble*)object);
    return e ? PyLong_FromUnsignedLongLong(cal_ensemble_hash(e)) : NULL;
}

static PyObject* get_lanes(PyObject* object, void* closure) {
    (void)closure;
    cal_ensemble* e = ensemble_enter((ensemble*)object);
    return e ? PyLong_FromLong(cal_ensemble_lanes(e)) : NULL;
}

static PyObject* get_model(PyObject* object, void* closure) {
    (void)closure;
    return Py_NewRef((PyObject*)((ensemble*)object)->model);
}

// The instances that rest, with what the engine said about each.
static PyObject* get_failed(PyObject* object, void* closure) {
    (void)closure;
    ensemble* self = (ensemble*)object;
    if (!ensemble_enter(self)) return NULL;
    PyObject* dict = PyDict_New();
    for (int i = 0; dict && i < self->count; i++) {
        cal_error error = {CAL_OK, ""};
        if (cal_ensemble_status(self->ensemble, i, &error) == CAL_OK) continue;
        PyObject* key = PyLong_FromLong(i);
        PyObject* text = PyUnicode_DecodeUTF8(error.text, (Py_ssize_t)strlen(error.text), "replace");
        if (!key || !text || PyDict_SetItem(dict, key, text) < 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(text);
    }
    return dict;
}

static PyObject* get_report(PyObject* object, void* closure) {
    (void)closure;
    cal_ensemble* e = ensemble_enter((ensemble*)object);
    cal_ensemble_report r;
    if (!e) return NULL;
    cal_ensemble_get_report(e, &r);
    return Py_BuildValue("{s:d,s:L,s:L,s:L,s:L,s:i}", "time", r.time, "steps", (long long)r.steps, "rejected",
                         (long long)r.rejected, "evaluations", (long long)r.evaluations, "jacobian_evaluations",
                         (long long)r.jacobian_evaluations, "failed", r.failed);
}

static Py_ssize_t length(PyObject* object) { return ((ensemble*)object)->count; }

#define METHOD(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
    {"advance", advance, METH_O,
     "advance($self, time, /)\n--\n\nAdvances all instances to a time, s. One that fails rests; the others arrive, and "
     "the first\none's line is raised."},
    {"step", METHOD(take_steps),
     "step($self, steps, step, solver='rk4')\n--\n\nTakes so many steps of a fixed size (s) with 'rk4' or 'euler'; "
     "for instances in lanes."},
    {"set", METHOD(set),
     "set($self, q=None, v=None, *, tau=None, control=None, instance=None)\n--\n\nSets states, joint forces (N, N m) "
     "and controls of all instances, or of one: a row for each, or one row for\nall. Setting states restarts solvers."},
    {"forward", METHOD(forward),
     "forward($self, q, v, tau=None)\n--\n\nAccelerations of all instances, n × nv, in lanes; q and v are kept as "
     "their states."},
    {"device", device_view, METH_O,
     "device($self, name, /)\n--\n\nWhere 'q', 'v', 'tau' or 'qdd' of all instances are in the memory of a GPU, for "
     "libraries that take\nDLPack; of machine='cuda'. q and v are those at the end of the last step."},
    {"device_changed", device_changed, METH_NOARGS,
     "device_changed($self)\n--\n\nSays that others wrote q, v or tau there: all instances go on from these numbers."},
    {"device_forward", device_forward, METH_NOARGS,
     "device_forward($self)\n--\n\nForward dynamics of all instances from q, v and tau there into qdd there, without a "
     "copy."},
    {"close", close_ensemble, METH_NOARGS,
     "close($self)\n--\n\nFrees the engine's memory; on a GPU as soon as nobody else uses it."},
    {"__enter__", enter_with, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))leave_with, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"q", get_state, set_state, "Positions, n × nq: a copy to read; assign to change them.", NULL},
    {"v", get_state, set_state, "Velocities, n × nv: a copy to read; assign to change them.", (void*)1},
    {"tau", get_driven, set_driven, "Joint forces that act, n × nv; N, N m: a copy to read; assign to change them.",
     NULL},
    {"control", get_driven, set_driven, "Controls, n × nu: a copy to read; assign to change them.", (void*)1},
    {"time", get_time, NULL, "The present time of all instances, s.", NULL},
    {"hash", get_hash, NULL, "64 bits over time, q and v of all instances.", NULL},
    {"lanes", get_lanes, NULL, "Instances that are advanced side by side; 1: one after the other.", NULL},
    {"model", get_model, NULL, "The model.", NULL},
    {"energy", get_energy, NULL, "Kinetic and potential energy of each instance, n × 2, J.", NULL},
    {"poses", get_poses, NULL, "Position (m) and quaternion of every body, n × bodies × 7.", NULL},
    {"failed", get_failed, NULL, "The instances that rest, with the engine's line on each.", NULL},
    {"report", get_report, NULL, "Steps and evaluations so far, summed over the instances, as a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Ensemble(model, n, *, solver='rk4', tol=1e-4, absolute=0, step=None, largest_step=None, algorithm='aba',\n"
     "         schedule=None, contact=True, stabilize='projection', gain=20, constraint_form='lagrange',\n"
     "         machine='serial', lanes=0, spread=0, seed=0)\n--\n\n"
     "n simulations of one model, which have one time and nothing else in common.\n\n"
     "Trees with solver 'rk4' or 'euler' are advanced side by side, an instance per lane of the processor.\n"
     "spread: uniform noise on every number of the start, by seed."},
    {Py_tp_new, create},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_sq_length, length},
    {0, NULL},
};
static PyType_Spec spec = {"calder.Ensemble", sizeof(ensemble), 0, Py_TPFLAGS_DEFAULT, slots};

bool ensemble_ready(PyObject* module) { return (ensemble_type = type_add(module, &spec)) != NULL; }
