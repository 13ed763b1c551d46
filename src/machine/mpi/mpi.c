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
// The sums of columns on the ground go to rank 0 together, in one message of each other rank.
//
// Programs that join (assembly) cut at the ground alone; their messages are between the walks, those that Yamane and Nakamura
// list (5.2) for each open joint of an element that another rank joins with one of its own. For k open joints and the base:
//
//   motions  up    24 k               how tips move seen from the base       −    the paper's links carry their own
//            down  24                 how the base moves                     −
//   forces   up    27 + 6 k (7 + (6 k + 1) / 2)   I, p, E, c, Λ              Λ, r̈, and blocks of S⁻¹
//            down  6 + 6 k            the base's acceleration, forces        f
//
// Receives are posted before a walk begins and sends are not waited for until their buffer is needed again, so that
// messages travel while the rank computes.
#include "calder/calder_mpi.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "machine/mpi/shared_window.h"
#include "machine/mpi/messages.h"

#include <string.h>

typedef struct mpi_machine {
    cal_machine base;
    MPI_Comm comm;
    cal_shared_window* board; // NULL: the ranks are on several hosts
} mpi_machine;

// --- Where it is ----------------------------------------------------------------------------------------------------------

static double* place_of(const cal_plan* plan, const cal_context* context, const cal_message* m) {
    const cal_column* column = &plan->layout->columns[m->column];
    return context->scratch + (m->down ? column->end_slot : column->up_slot);
}

// Copies a message's numbers from where they are, or to it.
static void copy(const cal_plan* plan, const cal_context* context, const cal_message* m) {
    const cal_layout* layout = plan->layout;
    double* packed = m->packed;
    if (m->columns == 0) {
        double* place = place_of(plan, context, m);
        memcpy(m->receives ? place : packed, m->receives ? packed : place, (size_t)m->size * sizeof(double));
        return;
    }
    const int sender = layout->columns[m->column].owner;
    for (int c = m->column; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        if (column->parent >= 0 || column->owner != sender) continue;
        double* place = context->scratch + column->up_slot;
        const size_t count = (size_t)(m->doubles * column->lanes);
        memcpy(m->receives ? place : packed, m->receives ? packed : place, count * sizeof(double));
        packed += count;
    }
}

// --- Exchange -----------------------------------------------------------------------------------------------------------

typedef struct mpi_exchange {
    cal_exchange base;
    const cal_plan* plan;
    const cal_context* context;
    struct cal_walk_messages* messages;
    double* elements; // of programs that join
    int error;        // first MPI error
} mpi_exchange;

static void note(mpi_exchange* e, int result) {
    if (result != MPI_SUCCESS && e->error == MPI_SUCCESS) e->error = result;
}

static void receive(mpi_exchange* e, int index) {
    if (index < 0) return;
    cal_message* m = &e->messages->list[index];
    if (!m->started) return; // an earlier column below the same parent has taken it
    note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    m->started = false;
    copy(e->plan, e->context, m);
}

static void start(mpi_exchange* e, cal_message* m) {
    note(e, MPI_Start(&m->request));
    m->started = true;
}

static void send_all(mpi_exchange* e, int index, int column, bool down) {
    for (; index >= 0 && index < e->messages->count; index++) {
        cal_message* m = &e->messages->list[index];
        if (m->receives || m->column != column || m->down != down) return;
        if (m->started) note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
        copy(e->plan, e->context, m);
        start(e, m);
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
    const int index = e->messages->post_up[column];
    if (index < 0) return;
    cal_message* m = &e->messages->list[index];
    // Sums wait until all columns on the ground are there.
    if (m->columns > 0 && ++m->posted < m->columns) return;
    m->posted = 0;
    send_all(e, index, m->column, false);
}

static cal_message* find_join(const mpi_exchange* e, int element, bool outbound) {
    const int crossing = e->plan->schedule->elements[element].crossing;
    const int index = e->messages->join_of[2 * crossing + outbound];
    return index < 0 ? NULL : &e->messages->joins[index];
}

static void wait_join(cal_exchange* exchange, int element, bool outbound) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    cal_message* m = find_join(e, element, outbound);
    if (!m) return;
    note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    m->started = false;
    memcpy(e->elements + m->at, m->packed, (size_t)m->size * sizeof(double));
}

static void post_join(cal_exchange* exchange, int element, bool outbound) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    cal_message* m = find_join(e, element, outbound);
    if (!m) return;
    if (m->started) note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    memcpy(m->packed, e->elements + m->at, (size_t)m->size * sizeof(double));
    start(e, m);
}

// --- The machine --------------------------------------------------------------------------------------------------------

