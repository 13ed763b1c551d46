// What all machines share: their names, and what this processor can run.
#include "machine/machine.h"

#include "base/error.h"

#include <stdio.h>

void cal_machine_destroy(cal_machine* machine) {
    if (!machine) return;
    cal_machine_destroy(machine->nested);
    machine->ops->destroy(machine);
}

cal_status cal_machine_nest(cal_machine* machine, cal_machine* device, cal_error* error) {
    if (!machine || !device)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_nest: machine and device must not be NULL");
    if (machine->keep == CAL_KEEP_ALL || machine->nested)
        return cal_fail(error, CAL_BAD_ARGUMENT, "only ranks have a device each, and one of them: not machine %s",
                        machine->ops->name);
    if (!device->device)
        return cal_fail(error, CAL_BAD_ARGUMENT, "ranks have devices in them (cuda), not machine %s",
                        device->ops->name);
    if (device->owned) return cal_fail(error, CAL_BAD_ARGUMENT, "the device is another machine's already");
    machine->nested = device;
    device->owned = true;
    (void)snprintf(machine->name, sizeof machine->name, "%s,%s", machine->ops->name, device->ops->name);
    return CAL_OK;
}

const char* cal_machine_name(const cal_machine* machine) {
    return !machine ? NULL : machine->nested ? machine->name : machine->ops->name;
}

int cal_machine_lanes(const cal_machine* machine) { return machine ? machine->lanes : 0; }

int cal_machine_processors(const cal_machine* machine) { return machine ? machine->processors : 0; }

enum { PLAIN, TWO, FOUR, EIGHT, FUSED };

// The variant of the kernels that this processor should run for a number of lanes; -1 when it cannot.
static int processor_variant(int lanes) {
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
    return processor_variant(8) >= 0 ? 8 : processor_variant(4) >= 0 ? 4 : 1;
#endif
}

// An evaluation with a solver reads and writes about half a kilobyte per joint: of so many joints 16 MB, several times what a core has of
// the caches. What systems say of the last cache is not used: virtual ones say what all cores of their host share.
enum { FAR_NODES = 32768 };

cal_status cal_machine_begin(cal_machine* machine, const cal_machine_ops* ops, int lanes, int processors,
                             cal_error* error) {
    if (lanes == 0) lanes = cal_best_lanes();
    if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8)
        return cal_fail(error, CAL_BAD_ARGUMENT, "lanes must be 0 (automatic), 1, 2, 4 or 8, not %d", lanes);
    const int variant = processor_variant(lanes);
    if (variant < 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "this processor cannot run %d lanes; at most %d", lanes,
                        cal_best_lanes());
    machine->ops = ops;
    machine->lanes = lanes;
    machine->variant = variant;
    machine->processors = processors;
    machine->far_nodes = FAR_NODES;
    machine->keep = CAL_KEEP_ALL;
    return CAL_OK;
}
