// Chains of constraints: what of the triangle (skyline.h) is eliminated side by side.
//
// Constraints that nothing connects have nothing to do with each other; each such part is a chain. A long one is cut where few constraints, its
// border, keep both halves apart. These are eliminated from their far ends towards the border, which comes last:
//
//     0 ── 1 ── 2 ── 3 ── 4 ── 5 ── 6        places   6 5 4 │ 0 1 2 │ 3            lines   6 5 4 3' │ 0 1 2 │ 3
//     ────────────▸   ▴   ◂────────────               far     near    border               far       near    border
//
// Nothing is filled in that one chain would not have. Rows of the near half go on into the border's, which follow it; those of the far half into
// copies of them (3'), which then join the border's. So the triangle has more rows, lines, than there are rows of constraints.
//
// What is cut follows from the model alone, never from who computes it.
#pragma once
#include "constraint/constraint.h"

// After constraints are in an order, parts one after the other: cuts what is long, which changes the order. false: no memory.
bool cal_chains_cut(cal_constraints* set);
void cal_chains_destroy(cal_constraints* set);

// Lines that the copies of borders take at most.
int cal_chains_most_copies(const cal_constraints* set);
// After rows have got their places: where each place's lines are. Returns how many there are.
int cal_chains_place_lines(cal_constraints* set);

// The first line of a place's rows in what a chain has of them.
static inline int cal_chain_line(const cal_constraints* set, const cal_chain* chain, int place) {
    const int line = set->first_line[place];
    return chain->copies < 0 || place < chain->end ? line : line - set->chains[chain->border].line + chain->copies;
}
// The chain of a place.
const cal_chain* cal_chain_of(const cal_constraints* set, int place);
