// Every number of every definition of the public headers is set to what it cannot be: whoever takes the definition says so in a line, or
// goes on with finite numbers, and does not crash. The numbers are found in the headers (wrong_definitions.sh), so that none is missing.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_run.h"
#include "calder/calder_view.h"
#include "calder/calder_cuda.h"
#include "support_child.h"
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// A number of a definition: where it is, of which type, and how many there are side by side.
typedef struct number {
    const char *definition, *name;
    size_t at, size, one;
    bool real;
} number;

#define NUMBER(type, field, kind, real)                                                                                \
    {#type, #field, offsetof(type, field), sizeof(((type*)0)->field), sizeof(kind), (real) != 0},
static const number numbers[] = {
#include "wrong_definitions.inc"
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static const double reals[] = {(double)NAN, (double)INFINITY, -1e308, -1.0};
static const int integers[] = {INT_MIN, INT_MAX, 1000000, -2};
enum { VALUES = 4 };

// What is set to which value in a definition.
typedef struct wrong {
    const number* of;
    size_t element;
    int value;
} wrong;

static void put(void* definition, const wrong* w) {
    char* place = (char*)definition + w->of->at + w->element * w->of->one;
    const int64_t wide = integers[w->value];
    const int small = integers[w->value];
    if (w->of->real)
        memcpy(place, &reals[w->value], sizeof(double));
    else if (w->of->one == sizeof wide)
        memcpy(place, &wide, sizeof wide);
    else
        memcpy(place, &small, sizeof small);
}

// --- Who takes definitions ---------------------------------------------------------------------------------------------

enum { FINE, NOT_FINITE, NO_LINE, ALL_WAYS };
static cal_error error;

static bool all_finite(const double* numbers_, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(numbers_[i])) return false;
    return true;
}

static int line(void) { return error.text[0] != '\0' && !strchr(error.text, '\n') ? FINE : NO_LINE; }

static int simulate(const cal_model* model, const cal_sim_def* def) {
    cal_sim* sim = NULL;
    error = (cal_error){CAL_OK, ""};
    if (cal_sim_create(model, def, &sim, &error)) return line();
    int verdict = FINE;
    for (int i = 1; i <= 2 && verdict == FINE; i++) {
        error = (cal_error){CAL_OK, ""};
        const cal_status status = cal_sim_advance(sim, 5e-4 * i, &error);
        if (status) verdict = line();
        if (status && (!cal_sim_q(sim) || !cal_sim_v(sim))) break; // nobody knows them (test_failed_run)
        if (!all_finite(cal_sim_q(sim), cal_model_q_count(model)) ||
            !all_finite(cal_sim_v(sim), cal_model_v_count(model)))
            verdict = NOT_FINITE;
        if (status) break;
        for (int k = 0; k < cal_model_sensor_count(model) && verdict == FINE; k++) {
            double measured[8] = {0.0};
            error = (cal_error){CAL_OK, ""};
            if (cal_sim_sensor(sim, k, measured, &error))
                verdict = line();
            else if (!all_finite(measured, 8))
                verdict = NOT_FINITE;
        }
    }
    cal_sim_destroy(sim);
    return verdict;
}

// What is built is simulated as one system, and where shapes touch.
static int finish(cal_builder* builder) {
    cal_model* model = NULL;
    int verdict = FINE;
    error = (cal_error){CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error)) return line();
    for (int contact = 0; contact < 2 && verdict == FINE; contact++) {
        cal_sim_def def = cal_default_sim_def();
        def.contact = contact != 0;
        verdict = simulate(model, &def);
    }
    cal_model_destroy(model);
    return verdict;
}

// Three bodies in a chain, on whose last one definitions act: a hinge, a ball and a slider, shapes, sites and a tendon.
static cal_builder* chain(void) {
    static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_BALL, CAL_PRISMATIC};
    cal_builder* builder = NULL;
    if (cal_builder_create(&builder)) abort();
    for (int i = 0; i < 3; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        cal_shape_def shape = cal_default_shape_def();
        cal_site_def site = cal_default_site_def();
        body.parent = i - 1;
        body.position[0] = 0.5;
        body.mass = 1.0;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.1;
        joint.kind = kinds[i];
        joint.axis[1] = 1.0;
        shape.body = site.body = i;
        shape.kind = CAL_SPHERE;
        shape.size[0] = 0.1;
        cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, i, &joint);
        cal_builder_add_shape(builder, &shape);
        cal_builder_add_site(builder, &site);
    }
    cal_builder_set_medium(builder, 1.2, 1e-5, (double[3]){1.0, 0.0, 0.0});
    return builder;
}

