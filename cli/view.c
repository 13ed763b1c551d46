// `calder view`: the model live in the browser.
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model_file.h"
#include "sim.h"
#include "sim_constraints.h"
#include "view.h"
#include "world_options.h"

extern char** environ;

// The viewer that Ctrl-C ends; a handler has no other way to know it.
static cal_viewer* volatile served;

static void end(int signal_number) {
    (void)signal_number;
    if (served) cal_viewer_stop(served);
}

static void print_details(void) {
    printf("\nIn the page: drag to turn, right button or two fingers to move, wheel or pinch to zoom; space pauses,\n"
           "arrows step, + and - change the speed, backspace starts anew, a click selects a body, Ctrl and drag\n"
           "pulls it; ? or F1 shows all of it. Ctrl-C ends the server.\n\n"
           "Worlds of colliding bodies have other options: 'calder view atoms --help'. The server answers only to this "
           "machine. With --listen others can connect, look, and pull.\n");
}

// Starts the desktop's browser and does not wait for it.
static int open_browser(const char* address) {
    char opener[] = "xdg-open", text[128];
    snprintf(text, sizeof text, "%s", address);
    char* arguments[] = {opener, text, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process;
    if (posix_spawn_file_actions_init(&actions) != 0) return CAL_EXIT_FAILED;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failure = posix_spawnp(&process, opener, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    // xdg-open hands the address over and ends; one that fails does so at once.
    int status = 0;
    for (int i = 0; failure == 0 && i < 20; i++) {
        if (waitpid(process, &status, WNOHANG) == process) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CAL_EXIT_DONE;
            failure = 1;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        }
    }
    if (failure == 0) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_MISTAKE,
                        "--open found no browser (xdg-open did not start one); leave it out and open %s yourself",
                        address);
}

