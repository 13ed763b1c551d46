// Table-driven options: --name value, --name=value, flags, and help.
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static void list_choices(const cal_option* option, char* text, size_t capacity, const char* separator) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; option->choice(i) && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? separator : "", option->choice(i));
}

void cal_option_preset(const cal_option* option, char* text, size_t capacity) {
    text[0] = '\0';
    switch (option->kind) {
    case CAL_OPTION_FLAG:
    case CAL_OPTION_TEXTS: break;
    case CAL_OPTION_NUMBER:
        if (!isnan(*(double*)option->value)) snprintf(text, capacity, " [%g]", *(double*)option->value);
        break;
    case CAL_OPTION_COUNT: snprintf(text, capacity, " [%lld]", (long long)*(int64_t*)option->value); break;
    case CAL_OPTION_TEXT:
    case CAL_OPTION_CHOICE:
        if (*(const char**)option->value) snprintf(text, capacity, " [%s]", *(const char**)option->value);
        break;
    }
}

enum { HELP_COLUMN = 21, HELP_WIDTH = 100 };

// From HELP_COLUMN on, broken between words before HELP_WIDTH; used: where the line is.
static void print_wrapped(const char* text, int used) {
    bool first = true;
    while (*text) {
        const int length = (int)strcspn(text, " ");
        int columns = 0; // a character is one or more bytes
        for (int i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xC0) != 0x80;
        if (!first && used + 1 + columns > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            used = HELP_COLUMN;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", length, text);
        used += columns + !first;
        first = false;
        text += length + (text[length] == ' ');
    }
    printf("\n");
}

static void print_option(const cal_option* option) {
    char left[80], preset[64], text[1024], choices[256];
    const int used = snprintf(left, sizeof left, "  --%s%s%s", option->name, option->argument ? " " : "",
                              option->argument ? option->argument : "");
    cal_option_preset(option, preset, sizeof preset);
    snprintf(text, sizeof text, "%s%s", option->help, preset);
    if (used < HELP_COLUMN)
        printf("%-*s", HELP_COLUMN, left);
    else // a long name has a line of its own
        printf("%s\n%*s", left, HELP_COLUMN, "");
    print_wrapped(text, HELP_COLUMN);
    if (option->kind == CAL_OPTION_CHOICE) {
        list_choices(option, choices, sizeof choices, " | ");
        printf("%*s%s\n", HELP_COLUMN, "", choices);
    }
}

static cal_help_printer* help_printer;
static void* help_user;

void cal_options_set_printer(cal_help_printer* printer, void* user) {
    help_printer = printer;
    help_user = user;
}

bool cal_option_is_file(const cal_option* option) {
    static const char* const words[] = {"FILE", "FILES", "DIR", "DIRS", "PATH"};
    for (size_t i = 0; option->argument && i < CAL_ARRAY_COUNT(words); i++)
        if (strcmp(option->argument, words[i]) == 0) return true;
    return false;
}

static int print_help(const cal_usage* usage, const cal_option* options, size_t option_count) {
    if (help_printer) {
        help_printer(usage, options, option_count, help_user);
        return cal_finish_output(CAL_EXIT_DONE);
    }
    printf("usage: calder %s%s%s [options]\n\n%s\n\noptions, with their defaults in brackets:\n", usage->command,
           usage->arguments[0] ? " " : "", usage->arguments, usage->summary);
    for (size_t i = 0; i < option_count; i++) print_option(&options[i]);
    printf("  %-18s this text\n", "--help");
    if (usage->details) usage->details();
    printf("\nexample:\n  %s\n", usage->example);
    return cal_finish_output(CAL_EXIT_DONE);
}

static int reject(const cal_option* option, const char* value, const char* wrong) {
    if (option->kind == CAL_OPTION_CHOICE) {
        char choices[256];
        list_choices(option, choices, sizeof choices, ", ");
        return cal_complain(CAL_EXIT_MISTAKE, "--%s '%s' is %s; allowed: %s", option->name, value, wrong, choices);
    }
    return cal_complain(CAL_EXIT_MISTAKE, "--%s '%s' is %s; allowed: a %snumber from %.10g to %.10g", option->name,
                        value, wrong, option->kind == CAL_OPTION_COUNT ? "whole " : "", option->least, option->most);
}

static int store(const cal_option* option, const char* text) {
    char* end = NULL;
    errno = 0;
    switch (option->kind) {
    case CAL_OPTION_FLAG: *(bool*)option->value = true; break;
    case CAL_OPTION_TEXT:
        if (!text[0])
            return cal_complain(CAL_EXIT_MISTAKE, "--%s '' is empty; give %s", option->name, option->argument);
        *(const char**)option->value = text;
        break;
    case CAL_OPTION_TEXTS: {
        cal_texts* texts = option->value;
        if (!text[0])
            return cal_complain(CAL_EXIT_MISTAKE, "--%s '' is empty; give %s", option->name, option->argument);
        if (texts->count == CAL_MOST_TEXTS)
            return cal_complain(CAL_EXIT_MISTAKE, "--%s is given more than %d times", option->name, CAL_MOST_TEXTS);
        texts->items[texts->count++] = text;
        break;
    }
    case CAL_OPTION_NUMBER: {
        double number = strtod(text, &end);
        if (end == text || *end || isnan(number)) return reject(option, text, "not a number");
        if (!(number >= option->least && number <= option->most)) return reject(option, text, "out of range");
        *(double*)option->value = number;
        break;
    }
    case CAL_OPTION_COUNT: {
        long long number = strtoll(text, &end, 10);
        if (end == text || *end) return reject(option, text, "not a whole number");
        if (errno || (double)number < option->least || (double)number > option->most)
            return reject(option, text, "out of range");
        *(int64_t*)option->value = number;
        break;
    }
    case CAL_OPTION_CHOICE:
        for (int i = 0; option->choice(i); i++) {
            if (strcmp(option->choice(i), text) != 0) continue;
            *(const char**)option->value = option->choice(i);
            return CAL_OPTIONS_PARSED;
        }
        return reject(option, text, "not known");
    }
    return CAL_OPTIONS_PARSED;
}

static int reject_unknown(const cal_usage* usage, const cal_option* options, size_t option_count, const char* dashes,
                          const char* name, size_t length) {
    const char* names[1 + CAL_MOST_OPTIONS] = {"help"};
    int count = 1;
    for (size_t i = 0; i < option_count && count < (int)CAL_ARRAY_COUNT(names); i++) names[count++] = options[i].name;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    const char* nearest = cal_nearest_name(text, names, count);
    const char* space = usage->arguments[0] ? " " : "";
    return cal_complain(CAL_EXIT_MISTAKE, "%s%s%s has no option '%s%s'%s%s%s; 'calder %s%s%s --help' lists them",
                        usage->command, space, usage->arguments, dashes, text, nearest ? " (did you mean --" : "",
                        nearest ? nearest : "", nearest ? "?)" : "", usage->command, space, usage->arguments);
}

static const cal_option* find_option(const cal_option* options, size_t option_count, const char* name, size_t length) {
    for (size_t i = 0; i < option_count; i++) {
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0) return &options[i];
    }
    return NULL;
}

