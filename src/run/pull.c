// A hand on a body. The point x of the body that it holds is drawn to the target y,
//
//     f = s(k (y − x)) − d ẋ        k = ω² √(m M),  d = 2 √(k m):  critically damped for the mass m that the hand feels,
//
// where s leaves small forces alone and saturates smoothly at a force that lifts what hangs there. The mass that the hand
// feels comes from the mechanism itself: unit forces at the point along x, y and z give it accelerations, the columns of
// Λ⁻¹; m = 3 / trace Λ⁻¹. Directions in which the joints cannot give count for nothing.
//
// A hand also lifts what the body takes with it, of mass M: all of a model that nothing holds, else what hangs on the body. A
// spring for m alone gives way by g M/(m ω²) under that weight, a fingertip's by metres; one for M alone swings the fingertip
// at ω √(M/m). The spring is one for their geometric mean: either factor becomes its root, and no direction feels a spring
// stiffer than √3 ω (M/m)^¼.
//
// A mouse jumps; the target glides to where the mouse is, within GLIDE seconds.
#include "run/pull.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/subtree.h"
#include "simulation/body.h"
#include "simulation/change.h"
#include "simulation/component.h"
#include "simulation/world.h"

static const double OMEGA = 12;   // rad/s: about two swings a second
static const double GLIDE = 0.03; // s
static const double LIFT = 4;     // times the weight of what hangs there
static const double REACH = 60;   // m/s², of the mass that the hand feels
// Renewals of the force per second, where there are events: a force that is held for 1/rate takes ω/(2 rate), 2.5 %, off its
// damping ratio; a fingertip's of a fiftieth of its robot's mass, 6.7 %.
static const double RATE = 240;

// Acceleration of the point along each axis for a unit force along it: the trace of Λ⁻¹.
static cal_status pull_force(const cal_model* model, int body, const double point[3], const double* q, double* trace) {
    const int v_count = cal_model_v_count(model);
    cal_machine* machine = NULL;
    cal_plan *forward = NULL, *kinematics = NULL;
    cal_state *state = NULL, *pose = NULL;
    double* numbers = cal_allocate(8 * (size_t)v_count + 1, sizeof *numbers);
    double *jacobian = numbers, *rest = numbers + 6 * (size_t)v_count, *qdd = rest + v_count;
    cal_status status = numbers ? cal_machine_serial(0, &machine, NULL) : CAL_NO_MEMORY;
    if (!status) status = cal_plan_create(model, "kinematics", machine, &kinematics, NULL);
    if (!status) status = cal_state_create(kinematics, &pose);
    if (!status) status = cal_state_set(pose, CAL_Q, q);
    if (!status) status = cal_plan_execute(kinematics, pose, NULL);
    if (!status) status = cal_state_jacobian(pose, body, point, jacobian);
    if (!status) status = cal_plan_create(model, "aba", machine, &forward, NULL);
    if (!status) status = cal_state_create(forward, &state);
    if (!status) status = cal_state_set(state, CAL_Q, q);
    if (!status) {
        // At rest: what changes with the force does not depend on velocities.
        memset(qdd, 0, (size_t)v_count * sizeof *qdd);
        status = cal_state_set(state, CAL_V, qdd);
    }
    if (!status) status = cal_plan_execute(forward, state, NULL);
    if (!status) status = cal_state_get(state, CAL_QDD, rest);
    *trace = 0;
    for (int axis = 0; axis < 3 && !status; axis++) {
        const double none[3] = {0, 0, 0}, force[3] = {axis == 0, axis == 1, axis == 2};
        cal_state_release(state);
        status = cal_state_push(state, body, force, none, point);
        if (!status) status = cal_plan_execute(forward, state, NULL);
        if (!status) status = cal_state_get(state, CAL_QDD, qdd);
        for (int i = 0; i < v_count && !status; i++) *trace += jacobian[axis * v_count + i] * (qdd[i] - rest[i]);
    }
    cal_state_destroy(state);
    cal_state_destroy(pose);
    cal_plan_destroy(forward);
    cal_plan_destroy(kinematics);
    cal_machine_destroy(machine);
    cal_free(numbers);
    return status;
}

