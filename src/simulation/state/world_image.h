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
