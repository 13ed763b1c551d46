// Making the messages of a plan: of each stage at edges that this rank has one end of, and of sums at the ground.
#include "machine/mpi/messages.h"

#include "base/memory.h"

// The messages of a stage in the making: what it is of, and where its tags begin.
typedef struct maker {
    const cal_plan* plan;
    const cal_stage* stage;
    MPI_Comm comm;
    cal_stage_messages* out;
} maker;

// Memory and a request for a message whose size, peer and direction are known.
static void prepare(const maker* k, cal_message* m) {
    m->tag = 2 * (k->stage->first_edge + m->edge) + (m->down ? 1 : 0);
    m->request = MPI_REQUEST_NULL;
    m->packed = cal_allocate((size_t)m->size, sizeof(double));
    if (!m->packed) return;
    if (m->receives)
        MPI_Recv_init(m->packed, m->size, MPI_DOUBLE, m->peer, m->tag, k->comm, &m->request);
    else if (!m->sums)
        MPI_Send_init(m->packed, m->size, MPI_DOUBLE, m->peer, m->tag, k->comm, &m->request);
}

// The sums' pass carries as many numbers as the solver has; leave room for the most.
static int size_of(const maker* k, const cal_pass* pass, const cal_crossing* crossing, int edge) {
    return pass->for_solver ? CAL_MAX_SUMS * k->plan->layout->columns[edge].lanes : crossing->count;
}

static void add_message(const maker* k, int edge, int peer, bool down, bool receives) {
    const cal_pass* pass = down ? k->stage->down : k->stage->up;
    if (!pass) return;
    const cal_crossing crossing = cal_plan_crossing(k->plan, pass, edge);
    cal_stage_messages* out = k->out;
    cal_message* m = &out->list[out->count];
    *m = (cal_message){.at = crossing.at,
                       .size = size_of(k, pass, &crossing, edge),
                       .peer = peer,
                       .edge = edge,
                       .sums = pass->for_solver,
                       .down = down,
                       .receives = receives};
    if (m->size == 0) return;
    prepare(k, m);
    if (out->first[down][receives][edge] < 0) out->first[down][receives][edge] = out->count;
    out->count++;
}

// Sums of columns on the ground: one message a rank, to rank 0, which has the ground.
static void add_sums(const maker* k, int* ranks) {
    const cal_plan* plan = k->plan;
    cal_stage_messages* out = k->out;
    const cal_layout* layout = plan->layout;
    const int own = plan->machine->keep, processors = plan->machine->processors;
    for (int r = 0; r < processors; r++) ranks[r] = -1;
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const int sender = column->owner;
        if (column->parent >= 0 || sender == 0 || (own != 0 && own != sender)) continue;
        if (ranks[sender] < 0) {
            ranks[sender] = out->count;
            out->list[out->count++] =
                (cal_message){.edge = c, .peer = own == 0 ? sender : 0, .sums = true, .receives = own == 0};
        }
        cal_message* m = &out->list[ranks[sender]];
        m->columns++;
        m->size += CAL_MAX_SUMS * column->lanes;
        out->first[0][own == 0][c] = ranks[sender];
    }
    for (int r = 0; r < processors; r++)
        if (ranks[r] >= 0) prepare(k, &out->list[ranks[r]]);
}

// The ranks below a column, each once, in rank order of their first column.
static int ranks_below(const cal_layout* layout, int column, const int32_t* first, const int32_t* next, int* ranks,
                       int capacity) {
    int count = 0;
    for (int child = first[column + 1]; child >= 0; child = next[child]) {
        const int owner = layout->columns[child].owner;
        bool known = owner == layout->columns[column].owner;
        for (int i = 0; i < count && !known; i++) known = ranks[i] == owner;
        if (!known && count < capacity) ranks[count++] = owner;
    }
    return count;
}

// Between columns. One message down serves all columns of a rank below the same one.
static void add_columns(const maker* k, const int32_t* first, const int32_t* next, int* ranks) {
    const cal_layout* layout = k->plan->layout;
    const int own = k->plan->machine->keep;
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const int parent = column->parent;
        if (column->owner == own && column->shared) {
            const int count = ranks_below(layout, c, first, next, ranks, k->plan->machine->processors);
            for (int i = 0; i < count; i++) add_message(k, c, ranks[i], true, false);
        }
        if (parent < 0 || layout->columns[parent].owner == column->owner) continue;
        const int above = layout->columns[parent].owner;
        if (column->owner == own && k->out->first[1][1][parent] < 0) add_message(k, parent, above, true, true);
        if (column->owner == own) add_message(k, c, above, false, false);
        if (above == own) add_message(k, c, column->owner, false, true);
    }
    if (k->stage->up && k->stage->up->for_solver) add_sums(k, ranks);
}

