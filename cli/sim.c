// `calder sim`: its options, and what a single run and a batch share.
#define _POSIX_C_SOURCE 200809L
#include "sim.h"
#include "sim_constraints.h"
#include "world_options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "model_file.h"
#include "options.h"

static volatile sig_atomic_t interrupt_seen;

static void note_interrupt(int signal_number) {
    (void)signal_number;
    interrupt_seen = 1;
}

bool cal_interrupted(void) {
    static bool watching;
    if (!watching) {
        // A second Ctrl-C ends the process at once.
        struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        watching = true;
    }
    return interrupt_seen != 0;
}

void cal_sim_describe(cal_json* json, const cal_sim_options* options, const cal_model* model, const char* machine,
                      int processors, int lanes) {
    cal_json_text(json, "model", options->model_name);
    cal_json_integer(json, "joints", cal_model_joint_count(model));
    cal_json_integer(json, "dof", cal_model_v_count(model));
    cal_json_text(json, "algorithm", options->algorithm);
    cal_json_text(json, "solver", options->solver);
    cal_json_text(json, "machine", machine);
    cal_json_integer(json, "processors", processors);
    cal_json_integer(json, "lanes", lanes);
}

void cal_sim_describe_model(const cal_sim_options* options, const cal_model* model) {
    int joints = cal_model_joint_count(model), degrees = cal_model_v_count(model);
    printf("%-13s %s: %d joint%s, %d degree%s of freedom\n", "model", options->model_name, joints,
           joints == 1 ? "" : "s", degrees, degrees == 1 ? "" : "s");
}

// Those of the algorithms that can advance a simulation.
const char* cal_sim_algorithm_choice(int index) {
    static const char* const names[] = {"aba", "assembly", "armstrong", NULL};
    return names[index];
}

static void print_details(void) {
    printf("\nsolvers:\n");
    for (int i = 0; cal_solver_name(i); i++)
        printf("  %-8s %s\n", cal_solver_name(i), cal_solver_help(cal_solver_name(i)));
    printf(
        "\nWorlds of colliding bodies have other options: 'calder sim atoms --help'. A model, such as a file with\n"
        "free bodies, becomes a world where one of --loop, --events, --restitution, --friction, --separate is given.\n"
        "Models: 'calder help models'. The energy drift is the change from start to end, relative to the\n"
        "largest kinetic energy of any frame. Wall time is the solver's own, without writing. Ctrl-C\n"
        "finishes the frame, writes what there is and exits with 1.\n");
}

// Complains about what is right option by option but not together.
static int check(const cal_sim_options* options) {
    for (int i = 0; i < options->out.count; i++) {
        const char* out = options->out.items[i];
        if (options->plot && strcmp(out, options->plot) == 0)
            return cal_complain(CAL_EXIT_MISTAKE, "--out and --plot both name '%s'; give each its own file", out);
        if (options->checkpoint && strcmp(options->checkpoint, out) == 0)
            return cal_complain(CAL_EXIT_MISTAKE, "--checkpoint and --out both name '%s'; give each its own file", out);
    }
    if (options->checkpoint && options->plot && strcmp(options->checkpoint, options->plot) == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--checkpoint and --plot both name '%s'; give each its own file",
                            options->plot);
    if (options->schedule && strcmp(options->algorithm, "assembly") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", options->schedule);
    if (options->forces && options->out.count == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--forces adds columns to the CSV file of --out; name one");
    if (options->rps > 0 && (options->batch > 0 || options->out.count > 0 || options->plot || options->checkpoint ||
                             options->resume || options->at || options->check || options->form))
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--rps goes with neither --batch, --out, --plot, --checkpoint, --resume, --at, --check nor "
                            "--constraint-form");
    if (options->batch == 0) return CAL_EXIT_DONE;
    if (strcmp(options->algorithm, "assembly") == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--algorithm assembly is for one run; a --batch uses aba");
    if (!cal_solver_has_fixed_step(options->solver))
        return cal_complain(CAL_EXIT_MISTAKE, "--solver '%s' cannot run a --batch; allowed: rk4, euler",
                            options->solver);
    if (options->check || options->slow_band > 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for one run; leave out --batch",
                            options->check ? "check" : "slow-band");
    if (options->out.count > 0 || options->plot)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s records one run; leave out --batch",
                            options->out.count > 0 ? "out" : "plot");
    if (options->checkpoint || options->resume)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for one run; leave out --batch",
                            options->checkpoint ? "checkpoint" : "resume");
    if (options->stabilize || options->form || options->at || options->project)
        return cal_complain(CAL_EXIT_MISTAKE, "--%s is for one run; leave out --batch",
                            options->stabilize ? "stabilize"
                            : options->form    ? "constraint-form"
                            : options->at      ? "at"
                                               : "project");
    if (options->placement || (options->machine && strcmp(options->machine, "serial") != 0))
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--%s is for one run; a --batch has a lane for each instance, on one core",
                            options->placement ? "placement" : "machine");
    return CAL_EXIT_DONE;
}

