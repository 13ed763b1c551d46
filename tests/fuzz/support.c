#define _POSIX_C_SOURCE 200809L
#include "calder/calder.h"
#include "fuzz.h"
#include "../place.h"
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic size_t left;

// The size stands in front of what is given, which stays as aligned as malloc's.
static void* take(size_t size, void* user) {
    (void)user;
    size_t now = atomic_load(&left);
    do
        if (size > now) return NULL;
    while (!atomic_compare_exchange_weak(&left, &now, now - size));
    char* memory = malloc(size + 16);
    if (!memory) return NULL;
    memcpy(memory, &size, sizeof size);
    return memory + 16;
}

static void give_back(void* memory, void* user) {
    (void)user;
    size_t size;
    memcpy(&size, (char*)memory - 16, sizeof size);
    atomic_fetch_add(&left, size);
    free((char*)memory - 16);
}

void fuzz_limit_memory(size_t bytes) {
    static const cal_allocator limited = {take, give_back, NULL};
    static size_t given;
    cal_error error;
    if (given > 0 && atomic_load(&left) != given) {
        fprintf(stderr, "%zu bytes were not given back\n", given - atomic_load(&left));
        abort();
    }
    if (given == 0 && cal_set_allocator(&limited, &error) != CAL_OK) abort();
    given = bytes;
    atomic_store(&left, bytes);
}

char* fuzz_text(const uint8_t* bytes, size_t count) {
    char* text = malloc(count + 1);
    if (!text) abort();
    if (count > 0) memcpy(text, bytes, count);
    text[count] = '\0';
    return text;
}

const char* fuzz_file(const uint8_t* bytes, size_t count) {
    static char path[CAL_TEST_PATH];
    cal_test_path(path, "input");
    FILE* file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) abort();
    return path;
}

bool fuzz_is_large(const char* text, double most) {
    for (const char* p = text; *p; p++) {
        if (!isdigit((unsigned char)*p)) continue;
        char* end;
        if (strtod(p, &end) > most) return true;
        for (; p < end; p++)
            if (*p == 'e' || *p == 'E' || *p == 'x' || *p == 'X') return true;
        p--;
    }
    return false;
}

void fuzz_silence(void) {
    static bool silent;
    if (silent) return;
    silent = true;
    if (!freopen("/dev/null", "w", stdout)) abort();
    // The fuzzer itself speaks to standard error; the command's own lines would drown it.
    if (!getenv("CALDER_FUZZ_LOUD")) {
        const int kept = dup(STDERR_FILENO);
        FILE* nowhere = fopen("/dev/null", "w");
        if (kept < 0 || !nowhere) abort();
        stderr = nowhere;
    }
}
