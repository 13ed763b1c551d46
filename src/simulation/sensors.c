// What sensors measure, from q, v and accelerations of the whole model.
//
// Accelerations in the world's axes, from the ground to the leaves; gravity is an acceleration of the ground, as an accelerometer feels it.
// With r from a parent's origin to a node's, k the joint's axis, ω and α of the parent where they have no index:
//
//   revolute    a = a_p + α × r + ω × (ω × r)                        α = α_p + k q̈ + ω × k q̇
//   prismatic   a = a_p + α × r + ω × (ω × r) + k q̈ + 2 ω × k q̇     α = α_p
//   ball        as revolute, with R v and R v̇ for k q̇ and k q̈
//   free        a = v̇ − g, α = R ω̇
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "model/angle.h"
#include "model/model.h"
#include "pass/body_frames.h"
#include "pass/coupled_force.h"
#include "pass/joint_law.h"
#include "simulation/contact/group.h"
#include "simulation/shape_ray.h"
#include "simulation/sim.h"
#include "simulation/world.h"
#include <string.h>

typedef struct acceleration {
    double angular[3], linear[3]; // world's axes
} acceleration;

typedef struct looks {
    const cal_model* model;
    const double *q, *v;
    cal_world_motion* motions;
    acceleration* accelerations;
    double *qdd, *forces;
    double* memory;
} looks;

static bool needs_acceleration(cal_sensor_kind kind) {
    return kind == CAL_SENSOR_FRAME_ACCELERATION || kind == CAL_SENSOR_FRAME_ANGULAR_ACCELERATION ||
           kind == CAL_SENSOR_ACCELEROMETER;
}

static bool needs_forces(cal_sensor_kind kind) { return kind == CAL_SENSOR_FORCE || kind == CAL_SENSOR_TORQUE; }

// --- Accelerations ---------------------------------------------------------------------------------------------------------

static void add_cross(const double a[3], const double b[3], double factor, double out[3]) {
    double product[3];
    cal_cross3(a, b, product);
    for (int i = 0; i < 3; i++) out[i] += factor * product[i];
}

// a of a point at r from the origin of what moves so.
static void move_point(const double angular[3], const acceleration* at, const double r[3], double out[3]) {
    double swing[3];
    cal_cross3(angular, r, swing);
    memcpy(out, at->linear, sizeof at->linear);
    add_cross(at->angular, r, 1.0, out);
    add_cross(angular, swing, 1.0, out);
}

static void accelerate_node(const looks* l, int n) {
    static const double still[3] = {0.0, 0.0, 0.0};
    const cal_node* node = &l->model->nodes[n];
    const cal_world_motion* own = &l->motions[n];
    const double *qd = l->v + node->first_v, *qdd = l->qdd + node->first_v, *g = l->model->gravity;
    acceleration ground = {{0.0}, {-g[0], -g[1], -g[2]}}, *out = &l->accelerations[n];
    const acceleration* parent = node->parent < 0 ? &ground : &l->accelerations[node->parent];
    const double* angular = node->parent < 0 ? still : l->motions[node->parent].angular;
    double r[3], rate[3] = {0}, change[3] = {0};
    for (int i = 0; i < 3; i++)
        r[i] = own->position[i] - (node->parent < 0 ? 0.0 : l->motions[node->parent].position[i]);
    if (node->kind == CAL_FREE) {
        for (int i = 0; i < 3; i++) out->linear[i] = qdd[i] - g[i];
        cal_rotate3(own->rotation, qdd + 3, out->angular);
        return;
    }
    const bool ball = node->kind == CAL_BALL;
    for (int i = 0; i < 3; i++) rate[i] = ball ? qd[i] : i == 2 ? qd[0] : 0.0;
    for (int i = 0; i < 3; i++) change[i] = ball ? qdd[i] : i == 2 ? qdd[0] : 0.0;
    cal_rotate3(own->rotation, rate, rate);
    cal_rotate3(own->rotation, change, change);
    *out = *parent;
    move_point(angular, parent, r, out->linear);
    double* grows = node->kind == CAL_PRISMATIC ? out->linear : out->angular;
    for (int i = 0; i < 3; i++) grows[i] += change[i];
    add_cross(angular, rate, node->kind == CAL_PRISMATIC ? 2.0 : 1.0, grows);
}

