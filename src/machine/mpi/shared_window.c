// Memory that the ranks of one host share (shared_window.h).
#define _DEFAULT_SOURCE
#include "machine/mpi/shared_window.h"
#include "base/memory.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_LINE = 64, SPINS_BEFORE_YIELD = 20000, SPINS_WHEN_CROWDED = 8 };
// How often one looks before its own messages get on.
enum { LOOKS_PER_PROGRESS = 256 };
// Numbers that are asked for ahead: while they are read, processors see that more follow.
enum { FETCHED = 1024 };

typedef struct place {
    _Alignas(CACHE_LINE) atomic_uint filled;
    _Alignas(CACHE_LINE) atomic_uint heard; // of rank 0's: told
    _Alignas(CACHE_LINE) double told[2][CAL_TOLD_NUMBERS];
    _Alignas(CACHE_LINE) double slots[2][CAL_BOARD_NUMBERS];
} place;

struct cal_shared_window {
    MPI_Comm comm;
    MPI_Win window;
    place** places; // of all ranks, as this one sees them
    MPI_Win deposit_window;
    double** deposits; // alike
    size_t deposit_room;
    int rank, ranks, patience;
};

void cal_shared_window_destroy(cal_shared_window* board) {
    if (!board) return;
    if (board->window != MPI_WIN_NULL) MPI_Win_free(&board->window);
    if (board->deposit_window != MPI_WIN_NULL) MPI_Win_free(&board->deposit_window);
    cal_free(board->places);
    cal_free(board->deposits);
    cal_free(board);
}

static bool same_host(MPI_Comm comm) {
    MPI_Comm host = MPI_COMM_NULL;
    int all = 0, near = 0;
    MPI_Comm_size(comm, &all);
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS) return false;
    MPI_Comm_size(host, &near);
    MPI_Comm_free(&host);
    return near == all;
}

static bool share(MPI_Comm comm, size_t bytes, MPI_Win* window) {
    MPI_Info info;
    void* base = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true"); // every rank's own pages
    const int status =
        MPI_Win_allocate_shared((MPI_Aint)(bytes + CACHE_LINE), CACHE_LINE, info, comm, (void*)&base, window);
    MPI_Info_free(&info);
    if (status != MPI_SUCCESS) *window = MPI_WIN_NULL;
    return status == MPI_SUCCESS;
}

// Memory of a rank's begins where the library likes, which may be some bytes behind the beginning of a page: what is used begins with the next cache line. NULL:
// there are not so many bytes.
static void* find(MPI_Win window, int rank, size_t bytes) {
    MPI_Aint size = 0;
    int unit = 0;
    char* first = NULL;
    if (MPI_Win_shared_query(window, rank, &size, &unit, (void*)&first) != MPI_SUCCESS) return NULL;
    const size_t before = (CACHE_LINE - (uintptr_t)first % CACHE_LINE) % CACHE_LINE;
    return (size_t)size < bytes + before ? NULL : first + before;
}

static bool find_places(cal_shared_window* board, MPI_Comm comm) {
    if (!share(comm, sizeof(place), &board->window)) return false;
    for (int r = 0; r < board->ranks; r++)
        if ((board->places[r] = find(board->window, r, sizeof(place))) == NULL) return false;
    atomic_store(&board->places[board->rank]->heard, 0);
    atomic_store(&board->places[board->rank]->filled, (unsigned)board->rank + 1);
    return true;
}

// Whether all places are those of their ranks: pages may be mapped to other addresses there.
static bool are_theirs(const cal_shared_window* board) {
    bool theirs = true;
    for (int r = 0; r < board->ranks; r++) theirs &= atomic_load(&board->places[r]->filled) == (unsigned)r + 1;
    return theirs;
}

static void agree(int* able, MPI_Comm comm) { MPI_Allreduce(MPI_IN_PLACE, able, 1, MPI_INT, MPI_MIN, comm); }

