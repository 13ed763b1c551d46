// What callers may ask a model.
#include "model/model.h"
#include "base/memory.h"
#include "base/names.h"
#include "model/given.h"
#include <string.h>

void cal_model_destroy(cal_model* model) {
    if (model == NULL) return;
    cal_free(model->name);
    cal_free(model->body_defs);
    cal_free(model->joint_defs);
    cal_free(model->bodies);
    cal_free(model->mounts);
    cal_free(model->joints);
    cal_free(model->actuators);
    cal_free(model->constraints);
    cal_free(model->shapes);
    cal_free(model->meshes);
    cal_free(model->mesh_vertices);
    cal_free(model->mesh_triangles);
    cal_free(model->mesh_coordinates);
    cal_free(model->nodes);
    cal_free(model->initial_q);
    cal_free(model->initial_v);
    cal_free(model->names);
    cal_names_destroy(model->body_names);
    cal_names_destroy(model->joint_names);
    cal_names_destroy(model->constraint_names);
    cal_model_extras_free(&model->kept);
    cal_free(model->tendon_laws);
    cal_free(model->rigid_inertia);
    cal_free(model);
}

const char* cal_model_name(const cal_model* model) { return model ? model->name : NULL; }
int cal_model_body_count(const cal_model* model) { return model ? model->body_count : 0; }
int cal_model_joint_count(const cal_model* model) { return model ? model->joint_count : 0; }
int cal_model_actuator_count(const cal_model* model) { return model ? model->actuator_count : 0; }
int cal_model_constraint_count(const cal_model* model) { return model ? model->constraint_count : 0; }
int cal_model_shape_count(const cal_model* model) { return model ? model->shape_count : 0; }
int cal_model_mesh_count(const cal_model* model) { return model ? model->mesh_count : 0; }
int cal_model_q_count(const cal_model* model) { return model ? model->q_count : 0; }
int cal_model_v_count(const cal_model* model) { return model ? model->v_count : 0; }
int cal_model_depth(const cal_model* model) { return model ? model->depth : 0; }

double cal_model_mass(const cal_model* model) {
    if (!model) return 0.0;
    double mass = 0.0;
    for (int i = 0; i < model->node_count; i++) mass += model->nodes[i].mass;
    return mass;
}

double cal_model_total_mass(const cal_model* model) {
    if (!model) return 0.0;
    double mass = 0.0;
    for (int i = 0; i < model->body_count; i++) mass += model->bodies[i].def->mass;
    return mass;
}

void cal_model_gravity(const cal_model* model, double gravity[3]) {
    if (!model || !gravity) return;
    memcpy(gravity, model->gravity, sizeof model->gravity);
}

void cal_model_initial(const cal_model* model, double* q, double* v, double* control) {
    if (!model) return;
    if (q != NULL) memcpy(q, model->initial_q, (size_t)model->q_count * sizeof *q);
    if (v != NULL) memcpy(v, model->initial_v, (size_t)model->v_count * sizeof *v);
    if (control != NULL)
        for (int i = 0; i < model->actuator_count; i++) control[i] = model->actuators[i].initial_control;
}

void cal_model_body(const cal_model* model, int body, cal_body_def* out) {
    if (!cal_has(model ? model->body_count : 0, body, out, sizeof *out)) return;
    *out = *model->bodies[body].def;
    out->name = model->bodies[body].name;
    out->parent = model->bodies[body].parent;
}

void cal_model_joint(const cal_model* model, int joint, cal_joint_def* out, int* body, int* first_q, int* first_v) {
    if (!cal_has(model ? model->joint_count : 0, joint, out, out ? sizeof *out : 0)) return;
    const cal_joint* j = &model->joints[joint];
    if (out != NULL) {
        *out = *j->def;
        out->name = j->name;
        out->limit_stiffness = j->limit_stiffness;
    }
    if (body != NULL) *body = j->body;
    if (first_q != NULL) *first_q = j->first_q;
    if (first_v != NULL) *first_v = j->first_v;
}

void cal_model_actuator(const cal_model* model, int actuator, cal_actuator_def* out) {
    if (!cal_has(model ? model->actuator_count : 0, actuator, out, sizeof *out)) return;
    *out = model->actuators[actuator];
}

void cal_model_constraint(const cal_model* model, int constraint, cal_constraint_def* out) {
    if (!cal_has(model ? model->constraint_count : 0, constraint, out, sizeof *out)) return;
    *out = model->constraints[constraint];
}

void cal_model_shape(const cal_model* model, int shape, cal_shape_def* out) {
    if (!cal_has(model ? model->shape_count : 0, shape, out, sizeof *out)) return;
    *out = model->shapes[shape];
}
void cal_model_mesh(const cal_model* model, int mesh, cal_mesh_def* out) {
    if (!cal_has(model ? model->mesh_count : 0, mesh, out, sizeof *out)) return;
    *out = model->meshes[mesh];
}

int cal_joint_q_count(cal_joint_kind kind) { return kind == CAL_FREE ? 7 : kind == CAL_BALL ? 4 : 1; }
int cal_joint_v_count(cal_joint_kind kind) { return kind == CAL_FREE ? 6 : kind == CAL_BALL ? 3 : 1; }

const char* cal_joint_kind_name(cal_joint_kind kind) {
    switch (kind) {
    case CAL_REVOLUTE: return "revolute";
    case CAL_PRISMATIC: return "prismatic";
    case CAL_BALL: return "ball";
    case CAL_FREE: return "free";
    }
    return "unknown";
}

static bool has_force(const cal_tendon_def* def) {
    return def->stiffness != 0.0 || def->damping != 0.0 || def->friction_loss != 0.0 || def->limited;
}

bool cal_model_has_coupled_forces(const cal_model* model) {
    for (int i = 0; i < model->kept.tendon_count; i++)
        if (has_force(&model->kept.tendons[i])) return true;
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint == CAL_NONE) return true;
    return cal_model_has_weightless(model) || cal_model_has_drag(model) || cal_model_has_motor_ranges(model);
}

bool cal_model_limits_motors(const cal_model* model, const cal_joint_def* joint) {
    return joint->motor_range[0] != joint->motor_range[1] ||
           (joint->motor_carries && (model->disabled & CAL_PART_ACTUATION) != 0);
}

bool cal_model_has_motor_ranges(const cal_model* model) {
    for (int i = 0; i < model->joint_def_count; i++)
        if (cal_model_limits_motors(model, &model->joint_defs[i])) return true;
    return false;
}

bool cal_model_has_weightless(const cal_model* model) {
    if (model->gravity[0] == 0.0 && model->gravity[1] == 0.0 && model->gravity[2] == 0.0) return false;
    for (int i = 0; i < model->body_def_count; i++)
        if (model->body_defs[i].weightless != 0.0) return true;
    return false;
}

bool cal_model_has_drag(const cal_model* model) {
    return model->kept.drag_count > 0 && (model->kept.medium.density > 0.0 || model->kept.medium.viscosity > 0.0);
}

bool cal_model_is_moved(const cal_model* model) {
    for (int i = 0; i < model->constraint_count; i++)
        if (model->constraints[i].motion != NULL) return true;
    return false;
}

bool cal_model_has_joint_forces(const cal_model* model) {
    if (model->actuator_count > 0 || cal_model_has_coupled_forces(model)) return true;
    for (int i = 0; i < model->node_count; i++) {
        const cal_node* node = &model->nodes[i];
        if (node->damping != 0.0 || node->stiffness != 0.0 || model->joints[node->joint].def->limited) return true;
        if (model->joints[node->joint].def->friction_loss != 0.0) return true;
    }
    return false;
}
