// Derivatives of inverse and forward dynamics, printed by rows.
#include "eval_derivatives.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 4, MOST = 20000 }; // degrees of freedom, of which the library makes dense matrices

// Up to four matrices of v_count rows.
typedef struct derivatives {
    bool forward;
    int rows, columns[MATRICES];
    double* numbers[MATRICES];
    double* accelerations; // with forward
} derivatives;

static const char* const names[2][MATRICES] = {{"by_q", "by_v", "by_qdd", NULL},
                                               {"by_q", "by_v", "by_tau", "by_control"}};

static cal_status make(derivatives* d, const cal_model* model) {
    d->rows = cal_model_v_count(model);
    d->accelerations = calloc((size_t)d->rows + 1, sizeof(double));
    bool all = d->accelerations != NULL;
    for (int i = 0; i < MATRICES && names[d->forward][i]; i++) {
        d->columns[i] = i < 3 ? d->rows : cal_model_actuator_count(model);
        d->numbers[i] = calloc((size_t)d->rows * (size_t)d->columns[i] + 1, sizeof(double));
        all &= d->numbers[i] != NULL;
    }
    return all ? CAL_OK : CAL_NO_MEMORY;
}

static void destroy(derivatives* d) {
    for (int i = 0; i < MATRICES; i++) free(d->numbers[i]);
    free(d->accelerations);
}

static cal_status find(derivatives* d, const cal_model* model, cal_state_values* at, cal_error* error) {
    cal_dynamics* dynamics = NULL;
    double** out = d->numbers;
    cal_status status = cal_model_v_count(model) > MOST ? CAL_NOT_AVAILABLE : make(d, model);
    if (!status && !cal_state_values_find_inputs(at, model)) status = CAL_NO_MEMORY;
    if (!status) status = cal_dynamics_create(model, &dynamics, error);
    if (!status && d->forward) {
        status = cal_dynamics_forward(dynamics, at->q, at->v, at->tau, at->inputs, d->accelerations);
        if (!status)
            status = cal_dynamics_forward_derivatives(dynamics, at->q, at->v, at->tau, at->inputs, out[0], out[1],
                                                      out[2], out[3]);
    } else if (!status) {
        status = cal_dynamics_inverse_derivatives(dynamics, at->q, at->v, at->qdd, out[0], out[1], out[2]);
    }
    cal_dynamics_destroy(dynamics);
    if (status && error->status == CAL_OK) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s",
                 status == CAL_NOT_AVAILABLE ? "derivatives are for at most 20000 degrees of freedom"
                 : status == CAL_NO_MEMORY   ? "no memory for derivatives"
                                           : "derivatives are infinite or not numbers: check the state and the masses");
    }
    return status;
}

static void print_json(const derivatives* d, const cal_state_values* at, const cal_model* model, const char* argument,
                       const char* what) {
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", argument);
    cal_json_text(&json, "what", what);
    cal_json_numbers(&json, "q", at->q, (size_t)cal_model_q_count(model));
    cal_json_numbers(&json, "v", at->v, (size_t)d->rows);
    if (d->forward) {
        cal_json_numbers(&json, "tau", at->tau, (size_t)d->rows);
        cal_json_numbers(&json, "control", at->inputs, (size_t)cal_model_actuator_count(model));
        cal_json_numbers(&json, "qdd", d->accelerations, (size_t)d->rows);
    } else {
        cal_json_numbers(&json, "qdd", at->qdd, (size_t)d->rows);
    }
    for (int i = 0; i < MATRICES && names[d->forward][i]; i++) {
        const size_t columns = (size_t)d->columns[i];
        cal_json_open(&json, names[d->forward][i], '[');
        for (size_t row = 0; row < (size_t)d->rows; row++)
            cal_json_numbers(&json, NULL, d->numbers[i] + row * columns, columns);
        cal_json_close(&json, ']');
    }
    cal_json_close(&json, '}');
}

static void print_text(const derivatives* d) {
    for (int i = 0; i < MATRICES && names[d->forward][i]; i++) {
        if (d->columns[i] == 0) continue;
        printf("%s\n", names[d->forward][i]);
        for (int row = 0; row < d->rows; row++) {
            for (int k = 0; k < d->columns[i]; k++) printf(" %12.6g", d->numbers[i][row * d->columns[i] + k]);
            printf("\n");
        }
    }
}

int cal_eval_derivatives(const cal_model* model, const char* argument, const char* what, cal_state_values* at,
                         bool as_json) {
    derivatives d = {.forward = strcmp(what, CAL_FORWARD_DERIVATIVES) == 0};
    cal_error error = {CAL_OK, ""};
    if (cal_model_constraint_count(model) > 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--what %s knows no constraints: leave them out with --disable equality",
                            what);
    int status = CAL_EXIT_DONE;
    if (find(&d, model, at, &error) != CAL_OK)
        status = cal_complain_error(&error);
    else if (as_json)
        print_json(&d, at, model, argument, what);
    else
        print_text(&d);
    destroy(&d);
    return status;
}
