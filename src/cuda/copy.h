// Copies into memory on chip. Include after cuda/kernel.h.
#pragma once

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

// Threads of a warp have come here, and see what the others have left on chip; where the host plays a device they come one after the
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
