// `calder bench`: which benchmark.
#include "bench.h"

#include <stdio.h>
#include <string.h>

#define BENCHMARK(name) &cal_bench_##name,
static const cal_benchmark* const benchmarks[] = {CAL_BENCHMARKS(BENCHMARK)};

const cal_benchmark* cal_benchmark_at(int index) {
    return index >= 0 && (size_t)index < CAL_ARRAY_COUNT(benchmarks) ? benchmarks[index] : NULL;
}

static int print_help(void) {
    printf("usage: calder bench WHAT [arguments] [options]\n\n");
    for (size_t i = 0; i < CAL_ARRAY_COUNT(benchmarks); i++)
        printf("  %-13s %s\n", benchmarks[i]->name, benchmarks[i]->help);
    printf("\n'calder bench WHAT --help' says more.\n\nexample:\n  calder bench forward chain:n=36 humanoid\n");
    return cal_finish_output(CAL_EXIT_DONE);
}

int cal_command_bench(int argc, char** argv) {
    char list[160] = "";
    for (size_t i = 0; i < CAL_ARRAY_COUNT(benchmarks); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", benchmarks[i]->name);
    }
    if (argc < 2) return cal_complain(CAL_EXIT_MISTAKE, "bench needs to know what: %s", list);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    for (size_t i = 0; i < CAL_ARRAY_COUNT(benchmarks); i++)
        if (strcmp(argv[1], benchmarks[i]->name) == 0) return benchmarks[i]->run(argc - 1, argv + 1);
    return cal_complain(CAL_EXIT_MISTAKE, "unknown benchmark '%s'; there are %s", argv[1], list);
}
