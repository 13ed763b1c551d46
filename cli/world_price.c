// Worlds that are made again and again, and what they take on so many processors.
#include "world_price.h"

#include "run_open.h"

enum { FEW_COUNTS = 12 };
static const double ENOUGH_EVENTS = 50000, FIRST_TIME = 1e-2, LONGEST_TIME = 20; // s

bool cal_is_world(const char* argument, bool asked) { return asked || cal_scene_of(argument) >= 0; }

int cal_world_source_open(const char* argument, cal_world_source* out) {
    *out = (cal_world_source){.name = argument};
    if (cal_scene_of(argument) >= 0) return CAL_EXIT_DONE;
    const int status = cal_model_from_argument(argument, &out->model);
    if (status == CAL_EXIT_DONE && !cal_model_can_touch(out->model))
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--world is for a model whose shapes touch, and for scenes; nothing touches in '%s'",
                            argument);
    return status;
}

void cal_world_source_close(cal_world_source* source) {
    cal_model_destroy(source->model);
    source->model = NULL;
}

int cal_world_make(const cal_world_source* source, cal_machine* machine, cal_world_made* out) {
    *out = (cal_world_made){.systems = cal_default_sim_def(), .events = cal_default_world_def()};
    cal_error error = {CAL_OK, ""};
    out->systems.machine = machine;
    out->events.group_tolerance = out->systems.relative;
    out->events.tolerance = cal_flight_tolerance(out->systems.relative);
    out->events.separate = source->model != NULL;
    if (source->model) {
        out->systems.events = &out->events;
        error.status = cal_sim_create(source->model, &out->systems, &out->sim, &error);
        if (error.status == CAL_OK) out->world = cal_sim_world(out->sim);
    } else {
        out->events.systems = &out->systems;
        error.status = cal_world_generate(source->name, &out->events, &out->world, &error);
        if (error.status == CAL_OK) error.status = cal_world_advance(out->world, 0, &error);
    }
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

void cal_world_unmake(cal_world_made* made) {
    if (made->sim)
        cal_sim_destroy(made->sim);
    else
        cal_world_destroy(made->world);
    *made = (cal_world_made){0};
}

int cal_world_choose_time(const cal_world_source* source, double* time) {
    cal_world_made made;
    int status = cal_world_make(source, NULL, &made);
    for (*time = FIRST_TIME; status == CAL_EXIT_DONE; *time *= 2) {
        cal_world_report report = {0};
        cal_error error = {CAL_OK, ""};
        error.status = cal_world_advance(made.world, *time, &error);
        if (error.status == CAL_OK) error.status = cal_world_get_report(made.world, &report);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
        if (error.status != CAL_OK || (double)report.events >= ENOUGH_EVENTS || *time >= LONGEST_TIME) break;
    }
    cal_world_unmake(&made);
    return status;
}

int cal_world_find_price(const cal_world_source* source, int processors, double time, const cal_priced_world* one,
                         cal_priced_world* out) {
    cal_world_made made;
    *out = (cal_priced_world){.processors = processors, .used = 1};
    int status = cal_world_make(source, NULL, &made);
    cal_error error = {CAL_OK, ""};
    if (status == CAL_EXIT_DONE) error.status = cal_world_price(made.world, processors, time, &out->report, &error);
    cal_world_unmake(&made);
    if (status != CAL_EXIT_DONE) return status;
    if (error.status != CAL_OK) return cal_complain_error(&error);
    const cal_world_report* r = &out->report;
    const bool divided = one && r->domains > 1 && r->busiest_s + r->between_s < one->seconds;
    if (divided) out->used = r->processors;
    out->seconds = divided || !one ? r->busiest_s + r->between_s : one->seconds;
    out->speedup = one ? one->seconds / out->seconds : 1;
    const bool tried = r->windows > 0; // and not worth it, where it is not divided
    out->balance = tried ? r->domains_s / r->busiest_s : 1;
    out->bound = tried ? (r->domains_s + r->between_s) / (r->largest_s + r->between_s) : 1;
    return CAL_EXIT_DONE;
}

bool cal_is_worth_a_run(const int* counts, int count, int i) {
    int n = counts[i];
    while (n % 2 == 0) n /= 2;
    return count <= FEW_COUNTS || i == 0 || i + 1 == count || n == 1 || n == 3;
}
