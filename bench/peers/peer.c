// See peer.h.
#include "peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "calder/calder_record.h"
#include "math/rotation_vector.h"
#include "math/vector.h"

// --- Models, taken apart ------------------------------------------------------------------------------------------------

// Depth first without recursion: children are linked in rising order, and a finished body continues with its sibling.
static cal_status walk(peer_tree* tree) {
    const int n = tree->body_count;
    int* first_child = cal_allocate((size_t)n + 1, sizeof(int));
    int* sibling = cal_allocate((size_t)n + 1, sizeof(int));
    if (!first_child || !sibling) {
        cal_free(first_child);
        cal_free(sibling);
        return CAL_NO_MEMORY;
    }
    int* const ground_child = &first_child[n];
    for (int i = 0; i <= n; i++) first_child[i] = -1;
    for (int i = n - 1; i >= 0; i--) {
        const int parent = tree->bodies[i].def.parent;
        int* const head = parent == CAL_GROUND ? ground_child : &first_child[parent];
        sibling[i] = *head;
        *head = i;
    }
    int count = 0;
    for (int body = *ground_child; body >= 0;) {
        tree->order[count++] = body;
        if (first_child[body] >= 0) {
            body = first_child[body];
        } else {
            while (body >= 0 && sibling[body] < 0) body = tree->bodies[body].def.parent;
            body = body >= 0 ? sibling[body] : -1;
        }
    }
    cal_free(first_child);
    cal_free(sibling);
    return CAL_OK;
}

cal_status peer_tree_create(const cal_model* model, peer_tree* tree) {
    memset(tree, 0, sizeof *tree);
    tree->model = model;
    tree->body_count = cal_model_body_count(model);
    tree->joint_count = cal_model_joint_count(model);
    tree->q_count = cal_model_q_count(model);
    tree->v_count = cal_model_v_count(model);
    tree->bodies = cal_allocate((size_t)tree->body_count, sizeof *tree->bodies);
    tree->joints = cal_allocate((size_t)tree->joint_count, sizeof *tree->joints);
    tree->order = cal_allocate((size_t)tree->body_count, sizeof *tree->order);
    cal_model_gravity(model, tree->gravity);
    if (!tree->bodies || !tree->joints || !tree->order) {
        peer_tree_destroy(tree);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < tree->body_count; i++) {
        cal_model_body(model, i, &tree->bodies[i].def);
        tree->bodies[i].first_joint = -1;
    }
    for (int i = tree->joint_count - 1; i >= 0; i--) {
        peer_joint* const joint = &tree->joints[i];
        cal_model_joint(model, i, &joint->def, &joint->body, &joint->first_q, &joint->first_v);
        joint->next = tree->bodies[joint->body].first_joint;
        tree->bodies[joint->body].first_joint = i;
    }
    const cal_status status = walk(tree);
    if (status) peer_tree_destroy(tree);
    return status;
}

void peer_tree_destroy(peer_tree* tree) {
    cal_free(tree->bodies);
    cal_free(tree->joints);
    cal_free(tree->order);
}

// Jacobi's method, cyclic: each turn in the plane (i, j) makes the element there zero. Engines have such functions of their
// own, but not good to the last digits.
void peer_principal_axes(const cal_body_def* def, double moments[3], double axes[9]) {
    const double* const I = def->inertia;
    double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
    double V[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double scale = fabs(I[0]) + fabs(I[1]) + fabs(I[2]);
    for (int turn = 0; turn < 60; turn++) {
        const int i = turn % 3 == 2 ? 1 : 0, j = turn % 3 == 0 ? 1 : 2;
        if (fabs(A[i][j]) <= 1e-18 * scale) continue;
        const double theta = (A[j][j] - A[i][i]) / (2.0 * A[i][j]);
        const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
        const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < 3; k++) {
            const double x = A[k][i], y = A[k][j], u = V[k][i], w = V[k][j];
            A[k][i] = c * x - s * y, A[k][j] = s * x + c * y;
            V[k][i] = c * u - s * w, V[k][j] = s * u + c * w;
        }
        for (int k = 0; k < 3; k++) {
            const double x = A[i][k], y = A[j][k];
            A[i][k] = c * x - s * y, A[j][k] = s * x + c * y;
        }
    }
    for (int i = 0; i < 3; i++) {
        moments[i] = A[i][i];
        for (int j = 0; j < 3; j++) axes[3 * i + j] = V[i][j];
    }
}

void peer_random_state(const peer_tree* tree, uint64_t seed, double* q, double* v, double* tau) {
    cal_random random = {seed};
    for (int i = 0; i < tree->joint_count; i++) {
        const cal_joint_def* const def = &tree->joints[i].def;
        double* const at = &q[tree->joints[i].first_q];
        if (def->kind == CAL_REVOLUTE || def->kind == CAL_PRISMATIC) {
            const double reach = def->kind == CAL_REVOLUTE ? 2.0 : 0.5;
            at[0] = def->limited ? cal_random_between(&random, def->range[0], def->range[1])
                                 : cal_random_between(&random, -reach, reach);
        } else {
            double* const quaternion = def->kind == CAL_FREE ? at + 3 : at;
            for (double* p = at; p < quaternion; p++) *p = cal_random_between(&random, -1.0, 1.0);
            quaternion[0] = cal_random_between(&random, 0.5, 1.0);
            for (int k = 1; k < 4; k++) quaternion[k] = cal_random_between(&random, -1.0, 1.0);
            cal_quaternion_normalize(quaternion);
        }
    }
    for (int i = 0; i < tree->v_count; i++) {
        v[i] = cal_random_between(&random, -1.0, 1.0);
        tau[i] = cal_random_between(&random, -1.0, 1.0);
    }
}

