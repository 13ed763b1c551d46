// Reads a generator's specification, "name:key=value,key=value", and runs the generator.
#include "scenes/generate.h"
#include "base/number_text.h"
#include "model/symmetric.h"
#include <string.h>

#define GENERATOR(name) &cal_generator_##name,
static const cal_generator* const generators[] = {CAL_GENERATORS(GENERATOR)};
enum { GENERATOR_COUNT = sizeof generators / sizeof generators[0] };

const char* cal_generator_name(int index) {
    return index >= 0 && index < GENERATOR_COUNT ? generators[index]->name : NULL;
}
const char* cal_generator_help(int index) {
    return index >= 0 && index < GENERATOR_COUNT ? generators[index]->help : NULL;
}

// Part of a specification, not ended by a zero.
typedef struct piece {
    const char* text;
    int length;
} piece;

static bool piece_is(piece p, const char* text) {
    return strlen(text) == (size_t)p.length && memcmp(p.text, text, (size_t)p.length) == 0;
}

// The piece up to any of `ends`, or to the end of the text.
static piece piece_until(const char* text, const char* ends) { return (piece){text, (int)strcspn(text, ends)}; }

// Appends to a list of names in an error's text, as far as there is room.
static void append(char* list, size_t capacity, const char* name) {
    if (list[0] != '\0') strncat(list, ", ", capacity - strlen(list) - 1);
    strncat(list, name, capacity - strlen(list) - 1);
}

static cal_status fail_generator(piece name, cal_error* error) {
    char list[240] = "";
    for (int i = 0; i < GENERATOR_COUNT; i++) append(list, sizeof list, generators[i]->name);
    return cal_fail(error, CAL_BAD_ARGUMENT, "there is no generator \"%.*s\"; there are %s",
                    name.length > 30 ? 30 : name.length, name.text, list);
}

static cal_status fail_key(const cal_generator* generator, piece key, cal_error* error) {
    char list[160] = "";
    for (int i = 0; i < generator->parameter_count; i++) append(list, sizeof list, generator->parameters[i].key);
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s has no parameter \"%.*s\"; its parameters are %s", generator->name,
                    key.length > 40 ? 40 : key.length, key.text, list[0] != '\0' ? list : "none");
}

static cal_status fail_value(const cal_generator* generator, const cal_parameter* parameter, piece value,
                             cal_error* error) {
    const int shown = value.length > 40 ? 40 : value.length;
    if (parameter->kind == CAL_CHOICE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: %s=%.*s is not one of %s", generator->name, parameter->key, shown,
                        value.text, parameter->choices);
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s: %s=%.*s is not a %s from %.15g to %.15g", generator->name,
                    parameter->key, shown, value.text, parameter->kind == CAL_INTEGER ? "whole number" : "number",
                    parameter->least, parameter->most);
}

static bool read_choice(const char* choices, piece text, double* value) {
    for (int i = 0;; i++) {
        const piece choice = piece_until(choices, "|");
        if (choice.length == text.length && memcmp(choice.text, text.text, (size_t)text.length) == 0) {
            *value = i;
            return true;
        }
        if (choice.text[choice.length] == '\0') return false;
        choices = choice.text + choice.length + 1;
    }
}

static bool read_number(const cal_parameter* parameter, piece text, double* value) {
    char* end;
    *value = cal_number_from_text(text.text, &end);
    return text.length > 0 && end == text.text + text.length && *value >= parameter->least &&
           *value <= parameter->most && (parameter->kind != CAL_INTEGER || *value == floor(*value));
}

cal_status cal_read_parameters(const cal_generator* generator, const char* text, double* values, cal_error* error) {
    bool given[CAL_MAX_PARAMETERS] = {false};
    for (int i = 0; i < generator->parameter_count; i++) values[i] = generator->parameters[i].fallback;
    while (*text != '\0') {
        const piece key = piece_until(text, "=,");
        if (key.text[key.length] != '=')
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: \"%.*s\" is not of the form key=value", generator->name,
                            key.length > 60 ? 60 : key.length, key.text);
        const piece value = piece_until(key.text + key.length + 1, ",");
        int i = 0;
        while (i < generator->parameter_count && !piece_is(key, generator->parameters[i].key)) i++;
        if (i == generator->parameter_count) return fail_key(generator, key, error);
        const cal_parameter* parameter = &generator->parameters[i];
        if (given[i])
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: %s is given twice", generator->name, parameter->key);
        given[i] = true;
        if (!(parameter->kind == CAL_CHOICE ? read_choice(parameter->choices, value, &values[i])
                                            : read_number(parameter, value, &values[i])))
            return fail_value(generator, parameter, value, error);
        text = value.text + value.length;
        if (*text == ',' && *++text == '\0')
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: nothing follows the last comma", generator->name);
    }
    return CAL_OK;
}

cal_status cal_model_generate(const char* specification, cal_model** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_generate: out must not be NULL");
    *out = NULL;
    if (!specification)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_generate: the specification must not be NULL");
    const piece name = piece_until(specification, ":");
    int index = 0;
    while (index < GENERATOR_COUNT && !piece_is(name, generators[index]->name)) index++;
    if (index == GENERATOR_COUNT) return fail_generator(name, error);
    const cal_generator* generator = generators[index];
    double values[CAL_MAX_PARAMETERS];
    const char* rest = name.text + name.length;
    cal_status status = cal_read_parameters(generator, *rest == ':' ? rest + 1 : rest, values, error);
    if (status != CAL_OK) return status;
    cal_builder* builder;
    if (cal_builder_create(&builder) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %s", specification);
    cal_builder_set_name(builder, specification);
    status = generator->build(values, builder, error);
    if (status == CAL_OK) status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

// A cylinder and two half balls of one density: moments along the axis and across it.
void cal_shape_capsule(cal_body_def* def, const double from[3], const double to[3], double radius, double mass) {
    double axis[3];
    for (int i = 0; i < 3; i++) axis[i] = to[i] - from[i];
    const double length = sqrt(cal_dot3(axis, axis)), square = radius * radius;
    const double cylinder = mass * length / (length + 4.0 / 3.0 * radius), ball = mass - cylinder;
    const double along = cylinder * square / 2.0 + ball * 0.4 * square;
    const double across = cylinder * (length * length / 12.0 + square / 4.0) +
                          ball * (0.4 * square + length * length / 4.0 + 0.375 * length * radius);
    const size_t *rows = cal_symmetric_row, *columns = cal_symmetric_column;
    for (int i = 0; i < 6; i++) {
        const double direction = length > 0.0 ? axis[rows[i]] * axis[columns[i]] / (length * length) : 0.0;
        def->inertia[i] = (i < 3 ? across : 0.0) + (along - across) * direction;
    }
    for (int i = 0; i < 3; i++) def->center[i] = 0.5 * (from[i] + to[i]);
    def->mass = mass;
}
