// Models as MJCF, which reads back to the same model.
//
// Numbers are written with as many digits as their bits need. A direction is normalised when it is read, and normalising what is
// normalised already can change its last bit: so the numbers written are ones, next to the model's own, that become
// those.
//
// MJCF numbers bodies depth first, children in the order in which they are written. A model whose bodies have other numbers
// comes back with them renumbered, and its joints with them.
//
// Bodies of a model with many levels are walked without recursion: down to the first child, else on to the next sibling of
// the nearest body that has one, closing elements on the way.
#include "base/memory.h"
#include "base/names.h"
#include "calder/calder_read.h"
#include "model/builder.h"
#include "read/mjcf/write_mjcf.h"
#include "read/mjcf/write_text.h"
#include <string.h>

static const double zeros[7] = {0.0};

void cal_mjcf_before_normalizing(const double* unit, int count, double* out) {
    for (int k = 0; k < 400; k++) {
        // 1, then a little more, a little less, and so on.
        const int steps = (k + 1) / 2;
        const double scale = 1.0 + (k % 2 == 0 ? -1.0 : 1.0) * steps * 0x1p-53;
        bool same = true;
        for (int i = 0; i < count; i++) out[i] = unit[i] * scale;
        const double length = cal_length(out, count);
        for (int i = 0; i < count; i++) same = same && out[i] / length == unit[i];
        if (same) return;
    }
    memcpy(out, unit, (size_t)count * sizeof *out);
}

static void write_direction(cal_text* text, const char* name, const double* unit, int count) {
    double given[4];
    cal_mjcf_before_normalizing(unit, count, given);
    cal_text_numbers(text, name, given, count);
}

static void write_frame(cal_text* text, const double position[3], const double quaternion[4]) {
    cal_text_unless(text, "pos", position, 3, 0.0);
    if (quaternion[0] != 1.0 || quaternion[1] != 0.0 || quaternion[2] != 0.0 || quaternion[3] != 0.0)
        write_direction(text, "quat", quaternion, 4);
}

// --- What MJCF cannot say -----------------------------------------------------------------------------------------------

static cal_status check_name(const char* name, const char* noun, int number, cal_error* error) {
    if (name == NULL || cal_text_can_hold(name)) return CAL_OK;
    return cal_fail(error, CAL_BAD_MODEL, "the name of %s %d has bytes that XML cannot hold", noun, number);
}

static cal_status check_names(const cal_model* model, cal_error* error) {
    cal_status status = check_name(cal_model_name(model), "model", 0, error);
    for (int i = 0; i < model->body_count && status == CAL_OK; i++)
        status = check_name(model->bodies[i].name, "body", i, error);
    for (int i = 0; i < model->joint_count && status == CAL_OK; i++)
        status = check_name(model->joints[i].name, "joint", i, error);
    for (int i = 0; i < model->actuator_count && status == CAL_OK; i++)
        status = check_name(model->actuators[i].name, "actuator", i, error);
    for (int i = 0; i < model->constraint_count && status == CAL_OK; i++)
        status = check_name(model->constraints[i].name, "constraint", i, error);
    for (int i = 0; i < model->shape_count && status == CAL_OK; i++)
        status = check_name(model->shapes[i].name, "shape", i, error);
    for (int i = 0; i < model->mesh_count && status == CAL_OK; i++)
        status = check_name(model->meshes[i].name, "mesh", i, error);
    for (int i = 0; i < model->kept.site_count && status == CAL_OK; i++)
        status = check_name(model->kept.sites[i].name, "site", i, error);
    for (int i = 0; i < model->kept.tendon_count && status == CAL_OK; i++)
        status = check_name(model->kept.tendons[i].name, "tendon", i, error);
    for (int i = 0; i < model->kept.sensor_count && status == CAL_OK; i++)
        status = check_name(model->kept.sensors[i].name, "sensor", i, error);
    for (int i = 0; i < model->kept.keyframe_count && status == CAL_OK; i++)
        status = check_name(model->kept.keyframes[i].name, "keyframe", i, error);
    for (int i = 0; i < model->kept.number_count && status == CAL_OK; i++)
        status = check_name(model->kept.numbers[i].name, "list of numbers", i, error);
    return status;
}

