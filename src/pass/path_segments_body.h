// Segments of a path (path_motion.h), side by side. Include after pass/path_step.h, in what is compiled for each width.

// The larger one of a and |x|, as `|x| > a ? |x| : a`.
LANE_INLINE lane larger(lane a, lane x) {
    lane_bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits & (uint64_t)0x7fffffffffffffff;
    memcpy(&x, &bits, sizeof x);
#if CAL_LANES == 1
    return x > a ? x : a;
#elif CAL_LANES == 4 && defined(__AVX__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm256_max_pd((__m256d)x, (__m256d)a); // the second one where that is not so
#elif CAL_LANES == 8 && defined(__AVX512F__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm512_max_pd((__m512d)x, (__m512d)a);
#else
    lane_bits other;
    memcpy(&other, &a, sizeof other);
    const lane_bits more = (lane_bits)(x > a);
    bits = (more & bits) | (~more & other);
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

LANE_INLINE lane larger3(lane a, v3 x) { return larger(larger(larger(a, x.x), x.y), x.z); }

LANE_INLINE void put_lanes(double* to, lane x) { memcpy(to, &x, sizeof x); }

LANE_INLINE void put_lanes3(double* to, v3 a) {
    put_lanes(to, a.x), put_lanes(to + CAL_JOINT_PATH_LANES, a.y), put_lanes(to + 2 * CAL_JOINT_PATH_LANES, a.z);
}

// From lane `at` on; count: velocities, that of v and of other rates.
LANE_INLINE void move_segments(const cal_joint_path* path, int at, const double* q, const double* v,
                               const cal_joint_path_rates* rates, int count, bool slides, double* segments) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    m3 R = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    v3 origin = {zero, zero, zero}, w[1 + CAL_JOINT_PATH_RATES], u[1 + CAL_JOINT_PATH_RATES];
    lane extent = one, speed = one;
    for (int k = 0; k < count; k++) w[k] = u[k] = origin;
    for (int i = 0; i < path->steps; i++) {
        const joint_step step = take_joint(path, i, at, q, slides, &R);
        const int32_t* v_at = path->v + i * CAL_JOINT_PATH_LANES + at;
        origin = v3_add(origin, step.arm);
        for (int k = 0; k < count; k++) {
            const lane rate = k == 0 ? gather(v, v_at, 1) : gather(rates->numbers + (k - 1), v_at, rates->stride);
            move_joint(&step, R.z, rate, slides, &w[k], &u[k]);
        }
        extent = larger3(extent, origin);
        speed = larger3(larger3(speed, w[0]), u[0]);
    }
    double* out = segments + at;
#define PUT3(j, a) put_lanes3(out + (j)*CAL_JOINT_PATH_LANES, a)
    PUT3(CAL_SEGMENT_TURN, R.x), PUT3(CAL_SEGMENT_TURN + 3, R.y), PUT3(CAL_SEGMENT_TURN + 6, R.z);
    PUT3(CAL_SEGMENT_ORIGIN, origin);
    put_lanes(out + CAL_SEGMENT_EXTENT * CAL_JOINT_PATH_LANES, extent);
    put_lanes(out + CAL_SEGMENT_SPEED * CAL_JOINT_PATH_LANES, speed);
    for (int k = 0; k < count; k++) PUT3(CAL_SEGMENT_RATES + 6 * k, w[k]), PUT3(CAL_SEGMENT_RATES + 6 * k + 3, u[k]);
#undef PUT3
}

// The same in a plane.
LANE_INLINE void move_planar_segments(const cal_joint_path* path, int at, const double* q, const double* v,
                                      const cal_joint_path_rates* rates, int count, double* segments) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    planar_axes R = {one, zero, zero, one};
    lane x = zero, y = zero, extent = one, speed = one;
    lane w[1 + CAL_JOINT_PATH_RATES], ux[1 + CAL_JOINT_PATH_RATES], uy[1 + CAL_JOINT_PATH_RATES];
    for (int k = 0; k < count; k++) w[k] = ux[k] = uy[k] = zero;
    for (int i = 0; i < path->steps; i++) {
        const planar_step step = take_planar(path, i, at, q, &R);
        const int32_t* v_at = path->v + i * CAL_JOINT_PATH_LANES + at;
        x = x + step.arm_x, y = y + step.arm_y;
        for (int k = 0; k < count; k++) {
            const lane rate = k == 0 ? gather(v, v_at, 1) : gather(rates->numbers + (k - 1), v_at, rates->stride);
            move_planar(&step, rate, &w[k], &ux[k], &uy[k]);
        }
        extent = larger(larger(extent, x), y);
        speed = larger(larger(larger(speed, w[0]), ux[0]), uy[0]);
    }
    double* out = segments + at;
