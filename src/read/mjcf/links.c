// What refers to others by name: equality, contact and keyframe.
//
// A name means what it means in the copy of the source that is being read. <replicate> and <attach> make copies; an element
// that refers to something in them is read once for each copy in which all its names are found and at least one of them is
// the copy's own. Copy by copy, so that the order is MuJoCo's.
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 512 };

// --- Names --------------------------------------------------------------------------------------------------------------

static int find(const cal_name_table* table, const char* name, const mjcf_copy* copy, bool* own) {
    char text[NAME];
    int used = snprintf(text, sizeof text, "%s%s%s", copy->prefix, name, copy->suffix);
    int found = used < NAME ? cal_names_find(table, text) : CAL_NONE;
    if (found != CAL_NONE) {
        *own = true;
        return found;
    }
    if (copy->suffix[0] == '\0') return CAL_NONE;
    used = snprintf(text, sizeof text, "%s%s", copy->prefix, name);
    return used < NAME ? cal_names_find(table, text) : CAL_NONE;
}

static const cal_name_table* table_of(const mjcf_model* model, mjcf_noun noun) {
    switch (noun) {
    case MJCF_BODY: return model->body_names;
    case MJCF_JOINT: return model->joint_names;
    case MJCF_GEOM: return model->geom_names;
    case MJCF_SITE: return model->site_names;
    case MJCF_TENDON: return model->tendon_names;
    }
    return NULL;
}

int mjcf_find_in(const mjcf_model* model, mjcf_noun noun, const char* name, const mjcf_copy* copy, bool* own) {
    return find(table_of(model, noun), name, copy, own);
}

cal_status mjcf_link_in(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                        const mjcf_reference* references, int count, mjcf_link* link, void* user, cal_error* error) {
    static const char* const nouns[] = {"body", "joint", "geom", "site", "tendon"};
    static const mjcf_copy nowhere = {NULL, "", ""};
    int found[2] = {CAL_NONE, CAL_NONE};
    bool own = copy != NULL && copy->prefix[0] == '\0' && copy->suffix[0] == '\0';
    for (int i = 0; i < count; i++) {
        const char* name = cal_xml_text(node, references[i].attribute);
        if (name == NULL && references[i].required)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs the attribute %s", references[i].attribute);
        if (name == NULL) continue;
        if (references[i].noun == MJCF_BODY && strcmp(name, "world") == 0) {
            found[i] = CAL_GROUND;
            continue;
        }
        found[i] = find(table_of(model, references[i].noun), name, copy != NULL ? copy : &nowhere, &own);
        if (found[i] != CAL_NONE) continue;
        if (copy != NULL) return CAL_OK;
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is no %s \"%.60s\"", nouns[references[i].noun], name);
    }
    if (copy == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "what it names is in no copy together");
    if (!own) return CAL_OK;
    node->linked = true;
    return link(model, source, node, copy, found, user, error);
}

const char* mjcf_link_name(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy) {
    const char* name = cal_xml_text(node, "name");
    return name != NULL && name[0] != '\0' ? mjcf_join(source->document, copy->prefix, name, copy->suffix) : NULL;
}

// --- Equality -----------------------------------------------------------------------------------------------------------

// Pose of a body in the world in the start position, where all joints are at their references.
static void start_pose(const mjcf_model* model, int body, double position[3], double quaternion[4]) {
    memcpy(position, (double[3]){0.0, 0.0, 0.0}, 3 * sizeof(double));
    memcpy(quaternion, (double[4]){1.0, 0.0, 0.0, 0.0}, 4 * sizeof(double));
    const mjcf_body* bodies = model->bodies.items;
    for (; body >= 0; body = bodies[body].parent) {
        double place[3], turn[4];
        memcpy(place, bodies[body].position, sizeof place);
        memcpy(turn, bodies[body].quaternion, sizeof turn);
        mjcf_compose(place, turn, position, quaternion);
        memcpy(position, place, sizeof place);
        memcpy(quaternion, turn, sizeof turn);
    }
}

// The frame (place, turn) of body a, seen from body b, in the start position.
static void seen_from(const mjcf_model* model, int a, int b, double place[3], double turn[4]) {
    double of_a[3], turn_a[4], of_b[3], turn_b[4], rotation[9], away[3];
    start_pose(model, a, of_a, turn_a);
    start_pose(model, b, of_b, turn_b);
    mjcf_compose(of_a, turn_a, place, turn);
    cal_quaternion_matrix(turn_b, rotation);
    for (int i = 0; i < 3; i++) away[i] = of_a[i] - of_b[i];
    cal_unrotate3(rotation, away, place);
    const double back[4] = {turn_b[0], -turn_b[1], -turn_b[2], -turn_b[3]};
    cal_quaternion_multiply(back, turn_a, turn);
}