static cal_status check_constraints(const cal_model* model, cal_error* error) {
    for (int i = 0; i < model->constraint_count; i++) {
        const cal_constraint_def* def = &model->constraints[i];
        char who[80];
        if (def->motion != NULL)
            return cal_fail(error, CAL_BAD_MODEL, "%s: MJCF has no motion that is prescribed",
                            cal_describe("constraint", def->name, i, who, sizeof who));
        if (def->kind == CAL_WELD || def->kind == CAL_LOOP_BALL || def->kind == CAL_COUPLING) continue;
        return cal_fail(error, CAL_BAD_MODEL,
                        "%s: MJCF has no constraint of kind \"%s\"; it has weld, ball and coupling",
                        cal_describe("constraint", def->name, i, who, sizeof who), cal_constraint_kind_name(def->kind));
    }
    return CAL_OK;
}

// Stops have a stiffness that was chosen, or the user's own. MJCF has no word for the latter, so what would be chosen is
// compared with what is there.
static cal_status check_stops(const cal_model* model, cal_error* error) {
    const double usual_damping = cal_default_joint_def().limit_damping;
    bool limited = false;
    for (int i = 0; i < model->joint_count; i++) limited |= model->joints[i].def->limited;
    if (!limited) return CAL_OK;
    cal_builder* builder;
    cal_model* chosen = NULL;
    cal_status status = cal_builder_create(&builder);
    if (status != CAL_OK) return cal_fail(error, status, "out of memory for %d joints", model->joint_count);
    for (int i = 0; i < model->body_count; i++) {
        cal_body_def def;
        cal_model_body(model, i, &def);
        cal_builder_add_body(builder, &def);
    }
    for (int i = 0; i < model->joint_count; i++) {
        cal_joint_def def;
        cal_model_joint(model, i, &def, NULL, NULL, NULL);
        def.limit_stiffness = 0.0;
        cal_builder_add_joint(builder, model->joints[i].body, &def);
    }
    status = cal_builder_finish(builder, &chosen, error);
    for (int i = 0; i < model->joint_count && status == CAL_OK; i++) {
        const cal_joint_def* def = model->joints[i].def;
        const double usual = chosen->joints[i].limit_stiffness;
        if (!def->limited ||
            (def->limit_damping == usual_damping && fabs(model->joints[i].limit_stiffness - usual) <= 1e-9 * usual))
            continue;
        char who[80];
        status = cal_fail(error, CAL_BAD_MODEL,
                          "%s: its stops have a stiffness or damping of their own, for which MJCF has no words",
                          cal_describe("joint", model->joints[i].name, i, who, sizeof who));
    }
    cal_model_destroy(chosen);
    cal_builder_destroy(builder);
    return status;
}

static cal_status check_actuators(const cal_model* model, cal_error* error) {
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* def = &model->actuators[i];
        if (!(def->bias[2] > 0.0 && def->gain == -def->bias[1])) continue;
        char who[80];
        return cal_fail(error, CAL_BAD_MODEL, "%s: its bias[2], %g, would be read as a damping ratio, as in MuJoCo",
                        cal_describe("actuator", def->name, i, who, sizeof who), def->bias[2]);
    }
    return CAL_OK;
}

static cal_status check_shapes(const cal_model* model, cal_error* error) {
    const double restitution = cal_mjcf_restitution(model);
    for (int i = 0; i < model->shape_count; i++)
        if (model->shapes[i].collides && model->shapes[i].restitution != restitution)
            return cal_fail(error, CAL_BAD_MODEL,
                            "shape %d has the restitution %g and others have %g; MJCF has one for all", i,
                            model->shapes[i].restitution, restitution);
    return CAL_OK;
}

// --- Bodies -------------------------------------------------------------------------------------------------------------

// A name where others refer to it: its own, or one made from its number that no other has.
static void write_label(cal_text* text, const char* attribute, const cal_name_table* names, const char* given,
                        const char* noun, int number) {
    char made[80];
    snprintf(made, sizeof made, "%s%d", noun, number);
    for (int k = 2; given == NULL && cal_names_find(names, made) != CAL_NONE; k++)
        snprintf(made, sizeof made, "%s%d_%d", noun, number, k);
    cal_text_word(text, attribute, given != NULL ? given : made);
}

void cal_mjcf_write_joint_name(cal_mjcf_writer* w, const char* attribute, int joint) {
    write_label(&w->text, attribute, w->model->joint_names, w->model->joints[joint].name, "joint", joint);
}

