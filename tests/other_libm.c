// Another C library, as the standard allows it to be: functions that need not be rounded correctly give the next number after the usual
// one, of two zeros fmin and fmax give the other one, and qsort leaves what is equal in another order. Loaded before the C library
// (LD_PRELOAD) it changes no hash: bits depend on nothing but IEEE operations (tests/CMakeLists.txt: other_libm).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double next(double x) { return isfinite(x) ? nextafter(x, 2.0 * x + 1.0) : x; }

// A function has no address in ISO C that a pointer to objects could hold: its bytes are copied.
static void find(const char* name, void* usual, size_t size) {
    void* found = dlsym(RTLD_NEXT, name);
    memcpy(usual, &found, size);
}

#define ONE(name)                                                                                                      \
    double name(double x) {                                                                                            \
        double (*usual)(double);                                                                                       \
        find(#name, &usual, sizeof usual);                                                                             \
        return next(usual(x));                                                                                         \
    }
#define TWO(name)                                                                                                      \
    double name(double x, double y) {                                                                                  \
        double (*usual)(double, double);                                                                               \
        find(#name, &usual, sizeof usual);                                                                             \
        return next(usual(x, y));                                                                                      \
    }
// clang-format off
ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh)
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(cbrt) TWO(pow) TWO(atan2) TWO(hypot)
    // clang-format on

    void sincos(double x, double* sine, double* cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}

double fmin(double x, double y) { return x < y || y != y ? x : y < x || x != x ? y : signbit(x) ? y : x; }
double fmax(double x, double y) { return x > y || y != y ? x : y > x || x != x ? y : signbit(x) ? x : y; }

// Insertion, from the end, before what is equal.
void qsort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*)) {
    char *items = base, held[1024];
    for (size_t i = 1; i < count && size <= sizeof held; i++) {
        size_t at = i;
        memcpy(held, items + i * size, size);
        while (at > 0 && compare(items + (at - 1) * size, held) >= 0) at--;
        memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
        memcpy(items + at * size, held, size);
    }
}

__attribute__((destructor)) static void say(void) { puts("with another C library"); }
