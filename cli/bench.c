// `calder bench`: which benchmark.
#include <stdio.h>
#include <string.h>

#include "command.h"

static int print_help(void) {
    printf("usage: calder bench WHAT [arguments] [options]\n\n"
           "  forward  how long forward dynamics takes, beside other engines with --peers\n"
           "  solvers  the paper's comparison of six solvers, beside the paper's numbers\n\n"
           "'calder bench forward --help' and 'calder bench solvers --help' say more.\n\n"
           "example:\n  calder bench forward chain:n=36 humanoid\n");
    return cal_finish_output(CAL_EXIT_DONE);
}

int cal_command_bench(int argc, char** argv) {
    if (argc < 2)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "bench needs to know what: 'calder bench forward' or 'calder bench solvers'");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    if (strcmp(argv[1], "forward") == 0) return cal_bench_forward(argc - 1, argv + 1);
    if (strcmp(argv[1], "solvers") == 0) return cal_bench_solvers(argc - 1, argv + 1);
    return cal_complain(CAL_EXIT_MISTAKE, "unknown benchmark '%s'; there are forward and solvers", argv[1]);
}