typedef struct equality {
    bool active;
    bool by_site;
} equality;

static cal_status add_constraint(mjcf_model* model, cal_constraint_def* def, cal_xml_node* node, cal_error* error) {
    if (def->kind != CAL_COUPLING && def->body[0] == def->body[1])
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it holds a body to itself");
    return cal_builder_add_constraint(model->reader->builder, def) != CAL_NONE ? CAL_OK : mjcf_no_memory(node, error);
}

static cal_status start_constraint(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, const equality* how,
                                   cal_constraint_def* def, cal_error* error) {
    *def = cal_default_constraint_def();
    def->name = mjcf_link_name(source, node, copy);
    def->inactive = !how->active;
    if (def->name == NULL && cal_xml_text(node, "name") != NULL && cal_xml_text(node, "name")[0] != '\0')
        return mjcf_no_memory(node, error);
    return CAL_OK;
}

static void use_sites(const mjcf_model* model, const int* found, cal_constraint_def* def) {
    for (int i = 0; i < 2; i++) {
        const mjcf_site* site = &((mjcf_site*)model->sites.items)[found[i]];
        def->body[i] = site->body;
        memcpy(def->position[i], site->position, sizeof site->position);
        memcpy(def->quaternion[i], site->quaternion, sizeof site->quaternion);
    }
}

static cal_status link_connect(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                               const int* found, void* user, cal_error* error) {
    cal_constraint_def def;
    const equality* how = user;
    MJCF_TRY(start_constraint(source, node, copy, how, &def, error));
    def.kind = CAL_LOOP_BALL;
    if (how->by_site) {
        use_sites(model, found, &def);
        return add_constraint(model, &def, node, error);
    }
    int count;
    double turn[4] = {1.0, 0.0, 0.0, 0.0};
    def.body[0] = found[0];
    def.body[1] = found[1] == CAL_NONE ? CAL_GROUND : found[1];
    MJCF_TRY(cal_xml_numbers(node, "anchor", 3, 3, def.position[0], &count, error));
    if (count == 0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs an anchor, or two sites");
    memcpy(def.position[1], def.position[0], sizeof def.position[1]);
    seen_from(model, def.body[0], def.body[1], def.position[1], turn);
    return add_constraint(model, &def, node, error);
}

// In MuJoCo the anchor is in body 2; `relpose` is where the anchor, and body 2's axes, are in body 1.
static cal_status link_weld(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                            const int* found, void* user, cal_error* error) {
    cal_constraint_def def;
    const equality* how = user;
    MJCF_TRY(start_constraint(source, node, copy, how, &def, error));
    def.kind = CAL_WELD;
    if (how->by_site) {
        use_sites(model, found, &def);
        return add_constraint(model, &def, node, error);
    }
    double pose[7] = {0.0};
    def.body[0] = found[0];
    def.body[1] = found[1] == CAL_NONE ? CAL_GROUND : found[1];
    MJCF_TRY(cal_xml_numbers(node, "anchor", 3, 3, def.position[1], NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "relpose", 7, 7, pose, NULL, error));
    if (cal_length(pose + 3, 4) > 0.0) {
        memcpy(def.position[0], pose, sizeof def.position[0]);
        memcpy(def.quaternion[0], pose + 3, sizeof def.quaternion[0]);
    } else {
        memcpy(def.position[0], def.position[1], sizeof def.position[0]);
        seen_from(model, def.body[1], def.body[0], def.position[0], def.quaternion[0]);
    }
    return add_constraint(model, &def, node, error);
}

static cal_status link_joints(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                              const int* found, void* user, cal_error* error) {
    cal_constraint_def def;
    MJCF_TRY(start_constraint(source, node, copy, user, &def, error));
    def.kind = CAL_COUPLING;
    for (int i = 0; i < 2; i++) {
        if (found[i] == CAL_NONE) continue;
        const mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[found[i]];
        if (joint->kind != CAL_REVOLUTE && joint->kind != CAL_PRISMATIC)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "only hinges and slides can be coupled");
        def.joint[i] = joint->number;
    }
    if (def.joint[0] == def.joint[1]) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it couples a joint with itself");
    MJCF_TRY(cal_xml_numbers(node, "polycoef", 1, 5, def.polynomial, NULL, error));
    return add_constraint(model, &def, node, error);
}

