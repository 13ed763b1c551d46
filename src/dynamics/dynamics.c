// Dynamics of a model from one place: a plan and a state for each algorithm, made when it is first asked for.
#include "dynamics/dynamics.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/activation.h"
#include <math.h>
#include <string.h>

static const char* const names[ALGORITHMS] = {"aba", "rnea", "crba", "kinematics", "energy"};

cal_status cal_dynamics_create(const cal_model* model, cal_dynamics** out, cal_error* error) {
    if (!out || !model) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_dynamics_create: arguments must not be NULL");
    cal_dynamics* d = *out = cal_allocate(1, sizeof *d);
    if (!d) return cal_fail(error, CAL_NO_MEMORY, "no memory for a model's dynamics");
    d->model = model;
    d->zeros = cal_allocate((size_t)model->v_count + 1, sizeof *d->zeros);
    d->control = cal_allocate((size_t)model->actuator_count + 1, sizeof *d->control);
    cal_status status = cal_machine_serial(0, &d->machine, error);
    if (!status && (!d->zeros || !d->control)) status = cal_fail(error, CAL_NO_MEMORY, "no memory for dynamics");
    if (!status) {
        for (int i = 0; i < model->actuator_count; i++) d->control[i] = cal_motor_start(&model->actuators[i]);
        return CAL_OK;
    }
    cal_dynamics_destroy(d);
    *out = NULL;
    return status;
}

void cal_dynamics_destroy(cal_dynamics* dynamics) {
    if (!dynamics) return;
    for (int i = 0; i < ALGORITHMS; i++) {
        cal_state_destroy(dynamics->states[i]);
        cal_plan_destroy(dynamics->plans[i]);
    }
    cal_machine_destroy(dynamics->machine);
    cal_dynamics_slopes_destroy(dynamics->slopes);
    cal_coupled_destroy(dynamics->coupled);
    cal_free(dynamics->zeros);
    cal_free(dynamics->control);
    cal_free(dynamics);
}

// The state of an algorithm at q, and at v where it is given; zero else.
static cal_status prepare(cal_dynamics* d, algorithm which, const double* q, const double* v, cal_state** out) {
    if (!d || !q) return CAL_BAD_ARGUMENT;
    cal_status status = CAL_OK;
    if (!d->plans[which]) status = cal_plan_create(d->model, names[which], d->machine, &d->plans[which], NULL);
    if (!status && !d->states[which]) status = cal_state_create(d->plans[which], &d->states[which]);
    if (status) return status;
    *out = d->states[which];
    status = cal_state_set(*out, CAL_Q, q);
    if (!status && cal_state_size(*out, CAL_V) > 0) status = cal_state_set(*out, CAL_V, v ? v : d->zeros);
    return status;
}

static cal_status execute(cal_dynamics* d, algorithm which, cal_field field, double* out) {
    if (!out) return CAL_BAD_ARGUMENT;
    const cal_status status = cal_plan_execute(d->plans[which], d->states[which], NULL);
    return status ? status : cal_state_get(d->states[which], field, out);
}

cal_status cal_dynamics_forward(cal_dynamics* dynamics, const double* q, const double* v, const double* tau,
                                const double* control, double* qdd) {
    cal_state* state = NULL;
    cal_status status = prepare(dynamics, FORWARD, q, v, &state);
    if (status) return status;
    status = cal_state_set(state, CAL_TAU, tau ? tau : dynamics->zeros);
    if (!status && dynamics->model->actuator_count > 0)
        status = cal_state_set(state, CAL_CONTROL, control ? control : dynamics->control);
    return status ? status : execute(dynamics, FORWARD, CAL_QDD, qdd);
}

cal_status cal_dynamics_inverse(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd,
                                double* tau) {
    cal_state* state = NULL;
    cal_status status = prepare(dynamics, INVERSE, q, v, &state);
    if (!status) status = cal_state_set(state, CAL_QDD, qdd ? qdd : dynamics->zeros);
    return status ? status : execute(dynamics, INVERSE, CAL_TAU, tau);
}

cal_status cal_dynamics_mass(cal_dynamics* dynamics, const double* q, double* mass) {
    cal_state* state = NULL;
    const cal_status status = prepare(dynamics, MASS, q, NULL, &state);
    return status ? status : execute(dynamics, MASS, CAL_MASS, mass);
}

cal_status cal_dynamics_poses(cal_dynamics* dynamics, const double* q, double* poses) {
    cal_state* state = NULL;
    const cal_status status = prepare(dynamics, KINEMATICS, q, NULL, &state);
    return status ? status : execute(dynamics, KINEMATICS, CAL_POSE, poses);
}

