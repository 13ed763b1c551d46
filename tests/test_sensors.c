// Sensors against MuJoCo's numbers, and as columns of a table.
#include "calder/calder_read.h"
#include "calder/calder_record.h"
#include "calder/calder_run.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MuJoCo 3.14 (npm's @mujoco/mujoco): models/sensors.xml with constraints disabled (opt.disableflags |= 1), qpos, qvel and ctrl as here,
// mj_forward, then data.sensordata.
static const double control[] = {0.4, -0.7};
static const double q[] = {-0.29998651323839393, -0.24898053051390709, 1.0608115631904507,   0.96472280103880803,
                           0.21933264015131176,  -0.145443599308333,   0.007019226476500752, -0.061194967087914692,
                           -0.14225630072981876, 0.97635373379104196,  -0.20979528244463355, 0.030867226760088299,
                           0.042030230649009188};
static const double v[] = {0.49530664519188311,  0.14707005738609932, 0.018740084403539116, 0.60261424323665647,
                           0.79213527664175976,  0.36193877438173577, 0.7465781807650711,   -0.32463628925598986,
                           -0.11831867588605674, 0.63919630415700213, 0.24479796264544032};
static const double expected[] = {
    -0.14225630072981876, 0.7465781807650711,    0.97635373379104196,  -0.20979528244463355,  0.030867226760088299,
    0.042030230649009188, -0.11831867588605674,  0.63919630415700213,  0.24479796264544032,   0.87351599419980719,
    0.60726568094098488,  3.0359177929050838,    0.34925718451196081,  -0.33493518108409998,  1.3614562533381604,
    0.9364897183409332,   0.11629900675894948,   0.023301546505135787, 0.33002816000921759,   0.97921119851924343,
    0.18520180709576883,  -0.082738862349970702, -0.87961663124138434, -0.056878481221376648, -0.47227049496819845,
    1.2946531066672089,   0.37640153446536828,   0.053669634949928047, 0.4492873081439695,    0.25347105018568133,
    0.6525041078773085,   -0.50170039517950271,  4.0292112215251041,   -1.5749116564656118,   -31.34026108907047,
    16.258933010425665,   0.43300481873921193,   0.54876107699464238,  -0.025391457379447292, -0.16622661304092698,
    0.75041300419477475,  0.71745245595600826,   0.74985770782412864,  2.0684096570147803,    2.9826264514643617,
    -2.4067018971304752,  11.856820020895235,    -2.7440919465709541,  3.3556010665723113,    2.3135373430542696,
    1.5910483637622888,   0.93920934726107552,   0.12595298156825074,  -0.25665618157229914,  1.244551867992389,
    1.2130496575305059,   0.27232977981960449,   0.18862688468186764,  -1.6604076317596197,   1.865712863323385,
    1.8717256563966582,   -0.69999999999999996};

// The same of models/refsites.xml.
static const double between_control[] = {0.4, -0.7, 0.3, 0.6, -0.2};
static const double between_q[] = {
    -0.29998651323839393, -0.24898053051390709, 1.0608115631904507,    0.96472280103880803,  0.21933264015131176,
    -0.145443599308333,   0.007019226476500752, -0.061194967087914692, -0.14225630072981876, 0.97635373379104196,
    -0.20979528244463355, 0.030867226760088299, 0.042030230649009188,  0.18573999194695615};
static const double between_v[] = {0.14707005738609932,  0.018740084403539116, 0.60261424323665647,
                                   0.79213527664175976,  0.36193877438173577,  0.7465781807650711,
                                   -0.32463628925598986, -0.11831867588605674, 0.63919630415700213,
                                   0.24479796264544032,  0.64245485805089353,  0.73845297467822812};
static const double between_expected[] = {
    -0.24664472353024819,  0.30917483718386984,   18.980992031539706,     -0.21251260707508568, 0.14193334069948729,
    -19.048128045502949,   9.9020861691744368,    -0.0070785351480357403, -0.49989789045164279, 0.0072106492187038436,
    -0.018725905523756088, -0.036421556672553528, 0.066110724922282552,   0.054680521809417695, 0.436422513759958,
    -0.041556994229843436, 0.96907989129139116,   -0.23071122077069792,   -0.08648434485716644, 0.013302443376532375,
    0.035272101397438915,  0.28679281039555049,   0.95734307474824831,    -0.17063982655425838, 0.034972035034505328,
    0.24159195480472512,   0.61540322164204175,   0.20457857777834079,    0.4411521796223859,   -0.10985174817896602,
    0.028292974110246734,  0.041289046519607672};

