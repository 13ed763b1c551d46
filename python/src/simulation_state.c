// What is seen of a simulation, and changed in it; snapshots.
#include <limits.h>
#include <string.h>

#include "calder_python.h"
#include <calder/calder_world.h>

static PyTypeObject *snapshot_type, *contact_type, *energy_type, *balance_type;

// --- q, v, tau, control ---------------------------------------------------------------------------------------------

typedef enum field { FIELD_Q, FIELD_V, FIELD_TAU, FIELD_CONTROL, FIELDS } field;
static const char* const field_names[FIELDS] = {"q", "v", "tau", "control"};

static double* place_of(const simulation* self, field which, int* count) {
    const model_object* m = self->model;
    const int counts[FIELDS] = {m->q_count, m->v_count, m->v_count, m->actuator_count};
    double* place = self->shown;
    for (int i = 0; i < (int)which; i++) place += counts[i];
    *count = counts[which];
    return place;
}

// Before a write the simulation must be free; after it the engine is told, and what it refuses is taken back.
static bool on_write(PyObject* owner, bool after) {
    (void)after;
    return simulation_enter((simulation*)owner) != NULL;
}

static PyObject* get_field(PyObject* object, void* closure) {
    simulation* self = (simulation*)object;
    int count;
    double* place = place_of(self, (field)(intptr_t)closure, &count);
    return simulation_enter(self) ? array_view(object, on_write, place, count) : NULL;
}

static bool write_field(simulation* self, field which, PyObject* value) {
    numbers given;
    int count;
    double* place = place_of(self, which, &count);
    if (!value) return true;
    if (!numbers_take(value, field_names[which], 1, (Py_ssize_t[]){count}, &given)) return false;
    // memmove: it may be the field itself.
    const bool free_now = !self->busy && self->sim;
    if (free_now) memmove(place, given.data, (size_t)count * sizeof *place);
    numbers_release(&given);
    return free_now || simulation_enter(self) != NULL;
}

static int set_field(PyObject* object, PyObject* value, void* closure) {
    simulation* self = (simulation*)object;
    const field which = (field)(intptr_t)closure;
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", field_names[which]);
        return -1;
    }
    if (!simulation_enter(self) || !write_field(self, which, value)) return -1;
    return simulation_enter(self) ? 0 : -1;
}

// All of them, and then the engine is told once.
static PyObject* set(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"q", "v", "tau", "control", "time", NULL};
    simulation* self = (simulation*)object;
    PyObject* values[5];
    double time;
    if (!arguments_take("set", names, 0, 2, args, count, keywords, values)) return NULL;
    if (!simulation_enter(self) || !arguments_double(values[4], "time", 0, &time)) return NULL;
    // A shape that is wrong leaves everything as it was.
    for (int i = 0; i < FIELDS; i++) {
        if (write_field(self, (field)i, values[i])) continue;
        int length;
        double* last = place_of(self, FIELD_CONTROL, &length);
        if (!self->busy && self->sim)
            memcpy(self->shown, self->known, (size_t)(last + length - self->shown) * sizeof(double));
        return NULL;
    }
    // What was taken could run Python code, which may have closed the simulation.
    if (!values[4] || self->busy || !self->sim) return simulation_enter(self) ? Py_NewRef(Py_None) : NULL;
    return simulation_tell(self, &time) ? Py_NewRef(Py_None) : NULL;
}

// --- Looking --------------------------------------------------------------------------------------------------------

static PyObject* get_time(PyObject* object, void* closure) {
    (void)closure;
    cal_sim* sim = simulation_enter((simulation*)object);
    return sim ? PyFloat_FromDouble(cal_sim_time(sim)) : NULL;
}

static PyObject* get_hash(PyObject* object, void* closure) {
    (void)closure;
    cal_sim* sim = simulation_enter((simulation*)object);
    return sim ? PyLong_FromUnsignedLongLong(cal_sim_hash(sim)) : NULL;
}

static PyObject* get_model(PyObject* object, void* closure) {
    (void)closure;
    return Py_NewRef((PyObject*)((simulation*)object)->model);
}

