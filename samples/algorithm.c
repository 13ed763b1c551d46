// An algorithm of one's own, as passes over the tree: what hangs from each joint, and where the centre of that is.
//
//     load.place   from the ground to the leaves: where each node is
//     load.sum     from the leaves to the ground: mass and mass times centre, a node's own and its children's in their order
//
// Kernels see one column of the tree and know no machine, so that the same list runs on one core and on two, to the same bits. Passes are
// Calder's inside: this sample is built with its sources (src/), and not with an installed library.
#include "pass/body_frames.h"
#include "plan/plan.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct load {
    cal_world_motion motion;
    double mass, moment[3]; // of all that hangs from the joint; world's axes
} load;

static void place(const cal_context* context, int column) {
    cal_world_motion_column(context, column, CAL_DOUBLES(load));
}

static void sum(const cal_context* context, int column) {
    const cal_model* model = context->model;
    const cal_column* run = &context->layout->columns[column];
    for (int n = run->first_block + run->block_count - 1; n >= run->first_block; n--) {
        load* own = cal_node_workspace(context, n, CAL_DOUBLES(load));
        own->mass = model->nodes[n].mass;
        cal_rotate3(own->motion.rotation, model->nodes[n].moment, own->moment);
        for (int i = 0; i < 3; i++) own->moment[i] += own->mass * own->motion.position[i];
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) {
            const load* child = cal_node_workspace(context, c, CAL_DOUBLES(load));
            own->mass += child->mass;
            for (int i = 0; i < 3; i++) own->moment[i] += child->moment[i];
        }
    }
}

static const cal_pass passes[] = {{.name = "load.place",
                                   .direction = CAL_OUTBOUND,
                                   .kernels = {place},
                                   .crosses = CAL_DOUBLES(cal_world_motion),
                                   .cost = {.flops = 166, .bytes = sizeof(cal_node) + 2 * sizeof(load)}},
                                  {.name = "load.sum",
                                   .direction = CAL_INBOUND,
                                   .kernels = {sum},
                                   .crosses = 4,
                                   .cost = {.flops = 29, .bytes = sizeof(cal_node) + 2 * sizeof(load)}}};
static const cal_program program = {.name = "load",
                                    .help = "what hangs from each joint",
                                    .spreads = true,
                                    .node_doubles = CAL_DOUBLES(load),
                                    .fields = 1u << CAL_Q | 1u << CAL_V,
                                    .passes = passes,
                                    .pass_count = 2};

// Runs it on a machine, and copies the numbers of all nodes.
static cal_status run(const cal_model* model, cal_machine* machine, load* out, cal_error* error) {
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    const cal_plan_def def = {.model = model, .program = &program, .machine = machine, .copies = 1};
    cal_status status = cal_plan_create_def(&def, &plan, error);
    if (!status) status = cal_state_create(plan, &state);
    if (!status) status = cal_plan_execute(plan, state, error);
    for (int n = 0; !status && n < model->node_count; n++)
        out[n] = *(const load*)cal_node_workspace(&state->context, n, CAL_DOUBLES(load));
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    return status;
}

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_machine *serial = NULL, *threads = NULL;
    cal_threads_def def = cal_default_threads_def();
    def.workers = 2;
    cal_status status = cal_model_generate("mobile:s=3,l=2,o=3", &model, &error);
    if (!status) status = cal_machine_serial(1, &serial, &error);
    if (!status) status = cal_machine_threads(&def, &threads, &error);
    const size_t count = status ? 1 : (size_t)model->node_count;
    load *one = calloc(count, sizeof *one), *two = calloc(count, sizeof *two);
    if (!status) status = one && two ? run(model, serial, one, &error) : CAL_NO_MEMORY;
    if (!status) status = run(model, threads, two, &error);
    for (size_t i = 0; !status && i < count; i++) {
        char name[64];
        const load* own = &one[i];
        cal_model_joint_name(model, model->nodes[i].joint, name, sizeof name);
        printf("%-16s %8.3f kg, centre at %7.3f %7.3f %7.3f m\n", name, own->mass, own->moment[0] / own->mass,
               own->moment[1] / own->mass, own->moment[2] / own->mass);
    }
    const bool same = !status && memcmp(one, two, count * sizeof *one) == 0;
    if (!status) printf("one core and two: %s\n", same ? "the same bits" : "other bits");
    if (status) fprintf(stderr, "%s\n", error.text);
    free(one);
    free(two);
    cal_machine_destroy(serial);
    cal_machine_destroy(threads);
    cal_model_destroy(model);
    return status != CAL_OK || !same;
}
