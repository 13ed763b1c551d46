// Jung's distribution (III.D), with the `else` branch of his `estimated duration` corrected.
//
// The siblings at a fork are arranged as a complete binary tree, the largest at its root. Every branch starts at most two
// siblings (left, the first, and right), then computes its own chain and goes on with its children, that is, with the root
// of their binary tree, on its own processor:
//
//               w ─── chain ─── children            w, left and right are siblings, and so are those that these start
//             1/ \2
//          left   right
//
// With R = ROITM if the sibling is on another processor, one evaluation of everything that hangs on w takes
//
//     max( R + d(left),  r + R + d(right),  r + R + length · CMPTM + d(children) )      r = R, or d(left) when it is local
//
// where a local sibling's own term is left out and its duration added to w's instead of R. A subtree that stays with its
// starter is on one processor as a whole, so it is enough to note with each branch whether it has a processor of its own.
//
// A further processor goes where the time is longest: down the tree, at each branch to what takes longest of left, right
// (if that is local and worth a message, or can be reduced inside) and children; a tie goes to left, then right. A tree is
// *time-reducible* when some sibling in it is local and takes longer than R. The rest is the paper's.
#include "base/memory.h"
#include "plan/branches.h"
#include "plan/distribution.h"

#include <stdlib.h>

enum { NOBODY = -1 };

typedef struct starter {
    int32_t left, right; // siblings that it starts, or NOBODY
    int32_t children;    // the child that starts the others, or NOBODY
    int32_t caller;      // whose left, right or children it is
    int32_t processor;   // of its own; 0: its caller's
    bool reducible;
    double duration;
} starter;

typedef struct sibling {
    int32_t size, branch;
} sibling;

// Durations that differ by rounding alone are a tie.
static bool is_longer(double a, double b) { return a > b * (1.0 + 1e-9); }

static int largest_first(const void* a, const void* b) {
    const sibling *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->branch > y->branch) - (x->branch < y->branch);
}

static void arrange_children(const cal_branches* branches, int parent, sibling* siblings, starter* starters) {
    const int count = branches->at[parent].child_count;
    for (int i = 0, child = parent + 1; i < count; i++, child = branches->at[child].next)
        siblings[i] = (sibling){branches->at[child].end - branches->at[child].first, child};
    qsort(siblings, (size_t)count, sizeof *siblings, largest_first);
    starters[parent].children = siblings[0].branch;
    starters[siblings[0].branch].caller = parent;
    for (int i = 0; i < count; i++) {
        starter* s = &starters[siblings[i].branch];
        s->left = 2 * i + 1 < count ? siblings[2 * i + 1].branch : NOBODY;
        s->right = 2 * i + 2 < count ? siblings[2 * i + 2].branch : NOBODY;
        if (s->left >= 0) starters[s->left].caller = siblings[i].branch;
        if (s->right >= 0) starters[s->right].caller = siblings[i].branch;
    }
}

static double duration_of(const starter* starters, int branch) { return branch < 0 ? 0.0 : starters[branch].duration; }
static bool is_remote(const starter* starters, int branch) { return branch >= 0 && starters[branch].processor > 0; }

// Whether a sibling can be given a processor, or something in it can.
static bool can_be_reduced(const starter* starters, int branch, double message) {
    if (branch < 0) return false;
    const starter* s = &starters[branch];
    return s->reducible || (s->processor == 0 && is_longer(s->duration, message));
}

static void estimate(starter* starters, int branch, double chain, double message) {
    starter* w = &starters[branch];
    const double left = duration_of(starters, w->left), right = duration_of(starters, w->right);
    double dl = 0.0, dr, dc;
    if (is_remote(starters, w->left))
        dr = message, dl = dr + left;
    else
        dr = left;
    if (is_remote(starters, w->right))
        dc = dr + message, dr = dr + message + right;
    else
        dc = dr + right, dr = 0.0;
    dc += chain + duration_of(starters, w->children);
    w->duration = dc > dr ? dc : dr;
    if (dl > w->duration) w->duration = dl;
    w->reducible = can_be_reduced(starters, w->left, message) || can_be_reduced(starters, w->right, message) ||
                   (w->children >= 0 && starters[w->children].reducible);
}

