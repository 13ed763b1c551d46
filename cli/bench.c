// `calder bench`: which benchmark.
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

static int print_help(void) {
    printf("usage: calder bench WHAT [arguments] [options]\n\n"
           "  forward       how long forward dynamics takes, beside other engines with --peers\n"
           "  solvers       the paper's comparison of six solvers, beside the paper's numbers\n"
           "  scale         one model on 1, 2, … processors, measured beside predicted\n"
           "  tree-machine  Armstrong's experiments on trees of processors, beside the paper's numbers\n"
           "  assembly      assembly and disassembly of chains, beside the paper's numbers and aba\n"
           "  rps           Bicchi's randomized parallel simulation: the paper's figures 4 to 7\n"
           "  world         Mirtich's experiments on colliding bodies, beside the paper's numbers\n\n"
           "'calder bench WHAT --help' says more.\n\n"
           "example:\n  calder bench forward chain:n=36 humanoid\n");
    return cal_finish_output(CAL_EXIT_DONE);
}

static const struct {
    const char* name;
    int (*run)(int argc, char** argv);
} benchmarks[] = {{"forward", cal_bench_forward},   {"solvers", cal_bench_solvers},
                  {"scale", cal_bench_scale},       {"tree-machine", cal_bench_tree_machine},
                  {"assembly", cal_bench_assembly}, {"rps", cal_bench_rps},
                  {"world", cal_bench_world}};

int cal_command_bench(int argc, char** argv) {
    static const char list[] = "forward, solvers, scale, tree-machine, assembly, rps, world";
    if (argc < 2) return cal_complain(CAL_EXIT_MISTAKE, "bench needs to know what: %s", list);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    for (size_t i = 0; i < CAL_ARRAY_COUNT(benchmarks); i++)
        if (strcmp(argv[1], benchmarks[i].name) == 0) return benchmarks[i].run(argc - 1, argv + 1);
    return cal_complain(CAL_EXIT_MISTAKE, "unknown benchmark '%s'; there are %s", argv[1], list);
}
