// `calder view SCENE`: a world of colliding bodies live in the browser.
#include <stdio.h>

#include "view.h"
#include "world_options.h"

typedef struct scene {
    const char* specification;
    cal_world_def def;
} scene;

static cal_status make(void* user, cal_world** out, cal_error* error) {
    const scene* s = user;
    return cal_world_generate(s->specification, &s->def, out, error);
}

static void print_details(void) {
    cal_print_scenes();
    printf("\nParameters: 'calder help models'. In the page: space pauses, arrows step, + and - change the speed,\n"
           "backspace starts anew, a click selects a body; bodies cannot be pulled. What is shown is final: no later\n"
           "rollback changes it. Ctrl-C ends the server.\n");
}

int cal_view_world(int argc, char** argv) {
    cal_view_options options = {.listen = "127.0.0.1"};
    cal_world_options worlds = cal_default_world_options();
    const cal_option table[] = {CAL_VIEW_OPTIONS(options), CAL_WORLD_OPTIONS(worlds)};
    const cal_usage usage = {"view",
                             "SCENE",
                             "Shows a world of colliding bodies moving in the browser.",
                             print_details,
                             "calder view stack:kind=pyramid --open",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    cal_viewer_def def = cal_default_viewer_def();
    cal_viewer* viewer = NULL;
    cal_error error = {CAL_OK, ""};
    scene chosen = {argv[1], cal_world_def_of(&worlds)};
    status = cal_view_prepare(&options, argv[1], &def);
    if (status != CAL_EXIT_DONE) return status;
    if (cal_scene_of(argv[1]) < 0) return cal_complain(CAL_EXIT_MISTAKE, "there is no scene '%s'", argv[1]);
    cal_view_warn(&options);
    error.status = cal_viewer_create_world(make, &chosen, &def, &viewer, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    return cal_view_serve(viewer, def.title, &options);
}