static PyObject* get_closed(PyObject* object, void* closure) {
    (void)closure;
    return PyBool_FromLong(!((simulation*)object)->sim);
}

static PyObject* get_energy(PyObject* object, void* closure) {
    (void)closure;
    cal_sim* sim = simulation_enter((simulation*)object);
    double both[2];
    if (!sim) return NULL;
    const cal_status status = cal_sim_energy(sim, &both[0], &both[1]);
    if (status) return error_raise(status, NULL);
    PyObject* out = PyStructSequence_New(energy_type);
    for (int i = 0; out && i < 2; i++) {
        PyObject* number = PyFloat_FromDouble(both[i]);
        if (!number) Py_CLEAR(out);
        if (number) PyStructSequence_SetItem(out, i, number);
    }
    return out;
}

static PyObject* get_balance(PyObject* object, void* closure) {
    (void)closure;
    cal_sim* sim = simulation_enter((simulation*)object);
    cal_energy_balance b;
    if (!sim) return NULL;
    const cal_status status = cal_sim_balance(sim, &b);
    if (status) return error_raise(status, NULL);
    const double values[] = {b.work, b.loss, b.closing, b.exchanged, b.error, b.relative, b.justified};
    PyObject* out = PyStructSequence_New(balance_type);
    for (int i = 0; out && i < 8; i++) {
        PyObject* item = i < 7 ? PyFloat_FromDouble(values[i]) : PyBool_FromLong(b.exploded);
        if (!item) Py_CLEAR(out);
        if (item) PyStructSequence_SetItem(out, i, item);
    }
    return out;
}

// An array that a function of the engine fills.
static PyObject* filled(PyObject* object, int rows, int columns, cal_status (*fill)(cal_sim*, double*)) {
    cal_sim* sim = simulation_enter((simulation*)object);
    if (!sim) return NULL;
    array* out = columns > 0 ? array_create_matrix(rows, columns) : array_create_vector(rows);
    if (!out) return NULL;
    const cal_status status = fill(sim, out->data);
    if (status == CAL_OK) return (PyObject*)out;
    Py_DECREF((PyObject*)out);
    return error_raise(status, NULL);
}

static PyObject* get_poses(PyObject* object, void* closure) {
    (void)closure;
    return filled(object, cal_model_body_count(((simulation*)object)->model->model), 7, cal_sim_poses);
}

static PyObject* get_accelerations(PyObject* object, void* closure) {
    (void)closure;
    return filled(object, ((simulation*)object)->model->v_count, 0, cal_sim_accelerations);
}

static PyObject* get_joint_forces(PyObject* object, void* closure) {
    (void)closure;
    return filled(object, cal_model_joint_count(((simulation*)object)->model->model), 6, cal_sim_joint_forces);
}

static PyObject* contact_of(const cal_sim* sim, const cal_contact_point* c) {
    PyObject* out = PyStructSequence_New(contact_type);
    PyObject* const items[] = {
        Py_BuildValue("(ii)", cal_sim_body_of(sim, c->body[0]), cal_sim_body_of(sim, c->body[1])),
        Py_BuildValue("(ddd)", c->point[0], c->point[1], c->point[2]),
        Py_BuildValue("(ddd)", c->normal[0], c->normal[1], c->normal[2]), PyFloat_FromDouble(c->gap),
        Py_BuildValue("(ddd)", c->force[0], c->force[1], c->force[2])};
    const int count = (int)(sizeof items / sizeof items[0]);
    bool whole = out != NULL;
    for (int i = 0; i < count; i++) whole = whole && items[i];
    for (int i = 0; i < count; i++) {
        if (whole)
            PyStructSequence_SetItem(out, i, items[i]);
        else
            Py_XDECREF(items[i]);
    }
    if (!whole) Py_CLEAR(out);
    return out;
}

