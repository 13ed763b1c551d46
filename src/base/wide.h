// CAL_WIDE before a function with plain loops over doubles: it is compiled for several sets of vector instructions, and
// the processor's best is taken when the program starts. The bits are the same: nothing is contracted or reordered. Such functions are
// static: gcc shows them outside of a shared library whatever else is said, and clang does not link what a header has declared without it. Their names are unique: clang 14 makes global ones of them.
#pragma once
#include "base/per_lane.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAL_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAL_SANITIZED
#endif

// The choice is made before sanitizers are set up, so they go without; and where branches are counted there is one function for each.
#if defined(CAL_THREAD_PER_LANE)
#define CAL_WIDE CAL_DEVICE
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(CAL_SANITIZED) && !defined(CALDER_COUNTED)
#define CAL_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CAL_WIDE
#endif
// The same before a function whose sums of products are all fused ones, written out: where the processor has an instruction for them it is taken, and a
// function of the C library otherwise.
#if defined(CAL_THREAD_PER_LANE)
#define CAL_FUSING CAL_DEVICE
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(CAL_SANITIZED) && !defined(CALDER_COUNTED)
#define CAL_FUSING __attribute__((target_clones("fma", "default")))
#else
#define CAL_FUSING
#endif
// For what such functions call, so that it is compiled along with them.
#define CAL_WIDE_INLINE CAL_DEVICE static inline CAL_ALWAYS

// Before a loop in which nothing is read that an earlier turn has written, whatever the pointers are. clang compares pointers instead: asked for
// more, it complains of loops that it cannot widen.
#if defined(CAL_THREAD_PER_LANE) || defined(__clang__)
#define CAL_INDEPENDENT
#else
#define CAL_INDEPENDENT _Pragma("GCC ivdep")
#endif
