// Runs of every kind, recorders, checkpoints, the viewer.
#include "campaign.h"
#include "calder/calder_view.h"

static cal_status make_world(void* user, cal_world** out, cal_error* error) {
    (void)user;
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    def.restitution = def.friction = -1.0;
    return cal_world_generate("stack:kind=wall,n=2", &def, out, error);
}

static double five(void* user, cal_run* run) {
    (void)user, (void)run;
    return 5.0;
}

static void note_run(campaign* c, cal_run* run) {
    const uint64_t hash = cal_run_hash(run);
    cal_note(c, &hash, sizeof hash);
}

// Advances of worlds end with their first failure, and of ensembles rest.
static cal_status advance(campaign* c, cal_run* run, double time) {
    cal_status status = CAL_OK;
    DO_OR_END(cal_run_advance(run, time, &c->error));
end:
    return status;
}

static cal_status look(campaign* c, cal_run* run) {
    cal_status status = CAL_OK;
    double poses[7 * 64], energy[2], values[CAL_RUN_CHANNELS], forces[6 * 64];
    cal_energy_balance balance;
    cal_contact_point points[16];
    cal_facts* facts = NULL;
    int count;
    DO_OR_END(cal_run_poses(run, poses, &c->error));
    cal_note(c, poses, 7 * sizeof(double) * (size_t)cal_run_body_count(run));
    if (cal_run_can(run, CAL_RUN_ENERGY)) DO_OR_END(cal_run_energy(run, energy, &c->error));
    if (cal_run_can(run, CAL_RUN_BALANCE)) DO_OR_END(cal_run_balance(run, &balance, &c->error));
    if (cal_run_can(run, CAL_RUN_FORCES)) DO_OR_END(cal_run_joint_forces(run, forces, &c->error));
    if (cal_run_can(run, CAL_RUN_CONTACTS)) DO(cal_run_contacts(run, points, 16, &count, &c->error));
    DO_OR_END(cal_run_read(run, values, &c->error));
    DO(cal_facts_create(&facts, &c->error));
    cal_run_report(run, facts);
    const cal_status lost = cal_facts_status(facts);
    if (lost != CAL_OK && !cal_again(c, lost, "cal_facts_status(facts)"))
        status = lost; // it says that something was lost
    if (status != CAL_OK) goto end;
    cal_again(c, lost, "cal_facts_status(facts)"); // a report of what was lost: it says that something was
    cal_facts_destroy(facts);
    facts = NULL;
    char text[1024];
    if (cal_run_can(run, CAL_RUN_DESCRIBE)) (void)cal_run_describe(run, 0, text, sizeof text);
end:
    cal_facts_destroy(facts);
    return status;
}

// What a run of any kind can do.
static cal_status use(campaign* c, cal_run* run, double time) {
    static const cal_channel channel = {"five", "1", "numbers", false};
    cal_status status = CAL_OK;
    char path[256];
    bool reached;
    cal_run_event event;
    cal_campaign_path(c, "run", path);
    DO_OR_END(cal_run_begin(run, cal_run_can(run, CAL_RUN_PROJECT), NULL, &c->error));
    if (cal_run_can(run, CAL_RUN_EVENTS)) DO(cal_run_keep_events(run, &c->error));
    DO(cal_run_add_channel(run, &channel, five, NULL, &c->error));
    status = advance(c, run, time);
    if (status == CAL_OK && !c->ended) status = look(c, run);
    if (status != CAL_OK || c->ended) goto end;
    if (cal_run_can(run, CAL_RUN_SAVE)) DO(cal_run_save(run, path, &c->error));
    if (cal_run_can(run, CAL_RUN_SET)) DO(cal_run_set(run, time, NULL, NULL, &c->error));
    if (cal_run_can(run, CAL_RUN_DRIVE)) DO_OR_END(cal_run_drive(run, NULL, NULL, &c->error));
    status = advance(c, run, 2.0 * time);
    if (status != CAL_OK || c->ended) goto end;
    if (cal_run_can(run, CAL_RUN_SAVE)) {
        DO(cal_run_restore(run, path, &c->error));
        do {
            DO_OR_END(cal_run_approach(run, 2.0 * time, &reached, &c->error));
        } while (!reached);
    }
    note_run(c, run);
    while (cal_run_next_event(run, &event)) cal_note(c, &event.time, sizeof event.time);
    if (cal_run_can(run, CAL_RUN_RESET)) DO(cal_run_reset(run, &c->error));
    note_run(c, run);
end:
    return status;
}

