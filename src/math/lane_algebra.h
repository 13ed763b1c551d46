// Small vectors and matrices whose entries are lanes. Include after lanes.h, once a width.
#define v3 LANE(cal_v3)
#define m3 LANE(cal_m3)
#define s3 LANE(cal_s3)
#define v3_add LANE(cal_v3_add)
#define v3_sub LANE(cal_v3_sub)
#define v3_scale LANE(cal_v3_scale)
#define v3_dot LANE(cal_v3_dot)
#define v3_cross LANE(cal_v3_cross)
#define v3_fma_cross LANE(cal_v3_fma_cross)
#define v3_fma_scale LANE(cal_v3_fma_scale)
#define m3_times LANE(cal_m3_times)
#define m3_transpose_times LANE(cal_m3_transpose_times)
#define m3_fma_times LANE(cal_m3_fma_times)
#define m3_product LANE(cal_m3_product)
#define m3_quaternion LANE(cal_m3_quaternion)
#define s3_add LANE(cal_s3_add)
#define s3_times LANE(cal_s3_times)
#define s3_inverse LANE(cal_s3_inverse)
#define s3_congruent LANE(cal_s3_congruent)

typedef struct v3 {
    lane x, y, z;
} v3;
// Columns.
typedef struct m3 {
    v3 x, y, z;
} m3;
// Symmetric.
typedef struct s3 {
    lane xx, yy, zz, xy, xz, yz;
} s3;

LANE_INLINE v3 v3_add(v3 a, v3 b) { return (v3){a.x + b.x, a.y + b.y, a.z + b.z}; }
LANE_INLINE v3 v3_sub(v3 a, v3 b) { return (v3){a.x - b.x, a.y - b.y, a.z - b.z}; }
LANE_INLINE v3 v3_scale(v3 a, lane s) { return (v3){a.x * s, a.y * s, a.z * s}; }
LANE_INLINE lane v3_dot(v3 a, v3 b) { return lane_fma(a.z, b.z, lane_fma(a.y, b.y, a.x * b.x)); }
// c + a × b
LANE_INLINE v3 v3_fma_cross(v3 a, v3 b, v3 c) {
    return (v3){lane_fnma(a.z, b.y, lane_fma(a.y, b.z, c.x)), lane_fnma(a.x, b.z, lane_fma(a.z, b.x, c.y)),
                lane_fnma(a.y, b.x, lane_fma(a.x, b.y, c.z))};
}
LANE_INLINE v3 v3_cross(v3 a, v3 b) {
    return (v3){lane_fnma(a.z, b.y, a.y * b.z), lane_fnma(a.x, b.z, a.z * b.x), lane_fnma(a.y, b.x, a.x * b.y)};
}
// c + a s
LANE_INLINE v3 v3_fma_scale(v3 a, lane s, v3 c) {
    return (v3){lane_fma(a.x, s, c.x), lane_fma(a.y, s, c.y), lane_fma(a.z, s, c.z)};
}
// M a
LANE_INLINE v3 m3_times(m3 m, v3 a) { return v3_fma_scale(m.z, a.z, v3_fma_scale(m.y, a.y, v3_scale(m.x, a.x))); }
// Mᵀ a
LANE_INLINE v3 m3_transpose_times(m3 m, v3 a) { return (v3){v3_dot(m.x, a), v3_dot(m.y, a), v3_dot(m.z, a)}; }
// c + M a
LANE_INLINE v3 m3_fma_times(m3 m, v3 a, v3 c) {
    return v3_fma_scale(m.z, a.z, v3_fma_scale(m.y, a.y, v3_fma_scale(m.x, a.x, c)));
}
LANE_INLINE m3 m3_product(m3 a, m3 b) { return (m3){m3_times(a, b.x), m3_times(a, b.y), m3_times(a, b.z)}; }
// Rotation of a quaternion of any length but zero.
LANE_INLINE m3 m3_quaternion(lane w, lane x, lane y, lane z) {
    const lane one = lane_set(1.0);
    const lane s = lane_set(2.0) / lane_fma(z, z, lane_fma(y, y, lane_fma(x, x, w * w)));
    const lane sx = s * x, sy = s * y, sz = s * z;
    const lane xx = sx * x, yy = sy * y, zz = sz * z, wx = sx * w, wy = sy * w, wz = sz * w;
    return (m3){{one - (yy + zz), lane_fma(sx, y, wz), lane_fms(sx, z, wy)},
                {lane_fms(sx, y, wz), one - (xx + zz), lane_fma(sy, z, wx)},
                {lane_fma(sx, z, wy), lane_fms(sy, z, wx), one - (xx + yy)}};
}
LANE_INLINE s3 s3_add(s3 a, s3 b) {
    return (s3){a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
LANE_INLINE v3 s3_times(s3 m, v3 a) {
    return (v3){lane_fma(m.xz, a.z, lane_fma(m.xy, a.y, m.xx * a.x)),
                lane_fma(m.yz, a.z, lane_fma(m.yy, a.y, m.xy * a.x)),
                lane_fma(m.zz, a.z, lane_fma(m.yz, a.y, m.xz * a.x))};
}
// Inverse of a positive definite matrix, by cofactors.
LANE_INLINE s3 s3_inverse(s3 m) {
    const lane cxx = lane_fms(m.yy, m.zz, m.yz * m.yz), cxy = lane_fms(m.xz, m.yz, m.xy * m.zz);
    const lane cxz = lane_fms(m.xy, m.yz, m.xz * m.yy);
    const lane r = lane_set(1.0) / lane_fma(m.xz, cxz, lane_fma(m.xy, cxy, m.xx * cxx));
    return (s3){cxx * r, lane_fms(m.xx, m.zz, m.xz * m.xz) * r, lane_fms(m.xx, m.yy, m.xy * m.xy) * r, cxy * r,
                cxz * r, lane_fms(m.xy, m.xz, m.xx * m.yz) * r};
}
// E S Eᵀ
LANE_INLINE s3 s3_congruent(m3 e, s3 s) {
    const m3 t = {m3_times(e, (v3){s.xx, s.xy, s.xz}), m3_times(e, (v3){s.xy, s.yy, s.yz}),
                  m3_times(e, (v3){s.xz, s.yz, s.zz})};
#define ENTRY(i, j) lane_fma(t.z.i, e.z.j, lane_fma(t.y.i, e.y.j, (t.x.i) * (e.x.j)))
    const s3 out = {ENTRY(x, x), ENTRY(y, y), ENTRY(z, z), ENTRY(x, y), ENTRY(x, z), ENTRY(y, z)};
#undef ENTRY
    return out;
}
