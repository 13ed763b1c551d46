// The list of scenes, and what they share.
#include "scenes/scene.h"
#include <stdio.h>
#include <string.h>

enum { SCENE_COUNT = 5 };
static const cal_scene* const scenes[SCENE_COUNT] = {&cal_scene_atoms, &cal_scene_cars, &cal_scene_robots,
                                                     &cal_scene_avalanche, &cal_scene_stack};

const char* cal_scene_name(int index) {
    return index >= 0 && index < SCENE_COUNT ? scenes[index]->parameters.name : NULL;
}
const char* cal_scene_help(int index) {
    return index >= 0 && index < SCENE_COUNT ? scenes[index]->parameters.help : NULL;
}
double cal_scene_duration(int index) { return index >= 0 && index < SCENE_COUNT ? scenes[index]->duration : 0.0; }

static const cal_scene* find_scene(const char* specification, cal_error* error) {
    const size_t length = strcspn(specification, ":");
    char list[160] = "";
    for (int i = 0; i < SCENE_COUNT; i++) {
        const char* name = scenes[i]->parameters.name;
        if (strlen(name) == length && memcmp(name, specification, length) == 0) return scenes[i];
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", name);
    }
    cal_explain(error, CAL_BAD_ARGUMENT, "there is no scene \"%.*s\"; there are %s", length > 60 ? 60 : (int)length,
                specification, list);
    return NULL;
}

cal_status cal_world_generate(const char* specification, const cal_world_def* def, cal_world** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_generate: out must not be NULL");
    *out = NULL;
    if (!specification)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_generate: the specification must not be NULL");
    const cal_scene* scene = find_scene(specification, error);
    if (scene == NULL) return CAL_BAD_ARGUMENT;
    double values[CAL_MAX_PARAMETERS];
    const char* rest = specification + strcspn(specification, ":");
    cal_status status = cal_read_parameters(&scene->parameters, *rest == ':' ? rest + 1 : rest, values, error);
    if (status != CAL_OK) return status;
    cal_world_def own = def != NULL ? *def : cal_default_world_def();
    const double restitution = own.restitution, friction = own.friction;
    scene->prepare(values, &own);
    if (restitution >= 0.0) own.restitution = restitution;
    if (friction >= 0.0) own.friction = friction;
    cal_world* world;
    status = cal_world_create(&own, &world, error);
    if (status != CAL_OK) return status;
    status = scene->build(values, world, error);
    if (status != CAL_OK) {
        cal_world_destroy(world);
        return status;
    }
    *out = world;
    return CAL_OK;
}

cal_status cal_scene_fixed(cal_world* world, const char* name, const cal_shape_def* shape, cal_error* error) {
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    def.motion = CAL_FIXED;
    memcpy(def.position, shape->position, sizeof def.position);
    memcpy(def.quaternion, shape->quaternion, sizeof def.quaternion);
    cal_shape_def own = *shape;
    const double identity[4] = {1.0, 0.0, 0.0, 0.0};
    memset(own.position, 0, sizeof own.position);
    memcpy(own.quaternion, identity, sizeof identity);
    cal_body_id body;
    const cal_status status = cal_world_add_body(world, &def, &body, error);
    return status == CAL_OK ? cal_world_add_shape(world, body, &own, NULL, error) : status;
}

void cal_scene_direction(cal_random* random, double out[3]) {
    double square;
    do {
        for (int i = 0; i < 3; i++) out[i] = cal_random_between(random, -1.0, 1.0);
        square = cal_dot3(out, out);
    } while (square > 1.0 || square < 1e-4);
    for (int i = 0; i < 3; i++) out[i] /= sqrt(square);
}

void cal_scene_rotation(cal_random* random, double out[4]) {
    double square;
    do {
        square = 0.0;
        for (int i = 0; i < 4; i++) {
            out[i] = cal_random_between(random, -1.0, 1.0);
            square += out[i] * out[i];
        }
    } while (square > 1.0 || square < 1e-4);
    cal_quaternion_normalize(out);
}
