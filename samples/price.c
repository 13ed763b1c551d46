// What a model costs on this machine, and what it would cost on one that one does not have.
#include <calder/calder.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_machine* machine = NULL;
    cal_costs own = {0};
    const cal_costs cluster = {.compute = 0.4e-3, .message = 1.5e-3}; // Jung's MANNA: s per joint, s per cut edge
    cal_threads_def threads = cal_default_threads_def();
    threads.workers = 2;
    cal_status status = cal_model_generate("mobile:l=5,o=9,plateau=printed", &model, &error);
    if (!status) status = cal_machine_threads(&threads, &machine, &error);
    if (!status) status = cal_machine_measure(machine, model, &own, &error);
    int32_t* owner = !status ? malloc((size_t)cal_model_joint_count(model) * sizeof *owner) : NULL;
    if (!status) printf("this machine: %.0f ns per joint, %.1f us per cut\n", 1e9 * own.compute, 1e6 * own.message);
    for (int processors = 1; !status && owner && processors <= 64; processors *= 4) {
        double here = 0.0, there = 0.0;
        int used = 0;
        status = cal_distribute(model, CAL_BALANCED, processors, &own, owner, NULL, &here, &error);
        if (!status) status = cal_distribute(model, CAL_JUNG, processors, &cluster, owner, &used, &there, &error);
        if (!status)
            printf("%2d processors: %6.1f us here; %6.1f ms on the paper's, which uses %d\n", processors, 1e6 * here,
                   1e3 * there, used);
    }
    if (status) fprintf(stderr, "%s\n", error.text);
    free(owner);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
    return status != CAL_OK || (model && !owner);
}
