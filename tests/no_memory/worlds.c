// Worlds: what they are made of, how they run, what they are asked. A world that fails in an advance has ended, as documented.
#include "campaign.h"

static void hit(cal_callback_context* view, const double impulse[3], void* user) {
    (void)user, (void)impulse;
    double* slots = cal_callback_slots(view, 0);
    if (slots != NULL) slots[0] += 1.0;
}

static void blow(cal_callback_context* view, void* user) {
    static const double force[3] = {0.1, 0.0, 0.0}, torque[3] = {0.0, 0.0, 0.0};
    (void)user;
    cal_callback_set_force(view, 0, force, torque);
}

static cal_status add(campaign* c, cal_world* world, cal_shape_kind kind, double x, double z, cal_body_id* out) {
    cal_status status = CAL_OK;
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "thing";
    def.position[0] = x, def.position[2] = z;
    def.motion = kind == CAL_PLANE ? CAL_FIXED : CAL_MOVING;
    def.slots = 1;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.1;
    DO(cal_world_add_body(world, &def, out, &c->error));
    DO(cal_world_add_shape(world, *out, &shape, NULL, &c->error));
end:
    return status;
}

// Energies need memory, and are asked for again.
static cal_status note_world(campaign* c, cal_world* world) {
    cal_world_report report;
    cal_status status = cal_world_get_report(world, &report);
    if (cal_again(c, status, "cal_world_get_report(world, &report)")) status = cal_world_get_report(world, &report);
    if (status == CAL_OK) cal_note(c, &report.hash, sizeof report.hash);
    return status;
}

static cal_status build(campaign* c, cal_world* world, const cal_model* model, cal_body_id bodies[3],
                        cal_multibody_id* arm) {
    static const double far_away[3] = {3.0, 0.0, 0.0};
    cal_status status = add(c, world, CAL_PLANE, 0.0, 0.0, &bodies[0]);
    if (status == CAL_OK) status = add(c, world, CAL_BOX, 0.0, 0.1, &bodies[1]);
    if (status == CAL_OK) status = add(c, world, CAL_SPHERE, 0.02, 0.35, &bodies[2]);
    if (status != CAL_OK) return status;
    DO(cal_world_on_collision(world, bodies[2], hit, NULL, &c->error));
    DO(cal_world_on_period(world, &bodies[1], 1, 0.03, 0.05, blow, NULL, &c->error));
    DO(cal_world_add_multibody(world, model, far_away, NULL, 0, arm, &c->error));
    DO(cal_world_start_multibody(world, *arm, NULL, NULL, &c->error));
    DO(cal_world_let_links_touch(world, *arm, &c->error));
    DO(cal_world_ignore_pair(world, bodies[0], cal_world_link(world, *arm, 0)));
end:
    return status;
}

static cal_status ask(campaign* c, cal_world* world, const cal_body_id bodies[3], cal_multibody_id arm) {
    static const double origin[3] = {0.0, 0.0, 5.0}, down[3] = {0.0, 0.0, -1.0};
    cal_status status = CAL_OK;
    cal_ray_result ray;
    cal_overlap overlaps[8];
    cal_contact_point contacts[32];
    cal_energy_balance balance;
    cal_world_report report;
    double q[16], v[16], poses[7 * 16], open, speed;
    int count;
    cal_shape_def shape = cal_default_shape_def();
    shape.size[0] = 0.3;
    DO(cal_world_cast_ray(world, origin, down, 10.0, (cal_body_id){-1, 0}, &ray, &c->error));
    cal_note(c, &ray.distance, sizeof ray.distance);
    DO(cal_world_overlaps(world, &shape, NULL, 0.1, overlaps, 8, &count, &c->error));
    cal_note(c, &count, sizeof count);
    DO(cal_world_contacts(world, contacts, 32, &count, &c->error));
    cal_note(c, &count, sizeof count);
    DO(cal_world_multibody_state(world, arm, q, v));
    DO_OR_END(cal_world_drive(world, arm, NULL, NULL, &c->error));
    DO(cal_world_poses(world, poses));
    DO(cal_world_get_body(world, bodies[1], poses, NULL, NULL, NULL));
    DO(cal_world_constraint_error(world, &open, &speed));
    DO_OR_END(cal_world_balance(world, &balance));
    DO(cal_world_get_report(world, &report));
    DO_OR_END(cal_world_push(world, bodies[1], down, NULL, NULL, &c->error));
    DO_OR_END(cal_world_release(world, &c->error));
end:
    return status;
}

