// MJCF from the first element to a filled builder.
#include "read/mjcf/mjcf.h"
#include "base/memory.h"
#include "constraint/constraint.h"
#include "model/angle.h"
#include "model/builder.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void* mjcf_add(mjcf_list* list, size_t size) {
    if (list->count == list->capacity) {
        const int capacity = list->capacity < 8 ? 8 : 2 * list->capacity;
        void* grown = cal_allocate((size_t)capacity, size);
        if (grown == NULL) return NULL;
        if (list->count > 0) memcpy(grown, list->items, (size_t)list->count * size);
        cal_free(list->items);
        list->items = grown;
        list->capacity = capacity;
    }
    void* item = (char*)list->items + (size_t)list->count * size;
    memset(item, 0, size); // it may have been used before
    list->count++;
    return item;
}

void mjcf_list_free(mjcf_list* list) {
    cal_free(list->items);
    *list = (mjcf_list){0};
}

cal_status mjcf_no_memory(const cal_xml_node* node, cal_error* error) {
    return cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory");
}

// --- Sources ------------------------------------------------------------------------------------------------------------

// Several <worldbody> are one.
static void join_worlds(cal_xml_node* root) {
    cal_xml_node* first = cal_xml_child(root, "worldbody");
    cal_xml_node* other = first != NULL ? cal_xml_next(first, "worldbody") : NULL;
    for (; other != NULL; other = cal_xml_next(other, "worldbody")) {
        for (cal_xml_node* child = other->first; child != NULL; child = child->next) child->parent = first;
        if (other->first == NULL) continue;
        if (first->last != NULL)
            first->last->next = other->first;
        else
            first->first = other->first;
        first->last = other->last;
        other->first = other->last = NULL;
    }
}

cal_status mjcf_count_file(mjcf_model* model, size_t size, const cal_xml_node* node, cal_error* error) {
    model->bytes += (int64_t)size;
    if (model->bytes > CAL_XML_LARGEST)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "the model's files have more than 128 MB together");
    if (++model->file_count > MJCF_MOST_FILES)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "more than %d files include and attach each other",
                            MJCF_MOST_FILES);
    return CAL_OK;
}

cal_status mjcf_open_source(mjcf_model* model, cal_xml_document* document, const char* inside, int depth,
                            mjcf_source** out, cal_error* error) {
    mjcf_source* source = cal_allocate(1, sizeof *source);
    mjcf_source** place = source != NULL ? mjcf_add(&model->sources, sizeof *place) : NULL;
    if (place == NULL) {
        cal_free(source);
        return mjcf_no_memory(cal_xml_root(document), error);
    }
    *place = *out = source;
    if (model->main == NULL) model->main = source;
    source->model = model;
    source->reader = model->reader;
    source->document = document;
    source->root = cal_xml_root(document);
    source->inside = inside;
    MJCF_TRY(mjcf_include(source, error));
    join_worlds(source->root);
    mjcf_report_unknown(source);
    MJCF_TRY(mjcf_read_compiler(source, error));
    if (depth == 0) {
        MJCF_TRY(mjcf_read_option(source, error));
        MJCF_TRY(mjcf_read_custom(source, error));
    }
    MJCF_TRY(mjcf_read_classes(source, error));
    return mjcf_read_assets(source, depth, error);
}

static void close_source(mjcf_source* source) {
    for (int i = 0; i < source->meshes.count; i++) cal_mesh_free(&((mjcf_mesh*)source->meshes.items)[i].triangles);
    mjcf_list_free(&source->classes);
    mjcf_list_free(&source->meshes);
    mjcf_list_free(&source->materials);
    mjcf_list_free(&source->textures);
    mjcf_list_free(&source->fields);
    cal_names_destroy(source->class_names);
    cal_names_destroy(source->mesh_names);
    cal_names_destroy(source->material_names);
    cal_names_destroy(source->texture_names);
    cal_names_destroy(source->field_names);
    mjcf_list_free(&source->attachable);
    cal_names_destroy(source->attached_bodies);
    cal_names_destroy(source->attached_frames);
    cal_free(source);
}