void cal_mjcf_write_body_name(cal_mjcf_writer* w, const char* attribute, int body) {
    // "world" is the ground's name there.
    const char* given = body == CAL_GROUND ? NULL : w->model->bodies[body].name;
    if (given != NULL && strcmp(given, "world") == 0) given = NULL;
    if (body == CAL_GROUND)
        cal_text_word(&w->text, attribute, "world");
    else
        write_label(&w->text, attribute, w->model->body_names, given, "body", body);
}

static void write_joint(cal_mjcf_writer* w, int number) {
    static const char* const types[] = {"hinge", "slide", "ball", "free"};
    const cal_joint_def* def = w->model->joints[number].def;
    cal_text* text = &w->text;
    w->joint_order[w->joint_count++] = number;
    cal_text_start(text, "joint");
    // Joints without a name may be referred to: they get the one that is made from their number.
    cal_mjcf_write_joint_name(w, "name", number);
    if (def->kind != CAL_REVOLUTE) cal_text_word(text, "type", types[def->kind]);
    if (def->kind != CAL_FREE) cal_text_unless(text, "pos", def->anchor, 3, 0.0);
    if (cal_joint_v_count(def->kind) == 1) {
        write_direction(text, "axis", def->axis, 3);
        cal_text_unless(text, "ref", &def->zero, 1, 0.0);
        cal_text_unless(text, "springref", &def->spring_reference, 1, 0.0);
        if (def->limited) {
            cal_text_word(text, "limited", "true");
            cal_text_numbers(text, "range", def->range, 2);
        }
        if (def->motor_range[0] != def->motor_range[1]) {
            cal_text_word(text, "actuatorfrclimited", "true");
            cal_text_numbers(text, "actuatorfrcrange", def->motor_range, 2);
        }
        if (def->motor_carries) cal_text_word(text, "actuatorgravcomp", "true");
    }
    cal_text_unless(text, "damping", &def->damping, 1, 0.0);
    cal_text_unless(text, "stiffness", &def->stiffness, 1, 0.0);
    cal_text_unless(text, "armature", &def->armature, 1, 0.0);
    cal_text_unless(text, "frictionloss", &def->friction_loss, 1, 0.0);
    cal_text_end(text, "joint");
}

static void write_inertial(cal_mjcf_writer* w, const cal_body_def* def) {
    if (def->mass == 0.0 && cal_same_bits(def->inertia, zeros, sizeof def->inertia)) return;
    cal_text_start(&w->text, "inertial");
    cal_text_numbers(&w->text, "pos", def->center, 3);
    cal_text_number(&w->text, "mass", def->mass);
    if (def->inertia[3] == 0.0 && def->inertia[4] == 0.0 && def->inertia[5] == 0.0)
        cal_text_numbers(&w->text, "diaginertia", def->inertia, 3);
    else
        cal_text_numbers(&w->text, "fullinertia", def->inertia, 6);
    cal_text_end(&w->text, "inertial");
}

// Frames that constraints hold are sites; -a and -b are the constraint's two. A model that was read from such a file has them
// already.
static void site_name(int constraint, int end, char* out, size_t capacity) {
    snprintf(out, capacity, "constraint%d-%c", constraint, end == 0 ? 'a' : 'b');
}

static void write_sites(cal_mjcf_writer* w, int body) {
    const cal_model* model = w->model;
    for (int i = w->first_site[body + 1]; i >= 0; i = w->next_site[i]) {
        if (i < model->kept.site_count) {
            const cal_site_def* def = &model->kept.sites[i];
            cal_text_start(&w->text, "site");
            if (def->name != NULL) cal_text_word(&w->text, "name", def->name);
            cal_text_unless(&w->text, "pos", def->position, 3, 0.0);
            cal_text_numbers(&w->text, "quat", def->quaternion, 4);
            if (def->kind != CAL_SPHERE) cal_text_word(&w->text, "type", cal_shape_kind_name(def->kind));
            cal_text_numbers(&w->text, "size", def->size, 3);
            cal_text_end(&w->text, "site");
            continue;
        }
        const int end = i - model->kept.site_count;
        const cal_constraint_def* def = &model->constraints[end / 2];
        char name[40];
        site_name(end / 2, end % 2, name, sizeof name);
        if (cal_model_find_site(model, name) != CAL_NONE) continue;
        cal_text_start(&w->text, "site");
        cal_text_word(&w->text, "name", name);
        write_frame(&w->text, def->position[end % 2], def->quaternion[end % 2]);
        cal_text_end(&w->text, "site");
    }
}

