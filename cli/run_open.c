// From a command line to a run.
#include "run_open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "joint_names.h"
#include "plan_gpu.h"
#include "sim_constraints.h"

// --- Options ----------------------------------------------------------------------------------------------------------------

static const char* const loops[] = {"timewarp", "retroactive", "conservative", NULL};
static const char* loop_choice(int index) { return loops[index]; }

static const char* group_choice(int index) {
    static const char* const names[] = {"implicit", "penalty", NULL};
    return names[index];
}

// Those of the algorithms that can advance a simulation.
static const char* algorithm_choice(int index) {
    static const char* const names[] = {"aba", "assembly", "armstrong", "auto", NULL};
    return names[index];
}

cal_run_options cal_default_run_options(void) {
    return (cal_run_options){.algorithm = "aba",
                             .lanes = "0",
                             .slow_band = 1,
                             .tol = NAN,
                             .seed = 1,
                             .loop = "timewarp",
                             .group = "implicit",
                             .restitution = -1,
                             .friction = -1,
                             .spread = 1e-3,
                             .interval = 20,
                             .hypotheses = 1,
                             .method = "euler",
                             .position_radius = 2e-4,
                             .velocity_radius = 2e-2,
                             .alpha = 1,
                             .beta = 1};
}

void cal_option_table_add(cal_option_table* table, const cal_option* rows, size_t count) {
    for (size_t i = 0; i < count && table->count < CAL_MOST_OPTIONS; i++) table->rows[table->count++] = rows[i];
}

