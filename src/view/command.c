// Messages of the page, checked strictly: known keys only, each of its type and in its range.
#include "view/command.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

static const double FARTHEST = 1e9; // m
static const double SLOWEST = 1e-3, FASTEST = 1e3;

static const struct {
    const char* name;
    cal_view_verb verb;
    const char* keys[4]; // that it may have beside "do"
} verbs[] = {
    {"run", CAL_VIEW_RUN, {NULL}},
    {"pause", CAL_VIEW_PAUSE, {NULL}},
    {"step", CAL_VIEW_STEP, {NULL}},
    {"reset", CAL_VIEW_RESET, {NULL}},
    {"speed", CAL_VIEW_SPEED, {"speed"}},
    {"watch", CAL_VIEW_WATCH, {"body"}},
    {"grab", CAL_VIEW_GRAB, {"body", "point"}},
    {"drag", CAL_VIEW_DRAG, {"target"}},
    {"drop", CAL_VIEW_DROP, {NULL}},
    {"set", CAL_VIEW_SET, {"solver", "algorithm", "machine", "tolerance"}},
    {"pose", CAL_VIEW_POSE, {"index", "value"}},
    {"control", CAL_VIEW_CONTROL, {"index", "value"}},
    {"key", CAL_VIEW_KEY, {"index"}},
    {"probe", CAL_VIEW_PROBE, {"kind", "index"}},
    {"show", CAL_VIEW_SHOW, {"kind", "index"}},
    {"open", CAL_VIEW_OPEN, {"index"}},
    {"load", CAL_VIEW_LOAD, {"file"}},
};
enum { VERBS = sizeof verbs / sizeof verbs[0], KEYS = 4 };

static bool read_number(const json_t* value, double least, double most, double* out) {
    if (!json_is_number(value)) return false;
    *out = json_number_value(value);
    return isfinite(*out) && *out >= least && *out <= most;
}

static bool read_vector(const json_t* value, double out[3]) {
    if (!json_is_array(value) || json_array_size(value) != 3) return false;
    for (size_t i = 0; i < 3; i++)
        if (!read_number(json_array_get(value, i), -FARTHEST, FARTHEST, &out[i])) return false;
    return true;
}

static bool read_name(const json_t* value, char* out, size_t capacity) {
    const char* text = json_string_value(value);
    if (!text || !text[0] || json_string_length(value) >= capacity || json_string_length(value) != strlen(text))
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool read_member(const char* key, const json_t* value, int body_count, cal_view_command* out) {
    if (strcmp(key, "speed") == 0) return read_number(value, SLOWEST, FASTEST, &out->speed);
    if (strcmp(key, "tolerance") == 0) return read_number(value, 1e-14, 0.1, &out->tolerance);
    if (strcmp(key, "point") == 0 || strcmp(key, "target") == 0) return read_vector(value, out->vector);
    if (strcmp(key, "solver") == 0) return read_name(value, out->solver, sizeof out->solver);
    if (strcmp(key, "algorithm") == 0) return read_name(value, out->algorithm, sizeof out->algorithm);
    if (strcmp(key, "machine") == 0) return read_name(value, out->machine, sizeof out->machine);
    if (strcmp(key, "value") == 0) return read_number(value, -FARTHEST, FARTHEST, &out->value);
    if (strcmp(key, "kind") == 0) return read_name(value, out->kind, sizeof out->kind);
    if (strcmp(key, "file") == 0) return read_name(value, out->file, sizeof out->file);
    if (strcmp(key, "index") == 0) {
        const json_int_t index = json_integer_value(value);
        out->index = (int)index;
        return json_is_integer(value) && index >= 0 && index < INT_MAX;
    }
    if (strcmp(key, "body") != 0 || !json_is_integer(value)) return false;
    const json_int_t body = json_integer_value(value);
    if (body < (out->verb == CAL_VIEW_WATCH ? -1 : 0) || body >= body_count) return false;
    out->body = (int)body;
    return true;
}

static cal_status read_object(json_t* root, int body_count, cal_view_command* out, cal_error* error) {
    const char* name = json_string_value(json_object_get(root, "do"));
    int verb = 0;
    while (verb < VERBS && !(name && strcmp(verbs[verb].name, name) == 0)) verb++;
    if (verb == VERBS) return cal_fail(error, CAL_BAD_ARGUMENT, "a message must be an object with a known \"do\"");
    *out = (cal_view_command){.verb = verbs[verb].verb, .body = CAL_NONE};
    size_t needed = 1, found = 1;
    for (int i = 0; i < KEYS && verbs[verb].keys[i]; i++) {
        const json_t* value = json_object_get(root, verbs[verb].keys[i]);
        needed++;
        if (!value) continue;
        found++;
        if (!read_member(verbs[verb].keys[i], value, body_count, out))
            return cal_fail(error, CAL_BAD_ARGUMENT, "\"%s\" of \"%s\" is not what it must be", verbs[verb].keys[i],
                            name);
    }
    if (json_object_size(root) != found || (out->verb != CAL_VIEW_SET && found != needed) ||
        (out->verb == CAL_VIEW_SET && found == 1))
        return cal_fail(error, CAL_BAD_ARGUMENT, "\"%s\" has other members than it must have", name);
    return CAL_OK;
}

bool cal_view_command_parse(const char* text, size_t length, int body_count, cal_view_command* out, cal_error* error) {
    json_error_t where;
    if (length > CAL_VIEW_MESSAGE_LIMIT)
        return !cal_fail(error, CAL_BAD_ARGUMENT, "a message has at most %d bytes", CAL_VIEW_MESSAGE_LIMIT);
    json_t* root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (!root) return !cal_fail(error, CAL_BAD_ARGUMENT, "a message must be a JSON object: %s", where.text);
    const cal_status status = read_object(root, body_count, out, error);
    json_decref(root);
    return status == CAL_OK;
}