// --- Frames ----------------------------------------------------------------------------------------------------------------

typedef struct frame {
    int node; // −1: it does not move
    double origin[3], rotation[9], velocity[3], angular[3];
} frame;

static void place_frame(const looks* l, int body, const double position[3], const double quaternion[4], frame* out) {
    static const double one[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const cal_placed at = {(const double*)l->motions, (size_t)CAL_DOUBLES(cal_world_motion), l->q, NULL};
    double own[9], mounted[9], arm[3];
    *out = (frame){.node = -1};
    out->node = cal_place_point(l->model, &at, body, position, out->origin);
    cal_quaternion_matrix(quaternion, own);
    cal_multiply33(body == CAL_GROUND ? one : l->model->mounts[body].rotation, own, mounted);
    cal_multiply33(out->node < 0 ? one : l->motions[out->node].rotation, mounted, out->rotation);
    if (out->node < 0) return;
    const cal_world_motion* motion = &l->motions[out->node];
    memcpy(out->angular, motion->angular, sizeof out->angular);
    for (int i = 0; i < 3; i++) arm[i] = out->origin[i] - motion->position[i];
    memcpy(out->velocity, motion->linear, sizeof out->velocity);
    add_cross(motion->angular, arm, 1.0, out->velocity);
}

static void place(const looks* l, const cal_sensor_def* def, frame* out) {
    place_frame(l, def->body, def->position, def->quaternion, out);
}

// The frame as it is seen from the sensor's reference: v − v_r − ω_r × (p − p_r), ω − ω_r, all in the reference's axes.
static void refer(const looks* l, const cal_sensor_def* def, frame* f) {
    frame r;
    double apart[3], turned[9];
    if (def->reference == CAL_NONE) return;
    place_frame(l, def->reference, def->reference_position, def->reference_quaternion, &r);
    for (int i = 0; i < 3; i++) {
        apart[i] = f->origin[i] - r.origin[i];
        f->velocity[i] -= r.velocity[i];
        f->angular[i] -= r.angular[i];
    }
    add_cross(r.angular, apart, -1.0, f->velocity);
    cal_unrotate3(r.rotation, apart, f->origin);
    cal_unrotate3(r.rotation, f->velocity, f->velocity);
    cal_unrotate3(r.rotation, f->angular, f->angular);
    cal_transpose_multiply33(r.rotation, f->rotation, turned);
    memcpy(f->rotation, turned, sizeof turned);
}

static void frame_acceleration(const looks* l, const frame* f, acceleration* out) {
    const double* g = l->model->gravity;
    *out = (acceleration){{0.0}, {-g[0], -g[1], -g[2]}};
    if (f->node < 0) return;
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = f->origin[i] - l->motions[f->node].position[i];
    memcpy(out->angular, l->accelerations[f->node].angular, sizeof out->angular);
    move_point(f->angular, &l->accelerations[f->node], arm, out->linear);
}

// What the joint of a body carries, in a frame of it: the last joint's force, and its moment moved to the frame's origin.
static cal_status joint_wrench(const looks* l, const cal_sensor_def* def, const frame* f, bool torque, double* out,
                               cal_error* error) {
    int joint = -1;
    for (int i = 0; i < l->model->joint_count; i++)
        if (l->model->joints[i].body == def->body && l->model->joints[i].node == l->model->mounts[def->body].node)
            joint = i;
    if (joint < 0)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "sensor \"%.60s\": its body is fixed to another one, and no joint is there",
                        def->name ? def->name : "force");
    const double* forces = l->forces + 6 * (size_t)joint;
    double moment[3], arm[3];
    for (int i = 0; i < 3; i++) arm[i] = l->motions[f->node].position[i] - f->origin[i];
    memcpy(moment, forces + 3, sizeof moment);
    add_cross(arm, forces, 1.0, moment);
    cal_unrotate3(f->rotation, torque ? moment : forces, out);
    return CAL_OK;
}