// What holds the length of a sum of joints couples two of them:
//
//     c₀ (q₀ − z₀) + c₁ (q₁ − z₁) = p₀                        one tendon of one or two joints
//     c₀ (q₀ − z₀) = p₀ + p₁ c₁ (q₁ − z₁) + p₂ (c₁ (q₁ − z₁))² + …   a tendon of one joint that follows another such
//
// Lengths of other tendons are not held.
static bool find_coupling(const mjcf_tendon* tendon, const mjcf_tendon* other, const double p[5], int joint[2],
                          double polynomial[5]) {
    const cal_tendon_part *parts = tendon->parts.items, *follows = other != NULL ? other->parts.items : NULL;
    const int count = tendon->parts.count;
    if (count < 1 || count > 2 || parts[0].kind != CAL_TENDON_JOINT || parts[0].factor == 0.0) return false;
    if (other != NULL && (count != 1 || other->parts.count != 1 || follows[0].kind != CAL_TENDON_JOINT)) return false;
    joint[0] = parts[0].joint;
    joint[1] = other != NULL ? follows[0].joint : count == 2 ? parts[1].joint : CAL_NONE;
    if (joint[0] == joint[1]) return false;
    memset(polynomial, 0, 5 * sizeof *polynomial);
    polynomial[0] = p[0] / parts[0].factor;
    if (count == 2) polynomial[1] = -parts[1].factor / parts[0].factor;
    double power = 1.0;
    for (int i = 1; other != NULL && i < 5; i++) {
        power *= follows[0].factor;
        polynomial[i] = p[i] * power / parts[0].factor;
    }
    return true;
}

static cal_status link_tendon(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                              const int* found, void* user, cal_error* error) {
    const mjcf_tendon* tendons = model->tendons.items;
    cal_constraint_def def;
    double p[5] = {0.0, 1.0, 0.0, 0.0, 0.0};
    int joint[2];
    MJCF_TRY(start_constraint(source, node, copy, user, &def, error));
    MJCF_TRY(cal_xml_numbers(node, "polycoef", 1, 5, p, NULL, error));
    if (!find_coupling(&tendons[found[0]], found[1] != CAL_NONE ? &tendons[found[1]] : NULL, p, joint,
                       def.polynomial)) {
        cal_report_add(model->reader->report, node, CAL_ISSUE_NOT_SIMULATED, "equality tendon",
                       "only sums of two joints are held; it is left out");
        return CAL_OK;
    }
    def.kind = CAL_COUPLING;
    for (int i = 0; i < 2; i++)
        def.joint[i] = joint[i] != CAL_NONE ? ((mjcf_joint*)model->joints.items)[joint[i]].number : CAL_NONE;
    return add_constraint(model, &def, node, error);
}

static cal_status read_equality(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error) {
    mjcf_model* model = source->model;
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    equality how = {.active = class->equality_active, .by_site = cal_xml_text(node, "site1") != NULL};
    MJCF_TRY(mjcf_boolean(node, "active", &how.active, error));
    const mjcf_reference bodies[2] = {{"body1", MJCF_BODY, true}, {"body2", MJCF_BODY, false}};
    const mjcf_reference sites[2] = {{"site1", MJCF_SITE, true}, {"site2", MJCF_SITE, true}};
    const mjcf_reference joints[2] = {{"joint1", MJCF_JOINT, true}, {"joint2", MJCF_JOINT, false}};
    const mjcf_reference* ends = how.by_site ? sites : bodies;
    if (cal_xml_is(node, "connect")) return mjcf_link_in(model, source, node, copy, ends, 2, link_connect, &how, error);
    if (cal_xml_is(node, "weld")) return mjcf_link_in(model, source, node, copy, ends, 2, link_weld, &how, error);
    if (cal_xml_is(node, "joint")) return mjcf_link_in(model, source, node, copy, joints, 2, link_joints, &how, error);
    const mjcf_reference tendons[2] = {{"tendon1", MJCF_TENDON, true}, {"tendon2", MJCF_TENDON, false}};
    if (cal_xml_is(node, "tendon"))
        return mjcf_link_in(model, source, node, copy, tendons, 2, link_tendon, &how, error);
    node->linked = true; // flexible bodies: the report lists them
    return CAL_OK;
}

// --- Contact ------------------------------------------------------------------------------------------------------------

