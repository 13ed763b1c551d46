// What kernels are written with. They are C that nvcc takes as C++; for tests the host's compiler takes them as they are
// (CAL_CUDA_EMULATED): a launch is a loop over all threads, one after the other, which is allowed since no thread waits for
// another one of its launch. Where threads do wait, a kernel has phases, in each of which none waits: a team of warps has shared
// memory, and all of it has finished a phase before one begins the next.
#pragma once
#define CAL_THREAD_PER_LANE
#define CAL_WIDTH 32
#ifdef CAL_CUDA_EMULATED
extern _Thread_local int cal_emulated_thread;
#define CAL_OWN_LANE (cal_emulated_thread % CAL_WIDTH)
#else
#include <cuda_runtime.h>
#define CAL_OWN_LANE ((int)(threadIdx.x % CAL_WIDTH))
#endif
#include "cuda/device.h"
#include "cuda/work.h"
#include <assert.h>
#include <string.h>
// A warp that goes down a limb and up again has shared memory for what the nodes of a segment keep (limb.h), or, of a limb of ball
// joints, for the scratch (layout.h) of its last blocks; a multiprocessor has 228 KB (sm_90), of which 1 KB per warp is the driver's,
// and 65,536 registers.
// More warps, each with less of both, take longer: what is left of the memory is the cache that constants stay in.
enum { CAL_LIMB_STEPS = 4, CAL_LIMB_WARPS = 8 };
enum { CAL_LIMB_ROWS = 22, CAL_LIMB_DOUBLES = CAL_LIMB_STEPS * CAL_LIMB_ROWS * CAL_WIDTH };
enum { CAL_FAST_BLOCKS = 3 }; // with less than a segment's rows
// A part that goes down and up again has one port at most. Of a limb of balls the forces on it on their way inbound are there as well
// (schedule.h, cal_area_doubles of one slot), of others in registers: 8 warps per multiprocessor, with all of these that a thread can have.
enum {
    CAL_PART_WARPS = 8,
    CAL_PART_STEPS = 3,
    CAL_SEGMENT_DOUBLES = CAL_PART_STEPS * CAL_LIMB_ROWS * CAL_WIDTH,
    CAL_PART_AREA = CAL_FAST_BLOCKS * 15 * CAL_WIDTH,
    CAL_PART_DOUBLES = CAL_PART_AREA + 63 * CAL_WIDTH
};
static_assert((int)CAL_PART_DOUBLES >= (int)CAL_SEGMENT_DOUBLES, "segments have room there");
// Of a team whose warps have a role each in a part's walk, with a third of the registers (part.h): a multiprocessor has CAL_PART_TEAMS.
// The warp that needs most of them keeps some rows on chip, behind three segments.
enum { CAL_PART_ROLES = 3, CAL_PORT_ROWS = 6 };
enum { CAL_ROLES_DOUBLES = 3 * CAL_SEGMENT_DOUBLES + CAL_PORT_ROWS * CAL_WIDTH };
// A team: warps that share a column of so many steps at most, and memory for rows of all of them (team_walks.h), which a multiprocessor has for
// two teams. Teams without a column have CAL_TEAM_DOUBLES.
enum { CAL_TEAM_ROWS = 25 };
enum { CAL_COLUMN_DOUBLES = CAL_TEAM_STEPS * CAL_TEAM_ROWS * CAL_WIDTH, CAL_TEAM_DOUBLES = 336 * CAL_WIDTH };

// Kernels follow each other as in time, but the next one may start while the last blocks of one still work (programmatic launches): it
// waits here before it reads or writes anything that others write. What is constant may be read before. Every one lets the next
// start at once, which it does when all blocks of this one have begun.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CAL_AFTER_OTHERS asm volatile("griddepcontrol.wait;" ::: "memory")
#define CAL_BEFORE_OTHERS asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define CAL_AFTER_OTHERS (void)0
#define CAL_BEFORE_OTHERS (void)0
#endif

// Copies a number into memory on chip, without a register that waits for it.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define CAL_COPY(to, from)                                                                                             \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)   \
                 : "memory")
