// Slopes of inverse dynamics.
//
// All vectors are Featherstone's, in the world's axes about one point, the origin of the tree's root (so that digits do not depend on
// where the tree is). A free joint counts as two: three translations, then a ball. With s a column of the joint of body j, λ what carries
// it (the ground: a = −gravity), and for a displacement along s, where S and all bodies behind move with it, as a rigid piece:
//
//   ∂v_b = s × v_b + Ψ̇                 Ψ̇ = v_λ × s
//   ∂a_b = s × a_b + Ψ̈ − v_b × Ψ̇       Ψ̈ = a_λ × s + v_λ × Ψ̇
//   ∂f_b = s ×* f_b + I_b Ψ̈ + B_b Ψ̇    B x = v ×* I x − I (v × x) + x ×* I v
//
// and for a change of its velocity ∂f_b = I_b (Ψ̇ + Ṡ) + B_b s, Ṡ = v_j × s. Sums over the subtree of each body, I, B and F, make of that
// (Carpentier and Mansard 2018; Singh, Russo and Wensing 2022)
//
//   ∂τ_i/∂q_k = S_iᵀ (s ×* F_j + I_j Ψ̈ + B_j Ψ̇)    for i above j
//   ∂τ_i/∂q_k = S_iᵀ (I_i Ψ̈ + B_i Ψ̇)               for i = j and below: S_i turns, too, and the first term is gone
//
// B depends on the angular part alone: with h = ∫ r dm, T = ∫ ṙ rᵀ dm, p = ∫ ṙ dm it is (2 (tr T − T) w, 2 w × p).
#include "pass/dynamics_slopes.h"
#include "base/memory.h"
#include "math/vector.h"
#include "pass/body_frames.h"

// Of a node, about the origin of its tree; what moves is first the node's own, then its subtree's.
typedef struct cal_slope_body {
    double rotation[9], position[3]; // in the world, less the origin of the tree
    cal_spatial velocity, acceleration;
    double mass, moment[3], second[9], stir[9], momentum[3]; // m, h, ∫ r rᵀ dm, T, p
    cal_spatial force;
    int32_t last; // of the degrees of the node and all above, −1: none
} cal_slope_body;

cal_dynamics_slopes* cal_dynamics_slopes_create(const cal_model* model) {
    cal_dynamics_slopes* out = cal_allocate(1, sizeof *out);
    if (!out) return NULL;
    out->model = model;
    out->degrees = cal_allocate((size_t)model->v_count + 1, sizeof *out->degrees);
    out->bodies = cal_allocate((size_t)model->node_count + 1, sizeof *out->bodies);
    if (out->degrees && out->bodies) return out;
    cal_dynamics_slopes_destroy(out);
    return NULL;
}

void cal_dynamics_slopes_destroy(cal_dynamics_slopes* slopes) {
    if (!slopes) return;
    cal_free(slopes->degrees);
    cal_free(slopes->bodies);
    cal_free(slopes->by_q);
    cal_free(slopes->by_v);
    cal_free(slopes->mass);
    cal_free(slopes);
}

// --- Spatial vectors -------------------------------------------------------------------------------------------------------------

static void cross_add(const double a[3], const double b[3], double* sum) {
    double term[3];
    cal_cross3(a, b, term);
    for (int i = 0; i < 3; i++) sum[i] += term[i];
}

// a × b of motions, added to sum; six numbers each.
static void motion_cross_add(const cal_spatial* a, const double* b, double* sum) {
    cross_add(a->angular, b, sum);
    cross_add(a->angular, b + 3, sum + 3);
    cross_add(a->linear, b, sum + 3);
}

// a ×* f of a motion and a force, added to sum.
static void force_cross_add(const double* a, const cal_spatial* f, double* sum) {
    cross_add(a, f->angular, sum);
    cross_add(a + 3, f->linear, sum);
    cross_add(a, f->linear, sum + 3);
}

