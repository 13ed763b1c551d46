// `calder eval`: one evaluation, no time stepping.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_options.h"
#include "eval_derivatives.h"
#include "joint_names.h"
#include "json.h"
#include "model_file.h"
#include "sim_constraints.h"
#include "state_file.h"

#define NAME_CAPACITY 128

// What --what computes: the algorithm, the field that holds its answer, and the answer's name.
typedef struct question {
    const char* what;
    const char* algorithm;
    cal_field field;
    const char* key;
} question;

static const question questions[] = {
    {"forward", "aba", CAL_QDD, "qdd"},       {"inverse", "rnea", CAL_TAU, "tau"},
    {"mass", "crba", CAL_MASS, "mass"},       {"energy", "energy", CAL_ENERGY, NULL},
    {"pose", "kinematics", CAL_POSE, "pose"}, {"tendon", "kinematics", CAL_TENDON, "tendon"},
    {CAL_FORWARD_DERIVATIVES, NULL, 0, NULL}, {CAL_INVERSE_DERIVATIVES, NULL, 0, NULL},
};

static const char* what_choice(int index) {
    return index < (int)CAL_ARRAY_COUNT(questions) ? questions[index].what : NULL;
}

// Those of the algorithms that answer "forward".
static const char* algorithm_choice(int index) {
    static const char* const names[] = {"aba", "assembly", "armstrong", "crba", NULL};
    return names[index];
}

static const question* find_question(const char* what) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(questions); i++) {
        if (strcmp(questions[i].what, what) == 0) return &questions[i];
    }
    return NULL;
}

typedef struct answer {
    const question* asked;
    const char *algorithm, *schedule; // of forward
    bool* actuated;                   // of inverse: degrees of freedom that have a motor; NULL: all
    const cal_model* model;
    cal_state_values values;
    double* result;
    double momentum[6];
    // Of forward with constraints in a form of its own: what they leave free, where that is the minimal one.
    const char* form;
    int freedom;
    double *basis, *mass;
} answer;

static cal_status set_field(cal_state* state, cal_field field, const double* values) {
    return cal_state_size(state, field) > 0 ? cal_state_set(state, field, values) : CAL_OK;
}

// Forward in what the constraints leave free, by a simulation that does not move.
static cal_status compute_form(answer* a, cal_machine* machine, cal_error* error) {
    const size_t count = (size_t)cal_model_v_count(a->model);
    cal_sim* sim = NULL;
    cal_sim_def def = cal_default_sim_def();
    def.machine = machine;
    def.stabilize = "none";
    def.constraint_form = a->form;
    cal_status status = cal_sim_create(a->model, &def, &sim, error);
    if (status == CAL_OK) status = cal_sim_set(sim, a->values.time, a->values.q, a->values.v, error);
    if (status == CAL_OK) status = cal_sim_drive(sim, a->values.tau, a->values.control, error);
    if (status == CAL_OK) status = cal_sim_set_activations(sim, a->values.activation, error);
    if (status == CAL_OK) {
        a->result = calloc(count + 1, sizeof *a->result);
        status = a->result ? cal_sim_accelerations(sim, a->result) : CAL_NO_MEMORY;
    }
    if (status == CAL_OK && strcmp(a->form, "minimal") == 0) {
        a->basis = calloc(count * count + 1, sizeof *a->basis);
        a->mass = calloc(count * count + 1, sizeof *a->mass);
        status = a->basis && a->mass ? cal_sim_minimal(sim, &a->freedom, a->basis, a->mass) : CAL_NO_MEMORY;
    }
    cal_sim_destroy(sim);
    return status;
}

// What the constraints make of an answer without them.
static cal_status constrain(answer* a, cal_error* error) {
    const cal_state_values* at = &a->values;
    if (a->asked->field == CAL_QDD) return cal_loops_forward(a->model, at->time, at->q, at->v, a->result, error);
    return cal_loops_inverse(a->model, at->time, at->q, at->v, at->qdd, a->actuated, a->result, error);
}

// Nothing that is not a number is printed as an answer.
static cal_status check_finite(const answer* a, size_t count, cal_error* error) {
    char name[NAME_CAPACITY];
    size_t bad = 0;
    while (bad < count && isfinite(a->result[bad])) bad++;
    if (bad == count) return CAL_OK;
    error->status = CAL_NOT_FINITE;
    snprintf(error->text, sizeof error->text, "%s: number %zu of the answer is infinite or not a number",
             a->asked->what, bad);
    if (a->asked->field != CAL_QDD && a->asked->field != CAL_TAU) return CAL_NOT_FINITE;
    for (int joint = 0; joint < cal_model_joint_count(a->model); joint++) {
        cal_joint_def def;
        int first;
        cal_model_joint(a->model, joint, &def, NULL, NULL, &first);
        if ((int)bad >= first && (int)bad < first + cal_joint_v_count(def.kind))
            snprintf(error->text, sizeof error->text,
                     "%s of joint '%s' became infinite or not a number: check the state and the masses", a->asked->key,
                     cal_model_joint_name(a->model, joint, name, sizeof name));
    }
    return CAL_NOT_FINITE;
}

