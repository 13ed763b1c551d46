// fastband_check (Armstrong, Marsland, Olafsson, Schaeffer, appendix): do the accelerations fulfil the equations of
// motion?
//
// Outbound, from the accelerations that the state holds: ω̇ and a of every link, by (5) and (6). Inbound: the force f
// that a link exerts on its parent, by (3) and (4) from its children's; and what is left over in
//
//   (1), (2)  J ω̇ = −ω × J ω − g + ∑ R g + R_Iᵀ g_E + h × R_Iᵀ a_G + p_E × R_Iᵀ f_E − h × a + ∑ l × R f
//   (3)       f = −R_Iᵀ force + A a, at a free root, on which only the user's force acts
//
// against the size of the terms. h = m c; a hinge's torque g is −τ, or −τ + A u̇ where it has armature A. The paper
// compares f with (24), M a + f′: that is the same equation once more, from coefficients that the walk does not keep.
//
// Notation is that of armstrong_body.h, of which nothing is used here. Matrices are rows.
#include "pass/armstrong.h"

#include "base/memory.h"
#include "pass/body_frames.h"

typedef struct link {
    double R[9], R_I[9], l[3];
    double w[3], wd[3], a[3]; // ω, ω̇, a
    double f[3], g[3];        // on the parent, link's axes
    double drive[3];          // R_Iᵀ force of a free root
    double external_force[3], external_torque[3];
} link;

// Where a node's numbers are: its lane of its block, of `width` lanes.
typedef struct spot {
    size_t block, slot, width;
} spot;

static void gather(const double* from, size_t first, spot at, int count, double* out) {
    for (size_t i = 0; i < (size_t)count; i++) out[i] = from[first + i * at.width + at.slot];
}

static void turn_outbound(const cal_context* context, const cal_node* node, const link* parent, spot at, link* own) {
    const cal_layout* layout = context->layout;
    const int q_count = cal_kind_q(node->kind), v_count = cal_kind_v(node->kind);
    const size_t y = (size_t)layout->block_y[at.block], v_in_y = y + (size_t)q_count * at.width;
    double q[7] = {0}, u[6] = {0}, ud[6] = {0}, force[6] = {0}, c[3];
    gather(context->y, y, at, q_count, q);
    gather(context->y, v_in_y, at, v_count, u);
    gather(context->ydot, v_in_y, at, v_count, ud);
    gather(context->force, (size_t)layout->block_v[at.block], at, v_count, force);
    cal_place_node(node, q, own->R, own->l);
    if (node->kind == CAL_BALL) {
        cal_multiply33(parent->R_I, own->R, own->R_I);
        cal_unrotate3(own->R, parent->w, own->w);
        for (int i = 0; i < 3; i++) own->w[i] += u[i];
        cal_unrotate3(own->R, parent->wd, own->wd);
        cal_cross3(own->w, u, c);
        for (int i = 0; i < 3; i++) own->wd[i] += ud[i] + c[i];
        cal_cross3(parent->w, own->l, c);
        cal_cross3(parent->w, c, own->a);
        cal_cross3(parent->wd, own->l, c);
        for (int i = 0; i < 3; i++) own->a[i] += parent->a[i] + c[i];
        cal_unrotate3(own->R, own->a, own->a);
        for (int i = 0; i < 3; i++) own->g[i] = node->armature * ud[i] - force[i];
    } else {
        memcpy(own->R_I, own->R, sizeof own->R_I);
        memcpy(own->w, u + 3, sizeof own->w);
        memcpy(own->wd, ud + 3, sizeof own->wd);
        cal_unrotate3(own->R_I, ud, own->a);
        cal_unrotate3(own->R_I, force, own->drive);
        for (int i = 0; i < 3; i++) own->g[i] = node->armature * ud[3 + i] - force[3 + i];
    }
    if (!context->wrench) return;
    double wrench[15] = {0}, lever[9];
    gather(context->wrench, at.block * 15 * at.width, at, 15, wrench);
    cal_unrotate3(own->R_I, wrench, own->external_force);
    cal_unrotate3(own->R_I, wrench + 3, own->external_torque);
    cal_multiply33(wrench + 6, own->R_I, lever);
    own->external_torque[0] += lever[5] - lever[7];
    own->external_torque[1] += lever[6] - lever[2];
    own->external_torque[2] += lever[1] - lever[3];
}

// A sum of vectors that should be zero, and how long its terms could be: of a product, the lengths of its factors, since a
// figure that falls freely leaves nothing but rounding of the products themselves.
typedef struct balance {
    double sum[3], size;
} balance;