void peer_joint_forces(const peer_tree* tree, const double* q, const double* v, const double* tau, double* force) {
    for (int i = 0; i < tree->joint_count; i++) {
        const peer_joint* const joint = &tree->joints[i];
        const cal_joint_def* const def = &joint->def;
        const int end = joint->first_v + cal_joint_v_count(def->kind);
        for (int k = joint->first_v; k < end; k++) force[k] = tau[k] - def->damping * v[k];
        if (def->stiffness == 0.0) continue;
        if (def->kind == CAL_BALL) {
            double turn[3];
            cal_rotation_vector(&q[joint->first_q], turn);
            for (int k = 0; k < 3; k++) force[joint->first_v + k] -= def->stiffness * turn[k];
        } else {
            force[joint->first_v] -= def->stiffness * (q[joint->first_q] - def->spring_reference);
        }
    }
}

cal_status peer_check_plain(const peer_tree* tree, const char* engine, cal_error* error) {
    for (int i = 0; i < tree->joint_count; i++)
        if (tree->joints[i].def.armature != 0.0)
            return cal_fail(error, CAL_NOT_AVAILABLE, "joint %d has an armature, which %s does not know", i, engine);
    if (cal_model_actuator_count(tree->model) > 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "the model has actuators, which are not translated to %s", engine);
    return CAL_OK;
}

// --- The two commands ---------------------------------------------------------------------------------------------------

enum { STATES = 64, MOST_SAMPLES = 20000, FEWEST_SAMPLES = 5 };
static const double time_to_spend = 0.5; // seconds

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void print_text(const char* text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static int time_forward(const peer_engine* engine, void* instance, const peer_tree* tree, const char* model) {
    const size_t nq = (size_t)tree->q_count, nv = (size_t)tree->v_count, stride = nq + 2 * nv;
    double* const states = cal_allocate(STATES * stride, sizeof(double));
    double* const samples = cal_allocate(MOST_SAMPLES, sizeof(double));
    double* const qdd = cal_allocate(nv, sizeof(double));
    if (!states || !samples || !qdd) {
        cal_free(states);
        cal_free(samples);
        cal_free(qdd);
        fputs("out of memory\n", stderr);
        return 1;
    }
    for (size_t i = 0; i < STATES; i++) {
        double* const q = states + i * stride;
        peer_random_state(tree, i + 1, q, q + nq, q + nq + nv);
    }
    int count = 0;
    for (const double start = now(); count < MOST_SAMPLES; count++) {
        const double* const q = states + (size_t)(count % STATES) * stride;
        const double before = now();
        engine->set(instance, q, q + nq, q + nq + nv);
        engine->evaluate(instance);
        engine->get(instance, qdd);
        const double after = now();
        samples[count] = after - before;
        if (count >= FEWEST_SAMPLES && after - start > time_to_spend) break;
    }
    qsort(samples, (size_t)count, sizeof *samples, compare);
    const double median = samples[count / 2];
    fputs("{\"engine\": ", stdout);
    print_text(engine->name);
    fputs(", \"model\": ", stdout);
    print_text(model);
    printf(", \"joints\": %d, \"batch\": 1, \"lanes\": 1, \"us_per_call\": %.4g, \"ns_per_joint\": %.4g}\n",
           tree->joint_count, 1e6 * median, 1e9 * median / (tree->joint_count > 0 ? tree->joint_count : 1));
    cal_free(states);
    cal_free(samples);
    cal_free(qdd);
    return 0;
}

static int evaluate_state(const peer_engine* engine, void* instance, const peer_tree* tree, const char* path) {
    const int nq = tree->q_count, nv = tree->v_count, count = nq + 2 * nv;
    FILE* const file = strcmp(path, "-") ? fopen(path, "r") : stdin;
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", path);
        return 2;
    }
    double* const q = cal_allocate((size_t)(count + nv), sizeof(double));
    double* const qdd = q + count;
    int got = 0;
    while (q && got < count && fscanf(file, "%lf", &q[got]) == 1) got++;
    if (file != stdin) fclose(file);
    if (got < count) {
        fprintf(stderr, "%s has %d numbers, but q, v and tau of this model are %d + %d + %d\n", path, got, nq, nv, nv);
        cal_free(q);
        return 2;
    }
    engine->set(instance, q, q + nq, q + nq + nv);
    engine->evaluate(instance);
    engine->get(instance, qdd);
    char text[CAL_NUMBER_CAPACITY];
    for (int i = 0; i < nv; i++) printf("%s%s", i ? " " : "", cal_number_text(qdd[i], text));
    putchar('\n');
    cal_free(q);
    return 0;
}

int peer_main(const peer_engine* engine, int argc, char** argv) {
    const bool timed = argc == 3 && !strcmp(argv[1], "time"), exact = argc == 4 && !strcmp(argv[1], "eval");
    if (!timed && !exact) {
        fprintf(stderr, "usage: %s time MODEL | eval MODEL STATE\n", argv[0]);
        return 2;
    }
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    if (cal_model_generate(argv[2], &model, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    peer_tree tree;
    void* instance = NULL;
    int exit_status = 1;
    cal_status status = peer_tree_create(model, &tree);
    if (!status) {
        status = engine->create(&tree, exact, &instance, &error);
        if (!status) {
            exit_status = timed ? time_forward(engine, instance, &tree, argv[2])
                                : evaluate_state(engine, instance, &tree, argv[3]);
            engine->destroy(instance);
        }
        peer_tree_destroy(&tree);
    }
    if (status) fprintf(stderr, "%s: %s\n", engine->name, error.text[0] ? error.text : cal_status_text(status));
    cal_model_destroy(model);
    return exit_status;
}
