// Every function of the public headers is called with nothing, and with an object that lives and wrong numbers, ids, names and
// pointers beside it: it says so, and does not crash; and with each of its pointers missing where all else is as it should be. The calls
// are made from the headers (wrong_calls.sh), so that none is missing.
//
// What cannot be noticed is not tried: a pointer to something that was destroyed, and an array that is shorter than a count says.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_cuda.h"
#include "calder/calder_read.h"
#include "calder/calder_record.h"
#include "calder/calder_run.h"
#include "calder/calder_view.h"
#include "support_child.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// What lives: one object of each kind, and ids of bodies and multibodies that are gone, another world's, and the world's own.
typedef struct cast {
    cal_model* model;
    cal_builder* builder;
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
    cal_dynamics* dynamics;
    cal_sim* sim;
    cal_world *world, *other;
    cal_run* run;
    cal_ensemble* ensemble;
    cal_rps* rps;
    cal_facts* facts;
    cal_snapshot* snapshot;
    cal_body_id cal_body_id[3];
    cal_multibody_id cal_multibody_id[3];
} cast;
enum { CASTS = 2 };
static cast casts[CASTS], live;

static cal_error error;
// Room for whatever a function reads or writes; zeros are no definition of anything.
static _Alignas(64) char room[1 << 20];
static double no_numbers[1 << 12];

// The rounds: what stands for an argument in each of them. Ids that are stale or foreign come with numbers that are fine. In MUTE nobody
// wants to know what was wrong, in NO_NUMBERS arrays have what is no number in them, and in MISSING + n the n-th pointer is missing.
enum { NOTHING, NEGATIVE, LARGE, STALE, FOREIGN, ROUNDS, MUTE = ROUNDS, NO_NUMBERS, MISSING };
#define IS_LARGE (k == LARGE || k == MUTE)
#define ERROR (k == MUTE ? NULL : &error)
#define OBJECT(noun, place) (k == NOTHING || k == MISSING + (place) ? NULL : live.noun)
#define WRONG_POINTER(type, place) (k < LARGE || k == MISSING + (place) ? NULL : (type)(void*)room)
#define WRONG_NUMBERS(place) (k == NO_NUMBERS ? no_numbers : WRONG_POINTER(const double*, place))
#define WRONG_TEXT(place) (k < LARGE || k == MISSING + (place) ? NULL : "no such/thing, nor another one\n")
#define WRONG_DEFINITION(type, preset, place)                                                                          \
    (k < LARGE || k == MISSING + (place) ? NULL                                                                        \
     : k <= MUTE                         ? (const type*)(void*)room                                                    \
                                         : __extension__({                                                             \
                                               static type definition;                                                 \
                                               definition = preset();                                                  \
                                               &definition;                                                            \
                   }))
#define WRONG_NUMBER (k < LARGE ? (double)NAN : IS_LARGE ? -(double)INFINITY : 1.0)
#define WRONG_INDEX (k < LARGE ? -7 : IS_LARGE ? INT_MAX : 0)
#define WRONG_KIND(type) ((type)(k < LARGE ? 77 : IS_LARGE ? 0x7fffff : 0))
#define WRONG_COUNT (k < LARGE ? -7 : 0)
#define WRONG_SIZE ((size_t)(k < LARGE ? 0 : 16)) // which texts and room have
#define WRONG_ID(type)                                                                                                 \
    (k < LARGE ? (type){-1, 0} : IS_LARGE ? (type){INT_MAX, 77} : live.type[k > MUTE ? 2 : k - STALE])

typedef struct wrong_call {
    const char* name;
    bool (*call)(int k); // true: it says CAL_OK, or has no status
    bool has_object;     // that comes first
    bool has_status;
    bool has_error;
    bool has_wrong;   // numbers that are out of any range
    bool has_id;      // of a body or a multibody
    bool has_numbers; // an array of them
    int pointers;
} wrong_call;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#include "wrong_calls.inc"
#pragma GCC diagnostic pop
enum { CALL_COUNT = sizeof calls / sizeof calls[0] };