static cal_status link_exclude(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                               const int* found, void* user, cal_error* error) {
    (void)source, (void)copy, (void)user;
    return cal_builder_add_exclusion(model->reader->builder, found[0], found[1]) != CAL_NONE
               ? CAL_OK
               : mjcf_no_memory(node, error);
}

typedef struct pair_contact {
    double friction; // NaN: that of the geoms
    int condim;
} pair_contact;

// What a pair does not say is that of the geom with the higher priority, or the larger one of the two (MuJoCo's rule).
static double pair_friction(const pair_contact* own, const mjcf_geom* a, const mjcf_geom* b) {
    const mjcf_geom* first = a->priority >= b->priority ? a : b;
    const mjcf_geom* second = a->priority == b->priority ? b : first;
    const int condim = own->condim != MJCF_CONDIM_OF_GEOMS ? own->condim
                       : first->condim > second->condim    ? first->condim
                                                           : second->condim;
    if (condim == 1) return 0.0;
    return isnan(own->friction) ? fmax(mjcf_geom_friction(first), mjcf_geom_friction(second)) : own->friction;
}

static cal_status link_pair(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                            const int* found, void* user, cal_error* error) {
    (void)source, (void)copy;
    cal_pair_def def = cal_default_pair_def();
    const mjcf_geom* geoms = model->geoms.items;
    for (int i = 0; i < 2; i++) {
        def.shape[i] = geoms[found[i]].shape;
        if (def.shape[i] < 0) return CAL_OK; // left out, and reported where it was
    }
    def.friction = pair_friction(user, &geoms[found[0]], &geoms[found[1]]);
    return cal_builder_add_pair(model->reader->builder, &def) != CAL_NONE ? CAL_OK : mjcf_no_memory(node, error);
}

static cal_status read_contact(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error) {
    const mjcf_reference bodies[2] = {{"body1", MJCF_BODY, true}, {"body2", MJCF_BODY, true}};
    const mjcf_reference geoms[2] = {{"geom1", MJCF_GEOM, true}, {"geom2", MJCF_GEOM, true}};
    if (cal_xml_is(node, "exclude"))
        return mjcf_link_in(source->model, source, node, copy, bodies, 2, link_exclude, NULL, error);
    if (!cal_xml_is(node, "pair")) {
        node->linked = true;
        return CAL_OK;
    }
    const mjcf_class* class;
    double friction[5];
    int count;
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    pair_contact own = {class->pair_friction, class->pair_condim};
    MJCF_TRY(cal_xml_numbers(node, "friction", 1, 5, friction, &count, error));
    if (count > 0) own.friction = friction[0];
    MJCF_TRY(mjcf_contact_dimension(node, &own.condim, error));
    if (own.friction < 0.0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "its friction is negative");
    return mjcf_link_in(source->model, source, node, copy, geoms, 2, link_pair, &own, error);
}

// --- Keyframes ----------------------------------------------------------------------------------------------------------