static cal_model* read_model(const char* name) {
    cal_error error = {0};
    cal_model *model = NULL, *variant = NULL;
    char path[256];
    snprintf(path, sizeof path, CALDER_TEST_MODELS "/%s.xml", name);
    if (cal_model_read(path, NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    if (cal_model_variant(model, CAL_PART_CONSTRAINT, CAL_NONE, &variant, &error)) fail_msg("%s", error.text);
    cal_model_destroy(model);
    return variant;
}

static cal_sim* open_at(const cal_model* model, const double* positions, const double* velocities,
                        const double* controls) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {0};
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_set(sim, 0.0, positions, velocities, &error) ||
        cal_sim_drive(sim, NULL, controls, &error))
        fail_msg("%s", error.text);
    return sim;
}

static cal_sim* open_sim(const cal_model* model) { return open_at(model, q, v, control); }

static void compare_sensors(const cal_model* model, cal_sim* sim, const double* numbers, size_t count) {
    assert_int_equal(cal_model_sensor_size(model), count);
    int at = 0;
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        cal_sensor_def def;
        cal_error error = {0};
        double values[8];
        cal_model_sensor(model, i, &def);
        if (cal_sim_sensor(sim, i, values, &error)) fail_msg("%s: %s", def.name, error.text);
        const int size = cal_sensor_size(def.kind);
        // A quaternion and its opposite are the same.
        const double sign = size == 4 && values[0] * numbers[at] < 0.0 ? -1.0 : 1.0;
        for (int k = 0; k < size; k++, at++)
            cal_test_expect_below(fabs(sign * values[k] - numbers[at]) / (1.0 + fabs(numbers[at])), 1e-11,
                                  cal_sensor_kind_name(def.kind), def.name);
    }
    cal_error error = {0};
    assert_int_equal(cal_sim_sensor(sim, at, NULL, &error), CAL_BAD_ARGUMENT);
}

