// Lanes in memory. Include after lane_algebra.h, once a width.
//
// Component i of a block; the lanes of a block are CAL_WIDTH doubles, of which this width reads CAL_LANES.
#define memory LANE(cal_lane_memory)
typedef lane memory __attribute__((may_alias));
#define LOAD(p, i) (*(const memory*)((p) + (i)*CAL_WIDTH))
#define STORE(p, i, value) (*(memory*)((p) + (i)*CAL_WIDTH) = (value))
// The same for numbers that nobody reads again soon: a device's cache need not keep them.
#undef LOAD_ONCE
#undef LOAD_FAR
#undef STORE_ONCE
#undef STORE_FAR
#ifdef __CUDA_ARCH__
// Not into a multiprocessor's own cache, which is small. What is read so is written by nobody meanwhile, and read whether or not it is
// wanted: to the compiler it is no access to memory.
#define LOAD_FAR(p, i) __ldcg((p) + (i)*CAL_WIDTH)
#define STORE_FAR(p, i, value) __stcg((p) + (i)*CAL_WIDTH, (value))
#define LOAD_ONCE(p, i) __ldcs((p) + (i)*CAL_WIDTH)
#define STORE_ONCE(p, i, value) __stcs((p) + (i)*CAL_WIDTH, (value))
#else
#define LOAD_FAR(p, i) LOAD(p, i)
#define STORE_FAR(p, i, value) STORE(p, i, value)
#define LOAD_ONCE(p, i) LOAD(p, i)
#define STORE_ONCE(p, i, value) STORE(p, i, value)
#endif
#define load3_once LANE(cal_load3_once)
#define store3_once LANE(cal_store3_once)
#define load3 LANE(cal_load3)
#define store3 LANE(cal_store3)
#define load_columns LANE(cal_load_columns)
#define store_columns LANE(cal_store_columns)
#define load_symmetric LANE(cal_load_symmetric)
#define store_symmetric LANE(cal_store_symmetric)
#define load_rows LANE(cal_load_rows)
#define store_turning LANE(cal_store_turning)
LANE_INLINE v3 load3(const double* p, int i) { return (v3){LOAD(p, i), LOAD(p, i + 1), LOAD(p, i + 2)}; }
LANE_INLINE void store3(double* p, int i, v3 v) { STORE(p, i, v.x), STORE(p, i + 1, v.y), STORE(p, i + 2, v.z); }
LANE_INLINE v3 load3_once(const double* p, int i) {
    return (v3){LOAD_ONCE(p, i), LOAD_ONCE(p, i + 1), LOAD_ONCE(p, i + 2)};
}
LANE_INLINE void store3_once(double* p, int i, v3 v) {
    STORE_ONCE(p, i, v.x), STORE_ONCE(p, i + 1, v.y), STORE_ONCE(p, i + 2, v.z);
}
LANE_INLINE m3 load_columns(const double* p, int i) { return (m3){load3(p, i), load3(p, i + 3), load3(p, i + 6)}; }
LANE_INLINE void store_columns(double* p, int i, m3 m) {
    store3(p, i, m.x), store3(p, i + 3, m.y), store3(p, i + 6, m.z);
}
LANE_INLINE s3 load_symmetric(const double* p, int i) {
    return (s3){LOAD(p, i), LOAD(p, i + 1), LOAD(p, i + 2), LOAD(p, i + 3), LOAD(p, i + 4), LOAD(p, i + 5)};
}
LANE_INLINE void store_symmetric(double* p, int i, s3 m) {
    STORE(p, i, m.xx), STORE(p, i + 1, m.yy), STORE(p, i + 2, m.zz);
    STORE(p, i + 3, m.xy), STORE(p, i + 4, m.xz), STORE(p, i + 5, m.yz);
}
// A matrix whose rows are in memory.
LANE_INLINE m3 load_rows(const double* p, int i) {
    return (m3){{LOAD(p, i), LOAD(p, i + 3), LOAD(p, i + 6)},
                {LOAD(p, i + 1), LOAD(p, i + 4), LOAD(p, i + 7)},
                {LOAD(p, i + 2), LOAD(p, i + 5), LOAD(p, i + 8)}};
}
// dq/dt = ½ q ∘ ω of the quaternion at component q and the angular velocity (body's axes) at component v of y.
LANE_INLINE void store_turning(const double* y, int q, int v, double* ydot) {
    const lane half = lane_set(0.5);
    const lane w = half * LOAD(y, q);
    const v3 e = v3_scale(load3(y, q + 1), half), omega = load3(y, v);
    STORE(ydot, q, -v3_dot(e, omega));
    store3(ydot, q + 1, v3_fma_cross(e, omega, v3_scale(omega, w)));
}