static PyObject* get_contacts(PyObject* object, void* closure) {
    (void)closure;
    cal_sim* sim = simulation_enter((simulation*)object);
    cal_error error = {CAL_OK, ""};
    int count = 0, written = 0;
    if (!sim) return NULL;
    cal_status status = cal_sim_contacts(sim, NULL, 0, &count, &error);
    cal_contact_point* points = status ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *points);
    if (!status && !points) return PyErr_NoMemory();
    if (!status) status = cal_sim_contacts(sim, points, count, &written, &error);
    PyObject* list = status ? error_raise(status, &error) : PyList_New(0);
    for (int i = 0; list && i < count && i < written; i++) {
        PyObject* contact = contact_of(sim, &points[i]);
        if (!contact || PyList_Append(list, contact) < 0) Py_CLEAR(list);
        Py_XDECREF(contact);
    }
    PyMem_Free(points);
    return list;
}

static bool add_all(PyObject* dict, PyObject* more) {
    const bool added = dict && more && PyDict_Update(dict, more) == 0;
    Py_XDECREF(more);
    return added;
}

static PyObject* get_report(PyObject* object, void* closure) {
    (void)closure;
    simulation* self = (simulation*)object;
    cal_sim* sim = simulation_enter(self);
    cal_sim_report r;
    cal_constraint_report c;
    cal_world_report w;
    if (!sim) return NULL;
    cal_sim_get_report(sim, &r);
    PyObject* dict =
        Py_BuildValue("{s:d,s:d,s:i,s:L,s:L,s:L,s:L,s:i}", "time", r.time, "step", r.step, "order", r.order, "steps",
                      (long long)r.steps, "rejected", (long long)r.rejected, "evaluations", (long long)r.evaluations,
                      "jacobian_evaluations", (long long)r.jacobian_evaluations, "processors", cal_sim_processors(sim));
    bool whole = dict != NULL;
    if (whole && cal_model_constraint_count(self->model->model) > 0 && cal_sim_constraints(sim, &c) == CAL_OK)
        whole = add_all(dict, Py_BuildValue("{s:i,s:i,s:d,s:d,s:d,s:d,s:i}", "constraint_rows", c.rows,
                                            "constraint_rank", c.rank, "constraint_error", c.error, "constraint_speed",
                                            c.speed, "constraint_error_max", c.error_max, "constraint_error_rms",
                                            c.error_rms, "singular_positions", c.singular_count));
    if (whole && cal_sim_world(sim) && cal_world_get_report(cal_sim_world(sim), &w) == CAL_OK)
        whole = add_all(dict, Py_BuildValue("{s:L,s:L,s:L,s:L,s:i,s:i,s:i}", "collisions", (long long)w.collisions,
                                            "fusions", (long long)w.fusions, "fissions", (long long)w.fissions,
                                            "rollbacks", (long long)w.rollbacks, "groups", w.groups_now, "asleep",
                                            w.asleep, "start_overlaps", w.start_overlaps));
    if (!whole) Py_CLEAR(dict);
    return dict;
}

// --- Changing -------------------------------------------------------------------------------------------------------

static PyObject* done(cal_status status, const cal_error* error, simulation* self) {
    if (status) return error_raise(status, error);
    return simulation_look(self) ? Py_NewRef(Py_None) : NULL;
}

static PyObject* push(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"body", "force", "torque", "point", NULL};
    static const double zeros[3] = {0, 0, 0};
    simulation* self = (simulation*)object;
    PyObject* values[4];
    numbers given[3];
    int taken = 0;
    if (!arguments_take("push", names, 1, 4, args, count, keywords, values)) return NULL;
    const int body = model_find(self->model, NAMES_BODY, values[0]);
    if (body < 0) return NULL;
    while (taken < 3 && numbers_take_vector(values[taken + 1], names[taken + 1], 3, &given[taken])) taken++;
    cal_status status = CAL_OK;
    const bool ready = taken == 3 && simulation_enter(self);
    if (ready) {
        const double* vectors[3];
        for (int i = 0; i < 3; i++) vectors[i] = given[i].data ? given[i].data : zeros;
        status = cal_sim_push(self->sim, body, vectors[0], vectors[1], vectors[2]);
    }
    while (taken > 0) numbers_release(&given[--taken]);
    return ready ? done(status, NULL, self) : NULL;
}

