// How a device walks the tree of joins: heights in *bands*, a launch each (cuda/work.h has the picture). What is launched, and what that costs
// (plan/gpu_assembly_price.c), follow from the same bands.
#pragma once
#include "base/parts.h"
#include "schedule/schedule.h"

enum { CAL_MULTIPROCESSORS = 132 }; // an H200's; where there are others only times differ
enum { CAL_TEAM_WARPS = 8 };
// Of a team that has a multiprocessor for itself and a whole part on chip (cuda/near.h): its nodes at most, which have 227 KB. And how many teams a
// multiprocessor has otherwise, whose warps share the walk of parts (cuda/part.h).
enum { CAL_NEAR_STEPS = 34, CAL_PART_TEAMS = 4 };
enum { CAL_PAIR_WARPS = 12 };  // of a multiprocessor, with two joins of chains each (cuda/assembly_pairs.cu)
enum { CAL_PLACE_WARPS = 32 }; // of a team that has elements on the way from tips to bases, a warp each

// Who has the elements of a walk: a group of so many heights has so many of its lowest joins at most, if they are joined two by two; how many
// elements of a height fill a device by themselves; and how many of one a last team has at most.
typedef struct cal_join_crew {
    int width, heights, most, last;
} cal_join_crew;
CAL_FOR_PARTS cal_join_crew cal_schedule_joiners(void);
CAL_FOR_PARTS cal_join_crew cal_schedule_placers(const cal_schedule* schedule); // of those that find tips and bases

// Heights of joins that one launch works on.
typedef struct cal_join_band {
    int first_height, heights;
    bool wide;  // one height, whose elements are side by side
    bool turns; // goes up and down again: nothing is above it
} cal_join_band;

// Parts that are joined have what they need from their joins, and find their ports where elements have theirs (device_assembly.c).
static inline bool cal_element_is_listed(const cal_element* e) { return e->kind != CAL_ELEMENT_PART || e->parent < 0; }
// How many elements each height has that are listed; there are schedule->height + 1.
CAL_FOR_PARTS void cal_schedule_count_heights(const cal_schedule* schedule, int32_t* count);
// bands: room for as many as there are heights; returns how many there are, the lowest first. A device is one processor.
CAL_FOR_PARTS int cal_schedule_find_bands(const cal_join_crew* by, const int32_t* count, int heights,
                                          cal_join_band* bands);
