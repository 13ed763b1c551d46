// CAL_FETCH before a function that does nothing but ask for cache lines: gcc leaves out calls of such functions, unless they are always
// inlined.
#pragma once
#define CAL_FETCH static inline __attribute__((always_inline))
