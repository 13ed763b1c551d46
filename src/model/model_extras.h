// What a model keeps beside its tree: sites, tendons, drags, sensors, keyframes, textures, pairs and exclusions of contact, named numbers, a
// step for those who take fixed ones. Everything is a copy and belongs to the record.
#pragma once
#include "calder/calder.h"

typedef struct cal_named_numbers {
    char* name;
    double* values;
    int count;
} cal_named_numbers;

typedef struct cal_exclusion {
    int body[2];
} cal_exclusion;

typedef struct cal_medium {
    double density, viscosity, wind[3];
} cal_medium;

typedef struct cal_model_extras {
    cal_site_def* sites;
    cal_tendon_def* tendons;
    cal_drag_def* drags;
    cal_sensor_def* sensors;
    cal_keyframe_def* keyframes;
    cal_texture_def* textures;
    cal_pair_def* pairs;
    cal_exclusion* exclusions;
    cal_named_numbers* numbers;
    int site_count, tendon_count, drag_count, sensor_count, keyframe_count, texture_count, pair_count, exclusion_count,
        number_count;
    double timestep;
    cal_medium medium;
    double magnetic_field[3];
} cal_model_extras;

// What the additions below return when they fail.
enum { CAL_KEPT_NO_MEMORY = -1, CAL_KEPT_UNINITIALISED = -2 };

int cal_model_extras_add_site(cal_model_extras* kept, const cal_site_def* def);
int cal_model_extras_add_tendon(cal_model_extras* kept, const cal_tendon_def* def);
int cal_model_extras_add_drag(cal_model_extras* kept, const cal_drag_def* def);
int cal_model_extras_add_sensor(cal_model_extras* kept, const cal_sensor_def* def);
int cal_model_extras_add_keyframe(cal_model_extras* kept, const cal_keyframe_def* def);
int cal_model_extras_add_texture(cal_model_extras* kept, const cal_texture_def* def); // whose bytes were checked
int cal_model_extras_add_pair(cal_model_extras* kept, const cal_pair_def* def);
int cal_model_extras_add_exclusion(cal_model_extras* kept, int body_a, int body_b);
int cal_model_extras_add_numbers(cal_model_extras* kept, const char* name, const double* values, int count);
// Copies everything into an empty record; false when there is no memory.
bool cal_model_extras_copy(const cal_model_extras* from, cal_model_extras* to);
void cal_model_extras_free(cal_model_extras* kept);