static void close_model(mjcf_model* model) {
    for (int i = 0; i < model->sources.count; i++) close_source(((mjcf_source**)model->sources.items)[i]);
    for (int i = 0; i < model->documents.count; i++) cal_xml_destroy(((cal_xml_document**)model->documents.items)[i]);
    mjcf_list* const lists[] = {&model->sources, &model->documents, &model->bodies,    &model->joints,
                                &model->geoms,   &model->sites,     &model->actuators, &model->copies};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) mjcf_list_free(lists[i]);
    cal_names_destroy(model->body_names);
    cal_names_destroy(model->joint_names);
    cal_names_destroy(model->geom_names);
    cal_names_destroy(model->site_names);
    mjcf_free_tendons(model);
    mjcf_free_start(model);
    cal_free(model->composites);
    cal_free(model->poses);
}

// --- Names --------------------------------------------------------------------------------------------------------------

// Joints without a name are called after their body and their place on it.
static cal_status name_joints(mjcf_model* model, cal_error* error) {
    const mjcf_body* bodies = model->bodies.items;
    mjcf_joint* joints = model->joints.items;
    for (int b = 0; b < model->bodies.count; b++) {
        int place = 0;
        for (int j = bodies[b].first_joint; j >= 0; j = joints[j].next, place++) {
            if (joints[j].name != NULL) continue;
            char number[32];
            snprintf(number, sizeof number, "_joint%d", place);
            joints[j].unnamed = true;
            joints[j].name = mjcf_join(bodies[b].source->document, bodies[b].name, "", number);
            if (joints[j].name == NULL) return mjcf_no_memory(joints[j].node, error);
        }
    }
    return CAL_OK;
}

typedef struct named {
    const char** name;
    const cal_xml_node* node;
    bool unnamed;
    cal_xml_document* document;
} named;

static named body_at(const mjcf_model* model, int i) {
    mjcf_body* body = &((mjcf_body*)model->bodies.items)[i];
    return (named){&body->name, body->node, body->unnamed, body->source->document};
}
static named joint_at(const mjcf_model* model, int i) {
    mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[i];
    return (named){&joint->name, joint->node, joint->unnamed, joint->source->document};
}
static named geom_at(const mjcf_model* model, int i) {
    mjcf_geom* geom = &((mjcf_geom*)model->geoms.items)[i];
    return (named){&geom->name, geom->node, false, NULL};
}
static named site_at(const mjcf_model* model, int i) {
    mjcf_site* site = &((mjcf_site*)model->sites.items)[i];
    return (named){&site->name, site->node, false, NULL};
}

// First the names from the file, then those that were made here, which give way.
static cal_status index_names(const mjcf_model* model, int count, named (*at)(const mjcf_model*, int),
                              cal_name_table** out, cal_error* error) {
    *out = cal_names_create((size_t)count);
    if (*out == NULL) return mjcf_no_memory(model->main->root, error);
    for (int made = 0; made < 2; made++)
        for (int i = 0; i < count; i++) {
            const named item = at(model, i);
            if (*item.name == NULL || item.unnamed != (made == 1)) continue;
            int owner = cal_names_add(*out, *item.name, i);
            while (owner != i && made == 1) {
                *item.name = mjcf_join(item.document, *item.name, "_", "");
                if (*item.name == NULL) return mjcf_no_memory(item.node, error);
                owner = cal_names_add(*out, *item.name, i);
            }
            if (owner != i)
                return cal_xml_fail(item.node, error, CAL_BAD_MODEL, "the name \"%.60s\" is taken, by line %d",
                                    *item.name, at(model, owner).node->line);
        }
    return CAL_OK;
}

