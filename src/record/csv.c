// Comma-separated tables of a run: a header that names joints, bodies and components, one row per sample.
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
#include "base/number_text.h"

struct cal_csv {
    FILE* file;
    cal_run* run;
    char* path;
    unsigned columns; // CAL_COLUMN_…; 0: a table of events
    double* numbers;  // room for the poses of all bodies, or the forces of all joints
};

// Names of a joint's numbers after the joint's own: positions, then velocities.
static const char* const one_degree_components[] = {"q", "v", NULL};
static const char* const ball_components[] = {"qw", "qx", "qy", "qz", "wx", "wy", "wz", NULL};
static const char* const free_components[] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                              "vx", "vy", "vz", "wx", "wy", "wz", NULL};

static const char* const force_components[] = {"fx", "fy", "fz", "mx", "my", "mz", NULL};
static const char* const pose_components[] = {"x", "y", "z", "qw", "qx", "qy", "qz", NULL};

// Positions and velocities of a kind of joint, each with its end.
static const char* const* component_names(cal_joint_kind kind) {
    return kind == CAL_BALL ? ball_components : kind == CAL_FREE ? free_components : one_degree_components;
}

enum { OF_JOINTS = CAL_COLUMN_Q | CAL_COLUMN_V | CAL_COLUMN_FORCE };

// What can be chosen, in the order of the columns.
static const struct {
    const char* name;
    unsigned column;
} choices[] = {{"q", CAL_COLUMN_Q},
               {"v", CAL_COLUMN_V},
               {"force", CAL_COLUMN_FORCE},
               {"pose", CAL_COLUMN_POSE},
               {"energy", CAL_COLUMN_ENERGY},
               {"channels", CAL_COLUMN_CHANNELS},
               {"sensors", CAL_COLUMN_SENSORS}};
enum { CHOICES = sizeof choices / sizeof choices[0] };

cal_status cal_csv_columns(const char* names, unsigned* out, cal_error* error) {
    if (!names || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_columns: names and out must not be NULL");
    *out = 0;
    for (const char* p = names;; p++) {
        const size_t length = strcspn(p, ",");
        int i = 0;
        while (i < CHOICES && (strlen(choices[i].name) != length || memcmp(choices[i].name, p, length) != 0)) i++;
        if (i == CHOICES)
            return cal_fail(error, CAL_BAD_ARGUMENT,
                            "columns '%.60s': '%.*s' is none of q, v, force, pose, energy, channels, sensors", names,
                            (int)(length < 40 ? length : 40), p);
        *out |= choices[i].column;
        p += length;
        if (*p == '\0') return CAL_OK;
    }
}

unsigned cal_csv_default_columns(const cal_run* run) {
    if (!run) return 0;
    if (!cal_run_model(run)) return CAL_COLUMN_POSE;
    return CAL_COLUMN_Q | CAL_COLUMN_V | (cal_run_can(run, CAL_RUN_INSTANCES) ? 0 : CAL_COLUMN_ENERGY);
}

const char* cal_number_text(double value, char text[CAL_NUMBER_CAPACITY]) {
    if (!text) return NULL;
    if (!isfinite(value)) {
        snprintf(text, CAL_NUMBER_CAPACITY, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    if (cal_exact_text(value, 15, 17, text)) return text;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, CAL_NUMBER_CAPACITY, "%.*g", digits, value);
        cal_put_point(text); // the host program may have chosen a locale with another one
        if (cal_number_from_text(text, NULL) == value) break;
    }
    return text;
}

// A cell as RFC 4180 says: quoted where it holds what separates cells.
static void write_cell(FILE* file, const char* name, const char* component) {
    const bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    if (quoted) fputc('"', file);
    for (const char* p = name; *p; p++) {
        if (*p == '"') fputc('"', file);
        fputc(*p, file);
    }
    fprintf(file, "%s%s%s", component ? "." : "", component ? component : "", quoted ? "\"" : "");
}

static void write_names(FILE* file, const char* name, const char* const* component, int count) {
    for (int i = 0; i < count && component[i]; i++) {
        fputc(',', file);
        write_cell(file, name, component[i]);
    }
}

static void write_joint_names(FILE* file, const cal_model* model, unsigned columns) {
    char text[64];
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        cal_model_joint(model, joint, &def, NULL, NULL, NULL);
        const char* name = def.name ? def.name : cal_model_joint_name(model, joint, text, sizeof text);
        const char* const* components = component_names(def.kind);
        const int q_count = cal_joint_q_count(def.kind);
        if (columns & CAL_COLUMN_Q) write_names(file, name, components, q_count);
        if (columns & CAL_COLUMN_V) write_names(file, name, components + q_count, cal_joint_v_count(def.kind));
        if (columns & CAL_COLUMN_FORCE) write_names(file, name, force_components, 6);
    }
}

