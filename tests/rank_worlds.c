// Run under mpirun by CTest: random worlds have one history on ranks, however they are divided among them, with rollbacks forced on top; also where
// one rank makes its world whole on the way, as for a checkpoint.
//
// CAL_WORLDS in the environment: how many; CAL_FIRST: from which on.
#include "base/memory.h"
#include "calder/calder_mpi.h"
#include "simulation/domain/domain.h"
#include "simulation/world.h"
#include "support_history.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static int number_of(const char* name, int usual) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : usual;
}

typedef struct division {
    int domains;                  // for each rank, and one more
    double window, forced, whole; // when one rank makes its world whole; 0: none
} division;

static void check(cal_status status, const cal_error* error, const char* who) {
    if (status == CAL_OK) return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, who, error->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void take(int number, const division* how, cal_machine* machine, cal_test_history* out, const char* who) {
    cal_test_made m = cal_test_random_world(number, how->forced, (uint64_t)number + 1);
    cal_error error = {CAL_OK, ""};
    cal_world_keep_events(m.world, true);
    m.world->ranks = machine;
    check(cal_world_divide(m.world, how->domains * size + 1, how->window, &error), &error, who);
    if (how->whole > 0.0) {
        check(cal_world_advance(m.world, how->whole, &error), &error, who);
        if (rank == number % size) check(cal_world_gather(m.world, &error), &error, who);
    }
    check(cal_world_advance(m.world, 0.7, &error), &error, who);
    cal_test_take_history(m.world, 0.7, out);
    cal_test_destroy_made(&m);
}

// Far from all others a ball is added three times: with it the contact groups of a world begin anew in the middle of their steps.
static void take_with_balls(cal_world* world, cal_test_history* out, const char* who) {
    cal_error error = {CAL_OK, ""};
    cal_world_keep_events(world, true);
    for (int i = 0; i < 3; i++) {
        check(cal_world_advance(world, 0.213 + 0.157 * i, &error), &error, who);
        cal_world_body_def def = cal_default_world_body_def();
        def.position[0] = 30.0 + i;
        (void)cal_test_add(world, &def, CAL_SPHERE, 0.1, 0.0, 0.0);
    }
    cal_test_take_history(world, 0.7, out);
}

// All ranks add it at the same time, each to a world that it makes whole for that.
static void what_is_added_changes_the_same(int number, cal_machine* machine) {
    static cal_test_history wanted, found;
    char who[64];
    snprintf(who, sizeof who, "world %d with balls, rank %d", number, rank);
    cal_test_made one = cal_test_random_world(number, 0.0, 0), m = cal_test_random_world(number, 0.0, 0);
    take_with_balls(one.world, &wanted, who);
    cal_error error = {CAL_OK, ""};
    m.world->ranks = machine;
    check(cal_world_divide(m.world, 2 * size + 1, 0.013, &error), &error, who);
    take_with_balls(m.world, &found, who);
    cal_test_compare_histories(&wanted, &found, who);
    cal_test_destroy_made(&one);
    cal_test_destroy_made(&m);
}

// Balls that fly about over a floor.
static cal_model* make_balls(void) {
    enum { BALLS = 120, ROW = 12 };
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    check(cal_builder_create(&builder), &error, "balls");
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_PLANE;
    cal_builder_add_shape(builder, &shape);
    for (int i = 0; i < BALLS; i++) {
        cal_body_def body = cal_default_body_def();
        body.mass = 1.0;
        const int row = i / ROW;
        body.position[0] = 0.4 * (i % ROW), body.position[1] = 0.4 * row, body.position[2] = 0.12;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.004;
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = CAL_FREE;
        joint.initial_v[0] = 3.0 * sin(i), joint.initial_v[1] = 3.0 * cos(2.0 * i), joint.initial_v[2] = 0.01 * i;
        shape.body = cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, shape.body, &joint);
        shape.kind = CAL_SPHERE, shape.size[0] = 0.1, shape.friction = 0.3;
        cal_builder_add_shape(builder, &shape);
    }
    check(cal_builder_finish(builder, &model, &error), &error, "balls");
    cal_builder_destroy(builder);
    return model;
}

static uint64_t follow(cal_sim* sim, double time) {
    cal_error error = {CAL_OK, ""};
    check(cal_sim_advance(sim, time, &error), &error, "balls");
    return cal_sim_hash(sim);
}

