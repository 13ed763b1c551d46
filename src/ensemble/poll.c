// Electing among the instances of a randomized simulation (poll.h).
#include "ensemble/poll.h"
#include "base/memory.h"
#include "model/model.h"
#include <math.h>
#include <string.h>

enum { LINE = 8 }; // doubles
// Solutions are apart when they differ by so many radii; one that breaks the constraints more than so many times as much as
// the winner is none.
static const double APART = 10.0, WORSE = 10.0;

void cal_poll_destroy(cal_poll* poll) {
    cal_free(poll->memory);
    cal_free(poll->blocks);
    *poll = (cal_poll){0};
}

cal_status cal_poll_create(const cal_model* model, const cal_rps_def* def, int processors, cal_poll* out) {
    const size_t motion = (size_t)model->q_count + (size_t)model->v_count;
    *out = (cal_poll){.model = model,
                      .def = def,
                      .processors = processors,
                      .ballots = (def->instances - 1) / processors + 1,
                      .size = (CAL_BALLOT_HEAD + motion + LINE - 1) / LINE * LINE,
                      .solution_count = 1,
                      .interval = def->interval,
                      .mean_residual = -1.0,
                      .most_hypotheses = 1};
    out->blocks = cal_allocate((size_t)processors, sizeof *out->blocks);
    double* next = out->memory = cal_allocate(2 * CAL_MOST_HYPOTHESES * motion, sizeof(double));
    if (!out->blocks || !next) {
        cal_poll_destroy(out);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < 2 * CAL_MOST_HYPOTHESES; i++, next += motion)
        *(i < CAL_MOST_HYPOTHESES ? &out->solutions[i] : &out->next[i - CAL_MOST_HYPOTHESES]) =
            (cal_solution){next, next + model->q_count};
    cal_model_initial(model, out->solutions[0].q, out->solutions[0].v, NULL);
    return CAL_OK;
}

static const double* ballot(const cal_poll* poll, int instance) {
    return poll->blocks[instance % poll->processors] + (size_t)(instance / poll->processors) * poll->size;
}
static double residual(const cal_poll* poll, int instance) { return ballot(poll, instance)[CAL_BALLOT_RESIDUAL]; }

// The best of the instances that came from a solution, the first of equals; -1 when all are infinite.
static int elect(const cal_poll* poll, int from) {
    int best = -1;
    for (int i = from; i < poll->def->instances; i += poll->solution_count)
        if (isfinite(residual(poll, i)) && (best < 0 || residual(poll, i) < residual(poll, best))) best = i;
    return best;
}

// How far an instance is from the solutions that are kept already.
static double distance(const cal_poll* poll, int instance, int count) {
    const double* q = ballot(poll, instance) + CAL_BALLOT_HEAD;
    double nearest = (double)INFINITY;
    for (int i = 0; i < count; i++) {
        double largest = 0.0;
        for (int k = 0; k < poll->model->q_count; k++) largest = fmax(largest, fabs(q[k] - poll->next[i].q[k]));
        nearest = fmin(nearest, largest);
    }
    return nearest;
}

// Keeps an instance's state as a solution, where there is room.
static void keep(cal_poll* poll, int instance, int* count) {
    const size_t motion = (size_t)poll->model->q_count + (size_t)poll->model->v_count;
    if (*count < poll->def->hypotheses)
        memcpy(poll->next[(*count)++].q, ballot(poll, instance) + CAL_BALLOT_HEAD, motion * sizeof(double));
}

static bool near_singular(const cal_poll* poll, int from) {
    for (int i = from; i < poll->def->instances; i += poll->solution_count)
        if (ballot(poll, i)[CAL_BALLOT_SINGULAR] != 0.0) return true;
    return false;
}

