// A run that several ranks do together, and that one of them is asked about.
//
//     first rank    advance to 0.5 ──▸ tell the others ──▸ advance to 0.5 ─┐ messages of the plan
//     other ranks   wait for a word ──────────────────────▸ advance to 0.5 ─┘
//
// Every rank has a run of its own, of the same model on the same machine, and every call that may exchange messages is made by all
// of them with the same arguments, as calder_mpi.h wants it. So a hand on the first rank's page pulls on all ranks, and acts where
// the body's owner is. Looking at q, v, settings and names needs nobody else. A rank that waits sleeps: nothing may happen for long.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_mpi.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/run.h"

enum { NAPLESS = 2000 };           // looks before a rank sleeps between them
static const long NAP = 200000;    // ns
static const int WORD_BYTES = 256; // room for a word

typedef enum word_kind {
    ADVANCE,
    HASH,
    POSES,
    READ,
    ENERGY,
    FORCES,
    SET,
    DRIVE,
    RESET,
    CONNECT,
    DISCONNECT,
    GRAB,
    DRAG,
    DROP,
    END
} word_kind;

// What the first rank does next.
typedef struct word {
    word_kind kind;
    int number, how;    // body or constraint; how it is connected
    bool first, second; // of two arrays: whether they are given; they follow
    double time;
    double vector[3];
} word;

typedef struct ranks_run {
    cal_run base;
    cal_run* inner;
    MPI_Comm communicator;
    bool leads;
    double* numbers; // what is written on the other ranks, and read by nobody; also arrays on their way
} ranks_run;

static cal_run* inner_of(const cal_run* run) { return ((const ranks_run*)run)->inner; }

// --- The first rank -------------------------------------------------------------------------------------------------------------

