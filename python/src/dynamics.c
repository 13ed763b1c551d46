// Forward and inverse dynamics, mass matrix, Jacobians, poses and energy of a model at any q and v.
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "calder_python.h"

// Forward dynamics takes some 50 ns per degree of freedom: from here on a call is long enough (10 µs) to let other threads run.
enum { LARGE_MODEL = 200 };

// One call: a model, its dynamics, and what came in.
typedef struct call {
    model_object* model;
    cal_dynamics* dynamics;
    numbers q, v, third, control, point;
    PyThreadState* thread;
} call;

static void end(call* c) {
    numbers_release(&c->q);
    numbers_release(&c->v);
    numbers_release(&c->third);
    numbers_release(&c->control);
    numbers_release(&c->point);
    if (c->dynamics) model_return_dynamics(c->model, c->dynamics);
}

static void empty(numbers* n) {
    n->data = NULL;
    n->viewed = false;
    n->kept = NULL;
    n->owned = NULL;
}

// Where something is missing, an exception is set and nothing is to be ended.
static bool begin(call* c, PyObject* model, PyObject* q, PyObject* v, PyObject* third, const char* third_name,
                  PyObject* control) {
    c->dynamics = NULL;
    empty(&c->q), empty(&c->v), empty(&c->third), empty(&c->control), empty(&c->point);
    c->model = model_check(model);
    if (!c->model) return false;
    const int nv = c->model->v_count;
    if (numbers_take_vector(q, "q", c->model->q_count, &c->q) && numbers_take_vector(v, "v", nv, &c->v) &&
        numbers_take_vector(third, third_name, nv, &c->third) &&
        numbers_take_vector(control, "control", c->model->actuator_count, &c->control))
        c->dynamics = model_borrow_dynamics(c->model);
    if (c->dynamics) return true;
    end(c);
    return false;
}

static void leave(call* c) { c->thread = c->model->v_count >= LARGE_MODEL ? PyEval_SaveThread() : NULL; }
static void come_back(call* c) {
    if (c->thread) PyEval_RestoreThread(c->thread);
}

// The result, or an exception.
static PyObject* finish(call* c, cal_status status, const cal_error* error, void* out) {
    end(c);
    if (status == CAL_OK) return out;
    Py_XDECREF((PyObject*)out);
    return error_raise(status, error);
}

// A result of two: a vector and a matrix, and where their numbers are.
static PyObject* pair(int count, int rows, int columns, double** vector, double** matrix) {
    array *first = array_create_vector(count), *second = array_create_matrix(rows, columns);
    PyObject* both = first && second ? PyTuple_Pack(2, first, second) : NULL;
    if (both) *vector = first->data, *matrix = second->data;
    Py_XDECREF((PyObject*)first);
    Py_XDECREF((PyObject*)second);
    return both;
}

static bool wants_constraints(PyObject* object, const cal_model* model, bool* out) {
    const int value = object ? PyObject_IsTrue(object) : 0;
    *out = value > 0 && cal_model_constraint_count(model) > 0;
    return value >= 0;
}

static PyObject* forward(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "tau", "control", "constraints", NULL};
    PyObject* values[6];
    call c;
    bool constrained;
    cal_error error = {CAL_OK, ""};
    if (!arguments_take("forward", names, 3, 5, args, count, keywords, values) ||
        !begin(&c, values[0], values[1], values[2], values[3], "tau", values[4]))
        return NULL;
    array* out = array_create_vector(c.model->v_count);
    if (!out || !wants_constraints(values[5], c.model->model, &constrained)) {
        Py_XDECREF((PyObject*)out);
        end(&c);
        return NULL;
    }
    leave(&c);
    cal_status status = cal_dynamics_forward(c.dynamics, c.q.data, c.v.data, c.third.data, c.control.data, out->data);
    if (!status && constrained) status = cal_loops_forward(c.model->model, 0.0, c.q.data, c.v.data, out->data, &error);
    come_back(&c);
    return finish(&c, status, &error, out);
}

