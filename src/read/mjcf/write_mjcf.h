// What the parts of the MJCF writer share.
#pragma once
#include "base/names.h"
#include "model/model.h"
#include "read/mjcf/write_text.h"

#define CAL_START_KEY "calder-start" // the keyframe that a model starts at

typedef struct cal_mjcf_writer {
    const cal_model* model;
    const char* path;
    cal_text text;
    // Lists in rising order, -1 at their ends; the ground's begins at 0, that of body b at b + 1. Sites are the model's, then
    // two for each constraint.
    int *first_child, *next_child, *first_joint, *next_joint, *first_shape, *next_shape, *first_site, *next_site;
    cal_name_table* shape_names;   // MJCF wants them unique
    int *joint_order, joint_count; // joints as they were written, which is the order of q and v in the file
    bool* paired;                  // of each shape: a pair refers to it
    cal_text* meshes;              // files of meshes, which take their places when all is written
    bool made_folder;              // for them
} cal_mjcf_writer;

// Numbers that become `unit` when they are divided by their length; unit itself where none are found.
void cal_mjcf_before_normalizing(const double* unit, int count, double* out);
// A body's name, as an attribute.
void cal_mjcf_write_body_name(cal_mjcf_writer* writer, const char* attribute, int body);

// write_shapes.c: <asset> with files of meshes beside the model, and <geom>.
cal_status cal_mjcf_write_meshes(cal_mjcf_writer* writer, cal_error* error);
// Puts files of meshes into their places, or takes them away: what was there is the model's that was there.
cal_status cal_mjcf_place_meshes(cal_mjcf_writer* writer, bool keep, cal_error* error);
void cal_mjcf_write_shape(cal_mjcf_writer* writer, int shape);
void cal_mjcf_write_contacts(cal_mjcf_writer* writer);

// write_settings.c: <compiler>, <option>, <custom>, <keyframe>.
// The restitution of the shapes that collide; MJCF has one for all.
double cal_mjcf_restitution(const cal_model* model);
void cal_mjcf_write_settings(cal_mjcf_writer* writer);
cal_status cal_mjcf_write_keyframes(cal_mjcf_writer* writer);

// A joint's name, as an attribute (write_mjcf.c).
void cal_mjcf_write_joint_name(cal_mjcf_writer* writer, const char* attribute, int joint);

// write_tendons.c: what refers to sites and geoms by their names: <tendon>, <sensor>, and parts of <actuator>.
// Whether MJCF has words for all of them.
cal_status cal_mjcf_check_references(const cal_model* model, cal_error* error);
void cal_mjcf_write_tendons(cal_mjcf_writer* writer);
void cal_mjcf_write_sensors(cal_mjcf_writer* writer);
// What an actuator acts on, and its law, as attributes.
void cal_mjcf_write_target(cal_mjcf_writer* writer, const cal_actuator_def* def);
void cal_mjcf_write_gain(cal_mjcf_writer* writer, const cal_actuator_def* def);
