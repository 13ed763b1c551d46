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
// Where the trunk is repeated (layout/trunk.c) there are no such messages: after its private subtrees each rank shows theirs to all, and
// the same with the sums, which every rank then adds up.
//
// The sums of columns on the ground go to rank 0 together, in one message of each other rank.
//
// Edges of a program's own tree carry what its passes say. Assembly cuts the columns at the ground alone; what its joins send is
// what Yamane and Nakamura list (5.2) for each open joint of an element that another rank joins with one of its own. For k
// open joints and the base:
//
//   motions  up    24 k               how tips move seen from the base       −    the paper's links carry their own
//            down  24                 how the base moves                     −
//   forces   up    27 + 6 k (7 + (6 k + 1) / 2)   I, p, E, c, Λ              Λ, r̈, and blocks of S⁻¹
//            down  6 + 6 k            the base's acceleration, forces        f
//
// Receives are posted before a stage begins and sends are not waited for until their buffer is needed again, so that
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
    MPI_Request* requests;    // two for each rank
} mpi_machine;

// --- Exchange -----------------------------------------------------------------------------------------------------------

typedef struct mpi_exchange {
    cal_exchange base;
    const cal_plan* plan;
    const cal_context* context;
    cal_state* state;
    cal_stage_messages* messages;
    const cal_pass* up; // of the stage
    MPI_Comm comm;
    int sums;          // of the solver that rides along
    cal_count* counts; // of the stage: [down]
    cal_count* all;    // of all stages
    int error;         // first MPI error
} mpi_exchange;

static void note(mpi_exchange* e, int result) {
    if (result != MPI_SUCCESS && e->error == MPI_SUCCESS) e->error = result;
}

static int numbers_in(const mpi_exchange* e, const cal_message* m) {
    return m->sums ? m->size / CAL_MAX_SUMS * e->sums : m->size;
}

// Copies a message's numbers from where they are, or to it.
static void copy(const mpi_exchange* e, const cal_message* m) {
    const cal_layout* layout = e->plan->layout;
    double *packed = m->packed, *scratch = e->context->scratch;
    if (m->columns == 0) {
        memcpy(m->receives ? scratch + m->at : packed, m->receives ? packed : scratch + m->at,
               (size_t)numbers_in(e, m) * sizeof(double));
        return;
    }
    const int sender = layout->columns[m->edge].owner;
    for (int c = m->edge; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        if (column->parent >= 0 || column->owner != sender) continue;
        double* place = scratch + column->up_slot;
        const size_t count = (size_t)(e->sums * column->lanes);
        memcpy(m->receives ? place : packed, m->receives ? packed : place, count * sizeof(double));
        packed += count;
    }
}

static void start(mpi_exchange* e, cal_message* m) {
    const int numbers = numbers_in(e, m);
    if (m->sums && !m->receives)
        note(e, MPI_Isend(m->packed, numbers, MPI_DOUBLE, m->peer, m->tag, e->comm, &m->request));
    else
        note(e, MPI_Start(&m->request));
    m->started = true;
    if (m->receives) return;
    e->counts[m->down].messages++;
    e->counts[m->down].numbers += numbers;
}

static void begin_stage(cal_exchange* exchange, const cal_stage* stage, const cal_pass* up) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    e->messages = &e->plan->traffic->stages[stage - e->plan->stages];
    e->counts = e->all + 2 * (stage - e->plan->stages);
    e->up = up;
    for (int k = 0; k < e->messages->count; k++) {
        cal_message* m = &e->messages->list[k];
        if (m->receives && (m->down || up)) start(e, m);
    }
}

// Everybody shows everybody what it has of this walk.
static void show(mpi_exchange* e) {
    const cal_shown* shown = e->plan->traffic->shown;
    const cal_layout* layout = e->plan->layout;
    const bool sums = e->up->for_solver;
    const int crosses = sums ? e->sums : e->up->crosses, most = crosses * shown->most[sums];
    if (most == 0) return;
    const int own = cal_shown_pack(shown, layout, e->context->scratch, sums, crosses);
    cal_machine* machine = e->plan->machine;
    if (sums) shown->packed[most] = cal_state_ask(e->state); // an interruption goes with the sums
    if (machine->ops->gather(machine, machine->keep, shown->packed, most + sums, shown->room, shown->all) != CAL_OK) {
        note(e, MPI_ERR_OTHER);
        return;
    }
    if (sums) e->state->interrupted = shown->all[0][most] != 0.0;
    cal_shown_unpack(shown, layout, e->context->scratch, sums, crosses);
    e->counts[0].messages += own > 0;
    e->counts[0].numbers += own;
}

