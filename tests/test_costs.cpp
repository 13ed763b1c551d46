// The operations that the passes of forward dynamics state are the operations that their kernels do: the kernels' own
// source is compiled here with a lane type that counts. (That it compiles as C++ is what a GPU's compiler will need of
// it, too.)
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <csetjmp>
extern "C" {
#include <cmocka.h>
#include "pass/pass.h"
}

static long operations;

struct __attribute__((may_alias)) counted {
    double value;
};
static counted operator+(counted a, counted b) { return operations++, counted{a.value + b.value}; }
static counted operator-(counted a, counted b) { return operations++, counted{a.value - b.value}; }
static counted operator*(counted a, counted b) { return operations++, counted{a.value * b.value}; }
static counted operator/(counted a, counted b) { return operations++, counted{a.value / b.value}; }
static counted operator-(counted a) { return counted{-a.value}; }

#define CAL_WIDTH 1
#define CAL_LANES 1
#define LANE_INLINE static inline
#define LANE_FUNCTION static
#define LANE(name) name##_counted
#define lane counted
static counted lane_fma(counted a, counted b, counted c) {
    return operations += 2, counted{a.value * b.value + c.value};
}
static counted lane_fnma(counted a, counted b, counted c) { return lane_fma(-a, b, c); }
static counted lane_fms(counted a, counted b, counted c) { return lane_fma(a, b, -c); }
static counted lane_set(double value) { return counted{value}; }
typedef uint64_t lane_bits;
#define lane_sincos LANE(cal_lane_sincos)
#include "math/lane_sincos.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/aba_body.h"

// A node's numbers.
static struct {
    double y[7], ydot[7], constants[CAL_CONSTANT_COUNT], record[51], scratch[CAL_SCRATCH_COUNT], force[3];
} at = {{0.3, 0.2}, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 2}, {}, {}, {1.0}};

static long count_outbound() {
    motion m = {};
    m.E.x.x = m.E.y.y = m.E.z.z = counted{1.0};
    operations = 0;
    outbound(CAL_REVOLUTE, &m, at.y, at.constants, nullptr, at.record, at.scratch);
    return operations;
}

static long count_inbound() {
    articulated I = {};
    I.T.xx = I.T.yy = I.T.zz = counted{1.0};
    operations = 0;
    add_own(&I, at.constants, at.scratch);
    inbound(CAL_REVOLUTE, &I, at.force, at.constants, nullptr, at.record, nullptr);
    return operations;
}

static long count_accelerate() {
    v3 al = {}, a = {};
    operations = 0;
    accelerate(CAL_REVOLUTE, &al, &a, at.y, at.record, at.ydot);
    return operations;
}

static void stated_operations_are_counted_operations(void**) {
    const cal_pass* passes = cal_program_aba.passes;
    assert_int_equal((long)passes[0].cost.flops, count_outbound());
    assert_int_equal((long)passes[1].cost.flops, count_inbound());
    assert_int_equal((long)passes[2].cost.flops, count_accelerate());
}

#include "pass/armstrong_body.h"

static void stated_operations_of_armstrong_are_counted_operations(void**) {
    const cal_pass* passes = cal_program_armstrong.passes;
    posture p = {};
    answers s = {};
    v3 wd = {}, a = {};
    s.J.xx = s.J.yy = s.J.zz = counted{1.0};
    operations = 0;
    control(CAL_BALL, CAL_REUSE_NONE, &p, v3{}, at.y, at.constants, nullptr, at.record, at.scratch);
    assert_int_equal((long)passes[0].cost.flops, operations);
    operations = 0;
    begin_answers(CAL_BALL, CAL_REUSE_NONE, &s, at.constants, at.record, at.scratch);
    coefficients(CAL_BALL, false, CAL_REUSE_NONE, &s, at.force, at.constants, at.record);
    assert_int_equal((long)passes[1].cost.flops, operations);
    operations = 0;
    advance(CAL_BALL, false, &wd, &a, at.y, at.constants, at.record, at.ydot);
    assert_int_equal((long)passes[2].cost.flops, operations);
}

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stated_operations_are_counted_operations),
                                       cmocka_unit_test(stated_operations_of_armstrong_are_counted_operations)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
