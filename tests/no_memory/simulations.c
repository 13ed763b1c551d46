// Simulations, their constraints, snapshots and checkpoints; ensembles; randomized simulation.
#include "campaign.h"

static void note_sim(campaign* c, const cal_sim* sim) {
    const uint64_t hash = cal_sim_hash(sim);
    cal_note(c, &hash, sizeof hash);
}

// Makes it, advances it, looks at it from all sides, changes it.
static cal_status use(campaign* c, const cal_model* model, const cal_sim_def* def) {
    static const double force[3] = {0.1, 0.2, 0.3};
    cal_status status = CAL_OK;
    cal_sim* sim = NULL;
    double kinetic, potential, numbers[2048], residual;
    cal_energy_balance balance;
    cal_pass_traffic traffic;
    int body;
    DO(cal_sim_create(model, def, &sim, &c->error));
    if (cal_model_constraint_count(model) > 0) DO(cal_sim_project(sim, &c->error));
    DO(cal_sim_advance(sim, 0.01, &c->error));
    note_sim(c, sim);
    DO(cal_sim_energy(sim, &kinetic, &potential));
    cal_note(c, &kinetic, sizeof kinetic);
    DO(cal_sim_balance(sim, &balance));
    DO(cal_sim_poses(sim, numbers));
    DO(cal_sim_joint_forces(sim, numbers));
    DO(cal_sim_accelerations(sim, numbers));
    cal_note(c, numbers, sizeof(double) * (size_t)cal_model_v_count(model));
    if (strcmp(def->algorithm, "armstrong") == 0) DO(cal_sim_check(sim, &residual, &body));
    DO(cal_sim_traffic(sim, 0, &traffic, &traffic));
    if (strcmp(def->algorithm, "aba") == 0) DO(cal_sim_push(sim, 0, force, NULL, NULL));
    DO(cal_sim_advance(sim, 0.012, &c->error));
    DO(cal_sim_release(sim));
    DO(cal_sim_restart(sim));
    DO(cal_sim_drive(sim, NULL, NULL, &c->error));
    DO(cal_sim_set(sim, 0.012, NULL, NULL, &c->error));
    DO(cal_sim_advance(sim, 0.02, &c->error));
    note_sim(c, sim);
end:
    cal_sim_destroy(sim);
    return status;
}

static cal_status solvers(campaign* c) {
    cal_status status = CAL_OK;
    cal_model *mobile = NULL, *stickman = NULL, *chain = NULL;
    const char* name;
    DO(cal_model_generate("mobile:s=1,l=2,o=3", &mobile, &c->error));
    DO(cal_model_generate("stickman", &stickman, &c->error));
    DO(cal_model_generate("chain:n=6", &chain, &c->error));
    for (int i = 0; (name = cal_solver_name(i)) != NULL; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = name;
        def.contact = false;
        status = use(c, mobile, &def);
        if (status != CAL_OK) goto end;
    }
    cal_sim_def def = cal_default_sim_def();
    def.contact = false;
    def.solver = "rk4";
    def.algorithm = "armstrong";
    status = use(c, stickman, &def);
    if (status != CAL_OK) goto end;
    def.algorithm = "assembly";
    status = use(c, chain, &def);
end:
    cal_model_destroy(chain);
    cal_model_destroy(stickman);
    cal_model_destroy(mobile);
    return status;
}

static cal_status constrained(campaign* c) {
    static const char* const models[] = {"fivebar", "bricard", "rolling-disk"};
    static const char* const stabilize[] = {"projection", "baumgarte", "projection"};
    static const char* const forms[] = {"lagrange", "lagrange", "minimal"};
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    for (int i = 0; i < 3; i++) {
        DO(cal_model_generate(models[i], &model, &c->error));
        cal_sim_def def = cal_default_sim_def();
        def.solver = "rkf";
        def.stabilize = stabilize[i];
        def.constraint_form = forms[i];
        def.contact = false;
        status = use(c, model, &def);
        if (status != CAL_OK) goto end;
        cal_constraint_report report;
        double rows[8], wrench[6], basis[64 * 64];
        bool held[64] = {false};
        int freedom;
        DO(cal_sim_create(model, &def, &sim, &c->error));
        DO(cal_sim_project_holding(sim, held, &c->error));
        DO(cal_sim_constraints(sim, &report));
        DO(cal_sim_constraint_forces(sim, 0, rows, wrench));
        if (i == 2) DO(cal_sim_minimal(sim, &freedom, basis, NULL));
        DO(cal_sim_disconnect(sim, 0, &c->error));
        DO(cal_sim_connect(sim, 0, CAL_CONNECT_INELASTIC, &c->error));
        if (i < 2) {
            DO(cal_sim_disconnect(sim, 0, &c->error));
            DO(cal_sim_catch(sim, 0, &c->error));
        }
        DO(cal_sim_advance(sim, 0.01, &c->error));
        note_sim(c, sim);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
        sim = NULL, model = NULL;
    }
end:
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status;
}