// Each rank forks a world that it has made whole for itself: the fork is one world all the same, and goes on as one core does; also one that
// comes to ranks only after it was taken.
static void a_fork_has_the_same_history(cal_machine* machine, bool later) {
    cal_model* model = make_balls();
    cal_sim *one = NULL, *sim = NULL, *fork = NULL;
    cal_error error = {CAL_OK, ""};
    cal_sim_def def = cal_default_sim_def();
    check(cal_sim_create(model, &def, &one, &error), &error, "balls on one core");
    if (!later) def.machine = machine;
    check(cal_sim_create(model, &def, &sim, &error), &error, "balls on ranks");
    cal_sim_world(sim)->ranks = machine;
    check(cal_world_divide(cal_sim_world(sim), 4 * size, 0.02, &error), &error, "balls on ranks");
    bool same = follow(one, 0.2) == follow(sim, 0.2);
    check(cal_sim_fork(sim, &fork, &error), &error, "a fork");
    same = same && cal_sim_hash(fork) == cal_sim_hash(sim) &&
           cal_sim_world(fork)->rebuilt; // all take over the first rank's
    cal_sim_world(fork)->ranks = machine;
    check(cal_world_divide(cal_sim_world(fork), 4 * size, 0.02, &error), &error, "a fork");
    for (int k = 3; k <= 6; k++) {
        const double time = 0.1 * k;
        const uint64_t wanted = follow(one, time);
        same = same && follow(fork, time) == wanted && follow(sim, time) == wanted;
    }
    if (!same) fprintf(stderr, "rank %d: a fork has another history\n", rank), MPI_Abort(MPI_COMM_WORLD, 1);
    cal_sim_destroy(one), cal_sim_destroy(sim), cal_sim_destroy(fork);
    cal_model_destroy(model);
}

// A row of balls, of which every two neighbours meet half-way at 0.5 s, to the last bit: there is nothing to be rounded.
static cal_world* make_row(void) {
    enum { BALLS = 64 };
    cal_world_def def = cal_default_world_def();
    def.gravity[2] = 0.0;
    def.restitution = 1.0;
    def.friction = 0.0;
    cal_world* world = cal_test_world(&def);
    for (int i = 0; i < BALLS; i++) {
        cal_world_body_def ball = cal_default_world_body_def();
        ball.position[0] = 1.5 * i;
        ball.velocity[0] = i % 2 == 0 ? 1.0 : -1.0;
        (void)cal_test_add(world, &ball, CAL_SPHERE, 0.25, 0.0, 0.0);
    }
    return world;
}

