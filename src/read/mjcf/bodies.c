// The walk over bodies, in MuJoCo's order: depth first, as they stand in the file.
//
// Frames vanish: what is in them is moved. A <replicate> is walked several times, each time in another frame and with another
// suffix on all names; <attach> walks a part of another source with a prefix. So the walk is a stack of visits of our
// own rather than recursion: files may nest as deep as they like.
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include <stdio.h>
#include <string.h>

enum { DEEPEST_VISIT = 200000, NUMBER_TEXT = 24, LONG_NAME = 60 };

typedef struct visit {
    cal_xml_node* container;
    cal_xml_node* next; // child to look at
    mjcf_source* source;
    const mjcf_class* class;
    int body;                            // whose children these are, or CAL_GROUND
    double position[3], quaternion[4];   // of the frames around, in the body
    const char *prefix, *suffix;         // of names
    int index, count;                    // of a replicate: which copy, of how many
    double offset[3], euler[3], step[3]; // of a replicate: its attributes, and where the copy is in `outer`
    double outer_position[3], outer_quaternion[4];
    const char *separator, *outer_suffix;
    bool copied; // inside a replicate or an attach
} visit;

typedef struct walk {
    mjcf_model* model;
    mjcf_list visits;
    int world_children;
    cal_error* error;
} walk;

static visit* top_of(walk* w) { return &((visit*)w->visits.items)[w->visits.count - 1]; }

void mjcf_compose(double position[3], double quaternion[4], const double by_position[3],
                  const double by_quaternion[4]) {
    double rotation[9], moved[3];
    // A frame that is not turned changes no bit: what was written by us reads back as it was.
    if (quaternion[0] == 1.0 && quaternion[1] == 0.0 && quaternion[2] == 0.0 && quaternion[3] == 0.0) {
        for (int i = 0; i < 3; i++) position[i] += by_position[i];
        memcpy(quaternion, by_quaternion, 4 * sizeof *quaternion);
        return;
    }
    cal_quaternion_matrix(quaternion, rotation);
    cal_rotate3(rotation, by_position, moved);
    for (int i = 0; i < 3; i++) position[i] += moved[i];
    cal_quaternion_multiply(quaternion, by_quaternion, quaternion);
    cal_quaternion_normalize(quaternion);
}

const char* mjcf_join(cal_xml_document* document, const char* prefix, const char* name, const char* suffix) {
    if (prefix[0] == '\0' && suffix[0] == '\0') return name;
    const size_t size = strlen(prefix) + strlen(name) + strlen(suffix) + 1;
    char* joined = cal_xml_allocate(document, size, 1);
    if (joined != NULL) snprintf(joined, size, "%s%s%s", prefix, name, suffix);
    return joined;
}

// An element's name in the copy that is being read; *out is NULL when it has none.
static cal_status name_of(const visit* v, cal_xml_node* node, const char** out, cal_error* error) {
    const char* name = cal_xml_text(node, "name");
    *out = NULL;
    if (name == NULL || name[0] == '\0') return CAL_OK;
    *out = mjcf_join(v->source->document, v->prefix, name, v->suffix);
    return *out != NULL ? CAL_OK : mjcf_no_memory(node, error);
}

int64_t mjcf_copy_limit(const mjcf_model* model) { return MJCF_FREE_COPIES + model->bytes; }

static cal_status charge(walk* w, int64_t cost, const cal_xml_node* node) {
    const int64_t limit = mjcf_copy_limit(w->model);
    w->model->copied += cost;
    if (w->model->copied > limit)
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL,
                            "replicate and attach make more than %lld elements, too many for a file of %lld bytes",
                            (long long)limit, (long long)w->model->bytes);
    return CAL_OK;
}

// What stands in the file is bounded by the file; copies are bounded here.
static cal_status count_element(walk* w, const cal_xml_node* node) {
    const visit* v = top_of(w);
    if (!v->copied) return CAL_OK;
    MJCF_TRY(charge(w, 1, node));
    if (strlen(v->prefix) + strlen(v->suffix) > MJCF_LONGEST_NAME)
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "copies of copies without end; does it attach itself?");
    return CAL_OK;
}

static cal_status push(walk* w, const visit* v) {
    if (w->visits.count >= DEEPEST_VISIT)
        return cal_xml_fail(v->container, w->error, CAL_BAD_MODEL, "it is nested too deep; does it attach itself?");
    visit* place = mjcf_add(&w->visits, sizeof *place);
    if (place == NULL) return mjcf_no_memory(v->container, w->error);
    *place = *v;
    place->next = v->container->first;
    return CAL_OK;
}

