// What a machine's cores give when nothing is between them.
#pragma once
#include "calder/calder.h"

// The evaluations per second of `count` threads that each run forward dynamics of the model on their own at the same time, all
// together; 0 when there is no memory or a thread could not be started.
double cal_copies_rate(const cal_model* model, int lanes, int count);
// How many times longer an evaluation takes when so many threads do one each at the same time, and wait for the slowest before the next,
// than when one is alone; 0 when it cannot be measured.
double cal_copies_crowding(const cal_model* model, int lanes, int count);
