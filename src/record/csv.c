// Comma-separated tables of a run: a header that names joints and components, one row a sample.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

struct cal_csv {
    FILE* file;
    const cal_model* model;
    char* path;
    unsigned columns; // CAL_CSV_…
    double* forces;   // of all joints; NULL: not written
};

// Names of a joint's numbers after the joint's own: positions, then velocities.
static const char* const one_degree_components[] = {"q", "v", NULL};
static const char* const ball_components[] = {"qw", "qx", "qy", "qz", "wx", "wy", "wz", NULL};
static const char* const free_components[] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                              "vx", "vy", "vz", "wx", "wy", "wz", NULL};

static const char* const force_components[] = {"fx", "fy", "fz", "mx", "my", "mz", NULL};

static const char* const* component_names(cal_joint_kind kind) {
    return kind == CAL_BALL ? ball_components : kind == CAL_FREE ? free_components : one_degree_components;
}

const char* cal_number_text(double value, char text[CAL_NUMBER_CAPACITY]) {
    if (!isfinite(value)) {
        snprintf(text, CAL_NUMBER_CAPACITY, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, CAL_NUMBER_CAPACITY, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    // The host program may have chosen a locale whose decimal point is not a point, and may be several bytes long.
    char* end = text;
    for (const char* p = text; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
        if (plain)
            *end++ = *p;
        else if (end == text || end[-1] != '.')
            *end++ = '.';
    }
    *end = '\0';
    return text;
}

static void write_quoted(FILE* file, const char* name, const char* component) {
    bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    if (quoted) fputc('"', file);
    for (const char* p = name; *p; p++) {
        if (*p == '"') fputc('"', file);
        fputc(*p, file);
    }
    fprintf(file, ".%s%s", component, quoted ? "\"" : "");
}

static void write_names(FILE* file, const char* name, const char* const* component) {
    for (; *component; component++) {
        fputc(',', file);
        write_quoted(file, name, *component);
    }
}

static void write_header(FILE* file, const cal_model* model, unsigned columns) {
    char text[64];
    fputs("time", file);
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        cal_model_joint(model, joint, &def, NULL, NULL, NULL);
        const char* name = def.name ? def.name : cal_model_joint_name(model, joint, text, sizeof text);
        write_names(file, name, component_names(def.kind));
        if (columns & CAL_CSV_FORCES) write_names(file, name, force_components);
    }
    fputs(",energy_kinetic,energy_potential\n", file);
}

static void write_numbers(FILE* file, const double* values, int count) {
    char text[CAL_NUMBER_CAPACITY];
    for (int i = 0; i < count; i++) {
        fputc(',', file);
        fputs(cal_number_text(values[i], text), file);
    }
}

static cal_status fail_with_errno(cal_error* error, const char* path) {
    const char* reason = errno ? strerror(errno) : "unknown error";
    return cal_fail(error, CAL_BAD_ARGUMENT, "cannot write '%s': %s", path, reason);
}

// A recorder without a file yet.
static cal_status begin(const char* path, const cal_model* model, unsigned columns, cal_csv** out, cal_error* error) {
    cal_csv* csv = cal_allocate(1, sizeof *csv);
    char* copy = cal_copy_text(path);
    double* forces = NULL;
    if (columns & CAL_CSV_FORCES) forces = cal_allocate(6 * (size_t)cal_model_joint_count(model), sizeof *forces);
    *out = NULL;
    if (!csv || !copy || (columns & CAL_CSV_FORCES && !forces)) {
        cal_free(csv);
        cal_free(copy);
        cal_free(forces);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    }
    *csv = (cal_csv){NULL, model, copy, columns, forces};
    *out = csv;
    return CAL_OK;
}

// Keeps the recorder when it was made well, and ends it otherwise.
static cal_status end(cal_csv* csv, cal_status status, cal_csv** out) {
    *out = status == CAL_OK ? csv : NULL;
    if (status == CAL_OK || !csv) return status;
    if (csv->file) fclose(csv->file);
    cal_free(csv->path);
    cal_free(csv->forces);
    cal_free(csv);
    return status;
}

static bool open_file(cal_csv* csv, const char* mode) {
    errno = 0;
    csv->file = fopen(csv->path, mode);
    if (csv->file) setvbuf(csv->file, NULL, _IOFBF, 1 << 16);
    return csv->file != NULL;
}

cal_status cal_csv_create_with(const char* path, const cal_model* model, unsigned columns, cal_csv** out,
                               cal_error* error) {
    cal_csv* csv;
    cal_status status = begin(path, model, columns, &csv, error);
    if (status != CAL_OK) return end(csv, status, out);
    bool good = open_file(csv, "w");
    if (good) {
        write_header(csv->file, model, columns);
        good = fflush(csv->file) == 0;
    }
    return end(csv, good ? CAL_OK : fail_with_errno(error, path), out);
}

// Reads over the header; false when it is another one.
static cal_status skip_header(cal_csv* csv, bool* fits) {
    char* header = NULL;
    size_t size = 0;
    FILE* memory = open_memstream(&header, &size);
    if (!memory) return CAL_NO_MEMORY;
    write_header(memory, csv->model, csv->columns);
    if (fclose(memory) != 0) {
        free(header);
        return CAL_NO_MEMORY;
    }
    *fits = true;
    for (size_t i = 0; i < size && *fits; i++) *fits = getc(csv->file) == (unsigned char)header[i];
    free(header);
    return CAL_OK;
}

// Reads over rows up to the one of a time, to its end; false when there is none.
static bool skip_rows(cal_csv* csv, double time) {
    char text[CAL_NUMBER_CAPACITY + 1];
    cal_number_text(time, text);
    const size_t length = strlen(text);
    text[length] = ',', text[length + 1] = '\0';
    for (int c = 0; c != EOF;) {
        size_t same = 0;
        for (; text[same] && (c = getc(csv->file)) == (unsigned char)text[same]; same++) {}
        const bool found = !text[same];
        while (c != '\n' && c != EOF) c = getc(csv->file);
        if (found && c == '\n') return true;
    }
    return false;
}

cal_status cal_csv_resume_with(const char* path, const cal_model* model, unsigned columns, double time, cal_csv** out,
                               cal_error* error) {
    cal_csv* csv;
    bool fits = false;
    cal_status status = begin(path, model, columns, &csv, error);
    if (status != CAL_OK) return end(csv, status, out);
    if (!open_file(csv, "r+")) return end(csv, fail_with_errno(error, path), out);
    status = skip_header(csv, &fits);
    if (status != CAL_OK)
        status = cal_fail(error, status, "no memory to read '%s'", path);
    else if (!fits)
        status = cal_fail(error, CAL_BAD_ARGUMENT,
                          "'%s' is not a table of this model: its header differs; name another file", path);
    else if (!skip_rows(csv, time))
        status = cal_fail(error, CAL_BAD_ARGUMENT,
                          "'%s' cannot be continued: it has no row at %.10g s; name another file", path, time);
    if (status != CAL_OK) return end(csv, status, out);
    errno = 0;
    const off_t kept = ftello(csv->file);
    const bool good = kept >= 0 && fseeko(csv->file, kept, SEEK_SET) == 0 && ftruncate(fileno(csv->file), kept) == 0;
    return end(csv, good ? CAL_OK : fail_with_errno(error, path), out);
}

cal_status cal_csv_create(const char* path, const cal_model* model, cal_csv** out, cal_error* error) {
    return cal_csv_create_with(path, model, 0, out, error);
}

cal_status cal_csv_resume(const char* path, const cal_model* model, double time, cal_csv** out, cal_error* error) {
    return cal_csv_resume_with(path, model, 0, time, out, error);
}

cal_status cal_csv_write(cal_csv* csv, cal_sim* sim, cal_error* error) {
    double energy[2];
    cal_status status = cal_sim_energy(sim, &energy[0], &energy[1]);
    if (status != CAL_OK) return cal_fail(error, status, "the energy of a row of '%s' failed", csv->path);
    if (csv->forces) status = cal_sim_joint_forces(sim, csv->forces);
    if (status != CAL_OK) return cal_fail(error, status, "the forces of a row of '%s' failed", csv->path);
    char text[CAL_NUMBER_CAPACITY];
    errno = 0;
    fputs(cal_number_text(cal_sim_time(sim), text), csv->file);
    for (int joint = 0; joint < cal_model_joint_count(csv->model); joint++) {
        cal_joint_def def;
        int first_q, first_v;
        cal_model_joint(csv->model, joint, &def, NULL, &first_q, &first_v);
        write_numbers(csv->file, cal_sim_q(sim) + first_q, cal_joint_q_count(def.kind));
        write_numbers(csv->file, cal_sim_v(sim) + first_v, cal_joint_v_count(def.kind));
        if (csv->forces) write_numbers(csv->file, csv->forces + 6 * (size_t)joint, 6);
    }
    write_numbers(csv->file, energy, 2);
    fputc('\n', csv->file);
    return ferror(csv->file) ? fail_with_errno(error, csv->path) : CAL_OK;
}

cal_status cal_csv_flush(cal_csv* csv, cal_error* error) {
    errno = 0;
    if (fflush(csv->file) != 0) return fail_with_errno(error, csv->path);
    // A pipe or a terminal has nothing to synchronise.
    if (fsync(fileno(csv->file)) != 0 && errno != EINVAL && errno != ENOTSUP) return fail_with_errno(error, csv->path);
    return CAL_OK;
}

cal_status cal_csv_close(cal_csv* csv, cal_error* error) {
    if (!csv) return CAL_OK;
    errno = 0;
    bool failed = fflush(csv->file) != 0 || ferror(csv->file);
    cal_status status = failed ? fail_with_errno(error, csv->path) : CAL_OK;
    if (fclose(csv->file) != 0 && !failed) status = fail_with_errno(error, csv->path);
    cal_free(csv->path);
    cal_free(csv->forces);
    cal_free(csv);
    return status;
}