// Gives a processor to the sibling that should have one most, and returns the branch that starts it.
static int use_processor(const cal_branches* branches, starter* starters, int processor, const cal_costs* costs) {
    for (int branch = 0;;) {
        starter* w = &starters[branch];
        const bool left_remote = is_remote(starters, w->left), right_remote = is_remote(starters, w->right);
        int32_t chosen = NOBODY;
        double longest = -1.0;
        if (can_be_reduced(starters, w->left, costs->message)) chosen = w->left, longest = starters[w->left].duration;
        if (can_be_reduced(starters, w->right, costs->message)) {
            const double duration = starters[w->right].duration + (left_remote ? costs->message : 0.0);
            if (chosen < 0 || is_longer(duration, longest)) chosen = w->right, longest = duration;
        }
        if (w->children >= 0 && starters[w->children].reducible) {
            const double duration = starters[w->children].duration + branches->at[branch].length * costs->compute +
                                    (left_remote + right_remote) * costs->message;
            if (chosen < 0 || is_longer(duration, longest)) chosen = w->children;
        }
        if (chosen == w->children || is_remote(starters, chosen)) {
            branch = chosen;
            continue;
        }
        starters[chosen].processor = processor;
        if (chosen == w->right && !left_remote)
            w->right = w->left, w->left = chosen; // started before what is computed here
        return branch;
    }
}

// Callers come before those whom they call.
static void order_by_calls(const starter* starters, int count, int32_t* order) {
    for (int read = 0, written = 1; read < count; read++) {
        const starter* s = &starters[order[read]];
        const int32_t called[] = {s->left, s->right, s->children};
        for (int i = 0; i < 3; i++)
            if (called[i] >= 0) order[written++] = called[i];
    }
}

static int distribute(const cal_branches* branches, starter* starters, const int32_t* order, int processors,
                      const cal_costs* costs) {
    const double message = costs->message;
    for (int i = branches->count - 1; i >= 0; i--)
        estimate(starters, order[i], branches->at[order[i]].length * costs->compute, message);
    int used = 1;
    while (used < processors && starters[0].reducible) {
        int branch = use_processor(branches, starters, used++, costs);
        for (bool changed = true; changed && branch >= 0; branch = starters[branch].caller) {
            const starter before = starters[branch];
            estimate(starters, branch, branches->at[branch].length * costs->compute, message);
            changed = starters[branch].duration != before.duration || starters[branch].reducible != before.reducible;
        }
    }
    return used;
}

cal_status cal_distribute_jung_by(const cal_model* model, int processors, const cal_costs* decide,
                                  const cal_costs* costs, int32_t* owner, int* used, double* seconds,
                                  cal_error* error) {
    cal_status status = cal_check_costs(processors, costs, error);
    cal_branches branches = {0};
    if (status == CAL_OK) status = cal_branches_create(model, &branches, error);
    if (status != CAL_OK) return status;
    starter* starters = cal_allocate((size_t)branches.count, sizeof *starters);
    sibling* siblings = cal_allocate((size_t)branches.count, sizeof *siblings);
    int32_t* order = cal_allocate((size_t)branches.count, sizeof *order);
    if (starters && siblings && order) {
        starters[0] = (starter){NOBODY, NOBODY, NOBODY, NOBODY, 0, false, 0.0};
        for (int b = 0; b < branches.count; b++) {
            starters[b].children = NOBODY;
            if (branches.at[b].child_count > 0) arrange_children(&branches, b, siblings, starters);
        }
        order_by_calls(starters, branches.count, order);
        const int count = distribute(&branches, starters, order, processors, decide);
        for (int i = branches.count - 1; i >= 0; i--)
            estimate(starters, order[i], branches.at[order[i]].length * costs->compute, costs->message);
        if (used) *used = count;
        if (seconds) *seconds = starters[0].duration;
        for (int i = 0; i < branches.count; i++) {
            const cal_branch* branch = &branches.at[order[i]];
            starter* s = &starters[order[i]];
            if (s->processor == 0 && s->caller >= 0) s->processor = starters[s->caller].processor;
            for (int node = branch->first; node < branch->first + branch->length; node++) owner[node] = s->processor;
        }
    } else {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for a distribution of %d joints", model->node_count);
    }
    cal_free(starters);
    cal_free(siblings);
    cal_free(order);
    cal_branches_free(&branches);
    return status;
}

cal_status cal_distribute_jung(const cal_model* model, int processors, const cal_costs* costs, int32_t* owner,
                               int* used, double* seconds, cal_error* error) {
    return cal_distribute_jung_by(model, processors, costs, costs, owner, used, seconds, error);
}
