// What several tests share: models, engines that evaluate them, motions at random, and ways to compare numbers.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs the four above.
#include "calder/calder.h"
#include <cmocka.h>

// Whether a sanitizer watches: memory then says nothing, and every case takes several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAL_TEST_SANITIZED 1
#endif
#endif
#ifndef CAL_TEST_SANITIZED
#define CAL_TEST_SANITIZED 0
#endif

// A model of a generator's specification; the test fails with the error's text when there is none.
cal_model* cal_test_model(const char* specification);
// An empty builder with gravity along −z, and the model of a builder, which is destroyed.
cal_builder* cal_test_builder(double gravity);
cal_model* cal_test_finish(cal_builder* builder);
// A new model with the name, the gravity and the bodies of another one; its joints are to be added.
cal_builder* cal_test_same_bodies(const cal_model* model);
// The same bodies and joints with dampers, springs, stops, armature and motors, at random: everything that makes a joint
// force. Stops are narrow enough for random positions to be beyond some of them.
cal_model* cal_test_dress(const cal_model* model, uint64_t seed);
// Names of models that have every kind of joint between them, small enough for dense algebra; NULL past the last one.
const char* cal_test_zoo(int index);

typedef void cal_test_check(const cal_model* model, const char* name);
// Runs a check on every model of the zoo, as it is and dressed.
void cal_test_on_every_model(cal_test_check* check);

// count zeros, to be freed with free.
double* cal_test_numbers(size_t count);

// A plan and a state of one algorithm on a serial machine.
typedef struct cal_test_engine {
    const cal_model* model;
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
} cal_test_engine;
cal_test_engine cal_test_open(const cal_model* model, const char* algorithm, int lanes);
void cal_test_close(cal_test_engine* engine);
void cal_test_execute(const cal_test_engine* engine);

// Numbers of one state, in the user's order.
typedef struct cal_test_motion {
    double *q, *v, *tau, *qdd, *control;
} cal_test_motion;
// Joint angles within ±2, quaternions all over the sphere, everything else within ±1; qdd is zero.
cal_test_motion cal_test_random_motion(const cal_model* model, uint64_t seed);
void cal_test_motion_free(cal_test_motion* motion);
// Writes into the state those fields that the engine's algorithm takes as inputs.
void cal_test_load(const cal_test_engine* engine, const cal_test_motion* motion);
// Pushes every third body at random.
void cal_test_push(const cal_test_engine* engine, uint64_t seed);

// Moves q along the velocity v for a time: exactly for constant v, on the manifold of unit quaternions.
void cal_test_displace(const cal_model* model, const double* q, const double* v, double time, double* out);

// A unit quaternion after a time h at the angular velocity w, in the world, to first order.
void cal_test_turn(const double q[4], const double w[3], double h, double out[4]);

// x with A x = b in the place of b, n rows: Gauss with the largest pivot of each column. A is destroyed; false: a pivot is rounding.
bool cal_test_solve_dense(double* A, double* b, size_t n);
double cal_test_largest(const double* values, size_t count);
double cal_test_largest_difference(const double* a, const double* b, size_t count);
// Fails the test, naming what and where, unless error ≤ bound (NaN fails).
void cal_test_expect_below(double error, double bound, const char* what, const char* where);
// A model of MJCF or URDF, and what complaints call it.
cal_model* cal_test_read(const char* text, const char* name);
// Threads that busy cores do not change: they are what is looked at. workers 0: one core.
cal_machine* cal_test_machine(int workers, int lanes);
// A simulation by a definition, or with a solver and a tolerance; force may be NULL; largest_step 0: any. Fails the test when it cannot be
// made. Its advances must succeed, and its account of energy must close to a millionth.
cal_sim* cal_test_create_sim(const cal_model* model, const cal_sim_def* def);
cal_sim* cal_test_open_sim(const cal_model* model, const char* solver, double tolerance, cal_force_callback* force,
                           double largest_step);
void cal_test_advance_sim(cal_sim* sim, double time);
// The largest difference of two simulations of one model, of q and v.
double cal_test_state_difference(const cal_sim* a, const cal_sim* b, const cal_model* model);
void cal_test_expect_balanced(cal_sim* sim, const char* where);
