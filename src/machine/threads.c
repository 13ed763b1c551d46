// All cores: persistent workers that share memory. Worker 0 is the caller's own thread.
//
// Nothing is locked in a step. A worker runs its own part of every walk of the program (walk.c) without coming back in
// between; at a cut edge it spins on the other column's signal, which holds the number of the last walk in which that
// column's end, or what it leaves for its parent, was ready:
//
//     worker 0   down(trunk) post ─ down(a) … up(a) ─ wait b ─ pull a, pull b, up(trunk)
//                              └────────────┐            ┌──┘
//     worker 1                 wait trunk ─ down(b) … up(b) post
//
// Where the trunk is repeated a worker waits for nobody on its way down, and posts its subtrees together; a stand-in's signal
// (layout.h) is the one that its source's worker writes, and its slot is that worker's own.
//
// Where others keep the cores busy the caller runs all parts itself, each until it would have to wait, in turn: the same steps on the same
// numbers, so that nothing is copied and no bit changes from one execution to the next (plan/pace.h).
//
// Between executions workers spin for the next job for a while, then sleep. A worker that waits longer than a hand-over
// takes gives its core away now and then, and at once where there are more workers than cores: they work too, only slowly.
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "machine/machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
    CACHE_LINE = 64,
    SPINS_BEFORE_YIELD = 20000,
    SPINS_WHEN_CROWDED = 8,
    SPINS_BEFORE_SLEEP = 200000,
    MOST_WORKERS = 1024
};

// Of executions that chance gives to somebody: several threads on busy cores take a time slice for each.
static const double MOSTLY_ALONE = 0.9;

// How far a column is; two cache lines, since different workers write them.
struct cal_signal {
    _Alignas(CACHE_LINE) atomic_uint down;
    _Alignas(CACHE_LINE) atomic_uint up;
};

typedef struct thread_exchange thread_exchange;

typedef struct worker {
    _Alignas(CACHE_LINE) atomic_uint done;    // number of the last job
    _Alignas(CACHE_LINE) atomic_uint offered; // number of the last gather that it came to
    const double* offers[2];                  // of that, and of the one before: who is ahead waits at the next one
    struct threads_machine* machine;
    pthread_t thread;
    int index;
} worker;

typedef struct threads_machine {
    cal_machine base;
    cal_task_runner* runner; // the user's own threads, instead of ours
    void* user;
    bool pinned;
    int patience; // spins before a worker gives its core away
    // Of parts that one thread runs: how far each is.
    thread_exchange* parts;
    cal_walk* places;
    worker* workers; // [0] is the caller
    int started;
    // The caller's own, in a cache line that workers do not read.
    _Alignas(CACHE_LINE) bool alone; // the last execution was the caller's
    atomic_int busy;                 // no bool: riscv64 exchanges bytes only with a library of its own
    cal_pace_tries tries;
    uint64_t chance; // instead of a clock, who runs the parts; 0: the clock
    // The job: written before `job` is, read after; what is as in the last one is not written, so that workers have it.
    _Alignas(CACHE_LINE) const cal_plan* plan;
    cal_state* state;
    bool prepared;
    bool stops;                    // there is no job: workers end
    cal_column_function* function; // instead of the plan's program, for every column
    cal_task* task;                // instead of a plan, on so many workers
    int task_count;
    void* argument;
    _Alignas(CACHE_LINE) atomic_uint arrived; // workers at the barriers of this job
    _Alignas(CACHE_LINE) atomic_uint job;
    unsigned walk; // of the state, at the begin of the job
    _Alignas(CACHE_LINE) atomic_int sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} threads_machine;

// No pause instruction between two looks: a virtual machine takes a run of them for an idle core and gives it away, which
// costs more than a whole evaluation (10 to 20 µs an evaluation on a 16-core virtual machine).
//
// The number may be beyond the one waited for: a root's column has nothing to wait for between two walks, and is done with
// the second one perhaps before the ground's processor looks for the first.
static void spin_until(const atomic_uint* signal, unsigned value, int patience) {
    for (int spins = 0; (int)(atomic_load_explicit(signal, memory_order_acquire) - value) < 0; spins++)
        if (spins >= patience) sched_yield();
}