// The numbers of an attribute when there are as many as the model needs; *out is NULL otherwise, and the report says so.
static cal_status key_numbers(mjcf_model* model, cal_xml_node* node, const char* name, int needed, double** out,
                              cal_error* error) {
    const char* text = cal_xml_text(node, name);
    *out = NULL;
    if (text == NULL) return CAL_OK;
    const int count = cal_read_numbers(text, 0, NULL);
    if (count < 0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s is not made of numbers", name);
    if (count != needed) {
        char what[40];
        snprintf(what, sizeof what, "key %s", name);
        cal_report_add(model->reader->report, node, CAL_ISSUE_NOT_SIMULATED, what,
                       "it has %d numbers, but the model needs %d; they are left out", count, needed);
        return CAL_OK;
    }
    *out = cal_allocate((size_t)count, sizeof **out);
    if (*out == NULL) return mjcf_no_memory(node, error);
    cal_read_numbers(text, count, *out);
    if (cal_all_finite(*out, count)) return CAL_OK;
    cal_free(*out);
    *out = NULL;
    return cal_xml_fail(node, error, CAL_BAD_MODEL, "%s is not finite", name);
}

// Quaternions of a keyframe need not be normalised.
static void normalize_key(const mjcf_model* model, double* q) {
    const mjcf_body* bodies = model->bodies.items;
    const mjcf_joint* joints = model->joints.items;
    for (int b = 0; b < model->bodies.count; b++)
        for (int j = bodies[b].first_joint; j >= 0; j = joints[j].next) {
            const int count = cal_joint_q_count(joints[j].kind);
            q += count;
            if (count < 4) continue;
            const double length = cal_length(q - 4, 4);
            for (int i = 1; i <= 4; i++) q[-i] = length > 0.0 ? q[-i] / length : i == 4 ? 1.0 : 0.0;
        }
}

static int keep_simulated(const mjcf_model* model, double* numbers) {
    int used = 0;
    for (int i = 0; numbers != NULL && i < model->actuators.count; i++)
        if (((mjcf_motor*)model->actuators.items)[i].number != CAL_NONE) numbers[used++] = numbers[i];
    return used;
}

static cal_status read_key(mjcf_model* model, cal_xml_node* node, cal_error* error) {
    int q_count = 0, v_count = 0;
    const mjcf_joint* joints = model->joints.items;
    for (int i = 0; i < model->joints.count; i++) {
        q_count += cal_joint_q_count(joints[i].kind);
        v_count += cal_joint_v_count(joints[i].kind);
    }
    double *q = NULL, *v = NULL, *control = NULL, *act = NULL;
    cal_keyframe_def def = cal_default_keyframe_def();
    def.name = cal_xml_text(node, "name");
    if (def.name != NULL && def.name[0] == '\0') def.name = NULL;
    cal_status status = cal_xml_number(node, "time", &def.time, error);
    if (status == CAL_OK) status = key_numbers(model, node, "qpos", q_count, &q, error);
    if (status == CAL_OK) status = key_numbers(model, node, "qvel", v_count, &v, error);
    if (status == CAL_OK) status = key_numbers(model, node, "ctrl", model->actuators.count, &control, error);
    if (status == CAL_OK) status = key_numbers(model, node, "act", mjcf_activation_count(model), &act, error);
    if (act != NULL && (act = mjcf_spread_activations(model, act)) == NULL) status = mjcf_no_memory(node, error);
    if (status == CAL_OK) {
        if (q != NULL) normalize_key(model, q);
        // Only actuators that are simulated have a control here; they keep their order.
        const int used = keep_simulated(model, control);
        def.activation_count = keep_simulated(model, act);
        def.activation = act;
        def.q = q;
        def.v = v;
        def.control = control;
        def.q_count = q != NULL ? q_count : 0;
        def.v_count = v != NULL ? v_count : 0;
        def.control_count = used;
        if (cal_builder_add_keyframe(model->reader->builder, &def) == CAL_NONE) status = mjcf_no_memory(node, error);
    }
    cal_free(q);
    cal_free(v);
    cal_free(control);
    cal_free(act);
    return status;
}

// --- All ----------------------------------------------------------------------------------------------------------------

// The elements of a source's sections of this name, in one copy; NULL: those that were linked nowhere.
static cal_status each_in(mjcf_model* model, mjcf_source* source, const char* section, const mjcf_copy* copy,
                          mjcf_read* read, cal_error* error) {
    const bool plain = copy != NULL && copy->prefix[0] == '\0' && copy->suffix[0] == '\0';
    for (cal_xml_node* part = cal_xml_child(source->root, section); part != NULL; part = cal_xml_next(part, section))
        for (cal_xml_node* node = part->first; node != NULL; node = node->next) {
            if (node->used || (copy == NULL && node->linked)) continue;
            if (++model->tries > MJCF_TRIES_PER_COPY * mjcf_copy_limit(model))
                return cal_xml_fail(node, error, CAL_BAD_MODEL, "too many copies of too many elements");
            MJCF_TRY(read(source, node, copy, error));
            if (plain && node->linked) node->used = true; // it means the same everywhere
        }
    return CAL_OK;
}

cal_status mjcf_each(mjcf_model* model, const char* section, mjcf_read* read, cal_error* error) {
    for (int i = 0; i < model->copies.count; i++) {
        const mjcf_copy copy = ((mjcf_copy*)model->copies.items)[i];
        MJCF_TRY(each_in(model, copy.source, section, &copy, read, error));
    }
    return each_in(model, model->main, section, NULL, read, error);
}

cal_status mjcf_read_links(mjcf_model* model, cal_error* error) {
    MJCF_TRY(mjcf_each(model, "equality", read_equality, error));
    MJCF_TRY(mjcf_each(model, "contact", read_contact, error));
    for (cal_xml_node* part = cal_xml_child(model->main->root, "keyframe"); part != NULL;
         part = cal_xml_next(part, "keyframe"))
        for (cal_xml_node* node = cal_xml_child(part, "key"); node != NULL; node = cal_xml_next(node, "key"))
            MJCF_TRY(read_key(model, node, error));
    return CAL_OK;
}