static void test_numbers(void** state) {
    (void)state;
    cal_model* model = read_model("sensors");
    cal_sim* sim = open_sim(model);
    compare_sensors(model, sim, expected, sizeof expected / sizeof expected[0]);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Motors between two sites, frames seen from others, a magnetic field, what actuators do to joints, angular momentum.
static void test_references(void** state) {
    (void)state;
    cal_model* model = read_model("refsites");
    cal_sim* sim = open_at(model, between_q, between_v, between_control);
    compare_sensors(model, sim, between_expected, sizeof between_expected / sizeof between_expected[0]);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void test_table(void** state) {
    (void)state;
    cal_model* model = read_model("sensors");
    cal_sim* sim = open_sim(model);
    cal_run* run = NULL;
    cal_csv* csv = NULL;
    cal_error error = {0};
    char path[CAL_TEST_PATH], line[4096];
    unsigned columns;
    cal_test_path(path, "sensors.csv");
    assert_int_equal(cal_csv_columns("sensors", &columns, &error), CAL_OK);
    if (cal_run_of_sim(sim, &run, &error) || cal_csv_create(path, run, columns, &csv, &error) ||
        cal_csv_write(csv, &error) || cal_csv_close(csv, &error))
        fail_msg("%s", error.text);
    FILE* table = fopen(path, "r");
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    assert_memory_equal(line, "time,s0,s1,s2.1,s2.2,", 21);
    assert_non_null(fgets(line, sizeof line, table));
    char* next = strchr(line, ',');
    cal_test_expect_below(fabs(strtod(next + 1, NULL) - expected[0]), 1e-12, "first column", "table");
    fclose(table);
    unlink(path);
    cal_run_destroy(run);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static cal_sim* simulate(const cal_model* model, bool contact) {
    cal_sim_def def = cal_default_sim_def();
    def.contact = contact;
    return cal_test_create_sim(model, &def);
}

static double read_sensor(cal_sim* sim, const char* name, int component) {
    double values[8];
    cal_error error = {0};
    const int sensor = cal_model_find_sensor(cal_sim_model(sim), name);
    if (sensor < 0 || cal_sim_sensor(sim, sensor, values, &error)) fail_msg("%s: %s", name, error.text);
    return values[component];
}

// MuJoCo 3.14's distances, with contact and without: to a box turned, past an invisible ball to a cylinder, to an ellipsoid, a capsule, a
// plane, nothing, the inside of a concave mesh, and cut off.
static void test_ranges(void** state) {
    (void)state;
    static const double distances[] = {1.7888984197097717, 2.653472058191639,
                                       1.7630665852131762, 1.8779955133099457,
                                       0.6015914714841285, -1.0,
                                       4.2622514202011486, 1.5};
    cal_model* model = NULL;
    cal_error error = {0};
    if (cal_model_read(CALDER_TEST_MODELS "/rangefinders.xml", NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    for (int contact = 0; contact < 2; contact++) {
        cal_sim* sim = simulate(model, contact == 1);
        for (int i = 0; i < 8; i++) {
            const char name[3] = {'r', (char)('0' + i), '\0'};
            // MuJoCo keeps meshes in single precision.
            cal_test_expect_below(fabs(read_sensor(sim, name, 0) - distances[i]), i == 6 ? 1e-8 : 1e-12, "distance",
                                  name);
        }
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// An actuator's force is what it gives; the joint gets what its range allows. MuJoCo 3.14's numbers.
static void test_clamped(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><worldbody><body><joint name='j' axis='0 1 0' actuatorfrcrange='-1 2'/>"
        "<geom type='capsule' size='.05' fromto='0 0 0 0 0 -1'/></body></worldbody>"
        "<actuator><motor name='a' joint='j' gear='2' ctrlrange='-5 5'/></actuator>"
        "<sensor><actuatorfrc name='given' actuator='a'/><jointactuatorfrc name='got' joint='j'/></sensor></mujoco>",
        "clamped.xml");
    cal_sim* sim = simulate(model, false);
    cal_error error = {0};
    assert_int_equal(cal_sim_drive(sim, NULL, (const double[]){3.0}, &error), CAL_OK);
    assert_true(read_sensor(sim, "given", 0) == 3.0);
    assert_true(read_sensor(sim, "got", 0) == 2.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A quaternion follows its joints through turns: that of a hinge is (cos q/2, sin q/2 axis) times its site's own, as MuJoCo has it, and not the one
// whose first number is positive.
static void test_turns(void** state) {
    (void)state;
    cal_model* model = cal_test_read(
        "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1'/><site name='own' quat='-1 0 0 0'/></body>"
        "<body name='still'><geom size='.1'/><site name='fixed' quat='0 0 1 0'/></body></worldbody>"
        "<sensor><framequat name='own' objtype='site' objname='own'/>"
        "<framequat name='seen' objtype='site' objname='own' reftype='site' refname='fixed'/></sensor></mujoco>",
        "turns.xml");
    cal_sim* sim = simulate(model, false);
    cal_error error = {0};
    for (int k = -20; k <= 20; k++) {
        const double angle = 0.7 * k, w = cos(0.5 * angle), y = sin(0.5 * angle);
        assert_int_equal(cal_sim_set(sim, 0, &angle, (const double[]){0}, &error), CAL_OK);
        cal_test_expect_below(fabs(read_sensor(sim, "own", 0) + w), 1e-12, "w", "own");
        cal_test_expect_below(fabs(read_sensor(sim, "own", 2) + y), 1e-12, "y", "own");
        cal_test_expect_below(fabs(read_sensor(sim, "seen", 0) + y), 1e-12, "w", "seen");
        cal_test_expect_below(fabs(read_sensor(sim, "seen", 2) - w), 1e-12, "y", "seen");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A beam on two feet, with a load: each foot carries what the moments ask for, its accelerometer feels gravity, and a zone above the beam
// feels nothing. In the air nothing touches.
static void test_touch(void** state) {
    (void)state;
    static const char text[] =
        "<mujoco><worldbody><geom type='plane' size='2 2 1' friction='0.8'/><body name='beam' pos='0 0 "
        "0.3001'><freejoint/>"
        "<inertial pos='0.1 0 0' mass='6' diaginertia='0.1 0.3 0.3'/><geom type='sphere' size='0.1' pos='-0.4 0 -0.2'/>"
        "<geom type='capsule' size='0.1 0.1' euler='90 0 0' pos='0.4 0 -0.2'/><site name='imu' pos='0.2 0 0.1'/>"
        "<site name='left' type='box' size='0.05 0.05 0.05' pos='-0.4 0 -0.3'/>"
        "<site name='right' type='box' size='0.1 0.3 0.02' pos='0.4 0 -0.3'/>"
        "<site name='top' type='sphere' size='0.1' pos='0 0 0.3'/></body></worldbody>"
        "<sensor><touch name='left' site='left'/><touch name='right' site='right'/><touch name='top' site='top'/>"
        "<touch name='most' site='right' cutoff='7'/><accelerometer name='felt' site='imu'/></sensor></mujoco>";
    cal_model* model = NULL;
    cal_error error = {0};
    if (cal_model_read_memory(text, strlen(text), "beam.xml", NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    cal_sim* sim = simulate(model, true);
    assert_true(read_sensor(sim, "left", 0) == 0.0 && read_sensor(sim, "right", 0) == 0.0);
    if (cal_sim_advance(sim, 1.0, &error)) fail_msg("%s", error.text);
    const double weight = 6.0 * 9.81, right = weight * 0.5 / 0.8;
    cal_test_expect_below(fabs(read_sensor(sim, "right", 0) - right), 1e-3 * weight, "force", "right");
    cal_test_expect_below(fabs(read_sensor(sim, "left", 0) - (weight - right)), 1e-3 * weight, "force", "left");
    cal_test_expect_below(fabs(read_sensor(sim, "felt", 2) - 9.81), 1e-2, "acceleration", "felt");
    assert_true(read_sensor(sim, "top", 0) == 0.0 && read_sensor(sim, "most", 0) == 7.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_references),
                                       cmocka_unit_test(test_table),   cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_clamped), cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_touch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