static cal_status live_through(campaign* c, const cal_world_def* def) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_world* world = NULL;
    cal_body_id bodies[3], late = {-1, 0};
    cal_multibody_id arm;
    cal_world_event event;
    DO(cal_model_generate("chain:n=3", &model, &c->error));
    DO(cal_world_create(def, &world, &c->error));
    cal_world_keep_events(world, true);
    status = build(c, world, model, bodies, &arm);
    if (status != CAL_OK) goto end;
    DO_OR_END(cal_world_advance(world, 0.1, &c->error));
    status = ask(c, world, bodies, arm);
    if (status != CAL_OK || c->ended) goto end;
    status = add(c, world, CAL_BOX, 1.0, 0.2, &late);
    if (status != CAL_OK) goto end;
    DO_OR_END(cal_world_advance(world, 0.2, &c->error));
    DO_OR_END(cal_world_remove_body(world, bodies[2], &c->error));
    DO_OR_END(cal_world_remove_multibody(world, arm, &c->error));
    DO_OR_END(cal_world_advance(world, 0.3, &c->error));
    while (cal_world_next_event(world, &event)) cal_note(c, &event.time, sizeof event.time);
    status = note_world(c, world);
end:
    if (c->ended) { // it stays where it is, and can be looked at
        cal_world_report report;
        (void)cal_world_get_report(world, &report);
    }
    cal_world_destroy(world);
    cal_model_destroy(model);
    return status;
}

static cal_status timewarp(campaign* c) {
    const cal_world_def def = cal_default_world_def();
    return live_through(c, &def);
}

static cal_status conservative(campaign* c) {
    cal_world_def def = cal_default_world_def();
    def.loop = CAL_CONSERVATIVE;
    return live_through(c, &def);
}

static cal_status retroactive(campaign* c) {
    cal_world_def def = cal_default_world_def();
    def.loop = CAL_RETROACTIVE;
    return live_through(c, &def);
}

static cal_status rollbacks(campaign* c) {
    cal_world_def def = cal_default_world_def();
    def.forced_rollbacks = 0.2;
    return live_through(c, &def);
}

static cal_status scene(campaign* c, const char* specification, const char* machine, double time) {
    cal_status status = CAL_OK;
    cal_world* world = NULL;
    cal_machine* cores = NULL;
    cal_world_report report;
    cal_sim_def systems = cal_default_sim_def();
    DO(cal_machine_from_text(machine, 0, &cores, &c->error));
    systems.machine = cores;
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    def.restitution = def.friction = -1.0;
    def.systems = &systems;
    DO(cal_world_generate(specification, &def, &world, &c->error));
    DO_OR_END(cal_world_advance(world, time, &c->error));
    status = note_world(c, world);
    if (status == CAL_OK && strcmp(machine, "serial") == 0)
        DO_OR_END(cal_world_price(world, 2, 1.01 * time, &report, &c->error));
end:
    cal_world_destroy(world);
    cal_machine_destroy(cores);
    return status;
}

static cal_status scenes(campaign* c) {
    static const char* const specifications[] = {"atoms:n=20", "avalanche:n=4", "cars:cars=1,rows=1",
                                                 "robots:n=2,boxes=1", "stack:kind=pyramid,n=2"};
    for (size_t i = 0; i < sizeof specifications / sizeof specifications[0]; i++) {
        const cal_status status = scene(c, specifications[i], "serial", 0.02);
        if (status != CAL_OK || c->ended) return status;
    }
    return CAL_OK;
}

static cal_status divided(campaign* c) { return scene(c, "atoms:n=200", "threads:2", 0.05); }

// Arms with boxes: groups, and multibodies in them, in domains of several threads.
static cal_status divided_groups(campaign* c) { return scene(c, "robots:n=32,boxes=2", "threads:2", 0.005); }