struct thread_exchange {
    cal_exchange base;
    threads_machine* machine;
    struct cal_signal* signals; // of the stage's tree
    const cal_pass *down, *up;  // of the stage
    unsigned walk;              // its number
    cal_count *all, *counts;    // of this worker: of all stages, of this one
    int sums;                   // of the solver that rides along
    unsigned barriers;          // that this worker has passed, or come to, in this job
    bool here;                  // of parts that one thread runs: it has come to one that it has not passed
};

// Asks for the cache lines that another core has just written; they come while something else is done.
static void fetch(const double* numbers, int count) {
    for (int i = 0; i < count; i += CACHE_LINE / (int)sizeof(double)) __builtin_prefetch(numbers + i);
}

// Waits until all workers with a part have come here.
static void meet(thread_exchange* e) {
    threads_machine* machine = e->machine;
    const unsigned all = ++e->barriers * (unsigned)machine->plan->used;
    atomic_fetch_add_explicit(&machine->arrived, 1, memory_order_acq_rel);
    for (int spins = 0; atomic_load_explicit(&machine->arrived, memory_order_acquire) < all; spins++)
        if (spins >= machine->patience) sched_yield();
}

static void begin_stage(cal_exchange* exchange, const cal_stage* stage, const cal_pass* up) {
    thread_exchange* e = (thread_exchange*)exchange;
    if (stage->meets && !e->base.may_begin) meet(e);
    e->walk++;
    e->down = stage->down;
    e->up = up;
    e->signals = e->machine->state->signals + stage->first_edge;
    e->counts = e->all + 2 * (stage - e->machine->plan->stages);
}

static void wait(cal_exchange* exchange, int edge, bool down) {
    const thread_exchange* e = (thread_exchange*)exchange;
    const cal_plan* plan = e->machine->plan;
    const int signal = plan->layout->repeats ? plan->layout->columns[edge].signal : edge;
    spin_until(down ? &e->signals[signal].down : &e->signals[signal].up, e->walk, e->machine->patience);
    // What swept programs leave for each other is not in the scratch memory.
    if (!plan->program->walked) return;
    const cal_pass* pass = down ? e->down : e->up;
    cal_crossing crossing = cal_plan_crossing(plan, pass, edge);
    if (pass->for_solver) crossing.count = e->sums * plan->layout->columns[edge].lanes;
    fetch(e->machine->state->context.scratch + crossing.at, crossing.count);
    e->counts[down].messages++;
    e->counts[down].numbers += crossing.count;
}

static void post(cal_exchange* exchange, int edge, bool down) {
    const thread_exchange* e = (thread_exchange*)exchange;
    atomic_store_explicit(down ? &e->signals[edge].down : &e->signals[edge].up, e->walk, memory_order_release);
}

static bool is_there(cal_exchange* exchange, int edge, bool down) {
    const thread_exchange* e = (thread_exchange*)exchange;
    const cal_plan* plan = e->machine->plan;
    const int signal = plan->layout->repeats ? plan->layout->columns[edge].signal : edge;
    const atomic_uint* ready = down ? &e->signals[signal].down : &e->signals[signal].up;
    return (int)(atomic_load_explicit(ready, memory_order_relaxed) - e->walk) >= 0;
}

static bool may_begin(cal_exchange* exchange, const cal_stage* stage) {
    thread_exchange* e = (thread_exchange*)exchange;
    threads_machine* machine = e->machine;
    if (!stage->meets) return true;
    if (!e->here) atomic_fetch_add_explicit(&machine->arrived, 1, memory_order_relaxed), e->barriers++;
    e->here =
        atomic_load_explicit(&machine->arrived, memory_order_relaxed) < e->barriers * (unsigned)machine->plan->used;
    return !e->here;
}

static thread_exchange exchange_of(threads_machine* machine, int processor) {
    return (thread_exchange){.base = {.begin = begin_stage, .wait = wait, .post = post},
                             .machine = machine,
                             .walk = machine->walk,
                             .all = machine->state->counts + (size_t)processor * CAL_COUNTS,
                             .sums = cal_state_sums(machine->state)};
}

