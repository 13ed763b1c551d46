// Machines, plans, states, dynamics.
#include "campaign.h"

static void note_state(campaign* c, const cal_state* state, cal_field field) {
    double values[1024];
    const size_t size = cal_state_size(state, field);
    if (size == 0 || size > 1024 || cal_state_get(state, field, values) != CAL_OK) return;
    cal_note(c, values, size * sizeof(double));
}

static cal_status execute(campaign* c, const cal_model* model, const char* algorithm, cal_machine* machine) {
    cal_status status = CAL_OK;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    static const double force[3] = {1.0, 2.0, 3.0};
    double jacobian[6 * 128], velocity[6], q[128];
    DO(cal_plan_create(model, algorithm, machine, &plan, &c->error));
    DO(cal_state_create(plan, &state));
    cal_model_initial(model, q, NULL, NULL);
    DO(cal_state_set(state, CAL_Q, q));
    if (strcmp(algorithm, "aba") == 0) DO(cal_state_push(state, 1, force, NULL, NULL));
    DO(cal_plan_execute(plan, state, &c->error));
    for (int field = CAL_Q; field <= CAL_TENDON; field++) note_state(c, state, (cal_field)field);
    if (strcmp(algorithm, "kinematics") == 0) {
        DO(cal_state_jacobian(state, 1, force, jacobian));
        DO(cal_state_velocity(state, 1, force, velocity));
        cal_note(c, velocity, sizeof velocity);
    }
    cal_pass_traffic traffic;
    DO(cal_plan_traffic(plan, 0, 1, &traffic));
    DO(cal_state_traffic(state, 0, &traffic));
    char text[4096];
    const int length = cal_plan_print(plan, text, sizeof text);
    (void)length; // it may name what it could not look at
end:
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    return status;
}

static cal_status on_machines(campaign* c, cal_machine* machine) {
    static const char* const models[] = {"mobile:s=2,l=3,o=4", "stickman", "chain:n=9"};
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    for (int i = 0; i < 3; i++) {
        DO(cal_model_generate(models[i], &model, &c->error));
        const char* name;
        for (int k = 0; (name = cal_algorithm_name(k)) != NULL; k++) {
            if (strcmp(name, "armstrong") == 0 && i != 1) continue;
            if (strcmp(name, "assembly") == 0 && i == 1) continue;
            status = execute(c, model, name, machine);
            if (status != CAL_OK) goto end;
        }
        cal_model_destroy(model);
        model = NULL;
    }
end:
    cal_model_destroy(model);
    return status;
}

static cal_status one_core(campaign* c) {
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    DO(cal_machine_serial(0, &machine, &c->error));
    status = on_machines(c, machine);
end:
    cal_machine_destroy(machine);
    return status;
}

static cal_status two_threads(campaign* c) {
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    cal_threads_def def = cal_default_threads_def();
    def.workers = 2;
    DO(cal_machine_threads(&def, &machine, &c->error));
    status = on_machines(c, machine);
end:
    cal_machine_destroy(machine);
    return status;
}

static cal_status distributions(campaign* c) {
    cal_status status = CAL_OK;
    cal_machine *machine = NULL, *named = NULL, *modelled = NULL;
    cal_model *model = NULL, *chain = NULL;
    cal_plan *placed = NULL, *scheduled = NULL;
    cal_state* state = NULL;
    const cal_costs costs = {.compute = 1e-6, .message = 1e-5, .send = 1e-6, .read = 1e-9};
    int32_t owners[64];
    double seconds, busy;
    int used;
    cal_schedule_report report;
    DO(cal_machine_from_text("threads:2", 0, &named, &c->error));
    DO(cal_machine_from_text("threads:3", 0, &machine, &c->error));
    DO(cal_model_generate("mobile:s=2,l=3,o=4", &model, &c->error));
    DO(cal_model_generate("chain:n=24", &chain, &c->error));
    for (int how = CAL_BALANCED; how <= CAL_JUNG; how++) {
        DO(cal_distribute(model, (cal_distribution)how, 3, &costs, owners, &used, &seconds, &c->error));
        cal_note(c, &seconds, sizeof seconds);
        DO(cal_price(model, owners, &costs, 3, &seconds, &busy, &c->error));
        cal_note(c, &busy, sizeof busy);
    }
    DO(cal_plan_create_placed(model, "aba", machine, owners, &placed, &c->error));
    DO(cal_state_create(placed, &state));
    DO(cal_plan_execute(placed, state, &c->error));
    note_state(c, state, CAL_QDD);
    DO(cal_plan_create_scheduled(chain, "assembly", "3", machine, NULL, &scheduled, &c->error));
    DO(cal_schedule_predict(chain, "even:3", 3, &costs, &report, &c->error));
    cal_note(c, &report.joins, sizeof report.joins);
    char text[2048];
    DO(cal_schedule_print(chain, "balanced", 3, &costs, text, sizeof text, &c->error) < 0 ? c->error.status : CAL_OK);
    DO(cal_machine_modelled(&costs, 4, &modelled, &c->error));
end:
    cal_machine_destroy(modelled);
    cal_plan_destroy(scheduled);
    cal_state_destroy(state);
    cal_plan_destroy(placed);
    cal_model_destroy(chain);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    cal_machine_destroy(named);
    return status;
}