void cal_run_options_add(cal_run_options* o, cal_option_table* table) {
    const cal_option rows[] = {
        {"solver", CAL_OPTION_CHOICE, &o->solver, "NAME", "the solver [auto; of a batch rk4]", 0, 0, cal_solver_name},
        {"tol", CAL_OPTION_NUMBER, &o->tol, "E",
         "error tolerance, relative and absolute; where bodies touch, that of contact groups [1e-4]", 1e-14, 1, NULL},
        {"step", CAL_OPTION_NUMBER, &o->step, "S",
         "step of rk4 and euler, 0: the model's, or 0.001 s; of the retroactive loop, 0: 0.01 s; of --rps, 0: 0.0005 "
         "s; "
         "largest step of the others, 0: no bound",
         0, 1e3, NULL},
        {"algorithm", CAL_OPTION_CHOICE, &o->algorithm, "NAME",
         "how accelerations are computed; auto: aba, or assembly where a GPU is faster with it", 0, 0,
         algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &o->schedule, "HOW",
         "what assembly does in parallel: auto, serial, balanced, device, or a number of processors", 0, 0, NULL},
        {"slow-band", CAL_OPTION_COUNT, &o->slow_band, "N", "armstrong with rk4 or euler: steps between new rotations",
         0, 1e6, NULL},
        {"machine", CAL_OPTION_TEXT, &o->machine, "NAME", CAL_MACHINE_HELP, 0, 0, NULL},
        {"placement", CAL_OPTION_TEXT, &o->placement, "FILE", CAL_PLACEMENT_HELP, 0, 0, NULL},
        {"lanes", CAL_OPTION_CHOICE, &o->lanes, "W", "bodies that one instruction works on; 0: the processor's best", 0,
         0, cal_lanes_choice},
        {"stabilize", CAL_OPTION_TEXT, &o->stabilize, "HOW",
         "how constraints stay closed: projection, baumgarte[:K], literal[:K] (Bicchi's law), none [projection]", 0, 0,
         NULL},
        {"constraint-form", CAL_OPTION_CHOICE, &o->form, "NAME",
         "what is solved: multipliers (lagrange), or only what constraints leave free (minimal) [lagrange]", 0, 0,
         cal_constraint_form_choice},
        {"project", CAL_OPTION_FLAG, &o->project, NULL, "move a start that is off the constraints onto them", 0, 0,
         NULL},
        {"hold", CAL_OPTION_TEXT, &o->hold, "JOINTS",
         "move a start onto the constraints, but not these joints, with commas: inverse kinematics", 0, 0, NULL},
        {"start", CAL_OPTION_TEXT, &o->start, "FILE",
         "begin, at time 0, from a state file, as 'sim --save' writes and 'eval --state' reads it", 0, 0, NULL},
        CAL_MODEL_PHYSICS_OPTIONS(o->models),
        CAL_MODEL_FILE_OPTIONS(o->models),
        {"loop", CAL_OPTION_CHOICE, &o->loop, "NAME", "how time goes on where bodies collide", 0, 0, loop_choice},
        {"group", CAL_OPTION_CHOICE, &o->group, "NAME", "integrator of contact groups", 0, 0, group_choice},
        {"restitution", CAL_OPTION_NUMBER, &o->restitution, "E", "of all collisions; -1: the shapes' own", -1, 1, NULL},
        {"friction", CAL_OPTION_NUMBER, &o->friction, "MU", "of all contacts; -1: the shapes' own", -1, 1e3, NULL},
        {"separate", CAL_OPTION_FLAG, &o->separate, NULL,
         "of scenes: move bodies apart that overlap at the start, as models' are", 0, 0, NULL},
        {"force-rollbacks", CAL_OPTION_NUMBER, &o->rollbacks, "P",
         "to find mistakes: probability that an event is followed by a rollback", 0, 0.9, NULL},
        {"check-rules", CAL_OPTION_FLAG, &o->check_rules, NULL,
         "to find mistakes: run every callback twice and compare", 0, 0, NULL},
        {"seed", CAL_OPTION_COUNT, &o->seed, "N", "of --batch, --rps and --force-rollbacks: one seed, one result", 0,
         9e15, NULL},
        {"batch", CAL_OPTION_COUNT, &o->batch, "N", "simulate so many instances at once; 0: a single run", 0, 1e8,
         NULL},
        {"spread", CAL_OPTION_NUMBER, &o->spread, "X", "noise on the start of each instance of a batch", 0, 10, NULL},
        {"rps", CAL_OPTION_COUNT, &o->rps, "N",
         "randomized parallel simulation with so many instances, one per processor; 0: none", 0, 1e5, NULL},
        {"method", CAL_OPTION_TEXT, &o->method, "NAMES",
         "of --rps: euler, symplectic, heun, ab2, rk4, or several with commas for instances in turn", 0, 0, NULL},
        {"interval", CAL_OPTION_COUNT, &o->interval, "N", "of --rps: steps between polls", 1, 1e9, NULL},
        {"position-radius", CAL_OPTION_NUMBER, &o->position_radius, "X", "of --rps: how far positions are perturbed", 0,
         10, NULL},
        {"velocity-radius", CAL_OPTION_NUMBER, &o->velocity_radius, "X", "of --rps: how far velocities are perturbed",
         0, 100, NULL},
        {"normal", CAL_OPTION_FLAG, &o->normal, NULL, "of --rps: perturb normally instead of uniformly", 0, 0, NULL},
        {"everywhere", CAL_OPTION_FLAG, &o->everywhere, NULL,
         "of --rps: perturb along what the constraints allow as well, as the paper does; the motion wanders", 0, 0,
         NULL},
        {"alpha", CAL_OPTION_NUMBER, &o->alpha, "X", "of --rps: weight of the speeds of positions in a residual", 0,
         1e9, NULL},
        {"beta", CAL_OPTION_NUMBER, &o->beta, "X", "of --rps: weight of what slips in a residual", 0, 1e9, NULL},
        {"forcing", CAL_OPTION_NUMBER, &o->forcing, "X", "of --rps: random forcing of the error's equation", 0, 1e9,
         NULL},
        {"hypotheses", CAL_OPTION_COUNT, &o->hypotheses, "N", "of --rps: solutions that are kept at singular positions",
         1, 16, NULL},
        {"adapt", CAL_OPTION_FLAG, &o->adapt, NULL, "of --rps: adapt the interval to the residual", 0, 0, NULL},
        {"realtime", CAL_OPTION_NUMBER, &o->deadline, "X",
         "of --rps: seconds of the clock per simulated second; counts overruns; 0: as fast as it goes", 0, 1e6, NULL},
    };
    cal_option_table_add(table, rows, CAL_ARRAY_COUNT(rows));
}

// --- What goes with what ------------------------------------------------------------------------------------------------------

enum {
    MODEL = 1 << CAL_KIND_MODEL,
    WORLD = 1 << CAL_KIND_WORLD,
    SCENE = 1 << CAL_KIND_SCENE,
    BATCH = 1 << CAL_KIND_BATCH,
    RPS = 1 << CAL_KIND_RPS,
    WORLDS = WORLD | SCENE,
    MODELS = MODEL | WORLD | BATCH | RPS
};

