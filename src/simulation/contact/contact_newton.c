// The solution of a contact problem: augmented Lagrangians and Newton's method; see contact_problem.h.
#include "math/vector.h"
#include "simulation/contact/contact_problem.h"
#include <string.h>

enum { MOST_NEWTON = 50, MOST_SEARCH = 40, MOST_ROUNDS = 40 };
static const double first_compliance = 1e-3; // over the contact's own response; see contact_problem.h
static const double compliance_falls = 0.1, slow_fall = 0.1;
// Round k leaves a mode of the contacts that answers w times as much as one of them alone R / (R + w) of its error; a tower of a
// hundred and a mass ratio of 10⁶ have w of 1e-6 and more, of which this leaves a tenth. Less would let rounding in: y / R has
// an error of 1e-16 / R. Where something is heavier than that over what carries it, impulses are as much larger than that error, and R may be as much less.
static const double least_compliance = 1e-7, heaviest = 1e6;
static const double law = 1e-10, rough_law = 1e-6; // of the speeds: how far the hard law of contact may be missed
static const double decrement = 1e-24;       // of the energy: where Newton ends; velocities are then good to 1e-12
static const double first_decrement = 1e-12; // while impulses or De Saxcé's term still change
static const double rough_decrement = 1e-12, rough_compliance = 1e-5;
static const double rounding = 1e-18;   // of the energy: below this, what no longer falls is rounding
static const double line_slope = 0.1;   // of the slope at the start of a line search: where it ends
static const double slip_change = 1e-8; // of the speeds: where De Saxcé's term stands
// Of the speeds: contacts that no sweep changes by more are solved. Of small groups, which Newton could solve, to what he would.
static const double still_many = 1e-8, still_exact = 1e-11, still_rough = 1e-6;
static const double still_parting = 1e-3; // what is parted is looked at again

// Slope of the cost along the direction at a step, and its curvature; impulses there are left in the rows.
static double slope_at(cal_problem* p, double step, double linear, double quadratic, double* curvature) {
    double slope = linear + step * quadratic;
    *curvature = quadratic;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        if (touch->passive) continue;
        double y[3];
        for (int i = 0; i < 3; i++) y[i] = touch->y[i] + step * touch->dy[i];
        *curvature += cal_problem_project_along(touch, y, touch->dy, touch->impulse);
        slope -= cal_dot3(touch->impulse, touch->dy);
    }
    return slope;
}

// Where the slope vanishes: it rises with the step, so a bracket and Newton inside it always end.
static double search_line(cal_problem* p, double linear, double quadratic, double start_slope) {
    double low = 0.0, high = INFINITY, step = 1.0;
    for (int i = 0; i < MOST_SEARCH; i++) {
        double curvature;
        const double slope = slope_at(p, step, linear, quadratic, &curvature);
        if (fabs(slope) <= line_slope * fabs(start_slope)) break;
        if (slope < 0.0)
            low = step;
        else
            high = step;
        double next = step - slope / curvature;
        if (!(next > low && next < high)) next = isfinite(high) ? 0.5 * (low + high) : 2.0 * step;
        if (next == step) break;
        step = next;
    }
    return step;
}

// −H⁻¹ g with the matrix as it is factored; returns the slope along it, which is less than zero by Newton's decrement.
static double find_direction(cal_problem* p) {
    double slope = 0.0;
    for (int i = 0; i < p->group->unit_count; i++)
        for (int n = p->first[i]; n < p->first[i] + p->size[i]; n++)
            p->direction[n] = p->passive[i] ? 0.0 : -p->gradient[n];
    cal_blocks_solve(&p->matrix, p->direction);
    for (int i = 0; i < p->group->v_count; i++) slope += p->gradient[i] * p->direction[i];
    return slope;
}

// The minimum for the rows' present offsets and compliances, until Newton's decrement is `end` of the energy; returns
// Newton steps.
static int minimize(cal_problem* p, const double* target, double* v, double energy, double end) {
    const int count = p->group->v_count;
    double last = INFINITY;
    for (int iteration = 0; iteration < MOST_NEWTON; iteration++) {
        bool same = true;
        for (int k = 0; k < p->row_count; k++) {
            cal_contact_row* touch = &p->rows[k];
            if (touch->passive) continue;
            cal_problem_velocity(p, touch, v, touch->y);
            for (int i = 0; i < 3; i++) touch->y[i] += touch->offset[i];
            touch->y[0] += touch->slip;
            const int part = cal_problem_project(touch, touch->y, touch->impulse, touch->stiffness);
            same &= part == touch->part;
            touch->part = part;
        }
        for (int i = 0; i < count; i++) p->work[i] = v[i] - target[i];
        cal_problem_times_mass(p, p->work, p->gradient);
        cal_problem_push(p, -1.0, p->gradient);
        // Where no contact has come to stick, slide or part, the matrix before is almost that of now, and tells whether this is the end.
        if (iteration > 0 && same && !(-find_direction(p) > end * energy)) return iteration;
        cal_problem_assemble(p, 1.0);
        if (!cal_blocks_factor(&p->matrix)) return iteration;
        const double slope = find_direction(p);
        if (!(-slope > end * energy) || (-slope < rounding * energy && -slope > 0.25 * last)) return iteration;
        last = -slope;
        for (int k = 0; k < p->row_count; k++) cal_problem_velocity(p, &p->rows[k], p->direction, p->rows[k].dy);
        cal_problem_times_mass(p, p->work, p->gradient);
        double linear = 0.0;
        for (int i = 0; i < count; i++) linear += p->gradient[i] * p->direction[i];
        for (int k = 0; k < p->row_count; k++)
            if (p->rows[k].passive) linear -= cal_dot3(p->rows[k].impulse, p->rows[k].dy);
        const double step = search_line(p, linear, cal_problem_times_mass(p, p->direction, NULL), slope);
        bool moved = false;
        for (int i = 0; i < count; i++) {
            const double next = v[i] + step * p->direction[i];
            moved = moved || next != v[i];
            v[i] = next;
        }
        if (!moved) return iteration;
    }
    return MOST_NEWTON;
}