static void wait(cal_exchange* exchange, int edge, bool down) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    if (e->plan->traffic->shown) return; // it came with what was shown
    const int index = e->messages->first[down][1][edge];
    if (index < 0) return;
    cal_message* m = &e->messages->list[index];
    if (!m->started) return; // an earlier column below the same parent has taken it
    note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    m->started = false;
    copy(e, m);
}

static void post(cal_exchange* exchange, int edge, bool down) {
    mpi_exchange* e = (mpi_exchange*)exchange;
    if (e->plan->traffic->shown) {
        show(e);
        return;
    }
    int index = e->messages->first[down][0][edge];
    if (index < 0) return;
    cal_message* m = &e->messages->list[index];
    // Sums wait until all columns on the ground are there.
    if (m->columns > 0 && ++m->posted < m->columns) return;
    m->posted = 0;
    // One to each rank below.
    for (const int first = m->edge; index < e->messages->count; index++) {
        m = &e->messages->list[index];
        if (m->receives || m->edge != first || m->down != down) return;
        if (m->started) note(e, MPI_Wait(&m->request, MPI_STATUS_IGNORE));
        copy(e, m);
        start(e, m);
    }
}

// --- The machine --------------------------------------------------------------------------------------------------------

static cal_status execute(cal_machine* base, const cal_plan* plan, cal_state* state, bool prepared) {
    mpi_machine* machine = (mpi_machine*)base;
    const cal_context* context = &state->context;
    mpi_exchange exchange = {.base = {.begin = begin_stage, .wait = wait, .post = post},
                             .plan = plan,
                             .context = context,
                             .state = state,
                             .comm = machine->comm,
                             .sums = cal_state_sums(state),
                             .all = state->counts + (size_t)machine->base.keep * CAL_COUNTS};
    if (plan->program->walked && plan->used > 1)
        cal_run_stages(plan, state, machine->base.keep, prepared, &exchange.base);
    else if (plan->layout->keep <= 0)
        // Everything is rank 0's; the others hold nothing and wait for what it shares. Or everything is everybody's.
        cal_execute_alone(plan, state, prepared);
    if (exchange.error != MPI_SUCCESS) return CAL_MACHINE_FAILED;
    // A constraint that cannot be met is one rank's to see, and everybody's to know.
    if (!plan->arrangement || !plan->arrangement->constrains) return CAL_OK;
    return MPI_Allreduce(MPI_IN_PLACE, &state->unmet, 1, MPI_INT, MPI_MAX, machine->comm) == MPI_SUCCESS
               ? CAL_OK
               : CAL_MACHINE_FAILED;
}

