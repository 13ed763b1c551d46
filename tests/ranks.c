// Run under mpirun by CTest: ranks give the bits of one core, for every solver and any placement, and disagree loudly.
// Prints what failed and ends with a status other than 0 on every rank.
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "calder/calder_cuda.h"
#include "calder/calder_mpi.h"
#include "calder/calder_world.h"
#include "plan/machine_ops.h"
#include "simulation/domain/domain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

// Hashes of runs on one core, in the order of the runs. All runs are made twice: without a machine, when each rank makes its share of them and
// all are told, and then with the ranks as the machine, when they are compared.
enum { MOST_RUNS = 128 };
static uint64_t alone[MOST_RUNS];
static int run_count;

// Whether this rank makes the next run, by its number, on that machine.
static bool is_own_run(const cal_machine* machine, int* number) {
    *number = run_count++;
    if (*number >= MOST_RUNS) MPI_Abort(MPI_COMM_WORLD, 1);
    return machine != NULL || *number % size == rank;
}

static void share_runs(void) {
    MPI_Allreduce(MPI_IN_PLACE, alone, MOST_RUNS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    run_count = 0;
}

static void expect(bool good, const char* what, const char* detail) {
    int all = good;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) return;
    failures++;
    if (!good) fprintf(stderr, "rank %d of %d: %s (%s)\n", rank, size, what, detail);
}

// What was sent in each pass is what the plan says, as often as it was executed. BDF sums up vectors of its own in between.
static void check_traffic(const cal_sim* sim, const char* solver) {
    cal_pass_traffic sent, said;
    for (int pass = 0; strcmp(solver, "bdf") != 0 && cal_sim_traffic(sim, pass, &sent, &said) == CAL_OK; pass++)
        expect(sent.messages == said.messages * sent.executions && sent.numbers == said.numbers * sent.executions,
               "other messages than the plan says", sent.pass);
}

