// The rows of a contact problem: the law of one contact, the matrix that all of them make, and what they do to velocities.
#include "base/wide.h"
#include "math/vector.h"
#include "simulation/contact/contact_problem.h"
#include <string.h>

enum { FREE = 6 }; // degrees of freedom of a free body: loops whose ends the compiler knows

// --- One contact ------------------------------------------------------------------------------------------------------

void cal_problem_velocity(const cal_problem* p, const cal_contact_row* touch, const double* v, double out[3]) {
    out[0] = out[1] = out[2] = 0.0;
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int n = p->size[touch->unit[side]];
        const double *J = touch->jacobian[side], *mine = v + p->first[touch->unit[side]];
        if (n == FREE) {
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < FREE; c++) out[r] += J[r * FREE + c] * mine[c];
            continue;
        }
        // Each sum is a chain; the three go side by side.
        double sum[3] = {out[0], out[1], out[2]};
        for (int c = 0; c < n; c++)
            for (int r = 0; r < 3; r++) sum[r] += J[r * n + c] * mine[c];
        for (int r = 0; r < 3; r++) out[r] = sum[r];
    }
}

// With one compliance R for all directions the projection onto the cone is the plain one. What it does to λₖ − R⁻¹ y = (a, b):
typedef enum cone_part { STICKS, SLIDES, PARTS } cone_part;

static cone_part find_part(const cal_contact_row* touch, const double y[3], double* a, double b[2], double* square) {
    const double mu = touch->friction;
    *a = touch->held[0] - y[0] * touch->rigidity;
    for (int i = 0; i < 2; i++) b[i] = touch->held[1 + i] - y[1 + i] * touch->rigidity;
    *square = b[0] * b[0] + b[1] * b[1];
    if (*a >= 0.0 && *square <= mu * mu * *a * *a) return STICKS;
    return *a <= 0.0 && *a * *a >= mu * mu * *square ? PARTS : SLIDES;
}

// The impulse on the edge of the cone: its normal part, and its direction across.
static double find_edge(const cal_contact_row* touch, double a, const double b[2], double across, double t[2],
                        double impulse[3]) {
    const double mu = touch->friction, normal = (a + mu * across) / (1.0 + mu * mu);
    impulse[0] = normal;
    for (int i = 0; i < 2; i++) {
        t[i] = b[i] / across;
        impulse[1 + i] = mu * normal * t[i];
    }
    return normal;
}

int cal_problem_project(const cal_contact_row* touch, const double y[3], double impulse[3], double stiffness[9]) {
    const double mu = touch->friction, rigidity = touch->rigidity;
    double a, b[2], square, t[2];
    const cone_part part = find_part(touch, y, &a, b, &square);
    memset(stiffness, 0, 9 * sizeof *stiffness);
    if (part == PARTS)
        impulse[0] = impulse[1] = impulse[2] = 0.0;
    else if (part == STICKS) {
        impulse[0] = a, impulse[1] = b[0], impulse[2] = b[1];
        for (int i = 0; i < 3; i++) stiffness[4 * i] = rigidity;
    } else {
        const double across = sqrt(square), share = rigidity / (1.0 + mu * mu);
        const double normal = find_edge(touch, a, b, across, t, impulse), ratio = rigidity * (mu * normal / across);
        const double edge[3] = {1.0, mu * t[0], mu * t[1]};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) stiffness[3 * i + k] = share * edge[i] * edge[k];
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++) stiffness[3 * (i + 1) + k + 1] += ratio * ((i == k ? 1.0 : 0.0) - t[i] * t[k]);
    }
    return (int)part;
}

double cal_problem_project_along(const cal_contact_row* touch, const double y[3], const double d[3],
                                 double impulse[3]) {
    const double mu = touch->friction, rigidity = touch->rigidity;
    double a, b[2], square, t[2];
    const cone_part part = find_part(touch, y, &a, b, &square);
    if (part == PARTS) {
        impulse[0] = impulse[1] = impulse[2] = 0.0;
        return 0.0;
    }
    if (part == STICKS) {
        impulse[0] = a, impulse[1] = b[0], impulse[2] = b[1];
        return rigidity * cal_dot3(d, d);
    }
    const double across = sqrt(square), normal = find_edge(touch, a, b, across, t, impulse);
    const double along = t[0] * d[1] + t[1] * d[2], beside = t[0] * d[2] - t[1] * d[1], edge = d[0] + mu * along;
    return rigidity * (edge * edge / (1.0 + mu * mu) + mu * normal / across * (beside * beside));
}