// Worlds have options of their own, so what is simulated is looked for before anything is parsed: a scene, or a model with an
// option that only worlds have.
static bool asks_for_world(int argc, char** argv) {
    static const char* const own[] = {"--loop",     "--events", "--restitution",     "--friction",
                                      "--separate", "--group",  "--force-rollbacks", "--check-rules"};
    for (int i = 1; i < argc; i++) {
        const size_t length = strcspn(argv[i], "=");
        for (size_t k = 0; k < CAL_ARRAY_COUNT(own); k++)
            if (strlen(own[k]) == length && memcmp(own[k], argv[i], length) == 0) return true;
    }
    return cal_asks_for_scene(argc, argv);
}

int cal_command_sim(int argc, char** argv) {
    if (asks_for_world(argc, argv)) return cal_sim_run_world(argc, argv);
    cal_sim_options options = {.algorithm = "aba",
                               .lanes = "0",
                               .slow_band = 1,
                               .time = 10,
                               .tol = 1e-4,
                               .step = 0,
                               .fps = 60,
                               .spread = 1e-3,
                               .every = 1,
                               .seed = 1,
                               .interval = 20,
                               .hypotheses = 1,
                               .method = "euler",
                               .position_radius = 2e-4,
                               .velocity_radius = 2e-2,
                               .alpha = 1,
                               .beta = 1};
    cal_model_options models = {0};
    const cal_option table[] = {
        {"time", CAL_OPTION_NUMBER, &options.time, "S", "seconds to simulate", 0, 1e9, NULL},
        {"solver", CAL_OPTION_CHOICE, &options.solver, "NAME", "the solver [gear; with --batch rk4]", 0, 0,
         cal_solver_name},
        {"tol", CAL_OPTION_NUMBER, &options.tol, "E", "error tolerance, relative and absolute", 1e-14, 1, NULL},
        {"step", CAL_OPTION_NUMBER, &options.step, "S",
         "step of rk4 and euler, 0: the model's, or 0.001 s; largest step of the others, 0: no bound", 0, 1e3, NULL},
        {"algorithm", CAL_OPTION_CHOICE, &options.algorithm, "NAME", "how accelerations are computed", 0, 0,
         cal_sim_algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &options.schedule, "HOW",
         "what assembly does in parallel: auto, serial, balanced, or a number of processors", 0, 0, NULL},
        {"slow-band", CAL_OPTION_COUNT, &options.slow_band, "N",
         "armstrong with rk4 or euler: steps between new rotations", 0, 1e6, NULL},
        {"check", CAL_OPTION_FLAG, &options.check, NULL,
         "test every frame's accelerations against the equations of motion (ball and free joints)", 0, 0, NULL},
        CAL_MODEL_PHYSICS_OPTIONS(models),
        CAL_MODEL_FILE_OPTIONS(models),
        {"machine", CAL_OPTION_TEXT, &options.machine, "NAME", CAL_MACHINE_HELP, 0, 0, NULL},
        {"placement", CAL_OPTION_TEXT, &options.placement, "FILE", CAL_PLACEMENT_HELP, 0, 0, NULL},
        {"lanes", CAL_OPTION_CHOICE, &options.lanes, "W",
         "bodies that one instruction works on; 0: the processor's best", 0, 0, cal_lanes_choice},
        {"fps", CAL_OPTION_NUMBER, &options.fps, "N", "frames a simulated second in what is recorded", 1e-3, 1e6, NULL},
        {"batch", CAL_OPTION_COUNT, &options.batch, "N", "simulate so many instances at once; 0: a single run", 0, 1e8,
         NULL},
        {"spread", CAL_OPTION_NUMBER, &options.spread, "X", "noise on the start of each instance of a batch", 0, 10,
         NULL},
        {"out", CAL_OPTION_TEXTS, &options.out, "FILE",
         "record: .csv a row a frame, .glb a glTF animation, .html a page that plays it; may be given again", 0, 0,
         NULL},
        {"plot", CAL_OPTION_TEXT, &options.plot, "FILE", "draw the energy as an SVG file", 0, 0, NULL},
        {"checkpoint", CAL_OPTION_TEXT, &options.checkpoint, "FILE",
         "write down now and then, and at the end, what --resume needs", 0, 0, NULL},
        {"every", CAL_OPTION_NUMBER, &options.every, "S", "simulated seconds between checkpoints", 1e-6, 1e9, NULL},
        {"resume", CAL_OPTION_TEXT, &options.resume, "FILE",
         "continue from a checkpoint, to --time; rows are added to the CSV", 0, 0, NULL},
        {"stabilize", CAL_OPTION_TEXT, &options.stabilize, "HOW",
         "how constraints stay closed: projection, baumgarte[:K], literal[:K] (Bicchi's law), none [projection]", 0, 0,
         NULL},
        {"constraint-form", CAL_OPTION_CHOICE, &options.form, "NAME",
         "what is solved: multipliers (lagrange), or only what constraints leave free (minimal; up to 64 dof) "
         "[lagrange]",
         0, 0, cal_constraint_form_choice},
        {"project", CAL_OPTION_FLAG, &options.project, NULL, "move a start that is off the constraints onto them", 0, 0,
         NULL},
        {"at", CAL_OPTION_TEXT, &options.at, "EVENTS",
         "T:connect:NAME, T:catch:NAME (an inelastic impact), T:disconnect:NAME, separated by commas", 0, 0, NULL},
        {"forces", CAL_OPTION_FLAG, &options.forces, NULL, "add what every joint carries to the CSV file", 0, 0, NULL},
        {"rps", CAL_OPTION_COUNT, &options.rps, "N",
         "randomized parallel simulation with so many instances, one a processor; 0: none", 0, 1e5, NULL},
        {"method", CAL_OPTION_TEXT, &options.method, "NAMES",
         "of --rps: euler, symplectic, heun, ab2, rk4, or several with commas for instances in turn", 0, 0, NULL},
        {"interval", CAL_OPTION_COUNT, &options.interval, "N", "of --rps: steps between polls", 1, 1e9, NULL},
        {"position-radius", CAL_OPTION_NUMBER, &options.position_radius, "X",
         "of --rps: how far positions are perturbed", 0, 10, NULL},
        {"velocity-radius", CAL_OPTION_NUMBER, &options.velocity_radius, "X",
         "of --rps: how far velocities are perturbed", 0, 100, NULL},
        {"normal", CAL_OPTION_FLAG, &options.normal, NULL, "of --rps: perturb normally instead of uniformly", 0, 0,
         NULL},
        {"seed", CAL_OPTION_COUNT, &options.seed, "N", "of --rps: one seed, one result", 0, 9e15, NULL},
        {"alpha", CAL_OPTION_NUMBER, &options.alpha, "X", "of --rps: weight of the speeds of positions in a residual",
         0, 1e9, NULL},
        {"beta", CAL_OPTION_NUMBER, &options.beta, "X", "of --rps: weight of what slips in a residual", 0, 1e9, NULL},
        {"forcing", CAL_OPTION_NUMBER, &options.forcing, "X", "of --rps: random forcing of the error's equation", 0,
         1e9, NULL},
        {"hypotheses", CAL_OPTION_COUNT, &options.hypotheses, "N",
         "of --rps: solutions that are kept at singular positions", 1, 16, NULL},
        {"adapt", CAL_OPTION_FLAG, &options.adapt, NULL, "of --rps: adapt the interval to the residual", 0, 0, NULL},
        {"realtime", CAL_OPTION_NUMBER, &options.deadline, "X",
         "of --rps: seconds of the clock for a simulated one; counts overruns; 0: as fast as it goes", 0, 1e6, NULL},
        {"json", CAL_OPTION_FLAG, &options.json, NULL, "print one JSON object instead of the summary", 0, 0, NULL},
    };
    const cal_usage usage = {"sim",
                             "MODEL",
                             "Simulates a model from its start position and prints a summary.",
                             print_details,
                             "calder sim mobile:s=3,l=5,o=9 --time 10 --out run.csv --out run.html --plot run.svg",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (!options.solver) options.solver = options.batch > 0 ? "rk4" : "gear";
    options.model_name = argv[1];
    status = check(&options);
    if (status != CAL_EXIT_DONE) return status;
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    status = cal_model_open(options.model_name, &models, &model, &report);
    if (status != CAL_EXIT_DONE) return status;
    if (options.step == 0 && cal_solver_has_fixed_step(options.solver)) options.step = cal_model_timestep(model);
    status = options.rps > 0     ? cal_sim_run_rps(&options, model)
             : options.batch > 0 ? cal_sim_run_batch(&options, model)
                                 : cal_sim_run_single(&options, model);
    if (status == CAL_EXIT_DONE) cal_mention_issues(options.model_name, report);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    return status;
}
