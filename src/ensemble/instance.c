// One instance of a randomized simulation (instance.h).
#include "ensemble/instance.h"
#include "base/memory.h"
#include "model/coordinates.h"
#include <math.h>
#include <string.h>

static const char* const names[CAL_METHODS] = {"euler", "symplectic", "heun", "ab2", "rk4"};

const char* cal_method_name(cal_method method) { return names[method]; }

double cal_method_limit(cal_method method, double step, cal_stabilization law) {
    // How far the methods are stable on the negative real axis.
    static const double reach[CAL_METHODS] = {2.0, 0.0, 2.0, 1.0, 2.785293563405282};
    if (method == CAL_METHOD_SYMPLECTIC) return cal_semi_implicit_limit(step, law);
    return cal_explicit_limit(reach[method], step, law);
}

void cal_instance_destroy(cal_instance* instance) {
    cal_state_destroy(instance->state);
    cal_constraints_destroy(instance->set);
    cal_free(instance->q);
    *instance = (cal_instance){0};
}

cal_status cal_instance_create(const cal_plan* plan, cal_method method, cal_instance* out) {
    const cal_model* model = plan->model;
    const size_t q = (size_t)model->q_count, v = (size_t)model->v_count;
    *out = (cal_instance){.plan = plan, .method = method};
    cal_status status = cal_state_create(plan, &out->state);
    if (!status) status = cal_constraints_create(model, &out->set);
    const size_t rows = status ? 0 : (size_t)out->set->most_rows;
    double* next = out->q = status ? NULL : cal_allocate(2 * q + 13 * v + rows, sizeof(double));
    if (!next) {
        cal_instance_destroy(out);
        return CAL_NO_MEMORY;
    }
    double** of_v[] = {&out->v,          &out->a,          &out->change,     &out->stage_v[0], &out->stage_v[1],
                       &out->stage_v[2], &out->stage_v[3], &out->stage_a[0], &out->stage_a[1], &out->stage_a[2],
                       &out->stage_a[3], &out->last_v,     &out->last_a};
    out->base = next + q;
    next += 2 * q;
    for (size_t i = 0; i < sizeof of_v / sizeof of_v[0]; i++, next += v) *of_v[i] = next;
    out->forcing = next;
    return CAL_OK;
}

// Of unit deviation: the sum of twelve uniform numbers, which has the same bits everywhere and tails up to six.
static double normal_number(cal_random* random) {
    double sum = 0.0;
    for (int i = 0; i < 12; i++) sum += cal_random_between(random, -0.5, 0.5);
    return sum;
}

void cal_instance_place(cal_instance* instance, const double* q, const double* v, double position, double velocity,
                        bool normal, bool everywhere, cal_random* random) {
    const cal_model* model = instance->plan->model;
    memcpy(instance->q, q, (size_t)model->q_count * sizeof *q);
    memcpy(instance->v, v, (size_t)model->v_count * sizeof *v);
    instance->begun = false;
    if (!random) return;
    for (int i = 0; i < model->v_count; i++) {
        const double number = normal ? normal_number(random) : cal_random_between(random, -1.0, 1.0);
        instance->change[i] = position * number;
    }
    if (!everywhere) cal_constraints_keep_normal(instance->set, q, instance->change);
    cal_model_displace(model, instance->change, 1.0, instance->q);
    for (int i = 0; i < model->v_count; i++)
        instance->change[i] = velocity * (normal ? normal_number(random) : cal_random_between(random, -1.0, 1.0));
    if (!everywhere) cal_constraints_keep_normal(instance->set, q, instance->change);
    for (int i = 0; i < model->v_count; i++) instance->v[i] += instance->change[i];
}

// --- Steps -------------------------------------------------------------------------------------------------------------

static cal_status accelerate(cal_instance* instance, const cal_instance_law* law, const double* q, const double* v,
                             double* out) {
    cal_status status = cal_state_set(instance->state, CAL_Q, q);
    if (!status) status = cal_state_set(instance->state, CAL_V, v);
    if (!status) status = cal_plan_execute(instance->plan, instance->state, NULL);
    if (!status) status = cal_state_get(instance->state, CAL_QDD, out);
    if (!status)
        cal_constraints_accelerate(instance->set, q, v, out, law->law, law->gain,
                                   law->forcing > 0.0 ? instance->forcing : NULL);
    return status;
}

// q ← base moved by h (∑ weight_k v_k)
static void move(cal_instance* instance, double h, const double* weights, double* const* rates, int count) {
    const cal_model* model = instance->plan->model;
    for (int i = 0; i < model->v_count; i++) {
        double sum = 0.0;
        for (int k = 0; k < count; k++) sum += weights[k] * rates[k][i];
        instance->change[i] = h * sum;
    }
    memcpy(instance->q, instance->base, (size_t)model->q_count * sizeof(double));
    cal_model_displace(model, instance->change, 1.0, instance->q);
}

static void push(cal_instance* instance, double h, const double* weights, double* const* rates, int count,
                 const double* from) {
    for (int i = 0; i < instance->plan->model->v_count; i++) {
        double sum = 0.0;
        for (int k = 0; k < count; k++) sum += weights[k] * rates[k][i];
        instance->v[i] = from[i] + h * sum;
    }
}

