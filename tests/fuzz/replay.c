// Runs a fuzz target over the files of a folder, without libFuzzer: each as it is, cut off anywhere, and with single bytes changed.
//
//     replay_mjcf FOLDER [VARIANTS [SECONDS [FINDING [SEED]]]]
//
// VARIANTS: of each file, 240. SECONDS: of random changes on top (bytes, runs of them, parts of other inputs), which begin at SEED or at
// the time of day: a fuzzer for compilers without one. They are the processor's, or twice as many of the clock; every 30 of the clock a
// line says how many inputs there were. Where the compiler tells which ways were taken (gcc's -fsanitize-coverage=trace-pc) an input that
// took a new one is kept, and changed further. The input that ends the process, or takes too long, is in the file FINDING, last-input.
#define _POSIX_C_SOURCE 200809L
#include "change.h"
#include "fuzz.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// PATIENCE: seconds of processor time of the thread that has an input, and of all threads on each core.
enum { LARGEST = 1 << 20, KEPT_LARGEST = 8192, MOST_FILES = 4000, WAYS = 1 << 16, PATIENCE = 25 };

typedef struct input {
    uint8_t* bytes;
    size_t count;
} input;

static input files[MOST_FILES];
static int file_count;
static uint64_t state = 1;

static size_t below(size_t n) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n > 0 ? (size_t)(state >> 33) % n : 0;
}

// How often each piece of code ran with the input that is tried, and, as powers of two, how often at most with those before it.
// Threads of a target count side by side: a count that is lost hides a way once.
static uint8_t runs[WAYS], most_runs[WAYS];

void __sanitizer_cov_trace_pc(void); // which the compiler calls
void __sanitizer_cov_trace_pc(void) {
    const uint64_t where = (uint64_t)(uintptr_t)__builtin_return_address(0) * UINT64_C(0x9e3779b97f4a7c15);
    uint8_t* const count = &runs[where >> 48];
    if (*count < UINT8_MAX) ++*count;
}

static bool took_new_way(void) {
    bool is_new = false;
    for (int i = 0; i < WAYS; i++) {
        if (runs[i] == 0) continue;
        const uint8_t power = (uint8_t)(8 * (int)sizeof(unsigned) - __builtin_clz(runs[i]));
        if (power <= most_runs[i]) continue;
        most_runs[i] = power;
        is_new = true;
    }
    return is_new;
}