static cal_status make_names(mjcf_model* model, cal_error* error) {
    MJCF_TRY(name_joints(model, error));
    MJCF_TRY(index_names(model, model->bodies.count, body_at, &model->body_names, error));
    MJCF_TRY(index_names(model, model->joints.count, joint_at, &model->joint_names, error));
    MJCF_TRY(index_names(model, model->geoms.count, geom_at, &model->geom_names, error));
    return index_names(model, model->sites.count, site_at, &model->site_names, error);
}

// --- Into a builder -----------------------------------------------------------------------------------------------------

static cal_status add_bodies(const mjcf_model* model, cal_builder* builder, cal_error* error) {
    for (int i = 0; i < model->bodies.count; i++) {
        const mjcf_body* body = &((mjcf_body*)model->bodies.items)[i];
        cal_body_def def = cal_default_body_def();
        def.name = body->name;
        def.parent = body->parent;
        memcpy(def.position, body->position, sizeof def.position);
        memcpy(def.quaternion, body->quaternion, sizeof def.quaternion);
        def.mass = body->solid.mass;
        memcpy(def.center, body->solid.center, sizeof def.center);
        memcpy(def.inertia, body->solid.inertia, sizeof def.inertia);
        def.weightless = body->gravity_compensation;
        if (cal_builder_add_body(builder, &def) == CAL_NONE) return mjcf_no_memory(body->node, error);
    }
    return CAL_OK;
}

static cal_status joint_def(const mjcf_model* model, const mjcf_joint* joint, cal_joint_def* def, cal_error* error) {
    const bool turns = joint->kind == CAL_REVOLUTE;
    const double unit = joint->source->compiler.degrees && joint->kind != CAL_PRISMATIC ? CAL_PI / 180.0 : 1.0;
    *def = cal_default_joint_def();
    def->name = joint->name;
    def->kind = joint->kind;
    def->damping = joint->damping[0];
    def->armature = joint->armature;
    def->friction_loss = joint->friction_loss;
    if (joint->kind == CAL_FREE) return CAL_OK;
    memcpy(def->anchor, joint->position, sizeof def->anchor);
    def->stiffness = joint->stiffness[0];
    if (joint->kind == CAL_BALL) return CAL_OK;
    memcpy(def->axis, joint->axis, sizeof def->axis);
    def->zero = def->initial_q[0] = turns ? unit * joint->reference : joint->reference;
    def->spring_reference = turns ? unit * joint->spring_reference : joint->spring_reference;
    MJCF_TRY(mjcf_limited(joint->source, joint->limited, joint->range, "", joint->node, &def->limited, error));
    for (int i = 0; i < 2; i++) def->range[i] = turns ? unit * joint->range[i] : joint->range[i];
    if (def->limited && !(def->range[0] < def->range[1]))
        return cal_xml_fail(joint->node, error, CAL_BAD_MODEL, "its range is %g to %g degrees, which is one angle",
                            joint->range[0], joint->range[1]);
    if (def->limited && (isinf(def->range[0]) || isinf(def->range[1]))) def->limited = false;
    if (!(cal_length(joint->axis, 3) > 1e-14))
        return cal_xml_fail(joint->node, error, CAL_BAD_MODEL, "its axis is zero");
    def->motor_carries = joint->motor_carries;
    if (!mjcf_sums_motors(model, joint)) return CAL_OK; // then the range is the actuator's
    bool holds;
    MJCF_TRY(mjcf_limited(joint->source, joint->force_limited, joint->force_range, "actuatorfrc", joint->node, &holds,
                          error));
    if (holds) memcpy(def->motor_range, joint->force_range, sizeof def->motor_range);
    return CAL_OK;
}

