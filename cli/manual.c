// `calder manual`: pages for man, made from the same tables as --help.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calder/calder_world.h"
#include "options.h"
#include "pages.h"

// --- roff -----------------------------------------------------------------------------------------------------------------

// A text as roff shows it: no escapes, no requests, hyphens that can be copied.
static void put_text(const char* text) {
    bool line_begins = true;
    for (const char* p = text; *p; p++) {
        if (line_begins && (*p == '.' || *p == '\'')) fputs("\\&", stdout);
        if (*p == '\\')
            fputs("\\e", stdout);
        else if (*p == '-')
            fputs("\\-", stdout);
        else
            putchar(*p);
        line_begins = *p == '\n';
    }
}

static void put_header(const char* name, const char* section, const char* help) {
    char upper[64] = "";
    for (size_t i = 0; name[i] && i + 1 < sizeof upper; i++)
        upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
    printf(".TH \"%s\" %s \"\" \"calder %s\" \"Calder\"\n.SH NAME\n", upper, section, cal_version());
    put_text(name);
    fputs(" \\- ", stdout);
    put_text(help);
    putchar('\n');
}

static void put_lines(const char* text) {
    printf(".nf\n");
    put_text(text);
    if (text[0] && text[strlen(text) - 1] != '\n') putchar('\n');
    printf(".fi\n");
}

// What a function prints to standard output, as a new text; NULL where there is no room for it.
static char* captured(void (*print)(void)) {
    FILE* file = tmpfile();
    char* text = NULL;
    long size = 0;
    fflush(stdout);
    const int kept = file ? dup(STDOUT_FILENO) : -1;
    if (kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0) {
        print();
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        size = ftell(file) >= 0 && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
        rewind(file);
        text = calloc((size_t)size + 1, 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = '\0';
    }
    if (kept >= 0) close(kept);
    if (file) fclose(file);
    return text;
}

// --- Pages ----------------------------------------------------------------------------------------------------------------

static void put_option(const cal_option* option) {
    char preset[256];
    printf(".TP\n.B ");
    put_text("--");
    put_text(option->name);
    if (option->argument) printf(" \\fI%s\\fR", option->argument);
    putchar('\n');
    put_text(option->help);
    cal_option_preset(option, preset, sizeof preset);
    put_text(preset);
    putchar('\n');
    if (option->kind != CAL_OPTION_CHOICE) return;
    printf(".br\nOne of");
    for (int i = 0; option->choice(i); i++) {
        fputs(i ? ", " : " ", stdout);
        put_text(option->choice(i));
    }
    printf(".\n");
}

static void put_command_page(const cal_usage* usage, const cal_option* options, size_t option_count, void* user) {
    const char* name = user;
    put_header(name, "1", usage->summary);
    printf(".SH SYNOPSIS\n.B calder %s\n%s%s%s[options]\n.SH DESCRIPTION\n", usage->command,
           usage->arguments[0] ? ".I " : "", usage->arguments, usage->arguments[0] ? "\n" : "");
    put_text(usage->summary);
    printf("\n.SH OPTIONS\nDefaults are in brackets.\n");
    for (size_t i = 0; i < option_count; i++) put_option(&options[i]);
    printf(".TP\n.B \\-\\-help\nThe same as text.\n");
    char* details = usage->details ? captured(usage->details) : NULL;
    if (details && details[0]) {
        printf(".SH DETAILS\n");
        put_lines(details[0] == '\n' ? details + 1 : details);
    }
    free(details);
    printf(".SH EXAMPLES\n");
    put_lines(usage->example);
    printf(".SH SEE ALSO\n.BR calder (1),\n.BR calder\\-models (7)\n");
}

static void put_overview(void) {
    put_header("calder", "1",
               "simulates articulated bodies, mechanisms with closed loops, and worlds of colliding bodies");
    printf(".SH SYNOPSIS\n.B calder\n.I COMMAND\n[arguments] [options]\n.SH COMMANDS\n");
    for (int i = 0; cal_command_at(i); i++) {
        printf(".TP\n.B %s\n", cal_command_at(i)->name);
        put_text(cal_command_at(i)->help);
        putchar('\n');
    }
    printf(".SH OPTIONS\n.TP\n.B \\-\\-help\nThe list of commands; after a command, its options.\n"
           ".TP\n.BR \\-\\-version \", \" \\-V\nThe version.\n"
           ".SH EXIT STATUS\n0: it did what was asked; 1: it failed while running; 2: the call or the input is wrong.\n"
           ".SH SEE ALSO\n.BR calder\\-models (7)");
    for (int i = 0; cal_page_name(i); i++) {
        const char* page = cal_page_name(i);
        if (strcmp(page, "calder") == 0 || strcmp(page, "calder-models") == 0) continue;
        printf(",\n.BR ");
        put_text(page);
        printf(" (1)");
    }
    putchar('\n');
}

static void put_entry(const char* name, const char* help) {
    printf(".TP\n.B ");
    put_text(name);
    putchar('\n');
    put_lines(help);
}

static void put_models(void) {
    put_header("calder-models", "7", "models and worlds that Calder makes by name");
    printf(".SH DESCRIPTION\nWhere a command takes a model, it takes a file, MJCF (.xml, .mjcf) or URDF (.urdf), or a\n"
           "generator: name or name:key=value,key=value.\n.SH MODELS\n");
    for (int i = 0; cal_generator_name(i); i++) put_entry(cal_generator_name(i), cal_generator_help(i));
    printf(".SH WORLDS\nScenes of colliding bodies, for\n.BR calder\\-sim (1)\nand\n.BR calder\\-view (1).\n");
    for (int i = 0; cal_scene_name(i); i++) put_entry(cal_scene_name(i), cal_scene_help(i));
    printf(".SH SEE ALSO\n.BR calder (1)\n");
}

static int put_page(const char* page) {
    char name[64];
    const size_t length = strcspn(page, ".");
    snprintf(name, sizeof name, "%.*s", (int)length, page);
    int index = 0;
    while (cal_page_name(index) && strcmp(cal_page_name(index), name) != 0) index++;
    if (!cal_page_name(index))
        return cal_complain(CAL_EXIT_MISTAKE, "there is no page '%s'; 'calder manual' lists them", page);
    if (strcmp(name, "calder") == 0)
        put_overview();
    else if (strcmp(name, "calder-models") == 0)
        put_models();
    else
        return cal_page_visit(index, put_command_page, name);
    return cal_finish_output(CAL_EXIT_DONE);
}

int cal_command_manual(int argc, char** argv) {
    const cal_usage usage = {"manual",
                             "[PAGE]",
                             "Prints a page for man, or the names of all pages.",
                             NULL,
                             "calder manual calder-sim.1 > calder-sim.1",
                             0,
                             1};
    int count = 0;
    const int status = cal_options_parse(&usage, NULL, 0, argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (count == 1) return put_page(argv[1]);
    for (int i = 0; cal_page_name(i); i++)
        printf("%s.%s\n", cal_page_name(i), strcmp(cal_page_name(i), "calder-models") == 0 ? "7" : "1");
    return cal_finish_output(CAL_EXIT_DONE);
}