static PyObject* release(PyObject* object, PyObject* none) {
    (void)none;
    cal_sim* sim = simulation_enter((simulation*)object);
    return sim ? done(cal_sim_release(sim), NULL, (simulation*)object) : NULL;
}

static PyObject* connect(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const char* const names[] = {"constraint", "inelastic", NULL};
    simulation* self = (simulation*)object;
    PyObject* values[2];
    cal_error error = {CAL_OK, ""};
    if (!arguments_take("connect", names, 1, 2, args, count, keywords, values)) return NULL;
    const int constraint = model_find(self->model, NAMES_CONSTRAINT, values[0]);
    if (constraint < 0) return NULL; // before code of the user's runs
    const int inelastic = values[1] ? PyObject_IsTrue(values[1]) : 0;
    if (inelastic < 0 || !simulation_enter(self)) return NULL;
    const cal_connection how = inelastic ? CAL_CONNECT_INELASTIC : CAL_CONNECT_SMOOTH;
    return done(cal_sim_connect(self->sim, constraint, how, &error), &error, self);
}

static PyObject* disconnect(PyObject* object, PyObject* which) {
    simulation* self = (simulation*)object;
    cal_error error = {CAL_OK, ""};
    const int constraint = model_find(self->model, NAMES_CONSTRAINT, which);
    if (constraint < 0 || !simulation_enter(self)) return NULL;
    return done(cal_sim_disconnect(self->sim, constraint, &error), &error, self);
}

static PyObject* connected(PyObject* object, PyObject* which) {
    simulation* self = (simulation*)object;
    const int constraint = model_find(self->model, NAMES_CONSTRAINT, which);
    if (constraint < 0 || !simulation_enter(self)) return NULL;
    return PyBool_FromLong(cal_sim_connected(self->sim, constraint));
}

static PyObject* constraint_forces(PyObject* object, PyObject* which) {
    simulation* self = (simulation*)object;
    cal_constraint_def def;
    const int constraint = model_find(self->model, NAMES_CONSTRAINT, which);
    if (constraint < 0 || !simulation_enter(self)) return NULL;
    cal_model_constraint(self->model->model, constraint, &def);
    array *rows = array_create_vector(cal_constraint_rows(&def, NULL)), *wrench = array_create_vector(6);
    PyObject* both = rows && wrench ? PyTuple_Pack(2, rows, wrench) : NULL;
    const cal_status status =
        both ? cal_sim_constraint_forces(self->sim, constraint, rows->data, wrench->data) : CAL_OK;
    Py_XDECREF((PyObject*)rows);
    Py_XDECREF((PyObject*)wrench);
    if (status == CAL_OK) return both;
    Py_XDECREF(both);
    return error_raise(status, NULL);
}

static PyObject* sensor(PyObject* object, PyObject* which) {
    simulation* self = (simulation*)object;
    cal_sensor_def def;
    cal_error error = {CAL_OK, ""};
    const int number = model_find(self->model, NAMES_SENSOR, which);
    if (number < 0 || !simulation_enter(self)) return NULL;
    cal_model_sensor(self->model->model, number, &def);
    array* out = array_create_vector(cal_sensor_size(def.kind));
    const cal_status status = out ? cal_sim_sensor(self->sim, number, out->data, &error) : CAL_OK;
    if (status == CAL_OK) return (PyObject*)out;
    Py_DECREF((PyObject*)out);
    return error_raise(status, &error);
}

// --- Snapshots ------------------------------------------------------------------------------------------------------

typedef struct snapshot {
    PyObject_HEAD cal_snapshot* snapshot;
    int driven;       // numbers of tau and control
    double* settings; // which are the user's, and are shown again
} snapshot;

static int driven_count(const simulation* self) { return self->model->v_count + self->model->actuator_count; }

