// Runs a fuzz target over the files of a folder, without libFuzzer: each as it is, cut off anywhere, and with single bytes changed.
//
//     replay_mjcf FOLDER [VARIANTS [SECONDS]]
//
// VARIANTS: of each file, 240. SECONDS: of random changes on top (bytes, runs of them, parts of other files): a fuzzer for
// compilers without one, that does not see where inputs lead.
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST = 1 << 20, MOST_FILES = 1000 };

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

// A copy of exactly that size, so that a sanitizer sees what is read beyond it.
static void try_bytes(const uint8_t* bytes, size_t count) {
    uint8_t* copy = malloc(count > 0 ? count : 1);
    if (copy == NULL) abort();
    memcpy(copy, bytes, count);
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

// One of the files with a few changes; the room is twice the largest.
static size_t change(uint8_t* out) {
    const input* in = &files[below((size_t)file_count)];
    size_t count = in->count;
    memcpy(out, in->bytes, count);
    for (size_t k = 1 + below(6); k > 0 && count > 0 && count < LARGEST; k--) {
        const size_t at = below(count), length = 1 + below(count - at < 64 ? count - at : 64);
        const input* other = &files[below((size_t)file_count)];
        switch (below(4)) {
        case 0: out[at] = (uint8_t)below(256); break;
        case 1: // left out
            memmove(out + at, out + at + length, count - at - length);
            count -= length;
            break;
        case 2: // twice
            memmove(out + at + length, out + at, count - at);
            count += length;
            break;
        default: // of another file
            if (other->count == 0) break;
            for (size_t i = 0, from = below(other->count); i < length && from + i < other->count; i++)
                out[at + i] = other->bytes[from + i];
        }
    }
    return count;
}

static bool load(const char* path) {
    FILE* file = fopen(path, "rb");
    if (file == NULL || file_count == MOST_FILES) return fprintf(stderr, "cannot open %s\n", path), false;
    input* in = &files[file_count++];
    in->bytes = malloc(LARGEST);
    if (in->bytes == NULL) abort();
    in->count = fread(in->bytes, 1, LARGEST, file);
    fclose(file);
    return true;
}

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
    DIR* folder = argc >= 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) return fprintf(stderr, "usage: %s FOLDER [VARIANTS [SECONDS]]\n", argv[0]), 2;
    bool good = true;
    for (const struct dirent* entry; (entry = readdir(folder)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (entry->d_name[0] != '.') good = load(path) && good;
    }
    closedir(folder);
    for (int i = 0; i < file_count; i++) try_variants(&files[i], argc > 2 ? atoi(argv[2]) : 240);
    const double end = wall() + (argc > 3 ? atof(argv[3]) : 0);
    uint8_t* room = malloc(2 * LARGEST);
    if (room == NULL) abort();
    long rounds = 0;
    for (state ^= (uint64_t)(argc > 3 ? time(NULL) : 0); file_count > 0 && argc > 3 && wall() < end; rounds++) {
        const size_t count = change(room);
        // What ends the process is found here.
        FILE* last = fopen("last-input", "wb");
        if (last == NULL || fwrite(room, 1, count, last) != count || fclose(last) != 0) abort();
        const double began = wall();
        try_bytes(room, count);
        if (wall() - began > 10) return fprintf(stderr, "last-input takes %.0f s\n", wall() - began), 1;
    }
    fprintf(stderr, "%d files, %ld changed ones\n", file_count, rounds);
    free(room);
    for (int i = 0; i < file_count; i++) free(files[i].bytes);
    return good && file_count > 0 ? 0 : 1;
}
