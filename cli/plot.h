// Line plots as SVG: one file of panels below each other, each with axes, a title and a legend; light or dark as the
// reader's screen is.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cal_plot_series {
    const char* name;
    const double* x;
    const double* y; // numbers that cannot be drawn (not finite, or not positive on a logarithmic axis) leave a gap
    size_t count;
    int color;   // 0 … 5; series that belong together share one
    bool dashed; // to tell what is compared from what it is compared with
    bool marked; // a dot at each point
} cal_plot_series;

typedef struct cal_plot_panel {
    const char* title;
    const char* x_label;
    const char* y_label;
    bool logarithmic; // the y axis
    const cal_plot_series* series;
    int series_count;
} cal_plot_panel;

// Writes the panels to an open file; false when the file did not take them.
bool cal_plot_write(FILE* file, const cal_plot_panel* panels, int panel_count);

// For commands, with path as --plot gave it: nothing is done for NULL, and on ranks after the first. Both return
// CAL_EXIT_DONE or complain. The first finds out before a long computation whether the file can be written.
int cal_plot_check(const char* path);
int cal_plot_save(const char* path, const cal_plot_panel* panels, int panel_count);
