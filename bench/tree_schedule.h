// Armstrong's tree machine as a model: processors that wait for messages, execute links, and send messages on.
//
// A *schedule* is a list of tasks in an order in which each comes after those that it waits for. Every processor takes its
// own tasks in this order: it waits for the task's messages, executes its links (t_E each), and sends its messages one after
// the other (t_C each to another processor, or what a message on the same one takes), in virtual time. What real processors take
// for real dynamics is measured in tree_run.h.
#pragma once
#include <stdbool.h>

typedef struct cal_tree_task {
    int processor;
    int links;         // to execute
    int first_message; // of message_count
    int message_count;
} cal_tree_task;

typedef struct cal_tree_message {
    int task;      // that waits for it
    bool is_order; // takes no time: one task comes after the other, nothing is sent
} cal_tree_message;

typedef struct cal_tree_schedule {
    int processors, task_count, message_count;
    int task_capacity, message_capacity;
    cal_tree_task* tasks;
    cal_tree_message* messages;
    bool failed; // no memory; such a schedule is not run
} cal_tree_schedule;

typedef struct cal_tree_times {
    double execute;     // t_E, s
    double communicate; // t_C, s
    double local;       // a message between two tasks of one processor, s
} cal_tree_times;

void cal_tree_schedule_free(cal_tree_schedule* schedule);
// Adds a task of a processor and returns its number. Its messages must be added before the next task.
int cal_tree_add_task(cal_tree_schedule* schedule, int processor, int links);
void cal_tree_add_message(cal_tree_schedule* schedule, int task, bool is_order);
// Forgets all tasks, keeps the memory.
void cal_tree_clear(cal_tree_schedule* schedule);

// Virtual time until the last task is done, s; busy (may be NULL): the share of the processors' time in which links are
// executed. A negative number when there is no memory.
double cal_tree_model(const cal_tree_schedule* schedule, const cal_tree_times* times, double* busy);
