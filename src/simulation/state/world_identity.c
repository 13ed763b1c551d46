// What a world is made of and how it runs, as numbers. Where moving bodies start is not in them: an image says where they are.
#include "base/hash.h"
#include "model/model.h"
#include "simulation/body.h"
#include "simulation/event/callbacks.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"

static uint64_t hash_def(uint64_t hash, const cal_world_def* def, double given_rate) {
    const double numbers[] = {(double)def->loop,    def->step,        def->gravity[0],      def->gravity[1],
                              def->gravity[2],      def->tolerance,   def->group_tolerance, given_rate,
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

// 0 says that there is nothing.
static uint64_t not_zero(uint64_t hash) { return hash != 0 ? hash : 1; }

uint64_t cal_body_identity(const cal_world* world, int number) {
    const cal_sim_body* body = &world->bodies[number];
    const cal_world_body_def* def = &body->def;
    if (body->stage != CAL_BEGUN) return 0;
    const double numbers[] = {(double)def->motion, body->multibody,   body->link,      def->slots,
                              body->mass,          body->shape_count, def->path_speed, def->path_acceleration};
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, numbers, sizeof numbers / sizeof numbers[0]);
    hash = cal_hash_doubles(hash, body->inertia, 3);
    hash = cal_hash_doubles(hash, body->offset, 3);
    hash = cal_hash_doubles(hash, body->turn, 4);
    if (def->motion == CAL_FIXED) {
        hash = cal_hash_doubles(hash, def->position, 3);
        hash = cal_hash_doubles(hash, def->quaternion, 4);
    }
    return not_zero(hash_shapes(hash, body));
}

uint64_t cal_multibody_identity(const cal_world* world, int number) {
    const cal_multibody* m = world->multibodies[number];
    if (m->stage != CAL_BEGUN) return 0;
    uint64_t hash = cal_hash_word(CAL_HASH_START, cal_model_hash(m->engine->user));
    hash = cal_hash_doubles(hash, m->position, 3);
    hash = cal_hash_doubles(hash, m->quaternion, 4);
    return not_zero(cal_hash_doubles(hash, (double[]){m->slots, m->touches_itself, m->first_body, m->ground}, 4));
}

uint64_t cal_hook_identity(const cal_world* world, int number) {
    const cal_periodic_hook* hook = &world->periodic_hooks[number];
    if (hook->count == 0) return 0;
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, (double[]){hook->count, hook->first, hook->period}, 3);
    for (int k = 0; k < hook->count; k++) hash = cal_hash_word(hash, (uint64_t)hook->bodies[k]);
    return not_zero(hash);
}

uint64_t cal_world_identity(const cal_world* world) { return hash_def(CAL_HASH_START, &world->def, world->given_rate); }
