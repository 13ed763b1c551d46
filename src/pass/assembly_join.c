// Joins: two elements become one, and one becomes two again (assembly.c has the equations).
//
// An element's numbers are those of its base: I (21), p (6), then for each of its columns E (6), c (1), and Λ by its lower rows.
// Everything is dense and small: six by six, and six for each open joint.
#include "pass/assembly.h"

#include <math.h>
#include <string.h>

typedef struct view {
    const cal_element* element;
    double *I, *p, *E, *c, *L;
    int count; // columns
} view;

static view look_at(const cal_assembly* assembly, int index) {
    const cal_element* e = &assembly->schedule->elements[index];
    double* numbers = assembly->numbers + e->numbers;
    const size_t k = (size_t)e->columns;
    return (view){e,
                  numbers,
                  numbers + CAL_ELEMENT_BIAS,
                  numbers + CAL_ELEMENT_COLUMNS,
                  numbers + CAL_ELEMENT_COLUMNS + 6 * k,
                  numbers + CAL_ELEMENT_COLUMNS + 7 * k,
                  e->columns};
}

static double entry(const double* packed, int i, int j) { return packed[cal_packed((size_t)i, (size_t)j)]; }

static void unpack(const double packed[21], double out[6][6]) {
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) out[i][j] = out[j][i] = packed[at++];
}

static void multiply6(double m[6][6], const double* x, double out[6]) {
    for (int i = 0; i < 6; i++) {
        double sum = 0.0;
        for (int j = 0; j < 6; j++) sum += m[i][j] * x[j];
        out[i] = sum;
    }
}

static double dot6(const double* a, const double* b) {
    double sum = 0.0;
    for (int i = 0; i < 6; i++) sum += a[i] * b[i];
    return sum;
}

// x ← m⁻¹ x for six columns at once, by elimination with row pivots; m is consumed.
static void solve6(double m[6][6], double x[6][6]) {
    for (int k = 0; k < 6; k++) {
        int best = k;
        for (int i = k + 1; i < 6; i++)
            if (fabs(m[i][k]) > fabs(m[best][k])) best = i;
        if (best != k)
            for (int j = 0; j < 6; j++) {
                const double a = m[k][j], b = x[k][j];
                m[k][j] = m[best][j], m[best][j] = a;
                x[k][j] = x[best][j], x[best][j] = b;
            }
        const double r = 1.0 / m[k][k];
        for (int i = k + 1; i < 6; i++) {
            const double factor = m[i][k] * r;
            for (int j = k + 1; j < 6; j++) m[i][j] -= factor * m[k][j];
            for (int j = 0; j < 6; j++) x[i][j] -= factor * x[k][j];
        }
        m[k][k] = r;
    }
    for (int k = 5; k >= 0; k--) {
        for (int j = 0; j < 6; j++) x[k][j] *= m[k][k];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < 6; j++) x[i][j] -= m[i][k] * x[k][j];
    }
}

// J = (1 + I Λ)⁻¹ I, which is symmetric.
static void stiffness(double I[6][6], double L[6][6], double J[6][6]) {
    double m[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            double sum = i == j ? 1.0 : 0.0;
            for (int k = 0; k < 6; k++) sum += I[i][k] * L[k][j];
            m[i][j] = sum;
            J[i][j] = I[i][j];
        }
    solve6(m, J);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) J[i][j] = J[j][i] = 0.5 * (J[i][j] + J[j][i]);
}

// Λ of a tip with itself.
static void tip_block(const view* a, int first, double out[6][6]) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) out[i][j] = out[j][i] = entry(a->L, first + i, first + j);
}

// Adds an entry of Λ that belongs to columns of both elements; every ordered pair comes once.
static void add_pair(double* L, int i, int j, double value) {
    if (i >= j) L[cal_packed((size_t)i, (size_t)j)] += value;
}

static void clear(const view* out) {
    const size_t k = (size_t)out->count;
    memset(out->I, 0, (CAL_ELEMENT_COLUMNS + 7 * k + k * (k + 1) / 2) * sizeof(double));
}

static void keep_column(const view* from, int i, const view* out, int at) {
    for (int m = 0; m < 6; m++) out->E[6 * at + m] += from->E[6 * i + m];
    out->c[at] += from->c[i];
}

