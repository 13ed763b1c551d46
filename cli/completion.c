// `calder completion`: scripts that let a shell complete commands, options and their values.
#include <stdio.h>
#include <string.h>

#include "calder/calder_world.h"
#include "pages.h"

// What may stand where a model is asked for: generators, scenes, and files.
static void put_models(void) {
    for (int i = 0; cal_generator_name(i); i++) printf("%s%s", i ? " " : "", cal_generator_name(i));
    for (int i = 0; cal_scene_name(i); i++) printf(" %s", cal_scene_name(i));
}

static void put_choices(const cal_option* option) {
    for (int i = 0; option->choice(i); i++) printf("%s%s", i ? " " : "", option->choice(i));
}

// Within single quotes, less what the shell's own syntax takes for itself.
static void put_quoted(const char* text, const char* left_out) {
    for (const char* p = text; *p; p++) {
        if (*p == '\'')
            fputs("'\\''", stdout);
        else if (strchr(left_out, *p))
            printf("\\%c", *p);
        else
            putchar(*p);
    }
}

static bool takes_model(const cal_usage* usage) { return strstr(usage->arguments, "MODEL") != NULL; }

static void put_commands(void) {
    for (int i = 0; cal_command_at(i); i++) printf("%s ", cal_command_at(i)->name);
    printf("help --help --version");
}

static void put_benchmarks(void) {
    const char* words[2];
    int count = 0;
    for (int i = 0; cal_page_name(i); i++) {
        cal_page_words(i, words);
        if (words[1]) printf("%s%s", count++ ? " " : "", words[1]);
    }
}

static int put_all(cal_help_printer* print) {
    int status = CAL_EXIT_DONE;
    for (int i = 2; status == CAL_EXIT_DONE && cal_page_name(i); i++) status = cal_page_visit(i, print, NULL);
    return status;
}

// --- bash -----------------------------------------------------------------------------------------------------------------

static void put_bash_values(const cal_usage* usage, const cal_option* options, size_t option_count, void* user) {
    (void)user;
    for (size_t i = 0; i < option_count; i++) {
        if (options[i].kind == CAL_OPTION_FLAG) continue;
        printf("        \"%s --%s\") ", usage->command, options[i].name);
        if (options[i].kind == CAL_OPTION_CHOICE) {
            printf("words=\"");
            put_choices(&options[i]);
            printf("\" ;;\n");
        } else {
            printf("%s ;;\n", cal_option_is_file(&options[i]) ? "files=1" : "return");
        }
    }
}

static void put_bash_options(const cal_usage* usage, const cal_option* options, size_t option_count, void* user) {
    (void)user;
    printf("            \"%s\") options=\"", usage->command);
    for (size_t i = 0; i < option_count; i++) printf("--%s ", options[i].name);
    printf("--help\"%s ;;\n", takes_model(usage) ? " words=$models files=1" : "");
}

static int put_bash(void) {
    printf("# Completion of calder for bash; made by 'calder completion bash'.\n_calder() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
           "    local words= options= files= models=\"");
    put_models();
    printf("\"\n    COMPREPLY=()\n    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W \"");
    put_commands();
    printf("\" -- \"$cur\"))\n        return\n    fi\n    if [[ $command == bench ]]; then\n"
           "        if ((COMP_CWORD == 2)); then\n            COMPREPLY=($(compgen -W \"");
    put_benchmarks();
    printf("\" -- \"$cur\"))\n            return\n        fi\n        command=\"bench ${COMP_WORDS[2]}\"\n    fi\n"
           "    case \"$command $prev\" in\n");
    int status = put_all(put_bash_values);
    printf("        *) case \"$command\" in\n            help) words=\"");
    put_commands();
    printf(" models\" ;;\n            completion) words=\"bash zsh fish\" ;;\n");
    if (status == CAL_EXIT_DONE) status = put_all(put_bash_options);
    printf("        esac ;;\n    esac\n    [[ $cur == -* ]] && words=$options\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [[ $files && $cur != -* ]] && COMPREPLY+=($(compgen -f -- \"$cur\")) && compopt -o filenames\n"
           "}\ncomplete -F _calder calder\n");
    return status;
}

// --- zsh ------------------------------------------------------------------------------------------------------------------

