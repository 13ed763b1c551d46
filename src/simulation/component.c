// The kinds of components, one table each.
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/motion/multibody.h"

// --- Free bodies --------------------------------------------------------------------------------------------------------------

static cal_status free_motion(cal_world* world, int component, int body, double time, bool turning, cal_motion* out) {
    (void)body;
    return cal_free_body_motion(world, component, time, turning, out);
}

static cal_status free_bounds(cal_world* world, int component, int body, double from, double until,
                              cal_motion_bounds* out) {
    (void)body;
    return cal_free_body_bounds(world, component, from, until, out);
}

static cal_status free_begin(cal_world* world, int component, double time, cal_error* error) {
    return cal_free_body_push(world, component, CAL_SEGMENT, time, error);
}

static cal_status free_changed(cal_world* world, int component, double time, cal_error* error) {
    return cal_body_changed(world, world->components[component].body, time, error);
}

static cal_status free_refresh(cal_world* world, int component, cal_error* error) {
    (void)error;
    const cal_component* c = &world->components[component];
    cal_free_body_begin(&world->bodies[c->body], cal_data_at(&c->queue, c->queue.tail - 1));
    return CAL_OK;
}

static cal_status free_step(cal_world* world, int component, double time, cal_error* error) {
    cal_status status = cal_free_body_push(world, component, CAL_STEP, time, error);
    if (status == CAL_OK) status = free_refresh(world, component, error);
    world->change_count = 0; // the motion goes on as it was
    return status;
}

static const cal_component_ops free_body = {free_motion,  free_bounds,  free_begin,
                                            free_changed, free_refresh, free_step};

// --- Multibodies --------------------------------------------------------------------------------------------------------------

static cal_status link_motion(cal_world* world, int component, int body, double time, bool turning, cal_motion* out) {
    (void)turning;
    return cal_multibody_motion(world, component, world->bodies[body].link, time, out);
}

static cal_status link_bounds(cal_world* world, int component, int body, double from, double until,
                              cal_motion_bounds* out) {
    return cal_multibody_limits(world, component, world->bodies[body].link, from, until, out);
}

static cal_status no_step(cal_world* world, int component, double time, cal_error* error) {
    (void)world, (void)component, (void)time, (void)error;
    return CAL_OK;
}

static const cal_component_ops multibody = {link_motion,           link_bounds,           cal_multibody_begin,
                                            cal_multibody_changed, cal_multibody_refresh, no_step};

// --- Contact groups -----------------------------------------------------------------------------------------------------------

static cal_status member_motion(cal_world* world, int component, int body, double time, bool turning, cal_motion* out) {
    (void)turning;
    return cal_group_motion(world, component, body, time, out);
}

static cal_status no_refresh(cal_world* world, int component, cal_error* error) {
    (void)world, (void)component, (void)error;
    return CAL_OK;
}

static const cal_component_ops group = {member_motion,     cal_group_limits, cal_group_begin,
                                        cal_group_changed, no_refresh,       no_step};

const cal_component_ops* cal_component_table(cal_component_kind kind) {
    static const cal_component_ops* const tables[] = {
        [CAL_UNUSED] = NULL, [CAL_FREE_BODY] = &free_body, [CAL_MULTIBODY] = &multibody, [CAL_GROUP] = &group};
    return tables[kind];
}
