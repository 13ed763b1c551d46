// Joins of two parts of a chain, or of what such parts became: their sizes are known to the compiler. Include after
// pass/assembly_join_body.h.
#pragma once
enum { ROOM_DOUBLES = sizeof(join_room) / sizeof(double) };

// Brings the numbers of two elements on chip, all of them at once.
CAL_DEVICE static inline void bring_elements(const double* a, int a_size, const double* b, int b_size, double* a_chip,
                                             double* b_chip) {
#ifdef __CUDA_ARCH__
    enum { EACH = (90 + WORKER_MEMBERS - 1) / WORKER_MEMBERS }; // of elements with one tip, which have 90 numbers
    for (int first = WORKER_MEMBER; first < a_size || first < b_size; first += EACH * WORKER_MEMBERS) {
        double of_a[EACH], of_b[EACH];
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * WORKER_MEMBERS;
            of_a[k] = i < a_size ? a[i] : 0.0, of_b[k] = i < b_size ? b[i] : 0.0;
        }
        CAL_UNROLL for (int k = 0; k < EACH; k++) {
            const int i = first + k * WORKER_MEMBERS;
            if (i < a_size) a_chip[i] = of_a[k];
            if (i < b_size) b_chip[i] = of_b[k];
        }
    }
#else
    CAL_ENTRIES(i, a_size) a_chip[i] = a[i];
    CAL_ENTRIES(i, b_size) b_chip[i] = b[i];
#endif
}

// With what hangs below b, and without.
enum { CHAIN_DOUBLES = CAL_ELEMENT_COLUMNS + 6 * 7 + 21 };
