// A benchmark is one file in bench/ with a record, listed here.
#pragma once
#include "command.h"
#include "common_options.h"

typedef struct cal_benchmark {
    const char* name; // 'calder bench NAME'
    const char* help; // one line for 'calder bench --help'
    int (*run)(int argc, char** argv);
} cal_benchmark;

// All benchmarks, in the order in which they are listed.
#define CAL_BENCHMARKS(X)                                                                                              \
    X(forward) X(rounds) X(solvers) X(precision) X(scale) X(distribution) X(tree_machine) X(assembly) X(rps) X(world)
#define CAL_DECLARE_BENCHMARK(name) extern const cal_benchmark cal_bench_##name;
CAL_BENCHMARKS(CAL_DECLARE_BENCHMARK)
const cal_benchmark* cal_benchmark_at(int index); // NULL past the last one