// Remembers that a source was read with these additions to its names.
static cal_status note_copy(walk* w, mjcf_source* source, const char* prefix, const char* suffix,
                            const cal_xml_node* node) {
    mjcf_list* copies = &w->model->copies;
    for (int i = copies->count - 1; i >= 0 && i >= copies->count - 64; i--) {
        const mjcf_copy* copy = &((mjcf_copy*)copies->items)[i];
        if (copy->source == source && strcmp(copy->prefix, prefix) == 0 && strcmp(copy->suffix, suffix) == 0)
            return CAL_OK;
    }
    mjcf_copy* copy = mjcf_add(copies, sizeof *copy);
    if (copy == NULL) return mjcf_no_memory(node, w->error);
    *copy = (mjcf_copy){source, prefix, suffix};
    return CAL_OK;
}

// --- What is in a body --------------------------------------------------------------------------------------------------

static cal_status read_inertial(walk* w, cal_xml_node* node) {
    const visit* v = top_of(w);
    if (v->body == CAL_GROUND) return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "the world has no inertia");
    mjcf_body* body = &((mjcf_body*)w->model->bodies.items)[v->body];
    double full[6], moments[3] = {0.0, 0.0, 0.0}, quaternion[4];
    int full_count, moment_count, place_count;
    mjcf_orientation orientation = {.quaternion = {1.0, 0.0, 0.0, 0.0}};
    cal_error* error = w->error;
    body->has_inertial = true;
    body->solid = (cal_solid){.mass = -1.0};
    MJCF_TRY(cal_xml_numbers(node, "pos", 3, 3, body->solid.center, &place_count, error));
    MJCF_TRY(cal_xml_number(node, "mass", &body->solid.mass, error));
    MJCF_TRY(cal_xml_numbers(node, "diaginertia", 3, 3, moments, &moment_count, error));
    MJCF_TRY(cal_xml_numbers(node, "fullinertia", 6, 6, full, &full_count, error));
    MJCF_TRY(mjcf_read_orientation(node, &orientation, error));
    if (!(body->solid.mass >= 0.0)) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs a mass, not below zero");
    if (full_count > 0 && moment_count > 0)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "diaginertia and fullinertia cannot both be given");
    if (full_count > 0) {
        memcpy(body->solid.inertia, full, sizeof full); // the same order: xx, yy, zz, xy, xz, yz
        return CAL_OK;
    }
    MJCF_TRY(mjcf_resolve(&v->source->compiler, &orientation, node, quaternion, error));
    cal_inertia_from_moments(moments, quaternion, body->solid.inertia);
    return CAL_OK;
}

static cal_status add_joint(walk* w, cal_xml_node* node, bool free_joint) {
    const visit* v = top_of(w);
    mjcf_model* model = w->model;
    if (v->body == CAL_GROUND) return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "the world has no joints");
    MJCF_TRY(count_element(w, node));
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(v->source, node, "class", v->class, &class, w->error));
    mjcf_joint joint = class->joint;
    if (free_joint)
        joint = (mjcf_joint){.kind = CAL_FREE, .axis = {0.0, 0.0, 1.0}};
    else
        MJCF_TRY(mjcf_read_joint(node, &joint, w->error));
    MJCF_TRY(name_of(v, node, &joint.name, w->error));
    joint.body = v->body;
    joint.next = -1;
    joint.source = v->source;
    joint.node = node;
    double rotation[9], moved[3];
    cal_quaternion_matrix(v->quaternion, rotation);
    cal_rotate3(rotation, joint.axis, joint.axis);
    cal_rotate3(rotation, joint.position, moved);
    for (int i = 0; i < 3; i++) joint.position[i] = v->position[i] + moved[i];
    mjcf_joint* place = mjcf_add(&model->joints, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, w->error);
    *place = joint;
    mjcf_body* body = &((mjcf_body*)model->bodies.items)[v->body];
    const int number = model->joints.count - 1;
    if (body->last_joint >= 0)
        ((mjcf_joint*)model->joints.items)[body->last_joint].next = number;
    else
        body->first_joint = number;
    body->last_joint = number;
    body->joint_count++;
    return CAL_OK;
}

