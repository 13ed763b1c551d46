// Names of what a model has. What was given no name is called by its kind's noun and its number, "joint3", and is found so.
#include "base/names.h"
#include "model/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An array of structures that each have a name, or NULL.
typedef struct named_list {
    const char* noun; // NULL: what has no name is not called anything
    const char* const* first;
    size_t stride; // bytes from one name to the next
    int count;
    const cal_name_table* table; // of all that are given; NULL: they are looked through
} named_list;

static const char* given(const named_list* list, int number) {
    const char* const* name = (const void*)((const char*)list->first + (size_t)number * list->stride);
    return *name;
}

static const char* name_of(const named_list* list, int number, char* text, size_t capacity) {
    if (!text || number < 0 || number >= list->count) return "";
    const char* name = given(list, number);
    if (name != NULL)
        snprintf(text, capacity, "%s", name);
    else
        snprintf(text, capacity, "%s%d", list->noun, number);
    return text;
}

// The number in a name that name_of made.
static int number_in(const named_list* list, const char* name) {
    const size_t length = list->noun ? strlen(list->noun) : 0;
    if (length == 0 || strncmp(name, list->noun, length) != 0 || name[length] < '0' || name[length] > '9')
        return CAL_NONE;
    char* end;
    const long number = strtol(name + length, &end, 10);
    return *end == '\0' && number < list->count && given(list, (int)number) == NULL ? (int)number : CAL_NONE;
}

// The first of that name.
static int find(const named_list* list, const char* name) {
    if (!name) return CAL_NONE;
    int found = cal_names_find(list->table, name);
    for (int i = 0; list->table == NULL && found == CAL_NONE && i < list->count; i++)
        if (given(list, i) != NULL && strcmp(given(list, i), name) == 0) found = i;
    return found != CAL_NONE ? found : number_in(list, name);
}

// What to ask of a kind of things: those of the first macro have names of one kind or the other, those of the second one only given ones.
#define LIST(noun, items, count, table)                                                                                \
    &(named_list) { noun, (items) ? &(items)->name : NULL, sizeof *(items), count, table }
#define FIND(kind, noun, items, count, table)                                                                          \
    int cal_model_find_##kind(const cal_model* model, const char* name) {                                              \
        return model ? find(LIST(noun, model->items, model->count, table), name) : CAL_NONE;                           \
    }
#define NAME_AND_FIND(kind, items, count, table)                                                                       \
    const char* cal_model_##kind##_name(const cal_model* model, int number, char* text, size_t capacity) {             \
        return model ? name_of(LIST(#kind, model->items, model->count, table), number, text, capacity) : "";           \
    }                                                                                                                  \
    FIND(kind, #kind, items, count, table)

NAME_AND_FIND(body, bodies, body_count, model->body_names)
NAME_AND_FIND(joint, joints, joint_count, model->joint_names)
NAME_AND_FIND(constraint, constraints, constraint_count, model->constraint_names)
NAME_AND_FIND(actuator, actuators, actuator_count, NULL)
NAME_AND_FIND(tendon, kept.tendons, kept.tendon_count, NULL)
NAME_AND_FIND(sensor, kept.sensors, kept.sensor_count, NULL)
FIND(shape, NULL, shapes, shape_count, NULL)
FIND(site, NULL, kept.sites, kept.site_count, NULL)
FIND(keyframe, NULL, kept.keyframes, kept.keyframe_count, NULL)

// A table of the names that are given; fails where two have the same.
static cal_status index_names(const named_list* list, const char* nouns, cal_name_table** out, cal_error* error) {
    size_t named = 0;
    for (int i = 0; i < list->count; i++) named += given(list, i) != NULL;
    *out = cal_names_create(named);
    if (*out == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for the table of names");
    for (int i = 0; i < list->count; i++) {
        const char* name = given(list, i);
        const int owner = name != NULL ? cal_names_add(*out, name, i) : i;
        if (owner != i)
            return cal_fail(error, CAL_BAD_MODEL, "%s %d and %d are both named \"%.60s\"; names must be unique", nouns,
                            owner, i, name);
    }
    return CAL_OK;
}

cal_status cal_model_index_names(cal_model* model, cal_error* error) {
    cal_status status =
        index_names(LIST("", model->bodies, model->body_count, NULL), "bodies", &model->body_names, error);
    if (!status)
        status = index_names(LIST("", model->joints, model->joint_count, NULL), "joints", &model->joint_names, error);
    if (!status)
        status = index_names(LIST("", model->constraints, model->constraint_count, NULL), "constraints",
                             &model->constraint_names, error);
    return status;
}
