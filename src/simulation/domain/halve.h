// Space is cut into regions, each with a share of what stays together (halve.c).
#pragma once
#include "simulation/domain/domain.h"

// What is not worth a core, and how far from the middle a gap is looked for: a part of all.
#define CAL_UNEVEN 0.1

// What stays together: components of d->cluster from `first` on.
typedef struct cal_cluster {
    cal_box box;
    double weight; // bodies, or what they are expected to do
    int first, count;
} cal_cluster;

// Clusters, the numbers of those that there are, and the domain of each number.
typedef struct cal_clusters {
    cal_cluster* list;
    int *numbers, *domains;
    int count;
} cal_clusters;
// For numbers below a capacity; false: no memory.
bool cal_clusters_begin(cal_clusters* clusters, int capacity);
void cal_clusters_free(cal_clusters* clusters);

// Gives every cluster its domain, and every domain its region: so many regions, and up to so many domains in each, where there are gaps, or
// anywhere. *domains: how many; 0: one cluster has more than a part `most` of all weight. All workers take part.
cal_status cal_domains_halve(cal_domains* d, const cal_clusters* found, int regions, int turns, bool anywhere,
                             double most, int* domains, cal_error* error);