static void write_contents(cal_mjcf_writer* w, int body) {
    write_sites(w, body);
    for (int i = w->first_shape[body + 1]; i >= 0; i = w->next_shape[i]) cal_mjcf_write_shape(w, i);
}

static void start_body(cal_mjcf_writer* w, int number) {
    const cal_model* model = w->model;
    const cal_body* body = &model->bodies[number];
    cal_text_start(&w->text, "body");
    cal_mjcf_write_body_name(w, "name", number);
    cal_text_unless(&w->text, "gravcomp", &body->def->weightless, 1, 0.0);
    const int first = w->first_joint[number + 1];
    if (first >= 0 && model->joints[first].def->kind == CAL_FREE) {
        // MJCF puts a free body where it starts.
        const double* q = model->initial_q + model->joints[first].first_q;
        write_frame(&w->text, q, q + 3);
    } else
        write_frame(&w->text, body->def->position, body->def->quaternion);
    write_inertial(w, body->def);
    for (int i = first; i >= 0; i = w->next_joint[i]) write_joint(w, i);
    write_contents(w, number);
}

static void write_bodies(cal_mjcf_writer* w) {
    int body = w->first_child[0];
    while (body >= 0) {
        start_body(w, body);
        int next = w->first_child[body + 1];
        while (next < 0 && body >= 0) {
            cal_text_end(&w->text, "body");
            next = w->next_child[body];
            body = w->model->bodies[body].parent;
        }
        body = next;
    }
}

// --- Everything else ----------------------------------------------------------------------------------------------------

static void write_actuators(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    if (model->actuator_count == 0) return;
    cal_text_start(&w->text, "actuator");
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* def = &model->actuators[i];
        cal_text_start(&w->text, "general");
        if (def->name != NULL) cal_text_word(&w->text, "name", def->name);
        cal_mjcf_write_target(w, def);
        cal_mjcf_write_gain(w, def);
        if (def->control_range[0] < def->control_range[1]) {
            cal_text_word(&w->text, "ctrllimited", "true");
            cal_text_numbers(&w->text, "ctrlrange", def->control_range, 2);
        }
        if (def->force_range[0] < def->force_range[1]) {
            cal_text_word(&w->text, "forcelimited", "true");
            cal_text_numbers(&w->text, "forcerange", def->force_range, 2);
        }
        cal_text_end(&w->text, "general");
    }
    cal_text_end(&w->text, "actuator");
}

static void write_equalities(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    if (model->constraint_count == 0) return;
    cal_text_start(&w->text, "equality");
    for (int i = 0; i < model->constraint_count; i++) {
        const cal_constraint_def* def = &model->constraints[i];
        const char* element = def->kind == CAL_COUPLING ? "joint" : def->kind == CAL_WELD ? "weld" : "connect";
        cal_text_start(&w->text, element);
        if (def->name != NULL) cal_text_word(&w->text, "name", def->name);
        if (def->kind == CAL_COUPLING) {
            cal_mjcf_write_joint_name(w, "joint1", def->joint[0]);
            if (def->joint[1] != CAL_NONE) cal_mjcf_write_joint_name(w, "joint2", def->joint[1]);
            cal_text_numbers(&w->text, "polycoef", def->polynomial, 5);
        } else
            for (int end = 0; end < 2; end++) {
                char name[40];
                site_name(i, end, name, sizeof name);
                cal_text_word(&w->text, end == 0 ? "site1" : "site2", name);
            }
        if (def->inactive) cal_text_word(&w->text, "active", "false");
        cal_text_end(&w->text, element);
    }
    cal_text_end(&w->text, "equality");
}

