// The memory of a system (system.h): a head of plain numbers, then its arrays one after the other.
//
//   head │ q, v │ tau │ control │ active │ solver's inside │ flows │ BDF's begin │ step over │ slow band │ who waits │ friction │ directions │ pushes
//
// Everything else of a system is made from these, or is scratch.
#include "base/finite.h"
#include "base/sound.h"
#include "solver/system_data.h"
#include <string.h>

typedef struct head {
    double time, down[CAL_MAX_DOWN];
    cal_step_decision decision;
    bool running, interpolates, slow_band, replays;
    double progress; // next to singular positions
    int attempts, singularities;
    double calm_time, calm_reach;
    cal_step_over last;
    double begin_time; // of BDF
    int64_t replay_steps;
    cal_sim_report report;
    cal_flow_memory flow;
    cal_account account;
    bool held;
    cal_directions directions; // of the constraints; without addresses
    double closed;             // and what is closed enough for a begin, as the last step has left it
    bool smooth;
    double due;
    int due_constraint;
    int push_count;
    cal_headway headway;
    cal_passage passage;
    double friction_when; // the last event of joints at rest
    int friction_repeats;
} head;

typedef struct part {
    void* numbers;
    size_t bytes;
} part;
enum { PART_ACTIVE = 3, PART_WAITS = 10, PART_PUSHES = 14, PARTS };

static size_t round_up(size_t bytes) { return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double); }

static void list_parts(const cal_system* system, int push_count, part out[PARTS]) {
    const cal_model* model = system->model;
    const cal_solver_ops* ops = system->ops;
    const size_t q = (size_t)model->q_count * sizeof(double), v = (size_t)model->v_count * sizeof(double);
    const bool bands = system->def.slow_band > 1;
    const part parts[PARTS] = {{system->q, q + v},
                               {system->tau, v},
                               {system->control, (size_t)cal_drive_count(model) * sizeof(double)},
                               [PART_ACTIVE] = {system->constraints ? system->constraints->active : NULL,
                                                (size_t)model->constraint_count * sizeof(bool)},
                               {system->memory, ops ? ops->control_size : 0},
                               {system->block, ops ? (size_t)ops->vector_count * system->stride * sizeof(double) : 0},
                               {(void*)system->flow.block, cal_flow_block_size(&system->flow)},
                               {system->begin, system->begin ? q + v : 0},
                               {system->last.numbers, system->last.numbers ? q + 3 * v : 0},
                               {system->state->context.records, bands ? system->plan->record_size * sizeof(double) : 0},
                               [PART_WAITS] = {system->watch.waits, (size_t)model->constraint_count * sizeof(bool)},
                               {system->watch.gaps, (size_t)model->constraint_count * sizeof(double)},
                               {system->friction.tau, system->friction.tau ? v : 0},
                               {system->constraints ? system->constraints->directions.q : NULL,
                                system->constraints && system->constraints->directions.q ? q : 0},
                               {system->pushes, (size_t)push_count * sizeof(cal_outer_force)}};
    memcpy(out, parts, sizeof parts);
}

static size_t size_of(const cal_system* system, int count) {
    part parts[PARTS];
    list_parts(system, system->push_count, parts);
    size_t size = round_up(sizeof(head));
    for (int i = 0; i < count; i++) size += round_up(parts[i].bytes);
    return size;
}

size_t cal_system_memory_size(const cal_system* system) { return size_of(system, PARTS); }
size_t cal_system_motion_size(const cal_system* system) { return size_of(system, PART_PUSHES); }

