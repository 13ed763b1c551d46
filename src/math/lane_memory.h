// Lanes in memory. Include after lane_algebra.h, once a width.
//
// Component i of a block; the lanes of a block are CAL_WIDTH doubles, of which this width reads CAL_LANES.
#define memory LANE(cal_lane_memory)
typedef lane memory __attribute__((may_alias));
#define LOAD(p, i) (*(const memory*)((p) + (i) * CAL_WIDTH))
#define STORE(p, i, value) (*(memory*)((p) + (i) * CAL_WIDTH) = (value))
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