// All parts on the caller's thread: each until it would have to wait, in turn. Steps have an order in which everything comes after
// what it needs (plan/column_steps.c), so somebody always gets on.
static void run_alone(threads_machine* machine) {
    const cal_plan* plan = machine->plan;
    for (int p = 0; p < plan->used; p++) {
        machine->places[p] = (cal_walk){0};
        machine->parts[p] = exchange_of(machine, p);
        machine->parts[p].base.may_begin = may_begin, machine->parts[p].base.is_there = is_there;
    }
    for (int left = plan->used; left > 0;)
        for (int p = 0; p < plan->used; p++)
            if (machine->places[p].stage < plan->stage_count &&
                cal_walk_stages(plan, machine->state, p, machine->prepared, &machine->parts[p].base,
                                &machine->places[p]))
                left--;
}

static void run_part(threads_machine* machine, int processor) {
    if (machine->task) {
        if (processor < machine->task_count) machine->task(machine->argument, processor);
        return;
    }
    const cal_plan* plan = machine->plan;
    if (machine->function) {
        for (int i = 0; i < plan->layout->column_count; i++)
            if (plan->layout->columns[i].owner == processor)
                machine->function(machine->argument, &plan->layout->columns[i]);
        return;
    }
    if (processor >= plan->used) return;
    thread_exchange exchange = exchange_of(machine, processor);
    cal_run_stages(plan, machine->state, processor, machine->prepared, &exchange.base);
}

static bool next_job(threads_machine* machine, unsigned* job) {
    const unsigned last = *job;
    for (int spins = 0; spins < SPINS_BEFORE_SLEEP; spins++) {
        if (atomic_load_explicit(&machine->job, memory_order_acquire) != last) break;
        if (spins % machine->patience == machine->patience - 1) sched_yield();
    }
    if (atomic_load_explicit(&machine->job, memory_order_acquire) == last) {
        pthread_mutex_lock(&machine->mutex);
        atomic_fetch_add(&machine->sleepers, 1);
        while (atomic_load(&machine->job) == last) pthread_cond_wait(&machine->wake, &machine->mutex);
        atomic_fetch_sub(&machine->sleepers, 1);
        pthread_mutex_unlock(&machine->mutex);
    }
    *job = atomic_load_explicit(&machine->job, memory_order_acquire);
    return !machine->stops;
}

static void* work(void* argument) {
    worker* own = argument;
    threads_machine* machine = own->machine;
    for (unsigned job = 0; next_job(machine, &job);) {
        run_part(machine, own->index);
        atomic_store_explicit(&own->done, job, memory_order_release);
    }
    return NULL;
}

// Tells the workers that there is a job (or that they shall stop), and wakes those that sleep.
static unsigned announce(threads_machine* machine) {
    const unsigned job = atomic_fetch_add(&machine->job, 1) + 1;
    if (atomic_load(&machine->sleepers) > 0) {
        pthread_mutex_lock(&machine->mutex);
        pthread_cond_broadcast(&machine->wake);
        pthread_mutex_unlock(&machine->mutex);
    }
    return job;
}

static void run_task(void* machine, int index) { run_part(machine, index); }