static cal_status compute(answer* a, cal_machine* machine, cal_error* error) {
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    const question* asked = a->asked;
    const char* algorithm = a->algorithm ? a->algorithm : asked->algorithm;
    cal_status status = cal_plan_create_scheduled(a->model, algorithm, a->schedule, machine, NULL, &plan, error);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    const bool guided = a->actuated || (cal_model_constraint_count(a->model) > 0 &&
                                        (asked->field == CAL_QDD || asked->field == CAL_TAU));
    if (status == CAL_OK) {
        cal_state_set_time(state, a->values.time);
        status = set_field(state, CAL_Q, a->values.q);
    }
    if (status == CAL_OK) status = set_field(state, CAL_V, a->values.v);
    if (status == CAL_OK && asked->field != CAL_TAU) status = set_field(state, CAL_TAU, a->values.tau);
    if (status == CAL_OK && !cal_state_values_find_inputs(&a->values, a->model)) status = CAL_NO_MEMORY;
    if (status == CAL_OK) status = set_field(state, CAL_CONTROL, a->values.inputs);
    if (status == CAL_OK && asked->field == CAL_TAU) status = set_field(state, CAL_QDD, a->values.qdd);
    if (status == CAL_OK) status = cal_plan_execute(plan, state, error);
    if (status == CAL_OK) {
        a->result = calloc(cal_state_size(state, asked->field) + 1, sizeof *a->result);
        status = a->result ? cal_state_get(state, asked->field, a->result) : CAL_NO_MEMORY;
    }
    if (status == CAL_OK && guided) status = constrain(a, error);
    if (status == CAL_OK) status = check_finite(a, cal_state_size(state, asked->field), error);
    if (status == CAL_OK && asked->field == CAL_ENERGY) status = cal_state_get(state, CAL_MOMENTUM, a->momentum);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    return status;
}

// Sᵀ x
static void print_minimal_vector(cal_json* json, const answer* a, const char* name, const double* x) {
    const size_t count = (size_t)cal_model_v_count(a->model);
    cal_json_open(json, name, '[');
    for (int i = 0; i < a->freedom; i++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++) sum += a->basis[(size_t)i * count + k] * x[k];
        cal_json_number(json, NULL, sum);
    }
    cal_json_close(json, ']');
}

static void print_minimal(cal_json* json, const answer* a) {
    const size_t count = (size_t)cal_model_v_count(a->model), freedom = (size_t)a->freedom;
    cal_json_integer(json, "freedom", a->freedom);
    cal_json_open(json, "basis", '[');
    for (size_t i = 0; i < freedom; i++) cal_json_numbers(json, NULL, a->basis + i * count, count);
    cal_json_close(json, ']');
    cal_json_open(json, "minimal_mass", '[');
    for (size_t i = 0; i < freedom; i++) cal_json_numbers(json, NULL, a->mass + i * freedom, freedom);
    cal_json_close(json, ']');
    print_minimal_vector(json, a, "minimal_v", a->values.v);
    print_minimal_vector(json, a, "minimal_a", a->result);
}

static void print_json(const answer* a, const char* argument) {
    char name[NAME_CAPACITY];
    size_t q_count = (size_t)cal_model_q_count(a->model), v_count = (size_t)cal_model_v_count(a->model);
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", argument);
    cal_json_text(&json, "what", a->asked->what);
    cal_json_number(&json, "time", a->values.time);
    cal_json_numbers(&json, "q", a->values.q, q_count);
    cal_json_numbers(&json, "v", a->values.v, v_count);
    if (a->asked->field == CAL_TAU)
        cal_json_numbers(&json, "qdd", a->values.qdd, v_count);
    else
        cal_json_numbers(&json, "tau", a->values.tau, v_count);
    switch (a->asked->field) {
    case CAL_MASS:
        cal_json_open(&json, a->asked->key, '[');
        for (size_t row = 0; row < v_count; row++) cal_json_numbers(&json, NULL, a->result + row * v_count, v_count);
        cal_json_close(&json, ']');
        break;
    case CAL_ENERGY:
        cal_json_number(&json, "kinetic", a->result[0]);
        cal_json_number(&json, "potential", a->result[1]);
        cal_json_numbers(&json, "momentum", a->momentum, 6);
        break;
    case CAL_POSE:
        cal_json_open(&json, a->asked->key, '{');
        for (int body = 0; body < cal_model_body_count(a->model); body++)
            cal_json_numbers(&json, cal_model_body_name(a->model, body, name, sizeof name),
                             a->result + 7 * (size_t)body, 7);
        cal_json_close(&json, '}');
        break;
    case CAL_TENDON:
        cal_json_open(&json, a->asked->key, '{');
        for (int i = 0; i < cal_model_tendon_count(a->model); i++)
            cal_json_numbers(&json, cal_model_tendon_name(a->model, i, name, sizeof name), a->result + 2 * (size_t)i,
                             2);
        cal_json_close(&json, '}');
        break;
    default: cal_json_numbers(&json, a->asked->key, a->result, v_count);
    }
    if (a->basis) print_minimal(&json, a);
    cal_json_close(&json, '}');
}

