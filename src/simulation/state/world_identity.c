// What a world is made of and how it runs, as one number. Where moving bodies start is not in it: an image says where they are.
#include "base/hash.h"
#include "model/model.h"
#include "simulation/body.h"
#include "simulation/event/callbacks.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"

static uint64_t hash_def(uint64_t hash, const cal_world_def* def) {
    const double numbers[] = {(double)def->loop,    def->step,        def->gravity[0],      def->gravity[1],
                              def->gravity[2],      def->tolerance,   def->group_tolerance, def->group_rate,
                              def->contact_speed,   def->restitution, def->friction,        def->separate,
                              def->forced_rollbacks};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    hash = cal_hash_word(hash, def->seed);
    return cal_hash_bytes(hash, def->group, strlen(def->group));
}

static uint64_t hash_shapes(uint64_t hash, const cal_sim_body* body) {
    for (int i = 0; i < body->shape_count; i++) {
        hash = cal_shape_hash(hash, &body->shapes[i]);
        hash = cal_mesh_hash(hash, &body->meshes[i]);
    }
    return hash;
}

static uint64_t hash_body(uint64_t hash, const cal_sim_body* body) {
    const cal_world_body_def* def = &body->def;
    const double numbers[] = {(double)def->motion, body->multibody,   body->link,      def->slots,
                              body->mass,          body->shape_count, def->path_speed, def->path_acceleration};
    hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    hash = cal_hash_doubles(hash, body->inertia, 3);
    hash = cal_hash_doubles(hash, body->offset, 3);
    hash = cal_hash_doubles(hash, body->turn, 4);
    if (def->motion == CAL_FIXED) {
        hash = cal_hash_doubles(hash, def->position, 3);
        hash = cal_hash_doubles(hash, def->quaternion, 4);
    }
    return hash_shapes(hash, body);
}

uint64_t cal_world_identity(const cal_world* world) {
    uint64_t hash = hash_def(CAL_HASH_START, &world->def);
    for (int i = 0; i < world->body_count; i++) hash = hash_body(hash, &world->bodies[i]);
    for (int i = 0; i < world->multibody_count; i++) {
        const cal_multibody* m = world->multibodies[i];
        hash = cal_hash_word(hash, cal_model_hash(m->engine->model));
        hash = cal_hash_doubles(hash, m->position, 3);
        hash = cal_hash_doubles(hash, m->quaternion, 4);
        hash = cal_hash_doubles(hash, (double[]){m->slots, m->touches_itself}, 2);
    }
    for (int i = 0; i < world->periodic_hook_count; i++) {
        const cal_periodic_hook* hook = &world->periodic_hooks[i];
        hash = cal_hash_doubles(hash, (double[]){hook->count, hook->first, hook->period}, 3);
        for (int k = 0; k < hook->count; k++) hash = cal_hash_word(hash, (uint64_t)hook->bodies[k]);
    }
    return cal_hash_word(hash, (uint64_t)world->collision_hook_count);
}