int cal_options_parse(const cal_usage* usage, const cal_option* options, size_t option_count, int argc, char** argv,
                      int* argument_count) {
    return cal_options_parse_given(usage, options, option_count, argc, argv, argument_count, NULL);
}

int cal_options_parse_given(const cal_usage* usage, const cal_option* options, size_t option_count, int argc,
                            char** argv, int* argument_count, bool* given) {
    int plain = 0;
    bool options_over = false;
    const char* values[CAL_MOST_OPTIONS] = {NULL}; // as they were given
    if (option_count > CAL_MOST_OPTIONS)
        return cal_complain(CAL_EXIT_FAILED, "%s has more than %d options", usage->command, CAL_MOST_OPTIONS);
    // Help is answered whatever else the line contains.
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return print_help(usage, options, option_count);
    }
    for (int i = 1; i < argc; i++) {
        const char* text = argv[i];
        if (options_over || text[0] != '-') {
            argv[1 + plain++] = argv[i];
            continue;
        }
        if (strcmp(text, "--") == 0) {
            options_over = true;
            continue;
        }
        if (text[1] != '-') return reject_unknown(usage, options, option_count, "-", text + 1, strlen(text + 1));
        const char* name = text + 2;
        const char* equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);
        const cal_option* option = find_option(options, option_count, name, length);
        if (!option) return reject_unknown(usage, options, option_count, "--", name, length);
        const char* value = equals ? equals + 1 : "";
        if (option->kind == CAL_OPTION_FLAG && equals)
            return cal_complain(CAL_EXIT_MISTAKE, "--%s takes no value, but got '%s'", option->name, value);
        if (option->kind != CAL_OPTION_FLAG && !equals) {
            if (i + 1 == argc)
                return cal_complain(CAL_EXIT_MISTAKE, "--%s needs a value: --%s %s", option->name, option->name,
                                    option->argument);
            value = argv[++i];
        }
        const char** before = &values[option - options];
        if (*before && option->kind != CAL_OPTION_TEXTS && strcmp(*before, value) != 0)
            return cal_complain(CAL_EXIT_MISTAKE, "--%s is given twice, as '%s' and as '%s'; which one?", option->name,
                                *before, value);
        *before = value;
        int status = store(option, value);
        if (status != CAL_OPTIONS_PARSED) return status;
        if (given) given[option - options] = true;
    }
    *argument_count = plain;
    if (plain < usage->least_arguments)
        return cal_complain(CAL_EXIT_MISTAKE, "%s needs %s, for example: %s", usage->command, usage->arguments,
                            usage->example);
    if (plain > usage->most_arguments)
        return cal_complain(CAL_EXIT_MISTAKE, "%s does not know what to do with '%s'; 'calder %s --help' says how",
                            usage->command, argv[1 + usage->most_arguments], usage->command);
    return CAL_OPTIONS_PARSED;
}
