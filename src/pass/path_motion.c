// Paths (path_motion.h): making them, and putting their segments together.
#include "pass/path_motion.h"
#include "base/memory.h"
#include "math/vector.h"
#include "pass/joint_law.h"
#include "pass/variants.h"
#include <math.h>
#include <string.h>

bool cal_joint_path_exists(const cal_model* model, int node) {
    for (int n = node; n >= 0; n = model->nodes[n].parent)
        if (cal_kind_v(model->nodes[n].kind) != 1) return false;
    return node >= 0;
}

static bool turns_about_z(const double R[9]) {
    return R[2] == 0.0 && R[5] == 0.0 && R[6] == 0.0 && R[7] == 0.0 && R[8] == 1.0;
}

static void put_joint(cal_joint_path* path, int step, int lane, const cal_node* node, bool limited) {
    static const double rotation[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    double* numbers = path->constants + (size_t)step * CAL_JOINT_PATH_CONSTANTS * CAL_JOINT_PATH_LANES + lane;
    const size_t at = (size_t)step * CAL_JOINT_PATH_LANES + (size_t)lane;
    const bool slides = node && node->kind == CAL_PRISMATIC;
    for (int i = 0; i < 9; i++) numbers[i * CAL_JOINT_PATH_LANES] = node ? node->rotation[i] : rotation[i];
    // A root's place is the base.
    for (int i = 0; i < 3; i++)
        numbers[(9 + i) * CAL_JOINT_PATH_LANES] = node && node->parent >= 0 ? node->offset[i] : 0.0;
    numbers[CAL_JOINT_PATH_TURNS * CAL_JOINT_PATH_LANES] = node && !slides ? 1.0 : 0.0;
    numbers[CAL_JOINT_PATH_SLIDES * CAL_JOINT_PATH_LANES] = slides ? 1.0 : 0.0;
    path->q[at] = node ? node->first_q : 0;
    path->v[at] = node ? node->first_v : 0;
    path->slides = path->slides || slides;
    path->spatial = path->spatial || slides || (node && !turns_about_z(node->rotation)) ||
                    numbers[11 * CAL_JOINT_PATH_LANES] != 0.0;
    if (!node) return;
    const double *S = node->second_moment, *h = node->moment;
    const double masses[CAL_JOINT_PATH_MASSES] = {node->mass,  h[0],  h[1],  h[2],  S[1] + S[2],   S[0] + S[2],
                                                  S[0] + S[1], -S[3], -S[4], -S[5], node->armature};
    double* out = path->masses + (size_t)step * CAL_JOINT_PATH_MASSES * CAL_JOINT_PATH_LANES + lane;
    for (int i = 0; i < CAL_JOINT_PATH_MASSES; i++) out[i * CAL_JOINT_PATH_LANES] = masses[i];
    path->stores = path->stores || node->stiffness != 0.0 || limited;
}

cal_status cal_joint_path_create(const cal_model* model, int node, cal_joint_path* out) {
    int length = 0, root = node;
    for (int n = node; n >= 0; n = model->nodes[n].parent) length++, root = n;
    const size_t steps = ((size_t)length + CAL_JOINT_PATH_LANES - 1) / CAL_JOINT_PATH_LANES;
    *out = (cal_joint_path){
        .node = node,
        .steps = (int)steps,
        .segments = (length + (int)steps - 1) / (int)steps,
        .constants = cal_allocate(steps * CAL_JOINT_PATH_CONSTANTS * CAL_JOINT_PATH_LANES, sizeof(double)),
        .q = cal_allocate(steps * CAL_JOINT_PATH_LANES, sizeof(int32_t)),
        .v = cal_allocate(steps * CAL_JOINT_PATH_LANES, sizeof(int32_t)),
        .masses = cal_allocate(steps * CAL_JOINT_PATH_MASSES * CAL_JOINT_PATH_LANES, sizeof(double))};
    if (!out->constants || !out->q || !out->v || !out->masses) {
        cal_joint_path_destroy(out);
        return CAL_NO_MEMORY;
    }
    memcpy(out->base, model->nodes[root].offset, sizeof out->base);
    for (int i = length; i < (int)steps * CAL_JOINT_PATH_LANES; i++)
        put_joint(out, i % (int)steps, i / (int)steps, NULL, false);
    for (int n = node, i = length - 1; n >= 0; n = model->nodes[n].parent, i--)
        put_joint(out, i % (int)steps, i / (int)steps, &model->nodes[n],
                  model->joints[model->nodes[n].joint].def->limited);
    return CAL_OK;
}

void cal_joint_path_destroy(cal_joint_path* path) {
    cal_free(path->constants), cal_free(path->q), cal_free(path->v), cal_free(path->masses);
    *path = (cal_joint_path){0};
}

static double larger_size(double size, const double* numbers, int count) {
    for (int i = 0; i < count; i++)
        if (fabs(numbers[i]) > size) size = fabs(numbers[i]);
    return size;
}

cal_joint_path_kernel cal_joint_path_segments_w1, cal_joint_path_segments_w1_fma, cal_joint_path_segments_w2,
    cal_joint_path_segments_w4, cal_joint_path_segments_w8;

enum { LANES = CAL_JOINT_PATH_LANES, EXTENT = CAL_SEGMENT_EXTENT * LANES, SPEED = CAL_SEGMENT_SPEED * LANES };

// Where a segment begins, its lane's first number given.
static inline void put_begin(const cal_joint_path* path, const double* R, const double* origin, const double* moving,
                             double* begin) {
    for (int i = 0; i < 9; i++) begin[i * LANES] = R[3 * (i % 3) + i / 3];
    for (int i = 0; i < 3; i++) begin[(CAL_BEGIN_ORIGIN + i) * LANES] = path->base[i] + origin[i];
    for (int i = 0; i < 6; i++) begin[(CAL_BEGIN_ANGULAR + i) * LANES] = moving[i];
}

static inline void take3(const double* segment, int first, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = segment[(first + i) * LANES];
}

// Puts a segment behind those before it, its lane's first number given.
static inline void add_segment(const double* segment, int rates, double R[9], double origin[3],
                               double moving[1 + CAL_JOINT_PATH_RATES][6]) {
    double own[3], turn[9], product[9], way[3], lever[3], turned[3], moved[3];
    take3(segment, CAL_SEGMENT_ORIGIN, own);
    cal_rotate3(R, own, way);
    for (int k = 0; k <= rates; k++) {
        take3(segment, CAL_SEGMENT_RATES + 6 * k, own);
        cal_rotate3(R, own, turned);
        take3(segment, CAL_SEGMENT_RATES + 6 * k + 3, own);
        cal_rotate3(R, own, moved);
        cal_cross3(moving[k], way, lever);
        for (int i = 0; i < 3; i++) {
            moving[k][3 + i] += lever[i] + moved[i];
            moving[k][i] += turned[i];
        }
    }
    for (int i = 0; i < 3; i++) origin[i] += way[i];
    for (int i = 0; i < 9; i++) turn[i] = segment[(CAL_SEGMENT_TURN + 3 * (i % 3) + i / 3) * LANES];
    cal_multiply33(R, turn, product);
    memcpy(R, product, sizeof product);
}

void cal_joint_path_move(const cal_joint_path* path, int variant, const double* q, const double* v,
                         const cal_joint_path_rates* rates, cal_node_motion* motion, cal_joint_path_motion* out) {
    static cal_joint_path_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_joint_path_segments);
    _Alignas(64) double segments[CAL_SEGMENT_COUNT * CAL_JOINT_PATH_LANES];
    double R[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, origin[3] = {0.0},
           moving[1 + CAL_JOINT_PATH_RATES][6] = {{0.0}};
    kernels[variant](path, q, v, rates, segments);
    out->extent = out->speed = 1.0;
    for (int s = 0; s < path->segments; s++) {
        put_begin(path, R, origin, moving[0], out->begins + s);
        add_segment(segments + s, rates->count, R, origin, moving);
        out->extent = larger_size(larger_size(out->extent, segments + s + EXTENT, 1), origin, 3);
        out->speed = larger_size(larger_size(out->speed, segments + s + SPEED, 1), moving[0], 6);
    }
    // The other segments are empty: they turn by I, which changes no number, but signs of zeros, and those the first time only.
    for (int s = path->segments; s < CAL_JOINT_PATH_LANES; s++) put_begin(path, R, origin, moving[0], out->begins + s);
    if (path->segments < CAL_JOINT_PATH_LANES) {
        static const double unit[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
        double product[9];
        cal_multiply33(R, unit, product);
        memcpy(R, product, sizeof R);
    }
    memcpy(motion->rotation, R, sizeof motion->rotation);
    memcpy(motion->base, path->base, sizeof motion->base);
    memcpy(motion->origin, origin, sizeof motion->origin);
    memcpy(motion->angular, moving[0], sizeof motion->angular);
    memcpy(motion->linear, moving[0] + 3, sizeof motion->linear);
    memcpy(out->answers, moving[1], (size_t)(6 * rates->count) * sizeof(double));
}

cal_joint_path_energies cal_joint_path_energies_w1, cal_joint_path_energies_w1_fma, cal_joint_path_energies_w2,
    cal_joint_path_energies_w4, cal_joint_path_energies_w8;

double cal_joint_path_energy(const cal_joint_path* path, const cal_model* model, int variant, const double* q,
                             const double* v, const cal_joint_path_motion* motion) {
    static cal_joint_path_energies* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_joint_path_energies);
    _Alignas(64) double energies[CAL_JOINT_PATH_LANES];
    double sum = 0.0;
    kernels[variant](path, model->gravity, q, v, motion->begins, energies);
    for (int s = 0; s < CAL_JOINT_PATH_LANES; s++) sum += energies[s];
    for (int n = path->node; n >= 0 && path->stores; n = model->nodes[n].parent)
        sum += cal_node_energy(model, &model->nodes[n], q + model->nodes[n].first_q);
    return sum;
}
