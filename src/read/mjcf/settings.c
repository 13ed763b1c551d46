// <compiler>, <option> and <custom>. Sections of one kind are read one after the other; the last value counts.
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

cal_status mjcf_boolean(cal_xml_node* node, const char* name, bool* out, cal_error* error) {
    int value = *out;
    MJCF_TRY(mjcf_choose(node, name, "false|true", &value, error));
    *out = value != 0;
    return CAL_OK;
}

// The place of a text in "one|another|third"; -1 when it is not there.
static int place_in(const char* choices, const char* text) {
    const size_t length = strlen(text);
    int place = 0;
    for (const char* choice = choices;; place++) {
        const char* end = strchr(choice, '|');
        const size_t size = end != NULL ? (size_t)(end - choice) : strlen(choice);
        if (size == length && memcmp(choice, text, length) == 0) return place;
        if (end == NULL) return -1;
        choice = end + 1;
    }
}

cal_status mjcf_choose(cal_xml_node* node, const char* name, const char* choices, int* out, cal_error* error) {
    const char* text = cal_xml_text(node, name);
    if (text == NULL) return CAL_OK;
    const int place = place_in(choices, text);
    if (place < 0)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s=\"%.30s\" is not one of %s", name, text, choices);
    *out = place;
    return CAL_OK;
}

cal_status mjcf_integer(cal_xml_node* node, const char* name, int* out, cal_error* error) {
    double value = *out;
    MJCF_TRY(cal_xml_number(node, name, &value, error));
    if (!(fabs(value) <= 2147483647.0) || value != floor(value))
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s is %g; it must be a whole number", name, value);
    *out = (int)value;
    return CAL_OK;
}

static cal_status read_group_range(mjcf_compiler* compiler, cal_xml_node* node, cal_error* error) {
    double range[2] = {compiler->group_range[0], compiler->group_range[1]};
    MJCF_TRY(cal_xml_numbers(node, "inertiagrouprange", 2, 2, range, NULL, error));
    for (int i = 0; i < 2; i++) compiler->group_range[i] = (int)fmax(-1e6, fmin(1e6, range[i]));
    return CAL_OK;
}

static cal_status read_compiler(mjcf_source* source, cal_xml_node* node, cal_error* error) {
    mjcf_compiler* compiler = &source->compiler;
    int angle = compiler->degrees, coordinate = 0, from_geom = (int)compiler->inertia_from_geom;
    bool exact = compiler->mesh_inertia == CAL_INERTIA_EXACT;
    MJCF_TRY(mjcf_boolean(node, "autolimits", &compiler->autolimits, error));
    MJCF_TRY(mjcf_boolean(node, "balanceinertia", &compiler->balance_inertia, error));
    MJCF_TRY(mjcf_boolean(node, "discardvisual", &compiler->discard_visual, error));
    MJCF_TRY(mjcf_boolean(node, "fitaabb", &compiler->fit_box, error));
    MJCF_TRY(mjcf_boolean(node, "strippath", &compiler->strip_path, error));
    MJCF_TRY(mjcf_boolean(node, "alignfree", &compiler->align_free, error));
    MJCF_TRY(mjcf_boolean(node, "exactmeshinertia", &exact, error));
    MJCF_TRY(mjcf_choose(node, "angle", "radian|degree", &angle, error));
    MJCF_TRY(mjcf_choose(node, "coordinate", "local|global", &coordinate, error));
    MJCF_TRY(mjcf_choose(node, "inertiafromgeom", "false|true|auto", &from_geom, error));
    MJCF_TRY(cal_xml_number(node, "boundmass", &compiler->bound_mass, error));
    MJCF_TRY(cal_xml_number(node, "boundinertia", &compiler->bound_inertia, error));
    MJCF_TRY(cal_xml_number(node, "settotalmass", &compiler->total_mass, error));
    MJCF_TRY(read_group_range(compiler, node, error));
    if (coordinate == 1)
        return cal_xml_fail(node, error, CAL_BAD_MODEL,
                            "global coordinates are not read; load and save the model with MuJoCo 2.3.3 or older");
    compiler->degrees = angle == 1;
    compiler->inertia_from_geom = (mjcf_choice)from_geom;
    compiler->mesh_inertia = exact ? CAL_INERTIA_EXACT : CAL_INERTIA_LEGACY;
    const char* sequence = cal_xml_text(node, "eulerseq");
    if (sequence != NULL) {
        if (strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "eulerseq=\"%.20s\" is not three of x, y, z, X, Y, Z",
                                sequence);
        memcpy(compiler->euler, sequence, 4);
    }
    const char* folder = cal_xml_text(node, "assetdir");
    if (folder != NULL) compiler->mesh_folder = compiler->texture_folder = folder;
    folder = cal_xml_text(node, "meshdir");
    if (folder != NULL) compiler->mesh_folder = folder;
    folder = cal_xml_text(node, "texturedir");
    if (folder != NULL) compiler->texture_folder = folder;
    return CAL_OK;
}

