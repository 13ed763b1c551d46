// One instance of a randomized simulation: a state of the model, its constraints, and a simple method of fixed step.
//
//     euler       q ← q + τ v, v ← v + τ a(q, v)                                    explicit, as the paper's
//     symplectic  v ← v + τ a(q, v), q ← q + τ v
//     heun        the mean of a and v at both ends of an Euler step
//     ab2         3/2 of this step's and −1/2 of the last one's; begins with Euler
//     rk4         Runge and Kutta's
#pragma once
#include "base/random.h"
#include "calder/calder_run.h"
#include "constraint/constraint.h"
#include "plan/plan.h"

typedef enum cal_method {
    CAL_METHOD_EULER,
    CAL_METHOD_SYMPLECTIC,
    CAL_METHOD_HEUN,
    CAL_METHOD_AB2,
    CAL_METHOD_RK4,
    CAL_METHODS
} cal_method;
const char* cal_method_name(cal_method method);
// The largest stable gain of a stabilisation with a method.
double cal_method_limit(cal_method method, double step, cal_stabilization law);

typedef struct cal_instance {
    _Alignas(64) const cal_plan* plan; // instances of several processors lie side by side: none shares a cache line
    cal_state* state;
    cal_constraints* set;
    cal_method method;
    double *q, *v;             // the present state
    double *a, *change, *base; // accelerations; a displacement; q where a step began
    double *stage_v[4], *stage_a[4];
    double *last_v, *last_a; // of ab2
    bool begun;              // ab2 has a last step
    double* forcing;         // a number a row
    // Of the interval: what the rows were open by, and what the poll asks for.
    double squares, largest, residual;
    bool singular;
    cal_status status;
} cal_instance;

// What the methods need besides.
typedef struct cal_instance_law {
    cal_stabilization law;
    double gain, forcing, alpha, beta, step, singular;
    cal_rps_callback* watch; // NULL: nobody
    void* user;
} cal_instance_law;

cal_status cal_instance_create(const cal_plan* plan, cal_method method, cal_instance* out);
void cal_instance_destroy(cal_instance* instance); // zeros are allowed
// Starts at q and v, moved at random by up to the radii (normal: standard deviations), across the constraints only, or everywhere.
void cal_instance_place(cal_instance* instance, const double* q, const double* v, double position, double velocity,
                        bool normal, bool everywhere, cal_random* random);
// Which of its instances a run watches, and in which interval.
typedef struct cal_instance_name {
    int64_t interval;
    int instance;
} cal_instance_name;
// Takes steps, and finds the residual: infinite for what is not finite, or failed (status).
void cal_instance_run(cal_instance* instance, const cal_instance_law* law, int steps, cal_random* random,
                      cal_instance_name name);
