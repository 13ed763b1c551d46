// Who computes what: distributions of a model's nodes over processors, and the virtual time that one evaluation takes.
//
// A distribution is an array `owner`, one processor 0 … used − 1 for each node. Time is counted in Jung's terms:
// `compute` (his CMPTM) is what a processor needs for one joint and evaluation, `message` (ROITM) what the exchanges
// between two processors across one cut edge cost in one evaluation, all four passes together. (In Jung's own algorithm
// the sender is busy for all of it; elsewhere for the part `send`.)
//
//   distribution_jung.c      Jung's algorithm (III.D), to the letter; its time is his `estimated duration`
//   distribution_balanced.c  ours, for machines with real cores: equal loads, full lanes, no more cores than pay
//   distribution.c           what all of them check
//   price.c                  the time of any owners whatever, by letting the walks run in virtual time
//   price_trunk.c            the same where the trunk is everybody's
//
// CAL_EVERY_PROCESSOR in the place of an owner: the node is part of the trunk, which all that have something below it compute.
#pragma once
#include "model/model.h"

// Distributes the nodes over at most `processors` processors; writes an owner for every node (0 … *used − 1, each of them
// used; the first node's is 0), how many are used, and the predicted time of one evaluation. used and seconds may be NULL.
// CAL_BAD_ARGUMENT: no processors, or costs that are negative or not finite. CAL_NO_MEMORY.
cal_status cal_distribute_jung(const cal_model* model, int processors, const cal_costs* costs, int32_t* owner,
                               int* used, double* seconds, cal_error* error);
// The same with decisions as if costs were others than those that the predicted time is for.
cal_status cal_distribute_jung_by(const cal_model* model, int processors, const cal_costs* decide,
                                  const cal_costs* costs, int32_t* owner, int* used, double* seconds, cal_error* error);
cal_status cal_distribute_balanced(const cal_model* model, int processors, const cal_costs* costs, int32_t* owner,
                                   int* used, double* seconds, cal_error* error);

// The virtual time of one evaluation with any owners in 0 … processors − 1, and (busy may be NULL) the fraction of the
// processors' time that goes into computing and sending. With 0 alone it is exactly node_count · compute.
cal_status cal_price_owners(const cal_model* model, const int32_t* owner, const cal_costs* costs, int processors,
                            double* seconds, double* busy, cal_error* error);

// From owners, some of which are CAL_EVERY_PROCESSOR, to runs of processors that compute a node: owner … last, those that have something
// below it (of `to_all` all processors, where they are several). false: no owner is, and nothing was changed.
bool cal_find_runs(const cal_model* model, int processors, bool to_all, int32_t* owner, int32_t* last);
// Gives the trunk's nodes an owner each, for those who hand over: the first one below.
void cal_name_owners(const cal_model* model, int32_t* owner);
// Of cal_costs.read, the share of the first walk, in which 27 numbers of a joint are read; in the second one they are Gear's 5 sums.
#define CAL_READ_FIRST (27.0 / 32.0)
// cal_price_owners where some owner is CAL_EVERY_PROCESSOR.
cal_status cal_price_trunk(const cal_model* model, const int32_t* owner, const cal_costs* costs, int processors,
                           double* seconds, double* busy, cal_error* error);

// A node's work in tenths of a revolute joint's: whole numbers, so that sums over a tree are exact.
static inline int cal_node_work(const cal_node* node) {
    static const int work[] = {[CAL_REVOLUTE] = 10, [CAL_PRISMATIC] = 9, [CAL_BALL] = 25, [CAL_FREE] = 30};
    return work[node->kind];
}

// The work of all nodes in whole numbers, and their sum where one processor has them. lanes: cal_costs.lanes; with lanes it depends on what
// lies side by side, on the processors owners … lasts (NULL: owners alone). Ball and free joints fill lanes as others do.
cal_status cal_find_node_work(const cal_model* model, const int32_t* owners, const int32_t* lasts, int processors,
                              int lanes, int64_t* work, int64_t* alone, cal_error* error);

// Whether a machine of so many processors and these costs makes sense.
cal_status cal_check_costs(int processors, const cal_costs* costs, cal_error* error);
