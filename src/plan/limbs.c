// Trees for workers that share them (limbs.h).
#include "plan/limbs.h"
#include "base/memory.h"

void cal_limbs_destroy(cal_limbs* limbs) {
    cal_free(limbs->trunk);
    cal_free(limbs->limbs);
    cal_free(limbs->first_of_worker);
    *limbs = (cal_limbs){0};
}

static void add_range(cal_node_range* list, int* count, int least, int first, int end) {
    if (*count > least && list[*count - 1].end == first)
        list[*count - 1].end = end;
    else
        list[(*count)++] = (cal_node_range){first, end};
}

// Subtrees of more nodes than this are opened: their roots are the trunk's.
static int find_limit(const cal_model* model, int workers) { return model->node_count / (2 * workers); }

// Nodes are numbered depth first, so the next one after a limb is the next limb's, or another node of the trunk.
static void cut(const cal_model* model, cal_limbs* out) {
    const int count = model->node_count, limit = find_limit(model, out->workers);
    int below = 0, trunk = 0;
    for (int n = 0; n < count;) {
        const int end = model->nodes[n].end;
        if (end - n > limit && end > n + 1)
            add_range(out->trunk, &out->trunk_count, 0, n, n + 1), trunk++, n++;
        else
            below += end - n, n = end;
    }
    int done = 0, listed = 0, worker = 0, load = 0, largest = 0;
    for (int n = 0; n < count;) {
        const int end = model->nodes[n].end;
        if (end - n > limit && end > n + 1) {
            n++;
            continue;
        }
        // By where its middle is among all limbs.
        const int64_t middle = 2 * (int64_t)done + (end - n);
        while (worker + 1 < out->workers && middle * out->workers >= 2 * (int64_t)below * (worker + 1)) {
            out->first_of_worker[++worker] = listed;
            load = 0;
        }
        add_range(out->limbs, &listed, out->first_of_worker[worker], n, end);
        load += end - n, done += end - n;
        largest = load > largest ? load : largest;
        n = end;
    }
    while (worker < out->workers) out->first_of_worker[++worker] = listed;
    if (4 * (int64_t)(trunk + largest) <= 3 * (int64_t)count) return;
    out->trunk_count = 0;
    out->limbs[0] = out->whole;
    for (int w = 1; w <= out->workers; w++) out->first_of_worker[w] = 1;
}

cal_status cal_limbs_create(const cal_model* model, int workers, cal_limbs* out) {
    const size_t count = (size_t)model->node_count + 1;
    *out = (cal_limbs){.workers = workers, .whole = {0, model->node_count}};
    if (workers == 1) return CAL_OK;
    out->trunk = cal_allocate(count, sizeof *out->trunk);
    out->limbs = cal_allocate(count, sizeof *out->limbs);
    out->first_of_worker = cal_allocate((size_t)workers + 1, sizeof *out->first_of_worker);
    if (!out->trunk || !out->limbs || !out->first_of_worker) {
        cal_limbs_destroy(out);
        return CAL_NO_MEMORY;
    }
    cut(model, out);
    return CAL_OK;
}