// Runs the job that the machine's fields describe.
static void run_job(threads_machine* machine, int used) {
    if (machine->runner) {
        machine->runner(machine->user, used, run_task, machine);
        return;
    }
    const unsigned job = announce(machine);
    run_part(machine, 0);
    // Workers without a part have nothing to finish, but must have seen this job before the next one is written.
    for (int i = 1; i < machine->base.processors; i++) spin_until(&machine->workers[i].done, job, machine->patience);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Whether the next execution is for the caller alone.
static bool choose_alone(threads_machine* machine, const cal_pace* pace) {
    if (machine->chance == 0) return !machine->base.steady && cal_pace_is_alone(pace);
    cal_random random = {machine->chance};
    const bool alone = cal_random_between(&random, 0.0, 1.0) < MOSTLY_ALONE;
    machine->chance = random.state | 1;
    return alone;
}

// On all workers, or alone where that is faster (plan/pace.h); returns which.
static bool run_paced(threads_machine* machine, cal_pace* pace, int used) {
    const bool measures = machine->chance == 0 && !machine->base.steady, alone = choose_alone(machine, pace);
    const double begin = measures ? now() : 0.0;
    if (!alone)
        run_job(machine, used);
    else if (machine->task)
        machine->task(machine->argument, CAL_EVERY_PROCESSOR);
    else
        run_alone(machine);
    if (measures) cal_pace_note(pace, &machine->tries, now() - begin);
    return alone;
}

static cal_status execute(cal_machine* base, const cal_plan* plan, cal_state* state, bool prepared) {
    threads_machine* machine = (threads_machine*)base;
    if (plan->used == 1) {
        cal_execute_alone(plan, state, prepared);
        return CAL_OK;
    }
    if (atomic_exchange(&machine->busy, 1)) return CAL_MACHINE_FAILED;
    if (machine->plan != plan) machine->plan = plan;
    if (machine->state != state) machine->state = state;
    if (machine->prepared != prepared) machine->prepared = prepared;
    if (machine->function) machine->function = NULL;
    machine->walk = state->walk;
    if (atomic_load_explicit(&machine->arrived, memory_order_relaxed) != 0) atomic_store(&machine->arrived, 0);
    machine->alone = run_paced(machine, &state->pace, plan->used);
    state->walk += (unsigned)plan->stage_count;
    if (plan->program->finish) plan->program->finish(&state->context);
    atomic_store(&machine->busy, 0);
    return CAL_OK;
}

static cal_status each(cal_machine* base, const cal_plan* plan, cal_column_function* function, void* argument) {
    threads_machine* machine = (threads_machine*)base;
    if (atomic_exchange(&machine->busy, 1)) return CAL_MACHINE_FAILED;
    machine->plan = plan;
    machine->function = function;
    machine->argument = argument;
    if (machine->alone)
        for (int p = 0; p < plan->used; p++) run_part(machine, p);
    else
        run_job(machine, plan->used);
    atomic_store(&machine->busy, 0);
    return CAL_OK;
}

static void begin_task(threads_machine* machine, cal_task* task, void* argument, int count) {
    machine->task = task;
    machine->task_count = count;
    machine->argument = argument;
    for (int i = 0; i < count; i++) atomic_store_explicit(&machine->workers[i].offered, 0, memory_order_relaxed);
}

static void end_task(threads_machine* machine) {
    machine->task = NULL;
    atomic_store(&machine->busy, 0);
}

static cal_status together(cal_machine* base, cal_task* task, void* argument, int count) {
    threads_machine* machine = (threads_machine*)base;
    if (atomic_exchange(&machine->busy, 1)) return CAL_MACHINE_FAILED;
    begin_task(machine, task, argument, count);
    run_job(machine, count);
    end_task(machine);
    return CAL_OK;
}

static void paced(cal_machine* base, cal_task* task, void* argument, int count, cal_pace* pace) {
    threads_machine* machine = (threads_machine*)base;
    if (atomic_exchange(&machine->busy, 1)) { // with something of the caller's
        task(argument, CAL_EVERY_PROCESSOR);
        return;
    }
    begin_task(machine, task, argument, count);
    (void)run_paced(machine, pace, count);
    end_task(machine);
}

// Everybody looks at everybody's signal, so that nobody needs to be told by a master: who comes last finds all others there,
// and those who wait look at the last one's cache line.
static cal_status gather(cal_machine* base, int processor, const double* own, int count, double* room,
                         const double** all) {
    (void)room;
    threads_machine* machine = (threads_machine*)base;
    worker* self = &machine->workers[processor];
    const unsigned number = atomic_load_explicit(&self->offered, memory_order_relaxed) + 1;
    self->offers[number % 2] = own;
    atomic_store_explicit(&self->offered, number, memory_order_release);
    for (int p = 0; p < machine->task_count; p++) {
        spin_until(&machine->workers[p].offered, number, machine->patience);
        all[p] = machine->workers[p].offers[number % 2];
        fetch(all[p], count);
    }
    return CAL_OK;
}

static void destroy(cal_machine* base) {
    threads_machine* machine = (threads_machine*)base;
    machine->stops = true;
    announce(machine);
    for (int i = 1; i <= machine->started; i++) pthread_join(machine->workers[i].thread, NULL);
    pthread_cond_destroy(&machine->wake);
    pthread_mutex_destroy(&machine->mutex);
    cal_free(machine->workers);
    cal_free(machine->parts);
    cal_free(machine->places);
    cal_free(machine);
}

static const cal_machine_ops threads_ops = {.name = "threads",
                                            .execute = execute,
                                            .destroy = destroy,
                                            .each = each,
                                            .together = together,
                                            .paced = paced,
                                            .gather = gather};

static void pin(pthread_t thread, int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    pthread_setaffinity_np(thread, sizeof cores, &cores); // a core that we may not use: the thread stays where it is
}

static cal_status start_workers(threads_machine* machine, const int* cores, cal_error* error) {
    const int count = machine->base.processors;
    if (machine->pinned) pin(pthread_self(), cores ? cores[0] : 0);
    for (int i = 1; i < count; i++) {
        machine->workers[i].machine = machine;
        machine->workers[i].index = i;
        if (pthread_create(&machine->workers[i].thread, NULL, work, &machine->workers[i]) != 0)
            return cal_fail(error, CAL_MACHINE_FAILED, "could start only %d of %d threads", i, count);
        machine->started = i;
        if (machine->pinned) pin(machine->workers[i].thread, cores ? cores[i] : i);
    }
    return CAL_OK;
}

// Cores that this process may use, which may be fewer than there are (taskset, containers).
static long usable_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : sysconf(_SC_NPROCESSORS_ONLN);
}