static const char* const kind_names[CAL_KINDS] = {"a model in which nothing touches (as with --disable contact)",
                                                  "a model whose shapes touch", "a scene", "a batch (--batch)",
                                                  "a randomized simulation (--rps)"};

// The options that do not go with every kind of run, and those that they go with; docs/command.md shows the same table.
static const struct {
    const char* option;
    unsigned kinds;
} scopes[] = {
    {"solver", MODEL | WORLDS | BATCH},
    {"tol", MODEL | WORLDS | BATCH},
    {"algorithm", MODEL | WORLDS | BATCH},
    {"schedule", MODEL | WORLDS | BATCH},
    {"slow-band", MODEL | WORLDS | BATCH},
    {"placement", MODEL},
    {"stabilize", MODEL | WORLDS | BATCH | RPS},
    {"constraint-form", MODEL | WORLDS | BATCH},
    {"project", MODEL | WORLD | RPS},
    {"hold", MODEL},
    {"move", MODEL | WORLD | BATCH},
    {"start", MODEL | WORLD | BATCH | RPS},
    {"at", MODEL | WORLD},
    {"check", MODEL},
    {"forces", MODEL | WORLD},
    {"checkpoint", MODEL | WORLDS | BATCH},
    {"every", MODEL | WORLDS | BATCH},
    {"resume", MODEL | WORLDS | BATCH},
    {"save", MODEL | WORLD | RPS},
    {"out", MODEL | WORLDS | RPS | BATCH},
    {"columns", MODEL | WORLDS | RPS | BATCH},
    {"plot", MODEL | WORLDS | RPS},
    {"disable", MODELS},
    {"key", MODELS},
    {"strict", MODELS},
    {"repair", MODELS},
    {"free-base", MODELS},
    {"allow-outside", MODELS},
    {"package-path", MODELS},
    {"loop", WORLDS | BATCH},
    {"group", WORLDS | BATCH},
    {"restitution", WORLDS | BATCH},
    {"friction", WORLDS | BATCH},
    {"separate", WORLDS},
    {"events", WORLDS},
    {"force-rollbacks", WORLDS},
    {"check-rules", WORLDS},
    {"seed", WORLDS | RPS | BATCH},
    {"spread", BATCH},
    {"batch", BATCH},
    {"rps", RPS},
    {"method", RPS},
    {"interval", RPS},
    {"position-radius", RPS},
    {"velocity-radius", RPS},
    {"normal", RPS},
    {"everywhere", RPS},
    {"alpha", RPS},
    {"beta", RPS},
    {"forcing", RPS},
    {"hypotheses", RPS},
    {"adapt", RPS},
    {"realtime", RPS},
};

static unsigned scope_of(const char* option) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(scopes); i++)
        if (strcmp(scopes[i].option, option) == 0) return scopes[i].kinds;
    return ~0u;
}

// Whether shapes touch is known only when the model was read: before that, a model may be either kind.
static cal_kind find_kind(const char* argument, const cal_run_options* o) {
    if (cal_scene_of(argument) >= 0) return CAL_KIND_SCENE;
    if (o->rps > 0) return CAL_KIND_RPS;
    return o->batch > 0 ? CAL_KIND_BATCH : CAL_KIND_MODEL;
}

// Complains about an option that goes with none of the kinds that the run may be.
static int check_scopes(const cal_opened* r, unsigned allowed) {
    const cal_option_table* table = r->table;
    for (size_t i = 0; i < table->count; i++) {
        const char* name = table->rows[i].name;
        const unsigned kinds = scope_of(name);
        // --batch 0 and --rps 0 ask for none.
        const bool none = (strcmp(name, "batch") == 0 && r->options->batch == 0) ||
                          (strcmp(name, "rps") == 0 && r->options->rps == 0);
        if (!table->given[i] || none || (kinds & allowed) != 0) continue;
        char list[240] = "";
        for (int k = 0; k < CAL_KINDS; k++) {
            const size_t used = strlen(list);
            if (kinds >> k & 1) snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", kind_names[k]);
        }
        // What asks for a kind is no reason for it.
        const bool asks = strcmp(name, "batch") == 0 || strcmp(name, "rps") == 0;
        const bool open = (allowed & (MODEL | WORLD)) == (MODEL | WORLD);
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for %s; '%s' is %s here", name, asks ? "a model" : list, r->name,
                            open ? "a model" : kind_names[r->kind]);
    }
    return CAL_EXIT_DONE;
}

