// Machines from the command line, and the ranks of MPI.
#define _GNU_SOURCE
#include "machine.h"
#include "calder/calder_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CALDER_HAVE_MPI
#include "calder/calder_mpi.h"
#include <time.h>
#endif

#ifdef CALDER_HAVE_CUDA
#include "calder/calder_cuda.h"
#endif

enum { MOST_THREADS = 1024, MOST_DEVICES = 1024 };

int cal_core_count(void) {
    static int count = 0;
    cpu_set_t cores;
    if (count == 0) count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    return count;
}

// --- Ranks ------------------------------------------------------------------------------------------------------------

#ifdef CALDER_HAVE_MPI
// A nap in ns, and naps per second: time at the end of a run is counted in them, so that no clock changes it.
enum { NAP = 1000000, SECOND = 1000 };
// Seconds that a rank that failed leaves to the others to come to the end, and until one that is done says for whom it waits.
enum { PATIENCE = 10, SILENCE = 60 };
enum { DONE_TAG = 1 };

static bool ranks_started(void) {
    int started = 0, ended = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    return started && !ended;
}

static bool has_ranks(const char* text) { return strcmp(text, "mpi") == 0 || strncmp(text, "mpi,", 4) == 0; }

static bool asks_for_mpi(int argc, char** argv) {
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--machine=", 10) == 0 && has_ranks(argv[i] + 10)) return true;
        if (strcmp(argv[i], "--machine") == 0 && i + 1 < argc && has_ranks(argv[i + 1])) return true;
    }
    return false;
}

void cal_ranks_start(int* argc, char*** argv) {
    if (!asks_for_mpi(*argc, *argv)) return;
    // The viewer advances its run in a thread of its own.
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    // What fails on a rank is answered by all of them, see cal_ranks_agree.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (cal_is_first_rank()) return;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        MPI_Abort(MPI_COMM_WORLD, CAL_EXIT_FAILED);
}