static cal_status pull(campaign* c, cal_run* run) {
    static const double point[3] = {0.1, 0.2, 0.3}, target[3] = {1.0, 0.0, 1.0};
    cal_status status = CAL_OK;
    cal_run_settings settings;
    int body = 0;
    while (body + 1 < cal_run_body_count(run) && cal_run_body_motion(run, body) != CAL_MOVING) body++;
    DO(cal_run_grab(run, body, point, &c->error));
    cal_run_drag(run, target);
    status = advance(c, run, cal_run_time(run) + 0.01);
    if (status != CAL_OK || c->ended) goto end;
    cal_run_drop(run); // what finds no memory here is said by the next advance
    status = advance(c, run, cal_run_time(run) + 0.01);
    if (status != CAL_OK || c->ended) goto end;
    if (cal_run_can(run, CAL_RUN_CHANGE)) {
        cal_run_get_settings(run, &settings);
        settings.tolerance = 1e-5;
        DO(cal_run_change(run, &settings, &c->error));
        status = advance(c, run, cal_run_time(run) + 0.01);
    }
    if (status == CAL_OK && !c->ended) note_run(c, run);
end:
    return status;
}

static cal_status sim_runs(campaign* c) {
    cal_status status = CAL_OK;
#ifdef CALDER_HAVE_EXPAT
    const char* const models[] = {"mobile:s=1,l=2,o=3", "fivebar", cal_campaign_pile};
#else
    const char* const models[] = {"mobile:s=1,l=2,o=3", "fivebar", "chain:n=3"};
#endif
    cal_model* model = NULL;
    cal_run *run = NULL, *of = NULL;
    cal_sim* sim = NULL;
    for (int i = 0; i < 3; i++) {
        DO(cal_campaign_model(c, models[i], &model));
        const cal_run_sim_def def = cal_default_run_sim_def();
        DO(cal_run_create_sim(model, &def, &run, &c->error));
        status = use(c, run, 0.01);
        if (status == CAL_OK && !c->ended) status = pull(c, run);
        if (status != CAL_OK || c->ended) goto end;
        if (i == 1) {
            DO(cal_run_disconnect(run, 0, &c->error));
            DO(cal_run_connect(run, 0, CAL_CONNECT_INELASTIC, &c->error));
            DO(cal_run_disconnect(run, 0, &c->error));
            DO(cal_run_catch(run, 0, &c->error));
            bool held[16] = {false};
            DO(cal_run_project_holding(run, held, &c->error));
        }
        const cal_sim_def plain = cal_default_sim_def();
        DO(cal_sim_create(model, &plain, &sim, &c->error));
        DO(cal_run_of_sim(sim, &of, &c->error));
        status = use(c, of, 0.005);
        if (status != CAL_OK || c->ended) goto end;
        cal_run_destroy(of);
        cal_sim_destroy(sim);
        cal_run_destroy(run);
        cal_model_destroy(model);
        of = run = NULL, sim = NULL, model = NULL;
    }
end:
    cal_run_destroy(of);
    cal_sim_destroy(sim);
    cal_run_destroy(run);
    cal_model_destroy(model);
    return status;
}

static cal_status checked_run(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_run* run = NULL;
    double residual;
    int body;
    DO(cal_model_generate("stickman", &model, &c->error));
    cal_run_sim_def def = cal_default_run_sim_def();
    def.sim.algorithm = "armstrong";
    def.sim.solver = "rk4";
    def.machine = "threads:2";
    DO(cal_run_create_sim(model, &def, &run, &c->error));
    DO(cal_run_begin(run, true, NULL, &c->error));
    DO(cal_run_advance(run, 0.01, &c->error));
    DO(cal_run_check(run, &residual, &body, &c->error));
    note_run(c, run);
end:
    cal_run_destroy(run);
    cal_model_destroy(model);
    return status;
}