static cal_status share(cal_machine* base, double* values, int count) {
    mpi_machine* machine = (mpi_machine*)base;
    if (machine->board && count <= CAL_TOLD_NUMBERS) {
        cal_shared_window_tell(machine->board, values, count);
        return CAL_OK;
    }
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

static int board(const cal_machine* base) {
    return ((const mpi_machine*)base)->board != NULL ? (int)CAL_BOARD_NUMBERS : 0;
}

static cal_status deposit(cal_machine* base, size_t count, double*** all) {
    const mpi_machine* machine = (const mpi_machine*)base;
    *all = machine->board != NULL ? cal_shared_window_deposits(machine->board, count) : NULL;
    return *all != NULL ? CAL_OK : CAL_NOT_AVAILABLE;
}

static cal_status deliver(cal_machine* base, const double* const* out, const int* out_counts, double* const* in,
                          const int* in_counts) {
    enum { TAG = 1 };
    mpi_machine* machine = (mpi_machine*)base;
    int error = MPI_SUCCESS, count = 0;
    for (int p = 0; p < base->processors && error == MPI_SUCCESS; p++)
        if (in_counts[p] > 0)
            error = MPI_Irecv(in[p], in_counts[p], MPI_DOUBLE, p, TAG, machine->comm, &machine->requests[count++]);
    for (int p = 0; p < base->processors && error == MPI_SUCCESS; p++)
        if (out_counts[p] > 0)
            error = MPI_Isend(out[p], out_counts[p], MPI_DOUBLE, p, TAG, machine->comm, &machine->requests[count++]);
    // One by one: gcc 12 takes MPICH's MPI_STATUSES_IGNORE, which is an address, for an array without room.
    for (int i = 0; i < count && error == MPI_SUCCESS; i++) error = MPI_Wait(&machine->requests[i], MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS ? CAL_OK : CAL_MACHINE_FAILED;
}

// Numbers that are not this rank's to say: those of others, and of the trunk's copies after the first.
static void clear_others(const cal_layout* layout, bool is_q, double* values) {
    const int count = is_q ? layout->model->q_count : layout->model->v_count;
    const int32_t* position = is_q ? layout->q_position : layout->v_position;
    for (int i = 0; i < count; i++)
        if (position[i] < 0) values[i] = 0.0;
    for (int c = 0; layout->repeats && c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const int first = column->first_block * layout->width, lanes = column->block_count * layout->width;
        for (int i = first; column->repeated && i < first + lanes; i++) {
            if (layout->block_nodes[i] < 0) continue;
            const cal_node* node = &layout->model->nodes[layout->block_nodes[i]];
            memset(values + (is_q ? node->first_q : node->first_v), 0,
                   sizeof(double) * (size_t)(is_q ? cal_kind_q(node->kind) : cal_kind_v(node->kind)));
        }
    }
}

// Every number is one rank's; zeros elsewhere make a sum of it.
static cal_status collect_vector(mpi_machine* machine, const cal_layout* layout, bool is_q, double* values) {
    if (!values) return CAL_OK;
    const int count = is_q ? layout->model->q_count : layout->model->v_count;
    clear_others(layout, is_q, values);
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, machine->comm) == MPI_SUCCESS
               ? CAL_OK
               : CAL_MACHINE_FAILED;
}

static cal_status collect(cal_machine* base, const cal_plan* plan, double* q, double* v) {
    mpi_machine* machine = (mpi_machine*)base;
    const cal_layout* layout = plan->layout;
    const cal_status status = collect_vector(machine, layout, true, q);
    return status != CAL_OK ? status : collect_vector(machine, layout, false, v);
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
    const double edges = plan->arrangement ? plan->arrangement->tree.edge_count : 0.0;
    if (2.0 * (plan->layout->column_count + edges) > 2147483000.0) failed = 1; // tags
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
    cal_free(machine->requests);
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
                                        .board = board,
                                        .deposit = deposit,
                                        .deliver = deliver,
                                        .collect = collect};

cal_status cal_machine_mpi(MPI_Comm communicator, int lanes, cal_machine** out, cal_error* error) {
    int initialized = 0, finalized = 0, rank = 0, size = 0;
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_mpi: out must not be NULL");
    *out = NULL;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized)
        return cal_fail(error, CAL_BAD_ARGUMENT, "call cal_machine_mpi between MPI_Init and MPI_Finalize");
    if (communicator == MPI_COMM_NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_mpi: MPI_COMM_NULL has no ranks");
    mpi_machine* machine = cal_allocate(1, sizeof *machine);
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    // Ranks may run on different processors: all take what the least of them can do.
    int least = cal_best_lanes();
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, communicator);
    cal_status status = CAL_NO_MEMORY;
    if (machine) machine->requests = cal_allocate(2 * (size_t)size, sizeof *machine->requests);
    if (machine && machine->requests)
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
        if (machine) cal_free(machine->requests);
        cal_free(machine);
        return status;
    }
    machine->board = cal_shared_window_create(machine->comm);
    machine->base.keep = rank;
    // What is shown is read from memory that the ranks of one host share, as threads do; elsewhere it is a message of each.
    machine->base.costs =
        (cal_costs){.compute = 20e-9, .message = 6e-6, .read = machine->board ? 0.116e-6 : 0.5 * 6e-6, .to_all = true};
    *out = &machine->base;
    return CAL_OK;
}

cal_status cal_mpi_plan_traffic(const cal_plan* plan, cal_mpi_traffic* out) {
    if (!plan || !out || plan->machine->ops != &mpi_ops) return CAL_BAD_ARGUMENT;
    const mpi_machine* machine = (const mpi_machine*)plan->machine;
    int64_t sums[2] = {0, 0};
    const cal_shown* shown = plan->traffic ? plan->traffic->shown : NULL;
    for (int i = 0; shown && i < plan->stage_count; i++) {
        const cal_pass* up = plan->stages[i].up;
        if (!up || shown->most[up->for_solver] == 0) continue;
        sums[0]++;
        sums[1] +=
            (int64_t)sizeof(double) * shown->most[up->for_solver] * (up->for_solver ? CAL_MAX_SUMS : up->crosses);
    }
    for (int i = 0; plan->traffic && i < plan->stage_count; i++)
        for (int k = 0; k < plan->traffic->stages[i].count; k++) {
            const cal_message* m = &plan->traffic->stages[i].list[k];
            if (m->receives) continue;
            sums[0]++;
            sums[1] += m->size * (int64_t)sizeof(double);
        }
    if (MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, machine->comm) != MPI_SUCCESS)
        return CAL_MACHINE_FAILED;
    *out = (cal_mpi_traffic){.messages = sums[0], .bytes = sums[1]};
    return CAL_OK;
}
