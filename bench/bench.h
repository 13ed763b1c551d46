// A benchmark is one file in bench/ with a record, listed in bench.c.
#pragma once
#include "command.h"
#include "common_options.h"

typedef struct cal_benchmark {
    const char* name; // 'calder bench NAME'
    const char* help; // one line for 'calder bench --help'
    int (*run)(int argc, char** argv);
} cal_benchmark;

extern const cal_benchmark cal_bench_forward, cal_bench_rounds, cal_bench_solvers, cal_bench_scale,
    cal_bench_tree_machine, cal_bench_assembly, cal_bench_rps, cal_bench_world, cal_bench_precision,
    cal_bench_distribution;
const cal_benchmark* cal_benchmark_at(int index); // NULL past the last one
