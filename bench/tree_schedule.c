// Armstrong's tree machine, in virtual time.
#include "tree_schedule.h"

#include <stdlib.h>

void cal_tree_schedule_free(cal_tree_schedule* schedule) {
    free(schedule->tasks);
    free(schedule->messages);
    *schedule = (cal_tree_schedule){0};
}

void cal_tree_clear(cal_tree_schedule* schedule) {
    schedule->processors = schedule->task_count = schedule->message_count = 0;
}

static bool make_room(void** memory, int count, int* capacity, size_t size) {
    if (count < *capacity) return true;
    const int wanted = 2 * *capacity + 16;
    void* larger = realloc(*memory, (size_t)wanted * size);
    if (!larger) return false;
    *memory = larger;
    *capacity = wanted;
    return true;
}

int cal_tree_add_task(cal_tree_schedule* schedule, int processor, int links) {
    void* memory = schedule->tasks;
    schedule->failed |= !make_room(&memory, schedule->task_count, &schedule->task_capacity, sizeof *schedule->tasks);
    schedule->tasks = memory;
    if (schedule->failed) return 0;
    if (processor >= schedule->processors) schedule->processors = processor + 1;
    schedule->tasks[schedule->task_count] = (cal_tree_task){processor, links, schedule->message_count, 0};
    return schedule->task_count++;
}

void cal_tree_add_message(cal_tree_schedule* schedule, int task, bool is_order) {
    void* memory = schedule->messages;
    schedule->failed |=
        !make_room(&memory, schedule->message_count, &schedule->message_capacity, sizeof *schedule->messages);
    schedule->messages = memory;
    if (schedule->failed) return;
    schedule->messages[schedule->message_count++] = (cal_tree_message){task, is_order};
    schedule->tasks[schedule->task_count - 1].message_count++;
}

static double message_time(const cal_tree_schedule* schedule, const cal_tree_times* times, const cal_tree_task* from,
                           const cal_tree_message* message) {
    if (message->is_order) return 0;
    return schedule->tasks[message->task].processor == from->processor ? times->local : times->communicate;
}

double cal_tree_model(const cal_tree_schedule* schedule, const cal_tree_times* times, double* busy) {
    double* clocks = calloc((size_t)schedule->processors + 1, sizeof *clocks);
    double* arrivals = calloc((size_t)schedule->task_count + 1, sizeof *arrivals);
    double end = 0, executed = 0;
    const bool complete = clocks && arrivals && !schedule->failed;
    for (int t = 0; complete && t < schedule->task_count; t++) {
        const cal_tree_task* task = &schedule->tasks[t];
        double* clock = &clocks[task->processor];
        if (arrivals[t] > *clock) *clock = arrivals[t];
        *clock += task->links * times->execute;
        executed += task->links * times->execute;
        for (int m = task->first_message; m < task->first_message + task->message_count; m++) {
            double* arrival = &arrivals[schedule->messages[m].task];
            *clock += message_time(schedule, times, task, &schedule->messages[m]);
            if (*clock > *arrival) *arrival = *clock;
        }
        if (*clock > end) end = *clock;
    }
    free(clocks);
    free(arrivals);
    if (!complete) return -1;
    if (busy) *busy = end > 0 ? executed / (end * schedule->processors) : 0;
    return end;
}