// --- The matrix -------------------------------------------------------------------------------------------------------

// left = G J, of a contact's side with n velocities.
static void times_stiffness(const double* G, const double* J, int n, double* left) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < n; c++)
            left[r * n + c] = G[3 * r] * J[c] + G[3 * r + 1] * J[n + c] + G[3 * r + 2] * J[2 * n + c];
}

// out += Jᵀ left, n × m; of a unit's own block, where n is m, what is on the diagonal and below it: nobody reads the rest.
CAL_WIDE_INLINE void add_product(const double* J, int n, const double* left, int m, bool below, double* restrict out) {
    for (int r = 0; r < n; r++) {
        const double a = J[r], b = J[n + r], c = J[2 * n + r];
        if (a == 0.0 && b == 0.0 && c == 0.0) continue; // a joint that does not carry the link
        const int end = below ? r + 1 : m;
        for (int k = 0; k < end; k++) out[r * m + k] += a * left[k] + b * left[m + k] + c * left[2 * m + k];
    }
}

CAL_WIDE static void add_contact_rows(const double* J, int n, const double* left, int m, bool below, double* out) {
    if (n == FREE && m == FREE && !below)
        add_product(J, FREE, left, FREE, false, out);
    else
        add_product(J, n, left, m, below, out);
}

static void add_mass(const double* M, int n, double share, double* out) {
    for (int r = 0; r < n; r++)
        for (int c = 0; c <= r; c++) out[r * n + c] += share * M[r * n + c];
}

void cal_problem_assemble(cal_problem* p, double share) {
    bool turned;
    cal_blocks_zero(&p->matrix);
    for (int i = 0; i < p->group->unit_count; i++)
        if (!p->passive[i])
            add_mass(p->mass + p->mass_at[i], p->size[i], share, cal_blocks_at(&p->matrix, i, i, &turned));
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        if (touch->impulse[0] == 0.0 || touch->passive) continue;
        for (int s = 0; s < 2; s++)
            for (int t = 0; t <= s; t++) {
                const int i = touch->unit[s], j = touch->unit[t];
                if (i < 0 || j < 0) continue;
                const int n = p->size[i], m = p->size[j];
                double* out = cal_blocks_at(&p->matrix, i, j, &turned);
                // Jᵀ G K of two sides.
                times_stiffness(touch->stiffness, touch->jacobian[t], m, p->left);
                if (turned)
                    add_contact_rows(p->left, m, touch->jacobian[s], n, false, out);
                else
                    add_contact_rows(touch->jacobian[s], n, p->left, m, i == j, out);
            }
    }
}

double cal_problem_energy(const cal_problem* p, const double* v) { return cal_problem_times_mass(p, v, NULL); }

static void push(const cal_problem* p, bool all, double sign, double* out) {
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        if (!all && touch->impulse[0] == 0.0) continue;
        for (int s = 0; s < 2; s++) {
            if (touch->unit[s] < 0) continue;
            const int n = p->size[touch->unit[s]];
            const double* J = touch->jacobian[s];
            double* mine = out + p->first[touch->unit[s]];
            const double* l = touch->impulse;
            if (n == FREE) {
                for (int c = 0; c < FREE; c++)
                    mine[c] += sign * (J[c] * l[0] + J[FREE + c] * l[1] + J[2 * FREE + c] * l[2]);
                continue;
            }
            for (int c = 0; c < n; c++) mine[c] += sign * (J[c] * l[0] + J[n + c] * l[1] + J[2 * n + c] * l[2]);
        }
    }
}

void cal_problem_push(const cal_problem* p, double sign, double* out) { push(p, false, sign, out); }

void cal_problem_push_all(const cal_problem* p, double sign, double* out) { push(p, true, sign, out); }