static void join_beside(const view* a, const view* b, const int32_t* map, const view* out) {
    clear(out);
    for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out->I[i] = a->I[i] + b->I[i];
    for (int side = 0; side < 2; side++) {
        const view* own = side ? b : a;
        const int32_t* to = side ? map + a->count : map;
        for (int i = 0; i < own->count; i++) {
            keep_column(own, i, out, to[i]);
            for (int j = 0; j < own->count; j++) add_pair(out->L, to[i], to[j], entry(own->L, i, j));
        }
    }
}

// work: 12 doubles a column of a and of b.
static void join_below(const view* a, const view* b, int tip, const int32_t* map, const view* out, double* join,
                       double* work) {
    const int first = 6 * tip, after = a->count;
    double I[6][6], L[6][6], J[6][6], free[6], w[6], x[6], turned[6];
    unpack(b->I, I);
    tip_block(a, first, L);
    stiffness(I, L, J);
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) join[at++] = J[i][j];
    // What the tip does while nothing else acts: w = −J (c − Λ p) − p, x = c + Λ w.
    multiply6(L, b->p, free);
    for (int i = 0; i < 6; i++) free[i] = a->c[first + i] - free[i];
    multiply6(J, free, w);
    for (int i = 0; i < 6; i++) w[i] = -w[i] - b->p[i];
    multiply6(L, w, x);
    for (int i = 0; i < 6; i++) x[i] += a->c[first + i];

    clear(out);
    const double* E = a->E + 6 * first; // of the tip: column k is E + 6 k
    // I + E J Eᵀ, p − E w
    for (int i = 0, at = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            double sum = 0.0;
            for (int m = 0; m < 6; m++) sum += E[6 * m + i] * J[m][k];
            turned[k] = sum;
        }
        for (int j = 0; j <= i; j++, at++) {
            double sum = a->I[at];
            for (int k = 0; k < 6; k++) sum += turned[k] * E[6 * k + j];
            out->I[at] = sum;
        }
        double bias = a->p[i];
        for (int k = 0; k < 6; k++) bias -= E[6 * k + i] * w[k];
        out->p[i] = bias;
    }
    // For each column the force u that it puts on the tip, and what that does: −J Λ of a's own, Zᵀ e of b's.
    double *force = work, *response = work + 6 * (after + b->count);
    for (int i = 0; i < after; i++) {
        if (map[i] < 0) continue;
        double own[6];
        for (int k = 0; k < 6; k++) own[k] = entry(a->L, first + k, i);
        multiply6(J, own, force + 6 * i);
        for (int k = 0; k < 6; k++) force[6 * i + k] = -force[6 * i + k];
        memcpy(response + 6 * i, own, sizeof own);
        keep_column(a, i, out, map[i]);
        out->c[map[i]] += dot6(own, w);
    }
    for (int i = 0; i < b->count; i++) {
        const int at = after + i;
        multiply6(L, b->E + 6 * i, free);
        multiply6(J, free, turned);
        for (int k = 0; k < 6; k++) force[6 * at + k] = b->E[6 * i + k] - turned[k];
        multiply6(L, force + 6 * at, response + 6 * at);
        out->c[map[at]] += b->c[i] + dot6(b->E + 6 * i, x);
    }
    for (int i = 0; i < after + b->count; i++) {
        if (map[i] < 0) continue;
        double* to = out->E + 6 * map[i];
        for (int m = 0; m < 6; m++) {
            double sum = to[m];
            for (int k = 0; k < 6; k++) sum += E[6 * k + m] * force[6 * i + k];
            to[m] = sum;
        }
        for (int j = 0; j < after + b->count; j++) {
            if (map[j] < 0 || map[i] < map[j]) continue;
            double value;
            if (i < after && j < after)
                value = entry(a->L, i, j) + dot6(response + 6 * i, force + 6 * j);
            else if (i >= after && j >= after)
                value = entry(b->L, i - after, j - after) + dot6(b->E + 6 * (i - after), response + 6 * j);
            else
                value = i < after ? dot6(response + 6 * i, force + 6 * j) : dot6(response + 6 * j, force + 6 * i);
            add_pair(out->L, map[i], map[j], value);
        }
    }
}