int cal_run_decide(const char* argument, const cal_run_options* o, const cal_option_table* table, cal_opened* out) {
    const cal_kind kind = find_kind(argument, o);
    *out = (cal_opened){.name = argument, .options = o, .table = table, .kind = kind, .scene = cal_scene_of(argument)};
    const int status = check_scopes(out, kind == CAL_KIND_MODEL ? MODEL | WORLD : 1u << kind);
    if (status != CAL_EXIT_DONE) return status;
    if (o->schedule && strcmp(o->algorithm, "assembly") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", o->schedule);
    return CAL_EXIT_DONE;
}

// Now that the model is there.
static int refine_kind(cal_opened* r) {
    if (r->kind != CAL_KIND_MODEL) return CAL_EXIT_DONE;
    if (cal_model_can_touch(r->model)) r->kind = CAL_KIND_WORLD;
    return check_scopes(r, 1u << r->kind);
}

// --- Making the run -----------------------------------------------------------------------------------------------------------

static int open_machine(cal_opened* r) {
    const cal_run_options* o = r->options;
    int status = CAL_EXIT_DONE;
    if (o->placement) status = cal_placement_read(o->placement, r->model, &r->placement);
    return status == CAL_EXIT_DONE ? cal_machine_open(o->machine, o->lanes, &r->placement, &r->machine) : status;
}

// How a system is advanced, alone or in a batch; the machine is left to the caller.
static int read_sim(const cal_opened* r, const char* solver, cal_sim_def* def) {
    const cal_run_options* o = r->options;
    const double timestep = r->model ? cal_model_timestep(r->model) : 0.0;
    def->solver = o->solver ? o->solver : solver;
    def->interrupt = r->interrupt;
    def->algorithm = o->algorithm;
    def->schedule = o->schedule;
    if (strcmp(o->algorithm, "auto") == 0) {
        // Ensembles, and systems that touch others, have aba; implicit needs it.
        const bool free = r->kind == CAL_KIND_MODEL && strcmp(def->solver, "implicit") != 0;
        def->algorithm = free ? cal_algorithm_of(r->model) : "aba";
        def->schedule = strcmp(def->algorithm, "assembly") == 0 ? "device" : NULL;
    }
    if (!isnan(o->tol)) def->relative = o->tol;
    def->slow_band = (int)o->slow_band;
    if (o->step > 0 || timestep > 0) def->step = o->step > 0 ? o->step : timestep;
    if (!cal_solver_has_fixed_step(def->solver)) def->largest_step = o->step;
    if (o->form) def->constraint_form = o->form;
    return cal_sim_read_stabilize(o->stabilize, def);
}

// How bodies meet. A tolerance is that of contact groups; systems between events have a finer one (calder.h).
static void read_events(cal_opened* r) {
    const cal_run_options* o = r->options;
    const double tolerance = isnan(o->tol) ? cal_default_sim_def().relative : o->tol;
    r->world = cal_default_world_def();
    r->world.interrupt = r->interrupt;
    while (strcmp(loops[r->world.loop], o->loop) != 0) r->world.loop++;
    if (o->step > 0) r->world.step = o->step;
    r->world.group_tolerance = tolerance;
    r->world.tolerance = cal_flight_tolerance(tolerance);
    r->world.group = o->group;
    r->world.restitution = o->restitution;
    r->world.friction = o->friction;
    r->world.separate = o->separate || r->scene < 0;
    r->world.forced_rollbacks = o->rollbacks;
    r->world.seed = (uint64_t)o->seed;
    r->world.check_rules = o->check_rules;
}

static int open_sim(cal_opened* r, cal_error* error) {
    const cal_run_options* o = r->options;
    cal_run_sim_def def = cal_default_run_sim_def();
    int status = open_machine(r);
    if (status == CAL_EXIT_DONE) status = read_sim(r, "auto", &def.sim);
    if (status != CAL_EXIT_DONE) return status;
    def.machine = o->machine ? o->machine : "serial";
    def.lanes = atoi(o->lanes);
    def.rests = def.hand = r->rests;
    def.sim.largest_step = o->step;
    def.sim.machine = r->machine;
    def.sim.processor_of_joint = r->placement.processor_of_joint;
    read_events(r);
    def.sim.events = &r->world;
    error->status = cal_run_create_sim(r->model, &def, &r->run, error);
    return CAL_EXIT_DONE;
}

static cal_status make_scene(void* user, cal_world** out, cal_error* error) {
    const cal_opened* r = user;
    return cal_world_generate(r->name, &r->world, out, error);
}

static int open_scene(cal_opened* r, cal_error* error) {
    r->systems = cal_default_sim_def();
    int status = open_machine(r);
    if (status == CAL_EXIT_DONE) status = read_sim(r, "auto", &r->systems);
    if (status != CAL_EXIT_DONE) return status;
    r->systems.machine = r->machine;
    read_events(r);
    r->world.systems = &r->systems;
    error->status = cal_run_create_world(make_scene, r, &r->run, error);
    return CAL_EXIT_DONE;
}

// The first is the ensemble's default.
static uint64_t seed_of_batch(const cal_run_options* o) { return (uint64_t)o->seed - 1; }

// Instance i is scattered by a seed of its own, so that it starts alike in batches of any size.
static void scatter(void* user, int instance, double* q, double* v) {
    const cal_opened* r = user;
    uint64_t seed = seed_of_batch(r->options) + ((uint64_t)instance << 32);
    if (r->started) {
        memcpy(q, r->start.q, (size_t)cal_model_q_count(r->model) * sizeof *q);
        memcpy(v, r->start.v, (size_t)cal_model_v_count(r->model) * sizeof *v);
    }
    cal_scatter(r->model, &seed, r->options->spread, q, v);
}

// Noise on a tree is added here, so that an instance starts alike in every version; where constraints must be closed again, the
// ensemble knows how.
static int open_batch(cal_opened* r, cal_error* error) {
    const cal_run_options* o = r->options;
    const bool constrained = cal_model_constraint_count(r->model) > 0;
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    int status = open_machine(r);
    if (status == CAL_EXIT_DONE) status = read_sim(r, "rk4", &def.ensemble.sim);
    if (status != CAL_EXIT_DONE) return status;
    read_events(r);
    def.ensemble.sim.events = &r->world;
    def.ensemble.count = (int)o->batch;
    def.ensemble.account = true;
    def.ensemble.lanes = atoi(o->lanes);
    def.ensemble.machine = r->machine;
    def.ensemble.spread = constrained && !r->started ? o->spread : 0;
    def.ensemble.seed += seed_of_batch(o);
    if (!constrained || r->started) def.start = scatter;
    def.user = r;
    error->status = cal_run_create_ensemble(r->model, &def, &r->run, error);
    return CAL_EXIT_DONE;
}

static int open_randomized(cal_opened* r, cal_error* error) {
    const cal_run_options* o = r->options;
    cal_rps_def def = cal_default_rps_def();
    // The law and its gain are read as for a single run.
    cal_sim_def law = cal_default_sim_def();
    law.stabilize = def.stabilize;
    law.gain = def.gain;
    law.solver = "gear"; // has no limit of its own: the method's is looked at below
    int status = cal_sim_read_stabilize(o->stabilize, &law);
    if (status == CAL_EXIT_DONE) status = open_machine(r);
    if (status != CAL_EXIT_DONE) return status;
    def.stabilize = law.stabilize;
    def.gain = law.gain;
    def.machine = r->machine;
    def.instances = (int)o->rps;
    def.method = o->method;
    if (o->step > 0) def.step = o->step;
    def.interval = (int)o->interval;
    def.position_radius = o->position_radius;
    def.velocity_radius = o->velocity_radius;
    def.normal = o->normal;
    def.everywhere = o->everywhere;
    def.seed = (uint64_t)o->seed;
    def.alpha = o->alpha;
    def.beta = o->beta;
    def.forcing = o->forcing;
    def.hypotheses = (int)o->hypotheses;
    def.adaptive = o->adapt;
    def.deadline = o->deadline;
    def.interrupt = r->interrupt;
    const double limit = cal_rps_limit(def.stabilize, def.method, def.step);
    if (limit > 0 && def.gain >= limit && cal_is_first_rank())
        cal_complain(0,
                     "warning: gain %g is beyond what %s can take with steps of %g s, %.4g; the constraints will come "
                     "apart",
                     def.gain, def.method, def.step, limit);
    error->status = cal_run_create_randomized(r->model, &def, &r->run, error);
    return CAL_EXIT_DONE;
}

static int (*const openers[CAL_KINDS])(cal_opened* r, cal_error* error) = {open_sim, open_sim, open_scene, open_batch,
                                                                           open_randomized};

static int read_start(cal_opened* r) {
    if (!r->options->start) return CAL_EXIT_DONE;
    if (!cal_state_values_create(r->model, &r->start)) return cal_complain(CAL_EXIT_FAILED, "no memory for a state");
    r->started = true;
    return cal_state_values_read(&r->start, r->model, r->options->start);
}

static bool differ(const double* a, const double* b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i] != (b ? b[i] : 0)) return true;
    return false;
}

