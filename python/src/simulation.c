// calder.Simulation: how it is made, advanced and closed. simulation_state.c has what is seen and changed in between.
//
// Arrays such as sim.q show memory of the Python object, not the engine's own, whose place may change with every call: so an
// array lives as long as anybody holds it. After every call the engine's numbers are copied there; before every call, what
// differs from that copy was written by the user, in whatever way, and goes to the engine.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calder_python.h"
#include <calder/calder_run.h>

PyTypeObject* simulation_type;

// --- Machines -------------------------------------------------------------------------------------------------------

// The machine of all ranks, from the module that knows of MPI; NULL and an exception.
static cal_machine* open_ranks(int lanes, int* rank) {
    cal_machine* machine = NULL;
    PyObject* ranks = PyImport_ImportModule("calder._mpi");
    if (!ranks && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
        cal_error error = {CAL_NOT_AVAILABLE,
                           "machine 'mpi' is not in this installation of the module: no MPI was found"};
        return (cal_machine*)error_raise(error.status, &error);
    }
    PyObject* opened = ranks ? PyObject_CallMethod(ranks, "open", "i", lanes) : NULL;
    if (opened && PyTuple_Check(opened)) {
        cal_error error = {CAL_OK, ""};
        int status;
        const char* line;
        if (PyArg_ParseTuple(opened, "is", &status, &line)) {
            snprintf(error.text, sizeof error.text, "%s", line);
            error_raise((cal_status)status, &error);
        }
    } else if (opened) {
        PyObject* number = PyObject_CallMethod(ranks, "rank", NULL);
        if (number) *rank = (int)PyLong_AsLong(number);
        machine = number ? PyCapsule_GetPointer(opened, "calder.machine") : NULL;
        Py_XDECREF(number);
    }
    Py_XDECREF(opened);
    Py_XDECREF(ranks);
    return machine;
}

// The machine of a GPU.
static cal_machine* open_device(int number, int lanes) {
    cal_machine* machine = NULL;
    PyObject* devices = device_module();
    PyObject* opened = devices ? PyObject_CallMethod(devices, "open", "ii", number, lanes) : NULL;
    cal_error error = {CAL_OK, ""};
    int status;
    const char* line;
    if (opened && !PyTuple_Check(opened)) {
        machine = PyCapsule_GetPointer(opened, "calder.machine");
    } else if (opened && PyArg_ParseTuple(opened, "is", &status, &line)) {
        snprintf(error.text, sizeof error.text, "%s", line);
        error_raise((cal_status)status, &error);
    }
    Py_XDECREF(opened);
    Py_XDECREF(devices);
    return machine;
}

// "cuda" or "cuda:N"; -1: another text.
static int device_number(const char* text) {
    char* end;
    if (strcmp(text, "cuda") == 0) return 0;
    if (strncmp(text, "cuda:", 5) != 0 || text[5] < '0' || text[5] > '9') return -1;
    const long number = strtol(text + 5, &end, 10);
    return *end == '\0' && number <= INT16_MAX ? (int)number : -1;
}

shared_machine* machine_open(const char* text, int lanes) {
    cal_error error = {CAL_OK, ""};
    shared_machine* machine = PyMem_Calloc(1, sizeof *machine);
    if (!machine) return (shared_machine*)PyErr_NoMemory();
    machine->references = 1;
    machine->process = (long)getpid();
    machine->ranks = strcmp(text, "mpi") == 0;
    machine->device = device_number(text) >= 0;
    cal_status status = CAL_OK;
    if (machine->ranks)
        machine->machine = open_ranks(lanes, &machine->rank);
    else if (machine->device)
        machine->machine = open_device(device_number(text), lanes);
    else
        status = cal_machine_from_text(text, lanes, &machine->machine, &error);
    if (machine->machine) return machine;
    PyMem_Free(machine);
    return (shared_machine*)(status ? error_raise(status, &error) : NULL);
}

bool machine_is_ours(const shared_machine* machine) {
    // Asking the system last: it takes longer than the rest of a view of q.
    const bool alone = !machine->ranks && !machine->device && cal_machine_processors(machine->machine) == 1;
    return alone || machine->process == (long)getpid();
}

