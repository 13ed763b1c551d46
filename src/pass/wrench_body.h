// Wrenches on their way inbound through the factored mass matrix (mass_factor.h), one per lane. Include after math/lanes.h, once a width.
#define pull_wrench LANE(cal_pull_wrench)
#define share_wrench LANE(cal_share_wrench)

// Adds what a child passes on to its parent's wrench.
LANE_INLINE void pull_wrench(const lane* passed, const lane* s, lane* wrench) {
    const lane* f = passed + 3;
    wrench[0] += passed[0] + (s[1] * f[2] - s[2] * f[1]);
    wrench[1] += passed[1] + (s[2] * f[0] - s[0] * f[2]);
    wrench[2] += passed[2] + (s[0] * f[1] - s[1] * f[0]);
    for (int i = 0; i < 3; i++) wrench[3 + i] += f[i];
}

// What a wrench leaves at a joint of one degree of freedom, Sᵀ f; what goes on is f − U D⁻¹ Sᵀ f.
#define pass_wrench LANE(cal_pass_wrench)
LANE_INLINE void pass_wrench(int kind, const lane* z, const lane* U, lane over, lane* wrench, lane* share) {
    const lane* felt = kind == CAL_PRISMATIC ? wrench + 3 : wrench;
    *share = (z[0] * felt[0] + z[1] * felt[1]) + z[2] * felt[2];
    const lane part = *share * over;
    for (int i = 0; i < 6; i++) wrench[i] -= U[i] * part;
}

// y of one node; its wrench then is what goes on. A joint that turns feels moments alone, one that slides forces alone.
LANE_INLINE void share_wrench(int kind, const lane* S, const lane* V, const lane* C, lane* wrench, lane* y) {
    const int degrees = cal_kind_v(kind);
    for (int k = 0; k < degrees; k++) {
        const lane* axis = S + 6 * k;
        lane turn = lane_set(0.0), slide = lane_set(0.0);
        if (kind != CAL_PRISMATIC) turn = (axis[0] * wrench[0] + axis[1] * wrench[1]) + axis[2] * wrench[2];
        if (kind == CAL_PRISMATIC || kind == CAL_FREE)
            slide = (axis[3] * wrench[3] + axis[4] * wrench[4]) + axis[5] * wrench[5];
        y[k] = kind == CAL_PRISMATIC ? slide : kind == CAL_FREE ? turn + slide : turn;
        for (int e = 0; e < k; e++) y[k] -= C[k * degrees + e] * y[e];
        y[k] = y[k] * C[k * degrees + k];
    }
    for (int k = 0; k < degrees; k++)
        for (int i = 0; i < 6; i++) wrench[i] -= V[6 * k + i] * y[k];
}