static void add(balance* b, double sign, const double term[3]) {
    for (int i = 0; i < 3; i++) b->sum[i] += sign * term[i];
    b->size += sqrt(cal_dot3(term, term));
}

static void add_cross(balance* b, double sign, const double x[3], const double y[3]) {
    double term[3];
    cal_cross3(x, y, term);
    for (int i = 0; i < 3; i++) b->sum[i] += sign * term[i];
    b->size += sqrt(cal_dot3(x, x) * cal_dot3(y, y));
}

static double relative(const balance* b) { return b->size == 0.0 ? 0.0 : sqrt(cal_dot3(b->sum, b->sum)) / b->size; }

// The misfit of one link's equations.
static double weigh(const cal_model* model, int n, link* links) {
    const cal_node* node = &model->nodes[n];
    link* own = &links[n];
    const double *h = node->moment, *S = node->second_moment;
    const double J[9] = {S[1] + S[2], -S[3], -S[4], -S[3], S[0] + S[2], -S[5], -S[4], -S[5], S[0] + S[1]};
    double weight[3], term[3];
    cal_unrotate3(own->R_I, model->gravity, weight);
    // A link whose centre of mass is at its hinge still has its weight to be measured by.
    balance torque = {.size = sqrt(cal_dot3(weight, weight) * node->mass * (S[0] + S[1] + S[2]))}, force = {0};
    cal_rotate3(J, own->wd, term);
    add(&torque, -1.0, term);
    cal_rotate3(J, own->w, term);
    add_cross(&torque, -1.0, own->w, term);
    add(&torque, -1.0, own->g);
    add(&torque, 1.0, own->external_torque);
    add_cross(&torque, 1.0, h, weight);
    add_cross(&torque, -1.0, h, own->a);
    cal_cross3(own->w, h, term);
    add_cross(&force, -1.0, own->w, term);
    add(&force, 1.0, own->external_force);
    for (int i = 0; i < 3; i++) term[i] = node->mass * weight[i];
    add(&force, 1.0, term);
    for (int i = 0; i < 3; i++) term[i] = node->mass * own->a[i];
    add(&force, -1.0, term);
    add_cross(&force, 1.0, h, own->wd);
    for (int s = cal_first_child(model, n); s >= 0; s = cal_next_child(model, n, s)) {
        cal_rotate3(links[s].R, links[s].g, term);
        add(&torque, 1.0, term);
        cal_rotate3(links[s].R, links[s].f, term);
        add_cross(&torque, 1.0, links[s].l, term);
        add(&force, 1.0, term);
    }
    memcpy(own->f, force.sum, sizeof own->f);
    double misfit = relative(&torque);
    if (node->kind == CAL_FREE) {
        add(&force, 1.0, own->drive);
        for (int i = 0; i < 3; i++) term[i] = node->armature * own->a[i];
        add(&force, -1.0, term);
        misfit = fmax(misfit, relative(&force));
    }
    return misfit;
}

cal_status cal_armstrong_check(const cal_context* context, double* residual, int* body) {
    const cal_layout* layout = context->layout;
    const cal_model* model = context->model;
    if (!context->ydot || layout->copies != 1) return CAL_BAD_ARGUMENT;
    for (int i = 0; i < model->v_count; i++)
        if (layout->v_position[i] < 0) return CAL_BAD_ARGUMENT;
    if (cal_armstrong_accepts(model, NULL)) return CAL_BAD_MODEL;
    const size_t count = (size_t)model->node_count, width = (size_t)layout->width;
    link* links = cal_allocate(count, sizeof *links);
    spot* spots = cal_allocate(count, sizeof *spots);
    if (!links || !spots) {
        cal_free(links), cal_free(spots);
        return CAL_NO_MEMORY;
    }
    for (size_t block = 0; block < (size_t)layout->block_count; block++)
        for (size_t slot = 0; slot < width; slot++) {
            const int32_t node = layout->block_nodes[block * width + slot];
            if (node >= 0) spots[node] = (spot){block, slot, width};
        }
    const link ground = {.R_I = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    for (int n = 0; n < model->node_count; n++) {
        const int parent = model->nodes[n].parent;
        turn_outbound(context, &model->nodes[n], parent < 0 ? &ground : &links[parent], spots[n], &links[n]);
    }
    *residual = 0.0;
    *body = model->node_count > 0 ? model->nodes[0].body : CAL_NONE;
    for (int n = model->node_count - 1; n >= 0; n--) {
        const double misfit = weigh(model, n, links);
        // Not a number is the worst.
        if (misfit <= *residual) continue;
        *residual = misfit;
        *body = model->nodes[n].body;
        if (misfit != misfit) break;
    }
    cal_free(links), cal_free(spots);
    return CAL_OK;
}