// Whether workers share cores, so that one that waits must give its core away.
static bool is_crowded(int workers, const int* cores) {
    for (int i = 1; cores && i < workers; i++)
        for (int k = 0; k < i; k++)
            if (cores[k] == cores[i]) return true;
    return workers > usable_cores();
}

void cal_machine_vary(cal_machine* base, uint64_t seed) {
    if (base->ops == &threads_ops) ((threads_machine*)base)->chance = seed;
}

cal_threads_def cal_default_threads_def(void) { return (cal_threads_def){.cookie = 0x7e1du}; }

cal_status cal_machine_threads(const cal_threads_def* def, cal_machine** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_threads: out must not be NULL");
    *out = NULL;
    if (!def || def->cookie != cal_default_threads_def().cookie)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the definition of the threads machine is not from cal_default_threads_def");
    for (int i = 0; def->cores && i < def->workers; i++)
        if (def->cores[i] < 0 || def->cores[i] >= CPU_SETSIZE)
            return cal_fail(error, CAL_BAD_ARGUMENT, "core %d of thread %d: cores are 0 to %d", def->cores[i], i,
                            CPU_SETSIZE - 1);
    if (def->cores && def->workers < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cores are given for threads, and their number is not");
    long workers = def->workers;
    if (workers == 0) workers = usable_cores();
    if (workers < 1 || workers > MOST_WORKERS)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the number of threads must be 0 (all cores) to %d, not %ld",
                        MOST_WORKERS, workers);
    threads_machine* machine = cal_allocate(1, sizeof *machine);
    if (!machine) return cal_fail(error, CAL_NO_MEMORY, "no memory for a machine");
    cal_status status = cal_machine_begin(&machine->base, &threads_ops, def->lanes, (int)workers, error);
    if (status != CAL_OK) {
        cal_free(machine);
        return status;
    }
    // What a joint and exchanges take on 16 cores of a present processor; calder plan measures them. A hand-over takes 0.25 µs, and the
    // last of 15 others has what all read after 1.2 µs (docs/experiments.md): 4 × 0.25 µs, of which 4 × 0.95 / 15 µs keep the sender.
    // 16 threads that show each other 27 numbers take 2.0 µs, 5 numbers 0.7 µs: 0.029 µs for each of the 3 further cache lines, of
    // which 32 numbers are four.
    machine->base.costs = (cal_costs){.compute = 20e-9, .message = 1.0e-6, .send = 0.25e-6, .read = 0.116e-6};
    machine->runner = def->runner;
    machine->user = def->user;
    machine->pinned = def->pinned || def->cores;
    machine->base.steady = machine->pinned || machine->runner;
    machine->base.crowded = is_crowded((int)workers, def->cores);
    machine->patience = machine->base.crowded ? SPINS_WHEN_CROWDED : SPINS_BEFORE_YIELD;
    pthread_mutex_init(&machine->mutex, NULL);
    pthread_cond_init(&machine->wake, NULL);
    machine->workers = cal_allocate((size_t)workers, sizeof *machine->workers);
    machine->parts = cal_allocate((size_t)workers, sizeof *machine->parts);
    machine->places = cal_allocate((size_t)workers, sizeof *machine->places);
    if (!machine->workers || !machine->parts || !machine->places) {
        destroy(&machine->base);
        return cal_fail(error, CAL_NO_MEMORY, "no memory for %ld threads", workers);
    }
    if (!machine->runner) status = start_workers(machine, def->cores, error);
    if (status != CAL_OK)
        destroy(&machine->base);
    else
        *out = &machine->base;
    return status;
}
