// Scenes: worlds made from a name and a few parameters, one a file, as generators make models.
#pragma once
#include "base/random.h"
#include "scenes/generate.h"
#include "simulation/world.h"

typedef struct cal_scene {
    cal_generator parameters;                                  // its name, help and parameters; it builds nothing
    double duration;                                           // of the paper's run, s
    void (*prepare)(const double* values, cal_world_def* def); // what the scene wants of its world
    cal_status (*build)(const double* values, cal_world* world, cal_error* error);
} cal_scene;

#define CAL_DEFINE_SCENE(NAME, LIST, DURATION, SUMMARY)                                                                \
    const cal_scene cal_scene_##NAME = {                                                                               \
        {#NAME, SUMMARY LIST(CAL_TEXT_RANGE, CAL_TEXT_RANGE, CAL_TEXT_CHOICE), parameters, parameter_count, NULL},     \
        DURATION,                                                                                                      \
        prepare,                                                                                                       \
        build};

extern const cal_scene cal_scene_atoms, cal_scene_cars, cal_scene_robots, cal_scene_avalanche, cal_scene_stack;

// A fixed body with one shape; the shape's own position and quaternion are those of the body's frame in the world.
cal_status cal_scene_fixed(cal_world* world, const char* name, const cal_shape_def* shape, cal_error* error);
// A unit vector and a unit quaternion at random.
void cal_scene_direction(cal_random* random, double out[3]);
void cal_scene_rotation(cal_random* random, double out[4]);
