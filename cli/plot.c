// Line plots as SVG.
//
//   +--------------------------------------------+
//   | title                                      |
//   | y label                                    |
//   |  |                              | legend   |
//   |  |   plot area                  |          |
//   |  +------------------------------+          |
//   |            x label                         |
//   +--------------------------------------------+
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "calder/calder_record.h"
#include "command.h"
#include "machine.h"

#define WIDTH 860.0
#define HEIGHT 440.0
#define LEFT 84.0
#define RIGHT 690.0
#define TOP 62.0
#define BOTTOM 384.0

typedef struct axis {
    double low, high;   // in values, or in their logarithms to the base 10
    double step;        // between ticks
    double start, stop; // in pixels
    bool logarithmic;
} axis;

// Colours that keep their contrast on white and on near-black; text and lines follow the reader's scheme.
static const char style[] =
    "<style>\n"
    "svg{color:#222;font:13px system-ui,sans-serif}\n"
    ".page{fill:#fff}text{fill:currentColor}.title{font-size:16px;font-weight:600}.soft{opacity:.75}\n"
    ".grid{stroke:currentColor;opacity:.15}.frame{stroke:currentColor;opacity:.6;fill:none}\n"
    ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}\n"
    ".c0{color:#1f77c4}.c1{color:#d9640c}.c2{color:#2a9d4a}.c3{color:#c43a5b}.c4{color:#8458c9}.c5{color:#8a7500}\n"
    ".line,.dot{stroke:currentColor}.dot{fill:currentColor}\n"
    "@media(prefers-color-scheme:dark){svg{color:#e6e6e6}.page{fill:#16181c}\n"
    ".c0{color:#5aa9f0}.c1{color:#f59342}.c2{color:#58c878}.c3{color:#f0708d}.c4{color:#b491f0}.c5{color:#d1b83a}}\n"
    "</style>\n";

static void write_text(FILE* file, const char* text) {
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '&': fputs("&amp;", file); break;
        default: fputc(*text, file);
        }
    }
}

static bool can_be_drawn(double value, bool logarithmic) { return isfinite(value) && (!logarithmic || value > 0); }

static double on_scale(double value, bool logarithmic) { return logarithmic ? log10(value) : value; }