#define CAL_COPIED asm volatile("cp.async.wait_all;" ::: "memory")
#else
#define CAL_COPY(to, from) memcpy(to, from, sizeof(double))
#define CAL_COPIED (void)0
#endif
// Threads of a warp have come here, and see what the others have left on chip. Where the host plays a device they come one after the
// other, and nothing is kept there that another one brings.
#ifdef __CUDA_ARCH__
#define CAL_WARP_MEETS __syncwarp()
#else
#define CAL_WARP_MEETS (void)0
#endif
#ifdef CAL_CUDA_EMULATED
#define CAL_ON_CHIP false
#else
#define CAL_ON_CHIP true
#endif

// What is read ahead (ahead.h) comes to a sum. Comparing it with one that no model's numbers have keeps the compiler from leaving the
// reading out.
CAL_DEVICE static inline void use_touched(double* anywhere, double sum) {
    if (sum == 0x1.23456789abcdep-1000) *anywhere = sum;
}

// Whether what kernels do before that (`ahead`, below) is done; else their first phase does it.
#ifdef CAL_CUDA_EMULATED
#define CAL_COMES_AHEAD false
#define CAL_OWN_WARP (cal_emulated_thread / CAL_WIDTH)
#define CAL_KERNEL static
#define CAL_PHASE static
#define CAL_BOUNDS(threads, blocks)
#define CAL_APART
extern _Thread_local double cal_emulated_memory[];
extern _Thread_local int cal_emulated_launches; // so many were played
#define CAL_FAST_MEMORY cal_emulated_memory
// Teams of a trunk keep theirs while others work.
#define CAL_COLUMN_MEMORY (cal_emulated_memory + CAL_OWN_WARP / CAL_TEAM_WARPS % CAL_TRUNK_TEAMS * CAL_COLUMN_DOUBLES)
#define CAL_TEAM_KERNEL(name, ahead, phase_of, phases, warps, teams)
#define CAL_LAUNCH_TEAMS(name, phase_of, phases, warps, device, teams, doubles, work)                                  \
    do {                                                                                                               \
        const int threads = (warps)*CAL_WIDTH;                                                                         \
        (void)(device), cal_emulated_launches++;                                                                       \
        for (int team = 0; team < (teams); team++)                                                                     \
            for (int phase = 0; phase < (phases); phase++)                                                             \
                for (int i = 0; i < threads; i++) {                                                                    \
                    cal_emulated_thread = team * threads + i;                                                          \
                    phase_of(work, team_column(work, warps), phase, warps);                                            \
                }                                                                                                      \
    } while (0)
#define CAL_PHASED_KERNEL(name, phase_of, warps, ahead)
#define CAL_LAUNCH_PHASED(name, phase_of, warps, device, teams, doubles, work)                                         \
    do {                                                                                                               \
        const int threads = (warps)*CAL_WIDTH;                                                                         \
        (void)(device), cal_emulated_launches++;                                                                       \
        for (int team = 0; team < (teams); team++)                                                                     \
            for (int phase = 0; phase < (work)->phase_count; phase++)                                                  \
                for (int i = 0; i < threads; i++) {                                                                    \
                    cal_emulated_thread = team * threads + i;                                                          \
                    phase_of(work, phase);                                                                             \
                }                                                                                                      \
    } while (0)
#define CAL_TRUNK_KERNEL(name, ahead, stage_of, stages)                                                                \
    static void name(const cal_device_work* work) {                                                                    \
        const int teams = work->trunk[work->trunk_levels] - work->trunk[0], threads = CAL_TEAM_WARPS * CAL_WIDTH;      \
        for (int stage = 0; stage < (stages); stage++)                                                                 \
            for (int team = 0; team < teams; team++)                                                                   \
                for (int phase = 0; phase < CAL_STAGE_PHASES; phase++)                                                 \
                    for (int i = 0; i < threads; i++) {                                                                \
                        cal_emulated_thread = team * threads + i;                                                      \
                        stage_of(work, trunk_column(work, team), trunk_level(work, team), stage, phase);               \
                    }                                                                                                  \
    }