static void store(const cal_system* system, int count, void* memory) {
    head h;
    double from, to;
    memset(&h, 0, sizeof h);
    h.time = system->time;
    memcpy(h.down, system->down, sizeof h.down);
    h.decision = system->decision;
    h.running = system->running;
    h.interpolates = system->interpolates;
    h.slow_band = system->slow_band;
    h.replays = system->replays || (!system->ops && system->running);
    h.progress = system->progress;
    h.attempts = system->attempts;
    h.singularities = system->singularities;
    h.calm_time = system->calm_time;
    h.calm_reach = system->calm_reach;
    h.last = system->last;
    h.last.numbers = NULL; // an address is another one elsewhere
    h.begin_time = system->begin_time;
    h.replay_steps = system->replays ? system->replay_steps
                     : h.replays     ? cal_bdf_last_step(system->bdf, &from, &to)
                                     : 0;
    h.report = system->report;
    h.flow = system->flow.memory;
    h.account = system->account;
    h.held = system->held;
    if (system->constraints) {
        const cal_directions* d = &system->constraints->directions;
        h.directions.time = d->time, h.directions.distance = d->distance;
        h.directions.held = d->held;
        h.closed = system->constraints->closed, h.smooth = system->constraints->smooth;
    }
    h.due = system->watch.due;
    h.due_constraint = system->watch.constraint;
    h.push_count = system->push_count;
    h.headway = system->headway;
    h.passage = system->passage;
    h.friction_when = system->friction.when, h.friction_repeats = system->friction.repeats;
    memcpy(memory, &h, sizeof h);

    // A device that cannot be read leaves what the host has; the next execution says what failed.
    (void)cal_state_bring(system->state, CAL_HELD_VECTORS);
    part parts[PARTS];
    list_parts(system, system->push_count, parts);
    char* at = (char*)memory + round_up(sizeof h);
    for (int i = 0; i < count; at += round_up(parts[i].bytes), i++)
        if (parts[i].bytes > 0) memcpy(at, parts[i].numbers, parts[i].bytes);
}

void cal_system_store(const cal_system* system, void* memory) { store(system, PARTS, memory); }
void cal_system_store_motion(const cal_system* system, void* memory) { store(system, PART_PUSHES, memory); }

// --- Numbers that no simulation has ------------------------------------------------------------------------------------------

static bool is_event_sound(const cal_system* system, const bool* waits) {
    const int count = system->model->constraint_count, of = system->watch.constraint;
    if (system->watch.due == (double)INFINITY) return true;
    if (!(system->watch.due >= system->time)) return false; // NaN as well
    return of == CAL_NONE ? system->friction.count > 0 : of >= 0 && of < count && waits[of];
}

bool cal_system_is_sound(const cal_system* system, const bool* waits) {
    const cal_model* model = system->model;
    const cal_sim_report* report = &system->report;
    const cal_step_decision* decision = &system->decision;
    const cal_flow_memory* flow = &system->flow.memory;
    bool sound = isfinite(system->time) && isfinite(decision->time) && isfinite(decision->step) &&
                 isfinite(decision->previous) && decision->order >= 0 && decision->order <= CAL_MAX_ORDER &&
                 report->order >= 0 && report->order <= CAL_MAX_ORDER && cal_is_count(system->attempts) &&
                 cal_is_count(system->singularities) && flow->points >= 0 && flow->points <= CAL_FLOW_POINTS &&
                 flow->order >= 0 && flow->order < CAL_FLOW_POINTS && flow->order <= flow->points;
    const int64_t counts[] = {report->steps,       report->rejected,
                              report->evaluations, report->jacobian_evaluations,
                              system->error_steps, system->account.steps};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        sound = sound && counts[i] >= 0 && counts[i] < INT64_MAX / 2;
    sound = sound && is_event_sound(system, waits) && cal_all_finite(system->q, model->q_count) &&
            cal_all_finite(system->v, model->v_count) && cal_all_finite(system->tau, model->v_count);
    for (int i = 0; i < CAL_MAX_DOWN; i++) sound = sound && isfinite(system->down[i]);
    for (int i = 0; sound && i < system->push_count; i++)
        sound = system->pushes[i].body >= 0 && system->pushes[i].body < model->body_count;
    // One that has not begun, or begins anew, fills its memory first.
    return sound && (!system->ops || !system->running || system->ops->sound(system->memory, system->down));
}

static bool are_flags(const void* bytes, int count) {
    bool sound = true;
    for (int i = 0; i < count; i++) sound = sound && cal_is_flag((const bool*)bytes + i);
    return sound;
}

// What is used before all of it is there: what is no bool must not be read as one.
static bool are_flags_sound(const cal_system* system, const head* h, const char* active, const char* waits) {
    const bool* const flags[] = {
        &h->running,           &h->interpolates, &h->slow_band, &h->replays,         &h->decision.accepted,
        &h->decision.rejected, &h->last.valid,   &h->held,      &h->directions.held, &h->headway.lost,
        &h->passage.near,      &h->passage.open, &h->smooth};
    bool sound =
        are_flags(active, system->model->constraint_count) && are_flags(waits, system->model->constraint_count);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) sound = sound && cal_is_flag(flags[i]);
    return sound && h->replay_steps >= 0 && isfinite(h->begin_time) && cal_is_count(h->headway.count) &&
           cal_is_count(h->passage.steps) && cal_is_count(h->friction_repeats);
}