#define PUT3(j, a, b, c) put_lanes3(out + (j)*CAL_JOINT_PATH_LANES, (v3){a, b, c})
    PUT3(CAL_SEGMENT_TURN, R.xx, R.xy, zero), PUT3(CAL_SEGMENT_TURN + 3, R.yx, R.yy, zero);
    PUT3(CAL_SEGMENT_TURN + 6, zero, zero, one), PUT3(CAL_SEGMENT_ORIGIN, x, y, zero);
    put_lanes(out + CAL_SEGMENT_EXTENT * CAL_JOINT_PATH_LANES, extent);
    put_lanes(out + CAL_SEGMENT_SPEED * CAL_JOINT_PATH_LANES, speed);
    for (int k = 0; k < count; k++) {
        PUT3(CAL_SEGMENT_RATES + 6 * k, zero, zero, w[k]);
        PUT3(CAL_SEGMENT_RATES + 6 * k + 3, ux[k], uy[k], zero);
    }
#undef PUT3
}

LANE_INLINE v3 take_lanes3(const double* from) {
    return (v3){load_one(from), load_one(from + CAL_JOINT_PATH_LANES), load_one(from + 2 * CAL_JOINT_PATH_LANES)};
}

// Joint forces of wrenches on the end: Sᵀ f, f brought to each joint.
LANE_INLINE void press_segments(const cal_joint_path* path, int at, const double* q, const double* wrenches,
                                const cal_joint_path_load* load, int count, bool slides, double* out) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    m3 R = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    v3 origin = {zero, zero, zero};
    for (int i = 0; i < path->steps; i++) {
        const joint_step step = take_joint(path, i, at, q, slides, &R);
        const int32_t* v_at = path->v + i * CAL_JOINT_PATH_LANES + at;
        origin = v3_add(origin, step.arm);
        for (int k = 0; k < count; k++) {
            const double* wrench = wrenches + k * 6 * CAL_JOINT_PATH_LANES + at;
            const v3 moment = take_lanes3(wrench), force = take_lanes3(wrench + 3 * CAL_JOINT_PATH_LANES);
            lane own = v3_dot(R.z, v3_fma_cross(force, origin, moment)) * step.turns;
            if (slides) own = lane_fma(v3_dot(R.z, force), step.along * lane_set(load->slide), own);
            double numbers[CAL_LANES];
            memcpy(numbers, &own, sizeof numbers);
            for (int l = 0; l < CAL_LANES; l++) out[(size_t)v_at[l] * (size_t)load->stride + (size_t)k] += numbers[l];
        }
    }
}

LANE_INLINE void press_all_segments(const cal_joint_path* path, const double* q, const double* wrenches,
                                    const cal_joint_path_load* load, double* out) {
    for (int at = 0; at < path->segments; at += CAL_LANES) {
        if (path->slides)
            press_segments(path, at, q, wrenches, load, load->count, true, out);
        else if (load->count == 2)
            press_segments(path, at, q, wrenches, load, 2, false, out);
        else
            press_segments(path, at, q, wrenches, load, load->count, false, out);
    }
}

// With numbers of rates that a compiler knows.
LANE_INLINE void move_all_segments(const cal_joint_path* path, const double* q, const double* v,
                                   const cal_joint_path_rates* rates, double* segments) {
    for (int at = 0; at < path->segments; at += CAL_LANES) {
        if (!path->spatial && rates->count == 0)
            move_planar_segments(path, at, q, v, rates, 1, segments);
        else if (!path->spatial && rates->count == 2)
            move_planar_segments(path, at, q, v, rates, 3, segments);
        else if (path->slides)
            move_segments(path, at, q, v, rates, 1 + rates->count, true, segments);
        else if (rates->count == 0)
            move_segments(path, at, q, v, rates, 1, false, segments);
        else if (rates->count == 2)
            move_segments(path, at, q, v, rates, 3, false, segments);
        else
            move_segments(path, at, q, v, rates, 1 + rates->count, false, segments);
    }
}