static double dot6(const double* a, const double* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

// I x: (tr(P) w − P w + h × u, m u − h × w).
static void inertia_times(const cal_slope_body* body, const double* x, double* out) {
    const double trace = body->second[0] + body->second[4] + body->second[8];
    double turned[3];
    cal_rotate3(body->second, x, turned);
    for (int i = 0; i < 3; i++) out[i] = trace * x[i] - turned[i], out[3 + i] = body->mass * x[3 + i];
    cross_add(body->moment, x + 3, out);
    cross_add(x, body->moment, out + 3);
}

// B x, of which only the angular part of x counts, added to sum.
static void stir_add(const cal_slope_body* body, const double* x, double* sum) {
    const double trace = body->stir[0] + body->stir[4] + body->stir[8];
    double turned[3], across[3];
    cal_rotate3(body->stir, x, turned);
    cal_cross3(x, body->momentum, across);
    for (int i = 0; i < 3; i++) sum[i] += 2.0 * (trace * x[i] - turned[i]), sum[3 + i] += 2.0 * across[i];
}

// Bᵀ s: three numbers.
static void stir_transposed(const cal_slope_body* body, const double* s, double out[3]) {
    const double trace = body->stir[0] + body->stir[4] + body->stir[8];
    double turned[3], across[3];
    cal_unrotate3(body->stir, s, turned);
    cal_cross3(body->momentum, s + 3, across);
    for (int i = 0; i < 3; i++) out[i] = 2.0 * (trace * s[i] - turned[i] + across[i]);
}

// --- Outbound --------------------------------------------------------------------------------------------------------------------

static void place(const cal_model* model, int n, const double* q, cal_slope_body* bodies) {
    const cal_node* node = &model->nodes[n];
    cal_slope_body* own = &bodies[n];
    double rotation[9], arm[3];
    cal_place_node(node, q + node->first_q, rotation, arm);
    if (node->parent < 0) {
        memcpy(own->rotation, rotation, sizeof rotation);
        memset(own->position, 0, sizeof own->position);
        return;
    }
    const cal_slope_body* parent = &bodies[node->parent];
    cal_multiply33(parent->rotation, rotation, own->rotation);
    cal_rotate3(parent->rotation, arm, own->position);
    for (int i = 0; i < 3; i++) own->position[i] += parent->position[i];
}

// The motion of degree k of a node when its rate is 1; axes: the node's to the world's, of translations of a free joint the parent's.
static void find_axis(int kind, int k, const double* axes, const double position[3], double s[6]) {
    const bool slides = kind == CAL_PRISMATIC || (kind == CAL_FREE && k < 3);
    const int column = kind == CAL_REVOLUTE || kind == CAL_PRISMATIC ? 2 : k % 3;
    memset(s, 0, 6 * sizeof *s);
    for (int i = 0; i < 3; i++) s[(slides ? 3 : 0) + i] = axes[3 * i + column];
    if (!slides) cal_cross3(position, s, s + 3);
}

// What one joint, or one half of a free joint, adds to a motion that carries it, and its degrees.
static void move_group(const cal_slope_degree* first, int count, const double* v, const double* qdd,
                       cal_spatial* velocity, cal_spatial* acceleration) {
    double joint[6] = {0.0}, thrust[6] = {0.0};
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 6; i++) {
            joint[i] += v[first[k].v] * first[k].s[i];
            thrust[i] += qdd[first[k].v] * first[k].s[i];
        }
    for (int i = 0; i < 3; i++) velocity->angular[i] += joint[i], velocity->linear[i] += joint[3 + i];
    motion_cross_add(velocity, joint, thrust);
    for (int i = 0; i < 3; i++) acceleration->angular[i] += thrust[i], acceleration->linear[i] += thrust[3 + i];
}

static void find_degrees(cal_slope_degree* first, int count, const double* v, const double* qdd, cal_spatial* velocity,
                         cal_spatial* acceleration) {
    const cal_spatial v0 = *velocity, a0 = *acceleration;
    move_group(first, count, v, qdd, velocity, acceleration);
    for (cal_slope_degree* d = first; d < first + count; d++) {
        memset(d->rate, 0, sizeof d->rate);
        motion_cross_add(&v0, d->s, d->rate);
        memset(d->second, 0, sizeof d->second);
        motion_cross_add(&a0, d->s, d->second);
        motion_cross_add(&v0, d->rate, d->second);
        memcpy(d->drift, d->rate, sizeof d->rate);
        motion_cross_add(velocity, d->s, d->drift);
    }
}

// Mass, moments and what moves, of the node alone.
static void weigh(const cal_node* node, cal_slope_body* own) {
    const double *r = own->position, *x = node->second_moment, m = node->mass;
    const double sigma[9] = {x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2]};
    const double *w = own->velocity.angular, *v = own->velocity.linear;
    double h[3], turned[9];
    cal_rotate3(own->rotation, node->moment, h);
    cal_multiply33(own->rotation, sigma, turned);
    own->mass = m;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            own->second[3 * i + j] =
                cal_dot3(turned + 3 * i, own->rotation + 3 * j) + r[i] * h[j] + h[i] * r[j] + m * r[i] * r[j];
    for (int i = 0; i < 3; i++) own->moment[i] = h[i] + m * r[i];
    cal_cross3(w, own->moment, own->momentum);
    for (int i = 0; i < 3; i++) own->momentum[i] += m * v[i];
    for (int j = 0; j < 3; j++) {
        const double column[3] = {own->second[j], own->second[3 + j], own->second[6 + j]};
        double swept[3];
        cal_cross3(w, column, swept);
        for (int i = 0; i < 3; i++) own->stir[3 * i + j] = swept[i] + v[i] * own->moment[j];
    }
    double momentum[6], force[6];
    inertia_times(own, (const double*)&own->velocity, momentum);
    inertia_times(own, (const double*)&own->acceleration, force);
    const cal_spatial kept = {{momentum[0], momentum[1], momentum[2]}, {momentum[3], momentum[4], momentum[5]}};
    force_cross_add((const double*)&own->velocity, &kept, force);
    memcpy(own->force.angular, force, sizeof own->force.angular);
    memcpy(own->force.linear, force + 3, sizeof own->force.linear);
}