static bool hangs_from(const looks* l, int body, int top) {
    while (body != CAL_GROUND && body != top) body = l->model->bodies[body].parent;
    return body == top;
}

// Centre of mass of what hangs from a body, itself included, or its velocity.
static void subtree(const looks* l, int body, bool velocity, double* out) {
    const cal_placed at = {(const double*)l->motions, (size_t)CAL_DOUBLES(cal_world_motion), l->q, NULL};
    double mass = 0.0, sum[3] = {0.0, 0.0, 0.0};
    for (int b = 0; b < l->model->body_count; b++) {
        if (!hangs_from(l, b, body)) continue;
        const cal_body_def* def = l->model->bodies[b].def;
        double center[3], arm[3], moved[3] = {0.0, 0.0, 0.0};
        const int node = cal_place_point(l->model, &at, b, def->center, center);
        if (node >= 0) {
            for (int i = 0; i < 3; i++) arm[i] = center[i] - l->motions[node].position[i];
            memcpy(moved, l->motions[node].linear, sizeof moved);
            add_cross(l->motions[node].angular, arm, 1.0, moved);
        }
        mass += def->mass;
        for (int i = 0; i < 3; i++) sum[i] += def->mass * (velocity ? moved[i] : center[i]);
    }
    for (int i = 0; i < 3; i++) out[i] = mass > 0.0 ? sum[i] / mass : 0.0;
}

// Angular momentum of what hangs from a body about its centre of mass, in the world's axes: ∑ R I Rᵀ ω + m (c − C) × (v − V).
static void subtree_momentum(const looks* l, int body, double* out) {
    double middle[3], drift[3];
    subtree(l, body, false, middle);
    subtree(l, body, true, drift);
    memset(out, 0, 3 * sizeof *out);
    for (int b = 0; b < l->model->body_count; b++) {
        const cal_body_def* def = l->model->bodies[b].def;
        const double *I = def->inertia, unturned[4] = {1.0, 0.0, 0.0, 0.0};
        frame f;
        double w[3], arm[3], speed[3];
        if (!hangs_from(l, b, body)) continue;
        place_frame(l, b, def->center, unturned, &f);
        cal_unrotate3(f.rotation, f.angular, w);
        const double spin[3] = {I[0] * w[0] + I[3] * w[1] + I[4] * w[2], I[3] * w[0] + I[1] * w[1] + I[5] * w[2],
                                I[4] * w[0] + I[5] * w[1] + I[2] * w[2]};
        cal_rotate3(f.rotation, spin, w);
        for (int i = 0; i < 3; i++) {
            out[i] += w[i];
            arm[i] = f.origin[i] - middle[i];
            speed[i] = f.velocity[i] - drift[i];
        }
        add_cross(arm, speed, def->mass, out);
    }
}

// The turn of a frame as its joints make it, one after the other. Followed over more than half a turn it goes on smoothly, as the joints do, which the
// quaternion of a matrix does not.
static void compose_turn(const looks* l, int body, const double quaternion[4], double out[4]) {
    const cal_model* model = l->model;
    int n = body == CAL_GROUND ? -1 : model->mounts[body].node;
    memcpy(out, quaternion, 4 * sizeof *out);
    for (; body != CAL_GROUND; body = model->bodies[body].parent) {
        bool floats = false;
        for (; n >= 0 && model->joints[model->nodes[n].joint].body == body; n = model->nodes[n].parent) {
            const cal_joint* joint = &model->joints[model->nodes[n].joint];
            const double* q = l->q + joint->first_q;
            double turn[4] = {1.0, 0.0, 0.0, 0.0}, sine;
            if (joint->def->kind == CAL_REVOLUTE) {
                cal_sine_cosine(0.5 * (q[0] - joint->def->zero), &sine, &turn[0]);
                for (int i = 0; i < 3; i++) turn[1 + i] = sine * joint->def->axis[i];
            } else if (joint->def->kind == CAL_BALL)
                memcpy(turn, q, sizeof turn);
            else if (joint->def->kind == CAL_FREE)
                memcpy(turn, q + 3, sizeof turn);
            floats = floats || joint->def->kind == CAL_FREE;
            cal_quaternion_multiply(turn, out, out);
        }
        if (!floats) cal_quaternion_multiply(model->bodies[body].def->quaternion, out, out);
    }
}

