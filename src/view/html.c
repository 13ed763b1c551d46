// A run as one page: the viewer's page with the run inside, instead of an address to connect to.
//
// The page has a place, MARKER. There go the scene (JSON) and the frames, a line of base64 each:
//
//     f64  time, s
//     f64 …  channels
//     f32 × 3  lowest corner of a box around all bodies, f32 its largest edge E
//     then for each drawn body  u16 × 3  position in the box, in E / 65535;  i16 × 4  quaternion, in 1 / 32767
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_record.h"
#include "calder/calder_view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "record/drawing.h"
#include "view/describe.h"
#include "view/page.h"

static const char MARKER[] = "<!--recording-->";

struct cal_html {
    cal_whole_file* whole;
    FILE* file; // its stream
    char* path;
    cal_drawing* drawing;
    cal_run* run;
    const cal_channel* channels;
    int channel_count;
    double* poses;
    unsigned char* frame;
    size_t frame_size;
    const unsigned char* rest; // of the page, after the marker
};

static void release(cal_html* html) {
    cal_whole_file_close(html->whole, false, NULL);
    cal_drawing_destroy(html->drawing);
    cal_free(html->poses);
    cal_free(html->frame);
    cal_free(html->path);
    cal_free(html);
}

static const unsigned char* find_marker(void) {
    const size_t length = sizeof MARKER - 1;
    for (size_t i = 0; i + length <= cal_page_size; i++)
        if (memcmp(cal_page + i, MARKER, length) == 0) return cal_page + i;
    return NULL;
}

static bool write_opening(cal_html* html, const char* title, const unsigned char* marker) {
    fwrite(cal_page, 1, (size_t)(marker - cal_page), html->file);
    fputs("<script type=\"application/json\" id=\"recorded-scene\">{\"say\":\"scene\",\"model\":", html->file);
    cal_write_json_text(html->file, title);
    fputs(",\"channels\":", html->file);
    cal_channels_write_json(html->channels, html->channel_count, html->file);
    fputc(',', html->file);
    cal_drawing_write_json(html->drawing, html->file);
    if (!cal_describe_bodies(html->drawing, html->run, html->file)) return false;
    fputs("}</script>\n<script type=\"text/plain\" id=\"recorded-frames\">\n", html->file);
    html->rest = marker + sizeof MARKER - 1;
    return true;
}

cal_status cal_html_create(const char* path, cal_run* run, const char* title, cal_html** out, cal_error* error) {
    if (!path || !run || !title || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_html_create: path, run, title and out must not be NULL");
    *out = NULL;
    const unsigned char* marker = find_marker();
    if (!marker)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "'%s' cannot be written: this build has no page; install npm (Debian: nodejs npm) and build "
                        "again, or write .glb or .csv",
                        path);
    cal_html* html = cal_allocate(1, sizeof *html);
    if (!html) return cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    html->run = run;
    html->channels = cal_run_channels(run, &html->channel_count);
    cal_status status = cal_drawing_create(run, &html->drawing, error);
    html->path = cal_copy_text(path);
    if (!status) {
        html->poses = cal_allocate(7 * (size_t)html->drawing->all_bodies, sizeof *html->poses);
        html->frame_size = 8 + 8 * (size_t)html->channel_count + 16 + 14 * (size_t)html->drawing->body_count;
        html->frame = cal_allocate(html->frame_size, 1);
    }
    if (!status && (!html->path || !html->poses || !html->frame))
        status = cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    if (!status) {
        status = cal_whole_file_create(path, &html->whole, error);
        if (!status) {
            html->file = cal_whole_file_stream(html->whole);
            errno = 0;
            const bool written = write_opening(html, title, marker);
            if (ferror(html->file))
                status = cal_fail_write(error, path, errno);
            else if (!written)
                status = cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
        }
    }
    if (status) {
        release(html);
        return status;
    }
    *out = html;
    return CAL_OK;
}

static void write_base64(FILE* file, const unsigned char* bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        const char text[4] = {digits[word >> 18], digits[word >> 12 & 63], left > 1 ? digits[word >> 6 & 63] : '=',
                              left > 2 ? digits[word & 63] : '='};
        fwrite(text, 1, 4, file);
    }
    fputc('\n', file);
}

static void put(unsigned char** at, const void* value, size_t size) {
    memcpy(*at, value, size);
    *at += size;
}

// The box around all drawn bodies; returns its largest edge.
static double find_box(const cal_html* html, double low[3]) {
    double edge = 1e-6;
    for (int k = 0; k < 3; k++) {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < html->drawing->body_count; i++) {
            least = fmin(least, html->poses[7 * i + k]);
            most = fmax(most, html->poses[7 * i + k]);
        }
        low[k] = html->drawing->body_count > 0 ? least : 0;
        if (html->drawing->body_count > 0) edge = fmax(edge, most - least);
    }
    return edge;
}

// Writes what is in `poses` as a frame.
static cal_status write_frame(cal_html* html, double time, const double* channels, cal_error* error) {
    double low[3];
    const double edge = find_box(html, low);
    const float scale = (float)edge;
    unsigned char* at = html->frame;
    put(&at, &time, 8);
    put(&at, channels, 8 * (size_t)html->channel_count);
    for (int k = 0; k < 3; k++) {
        const float corner = (float)low[k];
        put(&at, &corner, 4);
    }
    put(&at, &scale, 4);
    for (int i = 0; i < html->drawing->body_count; i++) {
        const double* pose = html->poses + 7 * i;
        for (int k = 0; k < 3; k++) {
            const uint16_t number = (uint16_t)fmin(fmax(65535 * (pose[k] - low[k]) / edge + 0.5, 0), 65535);
            put(&at, &number, 2);
        }
        for (int k = 3; k < 7; k++) {
            const int16_t number = (int16_t)fmin(fmax(round(32767 * pose[k]), -32767), 32767);
            put(&at, &number, 2);
        }
    }
    errno = 0;
    write_base64(html->file, html->frame, html->frame_size);
    return ferror(html->file) ? cal_fail_write(error, html->path, errno) : CAL_OK;
}

cal_status cal_html_write(cal_html* html, cal_error* error) {
    if (!html) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_html_write: html must not be NULL");
    double channels[CAL_RUN_CHANNELS];
    cal_status status = cal_run_poses(html->run, html->poses, error);
    if (!status) status = cal_run_read(html->run, channels, error);
    return status ? status : write_frame(html, cal_run_time(html->run), channels, error);
}

cal_status cal_html_close(cal_html* html, cal_error* error) {
    if (!html) return CAL_OK;
    fputs("</script>\n", html->file);
    fwrite(html->rest, 1, cal_page_size - (size_t)(html->rest - cal_page), html->file);
    const cal_status status = cal_whole_file_close(html->whole, true, error);
    html->whole = NULL;
    release(html);
    return status;
}