// Whether a function is one of a list.
static bool is_in(const char* name, const char* const* list) {
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

// Of nothing, what may be OK: documented as allowed.
static const char* const nothing_is_fine[] = {"cal_set_allocator", "cal_csv_close",        "cal_glb_close",
                                              "cal_html_close",    "cal_whole_file_close", NULL};

// One evaluation gives what comes of its numbers, and looks at none of them; the model has no activations.
static const char* const no_numbers_are_fine[] = {"cal_state_set",
                                                  "cal_dynamics_forward",
                                                  "cal_dynamics_inverse",
                                                  "cal_dynamics_mass",
                                                  "cal_dynamics_poses",
                                                  "cal_dynamics_energy",
                                                  "cal_dynamics_jacobian",
                                                  "cal_dynamics_center",
                                                  "cal_dynamics_motion",
                                                  "cal_sim_set_activations",
                                                  NULL};

// What ends an object is called with nothing only.
static bool ends(const char* name) { return strstr(name, "_destroy") != NULL || strcmp(name, "cal_sim_of_world") == 0; }

enum { FINE, SAYS_OK, SAYS_NOTHING };

static int judge(const wrong_call* c, int k) {
    error = (cal_error){CAL_OK, ""};
    const bool ok = c->call(k);
    if (!c->has_status || (ok && is_in(c->name, nothing_is_fine))) return FINE;
    if (k == NO_NUMBERS && c->has_numbers && ok) return is_in(c->name, no_numbers_are_fine) ? FINE : SAYS_OK;
    if (k >= MUTE) return FINE; // some may be missing
    if (ok) return k == NOTHING || c->has_wrong ? SAYS_OK : FINE;
    return c->has_error && (error.text[0] == '\0' || strchr(error.text, '\n') != NULL) ? SAYS_NOTHING : FINE;
}

// Some rounds in a process of their own, which a call may end; gives how that ended.
static int try_rounds(const wrong_call* c, int first, int end) {
    const pid_t child = cal_test_begin_child();
    if (child == 0) {
        int verdict = FINE;
        for (int k = first; k < end && verdict == FINE; k++) verdict = judge(c, k);
        _exit(verdict);
    }
    return cal_test_end_child(child);
}

static bool is_fine(int result) { return WIFEXITED(result) && WEXITSTATUS(result) == FINE; }

static void tell(const wrong_call* c, const char* with, int result) {
    static const char* const verdicts[] = {"", "says CAL_OK", "has no line, or several"};
    if (WIFSIGNALED(result))
        print_error("%s with %s ends with signal %d\n", c->name, with, WTERMSIG(result));
    else
        print_error("%s with %s %s\n", c->name, with,
                    WEXITSTATUS(result) <= SAYS_NOTHING ? verdicts[WEXITSTATUS(result)] : "ends the program");
}

static void no_function_minds_wrong_arguments(void** state) {
    (void)state;
    static const char* const rounds[] = {"nothing", "an object and negative numbers", "an object and large numbers",
                                         "the id of what was removed", "an id of another world"};
    int failed = 0;
    for (int i = 0; i < CALL_COUNT; i++)
        for (int round = 0; round < CASTS * ROUNDS; round++) {
            const int k = round % ROUNDS;
            live = casts[round / ROUNDS];
            if ((k != NOTHING && ends(calls[i].name)) || (k >= STALE && !calls[i].has_id)) continue;
            const int result = try_rounds(&calls[i], k, k + 1);
            if (is_fine(result)) continue;
            failed++;
            tell(&calls[i], rounds[k], result);
        }
    assert_int_equal(failed, 0);
}

static void no_function_minds_a_missing_pointer(void** state) {
    (void)state;
    int failed = 0;
    live = casts[0];
    for (int i = 0; i < CALL_COUNT; i++) {
        const wrong_call* c = &calls[i];
        const int end = MISSING + c->pointers;
        if (ends(c->name) || is_fine(try_rounds(c, MUTE, end))) continue;
        for (int k = MUTE; k < end; k++) {
            const int result = try_rounds(c, k, k + 1);
            if (is_fine(result)) continue;
            char with[64];
            snprintf(with, sizeof with, "pointer %d missing", k - MISSING);
            failed++;
            tell(c, k == MUTE ? "no room for an error" : k == NO_NUMBERS ? "what is no number" : with, result);
        }
    }
    assert_int_equal(failed, 0);
}

// Ids of a body and a multibody that were added to a world; removed again: they are stale.
static cal_status make_ids(cal_world* world, const cal_model* model, bool remove, cal_body_id* body,
                           cal_multibody_id* multibody) {
    cal_world_body_def def = cal_default_world_body_def();
    def.density = 0.0;
    def.mass = 1.0;
    for (int i = 0; i < 3; i++) def.inertia[i] = 1.0;
    static const double position[3] = {0.0, 0.0, 50.0}, upright[4] = {1.0, 0.0, 0.0, 0.0};
    cal_status status = cal_world_add_body(world, &def, body, NULL);
    if (!status) status = cal_world_add_multibody(world, model, position, upright, 0, multibody, NULL);
    if (!status && remove) status = cal_world_remove_body(world, *body, NULL);
    return !status && remove ? cal_world_remove_multibody(world, *multibody, NULL) : status;
}

// A cast of a closed chain that touches nothing, and one of a figure that lands.
static int make(cast* c, const char* model, const char* algorithm, bool contact) {
    cal_sim_def def = cal_default_sim_def();
    def.contact = contact;
    cal_ensemble_def many = cal_default_ensemble_def();
    many.count = 2;
    many.sim = def;
    many.sim.solver = contact ? "auto" : "rk4";
    const cal_rps_def rps = cal_default_rps_def();
    cal_run_sim_def run = cal_default_run_sim_def();
    run.sim = def;
    c->model = cal_test_model(model);
    return cal_builder_create(&c->builder) || cal_machine_serial(1, &c->machine, NULL) ||
           cal_plan_create(c->model, algorithm, c->machine, &c->plan, NULL) || cal_state_create(c->plan, &c->state) ||
           cal_dynamics_create(c->model, &c->dynamics, NULL) || cal_sim_create(c->model, &def, &c->sim, NULL) ||
           cal_world_generate("stack:kind=wall,n=2", NULL, &c->world, NULL) ||
           cal_world_generate("stack:kind=wall,n=3", NULL, &c->other, NULL) ||
           make_ids(c->world, c->model, true, &c->cal_body_id[0], &c->cal_multibody_id[0]) ||
           make_ids(c->other, c->model, false, &c->cal_body_id[1], &c->cal_multibody_id[1]) ||
           make_ids(c->world, c->model, false, &c->cal_body_id[2], &c->cal_multibody_id[2]) ||
           cal_run_create_sim(c->model, &run, &c->run, NULL) ||
           cal_ensemble_create_def(c->model, &many, &c->ensemble, NULL) ||
           (!contact && cal_rps_create(c->model, &rps, &c->rps, NULL)) || cal_facts_create(&c->facts, NULL) ||
           cal_sim_snapshot(c->sim, &c->snapshot, NULL);
}

static int make_all(void** state) {
    (void)state;
    for (size_t i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++) no_numbers[i] = (double)NAN;
    return make(&casts[0], "fivebar", "energy", false) || make(&casts[1], "humanoid", "aba", true);
}

static int end_all(void** state) {
    (void)state;
    for (cast* c = casts; c < casts + CASTS; c++) {
        cal_snapshot_destroy(c->snapshot);
        cal_facts_destroy(c->facts);
        cal_rps_destroy(c->rps);
        cal_ensemble_destroy(c->ensemble);
        cal_run_destroy(c->run);
        cal_world_destroy(c->other);
        cal_world_destroy(c->world);
        cal_sim_destroy(c->sim);
        cal_dynamics_destroy(c->dynamics);
        cal_state_destroy(c->state);
        cal_plan_destroy(c->plan);
        cal_machine_destroy(c->machine);
        cal_builder_destroy(c->builder);
        cal_model_destroy(c->model);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_function_minds_wrong_arguments),
        cmocka_unit_test(no_function_minds_a_missing_pointer),
    };
    return cmocka_run_group_tests(tests, make_all, end_all);
}
