// The device of device.h: CUDA's, or the host that plays one for tests.
#include "cuda/device.h"
#include "cuda/kernel.h"

#ifdef CAL_CUDA_EMULATED
#include "base/error.h"
#include "base/memory.h"

_Thread_local int cal_emulated_thread, cal_emulated_launches;
_Thread_local double cal_emulated_memory[CAL_TRUNK_TEAMS * CAL_COLUMN_DOUBLES];

struct cal_device {
    int index;
};

cal_status cal_device_open(int index, cal_device** out, cal_error* error) {
    *out = NULL;
    if (index != 0) return cal_fail(error, CAL_NOT_AVAILABLE, "there is no CUDA device %d: there is 1", index);
    *out = cal_allocate(1, sizeof **out);
    return *out ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for a device");
}

int cal_device_count(void) { return 1; }

void cal_device_close(cal_device* device) { cal_free(device); }

const char* cal_device_name(const cal_device* device) {
    (void)device;
    return "emulated on the host";
}

size_t cal_device_memory(const cal_device* device) {
    (void)device;
    return SIZE_MAX;
}

int cal_device_launches(const cal_device* device) {
    (void)device;
    return cal_emulated_launches;
}

void* cal_device_allocate(cal_device* device, size_t bytes) {
    (void)device;
    return cal_allocate(bytes, 1);
}

void cal_device_free(cal_device* device, void* memory) {
    (void)device;
    cal_free(memory);
}

void* cal_device_allocate_host(size_t bytes) { return cal_allocate(bytes, 1); }
void cal_device_free_host(void* memory) { cal_free(memory); }
void cal_device_pin(void* memory, size_t bytes) { (void)memory, (void)bytes; }
void cal_device_unpin(void* memory) { (void)memory; }

void cal_device_write(cal_device* device, void* to, const void* from, size_t bytes) {
    (void)device;
    if (bytes > 0) memcpy(to, from, bytes);
}

void cal_device_read(cal_device* device, void* to, const void* from, size_t bytes) {
    cal_device_write(device, to, from, bytes);
}

cal_status cal_device_wait(cal_device* device) {
    (void)device;
    return CAL_OK;
}

bool cal_device_record(cal_device* device) {
    (void)device;
    return false;
}

cal_device_graph* cal_device_record_end(cal_device* device) {
    (void)device;
    return NULL;
}

void cal_device_replay(cal_device* device, cal_device_graph* graph) { (void)device, (void)graph; }
void cal_device_graph_free(cal_device_graph* graph) { (void)graph; }

bool cal_device_overlaps(const cal_device* device) {
    (void)device;
    return true;
}

int cal_device_teams(const cal_device* device) {
    (void)device;
    return 2 * CAL_MULTIPROCESSORS;
}

void cal_device_announce(cal_device* device) { (void)device; }
void cal_device_fork(cal_device* device) { (void)device; }
void cal_device_rejoin(cal_device* device) { (void)device; }
void cal_device_join(cal_device* device) { (void)device; }

bool cal_device_follows(cal_device* device) {
    (void)device;
    return true;
}

void* cal_device_announced(cal_device* device) {
    (void)device;
    return NULL;
}

void* cal_device_stream(cal_device* device) {
    (void)device;
    return NULL;
}

#else
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

struct cal_device {
    int index;
    cudaStream_t stream, main, beside;
    cudaEvent_t begun, done;
    bool announces;     // the next kernel
    bool parted;        // the last thing asked for was a fork or a join
    cudaError_t failed; // the first failure since the last wait
    bool overlaps;
    int teams;
    char name[256];
};

struct cal_device_graph {
    cudaGraphExec_t run;
};

// Compiled as all kernels are: code for an older kind of GPU, which a newer one translates, has no waits of its own.
static __global__ void probe(void) {}

static void note(cal_device* device, cudaError_t result) {
    if (result != cudaSuccess && device->failed == cudaSuccess) device->failed = result;
}

static cal_status explain(cal_error* error, cal_status status, const char* what, const char* why) {
    if (error) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s: %s", what, why);
    }
    return status;
}
static cal_status fail(cal_error* error, cal_status status, const char* what, cudaError_t result) {
    return explain(error, status, what, cudaGetErrorString(result));
}

static void release(cal_device* device) {
    if (device->begun) cudaEventDestroy(device->begun);
    if (device->done) cudaEventDestroy(device->done);
    if (device->beside) cudaStreamDestroy(device->beside);
    if (device->main) cudaStreamDestroy(device->main);
    free(device);
}