#define BEGIN(type)                                                                                                    \
    cal_builder* builder = chain();                                                                                    \
    cal_##type def = cal_default_##type()
#define END(call)                                                                                                      \
    put(&def, w);                                                                                                      \
    call;                                                                                                              \
    const int verdict = finish(builder);                                                                               \
    cal_builder_destroy(builder);                                                                                      \
    return verdict

static int use_body(const wrong* w, int way) {
    BEGIN(body_def);
    cal_joint_def joint = cal_default_joint_def();
    if (way > 1) return ALL_WAYS;
    def.parent = way == 0 ? 2 : CAL_GROUND;
    joint.kind = way == 0 ? CAL_REVOLUTE : CAL_FREE;
    joint.axis[1] = def.mass = 1.0;
    for (int k = 0; k < 3; k++) def.inertia[k] = 0.1;
    END(cal_builder_add_joint(builder, cal_builder_add_body(builder, &def), &joint));
}

static int use_joint(const wrong* w, int way) {
    static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_PRISMATIC, CAL_BALL, CAL_FREE};
    BEGIN(joint_def);
    cal_body_def body = cal_default_body_def();
    if (way >= (int)(sizeof kinds / sizeof kinds[0])) return ALL_WAYS;
    body.parent = kinds[way] == CAL_FREE ? CAL_GROUND : 2;
    body.mass = def.axis[1] = 1.0;
    for (int k = 0; k < 3; k++) body.inertia[k] = 0.1;
    def.kind = kinds[way];
    def.limited = true;
    def.range[0] = -1.0, def.range[1] = 1.0;
    def.stiffness = kinds[way] == CAL_FREE ? 0.0 : 10.0;
    END(cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &def));
}

static int use_actuator(const wrong* w, int way) {
    BEGIN(actuator_def);
    if (way > 3) return ALL_WAYS;
    def.joint = way == 0 || way == 3 ? 0 : way == 1 ? 1 : CAL_NONE;
    def.body = way == 2 ? 2 : CAL_NONE;
    def.is_muscle = way == 3;
    def.initial_control = 0.5;
    END(cal_builder_add_actuator(builder, &def));
}

static int use_constraint(const wrong* w, int way) {
    static const cal_constraint_kind kinds[] = {CAL_WELD, CAL_DISTANCE, CAL_COUPLING, CAL_ON_CIRCLE, CAL_ROLLING};
    BEGIN(constraint_def);
    if (way >= (int)(sizeof kinds / sizeof kinds[0])) return ALL_WAYS;
    def.kind = kinds[way];
    def.body[0] = 0, def.body[1] = 2;
    def.joint[0] = 0, def.joint[1] = CAL_NONE;
    def.length = kinds[way] == CAL_DISTANCE ? 1.0 : 0.3;
    END(cal_builder_add_constraint(builder, &def));
}

static int use_shape(const wrong* w, int way) {
    BEGIN(shape_def);
    if (way > 5) return ALL_WAYS;
    def.kind = (cal_shape_kind)((int)CAL_SPHERE + way);
    def.body = way < 3 ? 2 : CAL_GROUND;
    for (int k = 0; k < 3; k++) def.size[k] = 0.1;
    def.position[2] = -5.0;
    END(cal_builder_add_shape(builder, &def));
}

static int use_mesh(const wrong* w, int way) {
    static const double corners[4][3] = {{0}, {0.1, 0.0, 0.0}, {0.0, 0.1, 0.0}, {0.0, 0.0, 0.1}};
    static const int32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    BEGIN(mesh_def);
    if (way > 0) return ALL_WAYS;
    def.vertices = &corners[0][0], def.vertex_count = 4;
    def.triangles = &faces[0][0], def.triangle_count = 4;
    put(&def, w);
    // An array that is shorter than a count says is not noticed.
    if (def.vertex_count > 4) def.vertices = NULL;
    if (def.triangle_count > 4) def.triangles = NULL;
    cal_builder_add_mesh(builder, &def);
    const int verdict = finish(builder);
    cal_builder_destroy(builder);
    return verdict;
}

