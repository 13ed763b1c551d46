// Tendons: sums of joints (<fixed>), and paths through sites and round geoms (<spatial>).
//
// Names are those of the copy that is being read, as for everything that refers to others (links.c): a tendon of which all names are
// found in a copy, at least one of them the copy's own, is read there.
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

cal_status mjcf_read_tendon(cal_xml_node* node, mjcf_tendon* out, cal_error* error) {
    double slack[2];
    int count;
    MJCF_TRY(mjcf_choice_of(node, "limited", &out->limited, error));
    MJCF_TRY(mjcf_choice_of(node, "actuatorfrclimited", &out->force_limited, error));
    MJCF_TRY(cal_xml_numbers(node, "range", 2, 2, out->range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "actuatorfrcrange", 2, 2, out->force_range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "springlength", 1, 2, slack, &count, error));
    if (count > 0) out->spring_length[0] = slack[0], out->spring_length[1] = slack[count - 1];
    MJCF_TRY(mjcf_polynomial(node, "stiffness", out->stiffness, error));
    MJCF_TRY(mjcf_polynomial(node, "damping", out->damping, error));
    MJCF_TRY(cal_xml_number(node, "frictionloss", &out->friction_loss, error));
    return cal_xml_number(node, "armature", &out->armature, error);
}

// --- Parts -----------------------------------------------------------------------------------------------------------------

// Where a tendon is being read.
typedef struct place {
    mjcf_model* model;
    mjcf_tendon* tendon;
    const mjcf_copy* copy; // NULL: nowhere, to say what is wrong
    bool own, complete;    // some name is the copy's own; all names are found
} place;

// A number in the model's lists; CAL_NONE: not in this copy.
static cal_status find_part(place* p, cal_xml_node* node, const char* attribute, mjcf_noun noun, bool required,
                            int* out, cal_error* error) {
    static const mjcf_copy nowhere = {NULL, "", ""};
    const char* name = cal_xml_text(node, attribute);
    *out = CAL_NONE;
    if (name == NULL && required)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs the attribute %s", attribute);
    if (name == NULL) return CAL_OK;
    *out = mjcf_find_in(p->model, noun, name, p->copy != NULL ? p->copy : &nowhere, &p->own);
    if (*out != CAL_NONE) return CAL_OK;
    p->complete = false;
    if (p->copy != NULL) return CAL_OK;
    return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is no %s \"%.60s\"", attribute, name);
}

static cal_status add_joint(place* p, cal_xml_node* node, cal_tendon_part* part, cal_error* error) {
    part->kind = CAL_TENDON_JOINT;
    MJCF_TRY(find_part(p, node, "joint", MJCF_JOINT, true, &part->joint, error));
    MJCF_TRY(cal_xml_number(node, "coef", &part->factor, error));
    if (part->joint == CAL_NONE) return CAL_OK;
    const cal_joint_kind kind = ((mjcf_joint*)p->model->joints.items)[part->joint].kind;
    if (cal_joint_v_count(kind) == 1) return CAL_OK;
    return cal_xml_fail(node, error, CAL_BAD_MODEL, "a tendon of joints has hinges and slides only");
}

static cal_status add_site(place* p, cal_xml_node* node, cal_tendon_part* part, cal_error* error) {
    int site;
    MJCF_TRY(find_part(p, node, "site", MJCF_SITE, true, &site, error));
    if (site == CAL_NONE) return CAL_OK;
    const mjcf_site* own = &((mjcf_site*)p->model->sites.items)[site];
    part->body = own->body;
    memcpy(part->position, own->position, sizeof part->position);
    return CAL_OK;
}

static cal_status add_geom(place* p, cal_xml_node* node, cal_tendon_part* part, cal_error* error) {
    int geom, side;
    MJCF_TRY(find_part(p, node, "geom", MJCF_GEOM, true, &geom, error));
    MJCF_TRY(find_part(p, node, "sidesite", MJCF_SITE, false, &side, error));
    part->kind = CAL_TENDON_SPHERE;
    if (geom == CAL_NONE) return CAL_OK;
    cal_shape_def shape;
    bool drawn;
    MJCF_TRY(mjcf_geom_shape(&((mjcf_geom*)p->model->geoms.items)[geom], &shape, &drawn, error));
    if (shape.kind != CAL_SPHERE && shape.kind != CAL_CYLINDER)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "tendons go round spheres and cylinders only");
    if (shape.kind == CAL_CYLINDER) part->kind = CAL_TENDON_CYLINDER;
    part->body = shape.body;
    memcpy(part->position, shape.position, sizeof part->position);
    memcpy(part->quaternion, shape.quaternion, sizeof part->quaternion);
    part->radius = shape.size[0];
    part->sided = side != CAL_NONE;
    if (side == CAL_NONE) return CAL_OK;
    const mjcf_site* own = &((mjcf_site*)p->model->sites.items)[side];
    part->side_body = own->body;
    memcpy(part->side, own->position, sizeof part->side);
    return CAL_OK;
}

static cal_status add_part(place* p, cal_xml_node* node, bool fixed, cal_error* error) {
    cal_tendon_part* part = mjcf_add(&p->tendon->parts, sizeof *part);
    if (part == NULL) return mjcf_no_memory(node, error);
    *part = cal_default_tendon_part();
    if (fixed && cal_xml_is(node, "joint")) return add_joint(p, node, part, error);
    if (!fixed && cal_xml_is(node, "site")) return add_site(p, node, part, error);
    if (!fixed && cal_xml_is(node, "geom")) return add_geom(p, node, part, error);
    if (!fixed && cal_xml_is(node, "pulley")) {
        part->kind = CAL_TENDON_PULLEY;
        MJCF_TRY(cal_xml_number(node, "divisor", &part->factor, error));
        if (part->factor > 0.0 && isfinite(part->factor)) return CAL_OK;
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "its divisor is %g; it must be above zero", part->factor);
    }
    p->tendon->parts.count--; // the report lists what is not known
    return CAL_OK;
}