// Of the two quaternions of a rotation the one that the joints of both frames come to.
static void choose_sign(const looks* l, const cal_sensor_def* def, double quaternion[4]) {
    double own[4], reference[4] = {1.0, 0.0, 0.0, 0.0}, dot = 0.0;
    compose_turn(l, def->body, def->quaternion, own);
    if (def->reference != CAL_NONE) compose_turn(l, def->reference, def->reference_quaternion, reference);
    for (int i = 1; i < 4; i++) reference[i] = -reference[i];
    cal_quaternion_multiply(reference, own, own);
    for (int i = 0; i < 4; i++) dot += own[i] * quaternion[i];
    for (int i = 0; dot < 0.0 && i < 4; i++) quaternion[i] = -quaternion[i];
}

static cal_status read_frame(const looks* l, const cal_sensor_def* def, double* out, cal_error* error) {
    frame f;
    acceleration a;
    place(l, def, &f);
    refer(l, def, &f);
    switch (def->kind) {
    case CAL_SENSOR_FRAME_POSITION: memcpy(out, f.origin, sizeof f.origin); break;
    case CAL_SENSOR_FRAME_QUATERNION:
        cal_matrix_quaternion(f.rotation, out);
        choose_sign(l, def, out);
        break;
    case CAL_SENSOR_FRAME_X_AXIS:
    case CAL_SENSOR_FRAME_Y_AXIS:
    case CAL_SENSOR_FRAME_Z_AXIS:
        for (int i = 0; i < 3; i++) out[i] = f.rotation[3 * i + (int)(def->kind - CAL_SENSOR_FRAME_X_AXIS)];
        break;
    case CAL_SENSOR_FRAME_VELOCITY: memcpy(out, f.velocity, sizeof f.velocity); break;
    case CAL_SENSOR_FRAME_ANGULAR_VELOCITY: memcpy(out, f.angular, sizeof f.angular); break;
    case CAL_SENSOR_VELOCIMETER: cal_unrotate3(f.rotation, f.velocity, out); break;
    case CAL_SENSOR_GYRO: cal_unrotate3(f.rotation, f.angular, out); break;
    case CAL_SENSOR_FRAME_ACCELERATION:
        frame_acceleration(l, &f, &a);
        memcpy(out, a.linear, sizeof a.linear);
        break;
    case CAL_SENSOR_FRAME_ANGULAR_ACCELERATION:
        frame_acceleration(l, &f, &a);
        memcpy(out, a.angular, sizeof a.angular);
        break;
    case CAL_SENSOR_ACCELEROMETER:
        frame_acceleration(l, &f, &a);
        cal_unrotate3(f.rotation, a.linear, out);
        break;
    case CAL_SENSOR_MAGNETOMETER: cal_unrotate3(f.rotation, l->model->kept.magnetic_field, out); break;
    case CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM: subtree_momentum(l, def->body, out); break;
    case CAL_SENSOR_FORCE: return joint_wrench(l, def, &f, false, out, error);
    case CAL_SENSOR_TORQUE: return joint_wrench(l, def, &f, true, out, error);
    default: subtree(l, def->body, def->kind == CAL_SENSOR_SUBTREE_VELOCITY, out);
    }
    return CAL_OK;
}

// --- Touch and range -------------------------------------------------------------------------------------------------------

