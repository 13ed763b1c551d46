// What nodes cost where cores have lanes: a block takes as long with one live lane as with all of them.
//
// The columns of a distribution are laid out as they would be for a run, and what a column takes (cal_layout_price_column) is its live nodes',
// in equal parts. So nodes of a trunk, of which few are side by side, cost several times as much as those of many chains that are alike.
#include "base/memory.h"
#include "layout/layout.h"
#include "plan/distribution.h"

#include <math.h>

// Units of work per ns of a column's price, so that sums over a tree are exact.
static const double UNITS = 1000.0;

static void share_column(const cal_layout* layout, const cal_column* column, int64_t* work) {
    const size_t width = (size_t)layout->width, first = (size_t)column->first_block * width;
    const size_t end = first + (size_t)column->block_count * width;
    int live = 0;
    for (size_t i = first; i < end; i++) live += layout->block_nodes[i] >= 0;
    for (size_t i = first; i < end; i++)
        if (layout->block_nodes[i] >= 0)
            work[layout->block_nodes[i]] = llround(UNITS * cal_layout_price_column(column) / live);
}

static cal_status find_work(const cal_model* model, const int32_t* owners, const int32_t* lasts, int processors,
                            int lanes, int64_t* work, cal_error* error) {
    const cal_layout_def def = {.model = model,
                                .width = lanes,
                                .copies = 1,
                                .processors = processors,
                                .keep = CAL_KEEP_ALL,
                                .mixes = true,
                                .owners = owners,
                                .lasts = lasts};
    cal_layout* layout;
    const cal_status status = cal_layout_create(&def, &layout, error);
    for (int i = 0; status == CAL_OK && i < layout->column_count; i++)
        if (!layout->columns[i].repeated) share_column(layout, &layout->columns[i], work);
    if (status == CAL_OK) cal_layout_destroy(layout);
    return status;
}

cal_status cal_find_node_work(const cal_model* model, const int32_t* owners, const int32_t* lasts, int processors,
                              int lanes, int64_t* work, int64_t* alone, cal_error* error) {
    *alone = 0;
    if (lanes > 1) {
        const cal_status status = find_work(model, NULL, NULL, 1, lanes, work, error);
        if (status != CAL_OK) return status;
    } else {
        for (int node = 0; node < model->node_count; node++) work[node] = cal_node_work(&model->nodes[node]);
    }
    for (int node = 0; node < model->node_count; node++) *alone += work[node];
    return lanes > 1 ? find_work(model, owners, lasts, processors, lanes, work, error) : CAL_OK;
}
