// The image of a world: everything that changes while it runs, at the committed time and as far as it was computed ahead.
//
//     time, counters │ what there is │ components: queues of states, groups │ junctions │ pairs │ events │ bodies: boxes │ hooks │ multibodies │ log
//
// What a world is made of (bodies, shapes, models, callbacks) is not in it, but one number for each, by its place. What the world
// has more than the image, in other places, is removed when it is read; what it has not is an error. Since everything is there that was computed ahead,
// a continuation has the same bits, whatever the loop.
#pragma once
#include "simulation/component.h"
#include "simulation/state/image.h"

// One number for how a world runs: images belong to worlds that have the same. And one for each body, multibody and periodic
// callback that has begun; 0: there is none.
uint64_t cal_world_identity(const cal_world* world);
uint64_t cal_body_identity(const cal_world* world, int number);
uint64_t cal_multibody_identity(const cal_world* world, int number);
uint64_t cal_hook_identity(const cal_world* world, int number);
// Writes a world that has begun, and has not failed, to the end of an image.
void cal_world_store(const cal_world* world, cal_image* image);
// Reads it into a world that has begun and has the same identity. On an error nothing is changed.
cal_status cal_world_load(cal_world* world, cal_image* image, cal_error* error);

// A component in an image, for the tables: a group, which is made anew; and one that is there as long as its bodies.
void cal_image_group(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error);
void cal_image_own(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error);
// Its clock, and what its table and its queue have of it.
void cal_image_component(cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error);
// What others need to follow a component from a time on: its states, and what a group is made of. Reading, it takes the place of what the world has of it;
// states are linked to nothing then, and a new group has no events.
void cal_image_states(cal_image* image, cal_world* world, int component, double since, cal_error* error);
// A collision, of a world whose ids count from a number; and what was counted.
void cal_image_event(cal_image* image, uint32_t first_id, cal_world_event* event);
void cal_image_report(cal_image* image, cal_world_report* report);
// Whether a state's numbers are those of a multibody, or of a group, for the tables.
bool cal_multibody_sound(const cal_world* world, int component, const cal_saved_state* state);
bool cal_group_sound(const cal_world* world, int component, const cal_saved_state* state);