// --- Loading --------------------------------------------------------------------------------------------------------------------

static void load_head(cal_system* system, const head* h) {
    double* const numbers = system->last.numbers;
    system->time = h->time;
    memcpy(system->down, h->down, sizeof h->down);
    system->decision = h->decision;
    system->running = h->running && !h->replays;
    system->interpolates = h->interpolates;
    system->slow_band = h->slow_band;
    system->replays = h->replays;
    system->progress = h->progress;
    system->attempts = h->attempts;
    system->singularities = h->singularities;
    system->calm_time = h->calm_time;
    system->calm_reach = h->calm_reach;
    system->last = h->last;
    system->last.numbers = numbers;
    system->begin_time = h->begin_time;
    system->replay_steps = h->replay_steps;
    system->report = h->report;
    system->flow.memory = h->flow;
    system->account = h->account;
    system->held = h->held;
    system->accelerated = false;
    system->watch.due = h->due;
    system->watch.constraint = h->due_constraint;
    system->headway = h->headway;
    system->friction.when = h->friction_when, system->friction.repeats = h->friction_repeats;
    system->opened = CAL_NONE;
    if (!system->ops) cal_system_count_from(system, &h->report);
}

static cal_status load(cal_system* system, int count, const void* memory) {
    head h;
    memcpy(&h, memory, sizeof h);
    part parts[PARTS];
    list_parts(system, system->push_count, parts);
    const char *at = (const char*)memory + round_up(sizeof h), *places[PARTS] = {at};
    for (int i = 1; i < PARTS; i++) places[i] = places[i - 1] + round_up(parts[i - 1].bytes);
    if (!are_flags_sound(system, &h, places[PART_ACTIVE], places[PART_WAITS])) return CAL_BAD_ARGUMENT;
    load_head(system, &h);
    for (int i = 0; i < count; at += round_up(parts[i].bytes), i++) {
        if (parts[i].bytes == 0) continue;
        if (i != PART_ACTIVE) {
            memcpy(parts[i].numbers, at, parts[i].bytes);
            continue;
        }
        // What follows from who is active is made anew.
        for (int k = 0; k < system->model->constraint_count; k++) {
            bool active;
            memcpy(&active, at + (size_t)k * sizeof active, sizeof active);
            if (active != system->constraints->active[k]) cal_constraints_activate(system->constraints, k, active);
        }
    }
    if (system->constraints) { // after what makes them others
        cal_directions* d = &system->constraints->directions;
        d->time = h.directions.time, d->distance = h.directions.distance;
        d->held = h.directions.held;
        d->made = d->found = false;
        // What was looked at last is somebody else's; followed along a correction it is not what it is afresh.
        system->constraints->evaluated = false;
        system->constraints->closed = h.closed, system->constraints->smooth = h.smooth;
        cal_system_begin_passages(system);
        system->passage = h.passage;
    }
    cal_system_forget_energy(system);
    cal_state_changed(system->state, CAL_HELD_VECTORS);
    return cal_system_is_sound(system, system->watch.waits) ? cal_system_apply(system) : CAL_BAD_ARGUMENT;
}

cal_status cal_system_load(cal_system* system, const void* memory, size_t size) {
    head h;
    if (size < size_of(system, PART_PUSHES)) return CAL_BAD_ARGUMENT;
    memcpy(&h, memory, sizeof h);
    const size_t pushes = size - size_of(system, PART_PUSHES);
    if (h.push_count < 0 || round_up((size_t)h.push_count * sizeof(cal_outer_force)) != pushes) return CAL_BAD_ARGUMENT;
    if (!cal_system_reserve_pushes(system, h.push_count)) return CAL_NO_MEMORY;
    system->push_count = h.push_count;
    return load(system, PARTS, memory);
}

cal_status cal_system_load_motion(cal_system* system, const void* memory) { return load(system, PART_PUSHES, memory); }