enum { MOST_NUMBERS = 8 }; // of a sensor

static void write_sensor_names(FILE* file, const cal_model* model) {
    char text[64];
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        cal_sensor_def def;
        cal_model_sensor(model, i, &def);
        const char* name = def.name ? def.name : cal_model_sensor_name(model, i, text, sizeof text);
        const int count = cal_sensor_size(def.kind);
        for (int k = 0; k < count; k++) {
            char component[4];
            snprintf(component, sizeof component, "%d", (k + 1) % 10);
            fputc(',', file);
            write_cell(file, name, count > 1 ? component : NULL);
        }
    }
}

static void write_header(FILE* file, const cal_run* run, unsigned columns) {
    char text[128];
    fputs("time", file);
    if (columns && cal_run_can(run, CAL_RUN_INSTANCES)) fputs(",instance", file);
    if (columns == 0) fputs(",body,other,impulse,kind", file);
    if (columns & OF_JOINTS) write_joint_names(file, cal_run_model(run), columns);
    for (int i = 0; columns & CAL_COLUMN_POSE && i < cal_run_body_count(run); i++)
        if (cal_run_body_motion(run, i) != CAL_FIXED)
            write_names(file, cal_run_body_name(run, i, text, sizeof text), pose_components, 7);
    if (columns & CAL_COLUMN_ENERGY) fputs(",energy_kinetic,energy_potential", file);
    if (columns & CAL_COLUMN_ENERGY && cal_run_can(run, CAL_RUN_BALANCE))
        fputs(",energy_work,energy_loss,energy_balance", file);
    int count;
    const cal_channel* channels = cal_run_channels(run, &count);
    for (int i = 0; columns & CAL_COLUMN_CHANNELS && i < count; i++) {
        fputc(',', file);
        write_cell(file, channels[i].name, NULL);
    }
    if (columns & CAL_COLUMN_SENSORS) write_sensor_names(file, cal_run_model(run));
    fputc('\n', file);
}

static void write_numbers(FILE* file, const double* values, int count) {
    char text[CAL_NUMBER_CAPACITY + 1] = ",";
    for (int i = 0; i < count; i++) {
        (void)cal_number_text(values[i], text + 1);
        fputs(text, file);
    }
}

static cal_status fail_with_errno(cal_error* error, const char* path) { return cal_fail_write(error, path, errno); }

// A recorder without a file yet.
static cal_status begin(const char* path, cal_run* run, unsigned columns, cal_csv** out, cal_error* error) {
    const cal_model* model = cal_run_model(run);
    *out = NULL;
    const bool joints = !(columns & OF_JOINTS) || (model && cal_run_can(run, CAL_RUN_STATE)),
               forces = !(columns & CAL_COLUMN_FORCE) || cal_run_can(run, CAL_RUN_FORCES),
               energy = !(columns & CAL_COLUMN_ENERGY) || cal_run_can(run, CAL_RUN_ENERGY),
               sensors = !(columns & CAL_COLUMN_SENSORS) || (model && cal_model_sensor_count(model) > 0);
    if (!joints || !forces || !energy || !sensors)
        return cal_fail(error, CAL_BAD_ARGUMENT, "'%s' cannot have columns of %s: %s has none", path,
                        !joints   ? "q, v or force"
                        : !forces ? "force"
                        : !energy ? "energy"
                                  : "sensors",
                        cal_run_kind(run));
    const size_t bodies = columns & CAL_COLUMN_POSE ? (size_t)cal_run_body_count(run) : 0;
    const size_t loads = columns & CAL_COLUMN_FORCE ? (size_t)cal_model_joint_count(model) : 0;
    cal_csv* csv = cal_allocate(1, sizeof *csv);
    char* copy = cal_copy_text(path);
    double* numbers = cal_allocate(7 * (bodies > loads ? bodies : loads) + 1, sizeof *numbers);
    if (!csv || !copy || !numbers) {
        cal_free(csv);
        cal_free(copy);
        cal_free(numbers);
        return cal_fail(error, CAL_NO_MEMORY, "no memory to record '%s'", path);
    }
    *csv = (cal_csv){NULL, run, copy, columns, numbers};
    *out = csv;
    return CAL_OK;
}

// Keeps the recorder when it was made well, and ends it otherwise.
static cal_status end(cal_csv* csv, cal_status status, cal_csv** out) {
    *out = status == CAL_OK ? csv : NULL;
    if (status == CAL_OK || !csv) return status;
    if (csv->file) fclose(csv->file);
    cal_free(csv->path);
    cal_free(csv->numbers);
    cal_free(csv);
    return status;
}

