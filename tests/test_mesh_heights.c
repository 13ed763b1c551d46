// Height fields from files: PNG of several kinds, packed by zlib in each of its ways and with each filter (tests/models/heights), and MuJoCo's own format.
#include "base/memory.h"
#include "calder/calder_read.h"
#include "model/model.h"
#include "read/grey.h"
#include "read/inflate.h"
#include "support.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 17, HEIGHT = 11, LARGEST = 8192 };

// What all of the files show.
static int level(int x, int y) { return (7 * x * x + 13 * y + x * y) & 255; }

static size_t read_bytes(const char* name, uint8_t* out) {
    char path[512];
    snprintf(path, sizeof path, "%s/heights/%s", CALDER_TEST_MODELS, name);
    FILE* file = fopen(path, "rb");
    if (file == NULL) fail_msg("cannot open %s", path);
    const size_t size = fread(out, 1, LARGEST, file);
    fclose(file);
    assert_true(size > 0 && size < LARGEST);
    return size;
}

static void pictures_are_read_as_zlib_and_png_say(void** unused) {
    (void)unused;
    static const char* const names[] = {"grey8.png",       "rgb8_fixed.png", "rgba16_stored.png",
                                        "grey_alpha8.png", "palette8.png",   "grey4.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint8_t bytes[LARGEST], *levels = NULL;
        int width = 0, height = 0;
        const size_t size = read_bytes(names[i], bytes);
        const char* trouble = cal_png_grey(bytes, size, 1000, &width, &height, &levels);
        if (trouble != NULL) fail_msg("%s: %s", names[i], trouble);
        assert_true(width == WIDTH && height == HEIGHT);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                // Four bits are spread over the whole range.
                const int expected = i < 5 ? level(x, y) : (level(x, y) >> 4) * 17;
                if (levels[y * WIDTH + x] != expected) fail_msg("%s at %d, %d", names[i], x, y);
            }
        cal_free(levels);
        assert_string_equal(cal_png_grey(bytes, size, 100, &width, &height, &levels),
                            "its picture has too many pixels");
    }
}

// Whatever bit of a packed stream is another one, the answer is a line, or (of bits that nothing uses) the same bytes; and a line where some of it is
// missing.
static void damaged_streams_are_refused(void** unused) {
    (void)unused;
    uint8_t bytes[LARGEST], out[HEIGHT * (3 * WIDTH + 1)], right[sizeof out];
    const size_t size = read_bytes("rgb8_fixed.png", bytes);
    // Signature, header (25 bytes), then the only chunk of pixels.
    const size_t start = 8 + 25 + 8, end = size - 12 - 4;
    assert_null(cal_inflate(bytes + start, end - start, right, sizeof right));
    for (size_t cut = 0; cut < end - start; cut++) assert_non_null(cal_inflate(bytes + start, cut, out, sizeof out));
    assert_non_null(cal_inflate(bytes + start, end - start, out, sizeof out - 1));
    int refused = 0;
    for (size_t at = start; at < end; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            if (cal_inflate(bytes + start, end - start, out, sizeof out) != NULL)
                refused++;
            else
                assert_memory_equal(out, right, sizeof out);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    assert_true(refused >= 8 * (int)(end - start) - 7);
}

static uint64_t hash_of(const char* field) {
    char text[4096];
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    cal_read_options options = cal_default_read_options();
    options.folder = CALDER_TEST_MODELS;
    snprintf(text, sizeof text,
             "<mujoco><compiler meshdir='heights'/><asset><hfield name='h' size='2 1 .5 .1' "
             "%s/></asset><worldbody><geom type='hfield' "
             "hfield='h'/><body pos='0 0 1'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
             field);
    if (cal_model_read_memory(text, strlen(text), "field.xml", &options, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    uint64_t hash = 0;
    cal_mesh_def mesh;
    cal_model_mesh(model, 0, &mesh);
    assert_int_equal(mesh.vertex_count, WIDTH * HEIGHT);
    for (int i = 0; i < 3 * mesh.vertex_count; i++) {
        uint64_t bits;
        memcpy(&bits, &mesh.vertices[i], sizeof bits);
        hash = 31 * hash + bits;
    }
    cal_model_destroy(model);
    return hash;
}

// The same field by numbers, from a picture and from MuJoCo's own file: the same vertices.
static void fields_from_files_are_those_from_numbers(void** unused) {
    (void)unused;
    char numbers[3000];
    int used = snprintf(numbers, sizeof numbers, "nrow='%d' ncol='%d' elevation='", HEIGHT, WIDTH);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            used += snprintf(numbers + used, sizeof numbers - (size_t)used, "%d ", level(x, y));
    snprintf(numbers + used, sizeof numbers - (size_t)used, "'");
    const uint64_t expected = hash_of(numbers);
    assert_true(hash_of("file='grey8.png'") == expected);
    assert_true(hash_of("file='own.bin'") == expected);
    // What is no picture is refused in a line.
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    cal_read_options options = cal_default_read_options();
    options.folder = CALDER_TEST_MODELS;
    const char* text =
        "<mujoco><asset><hfield name='h' size='2 1 .5 .1' file='gravcomp.xml'/></asset><worldbody><geom type='hfield' "
        "hfield='h'/></worldbody></mujoco>";
    assert_int_equal(cal_model_read_memory(text, strlen(text), "f.xml", &options, &model, NULL, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "neither a PNG file nor a field of heights"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_read_as_zlib_and_png_say),
        cmocka_unit_test(damaged_streams_are_refused),
        cmocka_unit_test(fields_from_files_are_those_from_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