static int use_site(const wrong* w, int way) {
    BEGIN(site_def);
    if (way > 0) return ALL_WAYS;
    def.body = 1;
    END(cal_builder_add_site(builder, &def));
}

static int use_tendon(const wrong* w, int way) {
    BEGIN(tendon_def);
    const cal_tendon_part parts[2] = {
        {.kind = CAL_TENDON_POINT, .body = 0, .position = {0.1, 0.0, 0.2}, .quaternion = {1.0, 0.0, 0.0, 0.0}},
        {.kind = CAL_TENDON_POINT, .body = 2, .quaternion = {1.0, 0.0, 0.0, 0.0}}};
    if (way > 0) return ALL_WAYS;
    def.parts = parts, def.part_count = 2;
    def.stiffness = 10.0;
    put(&def, w);
    if (def.part_count > 2) def.parts = NULL;
    cal_builder_add_tendon(builder, &def);
    const int verdict = finish(builder);
    cal_builder_destroy(builder);
    return verdict;
}

static int use_drag(const wrong* w, int way) {
    BEGIN(drag_def);
    if (way > 0) return ALL_WAYS;
    def.body = 2;
    END(cal_builder_add_drag(builder, &def));
}

// Each kind of sensor in turn, of what there is to be measured.
static int use_sensor(const wrong* w, int way) {
    BEGIN(sensor_def);
    cal_actuator_def motor = cal_default_actuator_def();
    cal_tendon_def tendon = cal_default_tendon_def();
    const cal_tendon_part part = {.kind = CAL_TENDON_JOINT, .joint = 2, .factor = 1.0, .body = CAL_NONE};
    def.kind = (cal_sensor_kind)((int)CAL_SENSOR_JOINT_POSITION + way);
    if (def.kind > CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM) return ALL_WAYS;
    motor.joint = 0;
    tendon.parts = &part, tendon.part_count = 1;
    cal_builder_add_actuator(builder, &motor);
    cal_builder_add_tendon(builder, &tendon);
    def.number = def.kind == CAL_SENSOR_BALL_QUATERNION || def.kind == CAL_SENSOR_BALL_VELOCITY ? 1 : 0;
    def.body = 1;
    for (int k = 0; k < 3; k++) def.zone_size[k] = 0.1;
    END(cal_builder_add_sensor(builder, &def));
}

static int use_pair(const wrong* w, int way) {
    BEGIN(pair_def);
    if (way > 0) return ALL_WAYS;
    def.shape[0] = 0, def.shape[1] = 2;
    END(cal_builder_add_pair(builder, &def));
}

static int use_keyframe(const wrong* w, int way) {
    BEGIN(keyframe_def);
    if (way > 0) return ALL_WAYS;
    END(cal_builder_add_keyframe(builder, &def));
}

static int use_texture(const wrong* w, int way) {
    BEGIN(texture_def);
    if (way > 0) return ALL_WAYS;
    END(cal_builder_add_texture(builder, &def));
}

static int use_sim(const wrong* w, int way) {
    static const char* const models[] = {"fivebar", "humanoid:drop=0.05", "chain:n=3"};
    if (way >= (int)(sizeof models / sizeof models[0])) return ALL_WAYS;
    cal_model* model = cal_test_model(models[way]);
    cal_sim_def def = cal_default_sim_def();
    put(&def, w);
    const int verdict = simulate(model, &def);
    cal_model_destroy(model);
    return verdict;
}

// More instances than memory has are another test's.
static bool is_much(const wrong* w, const char* name) {
    return strcmp(w->of->name, name) == 0 && integers[w->value] > 0;
}

