// Energies of the nodes of a path (path_motion.h), segments side by side. Compiled once for each width (aba_lanes.c says how).
//
// Segments begin where cal_joint_path_move has put them together. With a node's velocity in its own axes, ω and u, and J = tr Σ − Σ, as in
// energy_body.h:
//
//     ½ (ω · (J ω + h × u) + u · (m u − h × ω)) + ½ armature q̇² − g · (m x + R h)
#include "pass/path_motion.h"
#define CAL_LANES CAL_WIDTH
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "pass/path_step.h"

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)

LANE_INLINE v3 load3(const double* from) {
    return (v3){load_one(from), load_one(from + CAL_JOINT_PATH_LANES), load_one(from + 2 * CAL_JOINT_PATH_LANES)};
}

LANE_INLINE void sum_segments(const cal_joint_path* path, int at, const double* gravity, const double* q,
                              const double* v, const double* begins, bool slides, double* energies) {
    const double* begin = begins + at;
    m3 R = {load3(begin), load3(begin + 3 * CAL_JOINT_PATH_LANES), load3(begin + 6 * CAL_JOINT_PATH_LANES)};
    v3 x = load3(begin + CAL_BEGIN_ORIGIN * CAL_JOINT_PATH_LANES),
       w = load3(begin + CAL_BEGIN_ANGULAR * CAL_JOINT_PATH_LANES),
       u = load3(begin + CAL_BEGIN_LINEAR * CAL_JOINT_PATH_LANES);
    const v3 g = {lane_set(gravity[0]), lane_set(gravity[1]), lane_set(gravity[2])};
    lane twice = lane_set(0.0), weight = twice; // of kinetic energy, of what gravity has done
    for (int i = 0; i < path->steps; i++) {
        const double* c = path->masses + (size_t)i * (CAL_JOINT_PATH_MASSES * CAL_JOINT_PATH_LANES) + at;
        const joint_step step = take_joint(path, i, at, q, slides, &R);
        const lane rate = gather(v, path->v + i * CAL_JOINT_PATH_LANES + at, 1);
        x = v3_add(x, step.arm);
        move_joint(&step, R.z, rate, slides, &w, &u);
#define NUMBER(j) load_one(c + (j)*CAL_JOINT_PATH_LANES)
        const v3 own_w = m3_transpose_times(R, w), own_u = m3_transpose_times(R, u),
                 h = load3(c + CAL_JOINT_PATH_LANES);
        const lane mass = NUMBER(0), xy = NUMBER(7), xz = NUMBER(8), yz = NUMBER(9);
        v3 spin = {lane_fma(NUMBER(4), own_w.x, lane_fma(xy, own_w.y, xz * own_w.z)),
                   lane_fma(NUMBER(5), own_w.y, lane_fma(xy, own_w.x, yz * own_w.z)),
                   lane_fma(NUMBER(6), own_w.z, lane_fma(xz, own_w.x, yz * own_w.y))};
        spin = v3_fma_cross(h, own_u, spin);
        const v3 push = v3_fma_cross(own_w, h, v3_scale(own_u, mass));
        twice = twice + (v3_dot(own_w, spin) + v3_dot(own_u, push));
        twice = lane_fma(NUMBER(10) * rate, rate, twice);
        weight = lane_fma(mass, v3_dot(g, x), weight) + v3_dot(g, m3_times(R, h));
#undef NUMBER
    }
    const lane energy = lane_set(0.5) * twice - weight;
    memcpy(energies + at, &energy, sizeof energy);
}

// The same in a plane, which segments begin in as well.
LANE_INLINE void sum_planar_segments(const cal_joint_path* path, int at, const double* gravity, const double* q,
                                     const double* v, const double* begins, double* energies) {
    const double* begin = begins + at;
    const v3 x_axis = load3(begin), y_axis = load3(begin + 3 * CAL_JOINT_PATH_LANES),
             moving = load3(begin + CAL_BEGIN_LINEAR * CAL_JOINT_PATH_LANES);
    planar_axes R = {x_axis.x, x_axis.y, y_axis.x, y_axis.y};
    v3 x = load3(begin + CAL_BEGIN_ORIGIN * CAL_JOINT_PATH_LANES);
    lane w = load_one(begin + (CAL_BEGIN_ANGULAR + 2) * CAL_JOINT_PATH_LANES), ux = moving.x, uy = moving.y;
    const v3 g = {lane_set(gravity[0]), lane_set(gravity[1]), lane_set(gravity[2])};
    lane twice = lane_set(0.0), weight = twice;
    for (int i = 0; i < path->steps; i++) {
        const double* c = path->masses + (size_t)i * (CAL_JOINT_PATH_MASSES * CAL_JOINT_PATH_LANES) + at;
        const planar_step step = take_planar(path, i, at, q, &R);
        const lane rate = gather(v, path->v + i * CAL_JOINT_PATH_LANES + at, 1);
        x.x = x.x + step.arm_x, x.y = x.y + step.arm_y;
        move_planar(&step, rate, &w, &ux, &uy);
#define NUMBER(j) load_one(c + (j)*CAL_JOINT_PATH_LANES)
        const lane own_x = lane_fma(R.xy, uy, R.xx * ux), own_y = lane_fma(R.yy, uy, R.yx * ux), mass = NUMBER(0);
        const v3 h = load3(c + CAL_JOINT_PATH_LANES);
        const lane spin = lane_fnma(h.y, own_x, lane_fma(h.x, own_y, NUMBER(6) * w)),
                   push_x = lane_fnma(w, h.y, own_x * mass), push_y = lane_fma(w, h.x, own_y * mass);
        twice = twice + (w * spin + lane_fma(own_y, push_y, own_x * push_x));
        twice = lane_fma(NUMBER(10) * rate, rate, twice);
        const v3 arm = {lane_fma(R.yx, h.y, R.xx * h.x), lane_fma(R.yy, h.y, R.xy * h.x), h.z};
        weight = lane_fma(mass, v3_dot(g, x), weight) + v3_dot(g, arm);
#undef NUMBER
    }
    const lane energy = lane_set(0.5) * twice - weight;
    memcpy(energies + at, &energy, sizeof energy);
}

void KERNEL(cal_joint_path_energies)(const cal_joint_path* path, const double* gravity, const double* q,
                                     const double* v, const double* begins, double* energies) {
    for (int at = 0; at < path->segments; at += CAL_LANES) {
        if (!path->spatial)
            sum_planar_segments(path, at, gravity, q, v, begins, energies);
        else if (path->slides)
            sum_segments(path, at, gravity, q, v, begins, true, energies);
        else
            sum_segments(path, at, gravity, q, v, begins, false, energies);
    }
}
