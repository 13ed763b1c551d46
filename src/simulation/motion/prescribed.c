// Bodies that do not move by themselves: fixed ones, and driven ones, whose path the user gives. No impulse changes either.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/world.h"

#define DRIVEN_BOX 4.0 // in windows of the world: how often boxes are made, not what is in them

static cal_status fixed_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                               cal_motion* out) {
    (void)component, (void)from, (void)time, (void)turning;
    const cal_solid* solid = world->bodies[body].solid; // NULL: it is not there yet
    *out = solid != NULL ? solid->at : (cal_motion){0};
    return CAL_OK;
}

static cal_status fixed_bounds(cal_world* world, int component, int body, double from, double until,
                               cal_motion_bounds* out) {
    (void)component, (void)from, (void)until;
    out->begin = fmax(out->begin, world->bodies[body].came);
    out->still = true;
    return CAL_OK;
}

static cal_status driven_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                                cal_motion* out) {
    (void)component, (void)from, (void)turning;
    const cal_sim_body* part = &world->bodies[body];
    double velocity[3] = {0}, center[3];
    part->def.path(time, out->pose.position, out->quaternion, velocity, out->w, part->def.user);
    cal_quaternion_normalize(out->quaternion);
    double R[9];
    cal_quaternion_matrix(out->quaternion, R);
    cal_rotate3(R, part->offset, center);
    cal_cross3(out->w, center, out->u);
    for (int i = 0; i < 3; i++) {
        out->pose.position[i] += center[i];
        out->u[i] += velocity[i];
    }
    cal_quaternion_multiply(out->quaternion, part->turn, out->quaternion);
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
    return CAL_OK;
}

static cal_status driven_bounds(cal_world* world, int component, int body, double from, double until,
                                cal_motion_bounds* out) {
    (void)component, (void)from, (void)until;
    out->begin = fmax(out->begin, world->bodies[body].came);
    out->slack = world->bodies[body].def.path_acceleration, out->loose = true;
    return CAL_OK;
}

static cal_status driven_box(cal_world* world, int body, double from, double to, cal_box* out) {
    const cal_sim_body* part = &world->bodies[body];
    cal_motion at;
    const cal_status status = driven_motion(world, -1, body, from, 0.5 * (from + to), true, &at);
    if (status != CAL_OK) return status;
    cal_geometry_box(part->geometry, &at.pose, out);
    *out = cal_box_pad(out, part->def.path_speed * 0.5 * (to - from));
    return CAL_OK;
}

static double driven_room(const cal_world* world, int component, double time) {
    (void)component, (void)time;
    return DRIVEN_BOX * world->window;
}

static cal_status no_response(cal_world* world, int body, int other, double time, const cal_motion* motion,
                              const double point[3], double K[9], cal_error* error) {
    (void)world, (void)body, (void)other, (void)time, (void)motion, (void)point, (void)K, (void)error;
    return CAL_OK;
}

static cal_status no_apply(cal_world* world, int body, int other, double time, const cal_motion* motion,
                           const double point[3], const double impulse[3], double* work, cal_error* error) {
    (void)world, (void)body, (void)other, (void)time, (void)motion, (void)point, (void)impulse, (void)work, (void)error;
    return CAL_OK;
}

static double no_mass(const cal_world* world, int body) {
    (void)world, (void)body;
    return 0.0;
}

const cal_component_ops cal_fixed_body = {.single = true,
                                          .motion = fixed_motion,
                                          .bounds = fixed_bounds,
                                          .response = no_response,
                                          .apply = no_apply,
                                          .loose_mass = no_mass};

const cal_component_ops cal_driven_body = {.single = true,
                                           .motion = driven_motion,
                                           .bounds = driven_bounds,
                                           .box = driven_box,
                                           .room = driven_room,
                                           .response = no_response,
                                           .apply = no_apply,
                                           .loose_mass = no_mass};
