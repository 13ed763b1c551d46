// Every kind of constraint as rows (rows.h).
//
// Frame a, on node A with origin o and motion ω_a, u_a; frame b with origin x on node B with origin x − ρ and motion ω_b, u_b.
// With r = x − o, seen from a the point x has the velocity w and, all but what α and the nodes' own accelerations add, the
// acceleration c:
//
//     w = u_b + ω_b × ρ − u_a − ω_a × r             c = ω_b × (ω_b × ρ) − 2 ω_a × w − ω_a × (ω_a × r)
//
//   a function f of the point p = Fᵀ(x − x_a), F the axes of a: with e = F ∇f
//       f̈ = e · (a_b + α_b × ρ − a_a − α_a × r) + e · c + (Fᵀ w)ᵀ ∇²f (Fᵀ w)
//     displacements, distances, circles and surfaces are all of this kind
//
//   three turns together: 2ε of the quaternion (η, ε) of b in a. With Ω = ω_b − ω_a in a's axes, component i is
//       d/dt 2ε_i = Ω · (η e_i + ε × e_i)
//     which is zero for no turn only, and whose rows stay independent up to half a turn
//
//   one or two turns: with k an axis that is free, and j the third one, a turn about i takes k_b off k_a towards ±j_a: ∓ j_a · k_b,
//       d/dt (j_a · k_b) = (ω_b − ω_a) · (k_b × j_a)
//     smooth however far the free axes turn
//
//   a joint's value: q̈ = z · (α − α_p) for a revolute one, z · (a − a_p − α_p × s − ω_p × (ω_p × s)) for a prismatic one
//     with s from the parent's origin to the node's
//
//   a wheel: m is the direction in its plane that points up most steeply; the point x − R m of the wheel rests on a
#include "pass/constraint_rows.h"
#include "pass/body_frames.h"
#include "pass/variants.h"
// Lanes of width 1 are body_frames.h's.
#include "pass/constraint_rows_body.h"
#include "pass/constraint_kinds_body.h"

typedef void motions_kernel(const cal_model* model, const double* q, const double* v, bool moved, int first, int end,
                            cal_node_motion* out);
motions_kernel cal_node_motions_w1, cal_node_motions_w1_fma, cal_node_motions_w2, cal_node_motions_w4,
    cal_node_motions_w8;

void cal_node_motions(const cal_model* model, int variant, const double* q, const double* v, bool moved, int first,
                      int end, cal_node_motion* out) {
    static motions_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_node_motions);
    kernels[variant](model, q, v, moved, first, end, out);
}

void cal_constraint_find_frames(const cal_model* model, int constraint, cal_mount frames[2]) {
    static const cal_mount world = {.node = -1, .rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    const cal_constraint_def* def = &model->constraints[constraint];
    for (int which = 0; which < 2; which++) {
        frames[which] = world;
        if (def->kind == CAL_COUPLING) continue;
        const cal_mount* mount = def->body[which] == CAL_GROUND ? &world : &model->mounts[def->body[which]];
        double own[9];
        frames[which].node = mount->node;
        cal_quaternion_matrix(def->quaternion[which], own);
        cal_multiply33(mount->rotation, own, frames[which].rotation);
        cal_rotate3(mount->rotation, def->position[which], frames[which].offset);
        for (int i = 0; i < 3; i++) frames[which].offset[i] += mount->offset[i];
    }
}

int cal_constraint_make_rows(const cal_model* model, int constraint, double time, const cal_node_motion* motions,
                             const double* q, const double* v, cal_row* rows) {
    cal_mount frames[2];
    cal_constraint_find_frames(model, constraint, frames);
    const int count = cal_constraint_rows(&model->constraints[constraint], NULL);
    return cal_constraint_make_rows_at(model, constraint, frames, count, time, motions, q, v, rows);
}
