// The ranks of an MPI communicator, each with the numbers of its own share of the tree.
//
// A rank runs its part of every walk (walk.c). At a cut edge it sends what the edge's child must know of its parent, or
// what the parent adds of its child: the pass's `crosses` doubles for each lane, a fixed number whatever hangs below.
// Beside Jung's Table IX, for one chain (one lane) below a cut:
//
//   pass   ours                                          Jung
//   1      18  E (9), ω, α⁰, a⁰                           6   velocity; his bodies carry their own rotations, and
//                                                             get the bias accelerations again from v̂
//   2      27  Θ (6), H (9), M (6), n, f                  33  Î^A as 6 × 6 without its symmetry partner, p̂
//   3      6   δα, δa                                     6   â
//   4      the solver's sums (Gear: 5)                    5   the same five sums
//
// His step size and order (1b) go down with the tree; ours are found by every rank for itself: the sums of the whole
// tree are broadcast, and control, which sees nothing else, is run by all with the same bits.
//
// Receives are posted before a walk begins and sends are not waited for until their buffer is needed again, so that
// messages travel while the rank computes.
#include "calder/calder_mpi.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "machine/mpi/board.h"

#include <string.h>

typedef struct mpi_machine {
    cal_machine base;
    MPI_Comm comm;
    cal_board* board; // NULL: the ranks are on several hosts
} mpi_machine;

// A message of one walk: what a column's end or slot holds, packed. Persistent: started again in every execution.
typedef struct message {
    MPI_Request request;
    double* packed;
    int column; // whose end or slot
    int peer;
    int doubles; // a lane
    bool down, receives, started;
} message;

// The messages of a plan, walk by walk.
typedef struct cal_traffic {
    int walk_count;
    struct walk_messages {
        message* list;
        int count;
        int32_t *wait_down, *post_down, *wait_up, *post_up; // per column: first message in list, or -1
    } walks[2];
} cal_traffic;

// --- Where it is ----------------------------------------------------------------------------------------------------------

static double* place_of(const cal_plan* plan, const cal_context* context, const message* m) {
    const cal_column* column = &plan->layout->columns[m->column];
    return context->scratch + (m->down ? column->end_slot : column->up_slot);
}

static size_t size_of(const cal_plan* plan, const message* m) {
    return (size_t)(m->doubles * plan->layout->columns[m->column].lanes) * sizeof(double);
}

// --- Exchange -----------------------------------------------------------------------------------------------------------

typedef struct mpi_exchange {
    cal_exchange base;
    const cal_plan* plan;
    const cal_context* context;
    struct walk_messages* messages;
    int error; // first MPI error
} mpi_exchange;

static void note(mpi_exchange* e, int result) {
    if (result != MPI_SUCCESS && e->error == MPI_SUCCESS) e->error = result;
}

static void receive(mpi_exchange* e, int index) {
    if (index < 0) return;
    message* m = &e->messages->list[index];
    if (!m->started) return; // an earlier column below the same parent has taken it
    note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    m->started = false;
    memcpy(place_of(e->plan, e->context, m), m->packed, size_of(e->plan, m));
}

static void send_all(mpi_exchange* e, int index, int column, bool down) {
    for (; index >= 0 && index < e->messages->count; index++) {
        message* m = &e->messages->list[index];
        if (m->receives || m->column != column || m->down != down) return;
        if (m->started) note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
        memcpy(m->packed, place_of(e->plan, e->context, m), size_of(e->plan, m));
        note(e, MPI_Start(&m->request));
        m->started = true;
    }
}

static void wait_down(cal_exchange* exchange, int column) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    receive(e, e->messages->wait_down[column]);
}
static void post_down(cal_exchange* exchange, int column) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    send_all(e, e->messages->post_down[column], column, true);
}
static void wait_up(cal_exchange* exchange, int column) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    receive(e, e->messages->wait_up[column]);
}
static void post_up(cal_exchange* exchange, int column) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    send_all(e, e->messages->post_up[column], column, false);
}

// --- Making the messages of a plan --------------------------------------------------------------------------------------