#define CAL_LAUNCH_TRUNK(name, device, teams, work) ((void)(device), (void)(teams), cal_emulated_launches++, name(work))
// Teams of a descent, which wait for each other on a device, come one after the other, parents first.
#define CAL_DESCENT_KERNEL(name, ahead, phase_of, phases)
#define CAL_LAUNCH_DESCENT(name, phase_of, phases, device, work)                                                       \
    do {                                                                                                               \
        (void)(device), cal_emulated_launches++;                                                                       \
        for (int team = 0; team < (work)->descent_count; team++)                                                       \
            for (int phase = 0; phase < (phases); phase++)                                                             \
                for (int i = 0; i < CAL_HALF_TEAM * CAL_WIDTH; i++) {                                                  \
                    cal_emulated_thread = team * CAL_HALF_TEAM * CAL_WIDTH + i;                                        \
                    phase_of(work, descent_column(work, team), phase, CAL_HALF_TEAM);                                  \
                }                                                                                                      \
    } while (0)
#define CAL_LAUNCH_FAST(kernel, device, warps, doubles, work) CAL_LAUNCH(kernel, device, warps, work)
#define CAL_LEAVES_CHIP(kernel) ((void)0)
#define CAL_LAUNCH_BLOCKS(kernel, device, warps, block, work) CAL_LAUNCH(kernel, device, warps, work)
// Warps of a team that have a role each: a thread has all of them, one after the other.
#define CAL_LAUNCH_ROLES(kernel, device, teams, roles, doubles, work) CAL_LAUNCH(kernel, device, teams, work)
#define CAL_ROLES_WAIT(roles) ((void)0)
#define CAL_ROLE_TELLS(roles) ((void)0)
#define CAL_ROLE_HEARS(roles) ((void)0)
#define CAL_LAUNCH(kernel, device, warps, work)                                                                        \
    do {                                                                                                               \
        (void)(device), cal_emulated_launches++;                                                                       \
        for (cal_emulated_thread = 0; cal_emulated_thread < (warps)*CAL_WIDTH; cal_emulated_thread++) kernel(*(work)); \
    } while (0)