// Snapshots, forks, bytes, files.
static cal_status images(campaign* c, const cal_model* model, const cal_sim_def* def) {
    cal_status status = CAL_OK;
    cal_sim *sim = NULL, *fork = NULL, *other = NULL;
    cal_snapshot *snapshot = NULL, *copy = NULL;
    char path[256];
    cal_campaign_path(c, "checkpoint", path);
    DO(cal_sim_create(model, def, &sim, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.05, &c->error));
    DO(cal_sim_snapshot(sim, &snapshot, &c->error));
    size_t size;
    const void* bytes = cal_snapshot_bytes(snapshot, &size);
    DO(cal_snapshot_from_bytes(bytes, size, &copy, &c->error));
    DO(cal_sim_fork(sim, &fork, &c->error));
    DO(cal_sim_save(sim, path, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.2, &c->error));
    note_sim(c, sim);
    DO(cal_sim_restore(sim, copy, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.2, &c->error));
    note_sim(c, sim);
    DO_OR_END(cal_sim_advance(fork, 0.2, &c->error));
    note_sim(c, fork);
    DO(cal_sim_create(model, def, &other, &c->error));
    DO(cal_sim_load(other, path, &c->error));
    DO_OR_END(cal_sim_advance(other, 0.2, &c->error));
    note_sim(c, other);
end:
    cal_sim_destroy(other);
    cal_sim_destroy(fork);
    cal_snapshot_destroy(copy);
    cal_snapshot_destroy(snapshot);
    cal_sim_destroy(sim);
    return status;
}

static cal_status flying_images(campaign* c) {
    cal_status status = CAL_OK;
    cal_model *mobile = NULL, *fivebar = NULL;
    DO(cal_model_generate("mobile:s=1,l=2,o=3", &mobile, &c->error));
    DO(cal_model_generate("fivebar", &fivebar, &c->error));
    cal_sim_def def = cal_default_sim_def();
    status = images(c, mobile, &def);
    if (status == CAL_OK) status = images(c, fivebar, &def);
end:
    cal_model_destroy(fivebar);
    cal_model_destroy(mobile);
    return status;
}

#ifdef CALDER_HAVE_EXPAT
static cal_status touching_images(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    DO(cal_campaign_model(c, cal_campaign_pile, &model));
    cal_sim_def def = cal_default_sim_def();
    status = images(c, model, &def);
end:
    cal_model_destroy(model);
    return status;
}

static cal_status touching(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_sim *sim = NULL, *of_world = NULL;
    cal_world* world = NULL;
    cal_contact_point points[32];
    double kinetic, potential, numbers[64];
    static const double force[3] = {1.0, 0.0, 0.0};
    cal_energy_balance balance;
    int count;
    DO(cal_campaign_model(c, cal_campaign_pile, &model));
    const cal_sim_def def = cal_default_sim_def();
    DO(cal_sim_create(model, &def, &sim, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.2, &c->error));
    DO(cal_sim_contacts(sim, points, 32, &count, &c->error));
    cal_note(c, &count, sizeof count);
    DO_OR_END(cal_sim_energy(sim, &kinetic, &potential));
    DO_OR_END(cal_sim_balance(sim, &balance));
    DO_OR_END(cal_sim_poses(sim, numbers));
    DO_OR_END(cal_sim_push(sim, 1, force, NULL, NULL));
    DO_OR_END(cal_sim_advance(sim, 0.3, &c->error));
    DO_OR_END(cal_sim_release(sim));
    DO_OR_END(cal_sim_set(sim, 0.3, NULL, NULL, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.35, &c->error));
    note_sim(c, sim);
    DO(cal_world_from_model(model, NULL, &world, &c->error));
    // It takes the world over, also when it fails.
    c->error.text[0] = '\0';
    status = cal_sim_of_world(world, &of_world, &c->error);
    if (cal_again(c, status, "cal_sim_of_world(&c->error)")) c->ended = true;
end:
    cal_sim_destroy(of_world);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status;
}

// One of each kind of sensor, where nothing touches, and touch and range where something does.
static cal_status sense(campaign* c, const cal_model* model, bool contact) {
    cal_status status = CAL_OK;
    cal_sim* sim = NULL;
    cal_sim_def def = cal_default_sim_def();
    def.contact = contact;
    DO(cal_sim_create(model, &def, &sim, &c->error));
    DO_OR_END(cal_sim_advance(sim, 0.05, &c->error));
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        double values[4] = {0};
        DO(cal_sim_sensor(sim, i, values, &c->error));
        cal_note(c, values, sizeof values);
    }
end:
    cal_sim_destroy(sim);
    return status;
}