// --- Tendons ---------------------------------------------------------------------------------------------------------------

static cal_status read_one(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error) {
    mjcf_model* model = source->model;
    const bool fixed = cal_xml_is(node, "fixed");
    const mjcf_class* class;
    if (!fixed && !cal_xml_is(node, "spatial")) {
        node->linked = true;
        return CAL_OK;
    }
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    mjcf_tendon tendon = class->tendon;
    tendon.parts = (mjcf_list){0};
    tendon.number = CAL_NONE;
    tendon.source = source;
    tendon.node = node;
    place p = {.model = model, .tendon = &tendon, .copy = copy, .complete = true};
    p.own = copy != NULL && copy->prefix[0] == '\0' && copy->suffix[0] == '\0';
    cal_status status = mjcf_read_tendon(node, &tendon, error);
    for (cal_xml_node* part = node->first; status == CAL_OK && part != NULL; part = part->next)
        status = add_part(&p, part, fixed, error);
    if (status == CAL_OK && copy == NULL)
        status = cal_xml_fail(node, error, CAL_BAD_MODEL, "what it names is in no copy together");
    mjcf_tendon* kept = status == CAL_OK && p.own && p.complete ? mjcf_add(&model->tendons, sizeof *kept) : NULL;
    if (kept == NULL) {
        mjcf_list_free(&tendon.parts);
        return status != CAL_OK || !(p.own && p.complete) ? status : mjcf_no_memory(node, error);
    }
    node->linked = true;
    tendon.name = mjcf_link_name(source, node, copy);
    *kept = tendon;
    return CAL_OK;
}

static void report(const mjcf_model* model, const mjcf_tendon* tendon) {
    cal_read_report* report = model->reader->report;
    if (tendon->stiffness[1] != 0.0 || tendon->stiffness[2] != 0.0)
        cal_report_add(report, tendon->node, CAL_ISSUE_NOT_SIMULATED, "tendon stiffness",
                       "ignored beyond the first number: Calder's springs are linear");
    if (tendon->damping[1] != 0.0 || tendon->damping[2] != 0.0)
        cal_report_add(report, tendon->node, CAL_ISSUE_NOT_SIMULATED, "tendon damping",
                       "ignored beyond the first number: Calder's dampers are linear");
}

cal_status mjcf_read_tendons(mjcf_model* model, cal_error* error) {
    MJCF_TRY(mjcf_each(model, "tendon", read_one, error));
    model->tendon_names = cal_names_create((size_t)model->tendons.count);
    if (model->tendon_names == NULL) return mjcf_no_memory(model->main->root, error);
    for (int i = 0; i < model->tendons.count; i++) {
        const mjcf_tendon* tendon = &((mjcf_tendon*)model->tendons.items)[i];
        report(model, tendon);
        if (tendon->name != NULL && cal_names_add(model->tendon_names, tendon->name, i) != i)
            return cal_xml_fail(tendon->node, error, CAL_BAD_MODEL, "the name \"%.60s\" is taken", tendon->name);
    }
    return CAL_OK;
}

static cal_status add_one(mjcf_model* model, mjcf_tendon* tendon, cal_error* error) {
    cal_tendon_def def = cal_default_tendon_def();
    cal_tendon_part* parts = cal_xml_allocate(model->main->document, (size_t)tendon->parts.count + 1, sizeof *parts);
    if (parts == NULL) return mjcf_no_memory(tendon->node, error);
    if (tendon->parts.count > 0) memcpy(parts, tendon->parts.items, (size_t)tendon->parts.count * sizeof *parts);
    def.name = tendon->name;
    for (int i = 0; i < tendon->parts.count; i++)
        if (parts[i].kind == CAL_TENDON_JOINT)
            parts[i].joint = ((mjcf_joint*)model->joints.items)[parts[i].joint].number;
    def.parts = parts;
    def.part_count = tendon->parts.count;
    def.stiffness = tendon->stiffness[0];
    def.damping = tendon->damping[0];
    def.friction_loss = tendon->friction_loss;
    const double* slack = tendon->spring_length;
    if (!(slack[0] == -1.0 && slack[1] == -1.0)) memcpy(def.spring_length, slack, sizeof def.spring_length);
    MJCF_TRY(mjcf_limited(tendon->source, tendon->limited, tendon->range, "", tendon->node, &def.limited, error));
    memcpy(def.range, tendon->range, sizeof def.range);
    tendon->number = cal_builder_add_tendon(model->reader->builder, &def);
    return tendon->number != CAL_NONE ? CAL_OK : mjcf_no_memory(tendon->node, error);
}

cal_status mjcf_add_tendons(mjcf_model* model, cal_error* error) {
    for (int i = 0; i < model->tendons.count; i++)
        MJCF_TRY(add_one(model, &((mjcf_tendon*)model->tendons.items)[i], error));
    return CAL_OK;
}

void mjcf_free_tendons(mjcf_model* model) {
    for (int i = 0; i < model->tendons.count; i++) mjcf_list_free(&((mjcf_tendon*)model->tendons.items)[i].parts);
    mjcf_list_free(&model->tendons);
    cal_names_destroy(model->tendon_names);
}
