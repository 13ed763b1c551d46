// Textures: two-dimensional pictures, made (builtin) or from PNG files. A file is read when a shape needs it, and once. Skies and cubes
// are not drawn. Nothing here acts on the motion: what is missing is noted, and no error.
#include "base/memory.h"
#include "model/png.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

enum { PNG_FILE = 64 << 20, SIDE = 128 }; // bytes of a file; pixels that a picture that is made has at most

cal_status mjcf_read_texture(mjcf_source* source, cal_xml_node* node, cal_error* error) {
    mjcf_texture* place = mjcf_add(&source->textures, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, error);
    *place = (mjcf_texture){.name = cal_xml_text(node, "name"), .node = node, .number = CAL_NONE};
    place->file = cal_xml_text(node, "file");
    if (place->name == NULL) place->name = place->file != NULL ? place->file : "";
    return CAL_OK;
}

static void note(const mjcf_source* source, const mjcf_texture* texture, const char* why) {
    cal_report_add(source->reader->report, texture->node, CAL_ISSUE_NOTE, "texture", "%s; it is not drawn", why);
}

// --- Pictures that are made -----------------------------------------------------------------------------------------------

enum { NOTHING, GRADIENT, CHECKER, FLAT };
enum { NO_MARK, EDGE, CROSS };

typedef struct painter {
    int builtin, mark, width, height;
    double first[3], second[3], marked[3];
} painter;

static cal_status read_painter(cal_xml_node* node, painter* out, cal_error* error) {
    *out = (painter){.width = SIDE, .height = SIDE};
    for (int i = 0; i < 3; i++) out->first[i] = 0.8, out->second[i] = 0.5;
    MJCF_TRY(mjcf_choose(node, "builtin", "none|gradient|checker|flat", &out->builtin, error));
    MJCF_TRY(mjcf_choose(node, "mark", "none|edge|cross|random", &out->mark, error));
    MJCF_TRY(cal_xml_numbers(node, "rgb1", 3, 3, out->first, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "rgb2", 3, 3, out->second, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "markrgb", 3, 3, out->marked, NULL, error));
    MJCF_TRY(mjcf_integer(node, "width", &out->width, error));
    MJCF_TRY(mjcf_integer(node, "height", &out->height, error));
    if (out->width <= 0 || out->height <= 0)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has %d × %d pixels", out->width, out->height);
    out->width = out->width < SIDE ? out->width : SIDE;
    out->height = out->height < SIDE ? out->height : SIDE;
    return CAL_OK;
}

// How much of the second colour a pixel has. A gradient goes from the middle to the edges.
static double share_at(const painter* p, int x, int y) {
    if (p->builtin == CHECKER) return (2 * x < p->width) == (2 * y < p->height) ? 0.0 : 1.0;
    if (p->builtin == FLAT) return 0.0;
    const double u = 2.0 * (x + 0.5) / p->width - 1.0, v = 2.0 * (y + 0.5) / p->height - 1.0;
    return fmin(1.0, sqrt(u * u + v * v));
}

static bool is_marked(const painter* p, int x, int y) {
    if (p->mark == EDGE) return x == 0 || y == 0 || x == p->width - 1 || y == p->height - 1;
    return p->mark == CROSS && (x == p->width / 2 || y == p->height / 2);
}

static uint8_t* paint(const painter* p, size_t* size) {
    uint8_t* pixels = cal_allocate(3 * (size_t)p->width * (size_t)p->height, 1);
    for (int i = 0; pixels != NULL && i < p->width * p->height; i++) {
        const int x = i % p->width, y = i / p->width;
        const double share = share_at(p, x, y);
        for (int k = 0; k < 3; k++) {
            const double mixed = (1.0 - share) * p->first[k] + share * p->second[k];
            const double value = is_marked(p, x, y) ? p->marked[k] : mixed;
            pixels[3 * i + k] = (uint8_t)(255.0 * fmin(1.0, fmax(0.0, value)) + 0.5);
        }
    }
    uint8_t* out = pixels != NULL ? cal_png_make(pixels, p->width, p->height, size) : NULL;
    cal_free(pixels);
    return out;
}

// --- All -------------------------------------------------------------------------------------------------------------------

// The bytes of a PNG file, which the caller frees; NULL: there are none, and the report says why.
static cal_status find_bytes(mjcf_source* source, const mjcf_texture* texture, uint8_t** out, size_t* size,
                             cal_error* error) {
    painter p;
    char path[CAL_PATH], *bytes = NULL;
    MJCF_TRY(read_painter(texture->node, &p, error));
    if (texture->file == NULL && p.builtin == NOTHING) {
        note(source, texture, "it has neither a file nor a builtin");
        return CAL_OK;
    }
    if (p.builtin != NOTHING) {
        *out = paint(&p, size);
        return *out != NULL ? CAL_OK : mjcf_no_memory(texture->node, error);
    }
    const char* why = NULL;
    if (mjcf_resolve_file(source, source->compiler.texture_folder, texture->file, texture->node, path, NULL) !=
            CAL_OK ||
        cal_file_read(path, PNG_FILE, texture->node, &bytes, size, NULL) != CAL_OK)
        why = "its file cannot be read";
    else
        why = cal_png_trouble((const uint8_t*)bytes, *size);
    if (why != NULL) {
        note(source, texture, why);
        cal_free(bytes);
        return CAL_OK;
    }
    *out = (uint8_t*)bytes;
    return CAL_OK;
}

static cal_status load_texture(mjcf_source* source, mjcf_texture* texture, cal_error* error) {
    int type = 1;
    uint8_t* bytes = NULL;
    cal_texture_def def = cal_default_texture_def();
    texture->loaded = true;
    MJCF_TRY(mjcf_choose(texture->node, "type", "2d|cube|skybox", &type, error));
    if (type != 0) {
        note(source, texture, "it is of a cube or a sky");
        return CAL_OK;
    }
    MJCF_TRY(find_bytes(source, texture, &bytes, &def.size, error));
    if (bytes == NULL) return CAL_OK;
    def.name = texture->name;
    def.bytes = bytes;
    texture->number = cal_builder_add_texture(source->reader->builder, &def);
    cal_free(bytes);
    return texture->number != CAL_NONE ? CAL_OK : mjcf_no_memory(texture->node, error);
}

cal_status mjcf_use_texture(mjcf_source* source, const mjcf_material* material, cal_shape_def* shape,
                            cal_error* error) {
    if (material->texture == NULL || (shape->kind != CAL_PLANE && shape->kind != CAL_MESH)) return CAL_OK;
    const int place = cal_names_find(source->texture_names, material->texture);
    if (place == CAL_NONE) return CAL_OK; // MuJoCo refuses it; it does not act on the motion
    mjcf_texture* texture = &((mjcf_texture*)source->textures.items)[place];
    if (!texture->loaded) MJCF_TRY(load_texture(source, texture, error));
    shape->texture = texture->number;
    // As MuJoCo's viewers have it: per shape, or per two metres.
    for (int i = 0; i < 2; i++) {
        const bool per_shape = !material->uniform && shape->size[i] > 0.0;
        shape->texture_repeat[i] = 0.5 * material->repeat[i] / (per_shape ? shape->size[i] : 1.0);
    }
    return CAL_OK;
}
