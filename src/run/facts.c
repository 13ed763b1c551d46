// Lists of facts: each is added once, and printed as a line for people or as a value for programs.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/run.h"

struct cal_facts {
    cal_fact* facts;
    int count, capacity;
    cal_status status;
    cal_fact lost; // where a fact goes for which there is no memory
};

cal_status cal_facts_create(cal_facts** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_facts_create: out must not be NULL");
    *out = cal_allocate(1, sizeof **out);
    return *out ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for a report");
}

void cal_facts_destroy(cal_facts* report) {
    if (!report) return;
    for (int i = 0; i < report->count; i++) cal_free(report->facts[i].numbers);
    cal_free(report->facts);
    cal_free(report);
}

int cal_facts_count(const cal_facts* report) { return report ? report->count : 0; }
const cal_fact* cal_facts_get(const cal_facts* report, int index) {
    return report && index >= 0 && index < report->count ? &report->facts[index] : NULL;
}
cal_status cal_facts_status(const cal_facts* report) {
    if (!report) return CAL_BAD_ARGUMENT;
    return report->status;
}

static cal_fact* add(cal_facts* report, cal_fact_kind kind, const char* key) {
    if (report->count == report->capacity) {
        const int capacity = 2 * report->capacity + 64;
        cal_fact* more = cal_allocate((size_t)capacity, sizeof *more);
        if (!more) {
            report->status = CAL_NO_MEMORY;
            return &report->lost;
        }
        if (report->count > 0) memcpy(more, report->facts, (size_t)report->count * sizeof *more);
        cal_free(report->facts);
        report->facts = more;
        report->capacity = capacity;
    }
    cal_fact* fact = &report->facts[report->count++];
    *fact = (cal_fact){.kind = kind, .key = key};
    return fact;
}

void cal_facts_line(cal_facts* report, const char* label, const char* format, ...) {
    if (!report || !format) return;
    cal_fact* fact = add(report, CAL_FACT_LINE, label);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fact->text, sizeof fact->text, format, arguments);
    va_end(arguments);
}

void cal_facts_text(cal_facts* report, const char* key, const char* text) {
    if (!report) return;
    cal_fact* fact = add(report, CAL_FACT_TEXT, key);
    snprintf(fact->text, sizeof fact->text, "%s", text);
}

void cal_facts_number(cal_facts* report, const char* key, double number) {
    if (!report) return;
    add(report, CAL_FACT_NUMBER, key)->number = number;
}

void cal_facts_integer(cal_facts* report, const char* key, int64_t number) {
    if (!report) return;
    add(report, CAL_FACT_INTEGER, key)->bits = (uint64_t)number;
}

void cal_facts_boolean(cal_facts* report, const char* key, bool value) {
    if (!report) return;
    add(report, CAL_FACT_BOOLEAN, key)->bits = value;
}

void cal_facts_hash(cal_facts* report, const char* key, uint64_t hash) {
    if (!report) return;
    add(report, CAL_FACT_HASH, key)->bits = hash;
}

void cal_facts_numbers(cal_facts* report, const char* key, const double* numbers, int count) {
    if (!report) return;
    double* copy = cal_allocate((size_t)count, sizeof *copy);
    if (!copy) {
        report->status = CAL_NO_MEMORY;
        return;
    }
    if (count > 0) memcpy(copy, numbers, (size_t)count * sizeof *copy);
    cal_fact* fact = add(report, CAL_FACT_NUMBERS, key);
    fact->count = count;
    fact->numbers = copy;
    if (fact == &report->lost) cal_free(copy);
}

static void add_bracket(cal_facts* report, cal_fact_kind kind, const char* key, char bracket) {
    cal_fact* fact = add(report, kind, key);
    fact->text[0] = bracket;
    fact->text[1] = '\0';
}

void cal_facts_open(cal_facts* report, const char* key, char bracket) {
    if (!report) return;
    add_bracket(report, CAL_FACT_OPEN, key, bracket);
}
void cal_facts_close(cal_facts* report, char bracket) {
    if (!report) return;
    add_bracket(report, CAL_FACT_CLOSE, NULL, bracket);
}

// --- What several kinds of runs say ---------------------------------------------------------------------------------------

void cal_run_report_model(cal_facts* report, const cal_model* model) {
    const int joints = cal_model_joint_count(model), degrees = cal_model_v_count(model);
    cal_facts_integer(report, "joints", joints);
    cal_facts_integer(report, "dof", degrees);
    cal_facts_line(report, "size", "%d joint%s, %d degree%s of freedom", joints, joints == 1 ? "" : "s", degrees,
                   degrees == 1 ? "" : "s");
}

void cal_run_report_machine(cal_facts* report, const cal_machine* machine, int processors) {
    cal_facts_text(report, "machine", cal_machine_name(machine));
    cal_facts_integer(report, "processors", processors);
    cal_facts_integer(report, "lanes", cal_machine_lanes(machine));
}

const char* cal_machine_text(const cal_machine* machine, int used, char* text, size_t capacity) {
    if (!machine || !text || capacity == 0) return "";
    const int processors = cal_machine_processors(machine);
    const char* name = cal_machine_name(machine);
    const char* noun = strncmp(name, "mpi", 3) == 0 ? "rank" : strcmp(name, "cuda") == 0 ? "GPU" : "core";
    if (used == 1 && processors == 1)
        snprintf(text, capacity, "one %s", noun);
    else if (used == processors)
        snprintf(text, capacity, "%d %ss", used, noun);
    else
        snprintf(text, capacity, "%d of %d %ss", used, processors, noun);
    if (strchr(name, ',')) strncat(text, " with a GPU each", capacity - strlen(text) - 1);
    return text;
}