static cal_status write_all(cal_mjcf_writer* w, cal_error* error) {
    cal_text_start(&w->text, "mujoco");
    cal_text_word(&w->text, "model", cal_model_name(w->model));
    cal_mjcf_write_settings(w);
    cal_status status = cal_mjcf_write_meshes(w, error);
    if (status != CAL_OK) return status;
    cal_text_start(&w->text, "worldbody");
    write_contents(w, CAL_GROUND);
    write_bodies(w);
    cal_text_end(&w->text, "worldbody");
    cal_mjcf_write_contacts(w);
    write_equalities(w);
    cal_mjcf_write_tendons(w);
    write_actuators(w);
    cal_mjcf_write_sensors(w);
    status = cal_mjcf_write_keyframes(w);
    if (status != CAL_OK) return cal_fail(error, status, "out of memory for the start values");
    cal_text_end(&w->text, "mujoco");
    return CAL_OK;
}

// Puts items (from last to first, so that lists rise) in front of the lists of their owners; the ground's is at 0.
static void make_list(int count, const cal_model* model, int (*owner)(const cal_model*, int), int* first, int* next) {
    for (int i = count - 1; i >= 0; i--) {
        const int at = owner(model, i);
        if (at == CAL_NONE) continue;
        next[i] = first[at + 1];
        first[at + 1] = i;
    }
}

static int parent_of(const cal_model* model, int body) { return model->bodies[body].parent; }
static int body_of_joint(const cal_model* model, int joint) { return model->joints[joint].body; }
static int body_of_shape(const cal_model* model, int shape) { return model->shapes[shape].body; }
// Sites of the model, then two ends of each constraint.
static int body_of_site(const cal_model* model, int site) {
    if (site < model->kept.site_count) return model->kept.sites[site].body;
    const int end = site - model->kept.site_count;
    const cal_constraint_def* def = &model->constraints[end / 2];
    return def->kind == CAL_COUPLING ? CAL_NONE : def->body[end % 2];
}

static bool make_lists(cal_mjcf_writer* w, int** memory) {
    const cal_model* m = w->model;
    const size_t bodies = (size_t)m->body_count + 1, joints = (size_t)m->joint_count, shapes = (size_t)m->shape_count;
    const size_t sites = (size_t)m->kept.site_count + 2 * (size_t)m->constraint_count,
                 total = 5 * bodies + 2 * joints + shapes + sites;
    int* next = *memory = cal_allocate(total, sizeof *next);
    if (next == NULL) return false;
    memset(next, 0xff, total * sizeof *next);
    int** const of_bodies[] = {&w->first_child, &w->next_child, &w->first_joint, &w->first_shape, &w->first_site};
    for (size_t i = 0; i < sizeof of_bodies / sizeof *of_bodies; i++, next += bodies) *of_bodies[i] = next;
    w->next_joint = next;
    w->next_shape = next + joints;
    w->next_site = next + joints + shapes;
    w->joint_order = next + joints + shapes + sites;
    make_list(m->body_count, m, parent_of, w->first_child, w->next_child);
    make_list(m->shape_count, m, body_of_shape, w->first_shape, w->next_shape);
    make_list((int)sites, m, body_of_site, w->first_site, w->next_site);
    make_list(m->joint_count, m, body_of_joint, w->first_joint, w->next_joint);
    return true;
}

cal_status cal_model_write(const cal_model* model, const char* path, cal_error* error) {
    if (!model || !path) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_write: model and path must not be NULL");
    cal_status status = check_names(model, error);
    if (status == CAL_OK) status = check_stops(model, error);
    if (status == CAL_OK) status = cal_mjcf_check_references(model, error);
    if (status == CAL_OK) status = check_actuators(model, error);
    if (status == CAL_OK) status = check_constraints(model, error);
    if (status == CAL_OK) status = check_shapes(model, error);
    if (status != CAL_OK) return status;
    cal_mjcf_writer w = {.model = model, .path = path};
    int* memory;
    if (!make_lists(&w, &memory))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d bodies", model->body_count);
    cal_text_create(&w.text, path);
    status = write_all(&w, error);
    const cal_status complete = cal_text_complete(&w.text, status == CAL_OK ? error : NULL);
    if (status == CAL_OK) status = complete;
    const cal_status meshes = cal_mjcf_place_meshes(&w, status == CAL_OK, error);
    if (status == CAL_OK) status = meshes;
    const cal_status placed = cal_text_place(&w.text, status == CAL_OK, error);
    cal_names_destroy(w.shape_names);
    cal_free(w.paired);
    cal_free(memory);
    return status == CAL_OK ? placed : status;
}
