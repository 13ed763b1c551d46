// How well constraints are closed in a simulation, and when a singular position is so near that its rows are noise (system_singular.c derives the
// numbers). Compiled for the host and for devices.
#pragma once
#include "base/finite.h"
#include "constraint/constraint.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include <math.h>
#include <string.h>

enum { CAL_PATIENCE_STEP = 4 };      // corrections that a step may need
static const double CAL_OPEN = 1e-4; // an error that a projection leaves although it should not: see cal_closing_holds

typedef struct cal_closing {
    cal_stabilization law;
    double gain, relative, absolute; // and the solver's tolerance
    bool projects;                   // what a step opens is closed
    bool smooth;                     // constraint.h; then to rounding
} cal_closing;

// The share of the tolerance that noise may have, and the widest zone.
static const double CAL_NOISE_SHARE = 0.2, CAL_WIDEST_ZONE = 0.05;
// How much faster than it seems σ may change where nothing was projected: what is open there is of third order.
static const double CAL_SURELY_CHANGES = 2.0;
// What is open by less than this part of the tolerance need not be closed: with ε three times as much the zone above is 0.014 rad
// wide, for all tolerances and all speeds as far as rounding allows. Solvers that extrapolate amplify what is left open by 3e4 (coefficients of the
// polynomial of implicit_euler.c in the results of its steps): they have it closed to rounding.
static const double CAL_CLOSED_SHARE = 1e-7, CAL_CLOSED_LEAST = 1e-15, CAL_EPSILONS = 3.0;

CAL_DEVICE static inline double cal_closed_at(const cal_closing* closing, double speed) {
    if (closing->smooth) return CAL_CLOSED_LEAST;
    return fmax(CAL_CLOSED_SHARE * closing->relative / fmax(speed, 1.0), CAL_CLOSED_LEAST);
}

CAL_DEVICE static inline double cal_closing_noise(const cal_closing* closing, double speed) {
    return CAL_NOISE_SHARE * (closing->relative * speed + closing->absolute);
}

// Closes what a step has opened.
CAL_DEVICE static inline void cal_closing_project(const cal_closing* closing, cal_constraints* set, cal_along along,
                                                  double* q, double* v) {
    const double speed = cal_largest_size(v, set->model->v_count), closed = cal_closed_at(closing, speed);
    set->closed = closed;
    set->blind = fmin(sqrt(CAL_EPSILONS * closed * speed / cal_closing_noise(closing, speed)), CAL_WIDEST_ZONE);
    set->along = along;
    set->smooth = closing->smooth;
    cal_constraints_project(set, q, v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
    set->along = CAL_ALONG_OWN;
    set->blind = 0.0;
}

// Whether constraints, of which this is the largest error that a projection has left, hold: else something has come apart, but for what is so large
// that this is rounding.
CAL_DEVICE static inline bool cal_closing_holds(const cal_constraints* set, double error) {
    return error <= CAL_OPEN || cal_constraints_are_reached(set);
}

// Noise in accelerations, times σ³, with σ changing by `rate`, at most as fast as anything moves.
CAL_DEVICE static inline double cal_noise_cubed(const cal_closing* closing, double speed, double rate) {
    return 2.0 * CAL_EPSILONS * cal_closed_at(closing, speed) * rate * rate;
}
// It is above its share of the tolerance where σ³ is below this.
CAL_DEVICE static inline double cal_zone_cubed(const cal_closing* closing, double speed, double rate) {
    return cal_noise_cubed(closing, speed, rate) / cal_closing_noise(closing, speed);
}

// Whether the place of the last factorisation is in the zone of the fastest crossing that a speed allows.
CAL_DEVICE static inline bool cal_closing_is_near(const cal_closing* closing, const cal_constraints* set,
                                                  const double* v) {
    const double distance = cal_constraints_distance(set), speed = cal_largest_size(v, set->model->v_count);
    return distance < CAL_WIDEST_ZONE && distance * distance * distance < cal_zone_cubed(closing, speed, speed);
}

// Room for that below: v_count numbers, q_count numbers.
typedef struct cal_closing_room {
    double *change, *q;
} cal_closing_room;

// σ where the motion from q is `later`, with the accelerations a, without a projection: what is open there is of third order, and changes σ little.
CAL_DEVICE static inline double cal_closing_ahead(cal_constraints* set, const double* q, const double* v,
                                                  const double* a, double later, const cal_closing_room* room) {
    for (int i = 0; i < set->model->v_count; i++) room->change[i] = later * (v[i] + 0.5 * later * a[i]);
    memcpy(room->q, q, (size_t)set->model->q_count * sizeof(double));
    cal_constraints_displace(set, room->change, 1.0, room->q);
    cal_constraints_evaluate(set, room->q, v);
    (void)cal_constraints_rank(set);
    return cal_constraints_distance(set);
}

// A long mechanism is near for long, and σ changes slowly while parts of it move fast. It is looked at as far ahead as a crossing would be
// looked for, but not further than half the time in which velocities become others: what is beyond does not follow from now. *calm: how long it is not
// near; zero: it is.
CAL_DEVICE static inline bool cal_closing_changes_near(const cal_closing* closing, cal_constraints* set,
                                                       const double* q, const double* v, const double* a,
                                                       const cal_closing_room* room, double* calm) {
    const int count = set->model->v_count;
    const double distance = cal_constraints_distance(set), speed = cal_largest_size(v, count),
                 change = cal_largest_size(a, count);
    const double far = 2.0 * distance / speed, step = change * far > 0.5 * speed ? 0.5 * speed / change : far;
    const double before = cal_closing_ahead(set, q, v, a, -step, room),
                 after = cal_closing_ahead(set, q, v, a, step, room);
    const double rate = CAL_SURELY_CHANGES * fmax(fabs(before - distance), fabs(after - distance)) / step;
    const bool near = distance * distance * distance < cal_zone_cubed(closing, speed, fmin(rate, speed));
    *calm = near ? 0.0 : step;
    return near;
}

// --- Getting on ----------------------------------------------------------------------------------------------------------------

// A hop of so many radians, whose error is of its third power, helps a solver over that has not come as far in so many evaluations. iec,
// whose steps are the shortest, has errors of h³ too: at 1e-12 it needs 60 where motion is smooth.
static const double CAL_HOP = 1e-3;
enum { CAL_MOST_ATTEMPTS = 200 };

typedef struct cal_progress {
    double time;
    int attempts;
} cal_progress;
CAL_DEVICE static inline double cal_find_hop(const double* v, int count) {
    return CAL_HOP / fmax(cal_largest_size(v, count), 1.0);
}
// One more attempt, with the last accepted step's end at `time`. Whether it has come as far as a hop since the first of them.
CAL_DEVICE static inline bool cal_progress_count(cal_progress* progress, double time, const double* v, int count) {
    const bool anew = !(time < progress->time + cal_find_hop(v, count)) || time < progress->time;
    if (anew) *progress = (cal_progress){time, 0};
    progress->attempts++;
    return anew;
}
