// The progress bar.
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "command.h"

#define BAR_WIDTH 30

cal_progress cal_progress_start(const char* label) {
    double now = cal_wall_seconds();
    return (cal_progress){label, now, now, isatty(STDERR_FILENO) == 1};
}

void cal_progress_show(cal_progress* progress, double fraction) {
    if (!progress->visible) return;
    double now = cal_wall_seconds();
    if (now - progress->shown < 0.1) return;
    progress->shown = now;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    char bar[3 * BAR_WIDTH + 1];
    int filled = (int)(fraction * BAR_WIDTH);
    char* end = bar;
    for (int i = 0; i < BAR_WIDTH; i++) end += snprintf(end, 4, "%s", i < filled ? "█" : "░");
    fprintf(stderr, "\r%s %s %3.0f %%", progress->label, bar, 100 * fraction);
    if (fraction > 0) {
        double left = (now - progress->started) * (1 - fraction) / fraction;
        if (left < 90)
            fprintf(stderr, "  %.0f s left", left);
        else
            fprintf(stderr, "  %.0f min left", left / 60);
    }
    fputs("\033[K", stderr);
    fflush(stderr);
}

void cal_progress_end(cal_progress* progress) {
    if (progress->visible) fputs("\r\033[K", stderr);
    progress->visible = false;
}
