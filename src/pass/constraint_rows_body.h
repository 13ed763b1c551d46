// Rows of constraints between two frames (constraint_rows.c says what they are), a constraint per lane. Include after math/lanes.h, once a
// width. At width 1 a lane is a double, and a motion is a cal_node_motion.
#define moving LANE(cal_moving)
#define pair LANE(cal_frame_pair)
#define row_numbers LANE(cal_row_numbers)
#define dot_3 LANE(cal_lane_dot3)
#define cross_3 LANE(cal_lane_cross3)
#define rotate_3 LANE(cal_lane_rotate3)
#define unrotate_3 LANE(cal_lane_unrotate3)
#define multiply_33 LANE(cal_lane_multiply33)

#if CAL_LANES == 1
typedef cal_node_motion moving;
#else
typedef struct moving { // as cal_node_motion
    lane rotation[9], base[3], origin[3], arm[3], angular[3], linear[3];
} moving;
#endif

typedef struct pair {
    int node[2]; // of a and b, −1: the ground; where all lanes have the same
    const moving *a, *b;
    lane axes_a[9], axes_b[9]; // rows: a frame's axes to the world's
    lane rho[3], r[3];         // ρ, r
    lane w[3], c[3];           // w, c
    lane point[3], dot[3];     // p, and Fᵀ w
    lane relative[3];          // ω_b − ω_a
} pair;

// What a row is on b and on a, moment before force.
typedef struct row_numbers {
    lane on_b[6], on_a[6];
    lane error, bias;
} row_numbers;