void machine_close(shared_machine* machine) {
    if (!machine || --machine->references > 0) return;
    // Threads that are not there cannot be waited for.
    if (machine_is_ours(machine)) cal_machine_destroy(machine->machine);
    PyMem_Free(machine);
}

bool machine_check(const shared_machine* machine) {
    if (machine_is_ours(machine)) return true;
    PyErr_SetString(PyExc_RuntimeError, "its threads, ranks or GPU did not come along through os.fork(); make it after "
                                        "the fork, or with machine='serial'");
    return false;
}

// --- How to simulate ------------------------------------------------------------------------------------------------

static bool keep_text(PyObject* texts, PyObject* object, const char* name, const char* fallback, const char** out) {
    return arguments_text(object, name, fallback, out) && (!object || PyList_Append(texts, object) == 0);
}

static bool read_texts(PyObject* const* values, cal_sim_def* def, PyObject* texts) {
    return keep_text(texts, values[0], "solver", def->solver, &def->solver) &&
           keep_text(texts, values[5], "algorithm", def->algorithm, &def->algorithm) &&
           keep_text(texts, values[6], "schedule", def->schedule, &def->schedule) &&
           keep_text(texts, values[8], "stabilize", def->stabilize, &def->stabilize) &&
           keep_text(texts, values[10], "constraint_form", def->constraint_form, &def->constraint_form);
}

// The step is that of fixed-step solvers, which the model may have, and the largest one of the others, as in the command.
static bool read_steps(const cal_model* model, PyObject* const* values, cal_sim_def* def) {
    const bool fixed = cal_solver_has_fixed_step(def->solver);
    const double wish = cal_model_timestep(model);
    double step;
    if (!arguments_double(values[3], "step", fixed && wish > 0 ? wish : 0, &step) ||
        !arguments_double(values[4], "largest_step", 0, &def->largest_step))
        return false;
    if (fixed && (values[3] || step > 0)) def->step = step;
    if (!fixed && values[3] && values[4]) {
        PyErr_SetString(PyExc_ValueError,
                        "of a solver that chooses its steps, step and largest_step are the same thing");
        return false;
    }
    if (!fixed && values[3]) def->largest_step = step;
    return true;
}

bool sim_def_read(const cal_model* model, const char* solver, PyObject* const* values, cal_sim_def* def,
                  shared_machine** machine, PyObject** texts) {
    const char* machine_text;
    int lanes;
    *def = cal_default_sim_def();
    *machine = NULL;
    *texts = PyList_New(0);
    def->solver = solver;
    if (!*texts) return false;
    const int contact = values[7] ? PyObject_IsTrue(values[7]) : 1;
    def->contact = contact != 0;
    if (contact < 0 || !read_texts(values, def, *texts) || !read_steps(model, values, def) ||
        !arguments_double(values[1], "tol", def->relative, &def->relative) ||
        !arguments_double(values[2], "absolute", def->absolute, &def->absolute) ||
        !arguments_double(values[9], "gain", def->gain, &def->gain) ||
        !arguments_text(values[11], "machine", "serial", &machine_text) ||
        !arguments_int(values[12], "lanes", 0, 0, &lanes))
        goto failed;
    *machine = machine_open(machine_text, lanes);
    if (*machine) return true;
failed:
    Py_CLEAR(*texts);
    return false;
}

// --- Making one -----------------------------------------------------------------------------------------------------

static size_t number_count(const model_object* model) {
    return (size_t)model->q_count + 2 * (size_t)model->v_count + (size_t)model->actuator_count;
}

// An object without a simulation; takes new references.
static simulation* make_object(model_object* model, shared_machine* machine, PyObject* texts) {
    const size_t count = number_count(model);
    simulation* self = PyObject_New(simulation, simulation_type);
    double* both = self ? PyMem_Calloc(2 * count + 1, sizeof *both) : NULL;
    if (self) {
        self->model = (model_object*)Py_NewRef((PyObject*)model);
        self->sim = NULL;
        self->run = NULL;
        self->machine = machine;
        self->texts = texts;
        self->shown = both;
        self->known = both ? both + count : NULL;
        self->recordings = NULL;
        self->recording_count = 0;
        self->busy = false;
    } else {
        machine_close(machine);
        Py_XDECREF(texts);
    }
    if (self && both) return self;
    if (self) PyErr_NoMemory();
    Py_XDECREF((PyObject*)self);
    return NULL;
}

