// The account of energy: what there was at its begin, what flowed since, and by how much that does not add up to what there is.
//
//     error = E(t) − E(0) − work + loss − closing
//
// It is measured by the energy that was exchanged so far: the largest of |work| summed over steps, of what was lost, of what closing
// constraints added, and of the range of the kinetic energy that was seen.
//
// What a tolerance justifies. A step may put a velocity off by τ (|v| + s), with τ the tolerance and s what the absolute one is of. By
// the mass matrix as a norm, ½ |v|² = T and ½ |s|² = U, and with Cauchy's inequality, kinetic energy is then off by at most
//
//     τ (2 T + 2 √(T U)) + τ² (√T + √U)²
//
// A position may be off by as much, and potential energy with it: by τ times what forces exchange with positions, which is of the order
// of T, and by τ G where positions are small, with g the slopes of the potential energy and G = √m |g|, m the degrees of freedom: errors
// whose root mean square is 1 cannot do more. Steps that err at random add up to √n times all that; what is systematic is
// more, and worth a line. T is at most the least that was seen and what was exchanged. A fixed step h has no tolerance: it resolves
// flows to one step, h times the fastest change of kinetic energy seen, and one step alone says nothing. Rounding is beside both:
// n ε |E|, with the impacts of a world among the n.
//
// A run has exploded where the error is of the order of the energy that was exchanged, more than 1/√10 of it, and not just what the
// tolerance makes of a motion that is next to nothing, √n (τ² U + τ G), or that goes on unchanged, as a flywheel's, with T₀ the least kinetic energy
// seen: all steps of that are alike, and so are their errors, n · 2 τ T₀, but no more than all of it; nor one fixed step, nor rounding; or where
// it is not finite.
#pragma once
#include "calder/calder.h"
#include "solver/flows.h"

// Only words, since checkpoints hold them. Zero: it has not begun.
enum { CAL_ACCOUNT_NONE = -1 }; // none is kept: the motion comes from where flows are not followed
typedef struct cal_account {
    int64_t begun;
    double start;         // kinetic and potential energy
    cal_flows base;       // what had flowed before
    int64_t steps;        // that had been taken
    double unit, slope;   // U and G, at the begin
    double least, most;   // kinetic energy
    double time, kinetic; // of the last reading
    double rate;          // of the fastest change of kinetic energy between two readings, W
} cal_account;

// What an account is told at a time.
typedef struct cal_reading {
    double time, kinetic, potential;
    cal_flows flows;
    int64_t steps;
    int64_t impacts;  // of a world since it began: each rounds as a step does
    double tolerance; // 0: steps have a fixed size
    double step;      // that size
    double floor;     // what is no motion by another measure, J
    bool can_flow;    // there is something that works or loses
} cal_reading;

void cal_account_begin(cal_account* account, const cal_reading* now, double unit, double slope);
void cal_account_read(cal_account* account, const cal_reading* now, cal_energy_balance* out);