static int use_ensemble(const wrong* w, int way) {
    if (way > 1) return ALL_WAYS;
    if (is_much(w, "count")) return FINE;
    cal_model* model = cal_test_model(way == 0 ? "fivebar" : "chain:n=3");
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    double q[16], v[16];
    int verdict = FINE;
    def.count = 3;
    def.sim.contact = false;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    if (cal_ensemble_create_def(model, &def, &ensemble, &error) ||
        (error.text[0] = '\0', cal_ensemble_advance(ensemble, 1e-3, &error)))
        verdict = line();
    for (int i = 0; i < (ensemble ? cal_ensemble_count(ensemble) : 0); i++)
        if (cal_ensemble_get(ensemble, i, q, v) || !all_finite(q, cal_model_q_count(model)) ||
            !all_finite(v, cal_model_v_count(model)))
            verdict = NOT_FINITE;
    cal_ensemble_destroy(ensemble);
    cal_model_destroy(model);
    return verdict;
}

static int use_rps(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    if (is_much(w, "instances") || is_much(w, "hypotheses")) return FINE;
    cal_model* model = cal_test_model("fivebar");
    cal_rps_def def = cal_default_rps_def();
    cal_rps* rps = NULL;
    int verdict = FINE;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    if (cal_rps_create(model, &def, &rps, &error) || (error.text[0] = '\0', cal_rps_advance(rps, 1e-3, &error)))
        verdict = line();
    cal_rps_destroy(rps);
    cal_model_destroy(model);
    return verdict;
}

static int advance_run(cal_run* run) {
    char note[256];
    error = (cal_error){CAL_OK, ""};
    return cal_run_begin(run, false, note, &error) || cal_run_advance(run, 1e-3, &error) ? line() : FINE;
}

static int use_run(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    cal_model* model = cal_test_model("fivebar");
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict = cal_run_create_sim(model, &def, &run, &error) ? line() : advance_run(run);
    cal_run_destroy(run);
    cal_model_destroy(model);
    return verdict;
}

static int use_run_ensemble(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    if (is_much(w, "ensemble.count")) return FINE;
    cal_model* model = cal_test_model("fivebar");
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    cal_run* run = NULL;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict = cal_run_create_ensemble(model, &def, &run, &error) ? line() : advance_run(run);
    cal_run_destroy(run);
    cal_model_destroy(model);
    return verdict;
}

static int advance_world(cal_world* world) {
    error = (cal_error){CAL_OK, ""};
    if (cal_world_advance(world, 1e-3, &error)) return line();
    const int count = 7 * cal_world_body_count(world);
    double* poses = cal_test_numbers((size_t)count);
    const bool good = cal_world_poses(world, poses) == CAL_OK && all_finite(poses, count);
    free(poses);
    return good ? FINE : NOT_FINITE;
}

static int use_world(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    cal_world_def def = cal_default_world_def();
    cal_world* world = NULL;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict = cal_world_generate("stack:kind=wall,n=2", &def, &world, &error) ? line() : advance_world(world);
    cal_world_destroy(world);
    return verdict;
}

static void stay(double time, double position[3], double quaternion[4], double velocity[3], double angular[3],
                 void* user) {
    (void)time, (void)user;
    for (int i = 0; i < 3; i++) position[i] = 20.0, velocity[i] = angular[i] = 0.0;
    for (int i = 0; i < 4; i++) quaternion[i] = i == 0 ? 1.0 : 0.0;
}

static int use_world_body(const wrong* w, int way) {
    static const cal_body_motion motions[] = {CAL_MOVING, CAL_DRIVEN, CAL_FIXED};
    if (way >= (int)(sizeof motions / sizeof motions[0])) return ALL_WAYS;
    cal_world_body_def def = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_world* world = NULL;
    cal_body_id body;
    if (cal_world_generate("stack:kind=wall,n=2", NULL, &world, &error)) abort();
    def.motion = motions[way];
    def.position[2] = 20.0;
    def.path = stay;
    shape.kind = CAL_BOX;
    for (int k = 0; k < 3; k++) shape.size[k] = 0.2;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict =
        cal_world_add_body(world, &def, &body, &error) || cal_world_add_shape(world, body, &shape, NULL, &error)
            ? line()
            : advance_world(world);
    cal_world_destroy(world);
    return verdict;
}

static int use_threads(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    if (is_much(w, "workers")) return FINE;
    cal_threads_def def = cal_default_threads_def();
    cal_machine* machine = NULL;
    def.workers = 2;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict = cal_machine_threads(&def, &machine, &error) ? line() : FINE;
    cal_machine_destroy(machine);
    return verdict;
}