static PyObject* inverse(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "qdd", "constraints", NULL};
    PyObject* values[5];
    call c;
    bool constrained;
    cal_error error = {CAL_OK, ""};
    if (!arguments_take("inverse", names, 3, 4, args, count, keywords, values) ||
        !begin(&c, values[0], values[1], values[2], values[3], "qdd", NULL))
        return NULL;
    array *out = array_create_vector(c.model->v_count), *zeros = NULL;
    bool ready = out && wants_constraints(values[4], c.model->model, &constrained);
    if (ready && !c.third.data) ready = (zeros = array_create_vector(c.model->v_count)) != NULL;
    if (!ready) {
        Py_XDECREF((PyObject*)out);
        end(&c);
        return NULL;
    }
    const double* qdd = zeros ? zeros->data : c.third.data;
    leave(&c);
    cal_status status = cal_dynamics_inverse(c.dynamics, c.q.data, c.v.data, qdd, out->data);
    if (!status && constrained)
        status = cal_loops_inverse(c.model->model, 0.0, c.q.data, c.v.data, qdd, NULL, out->data, &error);
    come_back(&c);
    Py_XDECREF((PyObject*)zeros);
    return finish(&c, status, &error, out);
}

// What needs no more than q: a matrix of so many rows and columns by a function of the engine.
static PyObject* from_position(PyObject* model, PyObject* q, int rows, int columns,
                               cal_status (*compute)(cal_dynamics*, const double*, double*)) {
    call c;
    if (!begin(&c, model, q, NULL, NULL, "", NULL)) return NULL;
    array* out = array_create_matrix(rows, columns);
    if (!out) {
        end(&c);
        return NULL;
    }
    leave(&c);
    const cal_status status = compute(c.dynamics, c.q.data, out->data);
    come_back(&c);
    return finish(&c, status, NULL, out);
}

// The engine's own limit of dense matrices; else an exception is set.
static bool is_small(const model_object* model, const char* what) {
    enum { MOST = 20000 };
    if (model->v_count > MOST)
        PyErr_Format(PyExc_ValueError, "%s of %d degrees of freedom is too large; the limit is %d", what,
                     model->v_count, MOST);
    return model->v_count <= MOST;
}

