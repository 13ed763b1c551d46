// The files of `--out`: a table (.csv, or - for standard output), a glTF animation (.glb), a page that plays the run (.html); and the
// table of `--events`.
#pragma once
#include "calder/calder_record.h"
#include "calder/calder_view.h"
#include "command.h"
#include "options.h"

typedef struct cal_recording {
    const char* csv_path; // NULL: none
    const char* glb_path;
    const char* html_path;
    cal_csv *csv, *events;
    cal_glb* glb;
    cal_html* html;
    bool continues; // the table has the rows up to the start already
    size_t frames;  // that were offered
    double shown;   // time of the page's last frame
} cal_recording;

// Sorts names by their endings; complains when two are of one kind. Returns CAL_EXIT_DONE or complains, as the others.
int cal_recording_sort(const cal_texts* names, cal_recording* recording);
// Opens all of them, and the table of events (may be NULL). A table that exists is continued after its row at `last` when
// `resumes`; columns: as of cal_csv_create.
int cal_recording_open(cal_recording* recording, cal_run* run, const char* title, const char* events, bool resumes,
                       double last, unsigned columns);
// Adds a frame; the page gets thirty per second at most, and the last one of the run.
int cal_recording_write(cal_recording* recording, cal_run* run, bool last);
// Brings the table's rows to the disk.
int cal_recording_flush(cal_recording* recording);
// Completes and closes all of them, and says what went wrong first.
int cal_recording_close(cal_recording* recording);
// Frames in the files, but for those that were there before.
size_t cal_recording_frames(const cal_recording* recording);