// μ |y_t| of a contact at v.
static double slip_of(const cal_problem* p, const cal_contact_row* touch, const double* v) {
    double y[3];
    cal_problem_velocity(p, touch, v, y);
    const double a = y[1] + touch->offset[1], b = y[2] + touch->offset[2];
    return touch->friction * sqrt(a * a + b * b);
}

// What a solve is measured by: an energy, and a speed of the contacts.
typedef struct scale {
    double energy, speed;
} scale;

static scale scale_of(cal_problem* p, const double* target, const double* v) {
    scale s = {.energy = cal_problem_times_mass(p, target, NULL) + cal_problem_times_mass(p, v, NULL)};
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        double y[3];
        cal_problem_velocity(p, touch, target, y);
        s.speed = fmax(s.speed, slip_of(p, touch, v) + fabs(y[0] + fmin(touch->offset[0], 0.0)));
        // What a contact asks for counts beside what there is.
        if (touch->offset[0] < 0.0) s.energy += touch->offset[0] * touch->offset[0] / touch->response;
    }
    return s;
}

// The least compliance over a contact's own response, by how much less than a contact the heaviest of what touches answers.
static double least_share_of(const cal_problem* p) {
    double least = INFINITY, most = 0.0;
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        most = fmax(most, touch->response);
        for (int side = 0; side < 2; side++) {
            if (touch->unit[side] < 0) continue;
            const int n = CAL_FRAME_ROWS * p->size[touch->unit[side]];
            double own = 0.0;
            for (int i = 0; i < n; i++) own += touch->jacobian[side][i] * touch->answer[side][i];
            if (own > 0.0) least = fmin(least, own / CAL_FRAME_ROWS);
        }
    }
    return least_compliance * (heaviest * least < most ? heaviest * least / most : 1.0);
}

static void set_compliance(cal_problem* p, double share) {
    for (int k = 0; k < p->row_count; k++) {
        p->rows[k].compliance = share * p->rows[k].response;
        p->rows[k].rigidity = 1.0 / p->rows[k].compliance;
    }
}

// Takes over the impulses of a round; returns how far the hard law was missed.
static double hold(cal_problem* p) {
    double missed = 0.0;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        for (int i = 0; i < 3; i++) {
            missed = fmax(missed, touch->compliance * fabs(touch->impulse[i] - touch->held[i]));
            touch->held[i] = touch->impulse[i];
        }
    }
    return missed;
}

// Units that the last sweep has not changed, nor their neighbours, are solved: they and their contacts stay as they are. Returns
// whether there are some.
static bool leave_out_solved(cal_problem* p) {
    bool any = false;
    for (int i = 0; i < p->group->unit_count; i++) p->passive[i] = true;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        touch->passive = true;
        for (int side = 0; side < 2; side++)
            touch->passive &= touch->unit[side] < 0 || p->stirred[touch->unit[side]] < p->last_sweep;
        any |= touch->passive;
        for (int side = 0; !touch->passive && side < 2; side++)
            if (touch->unit[side] >= 0) p->passive[touch->unit[side]] = false;
    }
    return any;
}

// Takes all of them in again; returns whether one of them was not solved by now.
static bool take_in_all(cal_problem* p, const double* v, double close) {
    bool missed = false;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        bool beside = false;
        for (int side = 0; side < 2; side++) beside |= touch->unit[side] >= 0 && !p->passive[touch->unit[side]];
        missed |= touch->passive && beside && cal_problem_missed(p, touch, v) > close;
        touch->passive = false;
    }
    for (int i = 0; i < p->group->unit_count; i++) p->passive[i] = p->quiet != NULL && p->quiet[i];
    return missed;
}

