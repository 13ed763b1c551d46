// A device: its memory, and the order in which it works. The host only asks; what it asked for is done in that order, and is
// finished after cal_device_wait.
#pragma once
#include "calder/calder.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cal_device cal_device;
// The device of that number. Fails where there is none, with a line that says why.
cal_status cal_device_open(int index, cal_device** out, cal_error* error);
int cal_device_count(void);
void cal_device_close(cal_device* device); // NULL is allowed
const char* cal_device_name(const cal_device* device);
// Free memory, in bytes.
size_t cal_device_memory(const cal_device* device);
// Kernels that the calling thread has launched, where the host plays the device; else 0.
int cal_device_launches(const cal_device* device);

// Zeroed memory of the device; NULL: it has no more.
void* cal_device_allocate(cal_device* device, size_t bytes);
void cal_device_free(cal_device* device, void* memory); // NULL is allowed
// Memory of the host that kernels read and write themselves, for a few numbers.
void* cal_device_allocate_host(size_t bytes);
void cal_device_free_host(void* memory);
// Memory of the host whose pages the device may copy from and to by itself; where it may not, copies take longer.
void cal_device_pin(void* memory, size_t bytes);
void cal_device_unpin(void* memory);
// Copies. Up: the host's memory may change afterwards. Down: waits.
void cal_device_write(cal_device* device, void* to, const void* from, size_t bytes);
void cal_device_read(cal_device* device, void* to, const void* from, size_t bytes);
// Waits until all is done; CAL_MACHINE_FAILED: something since the last wait has failed.
cal_status cal_device_wait(cal_device* device);

// What is asked for between begin and end is not done, but kept as one piece of work that is asked for by `replay`. begin: false
// where the device keeps nothing (then everything is done at once, and there is no end).
typedef struct cal_device_graph cal_device_graph;
bool cal_device_record(cal_device* device);
cal_device_graph* cal_device_record_end(cal_device* device); // NULL: failed
void cal_device_replay(cal_device* device, cal_device_graph* graph);
void cal_device_graph_free(cal_device_graph* graph); // NULL is allowed

bool cal_device_overlaps(const cal_device* device); // whether its kernels wait for each other themselves (kernel.h)
// Work beside the rest. The kernel that is asked for after `announce` says when all of it has begun; what is asked for from `fork` to `rejoin` is done
// from then on, beside that kernel and what comes after it, and what comes after `join` waits for both.
void cal_device_announce(cal_device* device);
void cal_device_fork(cal_device* device);
void cal_device_rejoin(cal_device* device);
void cal_device_join(cal_device* device);
// For a launch: whether it may begin while the kernel before still works, which the first one after a fork or a join may not; the driver's event by
// which it says that it has begun, NULL: none.
bool cal_device_follows(cal_device* device);
void* cal_device_announced(cal_device* device);
// How many teams with a column each (kernel.h, CAL_COLUMN_DOUBLES) it has at once, which may wait for each other; 0: they may not.
int cal_device_teams(const cal_device* device);
void* cal_device_stream(cal_device* device); // the driver's own

#ifdef __cplusplus
}
#endif
