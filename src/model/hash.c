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

static uint64_t hash_tendon(uint64_t hash, const cal_tendon_def* def) {
    const double numbers[] = {def->part_count,       def->stiffness, def->spring_length[0],
                              def->spring_length[1], def->damping,   def->friction_loss};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    if (def->limited)
        hash = cal_hash_doubles(hash,
                                (double[]){def->range[0], def->range[1], def->limit_stiffness, def->limit_damping}, 4);
    for (int i = 0; i < def->part_count; i++) {
        const cal_tendon_part* part = &def->parts[i];
        const double words[] = {part->kind, part->joint,  part->factor,
                                part->body, part->radius, part->sided ? part->side_body : CAL_NONE};
        hash = cal_hash_doubles(hash, words, sizeof words / sizeof words[0]);
        hash = cal_hash_doubles(hash, part->position, 3);
        hash = cal_hash_doubles(hash, part->quaternion, 4);
        hash = cal_hash_doubles(hash, part->side, 3);
    }
    return hash;
}

static uint64_t hash_target(uint64_t hash, const cal_actuator_def* def) {
    hash = cal_hash_doubles(hash, (double[]){def->tendon, def->body}, 2);
    if (def->body == CAL_NONE) return hash;
    hash = cal_hash_doubles(hash, def->position, 3);
    hash = cal_hash_doubles(hash, def->quaternion, 4);
    hash = cal_hash_doubles(hash, def->wrench, 6);
    if (def->reference == CAL_NONE) return hash;
    hash = cal_hash_doubles(hash, (double[]){def->reference}, 1);
    hash = cal_hash_doubles(hash, def->reference_position, 3);
    return cal_hash_doubles(hash, def->reference_quaternion, 4);
}

static uint64_t hash_muscle(uint64_t hash, const cal_muscle* m) {
    const double numbers[] = {m->length_range[0], m->length_range[1], m->range[0], m->range[1], m->peak,
                              m->shortest,        m->longest,         m->fastest,  m->passive,  m->eccentric};
    return cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
}

static uint64_t hash_drags(uint64_t hash, const cal_model* model) {
    const cal_medium* medium = &model->kept.medium;
    hash = cal_hash_doubles(hash, (double[]){medium->density, medium->viscosity}, 2);
    hash = cal_hash_doubles(hash, medium->wind, 3);
    for (int i = 0; i < model->kept.drag_count; i++) {
        const cal_drag_def* def = &model->kept.drags[i];
        hash = cal_hash_doubles(hash, (double[]){def->body, def->kind}, 2);
        hash = cal_hash_doubles(hash, def->position, 3);
        hash = cal_hash_doubles(hash, def->quaternion, 4);
        hash = cal_hash_doubles(hash, def->size, 3);
        hash = cal_hash_doubles(hash, def->coefficients, 5);
        hash = cal_hash_doubles(hash, def->virtual_mass, 3);
        hash = cal_hash_doubles(hash, def->virtual_inertia, 3);
    }
    return hash;
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
        if (def->motor_carries || def->motor_range[0] != def->motor_range[1])
            hash = cal_hash_doubles(
                hash, (double[]){i, def->motor_range[0], def->motor_range[1], def->motor_carries ? 1.0 : 0.0}, 4);
        if (!def->limited) continue;
        const double stops[] = {i, def->range[0], def->range[1], model->joints[i].limit_stiffness, def->limit_damping};
        hash = cal_hash_doubles(hash, stops, sizeof stops / sizeof stops[0]);
    }
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* def = &model->actuators[i];
        const double motor[] = {def->joint, def->gear, def->gain};
        hash = cal_hash_doubles(hash, motor, sizeof motor / sizeof motor[0]);
        if (def->joint == CAL_NONE) hash = hash_target(hash, def);
        if (def->gain_slope[0] != 0.0 || def->gain_slope[1] != 0.0) hash = cal_hash_doubles(hash, def->gain_slope, 2);
        if (def->is_muscle) hash = hash_muscle(hash, &def->muscle);
        if (def->axis != 0) hash = cal_hash_doubles(hash, (double[]){def->axis}, 1);
        if (def->activation != CAL_ACTIVATION_NONE) {
            hash = cal_hash_doubles(hash, (double[]){def->activation}, 1);
            hash = cal_hash_doubles(hash, def->time_constant, 2);
            hash = cal_hash_doubles(hash, def->activation_range, 2);
        }
        hash = cal_hash_doubles(hash, def->bias, 3);
        hash = cal_hash_doubles(hash, def->control_range, 2);
        hash = cal_hash_doubles(hash, def->force_range, 2);
    }
    for (int i = 0; i < model->constraint_count; i++) hash = hash_constraint(hash, &model->constraints[i]);
    for (int i = 0; i < model->kept.tendon_count; i++) hash = hash_tendon(hash, &model->kept.tendons[i]);
    for (int i = 0; cal_model_has_weightless(model) && i < model->body_count; i++) {
        const cal_body_def* def = model->bodies[i].def;
        hash = cal_hash_doubles(
            hash, (double[]){def->weightless, def->mass, def->center[0], def->center[1], def->center[2]}, 5);
    }
    return cal_model_has_drag(model) ? hash_drags(hash, model) : hash;
}

uint64_t cal_shape_hash(uint64_t hash, const cal_shape_def* shape) {
    const double numbers[] = {(double)shape->kind, shape->friction, shape->restitution, shape->priority,
                              shape->collides,     shape->category, shape->mask};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    hash = cal_hash_doubles(hash, shape->position, 3);
    hash = cal_hash_doubles(hash, shape->quaternion, 4);
    return cal_hash_doubles(hash, shape->size, 3);
}

uint64_t cal_mesh_hash(uint64_t hash, const cal_mesh_def* mesh) {
    hash = cal_hash_doubles(hash, (double[]){mesh->vertex_count, mesh->triangle_count, mesh->columns}, 3);
    hash = cal_hash_doubles(hash, mesh->vertices, 3 * (size_t)mesh->vertex_count);
    for (int i = 0; i < 3 * mesh->triangle_count; i++) hash = cal_hash_word(hash, (uint64_t)mesh->triangles[i]);
    return hash;
}

uint64_t cal_model_contact_hash(const cal_model* model) {
    uint64_t hash = cal_model_hash(model);
    for (int i = 0; i < model->shape_count; i++) {
        const cal_shape_def* shape = &model->shapes[i];
        const bool meshed = shape->kind == CAL_MESH || shape->kind == CAL_HEIGHT_FIELD;
        hash = cal_hash_word(hash, (uint64_t)(int64_t)shape->body);
        hash = cal_shape_hash(hash, shape);
        if (meshed) hash = cal_mesh_hash(hash, &model->meshes[shape->mesh]);
    }
    for (int i = 0; i < model->kept.pair_count; i++) {
        const cal_pair_def* pair = &model->kept.pairs[i];
        hash = cal_hash_doubles(hash, (double[]){pair->shape[0], pair->shape[1], pair->friction}, 3);
    }
    for (int i = 0; i < model->kept.exclusion_count; i++) {
        const int* bodies = model->kept.exclusions[i].body;
        hash = cal_hash_doubles(hash, (double[]){bodies[0], bodies[1]}, 2);
    }
    return hash;
}
