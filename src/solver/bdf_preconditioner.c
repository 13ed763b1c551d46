// BDF solves (1 − γ J) z = r with J = ∂f/∂y. What makes a mechanism stiff is in
//
//   J ≈ [ 0  1 ; −M⁻¹K  −M⁻¹D ]      D dampers, K springs and the weight of what hangs below a joint
//
// and leaves one system of the size of v, with H = M + γ D + γ² K:
//
//   z_v = r_v − γ H⁻¹ (D r_v + K x) ,   x = r_q + γ r_v ,   z_q = r_q + γ z_v
//
// The articulated-body algorithm solves with H in linear time, since D and K look like inertia to it. D and the springs
// are rotors (armature). The weight: the potential energy is −∑ g · R_n ρ_n over the nodes, with ρ_n the node's own
// mass moment and the masses below each of its children at that child's joint. Its second variation under a rotation of
// node n is s (1 − ρ̂ρ̂ᵀ) where ρ hangs along gravity, s = g · R ρ: a second moment s ρ̂ρ̂ᵀ. What stands upright (s < 0)
// is left out.
//
// Two programs over the columns of the simulation's plan, so that every processor has the factors of its own nodes and
// messages go along cut edges only. Whatever hangs below an edge, it carries
//
//   factor   1  outbound  rotations                                        9 numbers
//            2  inbound   ρ, articulated inertias and their eliminations   27, of which 2 are nothing
//   solve    1  outbound  rotations α that x makes                         3
//            2  inbound   torques K x, forces in the joints                6
//            3  outbound  H⁻¹ (…), z                                       6
//
// The mechanics are in bdf_preconditioner_body.h.
#include "solver/bdf_preconditioner.h"
#include "base/memory.h"
#include "pass/aba.h"
#include "pass/joint_law.h"
#include "solver/bdf_plan.h"
#include "solver/bdf_preconditioner_lanes.h"
#include "solver/vectors.h"

static const cal_pass factor_passes[] = {
    {.name = "bdf.place", .direction = CAL_OUTBOUND, .kernels = CAL_VARIANTS_OF(cal_stiff_place), .crosses = 9},
    {.name = "bdf.factor",
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_stiff_factor),
     .pulls = CAL_VARIANTS_OF(cal_aba_pull),
     .crosses = CAL_UP_COUNT},
};
static const cal_pass solve_passes[] = {
    {.name = "bdf.turn", .direction = CAL_OUTBOUND, .kernels = CAL_VARIANTS_OF(cal_stiff_turn), .crosses = 3},
    {.name = "bdf.force",
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_stiff_force),
     .pulls = CAL_VARIANTS_OF(cal_stiff_pull),
     .crosses = 6},
    {.name = "bdf.accelerate",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_stiff_accelerate),
     .crosses = 6},
};
static const cal_program factor_program = {
    .name = "bdf.factor", .walked = true, .solves = true, .passes = factor_passes, .pass_count = 2};
static const cal_program solve_program = {
    .name = "bdf.solve", .walked = true, .solves = true, .passes = solve_passes, .pass_count = 3};

struct cal_preconditioner {
    cal_plan *factor, *solve;
    cal_state* state; // of both: they have the same columns
    cal_solver_context context;
    double* vectors[CAL_STIFF_VECTORS];
    double down[CAL_STIFF_DOWN];
};

void cal_preconditioner_destroy(cal_preconditioner* p) {
    if (!p) return;
    cal_state_destroy(p->state);
    cal_bdf_plan_destroy(p->factor);
    cal_bdf_plan_destroy(p->solve);
    cal_free(p);
}

cal_status cal_preconditioner_create(const cal_plan* plan, cal_preconditioner** out) {
    *out = NULL;
    cal_preconditioner* p = cal_allocate(1, sizeof *p);
    if (!p) return CAL_NO_MEMORY;
    const size_t record_size = CAL_STIFF_RECORD * plan->layout->y_size;
    p->context = (cal_solver_context){.layout = plan->layout, .vectors = p->vectors, .down = p->down};
    cal_status status = cal_bdf_plan_create(plan, &factor_program, record_size, &p->factor);
    if (!status) status = cal_bdf_plan_create(plan, &solve_program, record_size, &p->solve);
    if (!status) status = cal_state_create(p->factor, &p->state);
    if (status) {
        cal_preconditioner_destroy(p);
        return status;
    }
    *out = p;
    return CAL_OK;
}

static void add_slopes(const cal_context* context, const cal_nonlinear_force* extra, cal_slopes slopes) {
    context->force[extra->v] += slopes.stiffness;
    context->tau[extra->v] += slopes.damping;
}

// Servos, as if their forces were not clamped, and stops, as if nothing moved: what they are at a distance from their
// ends.
static void add_extra(const cal_context* context, const cal_nonlinear_force* extra) {
    if (extra->kind == CAL_NONLINEAR_ACTUATOR)
        add_slopes(context, extra, cal_servo_slopes(&context->model->actuators[extra->index]));
    if (extra->kind == CAL_NONLINEAR_LIMIT)
        add_slopes(context, extra, cal_stop_slopes(&context->model->joints[extra->index], context->y[extra->y], 0.0));
}

void cal_stiff_prepare(const cal_context* context, const cal_column* column) {
    const cal_layout* layout = context->layout;
    const int W = layout->width, v_count = cal_kind_v(column->kind);
    cal_bdf_copy_column(layout, column, context->solver->vectors[CAL_STIFF_IN], context->y);
    // One array of zeros where nobody has a damper, a spring, a stop or a motor.
    if (context->force == context->tau) return;
    for (int block = column->first_block; block < column->first_block + column->block_count; block++)
        for (int l = 0; l < W; l++) {
            if (!cal_bdf_lane_lives(layout, block, l)) continue;
            const cal_node* node = &context->model->nodes[layout->block_nodes[(size_t)block * (size_t)W + (size_t)l]];
            for (int i = layout->block_v[block] + l, c = 0; c < v_count; c++, i += W) {
                context->tau[i] = node->damping;
                context->force[i] = context->model->joints[node->joint].def->stiffness;
            }
        }
    for (int i = column->first_extra; i < column->first_extra + column->extra_count; i++)
        add_extra(context, &layout->extras[i]);
}

cal_status cal_preconditioner_set(cal_preconditioner* p, const double* y, double gamma) {
    p->down[CAL_STIFF_GAMMA] = gamma;
    p->vectors[CAL_STIFF_IN] = (double*)y; // only read
    return cal_plan_run(p->factor, p->state, NULL, &p->context, true, NULL);
}

cal_status cal_preconditioner_solve(cal_preconditioner* p, const double* r, double* z) {
    p->vectors[CAL_STIFF_IN] = (double*)r; // only read
    p->vectors[CAL_STIFF_OUT] = z;
    return cal_plan_run(p->solve, p->state, NULL, &p->context, true, NULL);
}