int cal_view_serve(cal_viewer* viewer, const char* title, const cal_view_options* options) {
    cal_error error = {CAL_OK, ""};
    int status = options->open ? open_browser(cal_viewer_address(viewer)) : CAL_EXIT_DONE;
    if (status == CAL_EXIT_DONE) {
        served = viewer;
        struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        if (options->json)
            printf("{\"address\": \"%s\"}\n", cal_viewer_address(viewer));
        else
            printf("%s is at %s  (Ctrl-C ends it)\n", title, cal_viewer_address(viewer));
        status = cal_finish_output(CAL_EXIT_DONE);
    }
    if (status == CAL_EXIT_DONE) {
        error.status = cal_viewer_run(viewer, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    served = NULL;
    cal_viewer_destroy(viewer);
    return status;
}

static bool is_this_machine_only(const char* address) {
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

// Says why it is slower than it should be; the page says the same.
static void say_slow(void* user, const char* text) {
    (void)user;
    fprintf(stderr, "calder: %s\n", text);
}

int cal_view_prepare(const cal_view_options* options, const char* title, cal_viewer_def* def) {
    if (cal_viewer_available() && !cal_viewer_has_page())
        return cal_complain(CAL_EXIT_MISTAKE,
                            "the viewer's page was left out of this build: npm was not there or could "
                            "not fetch (Debian: nodejs npm); build again");
    def->title = title;
    def->listen = options->listen;
    def->port = (int)options->port;
    def->paused = options->paused;
    def->notice = say_slow;
    return CAL_EXIT_DONE;
}

void cal_view_warn(const cal_view_options* options) {
    if (!is_this_machine_only(options->listen))
        fprintf(stderr, "calder: listening at %s: whoever can reach this machine can look and pull\n", options->listen);
}

// --stabilize as `sim` reads it, for the step that will be taken.
static int read_stabilize(const char* text, const cal_model* model, cal_viewer_def* def) {
    cal_sim_def sim = cal_default_sim_def();
    if (!text) return CAL_EXIT_DONE;
    sim.solver = def->solver;
    if (cal_solver_has_fixed_step(def->solver)) {
        const double step = def->step > 0 ? def->step : cal_model_timestep(model);
        if (step > 0) sim.step = step;
    }
    const int status = cal_sim_read_stabilize(text, &sim);
    def->stabilize = sim.stabilize;
    def->gain = sim.gain;
    return status;
}

// A mobile as printed hangs much on thin links, and their swing is what needs the small steps.
static const char* advise(const char* model) {
    const bool stiff = strncmp(model, "mobile", 6) == 0 && !strstr(model, "taper=");
    return stiff ? "a mobile with taper=0.1 has as many joints and needs hundreds of times fewer evaluations" : NULL;
}

static int view_model(const char* argument, const cal_model_options* models, const cal_view_options* options,
                      const char* stabilize, cal_viewer_def* def) {
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    cal_viewer* viewer = NULL;
    cal_error error = {CAL_OK, ""};
    int status = cal_model_open(argument, models, &model, &report);
    if (status != CAL_EXIT_DONE) return status;
    status = read_stabilize(stabilize, model, def);
    if (status == CAL_EXIT_DONE) {
        cal_view_warn(options);
        error.status = cal_viewer_create(model, def, &viewer, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    if (status == CAL_EXIT_DONE) {
        cal_mention_issues(argument, report);
        status = cal_view_serve(viewer, def->title, options);
    }
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    return status;
}

int cal_command_view(int argc, char** argv) {
    if (cal_asks_for_scene(argc, argv)) return cal_view_world(argc, argv);
    cal_viewer_def def = cal_default_viewer_def();
    cal_view_options options = {.listen = "127.0.0.1"};
    cal_model_options models = {0};
    const char *lanes = "0", *stabilize = NULL;
    int64_t slow_band = 1;
    const cal_option table[] = {
        CAL_VIEW_OPTIONS(options),
        {"solver", CAL_OPTION_CHOICE, (void*)&def.solver, "NAME", "the solver", 0, 0, cal_solver_name},
        {"tol", CAL_OPTION_NUMBER, &def.relative, "E", "error tolerance, relative and absolute", 1e-14, 0.1, NULL},
        {"step", CAL_OPTION_NUMBER, &def.step, "S",
         "step of rk4 and euler, 0: the model's, or 0.001 s; largest step of the others, 0: no bound", 0, 1e3, NULL},
        {"algorithm", CAL_OPTION_CHOICE, (void*)&def.algorithm, "NAME", "how accelerations are computed", 0, 0,
         cal_sim_algorithm_choice},
        {"slow-band", CAL_OPTION_COUNT, &slow_band, "N", "armstrong with rk4 or euler: steps between new rotations", 0,
         1e6, NULL},
        {"machine", CAL_OPTION_TEXT, (void*)&def.machine, "NAME", "who computes: serial or threads[:N][,pinned]", 0, 0,
         NULL},
        {"lanes", CAL_OPTION_CHOICE, &lanes, "W", "bodies that one instruction works on; 0: the processor's best", 0, 0,
         cal_lanes_choice},
        {"stabilize", CAL_OPTION_TEXT, &stabilize, "HOW",
         "how constraints stay closed: projection, baumgarte[:K], literal[:K] (Bicchi's law), none [projection]", 0, 0,
         NULL},
        {"project", CAL_OPTION_FLAG, &def.project, NULL, "move a start that is off the constraints onto them", 0, 0,
         NULL},
        CAL_MODEL_PHYSICS_OPTIONS(models),
        CAL_MODEL_FILE_OPTIONS(models),
    };
    const cal_usage usage = {"view",
                             "MODEL",
                             "Shows a model moving in the browser, and lets you take it by hand and swing it.",
                             print_details,
                             "calder view mobile:s=3,l=5,o=9 --open",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    status = cal_view_prepare(&options, argv[1], &def);
    if (status != CAL_EXIT_DONE) return status;
    def.advice = advise(argv[1]);
    def.lanes = atoi(lanes);
    def.slow_band = (int)slow_band;
    return view_model(argv[1], &models, &options, stabilize, &def);
}