static cal_status add_geom(walk* w, cal_xml_node* node) {
    const visit* v = top_of(w);
    mjcf_model* model = w->model;
    MJCF_TRY(count_element(w, node));
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(v->source, node, "class", v->class, &class, w->error));
    mjcf_geom* geom = mjcf_add(&model->geoms, sizeof *geom);
    if (geom == NULL) return mjcf_no_memory(node, w->error);
    *geom = class->geom;
    geom->body = v->body;
    geom->next = -1;
    geom->shape = CAL_NONE;
    geom->source = v->source;
    geom->node = node;
    memcpy(geom->frame_position, v->position, sizeof v->position);
    memcpy(geom->frame_quaternion, v->quaternion, sizeof v->quaternion);
    MJCF_TRY(mjcf_read_geom(node, geom, w->error));
    MJCF_TRY(name_of(v, node, &geom->name, w->error));
    if (v->body == CAL_GROUND) return CAL_OK;
    mjcf_body* body = &((mjcf_body*)model->bodies.items)[v->body];
    const int number = model->geoms.count - 1;
    if (body->last_geom >= 0)
        ((mjcf_geom*)model->geoms.items)[body->last_geom].next = number;
    else
        body->first_geom = number;
    body->last_geom = number;
    return CAL_OK;
}

static cal_status add_site(walk* w, cal_xml_node* node) {
    const visit* v = top_of(w);
    MJCF_TRY(count_element(w, node));
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(v->source, node, "class", v->class, &class, w->error));
    mjcf_site site = class->site;
    site.body = v->body;
    site.node = node;
    MJCF_TRY(mjcf_read_site(node, &site, w->error));
    MJCF_TRY(name_of(v, node, &site.name, w->error));
    if (site.from_to[0] == site.from_to[0]) { // given
        mjcf_orientation along = {.kind = MJCF_Z_AXIS};
        for (int i = 0; i < 3; i++) {
            along.values[i] = site.from_to[i] - site.from_to[3 + i];
            site.position[i] = 0.5 * (site.from_to[i] + site.from_to[3 + i]);
        }
        site.orientation = along;
        const int length = site.kind == CAL_CAPSULE || site.kind == CAL_CYLINDER ? 1 : 2;
        if (length == 2) site.size[1] = site.size[0];
        site.size[length] = 0.5 * cal_length(along.values, 3);
    }
    double own[4], position[3];
    MJCF_TRY(mjcf_resolve(&v->source->compiler, &site.orientation, node, own, w->error));
    memcpy(position, v->position, sizeof position);
    memcpy(site.quaternion, v->quaternion, sizeof site.quaternion);
    mjcf_compose(position, site.quaternion, site.position, own);
    memcpy(site.position, position, sizeof position);
    mjcf_site* place = mjcf_add(&w->model->sites, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, w->error);
    *place = site;
    return CAL_OK;
}

// --- Bodies, frames, copies ---------------------------------------------------------------------------------------------

// Bodies without a name get one that depends on their place below their parent only, or, where that would be long, on their
// number.
static cal_status name_body(walk* w, const visit* v, mjcf_body* body, int place) {
    MJCF_TRY(name_of(v, body->node, &body->name, w->error));
    if (body->name != NULL) return CAL_OK;
    char number[NUMBER_TEXT];
    const char* parent = v->body == CAL_GROUND ? NULL : ((mjcf_body*)w->model->bodies.items)[v->body].name;
    if (parent != NULL && strlen(parent) > LONG_NAME) {
        parent = NULL;
        place = w->model->bodies.count;
    }
    snprintf(number, sizeof number, "body%d", place);
    cal_xml_document* document = v->source->document;
    body->unnamed = true;
    body->name = parent == NULL ? cal_xml_copy(document, number) : mjcf_join(document, parent, "_", number);
    return body->name != NULL ? CAL_OK : mjcf_no_memory(body->node, w->error);
}

// The frame of a node (body, frame) with the frames around it.
static cal_status frame_of(walk* w, const visit* v, cal_xml_node* node, double position[3], double quaternion[4]) {
    double place[3] = {0.0, 0.0, 0.0}, own[4];
    mjcf_orientation orientation = {.quaternion = {1.0, 0.0, 0.0, 0.0}};
    MJCF_TRY(cal_xml_numbers(node, "pos", 3, 3, place, NULL, w->error));
    MJCF_TRY(mjcf_read_orientation(node, &orientation, w->error));
    MJCF_TRY(mjcf_resolve(&v->source->compiler, &orientation, node, own, w->error));
    if (!cal_all_finite(place, 3)) return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "its pos is not finite");
    memcpy(position, v->position, sizeof v->position);
    memcpy(quaternion, v->quaternion, sizeof v->quaternion);
    mjcf_compose(position, quaternion, place, own);
    return CAL_OK;
}

