// Clocks that jump: loaded before the C library (LD_PRELOAD) it moves every clock by an hour, on or back, each few times that somebody looks,
// as clocks of virtual machines jump that are stopped and moved. No hash depends on them, and nothing waits for the hour to pass
// (scripts/faults: clocks).
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STEADY = 8, HOUR = 3600 };

int clock_gettime(clockid_t clock, struct timespec* now) {
    static atomic_uint_fast64_t looks;
    const long status = syscall(SYS_clock_gettime, clock, now);
    // Which of three hours it is: Weyl's sequence decides.
    const uint64_t word = (atomic_fetch_add(&looks, 1) / STEADY) * UINT64_C(0x9e3779b97f4a7c15);
    now->tv_sec += HOUR * (time_t)((word >> 40) % 3);
    return (int)status;
}