static void put_zsh_command(const cal_usage* usage, const cal_option* options, size_t option_count, void* user) {
    (void)user;
    printf("        '%s') _arguments", usage->command);
    for (size_t i = 0; i < option_count; i++) {
        printf(" \\\n            '%s--%s[", options[i].kind == CAL_OPTION_TEXTS ? "*" : "", options[i].name);
        put_quoted(options[i].help, "[]:\\");
        putchar(']');
        if (options[i].kind != CAL_OPTION_FLAG) {
            printf(":%s:", options[i].argument ? options[i].argument : "");
            if (options[i].kind == CAL_OPTION_CHOICE) {
                putchar('(');
                put_choices(&options[i]);
                putchar(')');
            } else if (cal_option_is_file(&options[i])) {
                fputs("_files", stdout);
            }
        }
        putchar('\'');
    }
    if (takes_model(usage)) printf(" \\\n            '*:MODEL:_calder_models'");
    printf(" \\\n            '--help[its options]' ;;\n");
}

static int put_zsh(void) {
    printf("#compdef calder\n# Completion of calder for zsh; made by 'calder completion zsh'.\n"
           "_calder_models() { _alternative 'models:model:(");
    put_models();
    printf(")' 'files:file:_files' }\n_calder() {\n    local -a commands benchmarks\n    commands=(");
    for (int i = 0; cal_command_at(i); i++) {
        printf("\n        '%s:", cal_command_at(i)->name);
        put_quoted(cal_command_at(i)->help, "");
        putchar('\'');
    }
    printf("\n        'help:on a command, or on models')\n    benchmarks=(");
    put_benchmarks();
    printf(")\n    if ((CURRENT == 2)); then _describe command commands; return; fi\n"
           "    shift words; ((CURRENT--))\n    local name=$words[1]\n    if [[ $name == bench ]]; then\n"
           "        if ((CURRENT == 2)); then _describe benchmark benchmarks; return; fi\n"
           "        shift words; ((CURRENT--)); name=\"bench $words[1]\"\n    fi\n"
           "    case $name in\n        help) _describe command commands ;;\n        completion) _values shell bash zsh "
           "fish ;;\n");
    const int status = put_all(put_zsh_command);
    printf("    esac\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then _calder \"$@\"; else compdef _calder "
           "calder; fi\n");
    return status;
}

// --- fish -----------------------------------------------------------------------------------------------------------------

static void put_fish_command(const cal_usage* usage, const cal_option* options, size_t option_count, void* user) {
    (void)user;
    char name[32];
    const char* what = strchr(usage->command, ' ');
    snprintf(name, sizeof name, "%s", what ? what + 1 : usage->command);
    for (size_t i = 0; i < option_count; i++) {
        printf("complete -c calder -n '__fish_seen_subcommand_from %s' -l %s -d '", name, options[i].name);
        for (const char* p = options[i].help; *p; p++) printf(*p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
        putchar('\'');
        if (options[i].kind == CAL_OPTION_CHOICE) {
            printf(" -xa '");
            put_choices(&options[i]);
            putchar('\'');
        } else if (options[i].kind != CAL_OPTION_FLAG) {
            fputs(cal_option_is_file(&options[i]) ? " -rF" : " -x", stdout);
        }
        putchar('\n');
    }
    if (!takes_model(usage)) return;
    printf("complete -c calder -n '__fish_seen_subcommand_from %s' -Fa '", name);
    put_models();
    printf("'\n");
}

static int put_fish(void) {
    printf("# Completion of calder for fish; made by 'calder completion fish'.\ncomplete -c calder -f\n");
    for (int i = 0; cal_command_at(i); i++) {
        printf("complete -c calder -n __fish_use_subcommand -a %s -d '", cal_command_at(i)->name);
        for (const char* p = cal_command_at(i)->help; *p; p++) printf(*p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
        printf("'\n");
    }
    printf("complete -c calder -n __fish_use_subcommand -a help -d 'on a command, or on models'\n"
           "complete -c calder -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
           "complete -c calder -n '__fish_seen_subcommand_from bench' -a '");
    put_benchmarks();
    printf("'\n");
    return put_all(put_fish_command);
}

int cal_command_completion(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*put)(void);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    const cal_usage usage = {
        "completion",
        "SHELL",
        "Prints a script that lets a shell, bash, zsh or fish, complete commands, options and values.",
        NULL,
        "source <(calder completion bash)",
        1,
        1};
    int count = 0;
    const int status = cal_options_parse(&usage, NULL, 0, argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    for (size_t i = 0; i < CAL_ARRAY_COUNT(shells); i++)
        if (strcmp(argv[1], shells[i].name) == 0) {
            const int done = shells[i].put();
            return done == CAL_EXIT_DONE ? cal_finish_output(done) : done;
        }
    return cal_complain(CAL_EXIT_MISTAKE, "completion knows bash, zsh and fish, not '%s'", argv[1]);
}