// What happens at the very end of an advance is written down once, wherever it happens, for the one rank that takes it: at that end, where one rank then
// makes its world whole, and where it happens at the end of a window.
static void collisions_at_the_end(cal_machine* machine) {
    static const double windows[] = {0.5, 0.125, 0.3};
    const int keeper = size / 2;
    static cal_test_history wanted, found;
    for (size_t run = 0; run < sizeof windows / sizeof windows[0]; run++) {
        cal_world *one = make_row(), *world = make_row();
        cal_error error = {CAL_OK, ""};
        world->ranks = machine;
        cal_world_keep_events(world, rank == keeper);
        check(cal_world_divide(world, 2 * size + 1, windows[run], &error), &error, "a row");
        for (int half = 1; half <= 3; half++) {
            char who[96];
            snprintf(who, sizeof who, "a row to %g s, windows of %g s, rank %d", 0.5 * half, windows[run], rank);
            cal_test_take_history(one, 0.5 * half, &wanted);
            cal_test_take_history(world, 0.5 * half, &found);
            const int count = wanted.count;
            if (rank != keeper) wanted.count = 0;
            cal_test_compare_histories(&wanted, &found, who);
            wanted.count = count;
            if (half % 2 == 1 && (wanted.count == 0 || wanted.events[wanted.count - 1].time != 0.5 * half)) {
                fprintf(stderr, "%s: nobody meets at the end\n", who);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            if (rank == half % size) check(cal_world_gather(world, &error), &error, who);
        }
        cal_world_destroy(one);
        cal_world_destroy(world);
    }
}

// What is asked of a world between two advances has the bits of one core: a pose, the sums of a report and of the account of energy, the hash.
static bool answers_alike(cal_world* one, cal_world* world, bool poses) {
    enum { MOST = 1024 };
    static double wanted[7 * MOST], found[7 * MOST];
    cal_world_report reports[2];
    cal_energy_balance balances[2];
    bool same = cal_world_body_count(one) <= MOST;
    if (same && poses) {
        cal_world_poses(one, wanted), cal_world_poses(world, found);
        same = memcmp(wanted, found, 7 * sizeof *wanted * (size_t)cal_world_body_count(one)) == 0;
    }
    same =
        same && cal_world_get_report(one, &reports[0]) == CAL_OK && cal_world_get_report(world, &reports[1]) == CAL_OK;
    same = same && cal_world_balance(one, &balances[0]) == CAL_OK && cal_world_balance(world, &balances[1]) == CAL_OK;
    return same && reports[0].hash == reports[1].hash && reports[0].asleep == reports[1].asleep &&
           memcmp(&reports[0].kinetic, &reports[1].kinetic, sizeof reports[0].kinetic) == 0 &&
           memcmp(&reports[0].potential, &reports[1].potential, sizeof reports[0].potential) == 0 &&
           memcmp(reports[0].momentum, reports[1].momentum, sizeof reports[0].momentum) == 0 &&
           memcmp(&balances[0].loss, &balances[1].loss, sizeof balances[0].loss) == 0;
}

// Between two advances one rank asks, another one the next time, or none, or all: whoever asks sees all there is, also what has changed since somebody asked last, and
// nobody waits for those that do not. Also where other worlds on the same ranks are advanced before somebody asks.
static void whoever_asks_sees_all(cal_machine* machine, int worlds, const char* const* scenes) {
    enum { WORLDS = 3, TIMES = 9 };
    cal_world *one[WORLDS], *world[WORLDS];
    cal_error error = {CAL_OK, ""};
    for (int i = 0; i < worlds; i++) {
        cal_world_def def = cal_default_world_def();
        check(cal_world_generate(scenes[i], &def, &one[i], &error), &error, scenes[i]);
        check(cal_world_generate(scenes[i], &def, &world[i], &error), &error, scenes[i]);
        world[i]->ranks = machine;
        check(cal_world_divide(world[i], 2 * size + 1, 0.02, &error), &error, scenes[i]);
    }
    for (int k = 1; k <= TIMES; k++) {
        for (int i = 0; i < worlds; i++) {
            check(cal_world_advance(one[i], 0.07 * k, &error), &error, scenes[i]);
            check(cal_world_advance(world[i], 0.07 * k, &error), &error, scenes[i]);
        }
        for (int i = 0; i < worlds; i++) {
            const bool asks = k == TIMES || rank == (k / 2 + i) % (size + 1);
            if (!asks || answers_alike(one[i], world[i], k != 2)) continue;
            fprintf(stderr, "rank %d: %s at %g s is not what one core has\n", rank, scenes[i], 0.07 * k);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < worlds; i++) cal_world_destroy(one[i]), cal_world_destroy(world[i]);
}

static void answers(cal_machine* machine) {
    static const char* const scenes[] = {"atoms:n=300", "avalanche:n=60", "atoms:n=200,seed=7"};
    for (int i = 0; i < 3; i++) whoever_asks_sees_all(machine, 1, scenes + i);
    whoever_asks_sees_all(machine, 3, scenes);
}

// One rank has no memory at some time of a run: all fail, or none does, and nobody waits.
static void lose_memory(cal_world* world, cal_machine* machine, int64_t which) {
    cal_error error = {CAL_OK, ""};
    world->ranks = machine;
    check(cal_world_advance(world, 0.0, &error), &error, "the start");
    check(cal_world_divide(world, 2 * size, 0.02, &error), &error, "the division");
    cal_fail_allocation(rank == size - 1 ? which : -1);
    const cal_status status = cal_world_advance(world, 0.51, &error);
    cal_fail_allocation(-1);
    int worst = (int)status, best = (int)status;
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if ((worst == CAL_OK) == (best == CAL_OK) && (status == CAL_OK || error.text[0] != '\0')) return;
    fprintf(stderr, "rank %d: without its allocation %lld: %s\n", rank, (long long)which, error.text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// With contact groups; and without, where balls of all ranks are handed over at the end.
static void memory_that_one_rank_has_not(cal_machine* machine) {
    for (int64_t which = 1; which < 20000; which += 1 + which / 2) {
        cal_test_made m = cal_test_random_world(3, 0.0, 0);
        lose_memory(m.world, machine, which);
        cal_test_destroy_made(&m);
    }
    for (int64_t which = 1; which < 2000; which += 1 + which / 16) {
        cal_world* row = make_row();
        lose_memory(row, machine, which);
        cal_world_destroy(row);
    }
}

int main(int argc, char** argv) {
    static const division runs[] = {
        {1, 0.003, 0.0, 0.0}, {2, 0.02, 0.0, 0.31}, {1, 0.1, 0.0, 0.0}, {2, 0.013, 0.1, 0.25}, {1, 0.05, 0.3, 0.0}};
    static cal_test_history wanted, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cal_machine* machine = NULL;
    cal_error error = {CAL_OK, ""};
    check(cal_machine_mpi(MPI_COMM_WORLD, 0, &machine, &error), &error, "ranks");
    const int count = number_of("CAL_WORLDS", 8), first = number_of("CAL_FIRST", 0);
    for (int i = first; i < first + count; i++) {
        cal_test_made m = cal_test_random_world(i, 0.0, 0);
        cal_test_take_history(m.world, 0.7, &wanted);
        cal_test_destroy_made(&m);
        for (size_t run = 0; size > 1 && run < sizeof runs / sizeof runs[0]; run++) {
            char who[96];
            snprintf(who, sizeof who, "world %d, %d ranks, run %d, rank %d", i, size, (int)run, rank);
            take(i, &runs[run], machine, &found, who);
            cal_test_compare_histories(&wanted, &found, who);
        }
    }
    for (int i = 0; size > 1 && i < 2; i++) what_is_added_changes_the_same(i == 0 ? 11 : 16, machine);
    if (size > 1) a_fork_has_the_same_history(machine, false), a_fork_has_the_same_history(machine, true);
    if (size > 1) collisions_at_the_end(machine);
    if (size > 1) answers(machine);
    if (size > 1) memory_that_one_rank_has_not(machine);
    if (rank == 0) printf("%d random worlds have one history on %d ranks\n", count, size);
    cal_machine_destroy(machine);
    MPI_Finalize();
    return 0;
}