static PyObject* take_snapshot(PyObject* object, PyObject* none) {
    (void)none;
    simulation* self = (simulation*)object;
    cal_error error = {CAL_OK, ""};
    int count;
    if (!simulation_enter(self)) return NULL;
    snapshot* out = PyObject_New(snapshot, snapshot_type);
    if (!out) return NULL;
    out->snapshot = NULL;
    out->driven = driven_count(self);
    out->settings = PyMem_Calloc((size_t)out->driven + 1, sizeof *out->settings);
    if (out->settings) {
        memcpy(out->settings, place_of(self, FIELD_TAU, &count), (size_t)out->driven * sizeof *out->settings);
        const cal_status status = cal_sim_snapshot(self->sim, &out->snapshot, &error);
        if (status == CAL_OK) return (PyObject*)out;
        error_raise(status, &error);
    } else {
        PyErr_NoMemory();
    }
    Py_DECREF((PyObject*)out);
    return NULL;
}

static PyObject* restore(PyObject* object, PyObject* from) {
    simulation* self = (simulation*)object;
    cal_error error = {CAL_OK, ""};
    int count;
    if (Py_TYPE(from) != snapshot_type)
        return PyErr_Format(PyExc_TypeError, "a calder.Snapshot is needed, not %R", (PyObject*)Py_TYPE(from));
    if (!simulation_enter(self)) return NULL;
    const snapshot* s = (snapshot*)from;
    const cal_status status = cal_sim_restore(self->sim, s->snapshot, &error);
    if (status) return error_raise(status, &error);
    // The engine found the models equal.
    if (s->driven == driven_count(self))
        memcpy(place_of(self, FIELD_TAU, &count), s->settings, (size_t)s->driven * sizeof *s->settings);
    return simulation_look(self) ? Py_NewRef(Py_None) : NULL;
}

// Pickled as bytes: the engine's, and the user's forces.
static PyObject* reduce_snapshot(PyObject* object, PyObject* none) {
    (void)none;
    const snapshot* self = (snapshot*)object;
    size_t size;
    const char* bytes = cal_snapshot_bytes(self->snapshot, &size);
    PyObject* module = PyImport_ImportModule("calder._calder");
    PyObject* make = module ? PyObject_GetAttrString(module, "_snapshot") : NULL;
    Py_XDECREF(module);
    return make ? Py_BuildValue("N(y#y#)", make, bytes, (Py_ssize_t)size, (const char*)self->settings,
                                (Py_ssize_t)((size_t)self->driven * sizeof *self->settings))
                : NULL;
}

static PyObject* make_snapshot(PyObject* module, PyObject* args) {
    (void)module;
    const char *bytes, *settings;
    Py_ssize_t size, settings_size;
    cal_error error = {CAL_OK, ""};
    if (!PyArg_ParseTuple(args, "y#y#:_snapshot", &bytes, &size, &settings, &settings_size)) return NULL;
    const size_t count = (size_t)settings_size / sizeof(double);
    if (count > INT_MAX || count * sizeof(double) != (size_t)settings_size)
        return PyErr_Format(PyExc_ValueError, "the forces of the snapshot are damaged");
    snapshot* out = PyObject_New(snapshot, snapshot_type);
    if (!out) return NULL;
    out->snapshot = NULL;
    out->driven = (int)count;
    out->settings = PyMem_Calloc(count + 1, sizeof *out->settings);
    cal_status status = CAL_NO_MEMORY;
    if (out->settings) {
        memcpy(out->settings, settings, (size_t)settings_size);
        status = cal_snapshot_from_bytes(bytes, (size_t)size, &out->snapshot, &error);
    }
    if (status == CAL_OK) return (PyObject*)out;
    Py_DECREF((PyObject*)out);
    return error_raise(status, &error);
}

