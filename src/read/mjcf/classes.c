// Default classes. A class starts as a copy of its parent, with the attributes of its own elements over that; nested
// classes come after the elements beside them, wherever they stand in the file.
#include "base/memory.h"
#include "read/mjcf/mjcf.h"
#include <string.h>

static cal_status read_element(cal_xml_node* node, mjcf_class* class, cal_error* error) {
    if (cal_xml_is(node, "joint")) return mjcf_read_joint(node, &class->joint, error);
    if (cal_xml_is(node, "geom")) return mjcf_read_geom(node, &class->geom, error);
    if (cal_xml_is(node, "site")) return mjcf_read_site(node, &class->site, error);
    if (cal_xml_is(node, "mesh")) return mjcf_read_mesh(node, &class->mesh, error);
    if (cal_xml_is(node, "material")) return mjcf_read_material(node, &class->material, error);
    if (cal_xml_is(node, "tendon")) return mjcf_read_tendon(node, &class->tendon, error);
    if (cal_xml_is(node, "equality")) return mjcf_boolean(node, "active", &class->equality_active, error);
    if (cal_xml_is(node, "pair")) {
        double friction[5];
        int count;
        MJCF_TRY(cal_xml_numbers(node, "friction", 1, 5, friction, &count, error));
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): add_class gives a class or fails
        if (count > 0) class->pair_friction = friction[0];
        return mjcf_contact_dimension(node, &class->pair_condim, error);
    }
    if (mjcf_is_actuator(node)) return mjcf_read_actuator(node, &class->actuator, error);
    return CAL_OK;
}

static cal_status read_own_elements(cal_xml_node* section, mjcf_class* class, cal_error* error) {
    for (cal_xml_node* node = section->first; node != NULL; node = node->next)
        MJCF_TRY(read_element(node, class, error));
    return CAL_OK;
}

static cal_status add_class(mjcf_source* source, const mjcf_class* parent, const char* name, const cal_xml_node* node,
                            mjcf_class** out, cal_error* error) {
    mjcf_class* class = cal_xml_allocate(source->document, 1, sizeof *class);
    mjcf_class** place = class != NULL ? mjcf_add(&source->classes, sizeof *place) : NULL;
    if (place == NULL) return mjcf_no_memory(node, error);
    if (parent != NULL)
        *class = *parent;
    else
        mjcf_default_class(class);
    class->name = name;
    *place = *out = class;
    return CAL_OK;
}

// Depth first, without recursion: a section's own elements are read when it is entered.
static cal_status read_section(mjcf_source* source, cal_xml_node* top, mjcf_class* main_class, cal_error* error) {
    mjcf_list open = {0}; // classes of the sections that node is in
    cal_status status = CAL_OK;
    mjcf_class** place = mjcf_add(&open, sizeof *place);
    if (place == NULL) return mjcf_no_memory(top, error);
    *place = main_class;
    status = read_own_elements(top, main_class, error);
    cal_xml_node* node = cal_xml_child(top, "default");
    while (status == CAL_OK && node != NULL) {
        const char* name = cal_xml_text(node, "class");
        mjcf_class* parent = ((mjcf_class**)open.items)[open.count - 1];
        mjcf_class* class = NULL;
        if (name == NULL || name[0] == '\0')
            status = cal_xml_fail(node, error, CAL_BAD_MODEL, "a nested default needs a class name");
        if (status == CAL_OK) status = add_class(source, parent, name, node, &class, error);
        if (status == CAL_OK) status = read_own_elements(node, class, error);
        if (status != CAL_OK) break;
        cal_xml_node* child = cal_xml_child(node, "default");
        if (child != NULL) {
            place = mjcf_add(&open, sizeof *place);
            if (place == NULL) {
                status = mjcf_no_memory(node, error);
                break;
            }
            *place = class;
            node = child;
            continue;
        }
        while (node != top && cal_xml_next(node, "default") == NULL) {
            node = node->parent;
            open.count--;
        }
        node = node == top ? NULL : cal_xml_next(node, "default");
    }
    mjcf_list_free(&open);
    return status;
}

cal_status mjcf_read_classes(mjcf_source* source, cal_error* error) {
    mjcf_class* main_class = NULL;
    MJCF_TRY(add_class(source, NULL, "main", source->root, &main_class, error));
    if (main_class == NULL) return mjcf_no_memory(source->root, error);
    for (cal_xml_node* node = cal_xml_child(source->root, "default"); node != NULL;
         node = cal_xml_next(node, "default")) {
        const char* name = cal_xml_text(node, "class");
        if (name != NULL && name[0] != '\0') main_class->name = name;
        MJCF_TRY(read_section(source, node, main_class, error));
    }
    source->class_names = cal_names_create((size_t)source->classes.count);
    if (source->class_names == NULL) return mjcf_no_memory(source->root, error);
    for (int i = 0; i < source->classes.count; i++) {
        const char* name = ((mjcf_class**)source->classes.items)[i]->name;
        if (cal_names_add(source->class_names, name, i) != i)
            return cal_xml_fail(source->root, error, CAL_BAD_MODEL, "two default classes are named \"%.60s\"", name);
    }
    return CAL_OK;
}

const mjcf_class* mjcf_main_class(const mjcf_source* source) { return ((mjcf_class**)source->classes.items)[0]; }

cal_status mjcf_class_of(const mjcf_source* source, cal_xml_node* node, const char* attribute,
                         const mjcf_class* fallback, const mjcf_class** out, cal_error* error) {
    const char* name = cal_xml_text(node, attribute);
    *out = fallback;
    if (name == NULL) return CAL_OK;
    const int number = cal_names_find(source->class_names, name);
    if (number == CAL_NONE) {
        // The first class can be called "main" whatever its name is.
        if (strcmp(name, "main") == 0) {
            *out = mjcf_main_class(source);
            return CAL_OK;
        }
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is no default class \"%.60s\"", name);
    }
    *out = ((mjcf_class**)source->classes.items)[number];
    return CAL_OK;
}