// A constraint that cannot be met is one rank's to see, and everybody's to know.
static cal_status share_failure(const mpi_machine* machine, const cal_plan* plan, cal_state* state, cal_status status) {
    if (!cal_plan_joins(plan) || !plan->schedule->loops) return status;
    int told[2] = {(int)status, cal_state_inconsistent(state)};
    if (MPI_Bcast(told, 2, MPI_INT, plan->schedule->ground, machine->comm) != MPI_SUCCESS) return CAL_MACHINE_FAILED;
    cal_state_set_inconsistent(state, told[1]);
    return (cal_status)told[0];
}

static void start_receives(mpi_exchange* e, bool takes_up) {
    struct cal_walk_messages* w = e->messages;
    for (int k = 0; k < w->count; k++)
        if (w->list[k].receives && (w->list[k].down || takes_up)) start(e, &w->list[k]);
    for (int k = 0; k < w->join_count; k++)
        if (w->joins[k].receives) start(e, &w->joins[k]);
}

static cal_status run_walks(mpi_machine* machine, const cal_plan* plan, cal_state* state, bool prepared) {
    const cal_context* context = &state->context;
    mpi_exchange exchange = {.base = {wait_down, post_down, wait_up, post_up, wait_join, post_join},
                             .plan = plan,
                             .context = context,
                             .elements = cal_plan_joins(plan) ? cal_state_elements(state) : NULL};
    const cal_pass *down, *up;
    const int first = cal_plan_first_pass(plan), own = machine->base.keep;
    cal_status status = CAL_OK;
    for (int i = first; status == CAL_OK && cal_next_walk(plan->program, context, &i, &down, &up);) {
        exchange.messages = &plan->traffic->walks[(i - 1) / 2];
        start_receives(&exchange, up != NULL);
        cal_walk(plan, context, own, down, up, i == first + 2 && context->solver && !prepared, &exchange.base);
        if (!cal_plan_joins(plan) || i >= plan->program->pass_count) continue;
        // Ranks without a part have nothing to join.
        if (own < plan->schedule->processors) status = cal_join_batches(plan, context, i - 2, own, &exchange.base);
        status = share_failure(machine, plan, state, status);
    }
    return exchange.error == MPI_SUCCESS ? status : CAL_MACHINE_FAILED;
}

static cal_status execute(cal_machine* base, const cal_plan* plan, cal_state* state, bool prepared) {
    mpi_machine* machine = (mpi_machine*)base;
    if (!plan->program->walked || plan->used == 1) {
        // Everything is rank 0's; the others hold nothing and wait for what it shares. Or everything is everybody's.
        const cal_status status = plan->layout->keep > 0 ? CAL_OK : cal_execute_alone(plan, state, prepared);
        return share_failure(machine, plan, state, status);
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
        cal_shared_window_gather(machine->board, own, count, all);
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
    const bool sends = plan->program->walked && plan->used > 1;
    if (sends) plan->traffic = cal_traffic_create(plan, machine->comm);
    int failed = sends && !plan->traffic;
    const double crossings = plan->program->join ? plan->schedule->crossing_count : 0.0;
    if (2.0 * plan->layout->column_count + 4.0 * crossings > 2147483000.0) failed = 1; // tags
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, machine->comm);
    return failed ? cal_fail(error, CAL_NO_MEMORY, "a rank has no memory for the messages of the plan") : CAL_OK;
}

static void detach(cal_plan* plan) {
    cal_traffic_destroy(plan->traffic);
    plan->traffic = NULL;
}

static void destroy(cal_machine* base) {
    mpi_machine* machine = (mpi_machine*)base;
    cal_shared_window_destroy(machine->board);
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
    machine->board = cal_shared_window_create(machine->comm);
    machine->base.keep = rank;
    machine->base.costs = (cal_costs){.compute = 20e-9, .message = 6e-6};
    *out = &machine->base;
    return CAL_OK;
}

static void count_sent(const cal_message* list, int count, int64_t sums[2]) {
    for (int k = 0; k < count; k++) {
        if (list[k].receives) continue;
        sums[0]++;
        sums[1] += list[k].size * (int64_t)sizeof(double);
    }
}

cal_status cal_mpi_plan_traffic(const cal_plan* plan, cal_mpi_traffic* out) {
    if (plan->machine->ops != &mpi_ops) return CAL_BAD_ARGUMENT;
    const mpi_machine* machine = (const mpi_machine*)plan->machine;
    int64_t sums[2] = {0, 0};
    for (int i = 0; plan->traffic && i < plan->traffic->walk_count; i++) {
        const struct cal_walk_messages* w = &plan->traffic->walks[i];
        count_sent(w->list, w->count, sums);
        count_sent(w->joins, w->join_count, sums);
    }
    if (MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, machine->comm) != MPI_SUCCESS)
        return CAL_MACHINE_FAILED;
    *out = (cal_mpi_traffic){.messages = sums[0], .bytes = sums[1]};
    return CAL_OK;
}
