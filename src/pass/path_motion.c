// Paths (path_motion.h): making them, and putting their segments together.
#include "pass/path_motion.h"
#include "base/memory.h"
#include "pass/joint_law.h"
#include "pass/variants.h"
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
    path->segments = path->segments > lane ? path->segments : lane + 1;
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

enum { WIDEST = 3 }; // in the order of CAL_VARIANTS_OF

// Half as many lanes are enough for half as many segments, and take less time.
static int variant_for(const cal_joint_path* path, int variant) {
    return variant == WIDEST && 2 * path->segments <= CAL_JOINT_PATH_LANES ? WIDEST - 1 : variant;
}

cal_joint_path_kernel cal_joint_path_segments_w1, cal_joint_path_segments_w1_fma, cal_joint_path_segments_w2,
    cal_joint_path_segments_w4, cal_joint_path_segments_w8;

static void find_segments(const cal_joint_path* path, int variant, const double* q, const double* v,
                          const cal_joint_path_rates* rates, double* segments) {
    static cal_joint_path_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_joint_path_segments);
    kernels[variant_for(path, variant)](path, q, v, rates, segments);
}

cal_joint_path_presses cal_joint_path_presses_w1, cal_joint_path_presses_w1_fma, cal_joint_path_presses_w2,
    cal_joint_path_presses_w4, cal_joint_path_presses_w8;

static void press_joints(const cal_joint_path* path, int variant, const double* q, const double* wrenches,
                         const cal_joint_path_load* load, double* out) {
    static cal_joint_path_presses* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_joint_path_presses);
    kernels[variant_for(path, variant)](path, q, wrenches, load, out);
}
#include "pass/path_motion_body.h"

cal_joint_path_energies cal_joint_path_energies_w1, cal_joint_path_energies_w1_fma, cal_joint_path_energies_w2,
    cal_joint_path_energies_w4, cal_joint_path_energies_w8;

double cal_joint_path_energy(const cal_joint_path* path, const cal_model* model, int variant, const double* q,
                             const double* v, const cal_joint_path_motion* motion) {
    static cal_joint_path_energies* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_joint_path_energies);
    _Alignas(64) double energies[CAL_JOINT_PATH_LANES];
    double sum = 0.0;
    kernels[variant_for(path, variant)](path, model->gravity, q, v, motion->begins, energies);
    for (int s = 0; s < path->segments; s++) sum += energies[s];
    for (int n = path->node; n >= 0 && path->stores; n = model->nodes[n].parent)
        sum += cal_node_energy(model, &model->nodes[n], q + model->nodes[n].first_q);
    return sum;
}
