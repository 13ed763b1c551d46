// The figures of Armstrong's experiments.
#include "tree_figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "joint_tree.h"

// --- Links as a tree ------------------------------------------------------------------------------------------------------

void cal_link_tree_destroy(cal_link_tree* tree) {
    free(tree->joint);
    *tree = (cal_link_tree){0};
}

// Limbs and paths; heights and the tallest child of each link, from the leaves.
static void find_paths(cal_link_tree* t, int32_t* height, int32_t* tallest, int32_t* children) {
    for (int i = t->count - 1; i >= 0; i--) {
        const int parent = t->parent[i];
        height[i]++;
        if (parent < 0) continue;
        children[parent]++;
        if (height[i] >= height[parent]) tallest[parent] = i; // the first of equal ones
        if (height[i] > height[parent]) height[parent] = height[i];
    }
    for (int i = 0; i < t->count; i++) {
        const int parent = t->parent[i];
        t->generation[i] = parent < 0 ? 0 : t->generation[parent] + 1;
        t->limb[i] = parent >= 0 && children[parent] == 1 ? t->limb[parent] : t->limb_count++;
        t->path[i] = parent >= 0 && tallest[parent] == i ? t->path[parent] : t->path_count++;
    }
}

bool cal_link_tree_create(const cal_model* model, cal_link_tree* out) {
    cal_joint_tree joints = {0};
    const size_t n = (size_t)cal_model_joint_count(model);
    *out = (cal_link_tree){.count = (int)n};
    int32_t* memory = calloc(5 * n + 1, sizeof *memory);
    int32_t* work = calloc(4 * n + 1, sizeof *work);
    out->joint = memory;
    const bool complete = memory && work && cal_joint_tree_create(model, &joints);
    if (complete) {
        int32_t *order = out->joint = memory, *place = work;
        out->parent = memory + n, out->limb = memory + 2 * n, out->path = memory + 3 * n,
        out->generation = memory + 4 * n;
        size_t written = 0;
        for (int joint = joints.first_child[0]; joint >= 0; joint = joints.next_sibling[joint])
            order[written++] = joint;
        for (size_t i = 0; i < written && written < n; i++)
            for (int c = joints.first_child[order[i] + 1]; c >= 0; c = joints.next_sibling[c]) order[written++] = c;
        for (size_t i = 0; i < n; i++) place[order[i]] = (int32_t)i;
        for (size_t i = 0; i < n; i++)
            out->parent[i] = joints.parent[order[i]] < 0 ? -1 : place[joints.parent[order[i]]];
        find_paths(out, work + n, work + 2 * n, work + 3 * n);
    }
    cal_joint_tree_destroy(&joints);
    free(work);
    if (!complete) cal_link_tree_destroy(out);
    return complete;
}

// --- Schedules ------------------------------------------------------------------------------------------------------------

void cal_plan_paths(const cal_link_tree* tree, const int* processor_of_path, cal_tree_schedule* out) {
    cal_tree_clear(out);
    for (int i = 0; i < tree->count; i++) {
        const int own = processor_of_path[tree->path[i]];
        cal_tree_add_task(out, own, 1);
        for (int local = 0; local < 2; local++)
            for (int child = i + 1; child < tree->count; child++)
                if (tree->parent[child] == i && (processor_of_path[tree->path[child]] == own) == (local == 1))
                    cal_tree_add_message(out, child, false);
    }
}

// Limbs share processes, and each process has a processor. False when two processes wait for each other.
static bool plan_limbs(const cal_link_tree* tree, const int* process_of_limb, int processes, cal_tree_schedule* out) {
    int links[CAL_MOST_LIMBS] = {0}, task[CAL_MOST_LIMBS], waits[CAL_MOST_LIMBS] = {0}, order[CAL_MOST_LIMBS];
    int ordered = 0;
    bool sends[CAL_MOST_LIMBS][CAL_MOST_LIMBS] = {{false}};
    for (int i = 0; i < tree->count; i++) {
        const int own = process_of_limb[tree->limb[i]],
                  from = tree->parent[i] < 0 ? own : process_of_limb[tree->limb[tree->parent[i]]];
        links[own]++;
        if (from == own || sends[from][own]) continue;
        sends[from][own] = true;
        waits[own]++;
    }
    for (int p = 0; p < processes; p++)
        if (waits[p] == 0) order[ordered++] = p;
    for (int i = 0; i < ordered; i++)
        for (int p = 0; p < processes; p++)
            if (sends[order[i]][p] && --waits[p] == 0) order[ordered++] = p;
    if (ordered < processes) return false;
    for (int i = 0; i < ordered; i++) task[order[i]] = i;
    cal_tree_clear(out);
    for (int i = 0; i < ordered; i++) {
        cal_tree_add_task(out, order[i], links[order[i]]);
        for (int size = tree->count; size > 0; size--) // those with the most to do first
            for (int p = 0; p < processes; p++)
                if (sends[order[i]][p] && links[p] == size) cal_tree_add_message(out, task[p], false);
    }
    return true;
}

static bool plan_choice(const cal_link_tree* tree, bool several, const int* choice, int processors,
                        cal_tree_schedule* out) {
    if (several) return plan_limbs(tree, choice, processors, out);
    cal_plan_paths(tree, choice, out);
    return true;
}

