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

void KERNEL(cal_joint_path_energies)(const cal_joint_path* path, const double* gravity, const double* q,
                                     const double* v, const double* begins, double* energies) {
    for (int at = 0; at < CAL_JOINT_PATH_LANES; at += CAL_LANES) {
        if (path->slides)
            sum_segments(path, at, gravity, q, v, begins, true, energies);
        else
            sum_segments(path, at, gravity, q, v, begins, false, energies);
    }
}