// De Saxcé's term may go to and fro between a contact that slides without a force and one that would stick with it, and end where bodies
// go into each other faster than what counts as an impact, and than a part in 10⁶ of the speeds, which rough solutions may miss: most of
// that is what the term is too large by. Without it they never do: those part by μ |y_t| at most instead.
static bool drop_slip(cal_problem* p, const double* v, const scale* s) {
    const double speed = fmax(p->group->bounce_speed, 1e-6 * s->speed);
    bool any = false;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        double y[3];
        if (touch->passive || touch->slip == 0.0) continue;
        cal_problem_velocity(p, touch, v, y);
        const double closing = -(y[0] + touch->offset[0]);
        if (!(closing > speed && touch->slip - slip_of(p, touch, v) > 0.5 * closing)) continue;
        touch->slip = 0.0;
        any = true;
    }
    return any;
}

// Rounds until the law is missed by no more than `close`; returns Newton steps.
static int solve_by_rounds(cal_problem* p, const double* target, double* v, const scale* s, double close) {
    // Where velocities are a hundred times better than that.
    const double fell = fmax(decrement, 1e-4 * close * close / (s->speed * s->speed));
    const double least_share = least_share_of(p);
    double share = first_compliance, end = first_decrement, before[2] = {INFINITY, INFINITY}, missed = INFINITY;
    bool settled = false; // De Saxcé's term stands, or will not
    int steps = 0;
    for (int k = 0; k < p->row_count; k++) p->rows[k].slip = slip_of(p, &p->rows[k], v);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        set_compliance(p, share);
        steps += minimize(p, target, v, s->energy, end);
        const double last = missed;
        missed = hold(p);
        double change = 0.0;
        for (int k = 0; !settled && k < p->row_count; k++) {
            cal_contact_row* touch = &p->rows[k];
            if (touch->passive) continue;
            const double slip = slip_of(p, touch, v);
            if (touch->impulse[0] > 0.0 || slip < touch->slip) change = fmax(change, fabs(slip - touch->slip));
            // A single contact that slides would take 1 / (1 + μ²) of each change over.
            touch->slip = fmax(0.0, touch->slip + (1.0 + touch->friction * touch->friction) * (slip - touch->slip));
        }
        const bool least = share <= least_share;
        // Where the law holds and De Saxcé's term is waited for, a smaller compliance would make minima harder to find for nothing.
        if (missed > close && missed > slow_fall * last) share = fmax(least_share, compliance_falls * share);
        // With several contacts it may go to and fro, or hardly on: then another round would change nothing for the better.
        const bool falls = change < 0.5 * before[1];
        before[1] = before[0];
        before[0] = change;
        if (!settled && change > fmax(p->rough ? 0.0 : slip_change * s->speed, close) && falls) continue;
        settled = true;
        const bool fine = missed <= close;
        const bool ends = (p->rough && fine) || (end <= fell && (fine || (least && missed > 0.5 * last)));
        if (ends && !drop_slip(p, v, s)) break;
        if (!p->rough || !fine) end = fmin(end, fell);
    }
    return steps;
}

int cal_problem_solve(cal_problem* p, const double* target, double* v) {
    const scale s = scale_of(p, target, v);
    bool solved = false;
    double least = 0.0;
    int steps = 0;
    // Sweeps cost a tenth of Newton's steps and find who sticks, who slides and who parts; Newton then has little to do. But they know
    // an order, so that what is symmetric does not stay so to the last bits.
    const bool sweeps = p->rough || p->loose || !p->factors || p->allowed > 0.0;
    const double still = p->rough ? still_rough : !p->factors ? still_many : p->loose ? still_exact : still_rough;
    const double end = fmax(still * s.speed, p->factors ? 0.0 : p->rough ? fmax(p->allowed, p->closing) : p->allowed);
    if (sweeps) steps = cal_problem_sweep(p, target, v, end, &least, &solved);
    if ((solved && (p->rough || p->loose)) || !p->factors) return steps;
    if (sweeps) hold(p);
    const double close = fmax((p->rough ? rough_law : law) * s.speed, p->allowed);
    const bool parts = sweeps && least <= close && leave_out_solved(p);
    steps += solve_by_rounds(p, target, v, &s, close);
    if (parts && take_in_all(p, v, close)) steps += solve_by_rounds(p, target, v, &s, close);
    return steps;
}

int cal_problem_solve_roughly(cal_problem* p, const double* target, double* v) {
    const scale s = scale_of(p, target, v);
    bool solved = false;
    double least;
    int steps = cal_problem_sweep(p, target, v, still_parting * s.speed, &least, &solved);
    if (solved || !p->factors) return steps;
    hold(p);
    for (int k = 0; k < p->row_count; k++) p->rows[k].slip = 0.0;
    // What is too heavy for that is not parted roughly.
    const double least_share = least_share_of(p),
                 last = least_share < least_compliance ? least_share : rough_compliance;
    double share = first_compliance;
    while (share > last) {
        set_compliance(p, share);
        share *= compliance_falls;
        steps += minimize(p, target, v, s.energy, rough_decrement);
        hold(p);
    }
    return steps;
}