// Bodies and chains come and go on two threads, where what changes is undone and done again.
static cal_status come_and_go(campaign* c) {
    static const double above[3] = {0.0, 0.0, 3.0};
    enum { BALLS = 100, FEW = 10 };
    cal_status status = CAL_OK;
    cal_machine* cores = NULL;
    cal_model* model = NULL;
    cal_world* world = NULL;
    cal_body_id floor, balls[BALLS];
    cal_multibody_id arm;
    cal_sim_def systems = cal_default_sim_def();
    DO(cal_machine_from_text("threads:2", 0, &cores, &c->error));
    DO(cal_model_generate("chain:n=3", &model, &c->error));
    systems.machine = cores;
    cal_world_def def = cal_default_world_def();
    def.forced_rollbacks = 0.1;
    def.systems = &systems;
    DO(cal_world_create(&def, &world, &c->error));
    status = add(c, world, CAL_PLANE, 0.0, 0.0, &floor);
    for (int i = 0; i < BALLS && status == CAL_OK; i++)
        status = add(c, world, CAL_SPHERE, 0.3 * i, 0.11 + 0.01 * (i % 7), &balls[i]);
    if (status != CAL_OK) goto end;
    DO_OR_END(cal_world_advance(world, 0.05, &c->error));
    for (int round = 1; round <= 2; round++) {
        for (int i = FEW * round - FEW; i < FEW * round; i++)
            DO_OR_END(cal_world_remove_body(world, balls[i], &c->error));
        DO(cal_world_add_multibody(world, model, above, NULL, 0, &arm, &c->error));
        DO(cal_world_start_multibody(world, arm, NULL, NULL, &c->error));
        DO(cal_world_let_links_touch(world, arm, &c->error));
        for (int i = 0; i < FEW && status == CAL_OK; i++)
            status = add(c, world, CAL_BOX, 0.3 * (i + 3 * FEW), round, &balls[i]);
        if (status != CAL_OK) goto end;
        DO_OR_END(cal_world_advance(world, 0.05 + 0.03 * round, &c->error));
        DO_OR_END(cal_world_remove_multibody(world, arm, &c->error));
    }
    DO_OR_END(cal_world_advance(world, 0.15, &c->error));
    status = note_world(c, world);
end:
    cal_world_destroy(world);
    cal_model_destroy(model);
    cal_machine_destroy(cores);
    return status;
}

#ifdef CALDER_HAVE_EXPAT
// A ball falls onto an arm that hangs at its stops: stops in contact groups, and impacts of several at once.
static cal_status stopped(campaign* c) {
    static const char text[] =
        "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<body pos='0 0 .5'><joint axis='0 1 0' range='-1 1'/><geom type='capsule' size='.05' fromto='0 0 0 .4 0 0'/>"
        "<body pos='.4 0 0'><joint axis='0 1 0' range='-5 5'/><geom type='capsule' size='.05' fromto='0 0 0 .4 0 0'/>"
        "</body></body><body pos='.5 0 .7'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_world* world = NULL;
    DO(cal_campaign_model(c, text, &model));
    DO(cal_world_from_model(model, NULL, &world, &c->error));
    DO_OR_END(cal_world_advance(world, 0.25, &c->error));
    status = note_world(c, world);
end:
    cal_world_destroy(world);
    cal_model_destroy(model);
    return status;
}

// A gripper that lets go and takes hold again.
static cal_status connected(campaign* c) {
    static const char text[] =
        "<mujoco><worldbody><body name='a'><joint axis='0 1 0'/><geom size='.1'/>"
        "<body name='b' pos='1 0 0'><joint axis='0 1 0'/><geom size='.1'/></body></body></worldbody>"
        "<equality><weld name='hold' body1='a' body2='b'/></equality></mujoco>";
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_world* world = NULL;
    cal_multibody_id arm;
    int constraint;
    DO(cal_campaign_model(c, text, &model));
    DO(cal_world_from_model(model, NULL, &world, &c->error));
    DO_OR_END(cal_world_advance(world, 0.01, &c->error));
    if (!cal_world_find_constraint(world, "hold", &arm, &constraint)) return CAL_BAD_MODEL;
    DO_OR_END(cal_world_disconnect(world, arm, constraint, &c->error));
    DO_OR_END(cal_world_connect(world, arm, constraint, CAL_CONNECT_INELASTIC, &c->error));
    DO_OR_END(cal_world_advance(world, 0.1, &c->error));
    status = note_world(c, world);
end:
    cal_world_destroy(world);
    cal_model_destroy(model);
    return status;
}
#endif

const named_scenario cal_world_scenarios[] = {{"world, timewarp", timewarp},
                                              {"world, conservative", conservative},
                                              {"world, retroactive", retroactive},
                                              {"world, rollbacks", rollbacks},
                                              {"scenes", scenes},
                                              {"world on two cores", divided},
                                              {"groups on two cores", divided_groups},
                                              {"come and go on two cores", come_and_go},
#ifdef CALDER_HAVE_EXPAT
                                              {"world with stops", stopped},
                                              {"world with a constraint", connected},
#endif
                                              {NULL, NULL}};
