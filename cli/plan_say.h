// What `calder plan` was asked and has found, and how it is said.
#pragma once
#include "calder/calder.h"

typedef struct cal_plan_row {
    int processors, used;
    int trunk; // joints that every processor computes which has something below them
    double seconds, speedup;
    double price; // the time by cal_price, one measure for all distributions; 0: seconds is that
} cal_plan_row;

typedef struct cal_plan_question {
    const char *model_name, *processors, *compute, *message, *send, *read, *distribution, *machine, *lanes, *save,
        *algorithm, *schedule, *gpu;
    bool tree, json, world;
    int64_t batch; // instances on a GPU
    double time;   // that a world is simulated; 0: chosen
    cal_model* model;
    cal_costs costs;
    bool measured;
    int cores;       // threads that were measured together; 0: none were
    double crowding; // how many times longer a joint takes when all cores compute
    cal_distribution kind;
    int* counts; // of processors
    int count;
    bool thinned; // the list was too long for all of its numbers
    cal_plan_row* rows;
    cal_schedule_report* reports; // of assembly
    int ranks;                    // that were asked what they send for it; 0: none were
    cal_schedule_report expected; // of them
    int64_t sent_messages, sent_bytes;
    int32_t* processor_of_joint; // of the last row
} cal_plan_question;

// Of assembly: the schedule that each number of processors asks for, unless one is given.
const char* cal_plan_schedule_for(const cal_plan_question* p, int processors, char* text, size_t capacity);
const cal_plan_row* cal_plan_fastest(const cal_plan_question* p);
// Of a long list: its ends, powers of two and the numbers half way between them.
bool cal_plan_is_round(const cal_plan_question* p, int i);
// Prints, draws and saves what was found; an exit status.
int cal_plan_say(const cal_plan_question* p);
