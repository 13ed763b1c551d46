// `calder view`: the model live in the browser.
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calder/calder_view.h"
#include "gallery.h"
#include "run_open.h"

extern char** environ;

typedef struct view_options {
    const char* listen;
    int64_t port;
    bool open, paused, json;
    // Of a gallery.
    bool gallery, again; // it offers others; it is not the first one
    char upload[512];
    char next[1024]; // what was chosen; empty: nothing
    char note[256];
    char token[80]; // the first viewer's, so that the page that shows one model may show the next
} view_options;

// The viewer that Ctrl-C ends; a handler has no other way to know it.
static cal_viewer* volatile served;
static volatile sig_atomic_t ended; // also where nothing is served: the gallery goes from one model to the next

static void end(int signal_number) {
    (void)signal_number;
    ended = 1;
    if (served) cal_viewer_stop(served);
}

static void print_details(void) {
    cal_print_scenes();
    printf(
        "\nIn the page: drag to turn, right button or two fingers to move, wheel or pinch to zoom; space pauses,\n"
        "arrows step, + and - change the speed, backspace starts anew, a click selects a body, Ctrl and drag\n"
        "drags it; ? or F1 shows all of it. Ctrl-C ends the server. Without MODEL the page begins with a gallery, and\n"
        "takes folders with models that are dropped onto it.\n\n"
        "The server answers only to this machine. With --listen others can connect and look. The printed address has "
        "a\n"
        "token: only pages from there can change anything. Folders are taken from this machine only.\n"
        "'mpirun -n 8 calder view MODEL --machine mpi' shows a model on ranks.\n");
}