// The nearest of 1, 2, 5 times a power of ten that is at least as large.
static double round_up_step(double step) {
    double power = pow(10, floor(log10(step)));
    double digit = step / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static axis fit_axis(const cal_plot_panel* panel, bool vertical, double start, double stop) {
    bool logarithmic = vertical && panel->logarithmic;
    double low = INFINITY, high = -INFINITY;
    for (int s = 0; s < panel->series_count; s++) {
        const cal_plot_series* series = &panel->series[s];
        for (size_t i = 0; i < series->count; i++) {
            if (!isfinite(series->x[i]) || !can_be_drawn(series->y[i], panel->logarithmic)) continue;
            double value = on_scale(vertical ? series->y[i] : series->x[i], logarithmic);
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (!(low <= high)) {
        low = 0;
        high = 1;
    }
    // A constant must not fill the axis with its rounding errors.
    double least_span = logarithmic ? 0.5 : fmax(1e-9, 1e-6 * fmax(fabs(low), fabs(high)));
    if (high - low < least_span) {
        double middle = 0.5 * (low + high);
        low = middle - 0.5 * least_span;
        high = middle + 0.5 * least_span;
    }
    double step = logarithmic ? fmax(1, round_up_step((high - low) / 6)) : round_up_step((high - low) / 6);
    if (vertical) {
        // Whole ticks around lines; on a logarithmic axis a little room, for ticks of 1, 2 and 5 stand inside a decade.
        low = logarithmic ? low - 0.05 * (high - low) : step * floor(low / step + 1e-9);
        high = logarithmic ? high + 0.05 * (high - low) : step * ceil(high / step - 1e-9);
    }
    return (axis){low, high, step, start, stop, logarithmic};
}

static double to_pixel(const axis* a, double value) {
    double position = (on_scale(value, a->logarithmic) - a->low) / (a->high - a->low);
    return a->start + position * (a->stop - a->start);
}

static void write_tick(FILE* file, const axis* a, bool vertical, double value) {
    double p = to_pixel(a, value);
    if (vertical) {
        fprintf(file, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, p, RIGHT);
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.10g</text>\n", LEFT - 8, p + 4, value);
    } else {
        fprintf(file, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", p, BOTTOM, TOP);
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.10g</text>\n", p, BOTTOM + 20, value);
    }
}

static void write_ticks(FILE* file, const axis* a, bool vertical) {
    if (!a->logarithmic) {
        double tick = a->step * ceil(a->low / a->step - 1e-9);
        for (int i = 0; i < 16 && tick + i * a->step <= a->high + 1e-9 * a->step; i++) {
            double value = tick + i * a->step;
            write_tick(file, a, vertical, fabs(value) < 1e-9 * a->step ? 0 : value);
        }
        return;
    }
    bool wide = a->high - a->low > 2.5;
    for (int decade = (int)floor(a->low); decade <= (int)ceil(a->high); decade++) {
        if (a->step > 1 && decade % (int)a->step != 0) continue;
        const double digits[] = {1, 2, 5};
        for (int d = 0; d < (wide ? 1 : 3); d++) {
            double value = digits[d] * pow(10, decade), position = log10(value);
            if (position >= a->low && position <= a->high) write_tick(file, a, vertical, value);
        }
    }
}

static void write_series(FILE* file, const cal_plot_panel* panel, const cal_plot_series* series, const axis* horizontal,
                         const axis* vertical) {
    bool joined = false;
    double last_x = 0, last_y = 0;
    fprintf(file, "<g class=\"c%d\"><path class=\"line\"%s d=\"", series->color,
            series->dashed ? " stroke-dasharray=\"6 5\"" : "");
    for (size_t i = 0; i < series->count; i++) {
        if (!isfinite(series->x[i]) || !can_be_drawn(series->y[i], panel->logarithmic)) {
            joined = false;
            continue;
        }
        double x = to_pixel(horizontal, series->x[i]), y = to_pixel(vertical, series->y[i]);
        // Points that nobody could tell apart only make the file long.
        if (joined && i + 1 < series->count && hypot(x - last_x, y - last_y) < 0.4) continue;
        fprintf(file, "%c%.1f %.1f", joined ? 'L' : 'M', x, y);
        joined = true;
        last_x = x;
        last_y = y;
    }
    fputs("\"/>", file);
    for (size_t i = 0; series->marked && i < series->count; i++) {
        if (!isfinite(series->x[i]) || !can_be_drawn(series->y[i], panel->logarithmic)) continue;
        fprintf(file, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>", to_pixel(horizontal, series->x[i]),
                to_pixel(vertical, series->y[i]), series->dashed ? "1.5" : "3");
    }
    fputs("</g>\n", file);
}

static void write_legend(FILE* file, const cal_plot_panel* panel) {
    for (int s = 0; s < panel->series_count; s++) {
        double y = TOP + 10 + 20 * s;
        fprintf(file, "<g class=\"c%d\"><path class=\"line\"%s d=\"M%.0f %.0fh26\"/></g>", panel->series[s].color,
                panel->series[s].dashed ? " stroke-dasharray=\"6 5\"" : "", RIGHT + 16, y);
        fprintf(file, "<text x=\"%.0f\" y=\"%.0f\">", RIGHT + 50, y + 4);
        write_text(file, panel->series[s].name);
        fputs("</text>\n", file);
    }
}

static void write_panel(FILE* file, const cal_plot_panel* panel, int index) {
    axis horizontal = fit_axis(panel, false, LEFT, RIGHT), vertical = fit_axis(panel, true, BOTTOM, TOP);
    fprintf(file, "<g transform=\"translate(0 %.0f)\">\n<text class=\"title\" x=\"%.0f\" y=\"26\">", index * HEIGHT,
            20.0);
    write_text(file, panel->title);
    fprintf(file, "</text>\n<text class=\"soft\" x=\"20\" y=\"%.0f\">", TOP - 14);
    write_text(file, panel->y_label);
    fprintf(file, "</text>\n<text class=\"soft\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", RIGHT, BOTTOM + 42);
    write_text(file, panel->x_label);
    fputs("</text>\n", file);
    write_ticks(file, &vertical, true);
    write_ticks(file, &horizontal, false);
    fprintf(file, "<path class=\"frame\" d=\"M%.0f %.0fV%.0fH%.0f\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
    for (int s = 0; s < panel->series_count; s++) write_series(file, panel, &panel->series[s], &horizontal, &vertical);
    write_legend(file, panel);
    fputs("</g>\n", file);
}

bool cal_plot_write(FILE* file, const cal_plot_panel* panels, int panel_count) {
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n",
            WIDTH, HEIGHT * panel_count, WIDTH, HEIGHT * panel_count);
    fputs(style, file);
    fputs("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n", file);
    for (int i = 0; i < panel_count; i++) write_panel(file, &panels[i], i);
    fputs("</svg>\n", file);
    return fflush(file) == 0 && !ferror(file);
}

int cal_plot_check(const char* path) {
    if (!path || !cal_is_first_rank()) return CAL_EXIT_DONE;
    FILE* file = fopen(path, "a");
    if (file && fclose(file) == 0) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_MISTAKE, "cannot write '%s': %s", path, strerror(errno));
}

int cal_plot_save(const char* path, const cal_plot_panel* panels, int panel_count) {
    if (!path || !cal_is_first_rank()) return CAL_EXIT_DONE;
    cal_whole_file* whole = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_whole_file_create(path, &whole, &error) == CAL_OK) {
        cal_plot_write(cal_whole_file_stream(whole), panels, panel_count);
        cal_whole_file_close(whole, true, &error);
    }
    return error.status != CAL_OK ? cal_complain_error(&error) : CAL_EXIT_DONE;
}