void cal_plan_best(const cal_link_tree* tree, bool several, int processors, const cal_tree_times* times,
                   cal_tree_schedule* out, int* processor_of_link) {
    int choice[CAL_MOST_LIMBS] = {0}, best[CAL_MOST_LIMBS] = {0};
    const int parts = several ? tree->limb_count : tree->path_count;
    double shortest = INFINITY;
    for (bool more = true; more;) {
        bool used[CAL_MOST_LIMBS] = {false};
        int count = 0;
        for (int i = 0; i < parts; i++) {
            count += !used[choice[i]];
            used[choice[i]] = true;
        }
        if (count == processors && plan_choice(tree, several, choice, processors, out)) {
            const double seconds = cal_tree_model(out, times, NULL);
            if (seconds < shortest * (1 - 1e-9)) {
                shortest = seconds;
                memcpy(best, choice, sizeof best);
            }
        }
        int digit = parts - 1;
        while (digit > 0 && ++choice[digit] == processors) choice[digit--] = 0;
        more = digit > 0;
    }
    plan_choice(tree, several, best, processors, out);
    for (int i = 0; i < tree->count; i++) processor_of_link[i] = best[several ? tree->limb[i] : tree->path[i]];
}

// While one figure executes generation 1 and then 2, another one executes 3 and then 4:
//
//     slot        1   2   3   4          links of a generation: 1, 4, 5, 2
//     figure a    1   4   5   2          every slot has 6 links for two figures: six processors are always busy
//     figure b    5   2   1   4
//
// Generations 1 and 3 are dealt out to the processors together, and so are 2 and 4.
void cal_plan_out_of_phase(const cal_link_tree* tree, int figures, int cycles, cal_tree_schedule* out) {
    enum { GENERATIONS = 4 };
    const int processors = 3 * figures;
    int processor_of_link[CAL_MOST_LINKS] = {0}, dealt = 0;
    static const int dealing[GENERATIONS] = {0, 2, 1, 3};
    for (int g = 0; g < GENERATIONS; g++)
        for (int i = 0; i < tree->count; i++)
            if (tree->generation[i] == dealing[g]) processor_of_link[i] = dealt++ % processors;
    // Tasks must come in the order of slots, but a cycle's numbers are known before: links of a cycle are in generations.
    const size_t tasks = (size_t)figures * (size_t)cycles * (size_t)tree->count;
    int* first_task = calloc(tasks + 1, sizeof *first_task);
    cal_tree_clear(out);
    out->failed |= !first_task;
    for (int pass = 0; pass < 2 && first_task; pass++) {
        int next = 0;
        cal_tree_clear(out);
        for (int slot = 0; slot < GENERATIONS * (cycles + 1); slot++)
            for (int figure = 0; figure < figures; figure++) {
                const int own = slot - figure * GENERATIONS / figures, cycle = own / GENERATIONS;
                if (own < 0 || cycle >= cycles) continue;
                int* now = first_task + ((size_t)figure * (size_t)cycles + (size_t)cycle) * (size_t)tree->count;
                for (int i = 0; i < tree->count; i++) {
                    if (tree->generation[i] != own % GENERATIONS) continue;
                    now[i] = next++;
                    cal_tree_add_task(out, processor_of_link[i], 1);
                    if (pass == 0) continue;
                    bool leaf = true;
                    for (int child = i + 1; child < tree->count; child++) {
                        if (tree->parent[child] != i) continue;
                        leaf = false;
                        cal_tree_add_message(out, now[child], false);
                    }
                    if (leaf && cycle + 1 < cycles) cal_tree_add_message(out, now[tree->count], true);
                }
            }
    }
    free(first_task);
}

// --- Models ---------------------------------------------------------------------------------------------------------------

// A piece of a link, the first of which hangs where the link did: a rod of mass m and length l has pieces of m/s and l/s, and
// moments of inertia of 1/s³.
static void add_piece(cal_builder* builder, const cal_model* base, int body, int piece, int pieces, int offset) {
    cal_body_def def;
    cal_joint_def joint;
    const double s = pieces;
    cal_model_body(base, body, &def);
    cal_model_joint(base, body, &joint, NULL, NULL, NULL);
    if (piece == 0) {
        if (def.parent >= 0) {
            cal_body_def parent;
            cal_model_body(base, def.parent, &parent);
            for (int i = 0; i < 3; i++) def.position[i] -= 2 * parent.center[i] * (s - 1) / s;
            def.parent = offset + def.parent * pieces + pieces - 1;
        }
    } else {
        for (int i = 0; i < 3; i++) def.position[i] = 2 * def.center[i] / s;
        memcpy(def.quaternion, (const double[4]){1, 0, 0, 0}, sizeof def.quaternion);
        def.parent = offset + body * pieces + piece - 1;
        joint.kind = CAL_BALL;
        memset(joint.anchor, 0, sizeof joint.anchor);
        memset(joint.initial_q, 0, sizeof joint.initial_q);
    }
    def.mass /= s;
    for (int i = 0; i < 3; i++) def.center[i] /= s;
    for (int i = 0; i < 6; i++) def.inertia[i] /= s * s * s;
    def.name = joint.name = NULL;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &def), &joint);
}

cal_status cal_figures_build(const cal_model* base, int pieces, int figures, cal_model** out, cal_error* error) {
    cal_builder* builder = NULL;
    const int links = cal_model_body_count(base);
    cal_status status = cal_builder_create(&builder);
    for (int figure = 0; figure < figures && status == CAL_OK; figure++)
        for (int body = 0; body < links; body++)
            for (int piece = 0; piece < pieces; piece++)
                add_piece(builder, base, body, piece, pieces, figure * links * pieces);
    if (status == CAL_OK) status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}