static void add_message(const cal_plan* plan, const mpi_machine* machine, struct walk_messages* w, int column, int peer,
                        int doubles, bool down, bool receives, int32_t* first) {
    message* m = &w->list[w->count];
    const int lanes = plan->layout->columns[column].lanes, size = doubles * lanes;
    *m = (message){.column = column,
                   .peer = peer,
                   .doubles = doubles,
                   .down = down,
                   .receives = receives,
                   .request = MPI_REQUEST_NULL};
    m->packed = cal_allocate((size_t)size, sizeof(double));
    if (!m->packed) return;
    const int tag = 2 * column + (down ? 1 : 0);
    if (receives)
        MPI_Recv_init(m->packed, size, MPI_DOUBLE, peer, tag, machine->comm, &m->request);
    else
        MPI_Send_init(m->packed, size, MPI_DOUBLE, peer, tag, machine->comm, &m->request);
    if (*first < 0) *first = w->count;
    w->count++;
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

static cal_status make_walk(const cal_plan* plan, const mpi_machine* machine, struct walk_messages* w, int down, int up,
                            const int32_t* first, const int32_t* next) {
    const cal_layout* layout = plan->layout;
    const int own = machine->base.keep, columns = layout->column_count, size = machine->base.processors;
    int* ranks = cal_allocate((size_t)size, sizeof *ranks);
    int32_t* index = cal_allocate(4 * (size_t)columns, sizeof *index);
    // Every column at a cut has one message up and at most `size` down.
    int most = 0;
    for (int i = 0; i < columns; i++) {
        const int parent_owner = layout->columns[i].parent < 0 ? 0 : layout->columns[layout->columns[i].parent].owner;
        if (parent_owner != layout->columns[i].owner && (parent_owner == own || layout->columns[i].owner == own))
            most += 2;
    }
    w->list = cal_allocate((size_t)most + 1, sizeof *w->list);
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
                add_message(plan, machine, w, c, ranks[i], down, true, false, &w->post_down[c]);
        }
        if (parent_owner == column->owner) continue;
        if (column->owner == own && parent >= 0) {
            // One message serves all own columns below a parent: whichever comes first receives it.
            int elder = first[parent + 1];
            while (elder != c && layout->columns[elder].owner != own) elder = next[elder];
            if (elder == c)
                add_message(plan, machine, w, parent, parent_owner, down, true, true, &w->wait_down[c]);
            else
                w->wait_down[c] = w->wait_down[elder];
        }
        if (up == 0) continue;
        if (column->owner == own) add_message(plan, machine, w, c, parent_owner, up, false, false, &w->post_up[c]);
        if (parent_owner == own) add_message(plan, machine, w, c, column->owner, up, false, true, &w->wait_up[c]);
    }
    cal_free(ranks);
    for (int i = 0; i < w->count; i++)
        if (!w->list[i].packed) return CAL_NO_MEMORY;
    return CAL_OK;
}

static void free_traffic(cal_traffic* traffic) {
    if (!traffic) return;
    for (int i = 0; i < 2; i++) {
        struct walk_messages* w = &traffic->walks[i];
        for (int k = 0; k < w->count; k++) {
            message* m = &w->list[k];
            if (m->started) {
                if (m->receives) MPI_Cancel(&m->request);
                MPI_Wait(&m->request, MPI_STATUS_IGNORE);
            }
            if (m->request != MPI_REQUEST_NULL) MPI_Request_free(&m->request);
            cal_free(m->packed);
        }
        cal_free(w->list);
        cal_free(w->wait_down);
    }
    cal_free(traffic);
}

static cal_status make_traffic(const cal_plan* plan, const mpi_machine* machine, cal_traffic** out) {
    const cal_layout* layout = plan->layout;
    const cal_program* program = plan->program;
    *out = NULL;
    cal_traffic* traffic = cal_allocate(1, sizeof *traffic);
    int32_t* lists = cal_allocate(2 * (size_t)layout->column_count + 1, sizeof *lists);
    if (!traffic || !lists) {
        cal_free(traffic);
        cal_free(lists);
        return CAL_NO_MEMORY;
    }
    cal_status status = CAL_OK;
    int32_t *first = lists, *next = first + layout->column_count + 1;
    cal_layout_link_children(layout, first, next);
    const int walks = (program->pass_count + 1) / 2;
    traffic->walk_count = walks < 2 ? walks : 2;
    for (int i = 0; status == CAL_OK && i < traffic->walk_count; i++) {
        // The sums' pass carries as many numbers as the solver has; leave room for the most.
        const cal_pass* pass = &program->passes[2 * i];
        const int crosses = 2 * i + 1 == program->pass_count ? 1 : pass[1].for_solver ? CAL_MAX_SUMS : pass[1].crosses;
        status = make_walk(plan, machine, &traffic->walks[i], pass->crosses, crosses, first, next);
    }
    cal_free(lists);
    if (status != CAL_OK) {
        free_traffic(traffic);
        traffic = NULL;
    }
    *out = traffic;
    return status;
}