static void give_up(int signal) {
    (void)signal;
    static const char text[] = "the input takes more than 25 s of processor time of a core\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

// Time is the processor's: cores may be busy. An input may ask for threads, as many as there are cores.
static void watch_time(void) {
    static timer_t own;
    static bool ready;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct itimerval all = {.it_value = {.tv_sec = PATIENCE * (cores > 0 ? cores : 1)}};
    const struct itimerspec patience = {.it_value = {.tv_sec = PATIENCE}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    if (!ready && timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &own) != 0) abort();
    ready = true;
    if (timer_settime(own, 0, &patience, NULL) != 0 || setitimer(ITIMER_PROF, &all, NULL) != 0) abort();
}

// A copy of exactly that size, so that a sanitizer sees what is read beyond it.
static void try_bytes(const uint8_t* bytes, size_t count) {
    uint8_t* copy = malloc(count > 0 ? count : 1);
    if (copy == NULL) abort();
    memcpy(copy, bytes, count);
    memset(runs, 0, sizeof runs);
    watch_time();
    LLVMFuzzerTestOneInput(copy, count);
    free(copy);
}

static void try_variants(const input* in, int variants) {
    const int cuts = variants / 6;
    try_bytes(in->bytes, in->count);
    for (int i = 0; i < cuts; i++) try_bytes(in->bytes, in->count * (size_t)i / (size_t)cuts);
    for (int i = cuts; i < variants && in->count > 0; i++) {
        const size_t at = below(in->count);
        const uint8_t kept = in->bytes[at];
        in->bytes[at] = (uint8_t)below(256);
        try_bytes(in->bytes, in->count);
        in->bytes[at] = kept;
    }
}

// A few changes of bytes, which know nothing of what they mean.
size_t LLVMFuzzerMutate(uint8_t* out, size_t count, size_t room) {
    static const char* const words[] = {"0",       "-1",  "1e9", "1e-9",       "1e308",
                                        "-1e-308", "nan", "inf", "2147483647", "4294967296"};
    for (size_t k = 1 + below(6); k > 0 && count > 0 && count + 64 <= room; k--) {
        const size_t at = below(count), length = 1 + below(count - at < 64 ? count - at : 64);
        const input* other = &files[below((size_t)file_count)];
        const char* word;
        switch (below(5)) {
        case 0: out[at] = (uint8_t)below(256); break;
        case 1: // left out
            memmove(out + at, out + at + length, count - at - length);
            count -= length;
            break;
        case 2: // twice
            memmove(out + at + length, out + at, count - at);
            count += length;
            break;
        case 3: // a number that nobody means
            word = words[below(sizeof words / sizeof words[0])];
            for (size_t i = 0; word[i] != '\0' && at + i < count; i++) out[at + i] = (uint8_t)word[i];
            break;
        default: // of another input
            if (other->count == 0) break;
            for (size_t i = 0, from = below(other->count); i < length && from + i < other->count; i++)
                out[at + i] = other->bytes[from + i];
        }
    }
    return count;
}

// Which a target has that knows its inputs' form.
#pragma weak LLVMFuzzerCustomMutator

// One of the files, changed; the room is twice the largest.
static size_t change(uint8_t* out) {
    const input* in = &files[below((size_t)file_count)];
    memcpy(out, in->bytes, in->count);
    if (LLVMFuzzerCustomMutator != NULL)
        return LLVMFuzzerCustomMutator(out, in->count, in->count > KEPT_LARGEST ? LARGEST : KEPT_LARGEST,
                                       (unsigned)below(UINT32_MAX));
    return LLVMFuzzerMutate(out, in->count, LARGEST + 64);
}

static void keep(const uint8_t* bytes, size_t count) {
    input* in = &files[file_count++];
    in->bytes = malloc(count > 0 ? count : 1);
    if (in->bytes == NULL) abort();
    memcpy(in->bytes, bytes, count);
    in->count = count;
}

static bool load(const char* path, uint8_t* room) {
    FILE* file = fopen(path, "rb");
    if (file == NULL || file_count == MOST_FILES) return fprintf(stderr, "cannot open %s\n", path), false;
    keep(room, fread(room, 1, LARGEST, file));
    fclose(file);
    return true;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Changed copies of what is kept, for some seconds.
static void fuzz(double seconds, const char* finding, uint8_t* room) {
    const int first = file_count;
    long tried = 0;
    // Ways that the files take are no news.
    for (int i = 0; i < first; i++) {
        try_bytes(files[i].bytes, files[i].count);
        took_new_way();
    }
    const double end = seconds_of(CLOCK_MONOTONIC) + 2 * seconds;
    const double processor_end = seconds_of(CLOCK_PROCESS_CPUTIME_ID) + seconds;
    double now, told = seconds_of(CLOCK_MONOTONIC);
    for (; seconds_of(CLOCK_PROCESS_CPUTIME_ID) < processor_end && (now = seconds_of(CLOCK_MONOTONIC)) < end; tried++) {
        // So that little is lost where somebody ends it.
        if (now >= told + 30) {
            dprintf(STDERR_FILENO, "%ld inputs, %.0f s\n", tried, seconds_of(CLOCK_PROCESS_CPUTIME_ID));
            told = now;
        }
        const size_t count = change(room);
        // What ends the process is found here.
        FILE* last = fopen(finding, "wb");
        if (last == NULL || fwrite(room, 1, count, last) != count || fclose(last) != 0) abort();
        try_bytes(room, count);
        if (took_new_way() && count <= KEPT_LARGEST && file_count < MOST_FILES) keep(room, count);
    }
    remove(finding);
    dprintf(STDERR_FILENO, "%ld inputs, %d of them on new ways\n", tried,
            file_count - first); // a target may have silenced stderr
}

int main(int argc, char** argv) {
    struct dirent** entries;
    // In the order of their names: one seed makes one sequence of inputs.
    const int entry_count = argc >= 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    if (entry_count < 0) return fprintf(stderr, "usage: %s FOLDER [VARIANTS [SECONDS [FINDING [SEED]]]]\n", argv[0]), 2;
    uint8_t* room = malloc(2 * LARGEST);
    if (room == NULL || signal(SIGPROF, give_up) == SIG_ERR) abort();
    bool good = true;
    for (int i = 0; i < entry_count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') good = load(path, room) && good;
        free(entries[i]);
    }
    free(entries);
    const int count = file_count;
    for (int i = 0; i < count; i++) try_variants(&files[i], argc > 2 ? atoi(argv[2]) : 240);
    if (argc > 3 && count > 0) {
        state = argc > 5 ? strtoull(argv[5], NULL, 10) : (uint64_t)time(NULL);
        dprintf(STDERR_FILENO, "seed %llu\n", (unsigned long long)state);
        fuzz(atof(argv[3]), argc > 4 ? argv[4] : "last-input", room);
    }
    dprintf(STDERR_FILENO, "%d files\n", count);
    free(room);
    for (int i = 0; i < file_count; i++) free(files[i].bytes);
    return good && count > 0 ? 0 : 1;
}