static bool open_file(cal_csv* csv, const char* mode) {
    errno = 0;
    if (strcmp(csv->path, "-") == 0) {
        // A descriptor of its own, so that closing the table leaves standard output open.
        const int copy = dup(STDOUT_FILENO);
        csv->file = copy >= 0 ? fdopen(copy, mode) : NULL;
        if (!csv->file && copy >= 0) close(copy);
    } else {
        csv->file = fopen(csv->path, mode);
    }
    if (csv->file) setvbuf(csv->file, NULL, _IOFBF, 1 << 16);
    return csv->file != NULL;
}

static cal_status create(const char* path, cal_run* run, unsigned columns, cal_csv** out, cal_error* error) {
    cal_csv* csv;
    cal_status status = begin(path, run, columns, &csv, error);
    if (status != CAL_OK) return end(csv, status, out);
    bool good = open_file(csv, "w");
    if (good) {
        write_header(csv->file, run, csv->columns);
        good = fflush(csv->file) == 0;
    }
    return end(csv, good ? CAL_OK : fail_with_errno(error, path), out);
}

cal_status cal_csv_create(const char* path, cal_run* run, unsigned columns, cal_csv** out, cal_error* error) {
    if (!path || !run || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_create: path, run and out must not be NULL");
    return create(path, run, columns ? columns : cal_csv_default_columns(run), out, error);
}

cal_status cal_csv_create_events(const char* path, cal_run* run, cal_csv** out, cal_error* error) {
    if (!path || !run || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_create_events: path, run and out must not be NULL");
    *out = NULL;
    const cal_status status = cal_run_keep_events(run, error);
    return status ? status : create(path, run, 0, out, error);
}

// Reads over the header; false when it is another one.
static cal_status skip_header(cal_csv* csv, bool* fits) {
    char* header = NULL;
    size_t size = 0;
    FILE* memory = open_memstream(&header, &size);
    if (!memory) return CAL_NO_MEMORY;
    write_header(memory, csv->run, csv->columns);
    if (fclose(memory) != 0) {
        free(header);
        return CAL_NO_MEMORY;
    }
    *fits = true;
    for (size_t i = 0; i < size && *fits; i++) *fits = getc(csv->file) == (unsigned char)header[i];
    free(header);
    return CAL_OK;
}

// Reads over rows up to the last one of a time, to its end; false when there is none.
static bool skip_rows(cal_csv* csv, double time) {
    char text[CAL_NUMBER_CAPACITY + 16];
    cal_number_text(time, text);
    const size_t length = strlen(text);
    if (cal_run_can(csv->run, CAL_RUN_INSTANCES))
        snprintf(text + length, sizeof text - length, ",%d,", cal_run_instances(csv->run) - 1);
    else
        snprintf(text + length, sizeof text - length, ",");
    for (int c = 0; c != EOF;) {
        size_t same = 0;
        for (; text[same] && (c = getc(csv->file)) == (unsigned char)text[same]; same++) {}
        const bool found = !text[same];
        while (c != '\n' && c != EOF) c = getc(csv->file);
        if (found && c == '\n') return true;
    }
    return false;
}

cal_status cal_csv_resume(const char* path, cal_run* run, unsigned columns, double time, cal_csv** out,
                          cal_error* error) {
    if (!path || !run || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_resume: path, run and out must not be NULL");
    cal_csv* csv;
    bool fits = false;
    cal_status status = begin(path, run, columns ? columns : cal_csv_default_columns(run), &csv, error);
    if (status != CAL_OK) return end(csv, status, out);
    if (!open_file(csv, "r+")) return end(csv, fail_with_errno(error, path), out);
    status = skip_header(csv, &fits);
    if (status != CAL_OK)
        status = cal_fail(error, status, "no memory to read '%s'", path);
    else if (!fits)
        status = cal_fail(error, CAL_BAD_ARGUMENT,
                          "'%s' is not a table of this run: its header differs; name another file", path);
    else if (!skip_rows(csv, time))
        status = cal_fail(error, CAL_BAD_ARGUMENT,
                          "'%s' cannot be continued: it has no row at %.10g s; name another file", path, time);
    if (status != CAL_OK) return end(csv, status, out);
    errno = 0;
    const off_t kept = ftello(csv->file);
    const bool good = kept >= 0 && fseeko(csv->file, kept, SEEK_SET) == 0 && ftruncate(fileno(csv->file), kept) == 0;
    return end(csv, good ? CAL_OK : fail_with_errno(error, path), out);
}

static cal_status write_joints(cal_csv* csv, cal_error* error) {
    const cal_model* model = cal_run_model(csv->run);
    const double *q = cal_run_q(csv->run), *v = cal_run_v(csv->run);
    if (csv->columns & CAL_COLUMN_FORCE) {
        const cal_status status = cal_run_joint_forces(csv->run, csv->numbers, error);
        if (status) return status;
    }
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int first_q, first_v;
        cal_model_joint(model, joint, &def, NULL, &first_q, &first_v);
        if (csv->columns & CAL_COLUMN_Q) write_numbers(csv->file, q + first_q, cal_joint_q_count(def.kind));
        if (csv->columns & CAL_COLUMN_V) write_numbers(csv->file, v + first_v, cal_joint_v_count(def.kind));
        if (csv->columns & CAL_COLUMN_FORCE) write_numbers(csv->file, csv->numbers + 6 * (size_t)joint, 6);
    }
    return CAL_OK;
}

static cal_status write_poses(cal_csv* csv, cal_error* error) {
    const cal_status status = cal_run_poses(csv->run, csv->numbers, error);
    for (int i = 0; !status && i < cal_run_body_count(csv->run); i++)
        if (cal_run_body_motion(csv->run, i) != CAL_FIXED) write_numbers(csv->file, csv->numbers + 7 * (size_t)i, 7);
    return status;
}

static cal_status write_sensors(cal_csv* csv, cal_error* error) {
    const cal_model* model = cal_run_model(csv->run);
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        cal_sensor_def def;
        double values[MOST_NUMBERS];
        cal_model_sensor(model, i, &def);
        const cal_status status = cal_run_sensor(csv->run, i, values, error);
        if (status && status != CAL_NOT_AVAILABLE) return status;
        for (int k = 0; status && k < MOST_NUMBERS; k++) values[k] = NAN;
        write_numbers(csv->file, values, cal_sensor_size(def.kind));
    }
    return CAL_OK;
}

static void write_events(cal_csv* csv) {
    char text[CAL_NUMBER_CAPACITY];
    cal_run_event event;
    while (cal_run_next_event(csv->run, &event)) {
        fputs(cal_number_text(event.time, text), csv->file);
        for (int i = 0; i < 2; i++) {
            fputc(',', csv->file);
            write_cell(csv->file, event.name[i], NULL);
        }
        write_numbers(csv->file, &event.impulse, 1);
        fprintf(csv->file, ",%s\n", event.kind);
    }
}

static cal_status write_row(cal_csv* csv, int instance, cal_error* error) {
    char text[CAL_NUMBER_CAPACITY];
    double values[CAL_RUN_CHANNELS];
    int count;
    cal_status status = CAL_OK;
    cal_run_channels(csv->run, &count);
    fputs(cal_number_text(cal_run_time(csv->run), text), csv->file);
    if (cal_run_can(csv->run, CAL_RUN_INSTANCES)) fprintf(csv->file, ",%d", instance);
    if (csv->columns & OF_JOINTS) status = write_joints(csv, error);
    if (!status && csv->columns & CAL_COLUMN_POSE) status = write_poses(csv, error);
    if (!status && csv->columns & CAL_COLUMN_ENERGY) {
        cal_energy_balance b;
        const bool balances = cal_run_can(csv->run, CAL_RUN_BALANCE);
        status = balances ? cal_run_balance(csv->run, &b, error) : cal_run_energy(csv->run, values, error);
        if (balances)
            values[0] = b.kinetic, values[1] = b.potential, values[2] = b.work, values[3] = b.loss,
            values[4] = b.relative;
        if (!status) write_numbers(csv->file, values, balances ? 5 : 2);
    }
    if (!status && csv->columns & CAL_COLUMN_CHANNELS) {
        status = cal_run_read(csv->run, values, error);
        if (!status) write_numbers(csv->file, values, count);
    }
    if (!status && csv->columns & CAL_COLUMN_SENSORS) status = write_sensors(csv, error);
    fputc('\n', csv->file);
    return status;
}

// A row for each instance; then the first one is shown again.
static cal_status write_instances(cal_csv* csv, cal_error* error) {
    const int count = cal_run_instances(csv->run);
    cal_status status = CAL_OK;
    for (int i = 0; i < count && !status && !ferror(csv->file); i++) {
        status = cal_run_show(csv->run, i, error);
        if (!status) status = write_row(csv, i, error);
    }
    return status ? status : cal_run_show(csv->run, 0, error);
}

cal_status cal_csv_write(cal_csv* csv, cal_error* error) {
    if (!csv) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_write: csv must not be NULL");
    cal_status status = CAL_OK;
    errno = 0;
    if (!csv->columns)
        write_events(csv);
    else if (cal_run_can(csv->run, CAL_RUN_INSTANCES))
        status = write_instances(csv, error);
    else
        status = write_row(csv, 0, error);
    if (status) return status;
    return ferror(csv->file) ? fail_with_errno(error, csv->path) : CAL_OK;
}

cal_status cal_csv_flush(cal_csv* csv, cal_error* error) {
    if (!csv) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_csv_flush: csv must not be NULL");
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
    cal_free(csv->numbers);
    cal_free(csv);
    return status;
}
