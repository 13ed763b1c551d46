// `calder sim`: its options.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim_loop.h"

static void print_details(void) {
    printf("\nsolvers:\n");
    for (int i = 0; cal_solver_name(i); i++)
        printf("  %-8s %s\n", cal_solver_name(i), cal_solver_help(cal_solver_name(i)));
    cal_print_scenes();
    printf(
        "\nMODEL is a file, a generator or a scene: 'calder help models'. Shapes of a model that can touch do touch; "
        "then\n"
        "its systems have clocks of their own, as those of scenes have. --disable contact leaves that out. --batch "
        "makes\n"
        "many instances of a model, --rps a randomized simulation. docs/command.md has a table of what goes with "
        "what.\n"
        "\n"
        "The energy balance is what work, losses and the change of energy do not add up to, relative to the energy\n"
        "exchanged; a run in which it explodes stops and exits with 1. Wall time is the run's own, without writing.\n"
        "Ctrl-C, SIGTERM and a terminal that goes end it at the present step, write what there is and exit with 1.\n");
}

// Two options must not name the same file, and none of them the model's.
static int check_files(const char* model, const cal_sim_options* o) {
    struct {
        const char *option, *path;
    } files[CAL_MOST_TEXTS + 4] = {
        {"plot", o->plot}, {"events", o->events}, {"checkpoint", o->checkpoint}, {"save", o->save}};
    int count = 4;
    for (int i = 0; i < o->out.count; i++) {
        files[count].option = "out";
        files[count++].path = o->out.items[i];
    }
    for (int i = 0; i < count; i++) {
        if (files[i].path && cal_is_model_file(model) && cal_is_same_file(model, files[i].path))
            return cal_complain(CAL_EXIT_MISTAKE, "--%s '%s' would be written over the model", files[i].option,
                                files[i].path);
        for (int k = 0; k < i; k++)
            if (files[i].path && files[k].path && cal_is_same_file(files[i].path, files[k].path))
                return cal_complain(CAL_EXIT_MISTAKE, "--%s and --%s both name '%s'; give each its own file",
                                    files[i].option, files[k].option, files[i].path);
    }
    return CAL_EXIT_DONE;
}

int cal_command_sim(int argc, char** argv) {
    cal_sim_options o = {.time = NAN, .fps = NAN, .every = 1};
    cal_run_options run = cal_default_run_options();
    cal_option_table table = {.count = 0};
    const cal_option rows[] = {
        {"time", CAL_OPTION_NUMBER, &o.time, "S", "seconds to simulate [10; scenes: see below]", 0, 1e9, NULL},
        {"fps", CAL_OPTION_NUMBER, &o.fps, "N",
         "frames per simulated second in what is recorded [60; of colliding bodies 30; where nothing is recorded fewer "
         "of large models]",
         1e-3, 1e6, NULL},
        {"out", CAL_OPTION_TEXTS, &o.out, "FILE",
         "record: .csv a row per frame (-: on standard output), .glb a glTF animation, .html a page that plays it; may "
         "be "
         "given again",
         0, 0, NULL},
        {"columns", CAL_OPTION_TEXT, &o.columns, "NAMES",
         "columns of the CSV, of q, v, force, pose, energy, channels, sensors, with commas [q,v,energy; of a batch "
         "q,v; of colliding "
         "bodies "
         "pose]",
         0, 0, NULL},
        {"forces", CAL_OPTION_FLAG, &o.forces, NULL, "add what every joint carries to the CSV file", 0, 0, NULL},
        {"plot", CAL_OPTION_TEXT, &o.plot, "FILE", "draw the energy as an .svg file; -: on standard output", 0, 0,
         NULL},
        {"events", CAL_OPTION_TEXT, &o.events, "FILE",
         "write every collision as a row of a CSV file; -: on standard output", 0, 0, NULL},
        {"checkpoint", CAL_OPTION_TEXT, &o.checkpoint, "FILE",
         "write a checkpoint, for --resume, every --every seconds and at the end", 0, 0, NULL},
        {"every", CAL_OPTION_NUMBER, &o.every, "S", "simulated seconds between checkpoints", 1e-6, 1e9, NULL},
        {"resume", CAL_OPTION_TEXT, &o.resume, "FILE",
         "continue from a checkpoint, to --time; rows are added to the CSV", 0, 0, NULL},
        {"save", CAL_OPTION_TEXT, &o.save, "FILE", "write the final state as a file, for --start and 'eval --state'", 0,
         0, NULL},
        {"at", CAL_OPTION_TEXTS, &o.at, "EVENTS",
         "T:connect:NAME, T:disconnect:NAME, T:catch:NAME (an inelastic impact as soon as the gap closes), with "
         "commas; may be given again",
         0, 0, NULL},
        {"check", CAL_OPTION_FLAG, &o.check, NULL,
         "test every frame's accelerations against the equations of motion (ball and free joints)", 0, 0, NULL},
        {"json", CAL_OPTION_FLAG, &o.json, NULL, "print one JSON object instead of the summary", 0, 0, NULL},
    };
    cal_option_table_add(&table, rows, CAL_ARRAY_COUNT(rows));
    cal_run_options_add(&run, &table);
    const cal_usage usage = {"sim",
                             "MODEL",
                             "Simulates a model or a scene from its start and prints a summary.",
                             print_details,
                             "calder sim mobile --time 10 --out run.csv --out run.html --plot run.svg",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse_given(&usage, table.rows, table.count, argc, argv, &count, table.given);
    if (status != CAL_OPTIONS_PARSED) return status;
    cal_opened opened;
    status = cal_run_decide(argv[1], &run, &table, &opened);
    if (status == CAL_EXIT_DONE) status = check_files(argv[1], &o);
    if (status != CAL_EXIT_DONE) return status;
    if (isnan(o.time)) o.time = opened.scene >= 0 ? cal_scene_duration(opened.scene) : 10;
    status = cal_sim_loop(&opened, &o);
    cal_run_release(&opened);
    return status;
}