static void tell(const cal_run* run, word what) {
    const ranks_run* r = (const ranks_run*)run;
    unsigned char bytes[256] = {0};
    MPI_Request request;
    memcpy(bytes, &what, sizeof what);
    MPI_Ibcast(bytes, WORD_BYTES, MPI_BYTE, 0, r->communicator, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void tell_numbers(const cal_run* run, const double* numbers, int count) {
    if (numbers) MPI_Bcast((double*)(uintptr_t)numbers, count, MPI_DOUBLE, 0, ((const ranks_run*)run)->communicator);
}

static void destroy(cal_run* run) {
    ranks_run* r = (ranks_run*)run;
    if (r->leads) tell(run, (word){.kind = END});
    cal_run_destroy(r->inner);
    MPI_Comm_free(&r->communicator);
    cal_free(r->numbers);
    cal_free(r);
}

static double time_of(const cal_run* run) { return cal_run_time(inner_of(run)); }

static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    tell(run, (word){.kind = ADVANCE, .time = time});
    return cal_run_approach(inner_of(run), time, reached, error);
}

static uint64_t hash(cal_run* run) {
    tell(run, (word){.kind = HASH});
    return cal_run_hash(inner_of(run));
}

static const char* body_name(const cal_run* run, int body, char* text, size_t capacity) {
    return cal_run_body_name(inner_of(run), body, text, capacity);
}

static bool shapes(const cal_run* run, cal_shape_visitor* visit, void* user) {
    return cal_run_shapes(inner_of(run), visit, user);
}

static cal_status poses(cal_run* run, double* out) {
    tell(run, (word){.kind = POSES});
    return cal_run_poses(inner_of(run), out, NULL);
}

static cal_status read_channels(cal_run* run, double* values) {
    tell(run, (word){.kind = READ});
    return cal_run_read(inner_of(run), values, NULL);
}

static void report(cal_run* run, cal_facts* facts) { cal_run_report(inner_of(run), facts); }
static cal_body_motion motion(const cal_run* run, int body) { return cal_run_body_motion(inner_of(run), body); }
static const double* q_of(const cal_run* run) { return cal_run_q(inner_of(run)); }
static const double* v_of(const cal_run* run) { return cal_run_v(inner_of(run)); }

static cal_status energy(cal_run* run, double out[2]) {
    tell(run, (word){.kind = ENERGY});
    return cal_run_energy(inner_of(run), out, NULL);
}

static cal_status joint_forces(cal_run* run, double* out) {
    tell(run, (word){.kind = FORCES});
    return cal_run_joint_forces(inner_of(run), out, NULL);
}

static cal_status set(cal_run* run, double time, const double* q, const double* v, cal_error* error) {
    tell(run, (word){.kind = SET, .time = time, .first = q, .second = v});
    tell_numbers(run, q, cal_model_q_count(run->model));
    tell_numbers(run, v, cal_model_v_count(run->model));
    return cal_run_set(inner_of(run), time, q, v, error);
}

static cal_status drive(cal_run* run, const double* tau, const double* control, cal_error* error) {
    tell(run, (word){.kind = DRIVE, .first = tau, .second = control});
    tell_numbers(run, tau, cal_model_v_count(run->model));
    tell_numbers(run, control, cal_model_actuator_count(run->model));
    return cal_run_drive(inner_of(run), tau, control, error);
}

static cal_status reset(cal_run* run, cal_error* error) {
    tell(run, (word){.kind = RESET});
    return cal_run_reset(inner_of(run), error);
}

static cal_status connect_constraint(cal_run* run, int constraint, cal_connection how, cal_error* error) {
    tell(run, (word){.kind = CONNECT, .number = constraint, .how = (int)how});
    return cal_run_connect(inner_of(run), constraint, how, error);
}

static cal_status disconnect(cal_run* run, int constraint, cal_error* error) {
    tell(run, (word){.kind = DISCONNECT, .number = constraint});
    return cal_run_disconnect(inner_of(run), constraint, error);
}

static void settings(const cal_run* run, cal_run_settings* out) { cal_run_get_settings(inner_of(run), out); }

static cal_status grab(cal_run* run, int body, const double point[3], cal_error* error) {
    tell(run, (word){.kind = GRAB, .number = body, .vector = {point[0], point[1], point[2]}});
    return cal_run_grab(inner_of(run), body, point, error);
}

static void drag(cal_run* run, const double target[3]) {
    tell(run, (word){.kind = DRAG, .vector = {target[0], target[1], target[2]}});
    cal_run_drag(inner_of(run), target);
}

static void drop(cal_run* run) {
    tell(run, (word){.kind = DROP});
    cal_run_drop(inner_of(run));
}

static void pull(const cal_run* run, cal_run_pull* out) { cal_run_get_pull(inner_of(run), out); }

static void describe(cal_run* run, int body, FILE* file) {
    const cal_run* inner = inner_of(run);
    inner->ops->describe(inner_of(run), body, file);
}

static void advise(const cal_run* run, double pace, FILE* file) {
    const cal_run* inner = inner_of(run);
    if (inner->ops->advise) inner->ops->advise(inner, pace, file);
}

// --- The others -----------------------------------------------------------------------------------------------------------------

static word hear(const ranks_run* r) {
    unsigned char bytes[256];
    MPI_Request request;
    word heard;
    int done = 0;
    MPI_Ibcast(bytes, WORD_BYTES, MPI_BYTE, 0, r->communicator, &request);
    for (int looks = 0; !done; looks++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && looks > NAPLESS) nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    }
    memcpy(&heard, bytes, sizeof heard);
    return heard;
}

static const double* hear_numbers(const ranks_run* r, bool given, double* into, int count) {
    if (!given) return NULL;
    MPI_Bcast(into, count, MPI_DOUBLE, 0, r->communicator);
    return into;
}

// What a rank does that is asked for nothing: the same, and the first rank says how it ended.
static void follow(ranks_run* r, const word* w) {
    const cal_model* model = r->base.model;
    cal_run* inner = r->inner;
    double* second = r->numbers + cal_model_q_count(model) + cal_model_v_count(model);
    double few[CAL_RUN_CHANNELS];
    bool reached;
    const double *a, *b;
    switch (w->kind) {
    case ADVANCE: (void)cal_run_approach(inner, w->time, &reached, NULL); break;
    case HASH: (void)cal_run_hash(inner); break;
    case POSES: (void)cal_run_poses(inner, r->numbers, NULL); break;
    case READ: (void)cal_run_read(inner, few, NULL); break;
    case ENERGY: (void)cal_run_energy(inner, few, NULL); break;
    case FORCES: (void)cal_run_joint_forces(inner, r->numbers, NULL); break;
    case SET:
        a = hear_numbers(r, w->first, r->numbers, cal_model_q_count(model));
        b = hear_numbers(r, w->second, second, cal_model_v_count(model));
        (void)cal_run_set(inner, w->time, a, b, NULL);
        break;
    case DRIVE:
        a = hear_numbers(r, w->first, r->numbers, cal_model_v_count(model));
        b = hear_numbers(r, w->second, second, cal_model_actuator_count(model));
        (void)cal_run_drive(inner, a, b, NULL);
        break;
    case RESET: (void)cal_run_reset(inner, NULL); break;
    case CONNECT: (void)cal_run_connect(inner, w->number, (cal_connection)w->how, NULL); break;
    case DISCONNECT: (void)cal_run_disconnect(inner, w->number, NULL); break;
    case GRAB: (void)cal_run_grab(inner, w->number, w->vector, NULL); break;
    case DRAG: cal_run_drag(inner, w->vector); break;
    case DROP: cal_run_drop(inner); break;
    case END: break;
    }
}