static cal_status sensors(campaign* c) {
    static const char touched[] =
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/><geom type='box' size='.1 "
        ".1 .1'/>"
        "<site name='s' size='.2'/></body></worldbody><sensor><touch site='s'/><rangefinder site='s'/>"
        "<accelerometer site='s'/></sensor></mujoco>";
    cal_status status = CAL_OK;
    cal_model *all = NULL, *model = NULL;
    DO(cal_model_read(CALDER_TEST_MODELS "/sensors.xml", NULL, &all, NULL, &c->error));
    DO(cal_campaign_model(c, touched, &model));
    status = sense(c, all, false);
    if (!status && !c->ended) status = sense(c, model, true);
end:
    cal_model_destroy(all);
    cal_model_destroy(model);
    return status;
}
#endif

// --- Many --------------------------------------------------------------------------------------------------------------------

static cal_status many(campaign* c, const char* specification, const char* solver) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_ensemble *ensemble = NULL, *plain = NULL;
    cal_machine* machine = NULL;
    double q[64], v[64], kinetic, potential, poses[512];
    cal_energy_balance balance;
    cal_threads_def threads = cal_default_threads_def();
    threads.workers = 2;
    char path[256];
    cal_campaign_path(c, "ensemble", path);
    DO(cal_campaign_model(c, specification, &model));
    DO(cal_machine_threads(&threads, &machine, &c->error));
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 5;
    def.sim.solver = solver;
    def.sim.contact = specification == cal_campaign_pile;
    def.account = true;
    def.machine = machine;
    def.spread = 0.001;
    DO(cal_ensemble_create_def(model, &def, &ensemble, &c->error));
    // An instance without memory rests: the others go on.
    DO_OR_END(cal_ensemble_advance(ensemble, 0.01, &c->error));
    DO(cal_ensemble_get(ensemble, 2, q, v));
    DO(cal_ensemble_set(ensemble, 2, q, v));
    DO(cal_ensemble_drive(ensemble, 1, NULL, NULL, &c->error));
    DO(cal_ensemble_energy(ensemble, 1, &kinetic, &potential));
    DO(cal_ensemble_balance(ensemble, 1, &balance));
    DO(cal_ensemble_poses(ensemble, 1, poses));
    DO(cal_ensemble_save(ensemble, path, &c->error));
    DO_OR_END(cal_ensemble_advance(ensemble, 0.015, &c->error));
    DO(cal_ensemble_load(ensemble, path, &c->error));
    DO_OR_END(cal_ensemble_advance(ensemble, 0.02, &c->error));
    const uint64_t hash = cal_ensemble_hash(ensemble);
    cal_note(c, &hash, sizeof hash);
    DO(cal_ensemble_status(ensemble, 1, &c->error));
    if (strcmp(solver, "rk4") == 0) {
        DO(cal_ensemble_create(model, 3, 0, &plain, &c->error));
        DO(cal_ensemble_step(plain, "euler", 0.001, 3, &c->error));
        double rows[3 * 64], out[3 * 64];
        for (int i = 0; i < 3; i++) cal_model_initial(model, rows + i * cal_model_q_count(model), NULL, NULL);
        memset(poses, 0, sizeof poses);
        DO(cal_ensemble_forward(plain, rows, poses, NULL, out));
        cal_note(c, out, 3 * sizeof(double) * (size_t)cal_model_v_count(model));
    }
end:
    cal_ensemble_destroy(plain);
    cal_ensemble_destroy(ensemble);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
    return status;
}

static cal_status lanes(campaign* c) { return many(c, "mobile:s=1,l=2,o=3", "rk4"); }
static cal_status instances(campaign* c) { return many(c, "fivebar", "gear"); }
#ifdef CALDER_HAVE_EXPAT
static cal_status touching_instances(campaign* c) { return many(c, cal_campaign_pile, "auto"); }
#endif

static cal_status randomized(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_rps* rps = NULL;
    DO(cal_model_generate("fivebar", &model, &c->error));
    cal_rps_def def = cal_default_rps_def();
    def.instances = 3;
    DO(cal_rps_create(model, &def, &rps, &c->error));
    DO(cal_rps_advance(rps, 0.02, &c->error));
    DO(cal_rps_set(rps, NULL, NULL, &c->error));
    DO(cal_rps_advance(rps, 0.03, &c->error));
    const uint64_t hash = cal_rps_hash(rps);
    cal_note(c, &hash, sizeof hash);
end:
    cal_rps_destroy(rps);
    cal_model_destroy(model);
    return status;
}

const named_scenario cal_sim_scenarios[] = {{"solvers", solvers},
                                            {"constraints", constrained},
                                            {"images in flight", flying_images},
#ifdef CALDER_HAVE_EXPAT
                                            {"images in contact", touching_images},
                                            {"contact", touching},
                                            {"ensemble in contact", touching_instances},
                                            {"every kind of sensor", sensors},
#endif
                                            {"ensemble in lanes", lanes},
                                            {"ensemble of simulations", instances},
                                            {"randomized", randomized},
                                            {NULL, NULL}};
