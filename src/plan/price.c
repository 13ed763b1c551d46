// What a distribution costs, without running it: the passes go down and up the tree in virtual time.
//
// An evaluation is two walks, each an outbound and an inbound pass. A node whose subtree is on its own processor
// altogether is computed with that subtree in one go; only the nodes above cut edges, the *shared* ones, are computed pass
// by pass. In each walk a processor takes
//
//     its shared nodes outbound      in walking order: others wait for them
//     its own subtrees               down and up
//     its shared nodes inbound       in reverse: they wait for others
//
//     processor 0   out(trunk) ─┬─ subtree a ──────────────┬─ in(trunk)
//     processor 1               └─ m/4 ─ subtree b ─ m/4 ──┘                m = message
//
// All processors keep this one order, so a single sweep over it gives every time. A node takes a quarter of its work in each
// of the four passes; works are scaled so that a joint takes `compute` on average where one processor has all (lane_work.c). A message takes a quarter of `message`;
// for a quarter of `send`, its beginning, the sender does nothing else. Siblings on one processor share one message: they
// lie side by side. The ground is processor 0's; it sends the solver's decision with the first pass and receives the sums
// with the last, but the turn between the walks is the roots' own.
//
// Where a processor reads what others report of several pieces, each further one keeps it for a share of `read` (cal_costs).
//
// A time is the end of a processor's last wait, and its work and sending since then in whole numbers: a processor that
// never waits takes exactly as long as its work.
#include "base/memory.h"
#include "plan/distribution.h"

#include <math.h>

enum { PASS_COUNT = 4 };

// A shared node, or a whole subtree of one processor.
typedef struct piece {
    int32_t parent, next; // pieces; next: one past the last piece of its subtree
    int32_t owner;
    bool shared;
    bool reports;    // its processor's last piece below a parent that is another's: its message carries all of them
    int64_t work;    // of one pass
    int32_t further; // pieces below that others report, but for the first of each of them
    double arrival;  // of the messages that it waits for
} piece;

typedef struct processor_clock {
    double base;
    int64_t work, sent; // since base
    int32_t mark;       // a piece: which one depends on who marks
    double arrival;     // of the message of the piece in mark
} processor_clock;

typedef struct pricer {
    piece* pieces;
    int piece_count;
    processor_clock* clocks;
    int64_t total_work, total_sent;   // total_work: of one processor that has all, which takes total_time
    double total_time, send, latency; // seconds; the latter two of one message, one after the other
    double read;                      // cal_costs.read
} pricer;

static double now(const pricer* p, int processor) {
    const processor_clock* clock = &p->clocks[processor];
    return clock->base + p->total_time * ((double)clock->work / (double)p->total_work) + (double)clock->sent * p->send;
}

static void compute(pricer* p, int index, int passes) {
    const piece* own = &p->pieces[index];
    processor_clock* clock = &p->clocks[own->owner];
    if (own->arrival > now(p, own->owner)) clock->base = own->arrival, clock->work = clock->sent = 0;
    clock->work += passes * own->work;
}

// Returns when the message arrives.
static double post_message(pricer* p, int processor) {
    p->clocks[processor].sent++;
    p->total_sent++;
    return now(p, processor) + p->latency;
}

static void clear_marks(pricer* p, int parent) {
    for (int i = parent + 1; i < p->pieces[parent].next; i = p->pieces[i].next) p->clocks[p->pieces[i].owner].mark = -1;
}

// Of the pieces below a parent that one processor has, the one that it computes last reports: the first of its shared
// ones, or else the last.
static void choose_reporters(pricer* p, int parent) {
    clear_marks(p, parent);
    for (int i = parent + 1; i < p->pieces[parent].next; i = p->pieces[i].next) {
        int32_t* mark = &p->clocks[p->pieces[i].owner].mark;
        if (p->pieces[i].owner == p->pieces[parent].owner) continue;
        p->pieces[parent].further += *mark >= 0;
        if (*mark >= 0 && p->pieces[*mark].shared) continue;
        if (*mark >= 0) p->pieces[*mark].reports = false;
        p->pieces[i].reports = true;
        *mark = i;
    }
}

// alone[node]: its subtree is on its own processor altogether.
static void cut(pricer* p, const cal_model* model, const int32_t* owner, const bool* alone, const int64_t* work,
                int32_t* piece_of) {
    p->pieces[0] = (piece){.parent = -1, .shared = true};
    p->piece_count = 1;
    for (int node = 0; node < model->node_count;) {
        const int parent = model->nodes[node].parent, end = alone[node] ? model->nodes[node].end : node + 1;
        piece* fresh = &p->pieces[p->piece_count];
        *fresh = (piece){.parent = parent < 0 ? 0 : piece_of[parent], .owner = owner[node], .shared = !alone[node]};
        piece_of[node] = p->piece_count++;
        for (; node < end; node++) fresh->work += work[node];
    }
    for (int i = p->piece_count - 1; i >= 0; i--) {
        piece* own = &p->pieces[i];
        if (own->next == 0) own->next = i + 1;
        if (i > 0 && p->pieces[own->parent].next == 0) p->pieces[own->parent].next = own->next;
    }
    for (int i = 0; i < p->piece_count; i++)
        if (p->pieces[i].shared) choose_reporters(p, i);
}

