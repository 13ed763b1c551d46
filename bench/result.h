// What the results of all benchmarks begin with: what was run, and where.
#pragma once
#include "json.h"

// The commit of the sources, "" where it is not known.
extern const char cal_commit[];

// "PROCESSOR, N cores, COMPILER".
const char* cal_host_text(void);
// Opens the object of a result on standard output: command, version, commit, processor, cores, compiler.
cal_json cal_result_open(const char* command);