// Whether a body of the world is the one that a body of the model moves with; what does not move has no place in the map.
static bool is_on(const cal_sim* sim, cal_body_id body, int own) {
    if (own == CAL_GROUND || sim->map->body[own] < 0) return cal_sim_body_of(sim, body) == CAL_GROUND;
    return sim->map->body[own] == body.index;
}

static cal_status read_range(const looks* l, const cal_sensor_def* def, double* out, cal_error* error) {
    frame f;
    place(l, def, &f);
    const double along[3] = {f.rotation[2], f.rotation[5], f.rotation[8]};
    double nearest = (double)INFINITY;
    for (int i = 0; i < l->model->shape_count; i++) {
        const cal_shape_def* shape = &l->model->shapes[i];
        if (shape->body == def->body || !(shape->color[3] > 0.0F)) continue;
        frame at;
        place_frame(l, shape->body, shape->position, shape->quaternion, &at);
        cal_pose pose;
        memcpy(pose.position, at.origin, sizeof pose.position);
        memcpy(pose.rotation, at.rotation, sizeof pose.rotation);
        const cal_status status = cal_shape_cast(l->model, shape, &pose, f.origin, along, &nearest, error);
        if (status != CAL_OK) return status;
    }
    *out = isfinite(nearest) ? nearest : -1.0;
    return CAL_OK;
}

static cal_status read_touch(cal_sim* sim, const looks* l, const cal_sensor_def* def, double* out, cal_error* error) {
    int count = 0;
    *out = 0.0;
    cal_status status = cal_sim_contacts(sim, NULL, 0, &count, error);
    if (status != CAL_OK || count == 0) return status;
    frame f;
    cal_pose pose;
    cal_geometry* zone = NULL;
    place(l, def, &f);
    memcpy(pose.position, f.origin, sizeof pose.position);
    memcpy(pose.rotation, f.rotation, sizeof pose.rotation);
    cal_piece_def piece = cal_default_piece_def();
    piece.kind = def->zone;
    memcpy(piece.size, def->zone_size, sizeof piece.size);
    cal_contact_point* points = cal_allocate((size_t)count, sizeof *points);
    if (points == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for sensors");
    status = cal_geometry_create(&piece, 1, &zone, error);
    if (status == CAL_OK) status = cal_sim_contacts(sim, points, count, &count, error);
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const cal_contact_point* at = &points[i];
        const double force = cal_dot3(at->force, at->normal);
        cal_ray_hit hit;
        for (int end = 0; end < 2; end++) {
            // The normal goes from the second body to the first: out of the second.
            const double ray[3] = {end == 0 ? -at->normal[0] : at->normal[0], end == 0 ? -at->normal[1] : at->normal[1],
                                   end == 0 ? -at->normal[2] : at->normal[2]};
            if (!is_on(sim, at->body[end], def->body) || !(force > 0.0)) continue;
            if (cal_geometry_cast(zone, &pose, at->point, ray, (double)INFINITY, &hit)) *out += force;
        }
    }
    cal_geometry_destroy(zone);
    cal_free(points);
    return status;
}

// --- All of them -----------------------------------------------------------------------------------------------------------