// A start that is off its constraints is moved onto them, as the command does.
static cal_status close_loops(cal_sim* sim, const cal_model* model, const cal_sim_def* def, cal_error* error) {
    cal_constraint_report report;
    if (cal_model_constraint_count(model) == 0 || cal_sim_world(sim)) return CAL_OK;
    if (strcmp(def->stabilize, "projection") != 0) return CAL_OK;
    // Where there are no forces yet, the first step says why.
    if (cal_sim_constraints(sim, &report) != CAL_OK || report.error_of == CAL_NONE) return CAL_OK;
    const bool closed = report.error <= CAL_CONNECT_TOLERANCE && report.speed <= CAL_CONNECT_TOLERANCE;
    return closed ? CAL_OK : cal_sim_project(sim, error);
}

static PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    (void)type;
    static char* const names[] = {"model", SIM_KEYWORDS, NULL};
    PyObject *values[SIM_KEYWORD_COUNT] = {NULL}, *given = NULL, *texts;
    shared_machine* machine;
    cal_sim_def def;
    cal_error error = {CAL_OK, ""};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOOOOOOOOOOOO:Simulation", (char**)names, &given, &values[0],
                                     &values[1], &values[2], &values[3], &values[4], &values[5], &values[6], &values[7],
                                     &values[8], &values[9], &values[10], &values[11], &values[12]))
        return NULL;
    for (int i = 0; i < SIM_KEYWORD_COUNT; i++)
        if (values[i] == Py_None) values[i] = NULL;
    model_object* model = model_check(given);
    if (!model || !sim_def_read(model->model, "auto", values, &def, &machine, &texts)) return NULL;
    simulation* self = make_object(model, machine, texts);
    if (!self) return NULL;
    def.machine = machine->machine;
    PyThreadState* thread = PyEval_SaveThread();
    cal_status status = cal_sim_create(model->model, &def, &self->sim, &error);
    if (status == CAL_OK) status = close_loops(self->sim, model->model, &def, &error);
    PyEval_RestoreThread(thread);
    const size_t moving = (size_t)(model->q_count + model->v_count);
    cal_model_initial(model->model, NULL, NULL, self->shown + moving + model->v_count);
    if (status != CAL_OK) error_raise(status, &error);
    if (status == CAL_OK && simulation_look(self)) return (PyObject*)self;
    Py_DECREF((PyObject*)self);
    return NULL;
}

static void destroy(simulation* self) {
    // What has lost its threads in a fork is left as it is: taking it apart would wait for them. So is what another thread was
    // advancing when a fork copied it, which only then can be both busy and unused.
    if (machine_is_ours(self->machine) && !self->busy) {
        cal_run_destroy(self->run);
        cal_sim_destroy(self->sim);
    }
    self->run = NULL;
    self->sim = NULL;
}

static void dealloc(PyObject* object) {
    simulation* self = (simulation*)object;
    PyTypeObject* type = Py_TYPE(object);
    PyObject *raised, *value, *trace; // it may be on its way while this ends
    PyErr_Fetch(&raised, &value, &trace);
    if (self->sim && !self->busy && !recorder_close_all(self)) PyErr_WriteUnraisable(NULL);
    PyErr_Restore(raised, value, trace);
    destroy(self);
    machine_close(self->machine);
    Py_XDECREF(self->texts);
    Py_DECREF((PyObject*)self->model);
    PyMem_Free(self->shown);
    PyObject_Free(self);
    Py_DECREF(type);
}

// --- Between the arrays and the engine ------------------------------------------------------------------------------

bool simulation_look(simulation* self) {
    const model_object* m = self->model;
    const double *q = cal_sim_q(self->sim), *v = cal_sim_v(self->sim);
    if (!q || !v) {
        error_raise(CAL_NOT_FINITE, NULL);
        return false;
    }
    memcpy(self->shown, q, (size_t)m->q_count * sizeof *q);
    memcpy(self->shown + m->q_count, v, (size_t)m->v_count * sizeof *v);
    memcpy(self->known, self->shown, number_count(m) * sizeof *self->known);
    return true;
}

