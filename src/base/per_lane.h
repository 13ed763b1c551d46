// Code that runs in two ways: on the host a call works on all W lanes of a block; on a device (CAL_THREAD_PER_LANE, with
// CAL_WIDTH and CAL_OWN_LANE, the thread's lane) a call is one thread's, and works on that lane alone. The operations on each
// number are the same in the same order, and so are the bits.
#pragma once

// Before functions that both call.
#ifdef __CUDACC__
#define CAL_DEVICE __host__ __device__
#else
#define CAL_DEVICE
#endif
// Behind `inline`: always, but not where outcomes of branches are counted (`make coverage`), since a copy in a caller is no way of its own.
#ifdef CALDER_COUNTED
#define CAL_ALWAYS
#else
#define CAL_ALWAYS __attribute__((always_inline))
#endif
// Before loops over the entries of an array that shall be in registers; and before those that have no registers for two turns at a time.
#ifdef __CUDACC__
#define CAL_UNROLL _Pragma("unroll")
#define CAL_ONE_BY_ONE _Pragma("unroll 1")
#else
#define CAL_UNROLL
#define CAL_ONE_BY_ONE
#endif
#if defined(__cplusplus) && !defined(restrict)
#define restrict __restrict__
#endif

#ifdef CAL_THREAD_PER_LANE
// Numbers first … end - 1 of whole blocks' components: first is some component's first lane.
#define CAL_EACH(i, first, end) for (int i = (first) + CAL_OWN_LANE; i < (end); i += CAL_WIDTH)
#define CAL_EACH_LANE(l, W) for (int l = CAL_OWN_LANE, l##_left = 1; l##_left > 0; l##_left--)
// How many lanes of a block a call has to keep something for, and where it keeps what belongs to number i of a block.
#define CAL_OWN_LANES(most) 1
#define CAL_OWN(i) ((i) / CAL_WIDTH)
// Where lane l's part of sum k is.
#define CAL_SHARE(k, W, l) ((void)(W), (void)(l), (k))
#else
#define CAL_EACH(i, first, end) for (int i = (first); i < (end); i++)
#define CAL_EACH_LANE(l, W) for (int l = 0; l < (W); l++)
#define CAL_OWN_LANES(most) (most)
#define CAL_OWN(i) (i)
#define CAL_SHARE(k, W, l) ((k) * (W) + (l))
#endif
