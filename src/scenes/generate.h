// Generators: models made from a name and a few parameters. One family a file.
//
// A family lists its parameters once, as a macro over three kinds of row, and gets from it the table that the parser
// reads, the indices of the values, and the help text:
//
//     #define PARAMETERS(NUMBER, INTEGER, CHOICE)                 key, default, least, most, meaning
//         INTEGER(n, 36, 1, 10000000, "number of links")
//         CHOICE(joint, "revolute|ball", "kind of joint")         the first choice is the default
#pragma once
#include "model/model.h"

typedef enum cal_parameter_kind { CAL_NUMBER, CAL_INTEGER, CAL_CHOICE } cal_parameter_kind;

typedef struct cal_parameter {
    const char* key;
    cal_parameter_kind kind;
    double fallback, least, most;
    const char* choices; // "one|another"; the value is the place in this list
} cal_parameter;

typedef struct cal_generator {
    const char* name;
    const char* help;
    const cal_parameter* parameters;
    int parameter_count;
    // Adds bodies and joints; values are in the order of the parameters and within their ranges.
    cal_status (*build)(const double* values, cal_builder* builder, cal_error* error);
} cal_generator;

enum { CAL_MAX_PARAMETERS = 16 };

#define CAL_ROW_NUMBER(key, fallback, least, most, help) {#key, CAL_NUMBER, fallback, least, most, NULL},
#define CAL_ROW_INTEGER(key, fallback, least, most, help) {#key, CAL_INTEGER, fallback, least, most, NULL},
#define CAL_ROW_CHOICE(key, choices, help) {#key, CAL_CHOICE, 0, 0, 0, choices},
#define CAL_INDEX_RANGE(key, fallback, least, most, help) at_##key,
#define CAL_INDEX_CHOICE(key, choices, help) at_##key,
#define CAL_TEXT_RANGE(key, fallback, least, most, help)                                                               \
    "\n  " #key "=" #fallback "  " help " (" #least " to " #most ")"
#define CAL_TEXT_CHOICE(key, choices, help) "\n  " #key "=" choices "  " help

// Defines the indices at_…, and cal_generator_NAME. LIST is the family's macro.
#define CAL_DEFINE_GENERATOR_PARAMETERS(LIST)                                                                          \
    enum { LIST(CAL_INDEX_RANGE, CAL_INDEX_RANGE, CAL_INDEX_CHOICE) parameter_count };                                 \
    _Static_assert((int)parameter_count <= (int)CAL_MAX_PARAMETERS, "raise CAL_MAX_PARAMETERS");                       \
    static const cal_parameter parameters[] = {LIST(CAL_ROW_NUMBER, CAL_ROW_INTEGER, CAL_ROW_CHOICE)};
#define CAL_DEFINE_GENERATOR(NAME, LIST, SUMMARY)                                                                      \
    const cal_generator cal_generator_##NAME = {#NAME, SUMMARY LIST(CAL_TEXT_RANGE, CAL_TEXT_RANGE, CAL_TEXT_CHOICE),  \
                                                parameters, parameter_count, build};

// All generators, in the order in which they are listed.
// What clang-format makes of the list it would format anew.
// clang-format off
#define CAL_GENERATORS(X)                                                                                              \
    X(mobile) X(chain) X(tree) X(pendulum) X(stickman) X(figure) X(humanoid) X(random)                                 \
    X(rail) X(cart) X(fivebar) X(fourbar) X(slidercrank) X(bricard) X(rolling_disk) X(ring)                            \
    X(andrews) X(governor) X(scissor) X(tower) X(bennett) X(sarrus) X(delta) X(track)                                  \
    X(net)
// clang-format on
#define CAL_DECLARE_GENERATOR(name) extern const cal_generator cal_generator_##name;
CAL_GENERATORS(CAL_DECLARE_GENERATOR)

// Reads "key=value,key=value" into values, with the fallbacks for what is not given. Of the generator, the name and the
// parameters are used.
cal_status cal_read_parameters(const cal_generator* generator, const char* text, double* values, cal_error* error);

enum { CAL_GENERATED_LIMIT = 20000000 }; // bodies

// Gives a body the mass, centre and inertia of a solid capsule whose axis goes from one point to another.
void cal_shape_capsule(cal_body_def* def, const double from[3], const double to[3], double radius, double mass);