// The node's degrees from `at` on; how many there are.
static int move_node(cal_dynamics_slopes* slopes, int n, int at, const double* q, const double* v, const double* qdd) {
    static const double unturned[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const cal_model* model = slopes->model;
    const cal_node* node = &model->nodes[n];
    const cal_slope_body* parent = node->parent < 0 ? NULL : &slopes->bodies[node->parent];
    cal_slope_body* own = &slopes->bodies[n];
    cal_slope_degree* first = slopes->degrees + at;
    const int count = cal_kind_v(node->kind);
    place(model, n, q, slopes->bodies);
    memset(&own->velocity, 0, sizeof own->velocity);
    memset(&own->acceleration, 0, sizeof own->acceleration);
    for (int i = 0; i < 3; i++) own->acceleration.linear[i] = -model->gravity[i];
    if (parent) own->velocity = parent->velocity, own->acceleration = parent->acceleration;
    for (int k = 0; k < count; k++) {
        const bool shifts = node->kind == CAL_FREE && k < 3;
        find_axis(node->kind, k, shifts ? (parent ? parent->rotation : unturned) : own->rotation, own->position,
                  first[k].s);
        first[k].v = node->first_v + k;
        first[k].node = n;
        first[k].group = shifts ? 2 * n : 2 * n + 1;
        first[k].above = k > 0 ? at + k - 1 : parent ? parent->last : -1;
    }
    const int shifts = node->kind == CAL_FREE ? 3 : 0;
    if (shifts > 0) find_degrees(first, shifts, v, qdd, &own->velocity, &own->acceleration);
    find_degrees(first + shifts, count - shifts, v, qdd, &own->velocity, &own->acceleration);
    own->last = count > 0 ? at + count - 1 : parent ? parent->last : -1;
    weigh(node, own);
    return count;
}

void cal_dynamics_slopes_move(cal_dynamics_slopes* slopes, const double* q, const double* v, const double* qdd) {
    int count = 0;
    for (int n = 0; n < slopes->model->node_count; n++) count += move_node(slopes, n, count, q, v, qdd);
}

// a + α × r + ω × (v + ω × r), r from the origin of the tree; a is less gravity.
void cal_dynamics_slopes_point(const cal_dynamics_slopes* slopes, const cal_mount* mount, const double point[3],
                               double velocity[6], double acceleration[6]) {
    const cal_slope_body* body = &slopes->bodies[mount->node];
    const cal_spatial *v = &body->velocity, *a = &body->acceleration;
    double r[3], moves[3];
    cal_rotate3(mount->rotation, point, r);
    for (int i = 0; i < 3; i++) r[i] += mount->offset[i];
    cal_rotate3(body->rotation, r, r);
    for (int i = 0; i < 3; i++) r[i] += body->position[i], moves[i] = v->linear[i];
    cross_add(v->angular, r, moves);
    for (int i = 0; velocity && i < 3; i++) velocity[i] = moves[i], velocity[3 + i] = v->angular[i];
    if (!acceleration) return;
    for (int i = 0; i < 3; i++)
        acceleration[i] = a->linear[i] + slopes->model->gravity[i], acceleration[3 + i] = a->angular[i];
    cross_add(a->angular, r, acceleration);
    cross_add(v->angular, moves, acceleration);
}

// --- Inbound ---------------------------------------------------------------------------------------------------------------------

static void add_subtree(cal_slope_body* sum, const cal_slope_body* child) {
    sum->mass += child->mass;
    for (int i = 0; i < 3; i++) sum->moment[i] += child->moment[i], sum->momentum[i] += child->momentum[i];
    for (int i = 0; i < 9; i++) sum->second[i] += child->second[i], sum->stir[i] += child->stir[i];
    cal_spatial_add(&sum->force, &child->force);
}

// Column and row of degree k, from itself up to the ground; and what lies beside it in its own group.
static void write_degree(cal_dynamics_slopes* slopes, int k) {
    const cal_slope_degree *degrees = slopes->degrees, *own = &degrees[k];
    const cal_slope_body* body = &slopes->bodies[own->node];
    const size_t size = (size_t)slopes->model->v_count, row = (size_t)k * size;
    double by_q[6], by_v[6], mass[6], turn[6] = {0.0}, transposed[3];
    inertia_times(body, own->second, by_q);
    stir_add(body, own->rate, by_q);
    inertia_times(body, own->drift, by_v);
    stir_add(body, own->s, by_v);
    inertia_times(body, own->s, mass);
    force_cross_add(own->s, &body->force, turn);
    stir_transposed(body, own->s, transposed);
    int l = k;
    while (l + 1 < slopes->model->v_count && degrees[l + 1].group == own->group) l++;
    for (; l >= 0 && degrees[l].group == own->group; l = degrees[l].above) {
        const size_t at = (size_t)l * size + (size_t)k;
        slopes->by_q[at] = dot6(degrees[l].s, by_q);
        slopes->by_v[at] = dot6(degrees[l].s, by_v);
        slopes->mass[at] = dot6(degrees[l].s, mass);
    }
    for (int i = 0; i < 6; i++) by_q[i] += turn[i];
    for (; l >= 0; l = degrees[l].above) {
        const cal_slope_degree* other = &degrees[l];
        const size_t at = (size_t)l * size + (size_t)k, mirrored = row + (size_t)l;
        slopes->by_q[at] = dot6(other->s, by_q);
        slopes->by_v[at] = dot6(other->s, by_v);
        slopes->mass[at] = slopes->mass[mirrored] = dot6(other->s, mass);
        slopes->by_q[mirrored] = dot6(mass, other->second) + cal_dot3(transposed, other->rate);
        slopes->by_v[mirrored] = dot6(mass, other->drift) + cal_dot3(transposed, other->s);
    }
}

static bool make_matrices(cal_dynamics_slopes* slopes) {
    const size_t count = (size_t)slopes->model->v_count;
    double** const matrices[3] = {&slopes->by_q, &slopes->by_v, &slopes->mass};
    for (int i = 0; i < 3; i++) {
        if (!*matrices[i]) *matrices[i] = cal_allocate(count * count + 1, sizeof(double));
        if (!*matrices[i]) return false;
        memset(*matrices[i], 0, count * count * sizeof(double));
    }
    return true;
}

bool cal_dynamics_slopes_find(cal_dynamics_slopes* slopes, const double* q, const double* v, const double* qdd) {
    const cal_model* model = slopes->model;
    const int count = model->v_count;
    if (!make_matrices(slopes)) return false;
    cal_dynamics_slopes_move(slopes, q, v, qdd);
    for (int n = model->node_count - 1, k = count - 1; n >= 0; n--) {
        for (; k >= 0 && slopes->degrees[k].node == n; k--) write_degree(slopes, k);
        if (model->nodes[n].parent >= 0) add_subtree(&slopes->bodies[model->nodes[n].parent], &slopes->bodies[n]);
    }
    for (int k = 0; k < count; k++)
        slopes->mass[(size_t)k * ((size_t)count + 1)] += model->nodes[slopes->degrees[k].node].armature;
    return true;
}

// --- M⁻¹ (Featherstone 2008, section 6.5) -------------------------------------------------------------------------------------------

bool cal_dynamics_slopes_factor(cal_dynamics_slopes* slopes) {
    const size_t size = (size_t)slopes->model->v_count;
    double* M = slopes->mass;
    for (int k = (int)size - 1; k >= 0; k--) {
        double* row = M + (size_t)k * size;
        if (!(row[k] > 0.0)) return false;
        for (int i = slopes->degrees[k].above; i >= 0; i = slopes->degrees[i].above) {
            const double share = row[i] / row[k];
            for (int j = i; j >= 0; j = slopes->degrees[j].above) M[(size_t)i * size + (size_t)j] -= share * row[j];
            row[i] = share;
        }
    }
    return true;
}

void cal_dynamics_slopes_solve(const cal_dynamics_slopes* slopes, int columns, double* matrix) {
    const size_t size = (size_t)slopes->model->v_count, width = (size_t)columns;
    const double* M = slopes->mass;
    for (int k = (int)size - 1; k >= 0; k--) {
        double* own = matrix + (size_t)k * width;
        for (int i = slopes->degrees[k].above; i >= 0; i = slopes->degrees[i].above) {
            const double share = M[(size_t)k * size + (size_t)i];
            double* other = matrix + (size_t)i * width;
            for (size_t c = 0; c < width; c++) other[c] -= share * own[c];
        }
    }
    for (int k = 0; k < (int)size; k++) {
        double* own = matrix + (size_t)k * width;
        const double inverse = 1.0 / M[(size_t)k * size + (size_t)k];
        for (size_t c = 0; c < width; c++) own[c] *= inverse;
        for (int i = slopes->degrees[k].above; i >= 0; i = slopes->degrees[i].above) {
            const double share = M[(size_t)k * size + (size_t)i];
            const double* other = matrix + (size_t)i * width;
            for (size_t c = 0; c < width; c++) own[c] -= share * other[c];
        }
    }
}