static void print_row(const double* numbers, int count) {
    for (int i = 0; i < count; i++) printf(" %12.6g", numbers[i]);
    printf("\n");
}

// One line a degree of freedom: v, what acts or moves there, and the answer.
static void print_degrees(const answer* a) {
    char name[NAME_CAPACITY];
    bool inverse = a->asked->field == CAL_TAU;
    printf("%-20s %12s %12s %12s\n", "joint", "v", inverse ? "qdd" : "tau", a->asked->key);
    for (int joint = 0; joint < cal_model_joint_count(a->model); joint++) {
        cal_joint_def def;
        int first;
        cal_model_joint(a->model, joint, &def, NULL, NULL, &first);
        for (int i = first; i < first + cal_joint_v_count(def.kind); i++) {
            const double numbers[] = {a->values.v[i], inverse ? a->values.qdd[i] : a->values.tau[i], a->result[i]};
            printf("%-20s", i == first ? cal_model_joint_name(a->model, joint, name, sizeof name) : "");
            print_row(numbers, 3);
        }
    }
}

static void print_text(const answer* a) {
    char name[NAME_CAPACITY];
    int v_count = cal_model_v_count(a->model);
    switch (a->asked->field) {
    case CAL_MASS:
        for (int row = 0; row < v_count; row++) print_row(a->result + (size_t)row * (size_t)v_count, v_count);
        break;
    case CAL_ENERGY:
        printf("%-17s %.9g J\n%-17s %.9g J\n", "kinetic", a->result[0], "potential", a->result[1]);
        printf("%-17s %.9g %.9g %.9g kg m/s\n", "linear momentum", a->momentum[0], a->momentum[1], a->momentum[2]);
        printf("%-17s %.9g %.9g %.9g kg m²/s\n", "angular momentum", a->momentum[3], a->momentum[4], a->momentum[5]);
        break;
    case CAL_POSE:
        printf("%-20s %12s %12s %12s %12s %12s %12s %12s\n", "body", "x", "y", "z", "qw", "qx", "qy", "qz");
        for (int body = 0; body < cal_model_body_count(a->model); body++) {
            printf("%-20s", cal_model_body_name(a->model, body, name, sizeof name));
            print_row(a->result + 7 * (size_t)body, 7);
        }
        break;
    case CAL_TENDON:
        printf("%-20s %12s %12s\n", "tendon", "length", "rate");
        for (int i = 0; i < cal_model_tendon_count(a->model); i++) {
            printf("%-20s", cal_model_tendon_name(a->model, i, name, sizeof name));
            print_row(a->result + 2 * (size_t)i, 2);
        }
        break;
    default: print_degrees(a);
    }
    if (a->basis) printf("%d of %d degrees of freedom are left by the constraints\n", a->freedom, v_count);
}

static void print_details(void) {
    printf(
        "\nforward: accelerations qdd from forces tau. inverse: forces tau from accelerations qdd. mass: the\n"
        "mass matrix, by rows. energy: kinetic and potential energy, linear momentum, and angular momentum\n"
        "about the world's origin. pose: position and quaternion (w, x, y, z) of each body in the world.\n"
        "tendon: length of each tendon, and the rate at which it grows.\n"
        "forward-derivatives: how accelerations change with q (by_q: a column per degree of freedom; balls and free\n"
        "bodies turn about their own axes), v, tau and controls. inverse-derivatives: how forces change with q, v and\n"
        "qdd. Constraints do not act on them.\n"
        "Constraints act on forward and inverse: the accelerations that they allow, and the smallest forces that,\n"
        "with theirs, give accelerations that they allow (others are refused).\n"
        "A state file is {\"time\": 0, \"q\": […], \"v\": […], \"tau\": […], \"control\": […],\n"
        "\"activation\": […], \"qdd\": […]};\n"
        "missing parts are the model's start values, or zero. --json answers with the same names, and all digits.\n"
        "--constraint-form minimal adds there: freedom, basis (the velocities S that the constraints allow, one after\n"
        "the other, orthonormal), minimal_mass (S' M S), minimal_v and minimal_a (S' v and S' qdd).\n");
}