int cal_device_count(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

cal_status cal_device_open(int index, cal_device** out, cal_error* error) {
    *out = NULL;
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) // which count takes for one that is too old
        return explain(error, CAL_NOT_AVAILABLE, "there is no CUDA device here", "no NVIDIA driver is installed");
    if (result != cudaSuccess || count == 0)
        return fail(error, CAL_NOT_AVAILABLE, "there is no CUDA device here",
                    result != cudaSuccess ? result : cudaErrorNoDevice);
    if (index < 0 || index >= count) {
        char what[80];
        snprintf(what, sizeof what, "there is no CUDA device %d: there are %d", index, count);
        return fail(error, CAL_NOT_AVAILABLE, what, cudaErrorInvalidDevice);
    }
    cal_device* device = (cal_device*)calloc(1, sizeof *device);
    if (!device) return fail(error, CAL_NO_MEMORY, "no memory for a device", cudaErrorMemoryAllocation);
    cudaDeviceProp properties;
    device->index = index;
    result = cudaSetDevice(index);
    if (result == cudaSuccess) result = cudaGetDeviceProperties(&properties, index);
    // What others wait for goes first.
    int least = 0, greatest = 0;
    if (result == cudaSuccess) result = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (result == cudaSuccess) result = cudaStreamCreateWithPriority(&device->main, cudaStreamNonBlocking, greatest);
    if (result == cudaSuccess) result = cudaStreamCreateWithPriority(&device->beside, cudaStreamNonBlocking, least);
    if (result == cudaSuccess) result = cudaEventCreateWithFlags(&device->begun, cudaEventDisableTiming);
    if (result == cudaSuccess) result = cudaEventCreateWithFlags(&device->done, cudaEventDisableTiming);
    device->stream = device->main;
    if (result != cudaSuccess) {
        release(device);
        return fail(error, CAL_NOT_AVAILABLE, "the CUDA device cannot be used", result);
    }
    cudaFuncAttributes code;
    device->overlaps = cudaFuncGetAttributes(&code, probe) == cudaSuccess && code.ptxVersion >= 90;
    // Two per multiprocessor, which has a kilobyte more for each block.
    const size_t both = 2 * (CAL_COLUMN_DOUBLES * sizeof(double) + 1024);
    if (device->overlaps && properties.sharedMemPerMultiprocessor >= both)
        device->teams = 2 * properties.multiProcessorCount;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    *out = device;
    return CAL_OK;
}

void cal_device_close(cal_device* device) {
    if (device) release(device);
}

const char* cal_device_name(const cal_device* device) { return device->name; }

size_t cal_device_memory(const cal_device* device) {
    size_t left = 0, all = 0;
    cudaSetDevice(device->index);
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? left : 0;
}

int cal_device_launches(const cal_device* device) {
    (void)device;
    return 0;
}

void* cal_device_allocate(cal_device* device, size_t bytes) {
    void* memory = NULL;
    cudaSetDevice(device->index);
    if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) != cudaSuccess) {
        cudaGetLastError(); // which is told by what is returned
        return NULL;
    }
    note(device, cudaMemsetAsync(memory, 0, bytes, device->stream));
    return memory;
}

void cal_device_free(cal_device* device, void* memory) {
    if (!memory) return;
    cudaStreamSynchronize(device->stream);
    cudaFree(memory);
}

void* cal_device_allocate_host(size_t bytes) {
    void* memory = NULL;
    return cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess ? memory : NULL;
}

void cal_device_free_host(void* memory) {
    if (memory) cudaFreeHost(memory);
}

void cal_device_pin(void* memory, size_t bytes) {
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess) cudaGetLastError(); // it is not told
}

void cal_device_unpin(void* memory) {
    if (cudaHostUnregister(memory) != cudaSuccess) cudaGetLastError(); // it was not pinned
}

void cal_device_write(cal_device* device, void* to, const void* from, size_t bytes) {
    if (bytes > 0) note(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream));
}

void cal_device_read(cal_device* device, void* to, const void* from, size_t bytes) {
    if (bytes > 0) note(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device->stream));
    note(device, cudaStreamSynchronize(device->stream));
}

cal_status cal_device_wait(cal_device* device) {
    note(device, cudaGetLastError());
    note(device, cudaStreamSynchronize(device->stream));
    const cudaError_t failed = device->failed;
    device->failed = cudaSuccess;
    return failed == cudaSuccess ? CAL_OK : CAL_MACHINE_FAILED;
}

bool cal_device_record(cal_device* device) {
    return cudaStreamBeginCapture(device->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
}

cal_device_graph* cal_device_record_end(cal_device* device) {
    cudaGraph_t graph = NULL;
    cal_device_graph* out = NULL;
    cudaError_t result = cudaStreamEndCapture(device->stream, &graph);
    if (result == cudaSuccess) out = (cal_device_graph*)calloc(1, sizeof *out);
    if (out) result = cudaGraphInstantiate(&out->run, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    if (out && result == cudaSuccess) return out;
    note(device, result);
    free(out);
    return NULL;
}

void cal_device_replay(cal_device* device, cal_device_graph* graph) {
    note(device, cudaGraphLaunch(graph->run, device->stream));
}

void cal_device_graph_free(cal_device_graph* graph) {
    if (!graph) return;
    cudaGraphExecDestroy(graph->run);
    free(graph);
}

bool cal_device_overlaps(const cal_device* device) { return device->overlaps; }
int cal_device_teams(const cal_device* device) { return device->teams; }

void cal_device_announce(cal_device* device) { device->announces = true; }

void* cal_device_announced(cal_device* device) {
    const bool announces = device->announces;
    device->announces = false;
    return announces ? device->begun : NULL;
}

void cal_device_fork(cal_device* device) {
    note(device, cudaStreamWaitEvent(device->beside, device->begun, 0));
    device->stream = device->beside;
    device->parted = true;
}

void cal_device_rejoin(cal_device* device) {
    note(device, cudaEventRecord(device->done, device->beside));
    device->stream = device->main;
    device->parted = false;
}

void cal_device_join(cal_device* device) {
    note(device, cudaStreamWaitEvent(device->main, device->done, 0));
    device->parted = true;
}

bool cal_device_follows(cal_device* device) {
    const bool follows = device->overlaps && !device->parted;
    device->parted = false;
    return follows;
}
void* cal_device_stream(cal_device* device) { return device->stream; }
#endif