static PyObject* mass_matrix(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", NULL};
    PyObject* values[2];
    if (!arguments_take("mass_matrix", names, 2, 2, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    if (!model) return NULL;
    return is_small(model, "a mass matrix")
               ? from_position(values[0], values[1], model->v_count, model->v_count, cal_dynamics_mass)
               : NULL;
}

static PyObject* poses(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", NULL};
    PyObject* values[2];
    if (!arguments_take("poses", names, 2, 2, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    if (!model) return NULL;
    return from_position(values[0], values[1], cal_model_body_count(model->model), 7, cal_dynamics_poses);
}

// The same of a point of a body; without one its origin.
static bool begin_at(call* c, PyObject* model, PyObject* q, PyObject* v, PyObject* qdd, PyObject* point) {
    static double origin[3] = {0, 0, 0};
    if (!begin(c, model, q, v, qdd, "qdd", NULL)) return false;
    if (!numbers_take_vector(point, "point", 3, &c->point)) {
        empty(&c->point);
        end(c);
        return false;
    }
    if (!c->point.data) c->point.data = origin;
    return true;
}

static PyObject* jacobian(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "body", "point", NULL};
    PyObject* values[4];
    call c;
    if (!arguments_take("jacobian", names, 3, 4, args, count, keywords, values)) return NULL;
    model_object* model = model_check(values[0]);
    const int body = model ? model_find(model, NAMES_BODY, values[2]) : -1;
    array* out = body >= 0 ? array_create_matrix(6, model->v_count) : NULL;
    if (!out || !begin_at(&c, values[0], values[1], NULL, NULL, values[3])) {
        Py_XDECREF((PyObject*)out);
        return NULL;
    }
    return finish(&c, cal_dynamics_jacobian(c.dynamics, c.q.data, body, c.point.data, out->data), NULL, out);
}

static PyObject* site(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "site", NULL};
    PyObject* values[3];
    call c;
    if (!arguments_take("site", names, 3, 3, args, count, keywords, values)) return NULL;
    model_object* model = model_check(values[0]);
    const int index = model ? model_find(model, NAMES_SITE, values[2]) : -1;
    if (index < 0) return NULL;
    double *pose, *matrix;
    PyObject* both = pair(7, 6, model->v_count, &pose, &matrix);
    if (!both || !begin(&c, values[0], values[1], NULL, NULL, "", NULL)) {
        Py_XDECREF(both);
        return NULL;
    }
    return finish(&c, cal_dynamics_site(c.dynamics, c.q.data, index, pose, matrix), NULL, both);
}

static PyObject* motion(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "body", "point", "qdd", NULL};
    PyObject* values[6];
    call c;
    if (!arguments_take("motion", names, 4, 6, args, count, keywords, values)) return NULL;
    model_object* model = model_check(values[0]);
    const int body = model ? model_find(model, NAMES_BODY, values[3]) : -1;
    if (body < 0) return NULL;
    array *velocity = array_create_vector(6), *acceleration = array_create_vector(6);
    PyObject* both = velocity && acceleration ? PyTuple_Pack(2, velocity, acceleration) : NULL;
    Py_XDECREF((PyObject*)velocity);
    Py_XDECREF((PyObject*)acceleration);
    if (!both || !begin_at(&c, values[0], values[1], values[2], values[5], values[4])) {
        Py_XDECREF(both);
        return NULL;
    }
    return finish(&c,
                  cal_dynamics_motion(c.dynamics, c.q.data, c.v.data, c.third.data, body, c.point.data, velocity->data,
                                      acceleration->data),
                  NULL, both);
}

static PyObject* center(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", NULL};
    PyObject* values[2];
    call c;
    if (!arguments_take("center", names, 2, 2, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    double *place, *matrix;
    PyObject* both = model ? pair(3, 3, model->v_count, &place, &matrix) : NULL;
    if (!both || !begin(&c, values[0], values[1], NULL, NULL, "", NULL)) {
        Py_XDECREF(both);
        return NULL;
    }
    return finish(&c, cal_dynamics_center(c.dynamics, c.q.data, place, matrix), NULL, both);
}

// Square matrices, and one with a column per actuator where there are four.
static PyObject* matrices(const model_object* model, int count, double* data[4]) {
    PyObject* all = PyTuple_New(count);
    for (int i = 0; all && i < count; i++) {
        array* one = array_create_matrix(model->v_count, i < 3 ? model->v_count : model->actuator_count);
        if (!one) {
            Py_DECREF(all);
            return NULL;
        }
        data[i] = one->data;
        PyTuple_SetItem(all, i, (PyObject*)one);
    }
    return all;
}

static PyObject* forward_derivatives(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "tau", "control", NULL};
    PyObject* values[5];
    call c;
    double* out[4];
    if (!arguments_take("forward_derivatives", names, 3, 5, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    PyObject* all = model && is_small(model, "a derivative") ? matrices(model, 4, out) : NULL;
    if (!all || !begin(&c, values[0], values[1], values[2], values[3], "tau", values[4])) {
        Py_XDECREF(all);
        return NULL;
    }
    return finish(&c,
                  cal_dynamics_forward_derivatives(c.dynamics, c.q.data, c.v.data, c.third.data, c.control.data, out[0],
                                                   out[1], out[2], out[3]),
                  NULL, all);
}

static PyObject* inverse_derivatives(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "qdd", NULL};
    PyObject* values[4];
    call c;
    double* out[4];
    if (!arguments_take("inverse_derivatives", names, 3, 4, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    PyObject* all = model && is_small(model, "a derivative") ? matrices(model, 3, out) : NULL;
    if (!all || !begin(&c, values[0], values[1], values[2], values[3], "qdd", NULL)) {
        Py_XDECREF(all);
        return NULL;
    }
    return finish(
        &c, cal_dynamics_inverse_derivatives(c.dynamics, c.q.data, c.v.data, c.third.data, out[0], out[1], out[2]),
        NULL, all);
}

static PyObject* displace(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "time", NULL};
    PyObject* values[4];
    call c;
    double time;
    if (!arguments_take("displace", names, 3, 4, args, count, keywords, values) ||
        !arguments_double(values[3], "time", 1, &time) || !begin(&c, values[0], values[1], values[2], NULL, "", NULL))
        return NULL;
    array* out = array_create_vector(c.model->q_count);
    if (out && c.q.data) memcpy(out->data, c.q.data, (size_t)c.model->q_count * sizeof(double));
    if (out) cal_model_displace(c.model->model, c.v.data, time, out->data);
    end(&c);
    return (PyObject*)out;
}

static PyObject* difference(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "to", NULL};
    PyObject* values[3];
    call c;
    numbers to;
    if (!arguments_take("difference", names, 3, 3, args, count, keywords, values)) return NULL;
    const model_object* model = model_check(values[0]);
    if (!model || !numbers_take_vector(values[2], "to", model->q_count, &to)) return NULL;
    if (!begin(&c, values[0], values[1], NULL, NULL, "", NULL)) {
        numbers_release(&to);
        return NULL;
    }
    array* out = array_create_vector(model->v_count);
    if (out) cal_model_difference(model->model, c.q.data, to.data, out->data);
    numbers_release(&to);
    end(&c);
    return (PyObject*)out;
}

static PyObject* energy(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", NULL};
    PyObject* values[3];
    double both[2];
    call c;
    if (!arguments_take("energy", names, 3, 3, args, count, keywords, values) ||
        !begin(&c, values[0], values[1], values[2], NULL, "", NULL))
        return NULL;
    const cal_status status = cal_dynamics_energy(c.dynamics, c.q.data, c.v.data, both);
    end(&c);
    return status ? error_raise(status, NULL) : Py_BuildValue("(dd)", both[0], both[1]);
}

// Seconds per call of cal_dynamics_forward from C, to compare with calls from Python (python/examples/overhead.py).
static PyObject* time_forward(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    (void)module;
    static const char* const names[] = {"model", "q", "v", "tau", "calls", NULL};
    PyObject* values[5];
    call c;
    int calls;
    if (!arguments_take("_time_forward", names, 5, 5, args, count, keywords, values) ||
        !arguments_int(values[4], "calls", 1, 1, &calls) ||
        !begin(&c, values[0], values[1], values[2], values[3], "tau", NULL))
        return NULL;
    array* out = array_create_vector(c.model->v_count);
    struct timespec from, to;
    cal_status status = CAL_OK;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; out && !status && i < calls; i++)
        status = cal_dynamics_forward(c.dynamics, c.q.data, c.v.data, c.third.data, NULL, out->data);
    clock_gettime(CLOCK_MONOTONIC, &to);
    end(&c);
    Py_XDECREF((PyObject*)out);
    if (!out) return NULL;
    const double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    return status ? error_raise(status, NULL) : PyFloat_FromDouble(seconds / calls);
}

#define METHOD(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS
PyMethodDef dynamics_functions[] = {
    {"forward", METHOD(forward),
     "forward(model, q, v, tau=None, control=None, *, constraints=False)\n--\n\n"
     "Accelerations (nv; m/s², rad/s²) under joint forces tau (N, N m; None: zero) and controls (None: the model's "
     "start).\nWith constraints, those that hold from the start act too. Contacts do not act."},
    {"inverse", METHOD(inverse),
     "inverse(model, q, v, qdd=None, *, constraints=False)\n--\n\n"
     "Joint forces (nv; N, N m) that give the accelerations qdd (None: zero) together with springs, dampers, stops "
     "and\n"
     "motors at the model's start controls. With constraints: the smallest forces that give qdd with their help."},
    {"mass_matrix", METHOD(mass_matrix), "mass_matrix(model, q)\n--\n\nThe mass matrix, nv × nv; kg, kg m, kg m²."},
    {"jacobian", METHOD(jacobian),
     "jacobian(model, q, body, point=(0, 0, 0))\n--\n\n"
     "6 × nv: velocity (rows 0 … 2, world's axes) of a point of a body (body's frame, m), and angular velocity (3 … "
     "5)."},
    {"poses", METHOD(poses),
     "poses(model, q)\n--\n\nPosition (m) and quaternion (w, x, y, z) of every body, bodies × 7."},
    {"site", METHOD(site), "site(model, q, site)\n--\n\nThe pose of a site (7 numbers) and its Jacobian (6 × nv)."},
    {"motion", METHOD(motion),
     "motion(model, q, v, body, point=(0, 0, 0), qdd=None)\n--\n\n"
     "Velocity and acceleration (6 each: of the point, and angular; world's axes) of a point of a body at qdd\n"
     "(None: zero, which leaves what velocities alone make)."},
    {"center", METHOD(center),
     "center(model, q)\n--\n\nThe centre of mass of all that can move (m) and the Jacobian of its velocity (3 × nv)."},
    {"forward_derivatives", METHOD(forward_derivatives),
     "forward_derivatives(model, q, v, tau=None, control=None)\n--\n\n"
     "How forward()'s accelerations change with q (along displace()), v and tau (nv × nv each), and with controls, or\n"
     "activations (nv × nu). Constraints and contacts do not act."},
    {"inverse_derivatives", METHOD(inverse_derivatives),
     "inverse_derivatives(model, q, v, qdd=None)\n--\n\n"
     "How inverse()'s joint forces change with q (along displace()), v and qdd: nv × nv each."},
    {"displace", METHOD(displace),
     "displace(model, q, v, time=1)\n--\n\nWhere velocities v that stay what they are take q in a time (s), as a new "
     "array; quaternions stay unit."},
    {"difference", METHOD(difference),
     "difference(model, q, to)\n--\n\nThe velocities (nv) that take the position q to another one in a second: what "
     "displace() undoes."},
    {"energy", METHOD(energy), "energy(model, q, v)\n--\n\nKinetic and potential energy, J."},
    {"_time_forward", METHOD(time_forward),
     "_time_forward(model, q, v, tau, calls)\n--\n\nSeconds per call of the engine's forward dynamics from C."},
    {NULL, NULL, 0, NULL},
};
