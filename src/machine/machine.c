// What all machines share: their names, and what this processor can run.
#include "machine/machine.h"

void cal_machine_destroy(cal_machine* machine) {
    if (machine) machine->ops->destroy(machine);
}

const char* cal_machine_name(const cal_machine* machine) { return machine->ops->name; }

int cal_machine_lanes(const cal_machine* machine) { return machine->lanes; }

enum { PLAIN, TWO, FOUR, EIGHT, FUSED };

int cal_processor_variant(int lanes) {
#ifdef CAL_PORTABLE_LANES
    return lanes == 8 ? EIGHT : lanes == 4 ? FOUR : lanes == 2 ? TWO : PLAIN;
#else
    __builtin_cpu_init();
    const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool wide = fused && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
    switch (lanes) {
    case 8: return wide ? EIGHT : -1;
    case 4: return fused ? FOUR : -1;
    case 2: return fused ? TWO : -1;
    default: return fused ? FUSED : PLAIN;
    }
#endif
}

int cal_best_lanes(void) {
#ifdef CAL_PORTABLE_LANES
    return 2;
#else
    return cal_processor_variant(8) >= 0 ? 8 : cal_processor_variant(4) >= 0 ? 4 : 1;
#endif
}