// The part of `shown` from `first` on, where its bits are no longer those that are known; NULL else.
static const double* changed(const simulation* self, size_t first, int count) {
    const size_t size = (size_t)count * sizeof *self->shown;
    return memcmp(self->shown + first, self->known + first, size) ? self->shown + first : NULL;
}

bool simulation_tell(simulation* self, const double* time) {
    const model_object* m = self->model;
    const size_t v_first = (size_t)m->q_count, tau_first = v_first + (size_t)m->v_count,
                 control_first = tau_first + (size_t)m->v_count;
    const size_t size = number_count(m) * sizeof *self->shown;
    if (!time && memcmp(self->shown, self->known, size) == 0) return true;
    cal_error error = {CAL_OK, ""};
    // At another time it is a new start, of all numbers as they are given.
    const double* q = time ? self->shown : changed(self, 0, m->q_count);
    const double* v = time ? self->shown + v_first : changed(self, v_first, m->v_count);
    const double *tau = changed(self, tau_first, m->v_count),
                 *control = changed(self, control_first, m->actuator_count);
    cal_status status = CAL_OK;
    if (tau || control) status = cal_sim_drive(self->sim, tau, control, &error);
    if (status == CAL_OK && (q || v)) {
        status = cal_sim_set(self->sim, time ? *time : cal_sim_time(self->sim), q, v, &error);
        // The forces were taken.
        if (status != CAL_OK) memcpy(self->known + tau_first, self->shown + tau_first, size - tau_first * sizeof *q);
    }
    if (status == CAL_OK) return simulation_look(self);
    memcpy(self->shown, self->known, size);
    error_raise(status, &error);
    return false;
}

cal_sim* simulation_enter(simulation* self) {
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "the simulation is being advanced; only one thread at a time may use it");
    else if (!self->sim)
        PyErr_SetString(PyExc_ValueError, "the simulation is closed");
    else if (machine_check(self->machine) && simulation_tell(self, NULL))
        return self->sim;
    return NULL;
}

cal_run* simulation_run(simulation* self) {
    cal_error error = {CAL_OK, ""};
    if (self->run) return self->run;
    const cal_status status = cal_run_of_sim(self->sim, &self->run, &error);
    if (status) error_raise(status, &error);
    return status ? NULL : self->run;
}

// --- Advancing ------------------------------------------------------------------------------------------------------

double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double piece_next(double piece, double taken) {
    const double wished = 0.05;
    return taken < wished / 2 ? piece * 2 : taken > wished * 2 ? piece / 2 : piece;
}

// In pieces, between which Python looks for Ctrl-C and recordings get their frames. Where an advance ends changes no bits
// (cal_run_grain is 0 for simulations).
static bool advance_to(simulation* self, double time) {
    double now = cal_sim_time(self->sim), piece = PIECE_FIRST;
    do {
        cal_error error = {CAL_OK, ""};
        double target = fmin(now + piece, recorder_due(self, now));
        if (!(target < time) || !(target > now)) target = time;
        const double begin = clock_now();
        PyThreadState* thread = PyEval_SaveThread();
        const cal_status status = cal_sim_advance(self->sim, target, &error);
        PyEval_RestoreThread(thread);
        const double taken = clock_now() - begin;
        if (status != CAL_OK) {
            // The last good state is kept, where there is one.
            if (!simulation_look(self)) PyErr_Clear();
            error_raise(status, &error);
            return false;
        }
        if (!simulation_look(self) || !recorder_write(self, target) || PyErr_CheckSignals() < 0) return false;
        // Ranks make the same calls: their pieces do not depend on anybody's clock.
        if (!self->machine->ranks) piece = piece_next(piece, taken);
        now = target;
    } while (now < time);
    return true;
}

PyObject* simulation_advance(PyObject* object, PyObject* argument) {
    simulation* self = (simulation*)object;
    const double time = PyFloat_AsDouble(argument);
    if (time == -1.0 && PyErr_Occurred()) return NULL;
    if (!isfinite(time)) return PyErr_Format(PyExc_ValueError, "the time to advance to must be finite");
    if (!simulation_enter(self)) return NULL;
    self->busy = true;
    const bool arrived = advance_to(self, time);
    self->busy = false;
    return arrived ? Py_NewRef(Py_None) : NULL;
}

