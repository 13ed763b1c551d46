// Models: the builder, generators, readers, the writer.
#include "campaign.h"
#include <stdio.h>

static void note_model(campaign* c, const cal_model* model) {
    double q[512], v[512];
    const int counts[] = {cal_model_body_count(model), cal_model_joint_count(model), cal_model_q_count(model),
                          cal_model_v_count(model),    cal_model_shape_count(model), cal_model_constraint_count(model)};
    cal_note(c, counts, sizeof counts);
    if (counts[2] > 512) return;
    cal_model_initial(model, q, v, NULL);
    cal_note(c, q, sizeof(double) * (size_t)counts[2]);
    cal_note(c, v, sizeof(double) * (size_t)counts[3]);
}

static void add_bodies(cal_builder* builder) {
    static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_PRISMATIC, CAL_BALL, CAL_REVOLUTE, CAL_FREE};
    for (int i = 0; i < 5; i++) {
        char name[24];
        snprintf(name, sizeof name, "body %d", i);
        cal_body_def body = cal_default_body_def();
        body.name = name;
        body.parent = i == 0 || i == 4 ? CAL_GROUND : i - 1;
        body.position[0] = i == 0 ? 0.0 : 0.5;
        body.mass = 1.0;
        body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.1;
        const int number = cal_builder_add_body(builder, &body);
        cal_joint_def joint = cal_default_joint_def();
        snprintf(name, sizeof name, "joint %d", i);
        joint.name = name;
        joint.kind = kinds[i];
        cal_builder_add_joint(builder, number, &joint);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = number;
        shape.size[0] = 0.1;
        cal_builder_add_shape(builder, &shape);
    }
}

static void add_texture(cal_builder* builder) {
    static const uint8_t red[] = {137, 80,  78,  71, 13, 10,  26,  10, 0,   0,   0,   13,  73,  72, 68,  82, 0, 0,
                                  0,   1,   0,   0,  0,  1,   8,   2,  0,   0,   0,   144, 119, 83, 222, 0,  0, 0,
                                  12,  73,  68,  65, 84, 120, 156, 99, 248, 207, 192, 0,   0,   3,  1,   1,  0, 201,
                                  254, 146, 239, 0,  0,  0,   0,   73, 69,  78,  68,  174, 66,  96, 130};
    cal_texture_def texture = cal_default_texture_def();
    texture.name = "red";
    texture.bytes = red, texture.size = sizeof red;
    cal_builder_add_texture(builder, &texture);
}