static cal_status check_joint(const mjcf_model* model, const mjcf_joint* joint, cal_error* error) {
    const mjcf_body* body = &((mjcf_body*)model->bodies.items)[joint->body];
    if (joint->kind == CAL_FREE && (body->parent != CAL_GROUND || body->joint_count > 1))
        return cal_xml_fail(joint->node, error, CAL_BAD_MODEL,
                            "a free joint must be the only one of a body that hangs from the world");
    if (body->mocap) return cal_xml_fail(joint->node, error, CAL_BAD_MODEL, "a mocap body has no joints");
    cal_read_report* report = model->reader->report;
    if (joint->kind == CAL_BALL &&
        (joint->limited == MJCF_YES || (joint->limited == MJCF_AUTO && joint->range[1] != 0.0)))
        cal_report_add(report, joint->node, CAL_ISSUE_NOT_SIMULATED, "joint range",
                       "ignored: Calder's ball joints have no stops");
    if (joint->kind == CAL_FREE && joint->stiffness[0] != 0.0)
        cal_report_add(report, joint->node, CAL_ISSUE_NOT_SIMULATED, "joint stiffness",
                       "ignored: Calder's free joints have no springs");
    if (joint->stiffness[1] != 0.0 || joint->stiffness[2] != 0.0)
        cal_report_add(report, joint->node, CAL_ISSUE_NOT_SIMULATED, "joint stiffness",
                       "ignored beyond the first number: Calder's springs are linear");
    if (joint->damping[1] != 0.0 || joint->damping[2] != 0.0)
        cal_report_add(report, joint->node, CAL_ISSUE_NOT_SIMULATED, "joint damping",
                       "ignored beyond the first number: Calder's dampers are linear");
    return CAL_OK;
}

static cal_status add_joints(mjcf_model* model, cal_builder* builder, bool check, cal_error* error) {
    const mjcf_body* bodies = model->bodies.items;
    mjcf_joint* joints = model->joints.items;
    int first_q = 0, first_v = 0;
    for (int b = 0; b < model->bodies.count; b++)
        for (int j = bodies[b].first_joint; j >= 0; j = joints[j].next) {
            cal_joint_def def;
            if (check) MJCF_TRY(check_joint(model, &joints[j], error));
            MJCF_TRY(joint_def(model, &joints[j], &def, error));
            mjcf_start_joint(model, &def, first_q, first_v);
            first_q += cal_joint_q_count(def.kind);
            first_v += cal_joint_v_count(def.kind);
            joints[j].number = cal_builder_add_joint(builder, b, &def);
            if (joints[j].number == CAL_NONE) return mjcf_no_memory(joints[j].node, error);
        }
    return CAL_OK;
}

// hidden: no shape of its body is in a group that is shown.
static cal_status add_geom(mjcf_model* model, int number, bool hidden, cal_error* error) {
    mjcf_geom* geom = &((mjcf_geom*)model->geoms.items)[number];
    cal_shape_def shape;
    bool drawn;
    MJCF_TRY(mjcf_geom_shape(geom, &shape, &drawn, error));
    geom->shape = CAL_NONE;
    if (!drawn) return CAL_OK;
    if (hidden && shape.collides) shape.visible = shape.color[3] > 0.0F;
    geom->shape = cal_builder_add_shape(model->reader->builder, &shape);
    return geom->shape != CAL_NONE ? CAL_OK : mjcf_no_memory(geom->node, error);
}

// Whether a body has geoms, and MuJoCo's viewers show none of them: what it touches with then shows where it is.
static cal_status is_hidden(mjcf_model* model, const mjcf_body* body, bool* out, cal_error* error) {
    *out = true;
    for (int i = body->first_geom; *out && i >= 0; i = ((mjcf_geom*)model->geoms.items)[i].next) {
        cal_shape_def shape;
        bool drawn;
        MJCF_TRY(mjcf_geom_shape(&((mjcf_geom*)model->geoms.items)[i], &shape, &drawn, error));
        *out = !(drawn && shape.visible);
    }
    return CAL_OK;
}

