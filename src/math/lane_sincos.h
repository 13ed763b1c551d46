// Sine and cosine, to about one unit in the last place for |x| < 1e9 and without surprises up to 1e15; from 2⁵¹ on, where the quadrant would be lost,
// they are no numbers. The same bits on every lane. x = n π/2 + r by three parts of π/2 (Cody and Waite), then the polynomials of Sun's fdlibm on |r| ≤ π/4.
// Included by lanes.h, once a width.
#define lane_reduce LANE(cal_lane_reduce)
#define lane_polynomials LANE(cal_lane_polynomials)
#define lane_unfold LANE(cal_lane_unfold)

// r, and n in the low bits of what is returned.
LANE_INLINE lane lane_reduce(lane x, lane* r) {
    const lane magic = lane_set(0x1.8p52);
    const lane shifted = lane_fma(x, lane_set(0x1.45f306dc9c883p-1), magic);
    const lane n = shifted - magic;
    *r = lane_fnma(n, lane_set(0x1.921fb54442d18p0), x);
    *r = lane_fnma(n, lane_set(0x1.1a62633145c07p-54), *r);
    *r = lane_fnma(n, lane_set(-0x1.f1976b7ed8fbcp-110), *r);
    *r = lane_fma(x * lane_set(0x1p973), lane_set(0.0), *r); // nothing, and infinity times nothing from 2⁵¹ on
    return shifted;
}

LANE_INLINE void lane_polynomials(lane r, lane* sine, lane* cosine) {
    const lane z = r * r;
    lane s = lane_set(1.58969099521155010221e-10);
    s = lane_fma(s, z, lane_set(-2.50507602534068634195e-08));
    s = lane_fma(s, z, lane_set(2.75573137070700676789e-06));
    s = lane_fma(s, z, lane_set(-1.98412698298579493134e-04));
    s = lane_fma(s, z, lane_set(8.33333333332248946124e-03));
    s = lane_fma(s, z, lane_set(-1.66666666666666324348e-01));
    *sine = lane_fma(s * z, r, r);
    lane c = lane_set(-1.13596475577881948265e-11);
    c = lane_fma(c, z, lane_set(2.08757232129817482790e-09));
    c = lane_fma(c, z, lane_set(-2.75573143513906633035e-07));
    c = lane_fma(c, z, lane_set(2.48015872894767294178e-05));
    c = lane_fma(c, z, lane_set(-1.38888888888741095749e-03));
    c = lane_fma(c, z, lane_set(4.16666666666666019037e-02));
    c = lane_fma(c, z, lane_set(-0.5));
    *cosine = lane_fma(c, z, lane_set(1.0));
}

// Odd quadrants swap sine and cosine; bit 1 of n or n + 1 gives the sign.
LANE_INLINE void lane_unfold(lane shifted, lane* sine, lane* cosine) {
    union {
        lane value;
        lane_bits bits;
    } quadrant = {shifted}, s = {*sine}, c = {*cosine}, out;
    const lane_bits swap = -(quadrant.bits & 1);
    out.bits = ((s.bits & ~swap) | (c.bits & swap)) ^ ((quadrant.bits & 2) << 62);
    *sine = out.value;
    out.bits = ((c.bits & ~swap) | (s.bits & swap)) ^ (((quadrant.bits + 1) & 2) << 62);
    *cosine = out.value;
}

LANE_INLINE void lane_sincos(lane x, lane* sine, lane* cosine) {
    lane r;
    const lane shifted = lane_reduce(x, &r);
    lane_polynomials(r, sine, cosine);
    lane_unfold(shifted, sine, cosine);
}