// --- The machine --------------------------------------------------------------------------------------------------------

static cal_status run_walks(mpi_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    const cal_context* context = &state->context;
    cal_traffic* traffic = plan->traffic;
    mpi_exchange exchange = {.base = {wait_down, post_down, wait_up, post_up}, .plan = plan, .context = context};
    const cal_pass *down, *up;
    for (int i = 0, walk = 0; cal_next_walk(plan->program, context, &i, &down, &up); walk++) {
        exchange.messages = &traffic->walks[walk];
        for (int k = 0; k < exchange.messages->count; k++) {
            message* m = &exchange.messages->list[k];
            if (!m->receives || (!m->down && !up)) continue;
            note(&exchange, MPI_Start(&m->request));
            m->started = true;
        }
        cal_walk(plan, context, machine->base.keep, down, up, walk == 0 && context->solver && !prepared,
                 &exchange.base);
    }
    return exchange.error == MPI_SUCCESS ? CAL_OK : CAL_MACHINE_FAILED;
}

static cal_status execute(cal_machine* base, const cal_plan* plan, cal_state* state, bool prepared) {
    mpi_machine* machine = (mpi_machine*)base;
    if (!plan->program->walked || plan->used == 1) {
        // Everything is rank 0's; the others hold nothing and wait for what it shares. Or everything is everybody's.
        return plan->layout->keep > 0 ? CAL_OK : cal_execute_alone(plan, state, prepared);
    }
    return run_walks(machine, plan, state, prepared);
}

static cal_status share(cal_machine* base, double* values, int count) {
    mpi_machine* machine = (mpi_machine*)base;
    return MPI_Bcast(values, count, MPI_DOUBLE, 0, machine->comm) == MPI_SUCCESS ? CAL_OK : CAL_MACHINE_FAILED;
}

static cal_status gather(cal_machine* base, int processor, const double* own, int count, double* room,
                         const double** all) {
    (void)processor; // its own rank
    mpi_machine* machine = (mpi_machine*)base;
    if (machine->board && count <= CAL_BOARD_NUMBERS) {
        cal_board_gather(machine->board, own, count, all);
        return CAL_OK;
    }
    for (int p = 0; p < base->processors; p++) all[p] = room + (size_t)p * (size_t)count;
    return MPI_Allgather(own, count, MPI_DOUBLE, room, count, MPI_DOUBLE, machine->comm) == MPI_SUCCESS
               ? CAL_OK
               : CAL_MACHINE_FAILED;
}

// Every number is one rank's; zeros elsewhere make a sum of it.
static cal_status collect_vector(mpi_machine* machine, const int32_t* position, int count, double* values) {
    if (!values) return CAL_OK;
    for (int i = 0; i < count; i++)
        if (position[i] < 0) values[i] = 0.0;
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, machine->comm) == MPI_SUCCESS
               ? CAL_OK
               : CAL_MACHINE_FAILED;
}

static cal_status collect(cal_machine* base, const cal_plan* plan, double* q, double* v) {
    mpi_machine* machine = (mpi_machine*)base;
    const cal_layout* layout = plan->layout;
    const cal_status status = collect_vector(machine, layout->q_position, layout->model->q_count, q);
    return status != CAL_OK ? status : collect_vector(machine, layout->v_position, layout->model->v_count, v);
}