static cal_status other_runs(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_run* run = NULL;
    cal_world* world = NULL;
    DO(cal_run_create_world(make_world, NULL, &run, &c->error));
    status = use(c, run, 0.05);
    if (status == CAL_OK && !c->ended) status = pull(c, run);
    if (status != CAL_OK || c->ended) goto end;
    cal_run_destroy(run);
    run = NULL;
    DO(make_world(NULL, &world, &c->error));
    DO(cal_run_of_world(world, &run, &c->error));
    status = use(c, run, 0.05);
    if (status != CAL_OK || c->ended) goto end;
    cal_run_destroy(run);
    run = NULL;
    DO(cal_model_generate("fivebar", &model, &c->error));
    cal_run_ensemble_def many = cal_default_run_ensemble_def();
    many.ensemble.count = 3;
    DO(cal_run_create_ensemble(model, &many, &run, &c->error));
    status = use(c, run, 0.01);
    if (status != CAL_OK || c->ended) goto end;
    cal_run_destroy(run);
    run = NULL;
    cal_rps_def randomized = cal_default_rps_def();
    randomized.instances = 3;
    DO(cal_run_create_randomized(model, &randomized, &run, &c->error));
    status = use(c, run, 0.01);
end:
    cal_run_destroy(run);
    cal_world_destroy(world);
    cal_model_destroy(model);
    return status;
}

// --- Files -------------------------------------------------------------------------------------------------------------------

static cal_status sensors_run(campaign* c, cal_run* run) {
    cal_status status = CAL_OK;
    double values[8];
    if (cal_run_model(run) != NULL && cal_model_sensor_count(cal_run_model(run)) > 0)
        DO(cal_run_sensor(run, 0, values, &c->error));
end:
    return status;
}

// A table is closed also when that fails.
static cal_status tables(campaign* c, cal_run* run) {
    cal_status status = CAL_OK;
    cal_csv *csv = NULL, *events = NULL;
    char path[256], other[256];
    unsigned columns;
    cal_campaign_path(c, "table.csv", path);
    cal_campaign_path(c, "events.csv", other);
    const char* const names = cal_run_instances(run) > 1   ? "q,v"
                              : cal_run_model(run) != NULL ? "q,v,energy,pose,channels"
                                                           : "energy,pose";
    DO(cal_csv_columns(names, &columns, &c->error));
    DO(cal_csv_create(path, run, columns, &csv, &c->error));
    if (cal_run_can(run, CAL_RUN_EVENTS)) DO(cal_csv_create_events(other, run, &events, &c->error));
    for (int i = 1; i <= 3; i++) {
        status = advance(c, run, 0.01 * i);
        if (status != CAL_OK || c->ended) goto end;
        DO_OR_END(cal_csv_write(csv, &c->error));
        if (events != NULL) DO_OR_END(cal_csv_write(events, &c->error));
    }
    DO(cal_csv_flush(csv, &c->error));
    status = cal_csv_close(csv, &c->error);
    csv = NULL;
    if (status != CAL_OK) goto end;
    DO(cal_csv_resume(path, run, columns, 0.02, &csv, &c->error));
    DO_OR_END(cal_csv_write(csv, &c->error));
    note_run(c, run);
end:
    cal_csv_close(csv, NULL);
    cal_csv_close(events, NULL);
    return status;
}

static cal_status films(campaign* c, cal_run* run) {
    cal_status status = CAL_OK;
    cal_glb* glb = NULL;
    cal_html* html = NULL;
    cal_whole_file* file = NULL;
    char path[256];
    DO(cal_whole_file_create(cal_campaign_path(c, "whole", path), &file, &c->error));
    DO(cal_glb_create(cal_campaign_path(c, "film.glb", path), run, "film", &glb, &c->error));
    if (cal_viewer_has_page())
        DO(cal_html_create(cal_campaign_path(c, "film.html", path), run, "film", &html, &c->error));
    for (int i = 1; i <= 12; i++) {
        status = advance(c, run, cal_run_time(run) + 0.01);
        if (status != CAL_OK || c->ended) goto end;
        DO_OR_END(cal_glb_write(glb, &c->error));
        if (html != NULL) DO_OR_END(cal_html_write(html, &c->error));
    }
    status = cal_glb_close(glb, &c->error);
    glb = NULL;
    if (status == CAL_NO_MEMORY) c->ended = true; // it is closed also when that fails
    if (status != CAL_OK) goto end;
    note_run(c, run);
end:
    cal_glb_close(glb, NULL);
    cal_html_close(html, NULL);
    cal_whole_file_close(file, false, NULL);
    return status;
}