// The world's first, then body by body, as MuJoCo counts them.
static cal_status add_geoms(mjcf_model* model, cal_error* error) {
    for (int i = 0; i < model->geoms.count; i++)
        if (((mjcf_geom*)model->geoms.items)[i].body == CAL_GROUND) MJCF_TRY(add_geom(model, i, false, error));
    for (int b = 0; b < model->bodies.count; b++) {
        const mjcf_body* body = &((mjcf_body*)model->bodies.items)[b];
        bool hidden;
        MJCF_TRY(is_hidden(model, body, &hidden, error));
        for (int i = body->first_geom; i >= 0; i = ((mjcf_geom*)model->geoms.items)[i].next)
            MJCF_TRY(add_geom(model, i, hidden, error));
    }
    return CAL_OK;
}

static cal_status add_sites(mjcf_model* model, cal_error* error) {
    for (int i = 0; i < model->sites.count; i++) {
        const mjcf_site* site = &((mjcf_site*)model->sites.items)[i];
        cal_site_def def = cal_default_site_def();
        def.name = site->name;
        def.body = site->body;
        memcpy(def.position, site->position, sizeof def.position);
        memcpy(def.quaternion, site->quaternion, sizeof def.quaternion);
        def.kind = site->kind;
        memcpy(def.size, site->size, sizeof def.size);
        if (cal_builder_add_site(model->reader->builder, &def) == CAL_NONE) return mjcf_no_memory(site->node, error);
    }
    return CAL_OK;
}

// Springs and dampers that are given by a time constant T and a damping ratio ζ, with the inertia 1 / (M⁻¹)ᵢᵢ in the start
// position: k = m / (T ζ)², c = 2 m / T. All of (M⁻¹)ᵢᵢ take linear time.
static cal_status resolve_springs(mjcf_model* model, const cal_model* bare) {
    cal_constraints* set = NULL; // none: for the mass matrix
    double* q = cal_allocate((size_t)cal_model_q_count(bare) + 1, sizeof *q);
    double* v = cal_allocate((size_t)cal_model_v_count(bare) + 1, sizeof *v);
    double* inverse = cal_allocate((size_t)cal_model_v_count(bare) + 1, sizeof *inverse);
    cal_status status = q != NULL && v != NULL && inverse != NULL ? cal_constraints_create(bare, &set) : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        cal_model_initial(bare, q, v, NULL);
        cal_constraints_evaluate(set, q, v);
        cal_constraints_factor_mass(set);
        cal_mass_factor_inverse_diagonal(&set->tree, inverse);
    }
    for (int j = 0; status == CAL_OK && j < model->joints.count; j++) {
        mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[j];
        if (!(joint->spring_damper[0] > 0.0 && joint->spring_damper[1] > 0.0) || joint->kind == CAL_FREE) continue;
        int first;
        cal_model_joint(bare, joint->number, NULL, NULL, NULL, &first);
        const int size = cal_joint_v_count(joint->kind);
        double sum = 0.0;
        for (int i = 0; i < size; i++) sum += inverse[first + i];
        if (!isfinite(sum)) status = CAL_BAD_MODEL;
        const double inertia = size / fmax(1e-15, sum), time = joint->spring_damper[0];
        const double slow = time * joint->spring_damper[1];
        joint->stiffness[0] = inertia / fmax(1e-15, slow * slow);
        joint->damping[0] = 2.0 * inertia / fmax(1e-15, time);
    }
    if (set != NULL) cal_constraints_destroy(set);
    cal_free(q);
    cal_free(v);
    cal_free(inverse);
    return status;
}

