// Work on many bodies or pairs that have nothing to do with each other, shared by the processors of a world's machine.
#pragma once
#include "calder/calder_world.h"

// Fewer things are not worth waking threads for, which takes some 10 µs: the least work that is shared takes 0.1 µs per thing.
enum { CAL_SHARE_FEW = 2048 };
// Does something for things from one number to before another one. Several are called at the same time.
typedef void cal_share_task(void* user, int first, int end);
// Calls a task for all of `count` things: in pieces, by all processors of the world's machine, and as one where there are few, no other
// processors, or these are busy.
void cal_world_share(const cal_world* world, int count, cal_share_task* task, void* user);