#define CAL_EXTERN_C
#else
#define CAL_COMES_AHEAD true
#define CAL_OWN_WARP ((int)((blockIdx.x * blockDim.x + threadIdx.x) / CAL_WIDTH))
#define CAL_KERNEL static __global__
#define CAL_PHASE static __device__ __forceinline__
enum { CAL_BLOCK_WARPS = 4 };
#define CAL_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define CAL_APART __noinline__
extern __shared__ double cal_fast_memory[];
#define CAL_FAST_MEMORY cal_fast_memory
#define CAL_COLUMN_MEMORY cal_fast_memory
static inline void cal_launch(void (*kernel)(const cal_device_work), cal_device* device, int blocks, int threads,
                              size_t bytes, const cal_device_work* work) {
    cudaLaunchAttribute attributes[2] = {};
    int count = 0;
    if (cal_device_follows(device)) {
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    void* const begun = cal_device_announced(device);
    if (begun) {
        attributes[count].id = cudaLaunchAttributeLaunchCompletionEvent;
        attributes[count++].val.launchCompletionEvent.event = (cudaEvent_t)begun;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = bytes;
    config.stream = (cudaStream_t)cal_device_stream(device);
    config.attrs = attributes;
    config.numAttrs = (unsigned)count;
    (void)cudaLaunchKernelEx(&config, kernel, *work); // what fails is told by the next wait
}
// Multiprocessors keep their shared memory while it runs: kernels that have it can be there as well, which they cannot where it is cache.
#define CAL_LEAVES_CHIP(kernel)                                                                                        \
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared)
// Blocks of one warp with shared memory.
#define CAL_LAUNCH_FAST(kernel, device, warps, doubles, work)                                                          \
    cal_launch(kernel, device, warps, CAL_WIDTH, (doubles) * sizeof(double), work)
// `block`: warps that start together.
#define CAL_LAUNCH_BLOCKS(kernel, device, warps, block, work)                                                          \
    cal_launch(kernel, device, ((warps) + (block)-1) / (block), (block)*CAL_WIDTH, 0, work)
// phase_of(work, column, phase, warps) for each phase, of the team's column; teams: how many a multiprocessor has registers for. ahead(work,
// column, warps): reads what is constant, before the kernel before is done, and returns a sum.
#define CAL_TEAM_KERNEL(name, ahead, phase_of, phases, warps, teams)                                                   \
    static __global__ void __launch_bounds__((warps)*CAL_WIDTH, teams) name(const cal_device_work work) {              \
        const cal_column* column = team_column(&work, warps);                                                          \
        const double touched = ahead(&work, column, warps);                                                            \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        _Pragma("unroll") for (int phase = 0; phase < (phases); phase++) {                                             \
            if (phase > 0) __syncthreads();                                                                            \
            phase_of(&work, column, phase, warps);                                                                     \
        }                                                                                                              \
        use_touched(work.context.scratch, touched);                                                                    \
    }
// The same without a column, for work.phase_count phases; ahead: what is read before the kernel before is done, as a sum.
#define CAL_PHASED_KERNEL(name, phase_of, warps, ahead)                                                                \
    static __global__ void __launch_bounds__((warps)*CAL_WIDTH, 1) name(const cal_device_work work) {                  \
        const double touched = (ahead);                                                                                \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        for (int phase = 0; phase < work.phase_count; phase++) {                                                       \
            if (phase > 0) __syncthreads();                                                                            \
            phase_of(&work, phase);                                                                                    \
        }                                                                                                              \
        use_touched(work.context.scratch, touched);                                                                    \
    }
#define CAL_LAUNCH_TEAMS(name, phase_of, phases, warps, device, teams, doubles, work)                                  \
    cal_launch_teams(name, device, teams, warps, (doubles) * sizeof(double), work)
#define CAL_LAUNCH_PHASED(name, phase_of, warps, device, teams, doubles, work)                                         \
    cal_launch_teams(name, device, teams, warps, (doubles) * sizeof(double), work)
#define CAL_LAUNCH_ROLES(kernel, device, teams, roles, doubles, work)                                                  \
    cal_launch_teams(kernel, device, teams, roles, (doubles) * sizeof(double), work)
// All warps of a team meet, each in code of its own: __syncthreads() is for those that come to the same place.
#ifdef __CUDA_ARCH__
#define CAL_ROLES_WAIT(roles) asm volatile("barrier.sync 1, %0;" ::"n"((roles)*CAL_WIDTH) : "memory")
// One of so many warps does not wait itself, and tells the others that it has come.
#define CAL_ROLE_TELLS(roles) asm volatile("barrier.arrive 2, %0;" ::"n"((roles)*CAL_WIDTH) : "memory")
#define CAL_ROLE_HEARS(roles) asm volatile("barrier.sync 2, %0;" ::"n"((roles)*CAL_WIDTH) : "memory")
#else
#define CAL_ROLES_WAIT(roles) ((void)0)
#define CAL_ROLE_TELLS(roles) ((void)0)
#define CAL_ROLE_HEARS(roles) ((void)0)
#endif
static inline void cal_launch_teams(void (*kernel)(const cal_device_work), cal_device* device, int teams, int warps,
                                    size_t bytes, const cal_device_work* work) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    cal_launch(kernel, device, teams, warps * CAL_WIDTH, bytes, work);
}
// A trunk, whose columns have a team each (work.h, trunk): stage_of(work, column, its level, stage, phase). The teams are a cluster, and wait for
// each other between stages, the warps of one between the phases of a stage; GPUs without clusters have no trunks.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CAL_TRUNK_WAIT                                                                                                 \
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory")
#else
#define CAL_TRUNK_WAIT (void)0
#endif
#define CAL_TRUNK_KERNEL(name, ahead, stage_of, stages)                                                                \
    static __global__ void __launch_bounds__(CAL_TEAM_WARPS* CAL_WIDTH, 1) name(const cal_device_work given) {         \
        const cal_device_work* work = &given;                                                                          \
        const cal_column* column = trunk_column(work, (int)blockIdx.x);                                                \
        const int level = trunk_level(work, (int)blockIdx.x);                                                          \
        const double touched = ahead(work, column, CAL_TEAM_WARPS);                                                    \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        for (int stage = 0; stage < (stages); stage++) {                                                               \
            if (stage > 0) CAL_TRUNK_WAIT;                                                                             \
            _Pragma("unroll") for (int phase = 0; phase < CAL_STAGE_PHASES; phase++) {                                 \
                if (phase > 0) __syncthreads();                                                                        \
                stage_of(work, column, level, stage, phase);                                                           \
            }                                                                                                          \
        }                                                                                                              \
        use_touched(work->context.scratch, touched);                                                                   \
    }