// Makes a model of bodies and joints alone, without damping, to ask it.
static cal_status spring_dampers(mjcf_model* model, cal_error* error) {
    bool any = false;
    for (int i = 0; i < model->joints.count; i++) {
        const mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[i];
        if (joint->spring_damper[0] == 0.0 && joint->spring_damper[1] == 0.0) continue;
        any = true;
        if (!(joint->spring_damper[0] > 0.0 && joint->spring_damper[1] > 0.0))
            return cal_xml_fail(joint->node, error, CAL_BAD_MODEL, "both numbers of springdamper must be above zero");
    }
    if (!any) return CAL_OK;
    cal_builder* builder = NULL;
    cal_model* bare = NULL;
    cal_error inner = {CAL_OK, ""};
    cal_status status = cal_builder_create(&builder);
    if (status == CAL_OK) status = add_bodies(model, builder, &inner);
    if (status == CAL_OK) status = add_joints(model, builder, false, &inner);
    if (status == CAL_OK) status = cal_builder_finish(builder, &bare, &inner);
    if (status == CAL_OK) status = resolve_springs(model, bare);
    cal_model_destroy(bare);
    cal_builder_destroy(builder);
    return status == CAL_OK ? CAL_OK
                            : cal_xml_fail(model->main->root, error, status, "springdamper: %s",
                                           inner.text[0] != '\0' ? inner.text : cal_status_text(status));
}

static bool needs_subtrees(const mjcf_model* model) {
    for (int i = 0; i < model->actuators.count; i++) {
        const mjcf_motor* motor = &((mjcf_motor*)model->actuators.items)[i];
        if (motor->number != CAL_NONE && motor->actuator.bias[2] > 0.0) return true;
    }
    return false;
}

static void report_bodies(const mjcf_model* model) {
    for (int i = 0; i < model->bodies.count; i++) {
        const mjcf_body* body = &((mjcf_body*)model->bodies.items)[i];
        if (body->mocap)
            cal_report_add(model->reader->report, body->node, CAL_ISSUE_NOT_SIMULATED, "body mocap",
                           "the body stays where the file puts it");
    }
}

static cal_status build(mjcf_model* model, cal_error* error) {
    cal_builder* builder = model->reader->builder;
    const char* name = cal_xml_text(model->main->root, "model");
    if (name != NULL) cal_builder_set_name(builder, name);
    cal_builder_set_gravity(builder, model->gravity);
    cal_builder_set_magnetic_field(builder, model->magnetic_field);
    cal_builder_set_timestep(builder, model->timestep);
    MJCF_TRY(mjcf_read_bodies(model, error));
    MJCF_TRY(mjcf_weigh_bodies(model, error));
    MJCF_TRY(make_names(model, error));
    report_bodies(model);
    MJCF_TRY(mjcf_read_tendons(model, error));
    MJCF_TRY(mjcf_read_actuators(model, error));
    if (needs_subtrees(model)) MJCF_TRY(mjcf_weigh_subtrees(model, error));
    MJCF_TRY(spring_dampers(model, error));
    mjcf_read_start(model);
    MJCF_TRY(add_bodies(model, builder, error));
    MJCF_TRY(add_joints(model, builder, true, error));
    MJCF_TRY(add_geoms(model, error));
    MJCF_TRY(add_sites(model, error));
    MJCF_TRY(mjcf_add_drags(model, error));
    MJCF_TRY(mjcf_add_tendons(model, error));
    MJCF_TRY(mjcf_add_actuators(model, error));
    MJCF_TRY(mjcf_add_sensors(model, error));
    MJCF_TRY(mjcf_read_links(model, error));
    cal_builder_disable(builder, model->disabled);
    return CAL_OK;
}

cal_status cal_mjcf_read(cal_reader* reader, cal_xml_document* document, cal_error* error) {
    mjcf_model model = {.reader = reader,
                        .gravity = {0.0, 0.0, -9.81},
                        .magnetic_field = {0.0, -0.5, 0.0},
                        .timestep = 0.002,
                        .bytes = (int64_t)reader->size};
    model.restitution = model.friction = (double)NAN;
    mjcf_source* source;
    cal_status status = mjcf_open_source(&model, document, "", 0, &source, error);
    if (status == CAL_OK) status = build(&model, error);
    close_model(&model);
    return status;
}
