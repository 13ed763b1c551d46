// Impulses where faces meet: all points of contact at once. Point by point, a box that lands flat would be thrown from corner to
// corner; together they ask for
//
//     n·u⁺ ≥ −e n·u⁻,    0 ≤ P_n ⟂ n·u⁺ + e n·u⁻,    |P_t| ≤ μ P_n, P_t against what slip is left,
//
// which sweeps over the points solve (projected Gauss-Seidel on the velocities there, u⁺ = u⁻ + W P). Newton's restitution at several
// points with friction may gain energy: then all impulses are scaled down to where it is kept. Spin of a body of revolution (unspun.h) brings no
// point of its surface nearer: a face of one has only some of the points of its rim, which go round with it, and along normals its spin is left out.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/impact.h"
#include "simulation/contact/unspun.h"
#include "simulation/world.h"
#include <string.h>

enum { POINTS = 16, MOST_SWEEPS = 4000 };
// Of what the first sweep changes: a sweep that changes no velocity by more is the last one. A long body that friction tips goes to its
// solution by as little as a hundredth of what is left.
static const double settled = 1e-8;

enum { ROWS = 3 * POINTS };

typedef struct touch {
    double point[3], normal[3], frame[3][3]; // frame: normal and two tangents, from b to a
    double target, friction;
} touch;

// Velocities along the directions of all points, the impulses that gave them, and W, whose column j is what a unit of impulse j changes.
typedef struct rows {
    double u[ROWS], impulse[ROWS], answer[ROWS][ROWS];
    int count;
} rows;

typedef struct side {
    const cal_sim_body* part;
    const cal_motion* at;
    double u[3], w[3]; // changing
    bool moves;
    bool unspun; // along normals without spin
} side;

// Row j: of normals those that are multiples of 3.
static bool leaves_spin(const side* s, int j) { return s->unspun && j % 3 == 0; }

static void push(side* s, const double point[3], const double direction[3], bool unspun, double amount) {
    if (!s->moves) return;
    double arm[3], torque[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - s->at->pose.position[i];
    cal_cross3(arm, direction, torque);
    cal_unrotate3(s->at->pose.rotation, torque, torque);
    if (unspun) cal_unspun_rate(s->part, torque, torque);
    for (int i = 0; i < 3; i++) torque[i] /= s->part->inertia[i];
    cal_rotate3(s->at->pose.rotation, torque, torque);
    for (int i = 0; i < 3; i++) {
        s->u[i] += amount * direction[i] / s->part->mass;
        s->w[i] += amount * torque[i];
    }
}

static double speed_along(const side sides[2], const double point[3], const double direction[3], int row) {
    double total = 0.0;
    for (int s = 0; s < 2; s++) {
        double arm[3], velocity[3], w[3];
        for (int i = 0; i < 3; i++) arm[i] = point[i] - sides[s].at->pose.position[i];
        memcpy(w, sides[s].w, sizeof w);
        if (leaves_spin(&sides[s], row)) {
            cal_unrotate3(sides[s].at->pose.rotation, w, w);
            cal_unspun_rate(sides[s].part, w, w);
            cal_rotate3(sides[s].at->pose.rotation, w, w);
        }
        cal_cross3(w, arm, velocity);
        for (int i = 0; i < 3; i++) velocity[i] += sides[s].u[i];
        total += (s == 0 ? 1.0 : -1.0) * cal_dot3(direction, velocity);
    }
    return total;
}

static double energy(const side* s) {
    if (!s->moves) return 0.0;
    double w[3], sum = 0.0;
    cal_unrotate3(s->at->pose.rotation, s->w, w);
    for (int i = 0; i < 3; i++) sum += 0.5 * (s->part->mass * s->u[i] * s->u[i] + s->part->inertia[i] * w[i] * w[i]);
    return sum;
}

static void prepare(touch* t, const side sides[2], double restitution) {
    double R[9];
    cal_rotation_to_axis(t->normal, R);
    for (int i = 0; i < 3; i++) t->frame[0][i] = t->normal[i], t->frame[1][i] = R[3 * i], t->frame[2][i] = R[3 * i + 1];
    const double approach = -speed_along(sides, t->point, t->normal, 0);
    t->target = approach > 0.0 ? restitution * approach : 0.0;
}

static void fill(rows* r, const touch* touches, int count, const side sides[2]) {
    r->count = 3 * count;
    for (int i = 0; i < r->count; i++) {
        const touch* t = &touches[i / 3];
        r->u[i] = speed_along(sides, t->point, t->frame[i % 3], i);
        r->impulse[i] = 0.0;
    }
    for (int j = 0; j < r->count; j++) {
        const touch* t = &touches[j / 3];
        side moved[2] = {sides[0], sides[1]};
        for (int s = 0; s < 2; s++) {
            memset(moved[s].u, 0, sizeof moved[s].u);
            memset(moved[s].w, 0, sizeof moved[s].w);
            push(&moved[s], t->point, t->frame[j % 3], leaves_spin(&moved[s], j), s == 0 ? 1.0 : -1.0);
        }
        for (int i = 0; i < r->count; i++)
            r->answer[j][i] = speed_along(moved, touches[i / 3].point, touches[i / 3].frame[i % 3], i);
    }
}

// Returns by how much that changes the velocity there.
static double add_impulse(rows* r, int j, double change) {
    r->impulse[j] += change;
    for (int i = 0; i < r->count; i++) r->u[i] += change * r->answer[j][i];
    return fabs(change) * r->answer[j][j];
}

// Returns the largest change of a velocity.
static double sweep(rows* r, const touch* touches) {
    double most = 0.0;
    for (int j = 0; j < r->count; j += 3) {
        const touch* t = &touches[j / 3];
        const double wanted = r->impulse[j] + (t->target - r->u[j]) / r->answer[j][j];
        most = fmax(most, add_impulse(r, j, fmax(wanted, 0.0) - r->impulse[j]));
        if (t->friction <= 0.0) continue;
        double tangent[2], length = 0.0;
        for (int d = 0; d < 2; d++) {
            const int i = j + 1 + d;
            tangent[d] = r->impulse[i] - r->u[i] / r->answer[i][i];
            length += tangent[d] * tangent[d];
        }
        length = sqrt(length);
        const double limit = t->friction * r->impulse[j], scale = length > limit ? limit / length : 1.0;
        for (int d = 0; d < 2; d++)
            most = fmax(most, add_impulse(r, j + 1 + d, scale * tangent[d] - r->impulse[j + 1 + d]));
    }
    return most;
}

// How much of the change of velocity keeps the energy from growing: E(s) is a parabola with E(0) = before.
static double allowed_share(const side before[2], const side after[2]) {
    const double start = energy(&before[0]) + energy(&before[1]), end = energy(&after[0]) + energy(&after[1]);
    if (end <= start) return 1.0;
    side half[2] = {before[0], before[1]};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++) {
            half[s].u[i] = 0.5 * (before[s].u[i] + after[s].u[i]);
            half[s].w[i] = 0.5 * (before[s].w[i] + after[s].w[i]);
        }
    const double middle = energy(&half[0]) + energy(&half[1]);
    // E = start + b s + c s²
    const double c = 2.0 * (end + start - 2.0 * middle), b = end - start - c;
    return c > 0.0 && b < 0.0 ? -b / c : 0.0;
}

