// The rare forces of nodes, kept out of the lanes: limits, dry friction, springs of balls, motors.
#include "base/memory.h"
#include "layout/layout.h"

static void count_extras(const cal_model* model, const int32_t* actuator_count, const cal_node* node, int* count) {
    const cal_joint_def* joint = model->joints[node->joint].def;
    *count += joint->limited;
    *count += joint->friction_loss != 0.0;
    *count += node->kind == CAL_BALL && node->stiffness != 0.0;
    *count += actuator_count ? actuator_count[node->joint + 1] - actuator_count[node->joint] : 0;
}

static void add_extra(cal_layout* layout, cal_column* column, int kind, int block, int lane, int index) {
    const int width = layout->width, node = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
    const int y = layout->block_y[block] + lane;
    layout->extras[layout->extra_count++] = (cal_nonlinear_force){.kind = kind,
                                                                  .y = y,
                                                                  .v = layout->block_v[block] + lane,
                                                                  .v_in_y = y + cal_kind_q(column->kind) * width,
                                                                  .index = index,
                                                                  .copy = node / layout->model->node_count};
    column->extra_count++;
}

// A motor's own degree, which of a ball is one of three; its y stays that of the whole quaternion.
static void add_motor(cal_layout* layout, cal_column* column, int block, int lane, int actuator) {
    add_extra(layout, column, CAL_NONLINEAR_ACTUATOR, block, lane, actuator);
    cal_nonlinear_force* extra = &layout->extras[layout->extra_count - 1];
    extra->v += layout->model->actuators[actuator].axis * layout->width;
    extra->v_in_y += layout->model->actuators[actuator].axis * layout->width;
}

// Actuators sorted by joint: those of joint j are order[first[j]] … order[first[j + 1] - 1].
static cal_status sort_actuators(const cal_model* model, int32_t** first, int32_t** order) {
    *first = cal_allocate((size_t)model->joint_count + 2, sizeof **first);
    *order = cal_allocate((size_t)model->actuator_count, sizeof **order);
    if (!*first || !*order) return CAL_NO_MEMORY;
    // Those that act on tendons are among the coupled forces.
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint >= 0) (*first)[model->actuators[i].joint + 2]++;
    for (int j = 0; j <= model->joint_count; j++) (*first)[j + 1] += (*first)[j];
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].joint >= 0) (*order)[(*first)[model->actuators[i].joint + 1]++] = i;
    return CAL_OK;
}

// The rare forces of one node.
static void add_extras(cal_layout* layout, cal_column* column, int block, int lane, const int32_t* first,
                       const int32_t* order) {
    const cal_model* model = layout->model;
    const int node = layout->block_nodes[(size_t)block * (size_t)layout->width + (size_t)lane];
    if (node < 0) return;
    const cal_node* n = &model->nodes[node % model->node_count];
    if (model->joints[n->joint].def->limited) add_extra(layout, column, CAL_NONLINEAR_LIMIT, block, lane, n->joint);
    if (model->joints[n->joint].def->friction_loss != 0.0)
        add_extra(layout, column, CAL_NONLINEAR_FRICTION, block, lane, n->joint);
    if (n->kind == CAL_BALL && n->stiffness != 0.0)
        add_extra(layout, column, CAL_NONLINEAR_BALL_SPRING, block, lane, n->joint);
    for (int i = first[n->joint]; i < first[n->joint + 1]; i++) add_motor(layout, column, block, lane, order[i]);
}

cal_status cal_layout_fill_extras(cal_layout* layout) {
    const bool by_lane = layout->by_lane;
    const cal_model* model = layout->model;
    const size_t lanes = (size_t)layout->column_count * (size_t)layout->width;
    int32_t *first = NULL, *order = NULL;
    cal_status status = sort_actuators(model, &first, &order);
    int total = 0;
    for (int i = 0; status == CAL_OK && i < layout->block_count * layout->width; i++)
        if (layout->block_nodes[i] >= 0)
            count_extras(model, first, &model->nodes[layout->block_nodes[i] % model->node_count], &total);
    if (status == CAL_OK) {
        layout->extras = cal_allocate((size_t)total, sizeof(cal_nonlinear_force));
        if (by_lane) layout->lane_extras = cal_allocate(lanes + 1, sizeof *layout->lane_extras);
        if (!layout->extras || (by_lane && !layout->lane_extras)) status = CAL_NO_MEMORY;
    }
    for (int c = 0; status == CAL_OK && c < layout->column_count; c++) {
        cal_column* column = &layout->columns[c];
        column->first_extra = layout->extra_count;
        const int blocks = total > 0 && cal_layout_keeps(layout, column) ? column->block_count : 0;
        for (int block = 0; !by_lane && block < blocks; block++)
            for (int lane = 0; lane < layout->width; lane++)
                add_extras(layout, column, column->first_block + block, lane, first, order);
        for (int lane = 0; by_lane && lane < layout->width; lane++) {
            for (int block = 0; block < blocks; block++)
                add_extras(layout, column, column->first_block + block, lane, first, order);
            layout->lane_extras[(size_t)c * (size_t)layout->width + (size_t)lane + 1] = layout->extra_count;
        }
    }
    cal_free(first);
    cal_free(order);
    return status;
}