static void go_out(pricer* p, int index) {
    compute(p, index, 1);
    clear_marks(p, index);
    const piece* own = &p->pieces[index];
    for (int i = index + 1; i < own->next; i = p->pieces[i].next) {
        if (p->pieces[i].owner == own->owner) continue;
        processor_clock* receiver = &p->clocks[p->pieces[i].owner];
        if (receiver->mark != index) receiver->arrival = post_message(p, own->owner);
        receiver->mark = index;
        p->pieces[i].arrival = receiver->arrival;
    }
}

// Tells the parent, whose arrivals are those of the inbound pass from now on.
static void report(pricer* p, int index, bool to_ground) {
    const piece* own = &p->pieces[index];
    if (!own->reports || (own->parent == 0 && !to_ground)) return;
    p->pieces[own->parent].arrival = fmax(p->pieces[own->parent].arrival, post_message(p, own->owner));
}

// A message brings its first piece's numbers; those of others in it are read one after the other.
static void read_further(pricer* p, int index, int walk) {
    const piece* own = &p->pieces[index];
    p->clocks[own->owner].base += own->further * p->read * (walk == 0 ? CAL_READ_FIRST : 1.0 - CAL_READ_FIRST);
}

static double walk_twice(pricer* p) {
    go_out(p, 0);
    for (int walk = 0; walk < 2; walk++) {
        for (int i = 1; i < p->piece_count; i++)
            if (p->pieces[i].shared) go_out(p, i);
        for (int i = 1; i < p->piece_count; i++)
            if (!p->pieces[i].shared) compute(p, i, 2), report(p, i, walk == 1);
        for (int i = p->piece_count - 1; i > 0; i--)
            if (p->pieces[i].shared) compute(p, i, 1), read_further(p, i, walk), report(p, i, walk == 1);
    }
    compute(p, 0, 1);
    read_further(p, 0, 1);
    return now(p, 0);
}

static cal_status check_owners(const cal_model* model, const int32_t* owner, int processors, cal_error* error) {
    for (int node = 0; node < model->node_count; node++) {
        char name[64];
        if (owner[node] < CAL_EVERY_PROCESSOR || owner[node] >= processors)
            return cal_fail(error, CAL_BAD_ARGUMENT, "joint '%s' is given to processor %d: there are 0 to %d",
                            cal_model_joint_name(model, model->nodes[node].joint, name, sizeof name), owner[node],
                            processors - 1);
    }
    return CAL_OK;
}

cal_status cal_price_owners(const cal_model* model, const int32_t* owner, const cal_costs* costs, int processors,
                            double* seconds, double* busy, cal_error* error) {
    cal_status status = cal_check_costs(processors, costs, error);
    if (status == CAL_OK) status = check_owners(model, owner, processors, error);
    if (status != CAL_OK) return status;
    const int count = model->node_count;
    for (int node = 0; node < count; node++)
        if (owner[node] == CAL_EVERY_PROCESSOR)
            return cal_price_trunk(model, owner, costs, processors, seconds, busy, error);
    pricer p = {.total_time = count * costs->compute,
                .send = costs->send / PASS_COUNT,
                .latency = (costs->message - costs->send) / PASS_COUNT,
                .read = costs->read};
    p.pieces = cal_allocate((size_t)count + 1, sizeof *p.pieces);
    p.clocks = cal_allocate((size_t)processors, sizeof *p.clocks);
    bool* alone = cal_allocate((size_t)count, sizeof *alone);
    int32_t* piece_of = cal_allocate((size_t)count, sizeof *piece_of);
    int64_t *work = cal_allocate((size_t)count, sizeof *work), whole = 0;
    *seconds = 0.0;
    if (busy) *busy = 0.0;
    if (p.pieces && p.clocks && alone && piece_of && work && count > 0)
        status = cal_find_node_work(model, owner, NULL, processors, costs->lanes, work, &whole, error);
    if (!p.pieces || !p.clocks || !alone || !piece_of || !work) {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints on %d processors", count, processors);
    } else if (status == CAL_OK && count > 0) {
        for (int node = 0; node < count; node++) alone[node] = true;
        for (int node = count - 1; node >= 0; node--) {
            const int parent = model->nodes[node].parent;
            if (parent >= 0 && (!alone[node] || owner[node] != owner[parent])) alone[parent] = false;
        }
        p.total_work = PASS_COUNT * whole;
        cut(&p, model, owner, alone, work, piece_of);
        *seconds = walk_twice(&p);
        double share = 0.0; // of total_time, all that is computed
        for (int node = 0; node < count; node++) share += (double)work[node] / (double)whole;
        if (costs->lanes <= 1) share = 1.0;
        if (busy && *seconds > 0.0)
            *busy = (share * p.total_time + (double)p.total_sent * p.send) / (*seconds * processors);
    }
    cal_free(p.pieces);
    cal_free(p.clocks);
    cal_free(alone);
    cal_free(piece_of);
    cal_free(work);
    return status;
}
