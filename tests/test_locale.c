// A host program with decimal commas changes nothing: what is read means the same, and what is written has the same bytes.
#define _DEFAULT_SOURCE
#include "base/number_text.h"
#include "calder/calder_read.h"
#include "calder/calder_record.h"
#include "place.h"
#include "support.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder, *commas; // where files are; a locale with commas

static bool has_commas(void) { return nl_langinfo(RADIXCHAR)[0] == ','; }

// A locale with commas: the system's, or one that is made here from the system's sources.
static bool choose_commas(void) {
    const char* const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, commas = names[i]) != NULL) return has_commas();
    char line[256];
    snprintf(line, sizeof line, "localedef -i de_DE -f UTF-8 --no-archive %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (system(line) != 0) return false;
    setenv("LOCPATH", folder, 1);
    commas = names[0];
    return setlocale(LC_ALL, commas) != NULL && has_commas();
}

static const char* path_of(const char* name, char path[128]) {
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static cal_model* generate(void) { return cal_test_model("mobile:s=2,l=3,o=4,damping=0.25,start=0.8"); }

#ifdef CALDER_HAVE_EXPAT
static const char mjcf[] =
    "<mujoco><option gravity='0 0 -9.625'/><worldbody><body name='a' pos='.125 1.5e-1 0'>"
    "<joint axis='0 1 0' damping='0.5'/><geom size='.1' pos='0.25 0 0'/></body></worldbody></mujoco>";
static const char urdf[] = "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1.25'/><inertia "
                           "ixx='.5' iyy='.5' izz='.5' ixy='0' ixz='0' "
                           "iyz='0'/></inertial></link><joint name='j' type='continuous'><parent link='a'/><child "
                           "link='b'/><origin xyz='0.5 0 .25'/>"
                           "</joint></robot>";

#endif

// Everything that the library writes of a run, into files whose names begin so, and what it says of a body.
static void write_all(const char* begin, const cal_model* model, char described[2048]) {
    char path[128], name[64];
    cal_error error = {CAL_OK, ""};
    cal_run* run = NULL;
    cal_csv* csv = NULL;
    cal_glb* glb = NULL;
    const cal_run_sim_def def = cal_default_run_sim_def();
    assert_int_equal(cal_run_create_sim(model, &def, &run, &error), CAL_OK);
    assert_int_equal(cal_run_begin(run, false, NULL, &error), CAL_OK);
    snprintf(name, sizeof name, "%s.csv", begin);
    assert_int_equal(cal_csv_create(path_of(name, path), run, 0, &csv, &error), CAL_OK);
    snprintf(name, sizeof name, "%s.glb", begin);
    assert_int_equal(cal_glb_create(path_of(name, path), run, "film", &glb, &error), CAL_OK);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(cal_run_advance(run, 0.125 * i, &error), CAL_OK);
        assert_int_equal(cal_csv_write(csv, &error), CAL_OK);
        assert_int_equal(cal_glb_write(glb, &error), CAL_OK);
    }
    assert_int_equal(cal_csv_close(csv, &error), CAL_OK);
    assert_int_equal(cal_glb_close(glb, &error), CAL_OK);
    assert_true(cal_run_describe(run, 1, described, 2048) < 2048);
    cal_run_destroy(run);
#ifdef CALDER_HAVE_EXPAT
    // A file of meshes names their folder after itself: both have one name.
    char kept[300];
    if (cal_model_write(model, path_of("model.xml", path), &error) != CAL_OK) fail_msg("%s", error.text);
    snprintf(kept, sizeof kept, "cp %s %s/%s.xml", path, folder, begin);
    assert_int_equal(system(kept), 0);
#endif
}

static void expect_equal_files(const char* ending) {
    char line[512];
    snprintf(line, sizeof line, "cmp -s %s/point%s %s/comma%s", folder, ending, folder, ending);
    if (system(line) != 0) fail_msg("*%s differs", ending);
}

static void same_in_every_locale(void** unused) {
    (void)unused;
    char point[2048] = "", comma[2048] = "", number[CAL_NUMBER_CAPACITY];
    cal_model* model = generate();
    double before[64], after[64];
    cal_model_initial(model, before, NULL, NULL);
    write_all("point", model, point);
    if (!choose_commas()) {
        cal_model_destroy(model);
        skip(); // no such locale, and nothing to make one of
    }
    cal_model* again = generate();
    cal_model_initial(again, after, NULL, NULL);
    assert_memory_equal(before, after, sizeof(double) * (size_t)cal_model_q_count(model));
    write_all("comma", again, comma);
    assert_string_equal(point, comma);
    assert_string_equal(cal_number_text(0.1, number), "0.1");
    expect_equal_files(".csv");
    expect_equal_files(".glb");
    cal_model* wrong = NULL;
    assert_int_equal(cal_model_generate("mobile:start=0,8", &wrong, NULL), CAL_BAD_ARGUMENT); // no number of ours
#ifdef CALDER_HAVE_EXPAT
    expect_equal_files(".xml");
    cal_model* const read[] = {cal_test_read(mjcf, "text"), cal_test_read(urdf, "text")};
    cal_body_def body;
    double gravity[3];
    cal_model_body(read[0], 0, &body);
    cal_model_gravity(read[0], gravity);
    assert_true(body.position[0] == 0.125 && body.position[1] == 0.15 && gravity[2] == -9.625);
    assert_true(cal_model_total_mass(read[1]) == 1.25);
    for (int i = 0; i < 2; i++) cal_model_destroy(read[i]);
#endif
    cal_model_destroy(again);
    cal_model_destroy(model);
}

// Another thread of the host program may choose a locale at any moment. At the worst one: when the library has just asked which it is.
static bool is_worst;
struct lconv* localeconv(void) {
    static char point[] = ".";
    static struct lconv plain = {.decimal_point = point};
    if (is_worst) setlocale(LC_ALL, commas);
    return &plain;
}

static void numbers_are_read_while_locales_change(void** unused) {
    (void)unused;
    char text[CAL_NUMBER_CAPACITY];
    if (!choose_commas()) skip();
    for (int i = 0; i < 2; i++) {
        setlocale(LC_ALL, i == 0 ? "C" : commas);
        is_worst = true;
        assert_true(cal_number_from_text("1.5", NULL) == 1.5);
        assert_string_equal(cal_number_text(0.1, text), "0.1");
        is_worst = false;
    }
    setlocale(LC_ALL, "C");
}

int main(void) {
    if ((folder = cal_test_folder()) == NULL) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_in_every_locale),
                                       cmocka_unit_test(numbers_are_read_while_locales_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
