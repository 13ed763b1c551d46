// The CSV recorder: what is written reads back to the same numbers, and what cannot be written is told.
#define _XOPEN_SOURCE 700
#include "place.h"
#include "support.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "calder/calder_record.h"

static char path[CAL_TEST_PATH];

static cal_sim* create_sim(const cal_model* model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    return sim;
}

static cal_run* open_run(const cal_model* model) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    assert_int_equal(cal_run_create_sim(model, &def, &run, NULL), CAL_OK);
    return run;
}

static void numbers_read_back_to_the_same_bits(void** unused) {
    (void)unused;
    const double values[] = {0,     1,       -0.1,         1.0 / 3, 0.1 + 0.2,
                             1e300, DBL_MIN, DBL_TRUE_MIN, DBL_MAX, 123456789012345678.0};
    char text[CAL_NUMBER_CAPACITY];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(strtod(cal_number_text(values[i], text), NULL) == values[i]);
    assert_string_equal(cal_number_text(0.1, text), "0.1");
    assert_string_equal(cal_number_text(-INFINITY, text), "-inf");
    assert_string_equal(cal_number_text(NAN, text), "nan");
}

static void numbers_have_a_point_in_every_locale(void** unused) {
    (void)unused;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) skip();
    char text[CAL_NUMBER_CAPACITY];
    assert_string_equal(cal_number_text(-2.5, text), "-2.5");
    setlocale(LC_NUMERIC, "C");
}

// A name may hold what separates columns.
static void quotes_names(void** unused) {
    (void)unused;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.mass = 1;
    body.center[0] = 1;
    cal_joint_def joint = cal_default_joint_def();
    joint.name = "hip, \"left\"";
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    cal_run* run = open_run(model);
    cal_csv* csv = NULL;
    assert_int_equal(cal_csv_create(path, run, 0, &csv, NULL), CAL_OK);
    assert_int_equal(cal_csv_close(csv, NULL), CAL_OK);
    cal_run_destroy(run);
    FILE* file = fopen(path, "r");
    char line[256] = "";
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(
        line,
        "time,\"hip, \"\"left\"\".q\",\"hip, \"\"left\"\".v\",energy_kinetic,energy_potential,energy_work,energy_loss,"
        "energy_balance\n");
    cal_model_destroy(model);
}

// Each row is the simulation's own numbers, joint by joint.
static void rows_hold_the_state(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=4");
    cal_sim* sim = create_sim(model);
    cal_run* run = NULL;
    cal_csv* csv = NULL;
    assert_int_equal(cal_run_of_sim(sim, &run, NULL), CAL_OK);
    assert_int_equal(cal_csv_create(path, run, 0, &csv, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 0.3, NULL), CAL_OK);
    assert_int_equal(cal_csv_write(csv, NULL), CAL_OK);
    assert_int_equal(cal_csv_close(csv, NULL), CAL_OK);
    cal_run_destroy(run);
    FILE* file = fopen(path, "r");
    char line[1024];
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    char* p = line;
    assert_true(strtod(p, &p) == 0.3);
    for (int i = 0; i < 4; i++) {
        assert_true(strtod(p + 1, &p) == cal_sim_q(sim)[i]);
        assert_true(strtod(p + 1, &p) == cal_sim_v(sim)[i]);
    }
    double kinetic, potential;
    cal_energy_balance balance;
    assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    assert_true(strtod(p + 1, &p) == kinetic);
    assert_true(strtod(p + 1, &p) == potential);
    assert_true(strtod(p + 1, &p) == balance.work);
    assert_true(strtod(p + 1, &p) == balance.loss);
    assert_true(strtod(p + 1, &p) == balance.relative);
    assert_string_equal(p, "\n");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void read_line(char* line, int capacity) {
    FILE* file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, capacity, file));
    fclose(file);
}

// What was chosen, in the table's own order, whatever the order of the names.
static void columns_are_chosen(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=1");
    cal_run* run = open_run(model);
    cal_csv* csv = NULL;
    cal_error error;
    unsigned columns = 0;
    char line[1024] = "", name[64], expected[1024];
    cal_run_body_name(run, 0, name, sizeof name);
    assert_int_equal(cal_csv_columns("energy,pose,q", &columns, NULL), CAL_OK);
    assert_int_equal(cal_csv_create(path, run, columns, &csv, NULL), CAL_OK);
    assert_int_equal(cal_csv_write(csv, NULL), CAL_OK);
    assert_int_equal(cal_csv_close(csv, NULL), CAL_OK);
    read_line(line, sizeof line);
    const char* q = strstr(line, ".q,");
    snprintf(expected, sizeof expected,
             ",%s.x,%s.y,%s.z,%s.qw,%s.qx,%s.qy,%s.qz,energy_kinetic,energy_potential,energy_work,"
             "energy_loss,energy_balance\n",
             name, name, name, name, name, name, name);
    assert_non_null(q);
    assert_string_equal(q + 2, expected);
    assert_int_equal(cal_csv_columns("q,w", &columns, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "'w'"));
    cal_run_destroy(run);
    cal_model_destroy(model);
    // Bodies that collide have no q of their own.
    cal_world* world = NULL;
    assert_int_equal(cal_world_generate("atoms:n=5", NULL, &world, NULL), CAL_OK);
    assert_int_equal(cal_run_of_world(world, &run, NULL), CAL_OK);
    assert_int_equal(cal_csv_create(path, run, CAL_COLUMN_Q, &csv, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "a world has none"));
    cal_run_destroy(run);
    cal_world_destroy(world);
}

static void tells_when_a_file_cannot_be_made(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=2");
    cal_run* run = open_run(model);
    cal_csv* csv = NULL;
    cal_error error;
    assert_int_not_equal(cal_csv_create("/nonexistent/run.csv", run, 0, &csv, &error), CAL_OK);
    assert_null(csv);
    assert_non_null(strstr(error.text, "/nonexistent/run.csv"));
    cal_run_destroy(run);
    cal_model_destroy(model);
}

// A limit on the size of files stands for a full disk: some later row, or at the latest the end, must report it.
static void tells_when_the_disk_is_full(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=20");
    cal_run* run = open_run(model);
    cal_csv* csv = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_csv_create(path, run, 0, &csv, NULL), CAL_OK);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {4096, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    cal_status status = CAL_OK;
    for (int row = 0; row < 1000 && status == CAL_OK; row++) status = cal_csv_write(csv, &error);
    cal_status at_end = cal_csv_close(csv, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_not_equal(status, CAL_OK);
    assert_int_not_equal(at_end, CAL_OK);
    assert_non_null(strstr(error.text, path));
    cal_run_destroy(run);
    cal_model_destroy(model);
}

static int name_file(void** unused) {
    (void)unused;
    cal_test_path(path, "run.csv");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back_to_the_same_bits),
        cmocka_unit_test(numbers_have_a_point_in_every_locale),
        cmocka_unit_test(quotes_names),
        cmocka_unit_test(rows_hold_the_state),
        cmocka_unit_test(columns_are_chosen),
        cmocka_unit_test(tells_when_a_file_cannot_be_made),
        cmocka_unit_test(tells_when_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, name_file, NULL);
}