bool cal_is_first_rank(void) {
    int rank = 0;
    if (ranks_started()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

int cal_ranks_agree(int status) {
    if (ranks_started()) MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return status;
}

void cal_ranks_tell(double* numbers, size_t count) {
    if (ranks_started()) MPI_Bcast(numbers, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

// Seconds after which a rank that is done waits for the others no longer, from the environment; 0: it waits as long as they take.
static double read_patience(void) {
    const char* text = getenv("CALDER_RANK_PATIENCE");
    char* end = NULL;
    if (!text || !text[0]) return 0.0;
    const double seconds = strtod(text, &end);
    if (*end == '\0' && seconds > 0.0 && seconds <= 1e6) return seconds;
    fprintf(stderr, "calder: CALDER_RANK_PATIENCE='%s' is not a number of seconds up to 1000000: it is left out\n",
            text);
    return 0.0;
}

// The first rank hears of each other one that has come to its end.
typedef struct roll {
    int rank, ranks, missing; // missing is known to the first one
    bool* here;               // NULL: there was no memory, and nobody is named
    MPI_Request said;
} roll;

static void open_roll(roll* r) {
    *r = (roll){.said = MPI_REQUEST_NULL};
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
    r->missing = r->ranks - 1;
    if (r->rank == 0)
        r->here = calloc((size_t)r->ranks, sizeof *r->here);
    else
        MPI_Isend(NULL, 0, MPI_BYTE, 0, DONE_TAG, MPI_COMM_WORLD, &r->said);
}

static void call_roll(roll* r) {
    int there = r->rank == 0;
    MPI_Status status;
    while (r->missing > 0 && there) {
        MPI_Iprobe(MPI_ANY_SOURCE, DONE_TAG, MPI_COMM_WORLD, &there, &status);
        if (!there) return;
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        r->missing--;
        if (r->here) r->here[status.MPI_SOURCE] = true;
    }
}

// All have come: what they said has been heard before MPI ends.
static void close_roll(roll* r) {
    for (; r->rank == 0 && r->missing > 0; r->missing--)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r->said, MPI_STATUS_IGNORE);
    free(r->here);
}

static void name_missing(const roll* r, const char* what) {
    int first = 1;
    while (r->here && first < r->ranks - 1 && r->here[first]) first++;
    if (r->here && r->missing > 1)
        fprintf(stderr, "calder: %s rank %d and %d more of %d\n", what, first, r->missing - 1, r->ranks);
    else if (r->here && r->missing == 1)
        fprintf(stderr, "calder: %s rank %d of %d\n", what, first, r->ranks);
    else
        fprintf(stderr, "calder: %s some of %d ranks\n", what, r->ranks);
}

int cal_ranks_finish(int status) {
    if (!ranks_started()) return status;
    // A rank that failed alone finds the others waiting for it somewhere else: then all must go.
    const int own = status;
    int together = status, done = 0;
    MPI_Request request;
    roll r;
    open_roll(&r);
    MPI_Iallreduce(&own, &together, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    // Who has failed is patient for a while. Who has not waits for as long as another one writes its files, or is held up, and says so: if
    // that one fails alone it is not waited for in vain. The first one, which can say why, is the first to give up.
    const double patience = own != CAL_EXIT_DONE ? PATIENCE : read_patience();
    const double most = SECOND * (patience + (r.rank > 0 ? 1.0 : 0.0));
    for (long naps = 0; !done; naps++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) break;
        call_roll(&r);
        if (patience > 0.0 && (double)naps >= most) {
            if (own == CAL_EXIT_DONE) name_missing(&r, "this run is done, and ends without");
            MPI_Abort(MPI_COMM_WORLD, own != CAL_EXIT_DONE ? own : CAL_EXIT_FAILED);
        }
        if (own == CAL_EXIT_DONE && naps == SILENCE * SECOND) name_missing(&r, "this run is done, and waits for");
        nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    }
    close_roll(&r);
    MPI_Finalize();
    return together;
}

bool cal_ranks_share(cal_run** run, cal_error* error) {
    int ranks = 1;
    cal_run* shared;
    if (ranks_started()) MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) return true;
    error->status = cal_run_create_ranks(MPI_COMM_WORLD, *run, &shared, error);
    if (error->status != CAL_OK) return false;
    *run = shared;
    return true;
}

void cal_ranks_follow(cal_run* run) { (void)cal_run_follow(run, NULL); }

bool cal_ranks_traffic(const cal_plan* plan, int64_t* messages, int64_t* bytes) {
    cal_mpi_traffic traffic = {0, 0};
    if (cal_mpi_plan_traffic(plan, &traffic) != CAL_OK) return false;
    *messages = traffic.messages, *bytes = traffic.bytes;
    return true;
}

static cal_status open_mpi(int lanes, cal_machine** out, cal_error* error) {
    return cal_machine_mpi(MPI_COMM_WORLD, lanes, out, error);
}

static int rank_here(void) {
    MPI_Comm here;
    int rank = 0;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS) return 0;
    MPI_Comm_rank(here, &rank);
    MPI_Comm_free(&here);
    return rank;
}
#else
void cal_ranks_start(int* argc, char*** argv) {
    (void)argc;
    (void)argv;
}
int cal_ranks_finish(int status) { return status; }
bool cal_is_first_rank(void) { return true; }
bool cal_ranks_share(cal_run** run, cal_error* error) {
    (void)run, (void)error;
    return true;
}
void cal_ranks_follow(cal_run* run) { (void)run; }
int cal_ranks_agree(int status) { return status; }
void cal_ranks_tell(double* numbers, size_t count) { (void)numbers, (void)count; }
bool cal_ranks_traffic(const cal_plan* plan, int64_t* messages, int64_t* bytes) {
    (void)plan, (void)messages, (void)bytes;
    return false;
}
static cal_status open_mpi(int lanes, cal_machine** out, cal_error* error) {
    (void)lanes;
    *out = NULL;
    snprintf(error->text, sizeof error->text, "--machine 'mpi' was left out of this build: no MPI was found");
    return CAL_NOT_AVAILABLE;
}
static int rank_here(void) { return 0; }
#endif

// --- GPUs -------------------------------------------------------------------------------------------------------------

enum { ANY_DEVICE = MOST_DEVICES };

// Of "cuda:N"; ANY_DEVICE of "cuda"; -1: another text.
static int device_number(const char* text) {
    char* end;
    if (strcmp(text, "cuda") == 0) return ANY_DEVICE;
    if (strncmp(text, "cuda:", 5) != 0 || text[5] < '0' || text[5] > '9') return -1;
    const long number = strtol(text + 5, &end, 10);
    return *end == '\0' && number < MOST_DEVICES ? (int)number : -1;
}

#ifdef CALDER_HAVE_CUDA
static cal_status open_cuda(int number, cal_machine** out, cal_error* error) {
    cal_cuda_def def = cal_default_cuda_def();
    if (number != ANY_DEVICE) def.device = number;
    return cal_machine_cuda(&def, out, error);
}

// The ranks of a computer take its devices in turn.
static int own_device(int rank) { return cal_cuda_device_count() > 0 ? rank % cal_cuda_device_count() : 0; }
#else
static cal_status open_cuda(int number, cal_machine** out, cal_error* error) {
    (void)number;
    *out = NULL;
    snprintf(error->text, sizeof error->text, "--machine 'cuda' was left out of this build: no nvcc was found");
    return CAL_NOT_AVAILABLE;
}
static int own_device(int rank) { return rank; }
#endif

// --- Machines ---------------------------------------------------------------------------------------------------------

// Ranks with a device each: what one of them cannot open none has.
static cal_status open_both(int number, cal_machine** out, cal_error* error) {
    cal_machine* device = NULL;
    cal_status status = open_mpi(0, out, error);
    if (status) return status;
    if (number == ANY_DEVICE) number = own_device(rank_here());
    status = open_cuda(number, &device, error);
    if (!status) status = cal_machine_nest(*out, device, error);
    const bool nested = status == CAL_OK;
    if (cal_ranks_agree(status != CAL_OK) && !status) {
        status = CAL_NOT_AVAILABLE;
        snprintf(error->text, sizeof error->text, "another rank cannot open its device");
    }
    if (!status) return CAL_OK;
    if (!nested) cal_machine_destroy(device);
    cal_machine_destroy(*out);
    *out = NULL;
    return status;
}

int cal_machine_open(const char* text, const char* lanes, const cal_placement* placement, cal_machine** out) {
    const bool placed = placement && placement->processor_of_joint;
    const int width = atoi(lanes);
    cal_threads_def def = cal_default_threads_def();
    def.lanes = width;
    cal_error error = {CAL_OK, ""};
    *out = NULL;
    if (!text && placed && placement->processors > MOST_THREADS)
        return cal_complain(CAL_EXIT_MISTAKE, "the placement wants %d processors; there are at most %d threads",
                            placement->processors, MOST_THREADS);
    if (!text && placed) {
        def.workers = placement->processors;
        error.status = cal_machine_threads(&def, out, &error);
    } else if (text && strcmp(text, "mpi") == 0) {
        error.status = open_mpi(width, out, &error);
    } else if (text && strncmp(text, "mpi,", 4) == 0 && device_number(text + 4) >= 0) {
        if (width != 0 && width != 32)
            return cal_complain(CAL_EXIT_MISTAKE, "--lanes %d: --machine '%s' has 32", width, text);
        error.status = open_both(device_number(text + 4), out, &error);
    } else if (text && device_number(text) >= 0) {
        if (width != 0 && width != 32)
            return cal_complain(CAL_EXIT_MISTAKE, "--lanes %d: --machine '%s' has 32", width, text);
        error.status = open_cuda(device_number(text), out, &error);
    } else {
        error.status = cal_machine_from_text(text ? text : "serial", width, out, &error);
        if (error.status == CAL_BAD_ARGUMENT && strncmp(error.text, "machine", 7) == 0)
            return cal_complain(CAL_EXIT_MISTAKE, "--%s; and mpi, cuda[:N] and mpi,cuda[:N]", error.text);
    }
    if (error.status != CAL_OK) return cal_complain_error(&error);
    if (!placed || placement->processors <= cal_machine_processors(*out)) return CAL_EXIT_DONE;
    const int processors = cal_machine_processors(*out);
    cal_machine_destroy(*out);
    *out = NULL;
    return cal_complain(CAL_EXIT_MISTAKE, "the placement wants %d processors, but --machine '%s' has %d",
                        placement->processors, text, processors);
}

const char* cal_machine_describe(const cal_machine* machine, int used, char* text, size_t capacity) {
    return cal_machine_text(machine, used, text, capacity);
}