#define CAL_LAUNCH_TRUNK(name, device, teams, work)                                                                    \
    do {                                                                                                               \
        const int bytes = CAL_COLUMN_DOUBLES * (int)sizeof(double);                                                    \
        cudaFuncSetAttribute(name, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);                                \
        cal_launch_cluster(name, device, teams, (size_t)bytes, work);                                                  \
    } while (0)
static inline void cal_launch_cluster(void (*kernel)(const cal_device_work), cal_device* device, int teams,
                                      size_t bytes, const cal_device_work* work) {
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = (unsigned)teams, attributes[0].val.clusterDim.y = 1;
    attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)teams);
    config.blockDim = dim3(CAL_TEAM_WARPS * CAL_WIDTH);
    config.dynamicSmemBytes = bytes;
    config.stream = (cudaStream_t)cal_device_stream(device);
    config.attrs = attributes;
    config.numAttrs = cal_device_follows(device) ? 2 : 1;
    (void)cudaLaunchKernelEx(&config, kernel, *work); // what fails is told by the next wait
}
// A descent, whose columns have a team each, all of them at once (work.h): phase_of(work, column, phase, warps), in which a team may wait for
// another one's flag. A multiprocessor has two of them, and half of its registers for others.
#define CAL_DESCENT_KERNEL(name, ahead, phase_of, phases)                                                              \
    static __global__ void __launch_bounds__(CAL_HALF_TEAM* CAL_WIDTH, 4) name(const cal_device_work work) {           \
        const cal_column* column = descent_column(&work, (int)blockIdx.x);                                             \
        const double touched = ahead(&work, column, CAL_HALF_TEAM);                                                    \
        CAL_AFTER_OTHERS;                                                                                              \
        CAL_BEFORE_OTHERS;                                                                                             \
        _Pragma("unroll") for (int phase = 0; phase < (phases); phase++) {                                             \
            if (phase > 0) __syncthreads();                                                                            \
            phase_of(&work, column, phase, CAL_HALF_TEAM);                                                             \
        }                                                                                                              \
        use_touched(work.context.scratch, touched);                                                                    \
    }
#define CAL_LAUNCH_DESCENT(name, phase_of, phases, device, work)                                                       \
    cal_launch_teams(name, device, (work)->descent_count, CAL_HALF_TEAM, CAL_COLUMN_DOUBLES * sizeof(double), work)
#define CAL_LAUNCH(kernel, device, warps, work) CAL_LAUNCH_BLOCKS(kernel, device, warps, CAL_BLOCK_WARPS, work)
#define CAL_EXTERN_C extern "C"
#endif

// The number of the thread's warp among the `count` of a launch; not below that: it has none.
CAL_DEVICE static inline int own_number(const cal_device_work* work) {
    const int warp = CAL_OWN_WARP;
    return work->reversed && warp < work->count ? work->count - 1 - warp : warp;
}

// The thread's column of a level; NULL: it has none.
CAL_DEVICE static inline const cal_column* own_column(const cal_device_work* work) {
    const int index = own_number(work);
    return index < work->count ? &work->layout.columns[work->order[work->first + index]] : NULL;
}

// The list of what a column's lane pulls (work.h, first_pull).
CAL_DEVICE static inline int pull_list(const cal_device_work* work, const cal_column* column, int lane) {
    return CAL_WIDTH * (int)(column - work->layout.columns + 1) + lane;
}

// Reads where the first children of a lane left their numbers, which is constant, before they have (CAL_AFTER_OTHERS).
CAL_DEVICE static inline double touch_pulls(const cal_device_work* work, int list) {
    double sum = 0.0;
#ifdef __CUDA_ARCH__
    const int first = work->first_pull[list], end = work->first_pull[list + 1];
    for (int i = first; i < end && i < first + 16; i += 4) sum += (double)work->pulls[i];
#else
    (void)work, (void)list;
#endif
    return sum;
}

// The column of the thread's team; NULL: it has none. The team's warps have its blocks in turn, the first one CAL_TEAM_WARP.
#define CAL_TEAM_WARP (CAL_OWN_WARP % CAL_TEAM_WARPS)
CAL_DEVICE static inline const cal_column* team_column(const cal_device_work* work, int warps) {
    const int index = CAL_OWN_WARP / warps;
    return index < work->count ? &work->layout.columns[work->order[work->first + index]] : NULL;
}