static cal_status view(campaign* c, cal_run* run) {
    cal_status status = CAL_OK;
    cal_viewer *viewer = NULL, *second = NULL;
    if (!cal_viewer_available()) return CAL_OK;
    const cal_viewer_def def = cal_default_viewer_def();
    DO(cal_viewer_create(run, &def, &viewer, &c->error));
    DO_OR_END(cal_viewer_show(viewer, &c->error));
    cal_viewer_destroy(viewer);
    viewer = NULL;
    DO(cal_viewer_create(run, &def, &second, &c->error));
    cal_viewer_stop(second); // before it runs
    DO_OR_END(cal_viewer_run(second, &c->error));
end:
    cal_viewer_destroy(second);
    cal_viewer_destroy(viewer);
    return status;
}

static cal_status with_run(campaign* c, cal_status (*body)(campaign*, cal_run*), const char* specification) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_run* run = NULL;
    if (specification != NULL) {
        DO(cal_campaign_model(c, specification, &model));
        const cal_run_sim_def def = cal_default_run_sim_def();
        DO(cal_run_create_sim(model, &def, &run, &c->error));
    } else
        DO(cal_run_create_world(make_world, NULL, &run, &c->error));
    DO_OR_END(cal_run_begin(run, cal_run_can(run, CAL_RUN_PROJECT), NULL, &c->error));
    status = body(c, run);
end:
    cal_run_destroy(run);
    cal_model_destroy(model);
    return status;
}

static cal_status record_tables(campaign* c) {
    const cal_status status = with_run(c, tables, "mobile:s=1,l=2,o=3");
    return status == CAL_OK && !c->ended ? with_run(c, tables, NULL) : status;
}
// A batch with loops: a table of all instances, a film of one that is shown later.
static cal_status record_batches(campaign* c) {
    cal_status status = CAL_OK;
    cal_model* model = NULL;
    cal_run* run = NULL;
    DO(cal_model_generate("fivebar", &model, &c->error));
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    def.ensemble.count = 3;
    def.ensemble.sim.solver = "gear";
    DO(cal_run_create_ensemble(model, &def, &run, &c->error));
    DO_OR_END(cal_run_begin(run, false, NULL, &c->error));
    status = tables(c, run);
    if (status != CAL_OK || c->ended) goto end;
    DO(cal_run_show(run, cal_run_instances(run) - 1, &c->error));
    status = films(c, run);
end:
    cal_run_destroy(run);
    cal_model_destroy(model);
    return status;
}
static cal_status record_films(campaign* c) {
    const cal_status status = with_run(c, films, "chain:n=3");
    return status == CAL_OK && !c->ended ? with_run(c, films, NULL) : status;
}
static cal_status views(campaign* c) { return with_run(c, view, "chain:n=3"); }
#ifdef CALDER_HAVE_EXPAT
static cal_status sensors(campaign* c) {
    static const char text[] =
        "<mujoco><worldbody><body name='a'><joint name='j' axis='0 1 0'/><geom size='.1' pos='.1 0 0'/></body>"
        "</worldbody><sensor><jointpos joint='j'/></sensor></mujoco>";
    return with_run(c, sensors_run, text);
}
#endif

const named_scenario cal_run_scenarios[] = {{"runs of simulations", sim_runs},
                                            {"a checked run", checked_run},
                                            {"other runs", other_runs},
                                            {"tables", record_tables},
                                            {"films", record_films},
                                            {"records of batches", record_batches},
                                            {"viewer", views},
#ifdef CALDER_HAVE_EXPAT
                                            {"sensors", sensors},
#endif
                                            {NULL, NULL}};