PyObject* simulation_project(PyObject* object, PyObject* none) {
    (void)none;
    simulation* self = (simulation*)object;
    cal_error error = {CAL_OK, ""};
    cal_sim* sim = simulation_enter(self);
    if (!sim) return NULL;
    self->busy = true;
    PyThreadState* thread = PyEval_SaveThread();
    const cal_status status = cal_sim_project(sim, &error);
    PyEval_RestoreThread(thread);
    self->busy = false;
    if (status) return error_raise(status, &error);
    return simulation_look(self) ? Py_NewRef(Py_None) : NULL;
}

PyObject* simulation_fork(PyObject* object, PyObject* none) {
    (void)none;
    simulation* self = (simulation*)object;
    cal_error error = {CAL_OK, ""};
    if (!simulation_enter(self)) return NULL;
    self->machine->references++;
    simulation* other = make_object(self->model, self->machine, Py_XNewRef(self->texts));
    if (!other) return NULL;
    const cal_status status = cal_sim_fork(self->sim, &other->sim, &error);
    memcpy(other->shown, self->shown, number_count(self->model) * sizeof *other->shown);
    if (status) error_raise(status, &error);
    if (status == CAL_OK && simulation_look(other)) return (PyObject*)other;
    Py_DECREF((PyObject*)other);
    return NULL;
}

PyObject* simulation_close(PyObject* object, PyObject* none) {
    (void)none;
    simulation* self = (simulation*)object;
    if (!self->busy && !self->sim) return Py_NewRef(Py_None);
    if (!simulation_enter(self)) return NULL;
    self->busy = true; // finalizers that run meanwhile keep away
    const bool written = recorder_close_all(self);
    self->busy = false;
    destroy(self);
    return written ? Py_NewRef(Py_None) : NULL;
}

PyObject* simulation_enter_with(PyObject* object, PyObject* none) {
    (void)none;
    return Py_NewRef(object);
}

PyObject* simulation_leave_with(PyObject* object, PyObject* const* args, Py_ssize_t count) {
    (void)args, (void)count;
    return simulation_close(object, NULL);
}

static PyObject* represent(PyObject* object) {
    const simulation* self = (simulation*)object;
    PyObject* model = PyObject_Repr((PyObject*)self->model);
    PyObject* time = PyFloat_FromDouble(self->sim && !self->busy ? cal_sim_time(self->sim) : 0);
    PyObject* text = NULL;
    if (model && time && self->sim && !self->busy)
        text = PyUnicode_FromFormat("<calder.Simulation of %U at %R s>", model, time);
    else if (model && time)
        text = PyUnicode_FromFormat("<calder.Simulation of %U, %s>", model, self->sim ? "advancing" : "closed");
    Py_XDECREF((PyObject*)model);
    Py_XDECREF((PyObject*)time);
    return text;
}

PyObject* simulation_record(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return simulation_enter((simulation*)object) ? recorder_open((simulation*)object, args, count, keywords) : NULL;
}
PyObject* simulation_view(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return simulation_enter((simulation*)object) ? viewer_run((simulation*)object, args, count, keywords) : NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Simulation(model, *, solver='auto', tol=1e-4, absolute=0, step=None, largest_step=None, algorithm='aba',\n"
     "           schedule=None, contact=True, stabilize='projection', gain=20, constraint_form='lagrange',\n"
     "           machine='serial', lanes=0)\n--\n\n"
     "A model on its way through time, from its start values at 0 s.\n\n"
     "tol: relative error tolerance. step: of fixed-step solvers (rk4, euler), s; the largest one of others.\n"
     "machine: 'serial', 'threads', 'threads:8', 'mpi', 'cuda', 'cuda:1'. contact: whether shapes that can touch "
     "do.\n\n"
     "q, v, tau and control are arrays that show the present numbers; what is written into them counts from the\n"
     "present time on. One thread at a time may use a simulation: others get RuntimeError."},
    {Py_tp_new, create},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, represent},
    {Py_tp_getset, simulation_properties},
    {Py_tp_methods, simulation_methods},
    {0, NULL},
};
static PyType_Spec spec = {"calder.Simulation", sizeof(simulation), 0, Py_TPFLAGS_DEFAULT, slots};

bool simulation_ready(PyObject* module) {
    simulation_type = type_add(module, &spec);
    return simulation_type && snapshot_ready(module);
}