void cal_compose(const cal_placing* base, const cal_placing* tip, cal_placing* out) {
    const double *E = base->rotation, *w = base->angular;
    double spin[3], turn[3], arm[3], rate[3], pull[3], swing[3], term[3];
    const double* from[5] = {tip->angular, tip->turning, tip->position, tip->linear, tip->pulling};
    double* to[5] = {spin, turn, arm, rate, pull};
    for (int v = 0; v < 5; v++)
        for (int i = 0; i < 3; i++) to[v][i] = E[i] * from[v][0] + E[3 + i] * from[v][1] + E[6 + i] * from[v][2];
    cal_placing result;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            result.rotation[3 * k + i] =
                E[i] * tip->rotation[3 * k] + E[3 + i] * tip->rotation[3 * k + 1] + E[6 + i] * tip->rotation[3 * k + 2];
    for (int i = 0; i < 3; i++) {
        result.angular[i] = w[i] + spin[i];
        result.position[i] = base->position[i] + arm[i];
        result.pulling[i] = base->pulling[i] + pull[i];
    }
    cal_cross3(w, spin, term);
    for (int i = 0; i < 3; i++) result.turning[i] = base->turning[i] + turn[i] + term[i];
    cal_cross3(w, arm, swing);
    for (int i = 0; i < 3; i++) {
        result.linear[i] = base->linear[i] + swing[i] + rate[i];
        swing[i] += 2.0 * rate[i];
    }
    cal_cross3(w, swing, term);
    cal_cross3(base->turning, arm, spin);
    for (int i = 0; i < 3; i++) result.pulling[i] += term[i] + spin[i];
    *out = result;
}

void cal_join_up(const cal_assembly* assembly, int index, double* work) {
    const cal_schedule* schedule = assembly->schedule;
    const cal_element* e = &schedule->elements[index];
    const view a = look_at(assembly, e->a), b = look_at(assembly, e->b), out = look_at(assembly, index);
    const int32_t* map = schedule->maps + e->first_map;
    if (e->kind == CAL_ELEMENT_BESIDE)
        join_beside(&a, &b, map, &out);
    else
        join_below(&a, &b, e->tip, map, &out, assembly->numbers + e->join, work);
}

void cal_join_down(const cal_assembly* assembly, int index) {
    const cal_schedule* schedule = assembly->schedule;
    const cal_element* e = &schedule->elements[index];
    const view a = look_at(assembly, e->a), b = look_at(assembly, e->b);
    const int32_t* map = schedule->maps + e->first_map;
    const double *base = assembly->numbers + e->base, *known = assembly->numbers + e->force;
    double *a_base = assembly->numbers + a.element->base, *a_force = assembly->numbers + a.element->force;
    double *b_base = assembly->numbers + b.element->base, *b_force = assembly->numbers + b.element->force;
    memcpy(a_base, base, 6 * sizeof *base);
    for (int i = 0; i < a.count; i++) a_force[i] = map[i] < 0 ? 0.0 : known[map[i]];
    for (int i = 0; i < b.count; i++) b_force[i] = known[map[a.count + i]];
    if (e->kind == CAL_ELEMENT_BESIDE) {
        memcpy(b_base, base, 6 * sizeof *base);
        return;
    }
    const int first = 6 * e->tip;
    double L[6][6], J[6][6], y[6], bias[6], rest[6], w[6];
    tip_block(&a, first, L);
    unpack(assembly->numbers + e->join, J);
    for (int i = 0; i < 6; i++) {
        y[i] = a.c[first + i] + dot6(a.E + 6 * (first + i), base);
        for (int k = 0; k < a.count; k++)
            if (map[k] >= 0) y[i] += entry(a.L, first + i, k) * a_force[k];
        bias[i] = b.p[i];
        for (int k = 0; k < b.count; k++) bias[i] -= b.E[6 * k + i] * b_force[k];
    }
    multiply6(L, bias, rest);
    for (int i = 0; i < 6; i++) rest[i] = y[i] - rest[i];
    multiply6(J, rest, w);
    for (int i = 0; i < 6; i++) w[i] = -w[i] - bias[i];
    multiply6(L, w, rest);
    for (int i = 0; i < 6; i++) {
        a_force[first + i] = w[i];
        b_base[i] = y[i] + rest[i];
    }
}