static int answer_question(answer* a, const char* machine_name, const char* lanes, const char* argument, bool as_json) {
    cal_machine* machine = NULL;
    cal_error error = {CAL_OK, ""};
    int status = cal_machine_open(machine_name, lanes, NULL, &machine);
    if (status != CAL_EXIT_DONE) return status;
    error.status = a->form ? compute_form(a, machine, &error) : compute(a, machine, &error);
    if (error.status != CAL_OK)
        status = cal_complain_error(&error);
    else if (as_json)
        print_json(a, argument);
    else
        print_text(a);
    cal_machine_destroy(machine);
    return status;
}

int cal_command_eval(int argc, char** argv) {
    const char *what = NULL, *path = NULL, *lanes = "0", *machine_name = "serial", *algorithm = NULL, *schedule = NULL,
               *form = NULL, *actuated = NULL;
    bool as_json = false;
    cal_model_options options = {0};
    const cal_option table[] = {
        {"what", CAL_OPTION_CHOICE, &what, "NAME", "what to compute", 0, 0, what_choice},
        {"state", CAL_OPTION_TEXT, &path, "FILE", "where; without it the model's start", 0, 0, NULL},
        {"algorithm", CAL_OPTION_CHOICE, &algorithm, "NAME", "how forward is computed [aba]", 0, 0, algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &schedule, "HOW",
         "what assembly does in parallel: auto, serial, balanced, device, or a number of processors", 0, 0, NULL},
        {"constraint-form", CAL_OPTION_CHOICE, &form, "NAME",
         "how forward keeps constraints: with multipliers (lagrange), or in what they leave free (minimal)", 0, 0,
         cal_constraint_form_choice},
        {"actuated", CAL_OPTION_TEXT, &actuated, "JOINTS",
         "joints that have a motor, with commas: inverse finds forces of these alone [all]", 0, 0, NULL},
        CAL_MODEL_PHYSICS_OPTIONS(options),
        CAL_MODEL_FILE_OPTIONS(options),
        CAL_OPTION_LINE_MACHINE(&machine_name, CAL_MACHINE_HELP),
        CAL_OPTION_LINE_LANES(&lanes),
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {"eval",
                             "MODEL",
                             "Evaluates a model once, without stepping through time.",
                             print_details,
                             "calder eval chain:n=3 --what forward --json",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (!what)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "eval needs --what forward, inverse, mass, energy, pose, tendon, " CAL_FORWARD_DERIVATIVES
                            " or " CAL_INVERSE_DERIVATIVES);
    if (algorithm && strcmp(what, "forward") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--algorithm '%s' is for --what forward", algorithm);
    if (schedule && (!algorithm || strcmp(algorithm, "assembly") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", schedule);
    if (form && (algorithm || strcmp(what, "forward") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--constraint-form is for --what forward, without --algorithm");
    if (actuated && strcmp(what, "inverse") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--actuated '%s' is for --what inverse", actuated);
    if (!find_question(what)->algorithm && (strcmp(machine_name, "serial") != 0 || strcmp(lanes, "0") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--what %s has one core: --machine and --lanes are for other questions",
                            what);
    answer a = {.asked = find_question(what), .algorithm = algorithm, .schedule = schedule, .form = form};
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    status = cal_model_open(argv[1], &options, &model, &report);
    if (status != CAL_EXIT_DONE) return status;
    a.model = model;
    if (!cal_state_values_create(model, &a.values)) status = cal_complain(CAL_EXIT_FAILED, "no memory for a state");
    if (status == CAL_EXIT_DONE && path) status = cal_state_values_read(&a.values, model, path);
    if (status == CAL_EXIT_DONE && actuated) {
        a.actuated = cal_degrees_of(model, "actuated", actuated);
        if (!a.actuated) status = CAL_EXIT_MISTAKE;
    }
    if (status == CAL_EXIT_DONE && !a.asked->algorithm) {
        status = cal_eval_derivatives(model, argv[1], what, &a.values, as_json);
    } else if (status == CAL_EXIT_DONE) {
        status = answer_question(&a, machine_name, lanes, argv[1], as_json);
    }
    free(a.result), free(a.basis), free(a.mass), free(a.actuated);
    cal_state_values_destroy(&a.values);
    cal_model_destroy(model);
    if (status == CAL_EXIT_DONE) status = cal_finish_output(status);
    if (status == CAL_EXIT_DONE) cal_mention_issues(argv[1], report);
    cal_read_report_destroy(report);
    return status;
}
