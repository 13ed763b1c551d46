// Work on many bodies or pairs that have nothing to do with each other, shared by the processors of a world's machine.
#pragma once
#include "calder/calder_world.h"

// Fewer things are not worth waking threads for, which takes some 10 µs: the least work that is shared takes 0.1 µs per thing.
enum { CAL_SHARE_FEW = 2048 };
// How many things are done at a time: few enough for the last ones not to be waited for long.
enum { CAL_SHARE_PIECE = 256 };
// Does something for things from one number, a multiple of that, to before another one. Several are called at the same time.
typedef void cal_share_task(void* user, int first, int end);
// Calls a task for all of `count` things: in pieces, by all processors of the world's machine, and as one where there are few, no other
// processors, or these are busy.
void cal_world_share(const cal_world* world, int count, cal_share_task* task, void* user);