// The classical stages, and Heun's: v_k and a_k at places that lie h c_k on.
static cal_status runge_kutta(cal_instance* n, const cal_instance_law* law, int stages) {
    static const double places[4] = {0.0, 0.5, 0.5, 1.0}, heun[2] = {0.5, 0.5},
                        classical[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    const size_t bytes = (size_t)n->plan->model->v_count * sizeof(double);
    const double h = law->step, one = 1.0;
    memcpy(n->stage_v[0], n->v, bytes);
    memcpy(n->stage_a[0], n->a, bytes);
    for (int k = 1; k < stages; k++) {
        const double to = h * (stages == 2 ? 1.0 : places[k]);
        move(n, to, &one, &n->stage_v[k - 1], 1);
        push(n, to, &one, &n->stage_a[k - 1], 1, n->stage_v[0]);
        memcpy(n->stage_v[k], n->v, bytes);
        const cal_status status = accelerate(n, law, n->q, n->v, n->stage_a[k]);
        if (status) return status;
    }
    const double* weights = stages == 2 ? heun : classical;
    move(n, h, weights, n->stage_v, stages);
    push(n, h, weights, n->stage_a, stages, n->stage_v[0]);
    return CAL_OK;
}

static void adams_bashforth(cal_instance* n, double h) {
    const size_t bytes = (size_t)n->plan->model->v_count * sizeof(double);
    const double weights[2] = {n->begun ? 1.5 : 1.0, n->begun ? -0.5 : 0.0};
    double* const rates[2] = {n->stage_v[0], n->last_v};
    double* const changes[2] = {n->a, n->last_a};
    memcpy(n->stage_v[0], n->v, bytes);
    move(n, h, weights, rates, 2);
    push(n, h, weights, changes, 2, n->stage_v[0]);
    memcpy(n->last_v, n->stage_v[0], bytes);
    memcpy(n->last_a, n->a, bytes);
    n->begun = true;
}

// One step from q, v and the acceleration a there.
static cal_status take_step(cal_instance* n, const cal_instance_law* law) {
    const double h = law->step, one = 1.0;
    memcpy(n->base, n->q, (size_t)n->plan->model->q_count * sizeof(double));
    switch (n->method) {
    case CAL_METHOD_HEUN: return runge_kutta(n, law, 2);
    case CAL_METHOD_RK4: return runge_kutta(n, law, 4);
    case CAL_METHOD_AB2: adams_bashforth(n, h); return CAL_OK;
    case CAL_METHOD_SYMPLECTIC:
        push(n, h, &one, &n->a, 1, n->v);
        move(n, h, &one, &n->v, 1);
        return CAL_OK;
    default:
        move(n, h, &one, &n->v, 1);
        push(n, h, &one, &n->a, 1, n->v);
        return CAL_OK;
    }
}

// --- An interval -------------------------------------------------------------------------------------------------------

static void count_error(cal_instance* n) {
    double sum = 0.0;
    for (int i = 0; i < n->set->row_count; i++) sum += n->set->rows[i].error * n->set->rows[i].error;
    n->squares += sum;
    n->largest = fmax(n->largest, sqrt(sum));
}

// ‖C‖ + α ‖A_h q̇‖ + β ‖A_n q̇‖ at the rows that were evaluated last.
static double find_residual(const cal_instance* n, const cal_instance_law* law) {
    double open = 0.0, moving = 0.0, slipping = 0.0;
    for (int i = 0; i < n->set->row_count; i++) {
        const cal_row* row = &n->set->rows[i];
        open += row->error * row->error;
        if (row->holonomic)
            moving += row->speed * row->speed;
        else
            slipping += row->speed * row->speed;
    }
    const double residual = sqrt(open) + law->alpha * sqrt(moving) + law->beta * sqrt(slipping);
    return residual <= 1e300 ? residual : (double)INFINITY;
}

static void show(const cal_instance* n, const cal_instance_law* law, cal_instance_name name, int step) {
    if (law->watch) law->watch(name.interval, name.instance, step, n->q, n->v, law->user);
}

static cal_status take_steps(cal_instance* n, const cal_instance_law* law, int steps, cal_random* random,
                             cal_instance_name name) {
    for (int k = 0; k < steps; k++) {
        show(n, law, name, k);
        for (int i = 0; law->forcing > 0.0 && i < n->set->row_count; i++)
            n->forcing[i] = law->forcing * cal_random_between(random, -1.0, 1.0);
        cal_status status = accelerate(n, law, n->q, n->v, n->a);
        if (status) return status;
        if (k > 0) count_error(n); // where the last step ended
        n->singular = n->singular || (law->singular > 0.0 && cal_constraints_margin(n->set) < law->singular);
        status = take_step(n, law);
        if (status) return status;
    }
    show(n, law, name, steps);
    cal_constraints_evaluate(n->set, n->q, n->v);
    count_error(n);
    n->residual = find_residual(n, law);
    return CAL_OK;
}

void cal_instance_run(cal_instance* n, const cal_instance_law* law, int steps, cal_random* random,
                      cal_instance_name name) {
    n->squares = n->largest = 0.0;
    n->singular = false;
    n->residual = (double)INFINITY;
    n->status = take_steps(n, law, steps, random, name);
}