static cal_status open_looks(cal_sim* sim, const cal_sensor_def* def, looks* l, cal_error* error) {
    const cal_model* model = sim->model;
    const size_t nodes = (size_t)model->node_count, v_count = (size_t)model->v_count;
    *l = (looks){.model = model, .q = cal_sim_q(sim), .v = cal_sim_v(sim)};
    if (!l->q || !l->v) return cal_fail(error, CAL_MACHINE_FAILED, "the state is not there");
    const size_t total = nodes * (size_t)(CAL_DOUBLES(cal_world_motion) + CAL_DOUBLES(acceleration)) + v_count +
                         6 * (size_t)model->joint_count;
    double* next = l->memory = cal_allocate(total + 1, sizeof *next);
    if (!next) return cal_fail(error, CAL_NO_MEMORY, "out of memory for sensors");
    l->motions = (cal_world_motion*)next, next += nodes * (size_t)CAL_DOUBLES(cal_world_motion);
    l->accelerations = (acceleration*)next, next += nodes * (size_t)CAL_DOUBLES(acceleration);
    l->qdd = next, next += v_count;
    l->forces = next;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        cal_move_node(node, node->parent < 0 ? NULL : &l->motions[node->parent], l->q + node->first_q,
                      l->v + node->first_v, &l->motions[n]);
    }
    const bool forces = needs_acceleration(def->kind) || needs_forces(def->kind) || def->kind == CAL_SENSOR_TOUCH;
    if (sim->world && sim->world->group_ops->forces == NULL && forces)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "a sensor of kind %s needs the forces of contacts, which groups of this integrator do not tell",
                        cal_sensor_kind_name(def->kind));
    if (needs_forces(def->kind)) {
        const cal_status status = cal_sim_joint_forces(sim, l->forces);
        if (status) return cal_fail(error, status, "the forces in the joints failed");
    }
    if (!needs_acceleration(def->kind)) return CAL_OK;
    const cal_status status = cal_sim_accelerations(sim, l->qdd);
    if (status) return cal_fail(error, status, "accelerations failed");
    for (int n = 0; n < model->node_count; n++) accelerate_node(l, n);
    return CAL_OK;
}

static cal_coupled* open_coupled(const looks* l) {
    cal_coupled* c = cal_coupled_create(l->model);
    if (!c) return NULL;
    memcpy(c->q, l->q, (size_t)l->model->q_count * sizeof *c->q);
    memcpy(c->v, l->v, (size_t)l->model->v_count * sizeof *c->v);
    cal_coupled_find_lengths(c);
    return c;
}

// Length and rate of a tendon, or of a motor on a body.
static cal_status read_length(const looks* l, int tendon, const cal_actuator_def* motor, double* length, double* rate) {
    cal_coupled* c = open_coupled(l);
    if (!c) return CAL_NO_MEMORY;
    if (tendon >= 0) {
        *length = c->lengths[tendon];
        *rate = c->rates[tendon];
    } else
        cal_coupled_body_motor(c, motor, length, rate);
    cal_coupled_destroy(c);
    return CAL_OK;
}

// What all actuators do to a joint; and those of a tendon to it.
static cal_status read_joint_motors(const cal_sim* sim, const looks* l, int joint, double* out) {
    cal_coupled* c = open_coupled(l);
    double* inputs = cal_allocate((size_t)l->model->actuator_count + 1, sizeof *inputs);
    if (c && inputs) {
        cal_drive_inputs(l->model, cal_sim_drive_of(sim), cal_sim_time(sim), inputs);
        *out = cal_coupled_motor_forces(c, inputs)[l->model->joints[joint].first_v];
    }
    const cal_status status = c && inputs ? CAL_OK : CAL_NO_MEMORY;
    cal_free(inputs);
    cal_coupled_destroy(c);
    return status;
}

static cal_status read_motor(const cal_sim* sim, const looks* l, cal_sensor_kind kind, int number, double* out) {
    const cal_actuator_def* motor = &l->model->actuators[number];
    double length = 0.0, rate = 0.0;
    cal_status status = CAL_OK;
    if (motor->joint >= 0) {
        const cal_joint* joint = &l->model->joints[motor->joint];
        length = cal_motor_position(l->model, motor, l->q + joint->first_q, 1);
        rate = l->v[joint->first_v + motor->axis];
    } else
        status = read_length(l, motor->tendon, motor, &length, &rate);
    *out = motor->gear * length;
    if (kind == CAL_SENSOR_ACTUATOR_VELOCITY) *out = motor->gear * rate;
    if (kind != CAL_SENSOR_ACTUATOR_FORCE || status) return status;
    double* inputs = cal_allocate((size_t)l->model->actuator_count, sizeof *inputs);
    if (inputs == NULL) return CAL_NO_MEMORY;
    cal_drive_inputs(l->model, cal_sim_drive_of(sim), cal_sim_time(sim), inputs);
    *out = cal_clamp(cal_motor_wish(motor, inputs[number], length, rate), motor->force_range);
    cal_free(inputs);
    return status;
}