// The body on the ground that takes this one with it: the root of a model that nothing holds, else the body itself.
static int taken_along(const cal_model* model, int body) {
    int root = body;
    cal_body_def def;
    for (cal_model_body(model, root, &def); def.parent >= 0; cal_model_body(model, root, &def)) root = def.parent;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def kind;
        int owner;
        cal_model_joint(model, joint, &kind, &owner, NULL, NULL);
        if (owner == root) return kind.kind == CAL_FREE ? root : body;
    }
    return body;
}

static void set_spring(cal_pull* pull, double mass, double carried) {
    pull->stiffness = OMEGA * OMEGA * sqrt(mass * fmax(mass, carried));
    pull->damping = 2 * sqrt(pull->stiffness * mass);
}

cal_status cal_pull_start(cal_pull* pull, const cal_model* model, int body, const double point[3], double time,
                          const double* q, cal_error* error) {
    double trace = 0;
    cal_pull_end(pull);
    if (body < 0 || body >= cal_model_body_count(model))
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no body %d to pull", body);
    const cal_status status = pull_force(model, body, point, q, &trace);
    if (status) return cal_fail(error, status, "the body cannot be pulled: %s", cal_status_text(status));
    if (!(trace > DBL_MIN && isfinite(trace)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "this body cannot move: nothing to pull");
    cal_path* path = cal_path_create(model, body);
    uint8_t* member = cal_allocate((size_t)cal_model_body_count(model), 1);
    if (!path || !member) {
        cal_path_destroy(path);
        cal_free(member);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to pull a body");
    }
    const double mass = 3 / trace, carried = cal_mark_subtree(model, taken_along(model, body), member);
    cal_free(member);
    *pull = (cal_pull){.body = body, .path = path, .moved = time, .most = LIFT * 9.81 * carried + REACH * mass};
    set_spring(pull, mass, carried);
    memcpy(pull->point, point, sizeof pull->point);
    cal_body_course motion;
    cal_path_follow(path, q, NULL, &motion);
    cal_body_course_at(&motion, point, pull->target, NULL);
    memcpy(pull->previous, pull->target, sizeof pull->previous);
    return CAL_OK;
}

// --- A body of a world ----------------------------------------------------------------------------------------------------------

// A point of a body (its frame) in the world, and its velocity; the motion is of the centre and the principal axes.
static void point_of(const cal_sim_body* part, const cal_motion* at, const double point[3], double x[3],
                     double velocity[3]) {
    double position[3], quaternion[4], R[9];
    cal_motion_to_frame(part, at, position, quaternion);
    cal_quaternion_matrix(quaternion, R);
    cal_rotate3(R, point, x);
    for (int i = 0; i < 3; i++) x[i] += position[i];
    cal_point_velocity(at, x, velocity);
}

// The mass of everything that moves with a body.
static double mass_with(const cal_world* world, int body) {
    double mass = 0;
    for (int i = 0; i < world->body_count; i++)
        if (world->bodies[i].component == world->bodies[body].component) mass += world->bodies[i].mass;
    return mass;
}

// K of a point is how its velocity answers to an impulse, which is Λ⁻¹.
cal_status cal_pull_start_world(cal_pull* pull, cal_world* world, int body, const double point[3], cal_error* error) {
    cal_pull_end(pull);
    if (cal_world_body(world, body).index < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no body %d to pull", body);
    if (world->bodies[body].component < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "this body cannot be moved: nothing to pull");
    cal_motion at;
    double K[9] = {0}, x[3], velocity[3];
    cal_status status = cal_world_complete(world);
    if (!status) status = cal_body_at(world, body, world->time, &at);
    if (!status) {
        point_of(&world->bodies[body], &at, point, x, velocity);
        status = cal_body_response(world, body, -1, world->time, &at, x, K, NULL);
    }
    if (status) return cal_fail(error, status, "the body cannot be pulled: %s", cal_status_text(status));
    const double trace = K[0] + K[4] + K[8], mass = 3 / trace;
    if (!(trace > DBL_MIN && isfinite(trace)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "this body cannot be moved: nothing to pull");
    const double carried = mass_with(world, body);
    *pull = (cal_pull){.body = body, .moved = world->time, .most = LIFT * 9.81 * carried + REACH * mass};
    set_spring(pull, mass, carried);
    memcpy(pull->point, point, sizeof pull->point);
    memcpy(pull->target, x, sizeof pull->target);
    memcpy(pull->previous, x, sizeof pull->previous);
    return CAL_OK;
}

double cal_pull_next(double time) { return (floor(time * RATE + 1e-9) + 1) / RATE; }

// Only what acts on this body changes: others may have forces of callbacks.
cal_status cal_pull_apply(const cal_pull* pull, cal_world* world, int body, cal_error* error) {
    const double none[3] = {0, 0, 0};
    double force[3];
    int component;
    if (cal_world_body(world, body).index < 0) return CAL_OK;
    if (pull->body != CAL_NONE) cal_pull_world_force(pull, world, force, NULL);
    cal_status status = cal_change_begin(world, body, &component, error);
    if (status) return status;
    const cal_component_ops* ops = cal_body_ops(world, body);
    ops->release(world, body);
    if (pull->body != CAL_NONE) status = ops->push(world, body, force, none, pull->point, error);
    return status ? status : cal_change_end(world, component, error);
}

// --- The law --------------------------------------------------------------------------------------------------------------------

// Where the gliding target is at a time.
static void smooth_target(const cal_pull* pull, double time, double at[3]) {
    const double share = fmin(fmax((time - pull->moved) / GLIDE, 0), 1);
    for (int i = 0; i < 3; i++) at[i] = pull->previous[i] + share * (pull->target[i] - pull->previous[i]);
}

void cal_pull_move(cal_pull* pull, const double target[3], double time) {
    double at[3];
    smooth_target(pull, time, at);
    memcpy(pull->previous, at, sizeof at);
    memcpy(pull->target, target, sizeof pull->target);
    pull->moved = time;
}

void cal_pull_end(cal_pull* pull) {
    cal_path_destroy(pull->path);
    *pull = (cal_pull){.body = CAL_NONE};
}

static void find_force(const cal_pull* pull, double time, const double x[3], const double velocity[3],
                       double force[3]) {
    double at[3], square = 0;
    smooth_target(pull, time, at);
    for (int i = 0; i < 3; i++) {
        force[i] = pull->stiffness * (at[i] - x[i]);
        square += force[i] * force[i];
    }
    const double soft = 1 / sqrt(1 + square / (pull->most * pull->most));
    for (int i = 0; i < 3; i++) force[i] = soft * force[i] - pull->damping * velocity[i];
}

void cal_pull_force(const cal_pull* pull, double time, const double* q, const double* v, double force[3],
                    double position[3]) {
    cal_body_course motion;
    double x[3], velocity[3];
    cal_path_follow(pull->path, q, v, &motion);
    cal_body_course_at(&motion, pull->point, x, velocity);
    find_force(pull, time, x, velocity, force);
    if (position) memcpy(position, x, sizeof x);
}

void cal_pull_world_force(const cal_pull* pull, const cal_world* world, double force[3], double position[3]) {
    cal_motion at;
    double x[3] = {0}, velocity[3] = {0};
    memset(force, 0, 3 * sizeof *force);
    // Reading a motion may continue it, which changes nothing that anybody sees. What cannot be read is not pulled: the next
    // advance says why.
    if (cal_world_complete(world) == CAL_OK && cal_body_at((cal_world*)world, pull->body, world->time, &at) == CAL_OK) {
        point_of(&world->bodies[pull->body], &at, pull->point, x, velocity);
        find_force(pull, world->time, x, velocity, force);
    }
    if (position) memcpy(position, x, sizeof x);
}
