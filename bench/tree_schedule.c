// Armstrong's tree machine, in virtual time and on threads.
#define _GNU_SOURCE
#include "tree_schedule.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "command.h"

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

// --- On threads -------------------------------------------------------------------------------------------------------

typedef struct run {
    struct processor* processors;
    const cal_tree_schedule* schedule;
    const cal_tree_times* times;
    int* missing; // per task: messages that have not come
    pthread_mutex_t mutex;
    int signal; // 0: wait, 1: go, -1: there are not enough threads
} run;

typedef struct processor {
    run* run;
    int index;
    pthread_t thread;
    pthread_cond_t news; // for this one, so that a message wakes nobody else
} processor;

static void spend(double seconds) {
    if (seconds <= 0) return;
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    while (nanosleep(&left, &left) != 0) continue;
}

static void await_messages(run* r, int task) {
    pthread_mutex_lock(&r->mutex);
    pthread_cond_t* news = &r->processors[r->schedule->tasks[task].processor].news;
    while (r->missing[task] > 0) pthread_cond_wait(news, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
}

static void deliver(run* r, int task) {
    pthread_mutex_lock(&r->mutex);
    if (--r->missing[task] == 0) pthread_cond_signal(&r->processors[r->schedule->tasks[task].processor].news);
    pthread_mutex_unlock(&r->mutex);
}

static void work(run* r, int own) {
    const cal_tree_schedule* schedule = r->schedule;
    for (int t = 0; t < schedule->task_count; t++) {
        const cal_tree_task* task = &schedule->tasks[t];
        if (task->processor != own) continue;
        await_messages(r, t);
        spend(task->links * r->times->execute);
        for (int m = task->first_message; m < task->first_message + task->message_count; m++) {
            spend(message_time(schedule, r->times, task, &schedule->messages[m]));
            deliver(r, schedule->messages[m].task);
        }
    }
}

static void* work_as(void* argument) {
    processor* p = argument;
    // Without this a sleep of a millisecond takes 5 % longer.
    prctl(PR_SET_TIMERSLACK, 1UL);
    pthread_mutex_lock(&p->run->mutex);
    while (p->run->signal == 0) pthread_cond_wait(&p->news, &p->run->mutex);
    const bool goes = p->run->signal > 0;
    pthread_mutex_unlock(&p->run->mutex);
    if (goes) work(p->run, p->index);
    return NULL;
}

double cal_tree_measure(const cal_tree_schedule* schedule, const cal_tree_times* times) {
    const size_t count = (size_t)schedule->processors;
    run r = {.schedule = schedule, .times = times};
    processor* processors = calloc(count + 1, sizeof *processors);
    r.missing = calloc((size_t)schedule->task_count + 1, sizeof *r.missing);
    double seconds = -1;
    if (!processors || !r.missing || schedule->failed) {
        free(processors);
        free(r.missing);
        return seconds;
    }
    for (int m = 0; m < schedule->message_count; m++) r.missing[schedule->messages[m].task]++;
    pthread_mutex_init(&r.mutex, NULL);
    r.processors = processors;
    size_t started = 0;
    for (; started < count; started++) {
        processors[started] = (processor){.run = &r, .index = (int)started};
        pthread_cond_init(&processors[started].news, NULL);
        if (pthread_create(&processors[started].thread, NULL, work_as, &processors[started]) != 0) break;
    }
    pthread_mutex_lock(&r.mutex);
    r.signal = started == count ? 1 : -1;
    for (size_t i = 0; i < started; i++) pthread_cond_signal(&processors[i].news);
    pthread_mutex_unlock(&r.mutex);
    const double began = cal_wall_seconds();
    for (size_t i = 0; i < started; i++) pthread_join(processors[i].thread, NULL);
    if (started == count) seconds = cal_wall_seconds() - began;
    pthread_mutex_destroy(&r.mutex);
    for (size_t i = 0; i < started; i++) pthread_cond_destroy(&processors[i].news);
    free(processors);
    free(r.missing);
    return seconds;
}
