// Motions of all nodes, parents first (constraint_rows.h). Compiled once for each width (aba_lanes.c says how): sine and cosine of many
// joints are found in lanes, what recurs down the tree runs joint by joint.
#include "pass/body_frames.h"
#include "pass/constraint_rows.h"

#if CAL_WIDTH > 1
#undef CAL_LANES
#define CAL_LANES CAL_WIDTH
#include "math/lanes.h"
#endif

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)

enum { BATCH = 64 }; // joints at a time: what is found in lanes stays in the first cache

// Sine and cosine of the revolute joints among the nodes [first, first + count).
static void find_angles(const cal_model* model, const double* q, int first, int count, double* sines, double* cosines) {
    _Alignas(64) double angles[BATCH] = {0.0};
    for (int i = 0; i < count; i++) {
        const cal_node* node = &model->nodes[first + i];
        if (node->kind == CAL_REVOLUTE) angles[i] = q[node->first_q];
    }
    for (int i = 0; i < count; i += CAL_LANES) {
        lane x, s, c;
        memcpy(&x, angles + i, sizeof x);
        lane_sincos(x, &s, &c);
        memcpy(sines + i, &s, sizeof s);
        memcpy(cosines + i, &c, sizeof c);
    }
}

// A node's frame in its parent's; s, c: sine and cosine of a revolute joint's angle.
static inline void place(const cal_node* node, const double* q, double s, double c, double rotation[9], double arm[3]) {
    if (node->kind != CAL_REVOLUTE) {
        cal_place_node(node, q, rotation, arm);
        return;
    }
    const double* fixed = node->rotation;
    for (int i = 0; i < 9; i += 3) {
        rotation[i] = c * fixed[i] + s * fixed[i + 1];
        rotation[i + 1] = c * fixed[i + 1] - s * fixed[i];
        rotation[i + 2] = fixed[i + 2];
    }
    memcpy(arm, node->offset, 3 * sizeof(double));
}

static inline void find_place(const cal_node* node, const cal_node_motion* parent, const double* q, double s, double c,
                              cal_node_motion* own) {
    double rotation[9], arm[3];
    place(node, q, s, c, rotation, arm);
    memcpy(own->base, parent->base, sizeof own->base);
    if (node->parent < 0 && node->kind != CAL_FREE) {
        memcpy(own->base, node->offset, sizeof own->base);
        const double along = node->kind == CAL_PRISMATIC ? q[0] : 0.0;
        for (int i = 0; i < 3; i++) arm[i] = node->rotation[3 * i + 2] * along;
    }
    cal_multiply33(parent->rotation, rotation, own->rotation);
    cal_rotate3(parent->rotation, arm, own->arm);
    for (int i = 0; i < 3; i++) own->origin[i] = parent->origin[i] + own->arm[i];
}

static inline void find_velocity(const cal_node* node, const cal_node_motion* parent, const double* v,
                                 cal_node_motion* own) {
    double angular[3] = {0.0, 0.0, 0.0}, linear[3] = {0.0, 0.0, 0.0}, swing[3];
    const double* R = own->rotation;
    cal_cross3(parent->angular, own->arm, swing);
    if (node->kind == CAL_REVOLUTE || node->kind == CAL_PRISMATIC) {
        double* along = node->kind == CAL_REVOLUTE ? angular : linear;
        for (int i = 0; i < 3; i++) along[i] = R[3 * i + 2] * v[0];
    } else {
        const cal_spatial joint = cal_joint_motion(node, R, v);
        cal_rotate3(R, joint.angular, angular);
        cal_rotate3(R, joint.linear, linear);
    }
    for (int i = 0; i < 3; i++) {
        own->angular[i] = parent->angular[i] + angular[i];
        own->linear[i] = parent->linear[i] + swing[i] + linear[i];
    }
}

void KERNEL(cal_node_motions)(const cal_model* model, const double* q, const double* v, bool moved,
                              cal_node_motion* out) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    _Alignas(64) double sines[BATCH], cosines[BATCH];
    for (int first = 0; first < model->node_count; first += BATCH) {
        const int count = model->node_count - first < BATCH ? model->node_count - first : BATCH;
        if (moved) find_angles(model, q, first, count, sines, cosines);
        for (int i = 0; i < count; i++) {
            const cal_node* node = &model->nodes[first + i];
            const cal_node_motion* parent = node->parent < 0 ? &ground : &out[node->parent];
            cal_node_motion* own = &out[first + i];
            if (moved) find_place(node, parent, q + node->first_q, sines[i], cosines[i], own);
            find_velocity(node, parent, v + node->first_v, own);
        }
    }
}
