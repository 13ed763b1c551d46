// Motions of bodies, and slopes of inverse dynamics: how joint forces change with positions, velocities and accelerations, without differences.
#pragma once
#include "model/model.h"

// One degree of freedom of a node, in the world's axes about the origin of its tree; degrees lie in the order of nodes.
typedef struct cal_slope_degree {
    double s[6];          // S: angular, linear
    double rate[6];       // Ψ̇ = v of what carries the joint × S
    double second[6];     // Ψ̈ = a of what carries it × S + its v × Ψ̇
    double drift[6];      // Ψ̇ + Ṡ
    int32_t above, group; // the next degree towards the ground, −1: none; degrees that move alike
    int32_t v, node;      // in the user's order
} cal_slope_degree;

// Room for one model, and the last results: v_count × v_count, rows, in the order of degrees; made when they are first asked for.
typedef struct cal_dynamics_slopes {
    const cal_model* model;
    cal_slope_degree* degrees;
    struct cal_slope_body* bodies; // of nodes
    double *by_q, *by_v, *mass;
} cal_dynamics_slopes;

// NULL where there is no memory.
cal_dynamics_slopes* cal_dynamics_slopes_create(const cal_model* model);
void cal_dynamics_slopes_destroy(cal_dynamics_slopes* slopes); // NULL is allowed
// Motions of all bodies at q, v and accelerations qdd (user's order).
void cal_dynamics_slopes_move(cal_dynamics_slopes* slopes, const double* q, const double* v, const double* qdd);
// After that: how a point of a body moves that hangs on a node, in the world: of the point, and angular; either may be NULL.
void cal_dynamics_slopes_point(const cal_dynamics_slopes* slopes, const cal_mount* mount, const double point[3],
                               double velocity[6], double acceleration[6]);
// The slopes of the joint forces that bodies alone ask for, without springs, dampers, motors. False: no memory.
bool cal_dynamics_slopes_find(cal_dynamics_slopes* slopes, const double* q, const double* v, const double* qdd);
// Factors the mass matrix, M = Lᵀ D L, where it is; false: it is not positive.
bool cal_dynamics_slopes_factor(cal_dynamics_slopes* slopes);
// After that: M⁻¹ times a matrix of v_count rows, in the order of degrees, where it is.
void cal_dynamics_slopes_solve(const cal_dynamics_slopes* slopes, int columns, double* matrix);