static cal_status read_tendon_motors(const cal_sim* sim, const looks* l, int tendon, double* out) {
    cal_status status = CAL_OK;
    *out = 0.0;
    for (int i = 0; !status && i < l->model->actuator_count; i++) {
        double force = 0.0;
        if (l->model->actuators[i].tendon != tendon) continue;
        status = read_motor(sim, l, CAL_SENSOR_ACTUATOR_FORCE, i, &force);
        *out += force;
    }
    return status;
}

static cal_status read_one(cal_sim* sim, const looks* l, const cal_sensor_def* def, double* out, cal_error* error) {
    const cal_joint* joint = def->kind <= CAL_SENSOR_BALL_VELOCITY ? &l->model->joints[def->number] : NULL;
    double length = 0.0, rate = 0.0;
    cal_status status = CAL_OK;
    switch (def->kind) {
    case CAL_SENSOR_JOINT_POSITION:
    case CAL_SENSOR_BALL_QUATERNION:
        memcpy(out, l->q + joint->first_q, (size_t)cal_sensor_size(def->kind) * sizeof *out);
        return CAL_OK;
    case CAL_SENSOR_JOINT_VELOCITY:
    case CAL_SENSOR_BALL_VELOCITY:
        memcpy(out, l->v + joint->first_v, (size_t)cal_sensor_size(def->kind) * sizeof *out);
        return CAL_OK;
    case CAL_SENSOR_TENDON_LENGTH:
    case CAL_SENSOR_TENDON_VELOCITY:
        status = read_length(l, def->number, NULL, &length, &rate);
        *out = def->kind == CAL_SENSOR_TENDON_LENGTH ? length : rate;
        break;
    case CAL_SENSOR_ACTUATOR_FORCE:
    case CAL_SENSOR_ACTUATOR_LENGTH:
    case CAL_SENSOR_ACTUATOR_VELOCITY: status = read_motor(sim, l, def->kind, def->number, out); break;
    case CAL_SENSOR_JOINT_ACTUATOR_FORCE: status = read_joint_motors(sim, l, def->number, out); break;
    case CAL_SENSOR_TENDON_ACTUATOR_FORCE: status = read_tendon_motors(sim, l, def->number, out); break;
    case CAL_SENSOR_TOUCH: return read_touch(sim, l, def, out, error);
    case CAL_SENSOR_RANGEFINDER: return read_range(l, def, out, error);
    case CAL_SENSOR_CLOCK: *out = cal_sim_time(sim); break;
    default: return read_frame(l, def, out, error);
    }
    return status ? cal_fail(error, status, "out of memory for sensors") : CAL_OK;
}

static bool is_positive(cal_sensor_kind kind) { return kind == CAL_SENSOR_TOUCH || kind == CAL_SENSOR_RANGEFINDER; }

cal_status cal_sim_sensor(cal_sim* sim, int sensor, double* values, cal_error* error) {
    if (!sim || !values || !sim->model || sensor < 0 || sensor >= sim->model->kept.sensor_count)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_sensor: there is no sensor %d", sensor);
    const cal_sensor_def* def = &sim->model->kept.sensors[sensor];
    looks l;
    cal_status status = open_looks(sim, def, &l, error);
    if (!status) status = read_one(sim, &l, def, values, error);
    if (!status && !cal_all_finite(values, cal_sensor_size(def->kind)))
        status = cal_fail(error, CAL_NOT_FINITE, "sensor %d (%s): what it measures is no finite number", sensor,
                          cal_sensor_kind_name(def->kind));
    for (int i = 0; !status && def->cutoff > 0.0 && i < cal_sensor_size(def->kind); i++)
        values[i] = is_positive(def->kind) ? fmin(values[i], def->cutoff)
                                           : cal_clamp(values[i], (double[2]){-def->cutoff, def->cutoff});
    cal_free(l.memory);
    return status;
}