// Starts the desktop's browser and does not wait for it.
static int open_browser(const char* address) {
    char opener[] = "xdg-open", text[256];
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

// What the page asks to open next, and that it is at the same address.
static void remember_choice(const cal_viewer* viewer, view_options* options) {
    const char* file;
    const int card = cal_viewer_chosen(viewer, &file);
    options->next[0] = '\0';
    options->port = cal_viewer_port(viewer);
    snprintf(options->token, sizeof options->token, "%s", cal_viewer_token(viewer));
    options->again = true;
    if (card >= 0)
        snprintf(options->next, sizeof options->next, "%s", cal_gallery_model(card));
    else if (file)
        snprintf(options->next, sizeof options->next, "%s/%s", options->upload, file);
}

static int serve(cal_viewer* viewer, const char* title, view_options* options) {
    cal_error error = {CAL_OK, ""};
    int status = options->open && !options->again ? open_browser(cal_viewer_address(viewer)) : CAL_EXIT_DONE;
    if (status == CAL_EXIT_DONE) {
        served = viewer;
        cal_watch_ends(end);
        if (options->again)
            printf("%s\n", title);
        else if (options->json)
            printf("{\"address\": \"%s\"}\n", cal_viewer_address(viewer));
        else
            printf("%s is at %s  (Ctrl-C ends it)\n", title, cal_viewer_address(viewer));
        status = cal_finish_output(CAL_EXIT_DONE);
    }
    if (status == CAL_EXIT_DONE && !ended) {
        error.status = cal_viewer_run(viewer, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    served = NULL;
    remember_choice(viewer, options);
    cal_viewer_destroy(viewer);
    return status;
}

// A page each has a descriptor: as many as the viewer has places for, where the system lets one ask for them.
static void allow_many_pages(void) {
    enum { ENOUGH = 2048 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ENOUGH) return;
    limit.rlim_cur = limit.rlim_max < ENOUGH ? limit.rlim_max : ENOUGH;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_this_machine_only(const char* address) {
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

// Says why it is slower than it should be; the page says the same.
static void say_slow(void* user, const char* text) {
    (void)user;
    fprintf(stderr, "calder: %s\n", text);
}

// A mobile as printed hangs much on thin links, and their swing is what needs the small steps.
static const char* advise(const char* model) {
    const bool stiff = strncmp(model, "mobile", 6) == 0 && !strstr(model, "taper=");
    return stiff ? "a mobile with taper=0.1 has as many joints and needs hundreds of times fewer evaluations" : NULL;
}

static int view(cal_opened* opened, view_options* options) {
    cal_viewer* viewer = NULL;
    cal_error error = {CAL_OK, ""};
    char note[256];
    opened->rests = true;
    int status = cal_run_open(opened);
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_run_begin(opened->run, opened->options->project, note, &error);
    if (error.status != CAL_OK) return cal_complain(CAL_EXIT_MISTAKE, "%s", error.text);
    if (!cal_ranks_share(&opened->run, &error)) return cal_complain_error(&error);
    if (!cal_is_first_rank()) {
        // The first rank answers a signal, and the others hear of it from there.
        cal_watch_ends(SIG_IGN);
        cal_ranks_follow(opened->run);
        return CAL_EXIT_DONE;
    }
    if (!is_this_machine_only(options->listen))
        fprintf(stderr, "calder: listening at %s: whoever can reach this machine can look, and pull with the token\n",
                options->listen);
    cal_viewer_def def = cal_default_viewer_def();
    def.title = opened->name;
    def.listen = options->listen;
    def.port = (int)options->port;
    def.paused = options->paused;
    def.notice = say_slow;
    def.advice = advise(opened->name);
    if (options->gallery) def.cards = cal_gallery_cards(&def.card_count);
    def.gallery = options->gallery && !options->again;
    def.upload = options->upload[0] ? options->upload : NULL;
    def.token = options->token[0] ? options->token : NULL;
    def.note = options->note[0] ? options->note : NULL;
    error.status = cal_viewer_create(opened->run, &def, &viewer, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    cal_mention_issues(opened->name, opened->read);
    if (note[0]) cal_complain(0, "%s: %s", opened->name, note);
    return serve(viewer, opened->name, options);
}

// Shows one model, and says in *next what comes after it.
static int view_one(const char* model, cal_run_options* run, const cal_option_table* table, view_options* options) {
    cal_opened opened;
    int status = cal_run_decide(model, run, table, &opened);
    if (status != CAL_EXIT_DONE) return status;
    status = view(&opened, options);
    cal_run_release(&opened);
    return status;
}

// The gallery: one model after the other, at one address. What cannot be opened leaves the mobile, and a line.
static int view_gallery(cal_run_options* run, const cal_option_table* table, view_options* options) {
    char model[sizeof options->next] = "mobile";
    int status = CAL_EXIT_DONE;
    if (run->machine && strcmp(run->machine, "mpi") == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--machine 'mpi' needs a MODEL: a gallery is one process's");
    options->gallery = true;
    cal_complain_as_json(false); // what one model is refused for does not end the gallery
    if (!is_this_machine_only(options->listen) || !cal_gallery_make_folder(options->upload, sizeof options->upload))
        options->upload[0] = '\0';
    for (bool plain = true; model[0] && status == CAL_EXIT_DONE && !ended;) {
        options->next[0] = '\0';
        status = view_one(model, run, table, options);
        if (status != CAL_EXIT_DONE && !plain) {
            const char* name = strrchr(model, '/');
            snprintf(options->note, sizeof options->note, "%.60s cannot be opened: %.150s", name ? name + 1 : model,
                     cal_last_complaint());
            snprintf(options->next, sizeof options->next, "mobile");
            status = CAL_EXIT_DONE;
        } else {
            options->note[0] = '\0';
        }
        memcpy(model, options->next, sizeof model);
        plain = strcmp(model, "mobile") == 0;
    }
    cal_gallery_remove_folder(options->upload);
    return status;
}

int cal_command_view(int argc, char** argv) {
    view_options options = {.listen = "127.0.0.1"};
    cal_run_options run = cal_default_run_options();
    cal_option_table table = {.count = 0};
    const cal_option rows[] = {
        {"port", CAL_OPTION_COUNT, &options.port, "N", "port to listen at; 0: the first free one from 7878", 0, 65535,
         NULL},
        {"listen", CAL_OPTION_TEXT, &options.listen, "ADDRESS",
         "address to listen at; 0.0.0.0: everybody on the network can connect", 0, 0, NULL},
        {"open", CAL_OPTION_FLAG, &options.open, NULL, "open the page in the desktop's browser", 0, 0, NULL},
        {"paused", CAL_OPTION_FLAG, &options.paused, NULL, "wait for somebody to press space", 0, 0, NULL},
        {"json", CAL_OPTION_FLAG, &options.json, NULL, "print the address as a JSON object", 0, 0, NULL},
    };
    cal_option_table_add(&table, rows, CAL_ARRAY_COUNT(rows));
    cal_run_options_add(&run, &table);
    const cal_usage usage = {"view",
                             "[MODEL]",
                             "Shows a model or a scene moving in the browser, and lets you grab a body and drag it. "
                             "Without MODEL: a gallery.",
                             print_details,
                             "calder view mobile --open",
                             0,
                             1};
    int count = 0;
    int status = cal_options_parse_given(&usage, table.rows, table.count, argc, argv, &count, table.given);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (cal_viewer_available() && !cal_viewer_has_page())
        return cal_complain(CAL_EXIT_MISTAKE,
                            "the viewer's page was left out of this build: npm was not there or could "
                            "not fetch (Debian: nodejs npm); build again");
    allow_many_pages();
    return count > 0 ? view_one(argv[1], &run, &table, &options) : view_gallery(&run, &table, &options);
}