// --- Making one -----------------------------------------------------------------------------------------------------------------

static const cal_run_ops ranks_ops = {.kind = "a simulation on ranks",
                                      .destroy = destroy,
                                      .time = time_of,
                                      .advance = advance,
                                      .hash = hash,
                                      .body_name = body_name,
                                      .shapes = shapes,
                                      .poses = poses,
                                      .read = read_channels,
                                      .report = report,
                                      .motion = motion,
                                      .q = q_of,
                                      .v = v_of,
                                      .energy = energy,
                                      .joint_forces = joint_forces,
                                      .set = set,
                                      .drive = drive,
                                      .connect = connect_constraint,
                                      .disconnect = disconnect,
                                      .reset = reset,
                                      .settings = settings,
                                      .grab = grab,
                                      .drag = drag,
                                      .drop = drop,
                                      .pull = pull,
                                      .describe = describe,
                                      .advise = advise};

cal_status cal_run_create_ranks(MPI_Comm communicator, cal_run* inner, cal_run** out, cal_error* error) {
    _Static_assert(sizeof(word) <= 256, "a word has its room");
    if (!inner || !out || communicator == MPI_COMM_NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_create_ranks: there must be a communicator, a run and out");
    *out = NULL;
    const cal_model* model = cal_run_model(inner);
    if (!model || !cal_run_can(inner, CAL_RUN_GRAB) || !cal_run_can(inner, CAL_RUN_STATE))
        return cal_fail(error, CAL_NOT_AVAILABLE, "%s cannot be shared by ranks; a simulation of one model can",
                        cal_run_kind(inner));
    ranks_run* r = cal_allocate(1, sizeof *r);
    const size_t poses = 7 * (size_t)cal_run_body_count(inner), forces = 6 * (size_t)cal_model_joint_count(model);
    const size_t states = 2 * (size_t)cal_model_q_count(model) + 2 * (size_t)cal_model_v_count(model) +
                          (size_t)cal_model_actuator_count(model);
    if (r) r->numbers = cal_allocate(poses + forces + states + 1, sizeof *r->numbers);
    // All ranks have one, or none has: what comes next is done by all of them.
    int rank = 0, failed = !r || !r->numbers;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, communicator);
    if (!r || failed || MPI_Comm_dup(communicator, &r->communicator) != MPI_SUCCESS) {
        if (r) cal_free(r->numbers);
        cal_free(r);
        return failed ? cal_fail(error, CAL_NO_MEMORY, "no memory for a run on ranks")
                      : cal_fail(error, CAL_MACHINE_FAILED, "the communicator could not be duplicated");
    }
    MPI_Comm_rank(r->communicator, &rank);
    r->leads = rank == 0;
    r->inner = inner;
    r->base = (cal_run){.ops = &ranks_ops, .model = model, .body_count = cal_run_body_count(inner)};
    r->base.channels = cal_run_channels(inner, &r->base.channel_count);
    r->base.grain = cal_run_grain(inner);
    *out = &r->base;
    return CAL_OK;
}

cal_status cal_run_follow(cal_run* run, cal_error* error) {
    if (!run || run->ops != &ranks_ops)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_follow: the run must be one of cal_run_create_ranks");
    ranks_run* r = (ranks_run*)run;
    if (r->leads) return cal_fail(error, CAL_BAD_ARGUMENT, "the first rank follows nobody");
    for (word w = hear(r); w.kind != END; w = hear(r)) follow(r, &w);
    return CAL_OK;
}