// What is measured is a time; only that it is there, or not, is certain.
static cal_status measured(campaign* c) {
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    cal_model* model = NULL;
    cal_costs costs;
    DO(cal_machine_serial(1, &machine, &c->error));
    DO(cal_model_generate("chain:n=4", &model, &c->error));
    DO(cal_machine_measure(machine, model, &costs, &c->error));
end:
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    return status;
}

static cal_status dynamics(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_dynamics* at = NULL;
    double q[64], v[64], out[64 * 64], energy[2];
    static const double point[3] = {0.1, 0.2, 0.3};
    DO(cal_model_generate("stickman", &model, &c->error));
    DO(cal_dynamics_create(model, &at, &c->error));
    cal_model_initial(model, q, v, NULL);
    const size_t dof = (size_t)cal_model_v_count(model);
    DO(cal_dynamics_forward(at, q, v, NULL, NULL, out));
    cal_note(c, out, dof * sizeof(double));
    DO(cal_dynamics_inverse(at, q, v, NULL, out));
    cal_note(c, out, dof * sizeof(double));
    DO(cal_dynamics_mass(at, q, out));
    cal_note(c, out, dof * dof * sizeof(double));
    DO(cal_dynamics_poses(at, q, out));
    DO(cal_dynamics_energy(at, q, v, energy));
    DO(cal_dynamics_jacobian(at, q, 2, point, out));
    DO(cal_dynamics_motion(at, q, v, NULL, 2, point, out, out + 6));
    DO(cal_dynamics_inverse_derivatives(at, q, v, NULL, out, NULL, NULL));
    DO(cal_dynamics_forward_derivatives(at, q, v, NULL, NULL, NULL, NULL, out, NULL));
    cal_note(c, out, 6 * dof * sizeof(double));
end:
    cal_dynamics_destroy(at);
    cal_model_destroy(model);
    return status;
}

static cal_status loops(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    double q[32], v[32], qdd[32] = {0}, tau[32] = {0};
    bool rows[32];
    int rank;
    DO(cal_model_generate("fivebar", &model, &c->error));
    cal_model_initial(model, q, v, NULL);
    for (int i = 0; i < cal_model_v_count(model); i++) qdd[i] = 1.0 + i;
    double copy[32];
    memcpy(copy, qdd, sizeof copy);
    c->error.text[0] = '\0';
    status = cal_loops_forward(model, 0.0, q, v, qdd, &c->error);
    if (cal_again(c, status, "cal_loops_forward(&c->error)")) {
        if (memcmp(copy, qdd, sizeof copy) != 0) return CAL_NOT_FINITE; // it changed what it was given
        status = cal_loops_forward(model, 0.0, q, v, qdd, &c->error);
    }
    if (status != CAL_OK) goto end;
    cal_note(c, qdd, sizeof qdd);
    DO(cal_loops_redundant(model, q, rows, &rank, &c->error));
    cal_note(c, &rank, sizeof rank);
    memset(tau, 0, sizeof tau);
    DO(cal_loops_inverse(model, 0.0, q, v, qdd, NULL, tau, &c->error));
    cal_note(c, tau, sizeof tau);
end:
    cal_model_destroy(model);
    return status;
}

const named_scenario cal_plan_scenarios[] = {{"plans, one core", one_core},
                                             {"plans, two threads", two_threads},
                                             {"distributions", distributions},
                                             {"measured costs", measured},
                                             {"dynamics", dynamics},
                                             {"loops", loops},
                                             {NULL, NULL}};