// Next to a singular position: the instances of one solution that are farthest from all that is kept, as long as there is room
// and they keep the constraints about as well as the winner. Where they lead will show when they are past it.
static void branch(cal_poll* poll, int from, int winner, int* count) {
    while (*count < poll->def->hypotheses) {
        int farthest = -1;
        double reach = 0.5 * poll->def->position_radius;
        for (int i = from; i < poll->def->instances; i += poll->solution_count) {
            if (!(residual(poll, i) <= WORSE * residual(poll, winner))) continue;
            const double apart = distance(poll, i, *count);
            if (apart > reach) reach = apart, farthest = i;
        }
        if (farthest < 0) return;
        keep(poll, farthest, count);
    }
}

static cal_status check(const cal_poll* poll) {
    for (int i = 0; i < poll->def->instances; i++) {
        const cal_status status = (cal_status)(int)ballot(poll, i)[CAL_BALLOT_STATUS];
        if (status) return status;
    }
    return CAL_OK;
}

// Step 4: a residual above twice its running mean wants polls more often, one below half of it less often.
static void adapt(cal_poll* poll) {
    if (poll->mean_residual < 0.0) poll->mean_residual = poll->residual;
    if (poll->def->adaptive && poll->residual > 2.0 * poll->mean_residual && poll->interval > 1)
        poll->interval /= 2;
    else if (poll->def->adaptive && poll->residual < 0.5 * poll->mean_residual &&
             poll->interval < 8 * poll->def->interval)
        poll->interval *= 2;
    poll->mean_residual += 0.1 * (poll->residual - poll->mean_residual);
}

// The processor that comes last waits for nobody: what it takes is the price of a poll, and more than that is waiting.
static double shortest_pause(const cal_poll* poll) {
    double out = ballot(poll, 0)[CAL_BALLOT_PAUSE];
    for (int p = 1; p < poll->processors && p < poll->def->instances; p++)
        out = fmin(out, ballot(poll, p)[CAL_BALLOT_PAUSE]);
    return out;
}

cal_status cal_poll_take(cal_poll* poll, int steps) {
    const cal_status status = check(poll);
    if (status) return status;
    // Solutions in the order of how well their winners keep the constraints, so that the first is the best.
    bool used[CAL_MOST_HYPOTHESES] = {false}, singular[CAL_MOST_HYPOTHESES] = {false};
    int count = 0, best = -1;
    for (int rank = 0; rank < poll->solution_count; rank++) {
        int from = -1, winner = -1;
        for (int s = 0; s < poll->solution_count; s++) {
            const int candidate = used[s] ? -1 : elect(poll, s);
            if (candidate >= 0 && (winner < 0 || residual(poll, candidate) < residual(poll, winner)))
                from = s, winner = candidate;
        }
        if (winner < 0) break;
        if (rank == 0) best = winner;
        used[from] = true;
        singular[from] = near_singular(poll, from);
        if (singular[from] || distance(poll, winner, count) > APART * poll->def->position_radius)
            keep(poll, winner, &count);
    }
    if (count == 0) return CAL_NOT_FINITE;
    // Those that were tracked already go first; what is left of the room is for their branches.
    for (int s = 0; s < poll->solution_count; s++)
        if (singular[s] && poll->def->hypotheses > 1) branch(poll, s, elect(poll, s), &count);
    for (int i = 0; i < count; i++) {
        const cal_solution swap = poll->solutions[i];
        poll->solutions[i] = poll->next[i];
        poll->next[i] = swap;
    }
    poll->solution_count = count;
    if (count > poll->most_hypotheses) poll->most_hypotheses = count;
    poll->squares += ballot(poll, best)[CAL_BALLOT_SQUARES];
    poll->error_max = fmax(poll->error_max, ballot(poll, best)[CAL_BALLOT_LARGEST]);
    poll->elected = best;
    poll->residual = residual(poll, best);
    poll->pauses += shortest_pause(poll);
    poll->polls++;
    poll->steps += steps;
    adapt(poll);
    return CAL_OK;
}