// A batch has its q and v already.
static int apply_start(cal_opened* r) {
    if (!r->started) return CAL_EXIT_DONE;
    cal_error error = {CAL_OK, ""};
    cal_state_values plain;
    const int actuators = cal_model_actuator_count(r->model);
    bool driven = false;
    if (cal_state_values_create(r->model, &plain))
        driven = differ(r->start.tau, NULL, cal_model_v_count(r->model)) ||
                 differ(r->start.control, plain.control, actuators);
    else
        error.status = CAL_NO_MEMORY;
    cal_state_values_destroy(&plain);
    if (error.status == CAL_OK && r->kind != CAL_KIND_BATCH)
        error.status = cal_run_set(r->run, 0, r->start.q, r->start.v, &error);
    if (error.status == CAL_OK && driven) error.status = cal_run_drive(r->run, r->start.tau, r->start.control, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Closes the constraints by the other joints.
static int hold_joints(cal_opened* r) {
    if (!r->options->hold) return CAL_EXIT_DONE;
    cal_error error = {CAL_OK, ""};
    bool* held = cal_degrees_of(r->model, "hold", r->options->hold);
    if (!held) return CAL_EXIT_MISTAKE;
    error.status = cal_run_project_holding(r->run, held, &error);
    free(held);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

int cal_run_open(cal_opened* r) {
    cal_error error = {CAL_OK, ""};
    int status = CAL_EXIT_DONE;
    if (r->scene < 0) status = cal_model_open(r->name, &r->options->models, &r->model, &r->read);
    if (status == CAL_EXIT_DONE) status = refine_kind(r);
    if (status == CAL_EXIT_DONE) status = read_start(r);
    if (status == CAL_EXIT_DONE) status = openers[r->kind](r, &error);
    if (status == CAL_EXIT_DONE && error.status != CAL_OK) status = cal_complain_error(&error);
    if (status == CAL_EXIT_DONE) status = apply_start(r);
    return status == CAL_EXIT_DONE ? hold_joints(r) : status;
}

void cal_run_release(cal_opened* r) {
    cal_run_destroy(r->run);
    cal_machine_destroy(r->machine);
    cal_placement_free(&r->placement);
    if (r->started) cal_state_values_destroy(&r->start);
    cal_read_report_destroy(r->read);
    cal_model_destroy(r->model);
}

void cal_run_open_report(const cal_opened* r, cal_facts* report) {
    const cal_run_options* o = r->options;
    const bool world = r->kind == CAL_KIND_WORLD || r->kind == CAL_KIND_SCENE;
    const bool scene = r->kind == CAL_KIND_SCENE;
    cal_facts_text(report, scene ? "scene" : "model", r->name);
    cal_facts_line(report, scene ? "scene" : "model", "%s", r->name);
    if (world) {
        cal_facts_text(report, "loop", o->loop);
        cal_facts_text(report, "group", o->group);
        cal_facts_line(report, "loop", "%s", o->loop);
        if (strcmp(o->loop, "retroactive") == 0) cal_facts_number(report, "step", r->world.step);
    }
    if (r->kind == CAL_KIND_BATCH) {
        cal_facts_number(report, "spread", o->spread);
        cal_facts_line(report, "starts", "±%g apart", o->spread);
    }
    cal_run_report(r->run, report);
}

// --- Scenes -------------------------------------------------------------------------------------------------------------------

int cal_scene_of(const char* argument) {
    const size_t length = strcspn(argument, ":");
    for (int i = 0; cal_scene_name(i); i++)
        if (strlen(cal_scene_name(i)) == length && strncmp(cal_scene_name(i), argument, length) == 0) return i;
    return -1;
}

void cal_print_scenes(void) {
    printf("\nscenes:\n");
    for (int i = 0; cal_scene_name(i); i++)
        printf("  %-10s %.*s; %g s unless --time is given\n", cal_scene_name(i), (int)strcspn(cal_scene_help(i), "\n"),
               cal_scene_help(i), cal_scene_duration(i));
}