static const double no_place[3] = {0.0, 0.0, 0.0}, no_turn[4] = {1.0, 0.0, 0.0, 0.0};

static cal_status enter_body(walk* w, cal_xml_node* node) {
    const visit v = *top_of(w);
    mjcf_model* model = w->model;
    MJCF_TRY(count_element(w, node));
    visit inner = v;
    MJCF_TRY(mjcf_class_of(v.source, node, "childclass", v.class, &inner.class, w->error));
    mjcf_body body = {.node = node,
                      .source = v.source,
                      .parent = v.body,
                      .first_joint = -1,
                      .last_joint = -1,
                      .first_geom = -1,
                      .last_geom = -1};
    MJCF_TRY(frame_of(w, &v, node, body.position, body.quaternion));
    MJCF_TRY(mjcf_boolean(node, "mocap", &body.mocap, w->error));
    MJCF_TRY(cal_xml_number(node, "gravcomp", &body.gravity_compensation, w->error));
    int* children = v.body == CAL_GROUND ? &w->world_children : &((mjcf_body*)model->bodies.items)[v.body].child_count;
    MJCF_TRY(name_body(w, &v, &body, (*children)++));
    mjcf_body* place = mjcf_add(&model->bodies, sizeof *place);
    if (place == NULL) return mjcf_no_memory(node, w->error);
    *place = body;
    inner.container = node;
    inner.body = model->bodies.count - 1;
    inner.count = 0;
    memcpy(inner.position, no_place, sizeof no_place);
    memcpy(inner.quaternion, no_turn, sizeof no_turn);
    return push(w, &inner);
}

static cal_status enter_frame(walk* w, cal_xml_node* node) {
    const visit v = *top_of(w);
    visit inner = v;
    MJCF_TRY(mjcf_class_of(v.source, node, "childclass", v.class, &inner.class, w->error));
    MJCF_TRY(frame_of(w, &v, node, inner.position, inner.quaternion));
    inner.container = node;
    inner.count = 0;
    return push(w, &inner);
}

// Puts a replicate's visit at its copy `index`.
static cal_status start_copy(walk* w, visit* v) {
    const double angles[3] = {v->index * v->euler[0], v->index * v->euler[1], v->index * v->euler[2]};
    mjcf_orientation turned = {.kind = MJCF_EULER, .values = {angles[0], angles[1], angles[2]}};
    double turn[4], rotation[9], moved[3];
    MJCF_TRY(mjcf_resolve(&v->source->compiler, &turned, v->container, turn, w->error));
    memcpy(v->position, v->outer_position, sizeof v->position);
    memcpy(v->quaternion, v->outer_quaternion, sizeof v->quaternion);
    mjcf_compose(v->position, v->quaternion, v->step, turn);
    // The next copy is one offset further, seen from this one.
    cal_quaternion_matrix(turn, rotation);
    cal_rotate3(rotation, v->offset, moved);
    for (int i = 0; i < 3; i++) v->step[i] += moved[i];
    int digits = 1;
    for (int rest = v->count; rest >= 10; rest /= 10) digits++;
    char number[NUMBER_TEXT];
    snprintf(number, sizeof number, "%0*d", digits, v->index);
    const char* kept = cal_xml_copy(v->source->document, number);
    if (kept != NULL) v->suffix = mjcf_join(v->source->document, v->separator, kept, v->outer_suffix);
    if (kept == NULL || v->suffix == NULL) return mjcf_no_memory(v->container, w->error);
    v->next = v->container->first;
    MJCF_TRY(charge(w, 1, v->container)); // of nothing, too
    return note_copy(w, v->source, v->prefix, v->suffix, v->container);
}

