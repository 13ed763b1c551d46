// Tendons of a model on its way into a world, which keep together what they act on; and what acts on single bodies.
#include "base/memory.h"
#include "model/model.h"
#include "simulation/from_model.h"
#include <string.h>

// The body that a part acts on, CAL_GROUND: none that moves.
static int body_of(const cal_import* m, const cal_tendon_part* part) {
    int body = CAL_GROUND;
    if (part->kind == CAL_TENDON_JOINT)
        cal_model_joint(m->model, part->joint, NULL, &body, NULL, NULL);
    else if (part->kind != CAL_TENDON_PULLEY)
        body = part->body;
    return body == CAL_GROUND || m->top[body] == CAL_GROUND ? CAL_GROUND : body;
}

static int first_body_of(const cal_import* m, const cal_tendon_def* def) {
    for (int i = 0; i < def->part_count; i++) {
        const int body = body_of(m, &def->parts[i]);
        if (body != CAL_GROUND) return body;
    }
    return CAL_GROUND;
}

// The body, CAL_GROUND where it does not move.
static int moving(const cal_import* m, int body) {
    return body == CAL_GROUND || m->top[body] == CAL_GROUND ? CAL_GROUND : body;
}

void cal_import_unite_tendons(cal_import* m) {
    for (int i = 0; i < m->actuator_count; i++) {
        cal_actuator_def def;
        cal_model_actuator(m->model, i, &def);
        if (def.reference != CAL_NONE) cal_import_unite(m, moving(m, def.body), moving(m, def.reference));
    }
    for (int t = 0; t < cal_model_tendon_count(m->model); t++) {
        cal_tendon_def def;
        cal_model_tendon(m->model, t, &def);
        const int first = first_body_of(m, &def);
        for (int i = 0; i < def.part_count; i++) {
            cal_import_unite(m, first, body_of(m, &def.parts[i]));
            if (def.parts[i].sided) cal_import_unite(m, first, def.parts[i].side_body);
        }
    }
}

void cal_import_sort_tendons(cal_import* m) {
    for (int t = cal_model_tendon_count(m->model) - 1; t >= 0; t--) {
        cal_tendon_def def;
        cal_model_tendon(m->model, t, &def);
        const int first = first_body_of(m, &def);
        if (first == CAL_GROUND) continue;
        const int system = m->system[m->top[first]];
        m->next_tendon[t] = m->first_tendon[system];
        m->first_tendon[system] = t;
    }
}

int cal_import_motor_system(const cal_import* m, int motor) {
    cal_actuator_def def;
    int body;
    cal_model_actuator(m->model, motor, &def);
    if (def.tendon >= 0) {
        cal_tendon_def tendon;
        cal_model_tendon(m->model, def.tendon, &tendon);
        body = first_body_of(m, &tendon);
    } else if (def.body != CAL_NONE) {
        body = moving(m, def.body);
        if (body == CAL_GROUND && def.reference != CAL_NONE) body = moving(m, def.reference);
    } else
        cal_model_joint(m->model, def.joint, NULL, &body, NULL, NULL);
    return body == CAL_GROUND ? -1 : m->system[m->top[body]];
}

void cal_import_place_motor(const cal_import* m, const int* body_number, cal_actuator_def* def) {
    if (def->body == CAL_NONE) return;
    const int body = cal_import_settle(m, def->body, def->position, def->quaternion);
    def->body = body == CAL_GROUND ? CAL_GROUND : body_number[body];
    if (def->reference == CAL_NONE) return;
    const int other = cal_import_settle(m, def->reference, def->reference_position, def->reference_quaternion);
    def->reference = other == CAL_GROUND ? CAL_GROUND : body_number[other];
}

static void copy_part(const cal_import* m, const int* body_number, cal_tendon_part* part) {
    double identity[4] = {1.0, 0.0, 0.0, 0.0};
    if (part->kind == CAL_TENDON_PULLEY) return;
    if (part->kind == CAL_TENDON_JOINT) {
        part->joint = m->joint_number[part->joint];
        return;
    }
    int body = cal_import_settle(m, part->body, part->position, part->quaternion);
    part->body = body == CAL_GROUND ? CAL_GROUND : body_number[body];
    if (!part->sided) return;
    body = cal_import_settle(m, part->side_body, part->side, identity);
    part->side_body = body == CAL_GROUND ? CAL_GROUND : body_number[body];
}

bool cal_import_copy_tendons(cal_import* m, int system, const int* body_number, cal_builder* builder) {
    for (int t = m->first_tendon[system]; t >= 0; t = m->next_tendon[t]) {
        cal_tendon_def def;
        cal_model_tendon(m->model, t, &def);
        cal_tendon_part* parts = cal_allocate((size_t)def.part_count + 1, sizeof *parts);
        if (parts == NULL) return false;
        memcpy(parts, def.parts, (size_t)def.part_count * sizeof *parts);
        for (int i = 0; i < def.part_count; i++) copy_part(m, body_number, &parts[i]);
        def.parts = parts;
        m->tendon_number[t] = cal_builder_add_tendon(builder, &def);
        cal_free(parts);
        if (m->tendon_number[t] < 0) return false;
    }
    return true;
}

bool cal_import_acts_on(const cal_import* m, int tree) {
    if (m->first_motor[m->system[tree]] >= 0) return true;
    for (int body = tree; body >= 0; body = m->next_body[body])
        if (cal_model_has_weightless(m->model) && m->model->bodies[body].def->weightless != 0.0) return true;
    for (int i = 0; cal_model_has_drag(m->model) && i < m->model->kept.drag_count; i++)
        if (m->top[m->model->kept.drags[i].body] == tree) return true;
    return false;
}

bool cal_import_copy_drags(cal_import* m, int system, const int* body_number, cal_builder* builder) {
    const cal_medium* medium = &m->model->kept.medium;
    cal_builder_set_medium(builder, medium->density, medium->viscosity, medium->wind);
    for (int i = 0; i < m->model->kept.drag_count; i++) {
        cal_drag_def def = m->model->kept.drags[i];
        if (m->top[def.body] == CAL_GROUND || m->system[m->top[def.body]] != system) continue;
        def.body = body_number[def.body];
        if (cal_builder_add_drag(builder, &def) < 0) return false;
    }
    return true;
}
