// Making the messages of a plan: of each walk at cut edges, of sums at the ground, and of joins at crossings.
#include "machine/mpi/messages.h"

#include "base/memory.h"

// Memory and a request for a message whose size, peer and direction are known.
static void prepare(MPI_Comm comm, cal_message* m, int tag) {
    m->request = MPI_REQUEST_NULL;
    m->packed = cal_allocate((size_t)m->size, sizeof(double));
    if (!m->packed) return;
    if (m->receives)
        MPI_Recv_init(m->packed, m->size, MPI_DOUBLE, m->peer, tag, comm, &m->request);
    else
        MPI_Send_init(m->packed, m->size, MPI_DOUBLE, m->peer, tag, comm, &m->request);
}

static void add_message(const cal_plan* plan, MPI_Comm comm, struct cal_walk_messages* w, int column, int peer,
                        int doubles, bool down, bool receives, int32_t* first) {
    cal_message* m = &w->list[w->count];
    *m = (cal_message){.column = column,
                       .peer = peer,
                       .size = doubles * plan->layout->columns[column].lanes,
                       .doubles = doubles,
                       .down = down,
                       .receives = receives};
    prepare(comm, m, 2 * column + (down ? 1 : 0));
    if (*first < 0) *first = w->count;
    w->count++;
}

// Sums of columns on the ground: one message a rank, to rank 0, which has the ground.
static void add_sums(const cal_plan* plan, MPI_Comm comm, struct cal_walk_messages* w, int doubles, int* ranks) {
    const cal_layout* layout = plan->layout;
    for (int r = 0; r < plan->machine->processors; r++) ranks[r] = -1;
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const int own = plan->machine->keep, sender = column->owner;
        if (column->parent >= 0 || sender == 0 || (own != 0 && own != sender)) continue;
        if (ranks[sender] < 0) {
            ranks[sender] = w->count;
            w->list[w->count++] =
                (cal_message){.column = c, .peer = own == 0 ? sender : 0, .doubles = doubles, .receives = own == 0};
        }
        cal_message* m = &w->list[ranks[sender]];
        m->columns++;
        m->size += doubles * column->lanes;
        (own == 0 ? w->wait_up : w->post_up)[c] = ranks[sender];
    }
    for (int r = 0; r < plan->machine->processors; r++)
        if (ranks[r] >= 0) prepare(comm, &w->list[ranks[r]], 2 * w->list[ranks[r]].column);
}

// Messages between the walks: of every crossing that this rank is at one end of.
static cal_status make_joins(const cal_plan* plan, MPI_Comm comm, struct cal_walk_messages* w, int walk) {
    const cal_schedule* s = plan->schedule;
    const int own = plan->machine->keep, tags = 2 * plan->layout->column_count;
    w->joins = cal_allocate(2 * (size_t)s->crossing_count + 1, sizeof *w->joins);
    w->join_of = cal_allocate(2 * (size_t)s->crossing_count + 1, sizeof *w->join_of);
    if (!w->joins || !w->join_of) return CAL_NO_MEMORY;
    for (int i = 0; i < 2 * s->crossing_count; i++) w->join_of[i] = -1;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        if (e->crossing < 0) continue;
        const int above = s->elements[e->parent].processor;
        if (e->processor != own && above != own) continue;
        for (int outbound = 0; outbound < 2; outbound++) {
            cal_message* m = &w->joins[w->join_count];
            *m = (cal_message){.peer = e->processor == own ? above : e->processor,
                               .receives = (e->processor == own) == (outbound == 1)};
            if (walk < CAL_JOINED_WALK)
                m->at = outbound ? e->motion : e->tip_motion, m->size = outbound ? 24 : 24 * e->tip_count;
            else
                m->at = outbound ? e->base : e->numbers, m->size = outbound ? 6 + e->columns : (int)cal_element_size(e);
            if (m->size == 0) continue;
            prepare(comm, m, tags + 4 * e->crossing + 2 * (walk / CAL_JOINED_WALK) + outbound);
            if (!m->packed) return CAL_NO_MEMORY;
            w->join_of[2 * e->crossing + outbound] = w->join_count++;
        }
    }
    return CAL_OK;
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