// Before anything is planned: the ranks must be talking about one model, and what one cannot do none does.
static cal_status agree(cal_machine* base, const cal_model* model, cal_error* error) {
    mpi_machine* machine = (mpi_machine*)base;
    uint64_t own = cal_model_hash(model);
    own = cal_hash_doubles(own, model->initial_q, (size_t)model->q_count);
    own = cal_hash_doubles(own, model->initial_v, (size_t)model->v_count);
    uint64_t ends[2] = {own, ~own};
    if (MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MIN, machine->comm) != MPI_SUCCESS)
        return cal_fail(error, CAL_MACHINE_FAILED, "the ranks could not compare their models");
    if (ends[0] != ~ends[1])
        return cal_fail(error, CAL_BAD_MODEL, "the model differs between ranks: every rank must build the same one");
    return CAL_OK;
}

static cal_status attach(cal_machine* base, cal_plan* plan, cal_error* error) {
    mpi_machine* machine = (mpi_machine*)base;
    int failed = plan->program->walked && plan->used > 1 && make_traffic(plan, machine, &plan->traffic) != CAL_OK;
    if (2.0 * plan->layout->column_count > 2147483000.0) failed = 1; // tags
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, machine->comm);
    return failed ? cal_fail(error, CAL_NO_MEMORY, "a rank has no memory for the messages of the plan") : CAL_OK;
}

static void detach(cal_plan* plan) {
    free_traffic(plan->traffic);
    plan->traffic = NULL;
}

static void destroy(cal_machine* base) {
    mpi_machine* machine = (mpi_machine*)base;
    cal_board_destroy(machine->board);
    MPI_Comm_free(&machine->comm);
    cal_free(machine);
}

static const cal_machine_ops mpi_ops = {.name = "mpi",
                                        .execute = execute,
                                        .destroy = destroy,
                                        .agree = agree,
                                        .attach = attach,
                                        .detach = detach,
                                        .share = share,
                                        .gather = gather,
                                        .collect = collect};

cal_status cal_machine_mpi(MPI_Comm communicator, int lanes, cal_machine** out, cal_error* error) {
    *out = NULL;
    int initialized = 0, rank = 0, size = 0;
    MPI_Initialized(&initialized);
    if (!initialized) return cal_fail(error, CAL_BAD_ARGUMENT, "call MPI_Init before cal_machine_mpi");
    mpi_machine* machine = cal_allocate(1, sizeof *machine);
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    // Ranks may run on different processors: all take what the least of them can do.
    int least = cal_best_lanes();
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, communicator);
    cal_status status = CAL_NO_MEMORY;
    if (machine)
        status = cal_machine_begin(&machine->base, &mpi_ops, lanes == 0 ? least : lanes, size, error);
    else
        cal_explain(error, status, "no memory for a machine");
    int failed = status != CAL_OK;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, communicator);
    if (status == CAL_OK && failed)
        status = cal_fail(error, CAL_MACHINE_FAILED, "another rank could not make its part of the machine");
    if (status == CAL_OK && machine && MPI_Comm_dup(communicator, &machine->comm) != MPI_SUCCESS)
        status = cal_fail(error, CAL_MACHINE_FAILED, "the communicator could not be duplicated");
    if (status != CAL_OK || !machine) {
        cal_free(machine);
        return status;
    }
    machine->board = cal_board_create(machine->comm);
    machine->base.keep = rank;
    machine->base.costs = (cal_costs){.compute = 20e-9, .message = 6e-6};
    *out = &machine->base;
    return CAL_OK;
}

cal_status cal_mpi_plan_traffic(const cal_plan* plan, cal_mpi_traffic* out) {
    if (plan->machine->ops != &mpi_ops) return CAL_BAD_ARGUMENT;
    const mpi_machine* machine = (const mpi_machine*)plan->machine;
    int64_t sums[2] = {0, 0};
    for (int i = 0; plan->traffic && i < plan->traffic->walk_count; i++)
        for (int k = 0; k < plan->traffic->walks[i].count; k++) {
            const message* m = &plan->traffic->walks[i].list[k];
            if (m->receives) continue;
            sums[0]++;
            sums[1] += (int64_t)size_of(plan, m);
        }
    if (MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, machine->comm) != MPI_SUCCESS)
        return CAL_MACHINE_FAILED;
    *out = (cal_mpi_traffic){.messages = sums[0], .bytes = sums[1]};
    return CAL_OK;
}
