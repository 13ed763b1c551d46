// The image of a world: everything that changes while it runs, at the committed time and as far as it was computed ahead.
//
//     time, counters │ components: queues of states, groups │ junctions │ pairs │ events │ bodies: boxes │ hooks │ multibodies │ log
//
// What a world is made of (bodies, shapes, models, callbacks) is not in it. Since everything is there that was computed ahead,
// a continuation has the same bits, whatever the loop.
#pragma once
#include "simulation/component.h"
#include "simulation/state/image.h"

// One number for what a world is made of and how it runs: images belong to worlds that have the same.
uint64_t cal_world_identity(const cal_world* world);
// Writes a world that has begun, and has not failed, to the end of an image.
void cal_world_store(const cal_world* world, cal_image* image);
// Reads it into a world that has begun and has the same identity. On an error nothing is changed.
cal_status cal_world_load(cal_world* world, cal_image* image, cal_error* error);

// A component in an image, for the tables: a group, which is made anew; and one that is there as long as the world.
void cal_image_group(cal_image* image, cal_world* world, int component, const cal_component* own, cal_error* error);
void cal_image_own(cal_image* image, cal_world* world, int component, const cal_component* own, cal_error* error);