// What crosses an edge of the tree is packed, so that it fills few cache lines and goes into a message as it is: component i
// of lane l is at i · CAL_LANES + l; where a thread has one of W lanes, at i · W + l.
#undef SLOT_STRIDE
#ifdef CAL_THREAD_PER_LANE
#define SLOT_STRIDE CAL_WIDTH
#else
#define SLOT_STRIDE CAL_LANES
#endif
#define slot_store LANE(cal_slot_store)
#define slot_store3 LANE(cal_slot_store3)
#define slot_store_columns LANE(cal_slot_store_columns)
#define slot_store_symmetric LANE(cal_slot_store_symmetric)
#define slot_load LANE(cal_slot_load)
#define slot_load3 LANE(cal_slot_load3)
#define slot_load_columns LANE(cal_slot_load_columns)
#define slot_load_symmetric LANE(cal_slot_load_symmetric)
LANE_INLINE lane slot_load(const double* p, int i) {
#ifdef __CUDA_ARCH__
    return *(const volatile double*)(p + i * SLOT_STRIDE); // past the multiprocessor's own cache as well, but in order
#else
    return *(const memory*)(p + i * SLOT_STRIDE);
#endif
}
LANE_INLINE void slot_store(double* p, int i, lane value) {
#ifdef __CUDA_ARCH__
    STORE_FAR(p, i, value);
#else
    *(memory*)(p + i * SLOT_STRIDE) = value;
#endif
}
LANE_INLINE v3 slot_load3(const double* p, int i) {
    return (v3){slot_load(p, i), slot_load(p, i + 1), slot_load(p, i + 2)};
}
LANE_INLINE void slot_store3(double* p, int i, v3 v) {
    slot_store(p, i, v.x), slot_store(p, i + 1, v.y), slot_store(p, i + 2, v.z);
}
LANE_INLINE m3 slot_load_columns(const double* p, int i) {
    return (m3){slot_load3(p, i), slot_load3(p, i + 3), slot_load3(p, i + 6)};
}
LANE_INLINE void slot_store_columns(double* p, int i, m3 m) {
    slot_store3(p, i, m.x), slot_store3(p, i + 3, m.y), slot_store3(p, i + 6, m.z);
}
LANE_INLINE s3 slot_load_symmetric(const double* p, int i) {
    const v3 diagonal = slot_load3(p, i), rest = slot_load3(p, i + 3);
    return (s3){diagonal.x, diagonal.y, diagonal.z, rest.x, rest.y, rest.z};
}
LANE_INLINE void slot_store_symmetric(double* p, int i, s3 m) {
    slot_store3(p, i, (v3){m.xx, m.yy, m.zz}), slot_store3(p, i + 3, (v3){m.xy, m.xz, m.yz});
}
// Where the scratch of a block of a column is. On a device a column without children, which goes up as soon as it has gone down,
// can have that of its last blocks in faster memory, which the context's workspace then is.
#undef FRAME_OF
#define FRAME_IN_MEMORY(context, column, block)                                                                        \
    ((context)->scratch + (column)->scratch + (size_t)(block)*CAL_SCRATCH_COUNT * CAL_WIDTH)
#ifdef CAL_THREAD_PER_LANE
#define FRAME_OF(context, column, block)                                                                               \
    ((context)->workspace && (column)->child_count == 0 && (block) >= (column)->block_count - CAL_FAST_BLOCKS          \
         ? (context)->workspace + (size_t)((column)->block_count - 1 - (block)) * CAL_SCRATCH_COUNT * CAL_WIDTH        \
         : FRAME_IN_MEMORY(context, column, block))
#else
#define FRAME_OF(context, column, block) FRAME_IN_MEMORY(context, column, block)
#endif