cal_status mjcf_read_compiler(mjcf_source* source, cal_error* error) {
    source->compiler = (mjcf_compiler){.autolimits = true,
                                       .degrees = true,
                                       .inertia_from_geom = MJCF_AUTO,
                                       .total_mass = -1.0,
                                       .group_range = {0, 5},
                                       .euler = "xyz",
                                       .mesh_folder = "",
                                       .texture_folder = "",
                                       .mesh_inertia = CAL_INERTIA_LEGACY};
    for (cal_xml_node* node = cal_xml_child(source->root, "compiler"); node != NULL;
         node = cal_xml_next(node, "compiler"))
        MJCF_TRY(read_compiler(source, node, error));
    return CAL_OK;
}

static cal_status read_flags(mjcf_model* model, cal_xml_node* node, cal_error* error) {
    static const struct {
        const char* name;
        uint32_t parts;
    } flags[] = {{"constraint", CAL_PART_CONSTRAINT},
                 {"equality", CAL_PART_EQUALITY},
                 {"frictionloss", CAL_PART_FRICTIONLOSS},
                 {"limit", CAL_PART_LIMIT},
                 {"contact", CAL_PART_CONTACT},
                 {"passive", CAL_PART_SPRING | CAL_PART_DAMPER},
                 {"spring", CAL_PART_SPRING},
                 {"damper", CAL_PART_DAMPER},
                 {"gravity", CAL_PART_GRAVITY},
                 {"actuation", CAL_PART_ACTUATION}};
    int clamped = -1;
    MJCF_TRY(mjcf_choose(node, "clampctrl", "disable|enable", &clamped, error));
    if (clamped >= 0) model->unclamped = clamped == 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        int enabled = -1;
        MJCF_TRY(mjcf_choose(node, flags[i].name, "disable|enable", &enabled, error));
        if (enabled == 0) model->disabled |= flags[i].parts;
        if (enabled == 1) model->disabled &= ~flags[i].parts;
    }
    return CAL_OK;
}

static cal_status read_option(mjcf_model* model, cal_xml_node* node, cal_error* error) {
    double groups[31];
    int count;
    MJCF_TRY(cal_xml_numbers(node, "gravity", 3, 3, model->gravity, NULL, error));
    MJCF_TRY(cal_xml_number(node, "density", &model->density, error));
    MJCF_TRY(cal_xml_number(node, "viscosity", &model->viscosity, error));
    MJCF_TRY(cal_xml_numbers(node, "wind", 3, 3, model->wind, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "magnetic", 3, 3, model->magnetic_field, NULL, error));
    if (!(model->density >= 0.0 && model->viscosity >= 0.0))
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "density and viscosity must not be negative");
    MJCF_TRY(cal_xml_number(node, "timestep", &model->timestep, error));
    if (!(model->timestep > 0.0)) return cal_xml_fail(node, error, CAL_BAD_MODEL, "timestep must be above zero");
    MJCF_TRY(cal_xml_numbers(node, "actuatorgroupdisable", 0, 31, groups, &count, error));
    for (int i = 0; i < count; i++)
        if (groups[i] >= 0.0 && groups[i] <= 30.0) model->disabled_groups |= UINT32_C(1) << (int)groups[i];
    for (cal_xml_node* flag = cal_xml_child(node, "flag"); flag != NULL; flag = cal_xml_next(flag, "flag"))
        MJCF_TRY(read_flags(model, flag, error));
    return CAL_OK;
}

cal_status mjcf_read_option(mjcf_source* source, cal_error* error) {
    for (cal_xml_node* node = cal_xml_child(source->root, "option"); node != NULL; node = cal_xml_next(node, "option"))
        MJCF_TRY(read_option(source->model, node, error));
    return CAL_OK;
}

// Custom numbers are kept under their names. Two of them have a meaning for contacts: restitution and friction of every
// shape that does not say.
static cal_status read_number(mjcf_model* model, cal_xml_node* node, cal_error* error) {
    enum { MOST = 500 };
    double values[MOST] = {0.0};
    const char* name = cal_xml_text(node, "name");
    if (name == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs a name");
    int count, size = -1;
    MJCF_TRY(cal_xml_numbers(node, "data", 0, MOST, values, &count, error));
    MJCF_TRY(mjcf_integer(node, "size", &size, error));
    if (size > MOST) return cal_xml_fail(node, error, CAL_BAD_MODEL, "its size is %d; 500 are the most", size);
    if (size >= 0) count = size;
    if (strcmp(name, "restitution") == 0 && count > 0) model->restitution = values[0];
    if (strcmp(name, "friction") == 0 && count > 0) model->friction = values[0];
    if (cal_builder_add_numbers(model->reader->builder, name, values, count) == CAL_NONE)
        return mjcf_no_memory(node, error);
    return CAL_OK;
}

cal_status mjcf_read_custom(mjcf_source* source, cal_error* error) {
    for (cal_xml_node* node = cal_xml_child(source->root, "custom"); node != NULL; node = cal_xml_next(node, "custom"))
        for (cal_xml_node* item = cal_xml_child(node, "numeric"); item != NULL; item = cal_xml_next(item, "numeric"))
            MJCF_TRY(read_number(source->model, item, error));
    return CAL_OK;
}
