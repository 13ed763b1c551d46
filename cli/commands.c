// The command `calder`: finds the command that was asked for, and answers --help and --version.
#include <stdio.h>
#include <string.h>

#include "calder/calder_world.h"
#include "command.h"
#include "options.h"

static const cal_command commands[] = {
    {"sim", cal_command_sim, "simulate a model or a scene: summary, CSV, a page that plays it, plots"},
    {"info", cal_command_info, "what is in a model: counts and its tree"},
    {"eval", cal_command_eval, "one evaluation: forward, inverse, mass, energy, pose, tendon"},
    {"plan", cal_command_plan, "who computes what on many processors, and how long that would take"},
    {"bench", cal_command_bench, "the papers' experiments; bench --help lists them"},
    {"view", cal_command_view, "live in the browser: look, pause, grab a body and drag it; without a model a gallery"},
    {"report", cal_command_report, "an HTML report of all benchmarks, beside the papers' numbers"},
    {"convert", cal_command_convert, "write a model as MJCF"},
    {"manual", cal_command_manual, "pages for man, made from these texts"},
    {"completion", cal_command_completion, "completion of commands and options for bash, zsh or fish"},
};

const cal_command* cal_command_at(int index) {
    return index >= 0 && (size_t)index < CAL_ARRAY_COUNT(commands) ? &commands[index] : NULL;
}

static void print_entry(const char* name, const char* help) {
    printf("\n%s\n", name);
    for (const char* line = help; *line;) {
        size_t length = strcspn(line, "\n");
        printf("    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_models(void) {
    printf("MODEL is a file, MJCF (.xml, .mjcf) or URDF (.urdf), or a generator, name or name:key=value,key=value:\n");
    for (int i = 0; cal_generator_name(i); i++) print_entry(cal_generator_name(i), cal_generator_help(i));
    printf("\nA scene of colliding bodies, for 'sim', 'view', 'plan' and 'bench scale':\n");
    for (int i = 0; cal_scene_name(i); i++) print_entry(cal_scene_name(i), cal_scene_help(i));
    printf("\nexample:\n  calder info mobile\n");
}

static int print_help(void) {
    printf("calder simulates articulated bodies, mechanisms with closed loops, and colliding "
           "bodies.\n\nusage: calder COMMAND [arguments] [options]\n\ncommands:\n");
    for (size_t i = 0; i < CAL_ARRAY_COUNT(commands); i++) printf("  %-10s %s\n", commands[i].name, commands[i].help);
    printf("  %-10s this text; 'calder help sim' on a command; 'calder help models' on models\n", "help");
    printf("\nmodels:\n ");
    for (int i = 0; cal_generator_name(i); i++) printf(" %s", cal_generator_name(i));
    printf("\nand files: .xml, .mjcf, .urdf\n\nscenes of colliding bodies:\n ");
    for (int i = 0; cal_scene_name(i); i++) printf(" %s", cal_scene_name(i));
    printf("\n\nEvery command has --help. What computes has --json for scripts, which get errors as JSON, too. Exit "
           "status:\n"
           "0 it did what was asked, 1 it failed while running, 2 the call or the input is wrong.\n\nexample:\n"
           "  calder sim mobile --time 10 --out run.csv --plot run.svg\n");
    return cal_finish_output(CAL_EXIT_DONE);
}

static int run_command(int argc, char** argv) {
    const char* names[CAL_ARRAY_COUNT(commands) + 1] = {"help"};
    char list[160] = "help";
    for (size_t i = 0; i < CAL_ARRAY_COUNT(commands); i++) {
        if (strcmp(argv[0], commands[i].name) == 0) return commands[i].run(argc, argv);
        names[i + 1] = commands[i].name;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, ", %s", commands[i].name);
    }
    const char* nearest = cal_nearest_name(argv[0], names, (int)CAL_ARRAY_COUNT(names));
    return cal_complain(CAL_EXIT_MISTAKE, "unknown command '%s'%s%s%s; there are %s", argv[0],
                        nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "", list);
}

static int answer_help(int argc, char** argv) {
    if (argc < 1) return print_help();
    if (strcmp(argv[0], "models") == 0) {
        print_models();
        return cal_finish_output(CAL_EXIT_DONE);
    }
    // "help bench forward" is "bench forward --help".
    char help[] = "--help";
    char* line[] = {argv[0], argc > 1 ? argv[1] : help, help};
    return run_command(argc > 1 ? 3 : 2, line);
}

int cal_command_line(int argc, char** argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0) cal_complain_as_json(true);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("calder %s\n", cal_version());
        return cal_finish_output(CAL_EXIT_DONE);
    }
    if (strcmp(argv[1], "help") == 0) return answer_help(argc - 2, argv + 2);
    return run_command(argc - 1, argv + 1);
}