static uint64_t run(const cal_model* model, const char* solver, const char* algorithm, const char* schedule,
                    cal_machine* machine, const int32_t* placement) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim;
    cal_error error = {.text = ""};
    def.solver = solver;
    def.algorithm = algorithm;
    def.schedule = schedule;
    def.machine = machine;
    def.processor_of_joint = placement;
    def.relative = 1e-3;
    if (cal_sim_create(model, &def, &sim, &error) != CAL_OK || cal_sim_advance(sim, 0.02, &error) != CAL_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, solver, error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (machine) check_traffic(sim, solver);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

static void same_bits_of(const cal_model* model, const char* name, const char* solver, const char* algorithm,
                         const char* schedule, cal_machine* machine) {
    const int count = cal_model_joint_count(model);
    cal_random random = {17};
    int number;
    if (!is_own_run(machine, &number)) return;
    const uint64_t hash = run(model, solver, algorithm, schedule, machine, NULL);
    if (!machine) {
        alone[number] = hash;
        return;
    }
    expect(hash == alone[number], "the machine's own distribution changes the bits", name);
    int32_t* placement = malloc((size_t)count * sizeof *placement);
    // CAL_EVERY_PROCESSOR is below the first.
    for (int every = 0; every < 2; every++) {
        for (int i = 0; i < count; i++) placement[i] = cal_random_below(&random, size + every) - every;
        expect(run(model, solver, algorithm, schedule, machine, placement) == alone[number],
               every ? "a repeated trunk changes the bits" : "a placement changes the bits", name);
    }
    free(placement);
}

static void same_bits_scheduled(const char* name, const char* solver, const char* algorithm, const char* schedule,
                                cal_machine* machine) {
    cal_model* model;
    cal_error error;
    if (cal_model_generate(name, &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    same_bits_of(model, name, solver, algorithm, schedule, machine);
    cal_model_destroy(model);
}

static void same_bits(const char* name, const char* solver, const char* algorithm, cal_machine* machine) {
    same_bits_scheduled(name, solver, algorithm, NULL, machine);
}

// Where shapes touch every rank follows the same events, and the passes of systems between them are spread.
static void run_events(const cal_model* model, const char* solver, const char* algorithm, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim;
    cal_error error = {.text = ""};
    int number;
    if (!is_own_run(machine, &number)) return;
    def.solver = solver;
    def.algorithm = algorithm;
    def.machine = machine;
    if (cal_sim_create(model, &def, &sim, &error) != CAL_OK || cal_sim_advance(sim, 0.3, &error) != CAL_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, solver, error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (machine)
        expect(cal_sim_hash(sim) == alone[number], "ranks change the bits of a run with events", solver);
    else
        alone[number] = cal_sim_hash(sim);
    cal_sim_destroy(sim);
}

static void events(cal_machine* machine) {
    static const char* const solvers[] = {"auto", "gear", "implicit", "rk4"};
    cal_model* model;
    cal_error error;
    if (cal_model_generate("stickman:floor=1", &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 4; i++) run_events(model, solvers[i], "aba", machine);
    run_events(model, "rkck", "assembly", machine);
    cal_model_destroy(model);
}

static void forward(cal_machine* machine) {
    cal_model* model;
    cal_plan* plan;
    cal_state* state;
    cal_error error;
    cal_mpi_traffic traffic;
    double qdd[2][200];
    if (cal_model_generate("mobile:s=2,l=5,o=9,plateau=printed,start=0.8", &model, &error) != CAL_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++) {
        cal_machine* serial;
        int32_t placement[200] = {0};
        cal_machine_serial(0, &serial, &error);
        for (int j = 0; j < cal_model_joint_count(model); j++) placement[j] = j % size;
        if (cal_plan_create_placed(model, "aba", i ? machine : serial, i ? placement : NULL, &plan, &error) != CAL_OK)
            MPI_Abort(MPI_COMM_WORLD, 1);
        cal_state_create(plan, &state);
        cal_plan_execute(plan, state, &error);
        cal_state_get(state, CAL_QDD, qdd[i]);
        if (i == 1) {
            expect(cal_mpi_plan_traffic(plan, &traffic) == CAL_OK && (size == 1) == (traffic.messages == 0), "messages",
                   "traffic");
        } else {
            expect(cal_mpi_plan_traffic(plan, &traffic) == CAL_BAD_ARGUMENT, "traffic of a serial plan", "refused");
        }
        cal_state_destroy(state);
        cal_plan_destroy(plan);
        cal_machine_destroy(serial);
    }
    expect(memcmp(qdd[0], qdd[1], sizeof(double) * (size_t)cal_model_v_count(model)) == 0, "accelerations differ",
           "forward");
    cal_model_destroy(model);
}

static void randomized(cal_machine* machine) {
    cal_model* model;
    cal_error error;
    uint64_t hash[2] = {0, 1};
    if (cal_model_generate("fivebar", &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++) {
        cal_rps_def def = cal_default_rps_def();
        cal_rps* rps;
        def.machine = i ? machine : NULL;
        def.instances = 7, def.hypotheses = 2, def.singular = 1.0;
        if (cal_rps_create(model, &def, &rps, &error) != CAL_OK || cal_rps_advance(rps, 0.05, &error) != CAL_OK)
            MPI_Abort(MPI_COMM_WORLD, 1);
        hash[i] = cal_rps_hash(rps);
        cal_rps_destroy(rps);
    }
    expect(hash[0] == hash[1], "randomized simulation has other bits", "fivebar");
    cal_model_destroy(model);
}

static void spoil_one(cal_force_context* context, void* user) {
    (void)user;
    if (context->instance == 11 && context->time > 0.01) context->tau[0] = (double)NAN;
}

// Thirteen instances, of which ranks have unequal shares: every rank knows all of them, to the bits of one core.
static void ensembles(const char* name, const char* solver, bool spoils, cal_machine* machine) {
    cal_model* model;
    cal_error error = {.text = ""}, lost[2];
    cal_ensemble_report report[2];
    uint64_t hash[2];
    double qdd[2][13 * 64], energy[2][2];
    if (cal_model_generate(name, &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++) {
        cal_ensemble_def def = cal_default_ensemble_def();
        cal_ensemble* ensemble;
        double q[64], v[64];
        def.count = 13, def.spread = 0.002, def.machine = i ? machine : NULL;
        def.sim.solver = solver;
        if (spoils) def.sim.force = spoil_one;
        if (cal_ensemble_create_def(model, &def, &ensemble, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
        const cal_status first = cal_ensemble_advance(ensemble, 0.0123, &error);
        expect((first == CAL_NOT_FINITE) == spoils, "an ensemble's advance", error.text);
        cal_ensemble_get(ensemble, 12, q, v);
        for (int k = 0; k < cal_model_v_count(model); k++) v[k] *= 0.5;
        expect(cal_ensemble_set(ensemble, 3, q, v) == CAL_OK, "an instance that is set", name);
        expect(cal_ensemble_advance(ensemble, 0.02, &error) == first, "an ensemble's second advance", error.text);
        hash[i] = cal_ensemble_hash(ensemble);
        cal_ensemble_status(ensemble, 11, &lost[i]);
        cal_ensemble_get_report(ensemble, &report[i]);
        cal_ensemble_energy(ensemble, 7, &energy[i][0], &energy[i][1]);
        memset(qdd[i], 0, sizeof qdd[i]);
        if (cal_ensemble_lanes(ensemble) > 1 && cal_model_q_count(model) <= 64) {
            double all_q[13 * 64], all_v[13 * 64];
            for (int k = 0; k < 13; k++)
                cal_ensemble_get(ensemble, k, all_q + k * cal_model_q_count(model),
                                 all_v + k * cal_model_v_count(model));
            expect(cal_ensemble_forward(ensemble, all_q, all_v, NULL, qdd[i]) == CAL_OK, "forward dynamics", name);
        }
        cal_ensemble_destroy(ensemble);
    }
    expect(hash[0] == hash[1], "an ensemble has other bits", name);
    expect(memcmp(qdd[0], qdd[1], sizeof qdd[0]) == 0, "an ensemble's forward dynamics", name);
    expect(memcmp(energy[0], energy[1], sizeof energy[0]) == 0, "an instance's energy", name);
    expect(lost[0].status == lost[1].status && strcmp(lost[0].text, lost[1].text) == 0, "a failed instance's line",
           lost[1].text);
    expect(report[0].steps == report[1].steps && report[0].evaluations == report[1].evaluations &&
               report[0].failed == report[1].failed && report[1].failed == spoils,
           "an ensemble's report", name);
    cal_model_destroy(model);
}

// Links in a row, each turning about the ground's z at the end of the one before, and a constraint between them.
static cal_model* build_row(int links, double speed, const cal_constraint_def* constraint) {
    cal_builder* builder;
    cal_model* model;
    cal_error error;
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    if (cal_builder_create(&builder) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    body.mass = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1;
    joint.initial_v[0] = speed;
    for (int i = 0; i < links; i++) {
        body.parent = i - 1;
        body.position[0] = i > 0 ? 0.5 : 0.0;
        body.center[0] = 0.25;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    cal_builder_add_constraint(builder, constraint);
    cal_builder_set_gravity(builder, (const double[3]){0.0, -9.81, 0.0});
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    cal_builder_destroy(builder);
    return model;
}

// Assembly: parts and joins of several ranks, loops across them, joints that are coupled across them.
static void assembles(cal_machine* machine) {
    static const char* const runs[][2] = {{"chain:n=40", "balanced"},
                                          {"chain:n=12,joint=ball", "3"},
                                          {"mobile:s=2,l=3,o=4,plateau=printed,start=0.8", "16"},
                                          {"random:n=60,seed=4", "balanced"},
                                          {"figure:dof=48,hold=both", "5"},
                                          {"chain:n=800", "auto"}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        same_bits_scheduled(runs[i][0], "gear", "assembly", runs[i][1], machine);
    if (cal_solver_help("bdf")) same_bits_scheduled("chain:n=30,damping=1", "bdf", "assembly", "4", machine);
    cal_constraint_def gear = cal_default_constraint_def();
    gear.kind = CAL_COUPLING;
    gear.joint[0] = 1, gear.joint[1] = 5;
    gear.polynomial[1] = 1.0;
    cal_model* model = build_row(7, 0.0, &gear);
    same_bits_of(model, "coupled", "gear", "assembly", "balanced", machine);
    cal_model_destroy(model);
}

// What the ranks send is what the schedule says, and a message of sums from each of them but the first.
static void sends_what_is_predicted(cal_machine* machine) {
    cal_model* model = NULL;
    cal_plan* plan = NULL;
    cal_error error;
    cal_schedule_report report = {0};
    cal_mpi_traffic traffic = {0, 0};
    const cal_costs costs = {.compute = 1e-6, .message = 1e-6};
    if (cal_model_generate("mobile:s=2,l=4,o=9,plateau=printed,start=0.8", &model, &error) != CAL_OK ||
        cal_plan_create_scheduled(model, "assembly", "16", machine, NULL, &plan, &error) != CAL_OK ||
        cal_schedule_predict(model, "16", size, &costs, &report, &error) != CAL_OK ||
        cal_mpi_plan_traffic(plan, &traffic) != CAL_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    char text[96];
    snprintf(text, sizeof text, "%lld of %lld messages", (long long)traffic.messages, (long long)report.messages);
    expect(traffic.messages == report.messages + size - 1 && traffic.bytes >= report.bytes, "messages of joins", text);
    expect(size == 1 || (report.messages >= 3 * (size - 1) && traffic.bytes < 2 * report.bytes), "few messages", text);
    cal_plan_destroy(plan);
    cal_model_destroy(model);
}

// A point of a link that turns about a fixed axis shall stay where it is: one rank sees that it cannot, and all say so.
static void names_a_loop(cal_machine* machine) {
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_error error = {.text = ""};
    cal_constraint_def ball = cal_default_constraint_def();
    ball.name = "impossible";
    ball.kind = CAL_LOOP_BALL;
    ball.body[1] = 0;
    ball.position[1][0] = 0.3, ball.position[1][1] = 0.2, ball.position[1][2] = 0.1;
    cal_model* model = build_row(3, 3.0, &ball);
    if (cal_plan_create_scheduled(model, "assembly", "balanced", machine, NULL, &plan, &error) != CAL_OK ||
        cal_state_create(plan, &state) != CAL_OK || cal_state_hold(state, 0.0, 0.0) != CAL_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++)
        expect(cal_plan_execute(plan, state, &error) == CAL_BAD_MODEL && strstr(error.text, "impossible"),
               "a loop that cannot be met", error.text);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_model_destroy(model);
}

// A model that differs on the last rank is an error on every rank, and nobody hangs.
static void disagreement(cal_machine* machine) {
    cal_model* model;
    cal_plan* plan;
    cal_error error = {.text = ""};
    if (size == 1) return;
    if (cal_model_generate(rank == size - 1 ? "chain:n=5" : "chain:n=4", &model, &error) != CAL_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const cal_status status = cal_plan_create(model, "aba", machine, &plan, &error);
    expect(status == CAL_BAD_MODEL && strstr(error.text, "differs between ranks"), "unequal models", error.text);
    cal_model_destroy(model);
}

static void spoil(cal_force_context* context, void* user) {
    if (*(const bool*)user && rank == size - 1) context->tau[cal_model_v_count(context->model) - 1] = (double)NAN;
}

// A number that is not finite on one rank ends the advance on all of them, and the next one is as if nothing had been.
static void failure(cal_machine* machine) {
    cal_model* model;
    cal_error error;
    uint64_t hashes[2];
    if (cal_model_generate("tree:height=4,fanout=3,joint=ball,damping=0.5", &model, &error) != CAL_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int32_t placement[200];
    for (int i = 0; i < cal_model_joint_count(model); i++) placement[i] = i % size;
    // The last joint is the last rank's, who alone sees what is wrong with it.
    placement[cal_model_joint_count(model) - 1] = size - 1;
    for (int i = 0; i < 2; i++) {
        bool spoils = i == 1;
        cal_sim* sim;
        cal_sim_def def = cal_default_sim_def();
        def.solver = "bdf";
        def.machine = machine;
        def.processor_of_joint = placement;
        def.force = spoil;
        def.user = &spoils;
        if (cal_sim_create(model, &def, &sim, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
        if (spoils)
            expect(cal_sim_advance(sim, 0.01, &error) == CAL_NOT_FINITE && cal_sim_time(sim) == 0.0, "not finite",
                   error.text);
        spoils = false;
        expect(cal_sim_advance(sim, 0.01, &error) == CAL_OK, "after a failure", error.text);
        hashes[i] = cal_sim_hash(sim);
        cal_sim_destroy(sim);
    }
    expect(hashes[0] == hashes[1], "a failed advance changes the next one", "bdf");
    cal_model_destroy(model);
}

// A scene up to a time: a hash over its events and its end. machine: NULL, one core. Rank 0 makes it whole on the way, as for a checkpoint.
static uint64_t run_scene(const char* scene, double time, double forced, cal_machine* machine) {
    cal_sim_def systems = cal_default_sim_def();
    cal_world_def def = cal_default_world_def();
    systems.machine = machine;
    def.systems = &systems;
    def.separate = true;
    def.forced_rollbacks = machine != NULL ? forced : 0.0;
    cal_world* world = NULL;
    cal_error error = {.text = ""};
    cal_status status = cal_world_generate(scene, &def, &world, &error);
    if (status == CAL_OK) cal_world_keep_events(world, true);
    if (status == CAL_OK && machine != NULL) status = cal_world_divide(world, 2 * size + 1, 0.02, &error);
    for (int i = 1; status == CAL_OK && i <= 3; i++) {
        status = cal_world_advance(world, time * i / 3.0, &error);
        if (status == CAL_OK && i == 2 && rank == 0) status = cal_world_gather(world, &error);
    }
    if (status != CAL_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, scene, error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    uint64_t hash = CAL_HASH_START;
    cal_world_event event;
    while (cal_world_next_event(world, &event)) {
        const double numbers[] = {event.time, event.impulse, event.body[0].index, event.body[1].index};
        hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
    }
    cal_world_report report;
    cal_world_get_report(world, &report);
    cal_world_destroy(world);
    return cal_hash_word(hash, report.hash);
}

// Free bodies, contact groups, multibodies with callbacks; with rollbacks on top.
static void worlds(cal_machine* machine) {
    static const struct {
        const char* scene;
        double time;
    } runs[] = {{"atoms:n=60", 0.3}, {"avalanche:n=20", 0.8}, {"cars:cars=1,rows=2", 0.2}, {"robots:n=2,boxes=2", 0.3}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        int number;
        if (!is_own_run(machine, &number)) continue;
        if (!machine) alone[number] = run_scene(runs[i].scene, runs[i].time, 0.0, NULL);
        for (int k = 0; machine && k < 2; k++)
            expect(run_scene(runs[i].scene, runs[i].time, 0.1 * k, machine) == alone[number],
                   "ranks change a world's history", runs[i].scene);
    }
}

// The first rank ends advances, at random; what the others say does not count.
typedef struct bell {
    cal_random random;
    int rung;
} bell;

static bool ring(void* user) {
    bell* b = user;
    const bool ends = rank > 0 || cal_random_below(&b->random, 4) == 0;
    b->rung += ends;
    return ends;
}

// All ranks end at the same time, and going on gives the bits of a run that nobody interrupted.
static void interruptions(const char* name, const char* solver, const char* algorithm, cal_machine* machine) {
    uint64_t hashes[2] = {0};
    cal_model* model = NULL;
    cal_error error = {.text = ""};
    if (cal_model_generate(name, &model, &error) != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++) {
        bell b = {{5}, 0};
        cal_sim* sim = NULL;
        cal_sim_def def = cal_default_sim_def();
        def.solver = solver, def.algorithm = algorithm, def.machine = machine;
        if (i == 1) def.interrupt = ring, def.interrupt_user = &b;
        cal_status status = cal_sim_create(model, &def, &sim, &error);
        if (status == CAL_OK) status = CAL_INTERRUPTED;
        int count = 0;
        for (; status == CAL_INTERRUPTED; count++) {
            status = cal_sim_advance(sim, 0.1, &error);
            double ends[2] = {cal_sim_time(sim), -cal_sim_time(sim)};
            MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
            expect(ends[0] == -ends[1], "ranks were interrupted at different times", name);
        }
        expect(status == CAL_OK, "an advance that was interrupted", error.text);
        expect(i == 0 || count > 1, "nobody was interrupted", name);
        hashes[i] = cal_sim_hash(sim);
        cal_sim_destroy(sim);
    }
    expect(hashes[0] == hashes[1], "an interruption changes bits", name);
    cal_model_destroy(model);
}

static void interrupted_worlds(cal_machine* machine) {
    uint64_t hashes[2] = {0};
    for (int i = 0; i < 2; i++) {
        bell b = {{5}, 0};
        cal_sim_def systems = cal_default_sim_def();
        cal_world_def def = cal_default_world_def();
        cal_world* world = NULL;
        cal_error error = {.text = ""};
        cal_world_report report;
        systems.machine = machine;
        def.systems = &systems;
        if (i == 1) def.interrupt = ring, def.interrupt_user = &b;
        cal_status status = cal_world_generate("atoms:n=60", &def, &world, &error);
        if (status == CAL_OK) status = cal_world_divide(world, 2 * size + 1, 0.02, &error);
        if (status == CAL_OK) status = CAL_INTERRUPTED;
        int count = 0;
        for (; status == CAL_INTERRUPTED; count++) {
            status = cal_world_advance(world, 0.3, &error);
            double ends[2] = {cal_world_time(world), -cal_world_time(world)};
            MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
            expect(ends[0] == -ends[1], "ranks of a world were interrupted at different times", "atoms");
        }
        expect(status == CAL_OK, "a world that was interrupted", error.text);
        expect(i == 0 || count > 1 || size == 1, "no world was interrupted", "atoms");
        if (status != CAL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
        cal_world_get_report(world, &report);
        hashes[i] = report.hash;
        cal_world_destroy(world);
    }
    expect(hashes[0] == hashes[1], "an interruption changes a world's bits", "atoms");
}

// All ranks share one GPU, which the host plays: instances live there, a share per rank.
static void devices(void) {
    cal_machine *machine = NULL, *device = NULL, *serial = NULL;
    cal_model* model = NULL;
    cal_plan* plan;
    cal_error error = {.text = ""};
    const cal_cuda_def def = cal_default_cuda_def();
    if (cal_machine_mpi(MPI_COMM_WORLD, 0, &machine, &error) || cal_machine_cuda(&def, &device, &error) ||
        cal_machine_serial(1, &serial, &error))
        MPI_Abort(MPI_COMM_WORLD, 1);
    expect(cal_machine_nest(machine, serial, &error) == CAL_BAD_ARGUMENT, "a core in ranks", error.text);
    expect(cal_machine_nest(serial, device, &error) == CAL_BAD_ARGUMENT, "a device in a core", error.text);
    expect(cal_machine_nest(machine, device, &error) == CAL_OK, "a device in ranks", error.text);
    expect(cal_machine_nest(machine, device, &error) == CAL_BAD_ARGUMENT, "a second device in ranks", error.text);
    expect(strcmp(cal_machine_name(machine), "mpi,cuda") == 0, "the name of both", cal_machine_name(machine));
    ensembles("humanoid:floor=0", "rk4", false, machine);
    if (cal_model_generate("chain", &model, &error)) MPI_Abort(MPI_COMM_WORLD, 1);
    expect(cal_plan_create(model, "aba", machine, &plan, &error) == CAL_NOT_AVAILABLE, "one model on both", error.text);
    cal_model_destroy(model);
    cal_machine_destroy(serial);
    cal_machine_destroy(machine);
}

// --- A run that the first rank is asked about -------------------------------------------------------------------------------------

enum { MOST_SHOWN = 2000 };

// Numbers that a run shows, one after the other.
typedef struct shown {
    double numbers[MOST_SHOWN];
    int count;
} shown;

static void show(shown* s, const double* numbers, int count) {
    if (s->count + count > MOST_SHOWN) MPI_Abort(MPI_COMM_WORLD, 1);
    memcpy(s->numbers + s->count, numbers, (size_t)count * sizeof *numbers);
    s->count += count;
}

static bool count_shape(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    (void)shape, (void)mesh;
    ++*(int*)user;
    return true;
}

// Everything that there is to see.
static void look(cal_run* run, shown* s) {
    const cal_model* model = cal_run_model(run);
    double numbers[MOST_SHOWN], values[CAL_RUN_CHANNELS];
    char text[4096];
    int shapes = 0;
    cal_run_pull pull;
    const double time = cal_run_time(run);
    show(s, &time, 1);
    show(s, cal_run_q(run), cal_model_q_count(model));
    show(s, cal_run_v(run), cal_model_v_count(model));
    if (cal_run_poses(run, numbers, NULL) == CAL_OK) show(s, numbers, 7 * cal_run_body_count(run));
    if (cal_run_energy(run, numbers, NULL) == CAL_OK) show(s, numbers, 2);
    if (cal_run_joint_forces(run, numbers, NULL) == CAL_OK) show(s, numbers, 6 * cal_model_joint_count(model));
    cal_run_get_pull(run, &pull);
    const double others[] = {pull.body,
                             pull.force[0],
                             (double)cal_run_body_motion(run, 0),
                             (double)(cal_run_hash(run) >> 12),
                             (double)cal_run_shapes(run, count_shape, &shapes),
                             shapes,
                             (double)strlen(cal_run_body_name(run, 0, text, sizeof text)),
                             (double)cal_run_describe(run, 0, text, sizeof text)};
    show(s, others, sizeof others / sizeof others[0]);
    (void)cal_run_read(run, values, NULL); // rates are the clock's
    (void)cal_run_advise(run, 1e-3, text, sizeof text);
}

// What a page does, and what it shows on the way.
static void use(cal_run* run, shown* s) {
    const cal_model* model = cal_run_model(run);
    const int last = cal_run_body_count(run) - 1;
    const double point[3] = {0.01, 0, 0}, target[3] = {0.3, 0.2, 0.1};
    double q[200], v[200], control[100];
    bool reached;
    cal_run_settings settings;
    cal_facts* facts = NULL;
    for (int i = 0; i < 100; i++) control[i] = 0.1;
    memcpy(q, cal_run_q(run), (size_t)cal_model_q_count(model) * sizeof *q);
    for (int i = 0; i < 200; i++) v[i] = 0.01 * i;
    (void)cal_run_approach(run, 0.01, &reached, NULL);
    look(run, s);
    (void)cal_run_grab(run, last, point, NULL);
    cal_run_drag(run, target);
    (void)cal_run_advance(run, 0.02, NULL);
    look(run, s);
    cal_run_drop(run);
    (void)cal_run_drive(run, NULL, control, NULL);
    (void)cal_run_drive(run, v, NULL, NULL);
    (void)cal_run_advance(run, 0.03, NULL);
    look(run, s);
    if (cal_model_constraint_count(model) > 0) {
        (void)cal_run_disconnect(run, 0, NULL);
        (void)cal_run_advance(run, 0.031, NULL);
        (void)cal_run_connect(run, 0, CAL_CONNECT_INELASTIC, NULL);
        (void)cal_run_advance(run, 0.032, NULL);
        look(run, s);
    } else {
        (void)cal_run_set(run, 0.05, q, v, NULL);
        (void)cal_run_set(run, 0.05, NULL, v, NULL);
        (void)cal_run_advance(run, 0.06, NULL);
        look(run, s);
    }
    (void)cal_run_reset(run, NULL);
    look(run, s);
    cal_run_get_settings(run, &settings);
    if (cal_facts_create(&facts, NULL) == CAL_OK) cal_run_report(run, facts);
    const double said = (double)cal_facts_count(facts) > 0;
    show(s, &said, 1);
    cal_facts_destroy(facts);
}

// What the first rank is shown of a run that all do together is what one core shows, to the bit.
static void watched(const char* name, cal_machine* machine) {
    static shown alone_shown, together;
    cal_model* model = NULL;
    cal_run *one = NULL, *own = NULL, *shared = NULL;
    cal_error error = {.text = ""};
    cal_run_sim_def def = cal_default_run_sim_def();
    alone_shown.count = together.count = 0;
    if (cal_model_generate(name, &model, &error) || cal_run_create_sim(model, &def, &one, &error) ||
        cal_run_begin(one, false, NULL, &error))
        MPI_Abort(MPI_COMM_WORLD, 1);
    def.sim.machine = machine;
    if (cal_run_create_sim(model, &def, &own, &error) || cal_run_begin(own, false, NULL, &error) ||
        cal_run_create_ranks(MPI_COMM_WORLD, own, &shared, &error)) {
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) {
        use(one, &alone_shown);
        use(shared, &together);
    } else if (cal_run_follow(shared, &error) != CAL_OK)
        fprintf(stderr, "%s\n", error.text), MPI_Abort(MPI_COMM_WORLD, 1);
    const bool leads = rank == 0 && cal_run_follow(shared, &error) == CAL_BAD_ARGUMENT;
    cal_run_destroy(shared);
    expect(rank > 0 || leads, "the first rank follows", name);
    expect(together.count == alone_shown.count &&
               memcmp(together.numbers, alone_shown.numbers, (size_t)together.count * sizeof *together.numbers) == 0,
           "a run on ranks shows something else than one core", name);
    cal_run_destroy(one);
    cal_model_destroy(model);
}

// What is called wrongly says so, on every rank.
static void refusals(void) {
    cal_machine *made = NULL, *serial = NULL;
    cal_model* model = NULL;
    cal_plan* plan = NULL;
    cal_run *run = NULL, *shared = NULL;
    cal_error error = {.text = ""};
    cal_mpi_traffic traffic;
    const cal_run_sim_def def = cal_default_run_sim_def();
    if (cal_machine_serial(1, &serial, &error) || cal_model_generate("chain:n=3", &model, &error) ||
        cal_plan_create(model, "aba", serial, &plan, &error) || cal_run_create_sim(model, &def, &run, &error))
        MPI_Abort(MPI_COMM_WORLD, 1);
    expect(cal_machine_mpi(MPI_COMM_WORLD, 0, NULL, &error) == CAL_BAD_ARGUMENT, "a machine for nobody", error.text);
    expect(cal_machine_mpi(MPI_COMM_NULL, 0, &made, &error) == CAL_BAD_ARGUMENT, "no communicator", error.text);
    expect(cal_machine_mpi(MPI_COMM_WORLD, 3, &made, &error) == CAL_BAD_ARGUMENT && !made, "lanes of 3", error.text);
    expect(cal_mpi_plan_traffic(NULL, &traffic) == CAL_BAD_ARGUMENT, "no plan", "");
    expect(cal_mpi_plan_traffic(plan, NULL) == CAL_BAD_ARGUMENT, "traffic for nobody", "");
    expect(cal_mpi_plan_traffic(plan, &traffic) == CAL_BAD_ARGUMENT, "another machine's plan", "");
    expect(cal_run_create_ranks(MPI_COMM_WORLD, NULL, &shared, &error) == CAL_BAD_ARGUMENT, "no run", error.text);
    expect(cal_run_create_ranks(MPI_COMM_WORLD, run, NULL, &error) == CAL_BAD_ARGUMENT, "a run for nobody", error.text);
    expect(cal_run_create_ranks(MPI_COMM_NULL, run, &shared, &error) == CAL_BAD_ARGUMENT, "nobody's run", error.text);
    cal_run* many = NULL;
    const cal_run_ensemble_def ensemble = cal_default_run_ensemble_def();
    if (cal_run_create_ensemble(model, &ensemble, &many, &error)) MPI_Abort(MPI_COMM_WORLD, 1);
    expect(cal_run_create_ranks(MPI_COMM_WORLD, many, &shared, &error) == CAL_NOT_AVAILABLE, "many runs", error.text);
    cal_run_destroy(many);
    expect(cal_run_follow(NULL, &error) == CAL_BAD_ARGUMENT, "following nothing", error.text);
    expect(cal_run_follow(run, &error) == CAL_BAD_ARGUMENT, "following one core", error.text);
    // One rank has no memory: none gets a run, and none waits.
    cal_fail_allocation(rank == size - 1 ? 1 : -1);
    expect(cal_run_create_ranks(MPI_COMM_WORLD, run, &shared, &error) == CAL_NO_MEMORY && !shared, "memory",
           error.text);
    cal_fail_allocation(-1);
    cal_run_destroy(run);
    cal_plan_destroy(plan);
    cal_model_destroy(model);
    cal_machine_destroy(serial);
}

// What is compared with one core. machine: NULL, this is one core's turn.
static void compared_runs(cal_machine* machine) {
    static const char* const models[] = {"mobile:s=3,l=3,o=4,plateau=printed,start=0.8",
                                         "chain:n=40",
                                         "stickman",
                                         "figure:dof=48",
                                         "humanoid:floor=0",
                                         "random:n=60,seed=11"};
    // Dense and Krylov; quaternions; several roots, stops, springs and motors.
    static const char* const stiff[] = {"mobile:s=2,l=5,o=9,plateau=printed,start=0.8",
                                        "mobile:s=1,l=4,h=1,damping=10,start=0.8",
                                        "mobile:s=3,l=5,o=9,damping=0.5,plateau=printed,start=0.8",
                                        "mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=10,start=0.8",
                                        "figure:dof=48",
                                        "tree:height=4,fanout=3,joint=ball,damping=0.5",
                                        "chain:n=203,damping=1",
                                        "random:n=60,seed=11,passive=1"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) same_bits(models[i], "gear", "aba", machine);
    for (int i = 0; cal_solver_name(i); i++)
        same_bits("mobile:s=2,l=2,o=4,plateau=printed,start=0.8", cal_solver_name(i), "aba", machine);
    same_bits("stickman", "gear", "armstrong", machine);
    for (size_t i = 0; cal_solver_help("bdf") && i < sizeof stiff / sizeof stiff[0]; i++)
        same_bits(stiff[i], "bdf", "aba", machine);
    static const char* const loops[] = {"fourbar:n=4",  "fourbar:n=300", "bricard",
                                        "rolling-disk", "ring:n=12",     "tower:n=6"};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) same_bits(loops[i], "gear", "aba", machine);
    same_bits("fourbar:n=2", "rkf", "aba", machine);
    same_bits("bricard", "implicit", "aba", machine);
    assembles(machine);
    events(machine);
    worlds(machine);
}

// Ranks of one host read what others show where it is, wherever the library puts the memory that they share.
static void share_memory(const cal_machine* machine) {
    MPI_Comm host;
    int near = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &near);
    MPI_Comm_free(&host);
    expect(near < size || machine->ops->board(machine) > 0, "ranks of one host share no memory", "board");
}

// What the first rank says comes to all, in its order, whoever is late; few numbers and many, and between what all show each other.
static void telling(cal_machine* machine) {
    enum { TURNS = 3000, MOST = 200 };
    double said[MOST], own[2], *room = cal_allocate(2 * (size_t)size, sizeof *room);
    const double** all = cal_allocate((size_t)size, sizeof *all);
    cal_random random = {(uint64_t)rank + 1};
    bool right = room && all;
    for (int turn = 0; turn < TURNS && room && all; turn++) {
        const int count = turn % 5 == 0 ? MOST : 1 + turn % 9;
        // Some are late by some microseconds, each in other turns.
        const uint64_t late = cal_random_bits(&random) % 16 == 0 ? 10000 : 0;
        for (uint64_t i = 0; i < late; i++) (void)cal_random_bits(&random);
        for (int i = 0; i < count; i++) said[i] = rank == 0 ? turn + 0.001 * i : -1.0;
        right = machine->ops->share(machine, said, count) == CAL_OK && right;
        for (int i = 0; i < count; i++) right = right && said[i] == turn + 0.001 * i;
        if (turn % 3 != 0) continue;
        own[0] = turn, own[1] = rank;
        right = machine->ops->gather(machine, rank, own, 2, room, all) == CAL_OK && right;
        for (int r = 0; r < size; r++) right = right && all[r][0] == turn && all[r][1] == r;
    }
    expect(right, "ranks hear other numbers than the first one says", "share");
    cal_free(room), cal_free(all);
}

// Beside compared_runs: what is long enough that a message of it waits for its sender, where MPI is told to take nothing from it ahead.
static void long_messages(cal_machine* machine) {
    same_bits("mobile:s=3,l=5,o=9", "gear", "aba", machine);
    same_bits("chain:n=200", "gear", "assembly", machine);
    same_bits("fourbar:n=40", "gear", "aba", machine);
}

static void all_else(cal_machine* machine) {
    if (cal_solver_help("bdf")) failure(machine);
    sends_what_is_predicted(machine);
    names_a_loop(machine);
    randomized(machine);
    ensembles("humanoid:floor=0", "rk4", false, machine);
    ensembles("chain:n=4", "gear", true, machine);
    ensembles("fourbar:n=2", "rkf", false, machine);
    interruptions("mobile:s=3,l=3,o=5", "gear", "aba", machine);
    interruptions("chain:n=40", "rkf", "assembly", machine);
    if (cal_solver_help("bdf")) interruptions("random:n=30,seed=5", "bdf", "aba", machine);
    interrupted_worlds(machine);
    devices();
    forward(machine);
    disagreement(machine);
    refusals();
    watched("stickman", machine);
    watched("fourbar:n=2", machine);
    watched("chain:n=6", machine);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cal_machine* machine;
    cal_error error;
    if (cal_machine_mpi(MPI_COMM_WORLD, 0, &machine, &error) != CAL_OK) {
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    void (*const runs)(cal_machine*) =
        argc > 1 && strcmp(argv[1], "long-messages") == 0 ? long_messages : compared_runs;
    share_memory(machine);
    telling(machine);
    runs(NULL);
    share_runs();
    runs(machine);
    if (runs == compared_runs) all_else(machine);
    cal_machine_destroy(machine);
    if (rank == 0) printf("%d passed, %d failed\n", failures == 0, failures);
    MPI_Finalize();
    return failures != 0;
}