cal_shared_window* cal_shared_window_create(MPI_Comm comm) {
    int able = same_host(comm);
    cal_shared_window* board = able ? cal_allocate(1, sizeof *board) : NULL;
    if (board) {
        board->comm = comm;
        board->window = board->deposit_window = MPI_WIN_NULL;
        MPI_Comm_rank(comm, &board->rank);
        MPI_Comm_size(comm, &board->ranks);
        const bool crowded = board->ranks > sysconf(_SC_NPROCESSORS_ONLN);
        board->patience = crowded ? SPINS_WHEN_CROWDED : SPINS_BEFORE_YIELD;
        board->places = cal_allocate((size_t)board->ranks, sizeof *board->places);
        board->deposits = cal_allocate((size_t)board->ranks, sizeof *board->deposits);
    }
    // What one cannot do none does; nobody looks before all places are there, or fills one before all have looked.
    able = board && board->places && board->deposits;
    agree(&able, comm);
    if (able && board) {
        able = find_places(board, comm);
        agree(&able, comm);
    }
    if (able && board) {
        able = are_theirs(board);
        agree(&able, comm);
    }
    if (able && board) {
        atomic_store(&board->places[board->rank]->filled, 0);
        agree(&able, comm);
    }
    if (able) return board;
    cal_shared_window_destroy(board);
    return NULL;
}

// A message that was sent and not waited for may need its sender: MPI sends what is left of it while something is asked of MPI, and who is waited
// for here may wait for that message. What is asked for is a message to oneself, which there never is: one that is there would be the answer
// without more ado.
static void let_messages_travel(const cal_shared_window* board) {
    int there;
    MPI_Iprobe(board->rank, 0, board->comm, &there, MPI_STATUS_IGNORE);
}

static void wait_for(const cal_shared_window* board, const atomic_uint* count, unsigned number) {
    for (unsigned looks = 1; (int)(atomic_load_explicit(count, memory_order_acquire) - number) < 0; looks++) {
        const bool yields = looks > (unsigned)board->patience;
        if (yields) sched_yield();
        if (yields || looks % LOOKS_PER_PROGRESS == 0) let_messages_travel(board);
    }
}

void cal_shared_window_tell(cal_shared_window* board, double* values, int count) {
    place *mine = board->places[board->rank], *first = board->places[0];
    const unsigned number = atomic_load_explicit(&mine->heard, memory_order_relaxed) + 1;
    double* slot = first->told[number % 2];
    if (board->rank > 0) {
        wait_for(board, &first->heard, number);
        memcpy(values, slot, (size_t)count * sizeof *values);
    } else {
        // The last one but one is in the slot: all have it.
        for (int r = 1; r < board->ranks; r++) wait_for(board, &board->places[r]->heard, number - 2);
        memcpy(slot, values, (size_t)count * sizeof *values);
    }
    atomic_store_explicit(&mine->heard, number, memory_order_release);
}

void cal_shared_window_gather(cal_shared_window* board, const double* own, int count, const double** all) {
    place* mine = board->places[board->rank];
    const unsigned number = atomic_load_explicit(&mine->filled, memory_order_relaxed) + 1;
    memcpy(mine->slots[number % 2], own, (size_t)count * sizeof *own);
    atomic_store_explicit(&mine->filled, number, memory_order_release);
    for (int r = 0; r < board->ranks; r++) {
        const place* other = board->places[r];
        wait_for(board, &other->filled, number);
        all[r] = other->slots[number % 2];
        for (int i = 0; i < count && i < FETCHED; i += CACHE_LINE / (int)sizeof(double)) __builtin_prefetch(all[r] + i);
    }
}

double** cal_shared_window_deposits(cal_shared_window* board, size_t count) {
    if (count <= board->deposit_room) return board->deposits;
    const size_t room = count + count / 2;
    board->deposit_room = 0;
    if (board->deposit_window != MPI_WIN_NULL) MPI_Win_free(&board->deposit_window);
    int able =
        room < SIZE_MAX / sizeof(double) / 2 && share(board->comm, room * sizeof(double), &board->deposit_window);
    for (int r = 0; able && r < board->ranks; r++)
        able = (board->deposits[r] = find(board->deposit_window, r, room * sizeof(double))) != NULL;
    agree(&able, board->comm);
    if (!able) return NULL;
    board->deposit_room = room;
    return board->deposits;
}
