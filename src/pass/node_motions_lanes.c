// Motions of all nodes, parents first (constraint_rows.h). Compiled once for each width (aba_lanes.c says how): sine and cosine of many
// joints are found in lanes, what recurs down the tree runs joint by joint: of revolute ones, with three numbers of a vector in four
// lanes, where there are so many. A chain's motion stays in registers.
#include "math/four.h"
#include "pass/node_motion_body.h"
#include <stddef.h>

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

#if CAL_WIDTH > 2
// --- Three numbers in four lanes ---------------------------------------------------------------------------------------

typedef cal_four four;
#define SHUFFLE CAL_SHUFFLE

// Columns of a rotation, origin and velocities of a node, as those below it need them.
typedef struct quick {
    four x, y, z, base, origin, angular, linear;
} quick;

static inline void turn_rows(four* x, four* y, four* z) {
    const four low = SHUFFLE(*x, *y, 0, 4, 1, 5), high = SHUFFLE(*x, *y, 2, 6, 3, 7), last = *z;
    *x = SHUFFLE(low, last, 0, 1, 4, 7), *y = SHUFFLE(low, last, 2, 3, 5, 7), *z = SHUFFLE(high, last, 0, 1, 6, 7);
}

static inline quick load_quick(const cal_node_motion* m, bool moved) {
    quick out = {.angular = cal_load_four(m->angular), .linear = cal_load_three(m->linear)};
    if (!moved) return out;
    out.x = cal_load_four(m->rotation), out.y = cal_load_four(m->rotation + 3), out.z = cal_load_four(m->rotation + 6);
    turn_rows(&out.x, &out.y, &out.z);
    out.base = cal_load_four(m->base), out.origin = cal_load_four(m->origin);
    return out;
}

// The ground's, for a root: that is where its tree's base is.
static inline quick stand_quick(const cal_node* root) {
    return (quick){.x = {1.0}, .y = {0.0, 1.0}, .z = {0.0, 0.0, 1.0}, .base = cal_load_four(root->offset)};
}

// find_place and find_velocity of a revolute joint: from its parent's motion to its own. offset: from its parent's origin.
static inline CAL_ALWAYS void move_quick(const cal_node* node, const double* offset, double v, double s, double c,
                                         bool moved, quick* m, cal_node_motion* own) {
    four arm, z;
    if (moved) {
        // L = R₀ Rot_z(q), row by row: c f₀ + s f₁, c f₁ − s f₀, f₂.
        const four cosines = {c, c, 1.0, 1.0}, sines = {s, -s, 0.0, 0.0};
        four L[3];
        for (int i = 0; i < 3; i++) {
            const four fixed = cal_load_four(node->rotation + 3 * i),
                       turned = cosines * fixed + sines * SHUFFLE(fixed, fixed, 1, 0, 2, 3);
            L[i] = SHUFFLE(turned, fixed, 0, 1, 6, 7);
        }
        arm = m->x * offset[0] + m->y * offset[1] + m->z * offset[2];
        const four x = m->x * L[0][0] + m->y * L[1][0] + m->z * L[2][0],
                   y = m->x * L[0][1] + m->y * L[1][1] + m->z * L[2][1];
        z = m->x * L[0][2] + m->y * L[1][2] + m->z * L[2][2];
        m->x = x, m->y = y, m->z = z;
        m->origin = m->origin + arm;
        four rows[3] = {x, y, z};
        turn_rows(&rows[0], &rows[1], &rows[2]);
        for (int i = 0; i < 3; i++) cal_store_four(rows[i], own->rotation + 3 * i);
        cal_store_four(m->base, own->base);
        cal_store_four(m->origin, own->origin);
        cal_store_four(arm, own->arm);
    } else {
        arm = cal_load_four(own->arm), z = (four){own->rotation[2], own->rotation[5], own->rotation[8]};
    }
    const four swing = cal_cross_four(m->angular, arm), none = {0.0};
    m->angular = m->angular + z * v;
    m->linear = m->linear + swing + none;
    cal_store_four(m->angular, own->angular);
    cal_store_three(m->linear, own->linear);
}

// A revolute node and the chain of such below it, as far as nodes are numbered one after the other: what goes from one to the next stays
// in registers. Nodes before `end`; returns the first that is not of it.
static inline CAL_ALWAYS int move_run(const cal_node* nodes, int n, int end, const double* v, const double* sines,
                                      const double* cosines, bool moved, cal_node_motion* out) {
    static const double nowhere[3] = {0.0};
    quick m = nodes[n].parent < 0 ? stand_quick(&nodes[n]) : load_quick(&out[nodes[n].parent], moved);
    do {
        const double* offset = nodes[n].parent < 0 ? nowhere : nodes[n].offset;
        move_quick(&nodes[n], offset, v[nodes[n].first_v], *sines++, *cosines++, moved, &m, &out[n]);
        n++;
    } while (n < end && nodes[n].kind == CAL_REVOLUTE && nodes[n].parent == n - 1);
    return n;
}
_Static_assert(offsetof(cal_node, offset) == offsetof(cal_node, rotation) + 9 * sizeof(double),
               "read with the rotation");
#endif

void KERNEL(cal_node_motions)(const cal_model* model, const double* q, const double* v, bool moved, int from, int to,
                              cal_node_motion* out) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    _Alignas(64) double sines[BATCH] = {0.0}, cosines[BATCH] = {0.0};
    for (int first = from; first < to; first += BATCH) {
        const int end = to - first < BATCH ? to : first + BATCH;
        if (moved) find_angles(model, q, first, end - first, sines, cosines);
        for (int n = first; n < end;) {
            const cal_node* node = &model->nodes[n];
            const double *s = sines + (n - first), *c = cosines + (n - first);
#if CAL_WIDTH > 2
            if (node->kind == CAL_REVOLUTE) {
                n = moved ? move_run(model->nodes, n, end, v, s, c, true, out)
                          : move_run(model->nodes, n, end, v, s, c, false, out);
                continue;
            }
#endif
            const cal_node_motion* parent = node->parent < 0 ? &ground : &out[node->parent];
            if (moved) place_motion(node, parent, q + node->first_q, *s, *c, &out[n]);
            find_node_velocity(node, parent, v + node->first_v, &out[n]);
            n++;
        }
    }
}
