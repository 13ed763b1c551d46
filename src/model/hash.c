// One number for everything that a model's motion depends on, to tell whether two models are the same.
#include "base/hash.h"
#include "model/model.h"

static uint64_t hash_node(uint64_t hash, const cal_node* node) {
    const double numbers[] = {node->parent, node->body, node->joint, node->first_q, node->first_v, node->kind};
    const double masses[] = {node->mass, node->armature, node->damping, node->stiffness, node->spring_reference};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    hash = cal_hash_doubles(hash, masses, sizeof masses / sizeof masses[0]);
    hash = cal_hash_doubles(hash, node->rotation, 9);
    hash = cal_hash_doubles(hash, node->offset, 3);
    hash = cal_hash_doubles(hash, node->moment, 3);
    return cal_hash_doubles(hash, node->second_moment, 6);
}

static uint64_t hash_constraint(uint64_t hash, const cal_constraint_def* def) {
    const double numbers[] = {def->kind,     def->body[0],  def->body[1],  def->rows,
                              def->joint[0], def->joint[1], def->inactive, def->length};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    for (int i = 0; i < 2; i++) {
        hash = cal_hash_doubles(hash, def->position[i], 3);
        hash = cal_hash_doubles(hash, def->quaternion[i], 4);
    }
    return cal_hash_doubles(hash, def->polynomial, 5);
}

uint64_t cal_model_hash(const cal_model* model) {
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, model->gravity, 3);
    for (int i = 0; i < model->node_count; i++) hash = hash_node(hash, &model->nodes[i]);
    for (int i = 0; i < model->body_count; i++) {
        const cal_mount* mount = &model->mounts[i];
        hash = cal_hash_bytes(hash, &mount->node, sizeof mount->node);
        hash = cal_hash_doubles(hash, mount->rotation, 9);
        hash = cal_hash_doubles(hash, mount->offset, 3);
    }
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint_def* def = model->joints[i].def;
        if (def->friction_loss != 0.0) hash = cal_hash_doubles(hash, (double[]){i, def->friction_loss}, 2);
        if (!def->limited) continue;
        const double stops[] = {i, def->range[0], def->range[1], model->joints[i].limit_stiffness, def->limit_damping};
        hash = cal_hash_doubles(hash, stops, sizeof stops / sizeof stops[0]);
    }
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* def = &model->actuators[i];
        const double motor[] = {def->joint, def->gear, def->gain};
        hash = cal_hash_doubles(hash, motor, sizeof motor / sizeof motor[0]);
        hash = cal_hash_doubles(hash, def->bias, 3);
        hash = cal_hash_doubles(hash, def->control_range, 2);
        hash = cal_hash_doubles(hash, def->force_range, 2);
    }
    for (int i = 0; i < model->constraint_count; i++) hash = hash_constraint(hash, &model->constraints[i]);
    return hash;
}