static cal_status enter_replicate(walk* w, cal_xml_node* node) {
    const visit v = *top_of(w);
    visit inner = v;
    int count = -1;
    MJCF_TRY(mjcf_class_of(v.source, node, "childclass", v.class, &inner.class, w->error));
    MJCF_TRY(mjcf_integer(node, "count", &count, w->error));
    if (count < 0 || count > mjcf_copy_limit(w->model))
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "it needs a count from 0 to %lld, for a file of this size",
                            (long long)mjcf_copy_limit(w->model));
    if (count == 0) return CAL_OK;
    memset(inner.offset, 0, sizeof inner.offset);
    memset(inner.euler, 0, sizeof inner.euler);
    memset(inner.step, 0, sizeof inner.step);
    MJCF_TRY(cal_xml_numbers(node, "offset", 3, 3, inner.offset, NULL, w->error));
    MJCF_TRY(cal_xml_numbers(node, "euler", 3, 3, inner.euler, NULL, w->error));
    const char* separator = cal_xml_text(node, "sep");
    inner.separator = separator != NULL ? separator : "";
    inner.container = node;
    inner.index = 0;
    inner.count = count;
    inner.outer_suffix = v.suffix;
    inner.copied = true;
    memcpy(inner.outer_position, v.position, sizeof v.position);
    memcpy(inner.outer_quaternion, v.quaternion, sizeof v.quaternion);
    MJCF_TRY(push(w, &inner));
    return start_copy(w, top_of(w));
}

// All bodies and frames with a name in a source's worldbody, in the order of the file.
static bool list_attachable(mjcf_source* source) {
    for (cal_xml_node* section = cal_xml_child(source->root, "worldbody"); section != NULL;
         section = cal_xml_next(section, "worldbody")) {
        cal_xml_node* node = section->first;
        while (node != NULL) {
            const bool kind = cal_xml_is(node, "body") || cal_xml_is(node, "frame");
            if (kind && cal_xml_text(node, "name") != NULL) {
                cal_xml_node** place = mjcf_add(&source->attachable, sizeof *place);
                if (place == NULL) return false;
                *place = node;
            }
            if (node->first != NULL) {
                node = node->first;
                continue;
            }
            while (node != section && node->next == NULL) node = node->parent;
            node = node == section ? NULL : node->next;
        }
    }
    source->attached_bodies = cal_names_create((size_t)source->attachable.count);
    source->attached_frames = cal_names_create((size_t)source->attachable.count);
    if (source->attached_bodies == NULL || source->attached_frames == NULL) return false;
    for (int i = 0; i < source->attachable.count; i++) {
        cal_xml_node* node = ((cal_xml_node**)source->attachable.items)[i];
        cal_names_add(cal_xml_is(node, "body") ? source->attached_bodies : source->attached_frames,
                      cal_xml_text(node, "name"), i);
    }
    return true;
}

// The first body or frame of this name in a source's worldbody; NULL when there is none.
static cal_status find_element(mjcf_source* source, const char* element, const char* name, const cal_xml_node* node,
                               cal_xml_node** out, cal_error* error) {
    if (source->attached_frames == NULL && !list_attachable(source)) return mjcf_no_memory(node, error);
    const cal_name_table* names = strcmp(element, "body") == 0 ? source->attached_bodies : source->attached_frames;
    const int number = cal_names_find(names, name);
    *out = number == CAL_NONE ? NULL : ((cal_xml_node**)source->attachable.items)[number];
    return CAL_OK;
}

// The class that counts for a node, from the elements around it.
static cal_status class_around(const mjcf_source* source, cal_xml_node* node, const mjcf_class** out, int64_t* steps,
                               cal_error* error) {
    for (cal_xml_node* around = node->parent; around != NULL; around = around->parent, ++*steps)
        if (cal_xml_text(around, "childclass") != NULL)
            return mjcf_class_of(source, around, "childclass", NULL, out, error);
    *out = mjcf_main_class(source);
    return CAL_OK;
}

static mjcf_source* source_named(const mjcf_model* model, const char* name) {
    for (int i = 1; i < model->sources.count; i++) {
        mjcf_source* source = ((mjcf_source**)model->sources.items)[i];
        if (source->name != NULL && strcmp(source->name, name) == 0) return source;
    }
    return NULL;
}

static cal_status attach_world(walk* w, visit* inner) {
    for (cal_xml_node* section = cal_xml_child(inner->source->root, "worldbody"); section != NULL;
         section = cal_xml_next(section, "worldbody")) {
        inner->container = section;
        MJCF_TRY(push(w, inner));
    }
    return CAL_OK;
}