static void add_edges(const maker* k) {
    const int own = k->plan->machine->keep;
    for (int i = 0; i < k->stage->tree->edge_count; i++) {
        const cal_edge* edge = &k->stage->tree->edges[i];
        if (edge->lower != own && edge->upper != own) continue;
        const int peer = edge->lower == own ? edge->upper : edge->lower;
        for (int down = 0; down < 2; down++) add_message(k, i, peer, down, (edge->lower == own) == (down == 1));
    }
}

static cal_status make_stage(const maker* k, const int32_t* first, const int32_t* next) {
    const cal_layout* layout = k->plan->layout;
    cal_stage_messages* out = k->out;
    const int own = k->plan->machine->keep, edges = k->stage->tree->edge_count, size = k->plan->machine->processors;
    int* ranks = cal_allocate((size_t)size, sizeof *ranks);
    int32_t* index = cal_allocate(4 * (size_t)edges, sizeof *index);
    // An edge of which this rank has one end has at most two messages; sums have one a rank.
    size_t most = (size_t)size;
    for (int i = 0; i < edges; i++) {
        const cal_column* column = &layout->columns[k->stage->tree->edges ? 0 : i];
        const cal_edge between = {column->owner, column->parent < 0 ? 0 : layout->columns[column->parent].owner};
        const cal_edge* edge = k->stage->tree->edges ? &k->stage->tree->edges[i] : &between;
        if (edge->lower != edge->upper && (edge->lower == own || edge->upper == own)) most += 2;
    }
    out->list = cal_allocate(most, sizeof *out->list);
    if (!ranks || !index || !out->list) {
        cal_free(ranks), cal_free(index);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < 4 * edges; i++) index[i] = -1;
    for (int i = 0; i < 4; i++) out->first[i / 2][i % 2] = index + (size_t)i * (size_t)edges;
    if (k->stage->tree->edges)
        add_edges(k);
    else
        add_columns(k, first, next, ranks);
    cal_free(ranks);
    for (int i = 0; i < out->count; i++)
        if (!out->list[i].packed) return CAL_NO_MEMORY;
    return CAL_OK;
}

static void free_messages(cal_stage_messages* stage) {
    for (int k = 0; k < stage->count; k++) {
        cal_message* m = &stage->list[k];
        if (m->started) {
            if (m->receives) MPI_Cancel(&m->request);
            MPI_Wait(&m->request, MPI_STATUS_IGNORE);
        }
        if (m->request != MPI_REQUEST_NULL) MPI_Request_free(&m->request);
        cal_free(m->packed);
    }
    cal_free(stage->list);
    cal_free(stage->first[0][0]);
}

void cal_traffic_destroy(cal_traffic* traffic) {
    if (!traffic) return;
    for (int i = 0; i < CAL_MOST_STAGES; i++) free_messages(&traffic->stages[i]);
    cal_shown_destroy(traffic->shown);
    cal_free(traffic);
}

cal_traffic* cal_traffic_create(const cal_plan* plan, MPI_Comm comm) {
    const cal_layout* layout = plan->layout;
    cal_traffic* traffic = cal_allocate(1, sizeof *traffic);
    int32_t* lists = cal_allocate(2 * (size_t)layout->column_count + 1, sizeof *lists);
    cal_status status = traffic && lists ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK && traffic && layout->repeats && !(traffic->shown = cal_shown_create(plan)))
        status = CAL_NO_MEMORY;
    for (int i = 0; !layout->repeats && status == CAL_OK && i < plan->stage_count; i++) {
        int32_t *first = lists, *next = first + layout->column_count + 1;
        if (i == 0) cal_layout_link_children(layout, first, next);
        const maker k = {plan, &plan->stages[i], comm, &traffic->stages[i]};
        status = make_stage(&k, first, next);
    }
    cal_free(lists);
    if (status != CAL_OK) {
        cal_traffic_destroy(traffic);
        traffic = NULL;
    }
    return traffic;
}