static cal_status make_walk(const cal_plan* plan, MPI_Comm comm, struct cal_walk_messages* w, int down, int up,
                            bool sums, const int32_t* first, const int32_t* next) {
    const cal_layout* layout = plan->layout;
    const int own = plan->machine->keep, columns = layout->column_count, size = plan->machine->processors;
    int* ranks = cal_allocate((size_t)size, sizeof *ranks);
    int32_t* index = cal_allocate(4 * (size_t)columns, sizeof *index);
    // Every column at a cut has one message up and at most `size` down.
    int most = 0;
    for (int i = 0; i < columns; i++) {
        const int parent_owner = layout->columns[i].parent < 0 ? 0 : layout->columns[layout->columns[i].parent].owner;
        if (parent_owner != layout->columns[i].owner && (parent_owner == own || layout->columns[i].owner == own))
            most += 2;
    }
    w->list = cal_allocate((size_t)most + (size_t)size, sizeof *w->list);
    if (!ranks || !index || !w->list) {
        cal_free(ranks), cal_free(index);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < 4 * columns; i++) index[i] = -1;
    w->wait_down = index, w->post_down = index + columns, w->wait_up = index + 2 * columns,
    w->post_up = index + 3 * columns;
    for (int c = 0; c < columns; c++) {
        const cal_column* column = &layout->columns[c];
        const int parent = column->parent, parent_owner = parent < 0 ? 0 : layout->columns[parent].owner;
        if (column->owner == own && column->shared) {
            const int count = ranks_below(layout, c, first, next, ranks, size);
            for (int i = 0; i < count; i++)
                add_message(plan, comm, w, c, ranks[i], down, true, false, &w->post_down[c]);
        }
        if (parent_owner == column->owner) continue;
        if (column->owner == own && parent >= 0) {
            // One message serves all own columns below a parent: whichever comes first receives it.
            int elder = first[parent + 1];
            while (elder != c && layout->columns[elder].owner != own) elder = next[elder];
            if (elder == c)
                add_message(plan, comm, w, parent, parent_owner, down, true, true, &w->wait_down[c]);
            else
                w->wait_down[c] = w->wait_down[elder];
        }
        if (up == 0 || parent < 0) continue;
        if (column->owner == own) add_message(plan, comm, w, c, parent_owner, up, false, false, &w->post_up[c]);
        if (parent_owner == own) add_message(plan, comm, w, c, column->owner, up, false, true, &w->wait_up[c]);
    }
    if (sums) add_sums(plan, comm, w, up, ranks);
    cal_free(ranks);
    for (int i = 0; i < w->count; i++)
        if (!w->list[i].packed) return CAL_NO_MEMORY;
    return CAL_OK;
}

static void free_messages(cal_message* list, int count) {
    for (int k = 0; k < count; k++) {
        cal_message* m = &list[k];
        if (m->started) {
            if (m->receives) MPI_Cancel(&m->request);
            MPI_Wait(&m->request, MPI_STATUS_IGNORE);
        }
        if (m->request != MPI_REQUEST_NULL) MPI_Request_free(&m->request);
        cal_free(m->packed);
    }
    cal_free(list);
}

void cal_traffic_destroy(cal_traffic* traffic) {
    if (!traffic) return;
    for (int i = 0; i < CAL_MOST_WALKS; i++) {
        struct cal_walk_messages* w = &traffic->walks[i];
        free_messages(w->list, w->count);
        free_messages(w->joins, w->join_count);
        cal_free(w->wait_down);
        cal_free(w->join_of);
    }
    cal_free(traffic);
}

cal_traffic* cal_traffic_create(const cal_plan* plan, MPI_Comm comm) {
    const cal_layout* layout = plan->layout;
    const cal_program* program = plan->program;
    cal_traffic* traffic = cal_allocate(1, sizeof *traffic);
    int32_t* lists = cal_allocate(2 * (size_t)layout->column_count + 1, sizeof *lists);
    if (!traffic || !lists) {
        cal_free(traffic);
        cal_free(lists);
        return NULL;
    }
    cal_status status = CAL_OK;
    int32_t *first = lists, *next = first + layout->column_count + 1;
    cal_layout_link_children(layout, first, next);
    const int walks = (program->pass_count + 1) / 2;
    traffic->walk_count = walks < CAL_MOST_WALKS ? walks : CAL_MOST_WALKS;
    for (int i = cal_plan_first_pass(plan) / 2; status == CAL_OK && i < traffic->walk_count; i++) {
        // The sums' pass carries as many numbers as the solver has; leave room for the most.
        const cal_pass* pass = &program->passes[2 * i];
        const bool last = 2 * i + 1 == program->pass_count, sums = !last && pass[1].for_solver;
        const int crosses = last ? 1 : sums ? CAL_MAX_SUMS : pass[1].crosses;
        status = make_walk(plan, comm, &traffic->walks[i], pass->crosses, crosses, sums, first, next);
        if (status == CAL_OK && cal_plan_joins(plan) && i + 1 < traffic->walk_count)
            status = make_joins(plan, comm, &traffic->walks[i], 2 * i);
    }
    cal_free(lists);
    if (status != CAL_OK) {
        cal_traffic_destroy(traffic);
        traffic = NULL;
    }
    return traffic;
}