PyMethodDef snapshot_functions[] = {
    {"_snapshot", make_snapshot, METH_VARARGS, "A snapshot from what it was pickled as."},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef snapshot_methods[] = {
    {"__reduce__", reduce_snapshot, METH_NOARGS, "Pickles the snapshot as bytes, for the same version of Calder."},
    {NULL, NULL, 0, NULL},
};

static void dealloc_snapshot(PyObject* object) {
    snapshot* self = (snapshot*)object;
    PyTypeObject* type = Py_TYPE(object);
    cal_snapshot_destroy(self->snapshot);
    PyMem_Free(self->settings);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot snapshot_slots[] = {
    {Py_tp_doc, "The state of a simulation, with everything that a continuation needs; from Simulation.snapshot()."},
    {Py_tp_dealloc, dealloc_snapshot},
    {Py_tp_methods, snapshot_methods},
    {0, NULL},
};
static PyType_Spec snapshot_spec = {"calder.Snapshot", sizeof(snapshot), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, snapshot_slots};

// --- Tables ---------------------------------------------------------------------------------------------------------

#define METHOD(function) (PyCFunction)(void (*)(void)) function
PyMethodDef simulation_methods[] = {
    {"advance", simulation_advance, METH_O,
     "advance($self, time, /)\n--\n\nAdvances to a time, s. Other threads run meanwhile; Ctrl-C ends it on its way."},
    {"project", simulation_project, METH_NOARGS,
     "project($self)\n--\n\nMoves q to where the constraints hold and v to what they allow."},
    {"fork", simulation_fork, METH_NOARGS,
     "fork($self)\n--\n\nAnother simulation in the same state, which goes on by itself with the same bits."},
    {"close", simulation_close, METH_NOARGS,
     "close($self)\n--\n\nCompletes recordings and frees the engine's memory; arrays keep their last numbers."},
    {"record", METHOD(simulation_record), METH_FASTCALL | METH_KEYWORDS,
     "record($self, path, fps=60, columns=None, title=None)\n--\n\nRecords from now on, fps frames per simulated "
     "second, until close() of what\nthis returns or of the simulation: .csv (columns of 'q,v,force,pose,energy,"
     "channels'),\n.glb (glTF animation), .html (a page that plays it)."},
    {"view", METHOD(simulation_view), METH_FASTCALL | METH_KEYWORDS,
     "view($self, *, port=0, open=True, seconds=None, title=None)\n--\n\nShows the simulation live in a browser, and "
     "advances it in real time, until Ctrl-C,\nor for so many seconds of the clock."},
    {"__enter__", simulation_enter_with, METH_NOARGS, NULL},
    {"__exit__", METHOD(simulation_leave_with), METH_FASTCALL, NULL},
    {"set", METHOD(set), METH_FASTCALL | METH_KEYWORDS,
     "set($self, q=None, v=None, *, tau=None, control=None, time=None)\n--\n\nSets several arrays at once; restarts "
     "the solver at the present time, or at another one (s)."},
    {"push", METHOD(push), METH_FASTCALL | METH_KEYWORDS,
     "push($self, body, force=None, torque=None, point=None)\n--\n\nA force (N) and a torque (N m; world's axes) at a "
     "point of a body (body's frame, m)\nfrom now on, until release()."},
    {"release", release, METH_NOARGS, "release($self)\n--\n\nForgets all pushes."},
    {"connect", METHOD(connect), METH_FASTCALL | METH_KEYWORDS,
     "connect($self, constraint, inelastic=False)\n--\n\nLets a constraint hold from now on; inelastic: velocities "
     "jump to what it allows."},
    {"disconnect", disconnect, METH_O, "disconnect($self, constraint, /)\n--\n\nLets go of a constraint."},
    {"connected", connected, METH_O, "connected($self, constraint, /)\n--\n\nWhether a constraint holds."},
    {"constraint_forces", constraint_forces, METH_O,
     "constraint_forces($self, constraint, /)\n--\n\nThe multipliers of its rows, and force and torque on its second "
     "body (N, N m; world's axes)."},
    {"sensor", sensor, METH_O,
     "sensor($self, which, /)\n--\n\nWhat a sensor of the model measures now, by name or number, as a new array."},
    {"snapshot", take_snapshot, METH_NOARGS, "snapshot($self)\n--\n\nThe present state, to come back to."},
    {"restore", restore, METH_O,
     "restore($self, snapshot, /)\n--\n\nGoes to a snapshot: what follows has the same bits as what followed it."},
    {NULL, NULL, 0, NULL},
};

#define FIELD(name, which, doc)                                                                                        \
    { name, get_field, set_field, doc, (void*)(intptr_t)(which) }
PyGetSetDef simulation_properties[] = {
    FIELD("q", FIELD_Q, "Positions, nq numbers; m, rad, quaternions. Writing restarts the solver."),
    FIELD("v", FIELD_V, "Velocities, nv numbers; m/s, rad/s. Writing restarts the solver."),
    FIELD("tau", FIELD_TAU, "Joint forces that act from now on, nv numbers; N, N m."),
    FIELD("control", FIELD_CONTROL, "Controls of the actuators from now on, nu numbers."),
    {"time", get_time, NULL, "The present time, s.", NULL},
    {"hash", get_hash, NULL, "64 bits over the bits of time, q and v; f'{sim.hash:016x}' is what 'calder sim' prints.",
     NULL},
    {"model", get_model, NULL, "The model.", NULL},
    {"closed", get_closed, NULL, "Whether close() was called.", NULL},
    {"energy", get_energy, NULL, "Kinetic and potential energy, J.", NULL},
    {"balance", get_balance, NULL, "Where energy came from and went since the first advance, J.", NULL},
    {"poses", get_poses, NULL, "Position (m) and quaternion (w, x, y, z) of every body, bodies × 7, as a new array.",
     NULL},
    {"accelerations", get_accelerations, NULL, "Accelerations, nv numbers; m/s², rad/s²; as a new array.", NULL},
    {"joint_forces", get_joint_forces, NULL,
     "Force (N) and moment (N m) that act through each joint on its body, world's axes, joints × 6; a new array.",
     NULL},
    {"contacts", get_contacts, NULL, "Where bodies touch now: a list of Contact.", NULL},
    {"report", get_report, NULL, "Steps, evaluations and what else happened so far, as a dict.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyStructSequence_Field contact_fields[] = {
    {"bodies", "the two bodies' numbers; -1: what does not move"},
    {"point", "half way between the two, m"},
    {"normal", "from the second body to the first"},
    {"gap", "m; negative: they overlap by so much"},
    {"force", "on the first body, N, world's axes"},
    {NULL, NULL},
};
static PyStructSequence_Field balance_fields[] = {
    {"work", "done by motors, joint forces, pushes and bodies that are moved, J"},
    {"loss", "in dampers, dry friction, stops, impacts and contacts, J"},
    {"closing", "what closing constraints has added, J"},
    {"exchanged", "the energy that flowed, J"},
    {"error", "what all of it does not add up to, J"},
    {"relative", "error / exchanged"},
    {"justified", "how large that may be by the tolerance"},
    {"exploded", "whether this is no motion of the model any more"},
    {NULL, NULL},
};
static PyStructSequence_Field energy_fields[] = {{"kinetic", "J"}, {"potential", "J"}, {NULL, NULL}};

static PyTypeObject* add_tuple(PyObject* module, PyStructSequence_Desc* description) {
    PyTypeObject* type = PyStructSequence_NewType(description);
    if (!type || PyModule_AddObjectRef(module, strrchr(description->name, '.') + 1, (PyObject*)type) == 0) return type;
    Py_DECREF(type);
    return NULL;
}

bool snapshot_ready(PyObject* module) {
    PyStructSequence_Desc contact = {"calder.Contact", "A point where two bodies touch.", contact_fields, 5};
    PyStructSequence_Desc energy = {"calder.Energy", "Kinetic and potential energy, J.", energy_fields, 2};
    snapshot_type = type_add(module, &snapshot_spec);
    contact_type = add_tuple(module, &contact);
    energy_type = add_tuple(module, &energy);
    PyStructSequence_Desc balance = {"calder.Balance", "Where energy went, J.", balance_fields, 8};
    balance_type = add_tuple(module, &balance);
    return snapshot_type && contact_type && energy_type && balance_type;
}