static int use_gpu(const wrong* w, int way) {
    if (way > 0) return ALL_WAYS;
    cal_model* model = cal_test_model("chain:n=3");
    cal_gpu_def def = cal_default_gpu_def();
    cal_gpu_price price;
    put(&def, w);
    error = (cal_error){CAL_OK, ""};
    const int verdict = cal_price_gpu(model, 10, &def, &price, &error) ? line() : FINE;
    cal_model_destroy(model);
    return verdict;
}

static const struct use {
    const char* definition;
    int (*use)(const wrong* w, int way);
} uses[] = {{"cal_body_def", use_body},
            {"cal_joint_def", use_joint},
            {"cal_actuator_def", use_actuator},
            {"cal_constraint_def", use_constraint},
            {"cal_shape_def", use_shape},
            {"cal_mesh_def", use_mesh},
            {"cal_site_def", use_site},
            {"cal_tendon_def", use_tendon},
            {"cal_drag_def", use_drag},
            {"cal_sensor_def", use_sensor},
            {"cal_pair_def", use_pair},
            {"cal_keyframe_def", use_keyframe},
            {"cal_texture_def", use_texture},
            {"cal_sim_def", use_sim},
            {"cal_ensemble_def", use_ensemble},
            {"cal_rps_def", use_rps},
            {"cal_run_sim_def", use_run},
            {"cal_run_ensemble_def", use_run_ensemble},
            {"cal_world_def", use_world},
            {"cal_world_body_def", use_world_body},
            {"cal_threads_def", use_threads},
            {"cal_gpu_def", use_gpu},
            {"cal_viewer_def", NULL}, // ports and cards: test_view_server
            {"cal_cuda_def", NULL}};  // where there is a GPU: test_cuda

static const struct use* find_use(const number* n) {
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        if (strcmp(uses[i].definition, n->definition) == 0) return &uses[i];
    fail_msg("%s has numbers that no test takes", n->definition);
    return NULL;
}

// --- Trying them -------------------------------------------------------------------------------------------------------

// Values from `first` to `end` in a process of their own, which a definition may end; gives how that ended.
static int try_values(const struct use* use, wrong w, int way, int first, int end) {
    const pid_t child = cal_test_begin_child();
    if (child == 0) {
        int verdict = FINE;
        for (w.value = first; w.value < end && verdict == FINE; w.value++) verdict = use->use(&w, way);
        _exit(verdict);
    }
    return cal_test_end_child(child);
}

static bool ends_as(int result, int verdict) { return WIFEXITED(result) && WEXITSTATUS(result) == verdict; }

static void tell(const wrong* w, int way, int value, int result) {
    print_error("%s.%s[%zu] = %g, way %d: ", w->of->definition, w->of->name, w->element,
                w->of->real ? reals[value] : (double)integers[value], way);
    if (WIFSIGNALED(result))
        print_error("ends with signal %d\n", WTERMSIG(result));
    else
        print_error("%s\n", WEXITSTATUS(result) == NOT_FINITE ? "what moves is no number"
                            : WEXITSTATUS(result) == NO_LINE  ? "has no line, or several"
                                                              : "ends the program");
}

static int try_number(const struct use* use, wrong w) {
    int failed = 0;
    for (int way = 0;; way++) {
        const int all = try_values(use, w, way, 0, VALUES);
        if (ends_as(all, ALL_WAYS)) return failed;
        if (ends_as(all, FINE)) continue;
        for (int value = 0; value < VALUES; value++) {
            const int result = try_values(use, w, way, value, value + 1);
            if (ends_as(result, FINE)) continue;
            failed++;
            tell(&w, way, value, result);
        }
    }
}

static void no_definition_with_a_wrong_number_is_believed(void** state) {
    (void)state;
    int failed = 0, tried = 0;
    for (int i = 0; i < NUMBERS; i++) {
        const struct use* use = find_use(&numbers[i]);
        if (!use->use) continue;
        const size_t elements = numbers[i].size / numbers[i].one;
        for (size_t k = 0; k < elements; k++, tried++) failed += try_number(use, (wrong){&numbers[i], k, 0});
    }
    assert_true(tried > 300);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_definition_with_a_wrong_number_is_believed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