// One element alone: a visit whose only child is looked at, and not its siblings.
static cal_status enter_single(walk* w, visit* inner, cal_xml_node* target) {
    inner->container = target;
    MJCF_TRY(push(w, inner));
    top_of(w)->next = NULL;
    return cal_xml_is(target, "body") ? enter_body(w, target) : enter_frame(w, target);
}

static cal_status enter_attach(walk* w, cal_xml_node* node) {
    const visit v = *top_of(w);
    const char *model_name = cal_xml_text(node, "model"), *prefix = cal_xml_text(node, "prefix");
    const char* element = cal_xml_text(node, "body") != NULL ? "body" : "frame";
    const char* name = cal_xml_text(node, element);
    MJCF_TRY(count_element(w, node));
    visit inner = v;
    inner.count = 0;
    inner.copied = true;
    MJCF_TRY(charge(w, 1, node));
    if (model_name != NULL) inner.source = source_named(w->model, model_name);
    if (inner.source == NULL)
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "there is no model asset \"%.60s\"", model_name);
    if (model_name == NULL && name == NULL)
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "it names no model, no body and no frame");
    if (prefix != NULL) inner.prefix = mjcf_join(v.source->document, v.prefix, prefix, "");
    if (inner.prefix == NULL) return mjcf_no_memory(node, w->error);
    MJCF_TRY(note_copy(w, inner.source, inner.prefix, inner.suffix, node));
    if (name == NULL) {
        inner.class = mjcf_main_class(inner.source);
        return attach_world(w, &inner);
    }
    cal_xml_node* target = NULL;
    MJCF_TRY(find_element(inner.source, element, name, node, &target, w->error));
    if (target == NULL)
        return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "there is no %s \"%.60s\" to attach", element, name);
    int64_t steps = 0;
    for (const cal_xml_node* around = node; around != NULL; around = around->parent, steps++)
        if (around == target) return cal_xml_fail(node, w->error, CAL_BAD_MODEL, "it attaches itself");
    MJCF_TRY(class_around(inner.source, target, &inner.class, &steps, w->error));
    MJCF_TRY(charge(w, steps / MJCF_TRIES_PER_COPY, node));
    return enter_single(w, &inner, target);
}

static cal_status look_at(walk* w, cal_xml_node* node) {
    if (cal_xml_is(node, "frame") || cal_xml_is(node, "replicate")) MJCF_TRY(count_element(w, node));
    if (cal_xml_is(node, "body")) return enter_body(w, node);
    if (cal_xml_is(node, "geom")) return add_geom(w, node);
    if (cal_xml_is(node, "joint")) return add_joint(w, node, false);
    if (cal_xml_is(node, "freejoint")) return add_joint(w, node, true);
    if (cal_xml_is(node, "inertial")) return read_inertial(w, node);
    if (cal_xml_is(node, "site")) return add_site(w, node);
    if (cal_xml_is(node, "frame")) return enter_frame(w, node);
    if (cal_xml_is(node, "replicate")) return enter_replicate(w, node);
    if (cal_xml_is(node, "attach")) return enter_attach(w, node);
    return CAL_OK; // the report says so
}

static cal_status run(walk* w) {
    while (w->visits.count > 0) {
        visit* v = top_of(w);
        cal_xml_node* node = v->next;
        if (node != NULL) {
            v->next = node->next;
            MJCF_TRY(look_at(w, node));
        } else if (v->index + 1 < v->count) {
            v->index++;
            MJCF_TRY(start_copy(w, v));
        } else {
            w->visits.count--;
        }
    }
    return CAL_OK;
}

cal_status mjcf_read_bodies(mjcf_model* model, cal_error* error) {
    walk w = {.model = model, .error = error};
    cal_status status = note_copy(&w, model->main, "", "", model->main->root);
    for (cal_xml_node* section = cal_xml_child(model->main->root, "worldbody"); status == CAL_OK && section != NULL;
         section = cal_xml_next(section, "worldbody")) {
        visit v = {.container = section,
                   .source = model->main,
                   .body = CAL_GROUND,
                   .quaternion = {1.0, 0.0, 0.0, 0.0},
                   .prefix = "",
                   .suffix = ""};
        status = mjcf_class_of(model->main, section, "childclass", mjcf_main_class(model->main), &v.class, error);
        if (status == CAL_OK) status = push(&w, &v);
        if (status == CAL_OK) status = run(&w);
    }
    mjcf_list_free(&w.visits);
    return status;
}