cal_status cal_dynamics_energy(cal_dynamics* dynamics, const double* q, const double* v, double energy[2]) {
    cal_state* state = NULL;
    const cal_status status = prepare(dynamics, ENERGY, q, v, &state);
    return status ? status : execute(dynamics, ENERGY, CAL_ENERGY, energy);
}

cal_status cal_dynamics_jacobian(cal_dynamics* dynamics, const double* q, int body, const double point[3],
                                 double* jacobian) {
    cal_state* state = NULL;
    cal_status status = prepare(dynamics, KINEMATICS, q, NULL, &state);
    if (!status) status = cal_plan_execute(dynamics->plans[KINEMATICS], state, NULL);
    return status ? status : cal_state_jacobian(state, body, point, jacobian);
}

// Adds what a body's share of the mass makes of its own centre and Jacobian.
static cal_status add_center(const cal_state* state, int body, double share, const double* pose, double* own,
                             double center[3], double* jacobian) {
    const cal_model* model = state->plan->model;
    const double* local = model->bodies[body].def->center;
    double R[9], arm[3];
    cal_quaternion_matrix(pose + 3, R);
    cal_rotate3(R, local, arm);
    for (int i = 0; center && i < 3; i++) center[i] += share * (pose[i] + arm[i]);
    if (!jacobian) return CAL_OK;
    const cal_status status = cal_state_jacobian(state, body, local, own);
    for (int i = 0; !status && i < 3 * model->v_count; i++) jacobian[i] += share * own[i];
    return status;
}

cal_status cal_dynamics_center(cal_dynamics* dynamics, const double* q, double center[3], double* jacobian) {
    cal_state* state = NULL;
    cal_status status = prepare(dynamics, KINEMATICS, q, NULL, &state);
    if (status) return status;
    const cal_model* model = dynamics->model;
    const double mass = cal_model_mass(model);
    if (!(mass > 0.0)) return CAL_BAD_MODEL;
    if (!isfinite(mass)) return CAL_NOT_FINITE;
    const size_t bodies = (size_t)model->body_count, degrees = (size_t)model->v_count;
    double* poses = cal_allocate(7 * bodies + 6 * degrees, sizeof *poses);
    if (!poses) return CAL_NO_MEMORY;
    if (center) memset(center, 0, 3 * sizeof *center);
    if (jacobian) memset(jacobian, 0, 3 * degrees * sizeof *jacobian);
    status = execute(dynamics, KINEMATICS, CAL_POSE, poses);
    for (int i = 0; !status && i < model->body_count; i++)
        if (model->mounts[i].node >= 0)
            status = add_center(state, i, model->bodies[i].def->mass / mass, poses + 7 * (size_t)i, poses + 7 * bodies,
                                center, jacobian);
    cal_free(poses);
    return status;
}

cal_status cal_dynamics_site(cal_dynamics* dynamics, const double* q, int site, double pose[7], double* jacobian) {
    if (!dynamics || site < 0 || site >= cal_model_site_count(dynamics->model)) return CAL_BAD_ARGUMENT;
    cal_site_def def;
    cal_model_site(dynamics->model, site, &def);
    double turn[4];
    memcpy(turn, def.quaternion, sizeof turn);
    cal_quaternion_normalize(turn);
    if (def.body == CAL_GROUND) {
        if (pose) {
            memcpy(pose, def.position, sizeof def.position);
            memcpy(pose + 3, turn, sizeof turn);
        }
        if (jacobian) memset(jacobian, 0, 6 * (size_t)dynamics->model->v_count * sizeof *jacobian);
        return q ? CAL_OK : CAL_BAD_ARGUMENT;
    }
    const size_t count = (size_t)dynamics->model->body_count;
    double* poses = pose ? cal_allocate(7 * count, sizeof *poses) : NULL;
    if (pose && !poses) return CAL_NO_MEMORY;
    cal_status status = pose ? cal_dynamics_poses(dynamics, q, poses) : CAL_OK;
    if (!status && pose) {
        const double* body = poses + 7 * def.body;
        double R[9];
        cal_quaternion_matrix(body + 3, R);
        cal_rotate3(R, def.position, pose);
        for (int i = 0; i < 3; i++) pose[i] += body[i];
        cal_quaternion_multiply(body + 3, turn, pose + 3);
    }
    cal_free(poses);
    return status || !jacobian ? status : cal_dynamics_jacobian(dynamics, q, def.body, def.position, jacobian);
}
