// The files of `--out`.
#define _POSIX_C_SOURCE 200809L
#include "recording.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double PAGE_SPACING = 1.0 / 30; // s: the page interpolates

static bool ends_with(const char* text, const char* end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

int cal_recording_sort(const cal_texts* names, cal_recording* recording) {
    *recording = (cal_recording){.shown = -INFINITY};
    for (int i = 0; i < names->count; i++) {
        const char* name = names->items[i];
        const bool table = ends_with(name, ".csv") || strcmp(name, "-") == 0;
        const char** place = ends_with(name, ".glb")    ? &recording->glb_path
                             : ends_with(name, ".html") ? &recording->html_path
                                                        : &recording->csv_path;
        if (place == &recording->csv_path && !table)
            return cal_complain(CAL_EXIT_MISTAKE,
                                "--out '%s': what kind of file is that? .csv, .glb and .html are known, and - is a "
                                "table on standard output",
                                name);
        if (*place)
            return cal_complain(CAL_EXIT_MISTAKE, "--out names '%s' and '%s'; one file of a kind is enough", *place,
                                name);
        *place = name;
    }
    return CAL_EXIT_DONE;
}

int cal_recording_open(cal_recording* r, cal_run* run, const char* title, const char* events, bool resumes, double last,
                       unsigned columns) {
    cal_error error = {CAL_OK, ""};
    r->continues = resumes && r->csv_path && access(r->csv_path, F_OK) == 0;
    if (r->continues)
        error.status = cal_csv_resume(r->csv_path, run, columns, last, &r->csv, &error);
    else if (r->csv_path)
        error.status = cal_csv_create(r->csv_path, run, columns, &r->csv, &error);
    if (error.status == CAL_OK && events) error.status = cal_csv_create_events(events, run, &r->events, &error);
    if (error.status == CAL_OK && r->glb_path) error.status = cal_glb_create(r->glb_path, run, title, &r->glb, &error);
    if (error.status == CAL_OK && r->html_path)
        error.status = cal_html_create(r->html_path, run, title, &r->html, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Whether the page needs the frame of a time; then it counts as shown.
static bool page_needs(cal_recording* r, double time, bool last) {
    const bool needed = r->html && (last || time - r->shown > PAGE_SPACING * (1 - 1e-6));
    if (needed) r->shown = time;
    return needed;
}

int cal_recording_write(cal_recording* r, cal_run* run, bool last) {
    cal_error error = {CAL_OK, ""};
    const bool known = r->continues && r->frames == 0;
    r->frames++;
    if (r->csv && !known) error.status = cal_csv_write(r->csv, &error);
    if (error.status == CAL_OK && r->events) error.status = cal_csv_write(r->events, &error);
    if (error.status == CAL_OK && r->glb) error.status = cal_glb_write(r->glb, &error);
    if (error.status == CAL_OK && page_needs(r, cal_run_time(run), last))
        error.status = cal_html_write(r->html, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_FAILED, "%s", error.text);
}

int cal_recording_flush(cal_recording* r) {
    cal_error error = {CAL_OK, ""};
    if (r->csv) error.status = cal_csv_flush(r->csv, &error);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_FAILED, "%s", error.text);
}

int cal_recording_close(cal_recording* r) {
    cal_error errors[4] = {{CAL_OK, ""}, {CAL_OK, ""}, {CAL_OK, ""}, {CAL_OK, ""}};
    errors[0].status = cal_csv_close(r->csv, &errors[0]);
    errors[1].status = cal_csv_close(r->events, &errors[1]);
    errors[2].status = cal_glb_close(r->glb, &errors[2]);
    errors[3].status = cal_html_close(r->html, &errors[3]);
    r->csv = r->events = NULL;
    r->glb = NULL;
    r->html = NULL;
    for (int i = 0; i < 4; i++)
        if (errors[i].status != CAL_OK) return cal_complain(CAL_EXIT_FAILED, "%s", errors[i].text);
    return CAL_EXIT_DONE;
}

size_t cal_recording_frames(const cal_recording* r) { return r->frames - (r->continues ? 1 : 0); }
