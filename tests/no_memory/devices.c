// GPUs, with the one that the host plays: memory of the device and of the host. What a GPU would cost.
#include "calder/calder_cuda.h"
#include "campaign.h"

static cal_status open_device(campaign* c, cal_machine** out) {
    const cal_cuda_def def = cal_default_cuda_def();
    return cal_machine_cuda(&def, out, &c->error);
}

static cal_status evaluate(campaign* c, const char* specification, const char* algorithm) {
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    cal_model* model = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    double qdd[256];
    DO(open_device(c, &machine));
    DO(cal_model_generate(specification, &model, &c->error));
    DO(cal_plan_create(model, algorithm, machine, &plan, &c->error));
    DO(cal_state_create(plan, &state));
    DO(cal_plan_execute(plan, state, &c->error));
    DO(cal_state_get(state, CAL_QDD, qdd));
    cal_note(c, qdd, (size_t)cal_model_v_count(model) * sizeof(double));
end:
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    return status;
}

static cal_status plans(campaign* c) {
    static const char* const runs[][2] = {
        {"mobile:s=2,l=3,o=4", "aba"}, {"random:n=40", "aba"}, {"chain:n=70", "assembly"}};
    cal_status status = CAL_OK;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0] && !status; i++) status = evaluate(c, runs[i][0], runs[i][1]);
    return status;
}

static cal_status simulate(campaign* c, const char* specification, const char* solver) {
    static const double force[3] = {1.0, 2.0, 3.0};
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    double energy[2];
    char path[256];
    cal_campaign_path(c, "device", path);
    DO(open_device(c, &machine));
    DO(cal_model_generate(specification, &model, &c->error));
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.machine = machine;
    def.contact = false;
    DO(cal_sim_create(model, &def, &sim, &c->error));
    DO(cal_sim_advance(sim, 0.01, &c->error));
    DO(cal_sim_push(sim, 0, force, NULL, NULL));
    DO(cal_sim_save(sim, path, &c->error));
    DO(cal_sim_advance(sim, 0.02, &c->error));
    DO(cal_sim_load(sim, path, &c->error));
    DO(cal_sim_advance(sim, 0.02, &c->error));
    DO(cal_sim_energy(sim, &energy[0], &energy[1]));
    cal_note(c, energy, sizeof energy);
    const uint64_t hash = cal_sim_hash(sim);
    cal_note(c, &hash, sizeof hash);
end:
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    return status;
}

static cal_status simulations(campaign* c) {
    static const char* const runs[][2] = {
        {"chain:n=9", "gear"}, {"fivebar", "rkf"}, {"stickman", "rk4"}, {"random:n=20,passive=1,stop=50", "implicit"}};
    cal_status status = CAL_OK;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0] && !status; i++) status = simulate(c, runs[i][0], runs[i][1]);
    return status;
}

static cal_status ensembles(campaign* c) {
    cal_status status = CAL_OK;
    cal_machine* machine = NULL;
    cal_model* model = NULL;
    cal_ensemble* ensemble = NULL;
    cal_cuda_view view;
    double q[64], v[64], energy[2];
    DO(open_device(c, &machine));
    DO(cal_model_generate("mobile:s=1,l=2,o=3", &model, &c->error));
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 40;
    def.machine = machine;
    def.sim.solver = "rk4";
    def.spread = 0.001;
    def.account = true;
    DO(cal_ensemble_create_def(model, &def, &ensemble, &c->error));
    DO_OR_END(cal_ensemble_advance(ensemble, 0.005, &c->error));
    DO(cal_ensemble_get(ensemble, 33, q, v));
    DO(cal_ensemble_set(ensemble, 2, q, v));
    DO(cal_ensemble_drive(ensemble, 1, NULL, NULL, &c->error));
    DO(cal_ensemble_energy(ensemble, 1, &energy[0], &energy[1]));
    cal_note(c, energy, sizeof energy);
    DO(cal_cuda_ensemble_view(ensemble, CAL_Q, &view));
    DO(cal_cuda_ensemble_changed(ensemble));
    DO(cal_cuda_ensemble_forward(ensemble));
    DO_OR_END(cal_ensemble_advance(ensemble, 0.01, &c->error));
    char path[256];
    cal_campaign_path(c, "ensemble", path);
    DO(cal_ensemble_save(ensemble, path, &c->error));
    DO(cal_ensemble_load(ensemble, path, &c->error));
    DO_OR_END(cal_ensemble_advance(ensemble, 0.015, &c->error));
    const uint64_t hash = cal_ensemble_hash(ensemble);
    cal_note(c, &hash, sizeof hash);
end:
    cal_ensemble_destroy(ensemble);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    return status;
}

static cal_status prices(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_gpu_price price;
    const cal_gpu_def gpu = cal_default_gpu_def();
    DO(cal_model_generate("mobile:s=2,l=3,o=4", &model, &c->error));
    for (int instances = 1; instances <= 1000; instances *= 1000) {
        DO(cal_price_gpu(model, instances, &gpu, &price, &c->error));
        cal_note(c, &price.seconds, sizeof price.seconds);
    }
    DO(cal_price_gpu_assembly(model, "balanced", &gpu, &price, &c->error));
    cal_note(c, &price.seconds, sizeof price.seconds);
end:
    cal_model_destroy(model);
    return status;
}

const named_scenario cal_device_scenarios[] = {{"devices, plans", plans},
                                               {"devices, simulations", simulations},
                                               {"devices, ensembles", ensembles},
                                               {"devices, prices", prices},
                                               {NULL, NULL}};
