// Bands of heights: schedule_bands.h.
#include "schedule/schedule_bands.h"

#include <assert.h>
#include <limits.h>

cal_join_crew cal_schedule_joiners(void) {
    return (cal_join_crew){
        .width = CAL_TEAM_WARPS, .heights = 4, .most = CAL_MULTIPROCESSORS * CAL_TEAM_WARPS, .last = CAL_TEAM_WARPS};
}

// A multiprocessor has one team of those that find tips and bases: groups become as large as it takes for all of them to work at a time, and the
// last team has two elements for each of its warps at most.
cal_join_crew cal_schedule_placers(const cal_schedule* s) {
    cal_join_crew own = {.width = CAL_PLACE_WARPS, .heights = 6, .most = INT_MAX, .last = 2 * CAL_PLACE_WARPS};
    static_assert((int)CAL_PLACE_WARPS == 1 << 5, "six heights of subtrees of so many joins");
    for (; s->part_count / 2 > own.width * CAL_MULTIPROCESSORS; own.heights++) own.width *= 2;
    return own;
}

void cal_schedule_count_heights(const cal_schedule* s, int32_t* count) {
    for (int i = 0; i < s->element_count; i++) count[s->elements[i].height] += cal_element_is_listed(&s->elements[i]);
}

// The end of a band that begins with a height; last: the first height from which on one team has all elements.
static int band_end(const cal_join_crew* by, const int32_t* count, int height, int last, int all) {
    if (height >= last) return all;
    if (count[height] == 0 || count[height] > by->most) return height + 1;
    const int left = last - height, bands = (left + by->heights - 1) / by->heights;
    return height + (left + bands - 1) / bands;
}

int cal_schedule_find_bands(const cal_join_crew* by, const int32_t* count, int heights, cal_join_band* bands) {
    int last = 0, found = 0;
    for (int h = 0; h < heights; h++)
        if (count[h] > by->last) last = h + 1;
    for (int h = 0, end; h < heights; h = end) {
        end = band_end(by, count, h, last, heights);
        bands[found++] =
            (cal_join_band){.first_height = h, .heights = end - h, .wide = count[h] > by->most, .turns = h >= last};
    }
    return found;
}