LANE_INLINE lane dot_3(const lane* a, const lane* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
LANE_INLINE void cross_3(const lane* a, const lane* b, lane* out) {
    const lane x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}
LANE_INLINE void rotate_3(const lane* R, const lane* v, lane* out) {
    const lane x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z;
}
LANE_INLINE void unrotate_3(const lane* R, const lane* v, lane* out) {
    const lane x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = R[i] * x + R[3 + i] * y + R[6 + i] * z;
}
LANE_INLINE void multiply_33(const lane* A, const lane* B, lane* out) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

// A frame's axes and its origin from a base. What sits on the ground is its own base.
#define find_side LANE(cal_find_side)
LANE_INLINE void find_side(bool grounded, const moving* motion, const lane* rotation, const lane* offset, bool turns,
                           lane* axes, lane* base, lane* origin) {
    if (grounded) {
        for (int i = 0; i < 9; i++) axes[i] = rotation[i];
        for (int i = 0; i < 3; i++) base[i] = offset[i], origin[i] = lane_set(0.0);
        return;
    }
    if (turns) multiply_33(motion->rotation, rotation, axes);
    rotate_3(motion->rotation, offset, origin);
    for (int i = 0; i < 3; i++) {
        base[i] = motion->base[i];
        origin[i] += motion->origin[i];
    }
}

// frame: rotation and offset of a and of b. turns: the axes of b are asked for, too. p->node, p->a and p->b are there already.
#define find_pair LANE(cal_find_pair)
LANE_INLINE void find_pair(const lane* const rotation[2], const lane* const offset[2], bool turns, pair* p) {
    const moving *a = p->a, *b = p->b;
    lane base_a[3], origin_a[3], base_b[3], origin_b[3];
    lane swing_b[3], swing_a[3], in_b[3], in_a[3], coriolis[3], apart[3];
    find_side(p->node[0] < 0, a, rotation[0], offset[0], true, p->axes_a, base_a, origin_a);
    find_side(p->node[1] < 0, b, rotation[1], offset[1], turns, p->axes_b, base_b, origin_b);
    for (int i = 0; i < 3; i++) {
        p->rho[i] = origin_b[i] - b->origin[i] + (base_b[i] - b->base[i]);
        p->r[i] = origin_b[i] - a->origin[i] + (base_b[i] - a->base[i]);
        p->relative[i] = b->angular[i] - a->angular[i];
        apart[i] = origin_b[i] - origin_a[i] + (base_b[i] - base_a[i]);
    }
    cross_3(b->angular, p->rho, swing_b);
    cross_3(a->angular, p->r, swing_a);
    for (int i = 0; i < 3; i++) p->w[i] = (b->linear[i] + swing_b[i]) - (a->linear[i] + swing_a[i]);
    cross_3(b->angular, swing_b, in_b);
    cross_3(a->angular, swing_a, in_a);
    cross_3(a->angular, p->w, coriolis);
    for (int i = 0; i < 3; i++) p->c[i] = in_b[i] - lane_set(2.0) * coriolis[i] - in_a[i];
    unrotate_3(p->axes_a, apart, p->point);
    unrotate_3(p->axes_a, p->w, p->dot);
}

// A force e on b at x, and −e on a at the same point. What is added to zero is never −0.
#define pull_pair LANE(cal_pull_pair)
LANE_INLINE void pull_pair(const pair* p, const lane* e, row_numbers* row) {
    const lane zero = lane_set(0.0);
    lane on_b[3], on_a[3];
    cross_3(p->rho, e, on_b);
    cross_3(p->r, e, on_a);
    for (int i = 0; i < 3; i++) {
        row->on_b[i] = zero + on_b[i], row->on_b[3 + i] = zero + e[i];
        row->on_a[i] = zero - on_a[i], row->on_a[3 + i] = zero - e[i];
    }
}

// A moment e on b, −e on a.
#define twist_pair LANE(cal_twist_pair)
LANE_INLINE void twist_pair(const lane* e, row_numbers* row) {
    const lane zero = lane_set(0.0);
    for (int i = 0; i < 3; i++) {
        row->on_b[i] = zero + e[i], row->on_a[i] = zero - e[i];
        row->on_b[3 + i] = row->on_a[3 + i] = zero;
    }
}

#define displacement_numbers LANE(cal_displacement_numbers)
LANE_INLINE void displacement_numbers(const pair* p, int axis, row_numbers* row) {
    const lane e[3] = {p->axes_a[axis], p->axes_a[3 + axis], p->axes_a[6 + axis]};
    pull_pair(p, e, row);
    row->error = p->point[axis];
    row->bias = dot_3(e, p->c);
}

// Of a function of p: its value, gradient and second derivatives (xx, yy, zz, xy, xz, yz).
#define function_numbers LANE(cal_function_numbers)
LANE_INLINE void function_numbers(const pair* p, lane value, const lane* gradient, const lane* h, row_numbers* row) {
    const lane *d = p->dot, two = lane_set(2.0);
    lane e[3];
    rotate_3(p->axes_a, gradient, e);
    pull_pair(p, e, row);
    row->error = value;
    row->bias = dot_3(e, p->c) + (h[0] * d[0] * d[0] + h[1] * d[1] * d[1] + h[2] * d[2] * d[2]) +
                two * (h[3] * d[0] * d[1] + h[4] * d[0] * d[2] + h[5] * d[1] * d[2]);
}

#undef LANE_AT
#if CAL_LANES == 1
#define LANE_AT(x, l) (x)
#else
#define LANE_AT(x, l) (x)[l]
#endif

#define distance_numbers LANE(cal_distance_numbers)
LANE_INLINE void distance_numbers(const pair* p, lane length, row_numbers* row) {
    lane distance = dot_3(p->point, p->point), n[3], h[6];
    for (int l = 0; l < CAL_LANES; l++) LANE_AT(distance, l) = sqrt(LANE_AT(distance, l));
    for (int i = 0; i < 3; i++) n[i] = p->point[i] / distance, h[i] = (lane_set(1.0) - n[i] * n[i]) / distance;
    h[3] = -n[0] * n[1] / distance, h[4] = -n[0] * n[2] / distance, h[5] = -n[1] * n[2] / distance;
    for (int l = 0; l < CAL_LANES; l++) { // points that coincide have no direction: any will do
        if (LANE_AT(distance, l) > 0.0) continue;
        for (int i = 0; i < 3; i++) LANE_AT(n[i], l) = i == 0 ? 1.0 : 0.0;
        for (int i = 0; i < 6; i++) LANE_AT(h[i], l) = 0.0;
    }
    function_numbers(p, distance - length, n, h, row);
}

// A turn about axis i while axis k is free: ∓ j_a · k_b.
#define free_turn_numbers LANE(cal_free_turn_numbers)
LANE_INLINE void free_turn_numbers(const pair* p, int i, int k, row_numbers* row) {
    const int j = 3 - i - k;
    const lane sign = lane_set((i + 1) % 3 == j ? -1.0 : 1.0);
    const lane in_a[3] = {p->axes_a[j], p->axes_a[3 + j], p->axes_a[6 + j]},
               in_b[3] = {p->axes_b[k], p->axes_b[3 + k], p->axes_b[6 + k]};
    lane e[3], rate_a[3], rate_b[3], change[3], other[3];
    cross_3(in_b, in_a, e);
    cross_3(p->a->angular, in_a, rate_a);
    cross_3(p->b->angular, in_b, rate_b);
    cross_3(rate_b, in_a, change);
    cross_3(in_b, rate_a, other);
    for (int n = 0; n < 3; n++) e[n] = e[n] * sign, change[n] = sign * (change[n] + other[n]);
    row->error = sign * dot_3(in_a, in_b);
    row->bias = dot_3(p->relative, change);
    twist_pair(e, row);
}