// The column of a trunk's team, and its level.
CAL_DEVICE static inline const cal_column* trunk_column(const cal_device_work* work, int team) {
    return &work->layout.columns[work->order[work->trunk[0] + team]];
}
CAL_DEVICE static inline int trunk_level(const cal_device_work* work, int team) {
    int level = 0;
    while (work->trunk[0] + team >= work->trunk[level + 1]) level++;
    return level;
}

// The column of a descent's team.
CAL_DEVICE static inline const cal_column* descent_column(const cal_device_work* work, int team) {
    return &work->layout.columns[work->order[work->descent_first + team]];
}

// Flags of a descent's columns (work.h). Each goes up by one in an evaluation, so that between evaluations all have the same number, and a
// column's own says which. Where the host plays a device nobody has to wait. Of the thread's own column, whose flag is not up yet:
CAL_DEVICE static inline uint32_t next_flag(const cal_device_work* work, const cal_column* column) {
#ifdef __CUDA_ARCH__
    return *(const volatile uint32_t*)(work->flags + (column - work->layout.columns)) + 1;
#else
    (void)work, (void)column;
    return 0;
#endif
}
// By all threads of a warp, for what they have left.
CAL_DEVICE static inline void raise_flag(const cal_device_work* work, const cal_column* column, uint32_t number) {
#ifdef __CUDA_ARCH__
    uint32_t* flag = work->flags + (column - work->layout.columns);
    __syncwarp();
    if (CAL_OWN_LANE == 0) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
#else
    (void)work, (void)column, (void)number;
#endif
}
CAL_DEVICE static inline void await_flag(const cal_device_work* work, int column, uint32_t number) {
#ifdef __CUDA_ARCH__
    uint32_t seen;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(work->flags + column) : "memory");
    while ((int32_t)(seen - number) < 0);
#else
    (void)work, (void)column, (void)number;
#endif
}

// The thread's number among those of the launch.
#define CAL_OWN_THREAD (CAL_OWN_WARP * CAL_WIDTH + CAL_OWN_LANE)

// The thread's block as a column of its own, for what has no order along a column; NULL: it has none.
CAL_DEVICE static inline const cal_column* own_block(const cal_device_work* work, cal_column* piece) {
    const int number = own_number(work);
    if (number >= work->count) return NULL;
    const int block = work->blocks[work->first + number];
    piece->first_block = block;
    piece->block_count = 1;
    piece->kind = work->block_kind[block];
    return piece;
}

// Whether the thread's instance of a group is among those chosen.
CAL_DEVICE static inline bool is_chosen(const cal_device_work* work, int group) {
    return !work->chosen || work->chosen[group * CAL_WIDTH + CAL_OWN_LANE];
}

// The thread's group of a batch; -1: none, or its instance is not among those chosen.
CAL_DEVICE static inline int own_group(const cal_device_work* work) {
    const int group = CAL_OWN_WARP;
    return group < work->groups && is_chosen(work, group) ? group : -1;
}

// Where a warp has one column of one group: the group, or -1.
CAL_DEVICE static inline int own_part(const cal_device_work* work, const cal_column** column) {
    const int columns = work->layout.column_count, group = CAL_OWN_WARP / columns;
    *column = &work->layout.columns[CAL_OWN_WARP % columns];
    return group < work->groups && is_chosen(work, group) ? group : -1;
}

// What kernels of assembly see of it.
#define CAL_OWN_ASSEMBLY(work, context)                                                                                \
    cal_assembly own_assembly = (work)->assembly;                                                                      \
    own_assembly.schedule = &(work)->schedule;                                                                         \
    own_assembly.slots = &(work)->slots;                                                                               \
    (context).own = &own_assembly

// What kernels see of the work of one group (0: of one model).
CAL_DEVICE static inline cal_context own_context(const cal_device_work* work, int group) {
    const size_t g = (size_t)group;
    cal_context c = work->context;
    c.layout = &work->layout;
    c.y += g * work->y_stride;
    c.ydot += g * work->y_stride;
    c.tau += g * work->v_stride;
    c.force += g * work->v_stride;
    c.control += g * work->control_stride;
    c.records += g * work->record_stride;
    c.scratch += g * work->scratch_stride;
    return c;
}