bool cal_face_impulse(const cal_world* world, const int bodies[2], const cal_motion at[2], double margin,
                      cal_face_result* out) {
    const cal_sim_body *a = &world->bodies[bodies[0]], *b = &world->bodies[bodies[1]];
    if (!cal_body_ops(world, bodies[0])->single || !cal_body_ops(world, bodies[1])->single) return false;
    cal_contact found[POINTS];
    int count = cal_contacts(a->geometry, &at[0].pose, b->geometry, &at[1].pose, margin, found, POINTS);
    if (count > POINTS) count = POINTS;
    if (count < 2) return false;
    side sides[2], before[2];
    for (int s = 0; s < 2; s++) {
        sides[s] = (side){.part = s == 0 ? a : b, .at = &at[s]};
        sides[s].moves = sides[s].part->component >= 0;
        double w[3];
        cal_unrotate3(at[s].pose.rotation, at[s].w, w);
        sides[s].unspun = sides[s].moves && sides[s].part->symmetric > 0 &&
                          cal_is_unspun(sides[s].part, world->def.group_rate, w, (const double[3]){0});
        memcpy(sides[s].u, at[s].u, sizeof sides[s].u);
        memcpy(sides[s].w, at[s].w, sizeof sides[s].w);
    }
    memcpy(before, sides, sizeof before);
    touch touches[POINTS] = {0};
    rows r;
    for (int k = 0; k < count; k++) {
        touch* t = &touches[k];
        double restitution;
        memcpy(t->point, found[k].point, sizeof t->point);
        memcpy(t->normal, found[k].normal, sizeof t->normal);
        cal_material(world, bodies[0], found[k].piece_a, bodies[1], found[k].piece_b, &t->friction, &restitution);
        prepare(t, sides, restitution);
    }
    fill(&r, touches, count, sides);
    const double first = sweep(&r, touches);
    for (int i = 1; i < MOST_SWEEPS && sweep(&r, touches) > settled * first; i++) continue;
    for (int j = 0; j < r.count; j++)
        for (int s = 0; s < 2; s++)
            push(&sides[s], touches[j / 3].point, touches[j / 3].frame[j % 3], leaves_spin(&sides[s], j),
                 s == 0 ? r.impulse[j] : -r.impulse[j]);
    const double share = allowed_share(before, sides);
    *out = (cal_face_result){0};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++) {
            out->u[s][i] = before[s].u[i] + share * (sides[s].u[i] - before[s].u[i]);
            out->w[s][i] = before[s].w[i] + share * (sides[s].w[i] - before[s].w[i]);
        }
    for (int j = 0; j < r.count; j++)
        for (int i = 0; i < 3; i++) out->impulse[i] += share * r.impulse[j] * touches[j / 3].frame[j % 3][i];
    for (int s = 0; s < 2; s++) {
        memcpy(sides[s].u, out->u[s], sizeof sides[s].u);
        memcpy(sides[s].w, out->w[s], sizeof sides[s].w);
    }
    for (int k = 0; k < count; k++)
        out->parting = fmax(out->parting, speed_along(sides, touches[k].point, touches[k].normal, 0));
    return true;
}