static void add_rest(cal_builder* builder) {
    static const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int32_t sides[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.name = "tetrahedron";
    mesh.vertices = corners, mesh.vertex_count = 4;
    mesh.triangles = sides, mesh.triangle_count = 4;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_MESH;
    shape.body = 4;
    shape.mesh = cal_builder_add_mesh(builder, &mesh);
    cal_builder_add_shape(builder, &shape);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = 0;
    motor.name = "motor";
    cal_builder_add_actuator(builder, &motor);
    cal_constraint_def weld = cal_default_constraint_def();
    weld.name = "distance";
    weld.kind = CAL_DISTANCE;
    weld.body[0] = CAL_GROUND, weld.body[1] = 3;
    weld.length = 1.5;
    cal_builder_add_constraint(builder, &weld);
    cal_site_def site = cal_default_site_def();
    site.name = "site";
    cal_builder_add_site(builder, &site);
    cal_keyframe_def key = cal_default_keyframe_def();
    key.name = "key";
    cal_builder_add_keyframe(builder, &key);
    cal_tendon_part parts[2] = {cal_default_tendon_part(), cal_default_tendon_part()};
    parts[0].kind = parts[1].kind = CAL_TENDON_POINT;
    parts[1].body = 2;
    cal_tendon_def tendon = cal_default_tendon_def();
    tendon.parts = parts, tendon.part_count = 2;
    tendon.stiffness = 1.0;
    cal_builder_add_tendon(builder, &tendon);
    cal_pair_def pair = cal_default_pair_def();
    pair.shape[0] = 0, pair.shape[1] = 4;
    cal_builder_add_pair(builder, &pair);
    cal_builder_add_exclusion(builder, 1, 3);
    cal_drag_def drag = cal_default_drag_def();
    drag.body = 4;
    drag.size[0] = drag.size[1] = drag.size[2] = 0.1;
    cal_builder_add_drag(builder, &drag);
    cal_sensor_def sensor = cal_default_sensor_def();
    sensor.name = "sensor";
    cal_builder_add_sensor(builder, &sensor);
    cal_builder_add_numbers(builder, "numbers", corners, 12);
}

// A builder remembers that something found no memory, and its end says so: a program begins anew.
static cal_status build(campaign* c, cal_model** out) {
    cal_builder* builder = NULL;
    cal_status status = cal_builder_create(&builder);
    if (status == CAL_OK) {
        cal_builder_set_name(builder, "everything");
        add_bodies(builder);
        add_rest(builder);
        add_texture(builder);
        status = cal_builder_finish(builder, out, &c->error);
    }
    cal_builder_destroy(builder);
    return status;
}

static cal_status build_loop(campaign* c, cal_model** out) {
    cal_builder* builder = NULL;
    cal_status status = cal_builder_create(&builder);
    if (status == CAL_OK) {
        add_bodies(builder);
        cal_constraint_def loop = cal_default_constraint_def();
        loop.kind = CAL_LOOP_BALL;
        loop.body[0] = CAL_GROUND, loop.body[1] = 3;
        loop.position[0][0] = 1.5;
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = CAL_BALL;
        cal_builder_add_loop_joint(builder, &loop, &joint);
        status = cal_builder_finish(builder, out, &c->error);
    }
    cal_builder_destroy(builder);
    return status;
}

static cal_status build_from(campaign* c, const cal_model* model, cal_model** out) {
    cal_builder* builder = NULL;
    cal_status status = cal_builder_create_from(model, &builder, &c->error);
    if (status == CAL_OK) status = cal_builder_finish(builder, out, &c->error);
    cal_builder_destroy(builder);
    return status;
}

static cal_status builders(campaign* c) {
    cal_status status = CAL_OK;
    cal_model *model = NULL, *loop = NULL, *variant = NULL, *again = NULL;
    DO(build(c, &model));
    note_model(c, model);
    DO(build_loop(c, &loop));
    note_model(c, loop);
    DO(cal_model_variant(model, CAL_PART_GRAVITY | CAL_PART_EQUALITY, 0, &variant, &c->error));
    note_model(c, variant);
    DO(build_from(c, model, &again));
    note_model(c, again);
end:
    cal_model_destroy(again);
    cal_model_destroy(variant);
    cal_model_destroy(loop);
    cal_model_destroy(model);
    return status;
}

static cal_status generators(campaign* c) {
    static const char* const specifications[] = {
        "mobile:s=2,l=3,o=4", "tree:height=3,fanout=2", "chain:n=5", "stickman", "figure:dof=34",
        "humanoid",           "random:n=12,passive=1",  "fivebar",   "bricard",  "andrews",
        "rolling-disk"};
    cal_status status = CAL_OK;
    for (size_t i = 0; i < sizeof specifications / sizeof specifications[0]; i++) {
        cal_model* model = NULL;
        DO(cal_model_generate(specifications[i], &model, &c->error));
        note_model(c, model);
        cal_model_destroy(model);
    }
end:
    return status;
}

#ifdef CALDER_HAVE_EXPAT
// The report is made in any case that there is memory for it.
static cal_status read_file(campaign* c, const char* path) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    c->error.text[0] = '\0';
    status = cal_model_read(path, NULL, &model, &report, &c->error);
    if (cal_again(c, status, "cal_model_read(path, NULL, &model, &report, &c->error)")) {
        cal_read_report_destroy(report);
        report = NULL;
        status = cal_model_read(path, NULL, &model, &report, &c->error);
    }
    if (status == CAL_OK) {
        note_model(c, model);
        const int issues = cal_read_report_count(report);
        cal_note(c, &issues, sizeof issues);
    }
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    return status;
}

static cal_status readers(campaign* c) {
    static const char* const names[] = {"actuators.xml", "attach.xml",    "classes.xml",       "closed_leg.xml",
                                        "fluids.xml",    "frames.xml",    "include.xml",       "meshes.xml",
                                        "muscles.xml",   "replicate.xml", "sensors.xml",       "worlds.xml",
                                        "planar.urdf",   "floating.urdf", "tendons_fixed.xml", "tendons_spatial.xml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", CALDER_TEST_MODELS, names[i]);
        const cal_status status = read_file(c, path);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

static cal_status writers(campaign* c) {
    static const char text[] = "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='4' "
                               "height='4'/><material name='m' texture='t'/></asset>"
                               "<worldbody><geom type='plane' size='1 1 1' material='m'/>"
                               "<body name='a'><joint axis='0 1 0'/><geom size='.1'/></body></worldbody></mujoco>";
    cal_status status = CAL_OK;
    cal_model *model = NULL, *meshes = NULL, *again = NULL;
    char path[256], from[512];
    cal_campaign_path(c, "written.xml", path);
    snprintf(from, sizeof from, "%s/meshes.xml", CALDER_TEST_MODELS);
    DO(cal_model_read_memory(text, sizeof text - 1, "text", NULL, &model, NULL, &c->error));
    DO(cal_model_write(model, path, &c->error));
    DO(cal_model_read(path, NULL, &again, NULL, &c->error));
    note_model(c, again);
    cal_model_destroy(again);
    again = NULL;
    DO(cal_model_read(from, NULL, &meshes, NULL, &c->error));
    DO(cal_model_write(meshes, path, &c->error));
    DO(cal_model_read(path, NULL, &again, NULL, &c->error));
    note_model(c, again);
end:
    cal_model_destroy(again);
    cal_model_destroy(meshes);
    cal_model_destroy(model);
    return status;
}
#endif

const named_scenario cal_model_scenarios[] = {{"builders", builders},
                                              {"generators", generators},
#ifdef CALDER_HAVE_EXPAT
                                              {"readers", readers},
                                              {"writers", writers},
#endif
                                              {NULL, NULL}};
