// Parts of a set of constraints (constraint_parts.h).
#include "constraint/constraint_parts.h"
#include "constraint/chains.h"
#include "constraint/directions.h"
#include <stddef.h>

const char* cal_constraints_find_obstacle(const cal_model* model) {
    if (cal_loop_factor_pays(model)) return "so many loops in one tree";
    for (int c = 0; c < model->constraint_count; c++)
        if (model->constraints[c].kind == CAL_ON_SURFACE || model->constraints[c].motion)
            return "constraints that call functions";
    return NULL;
}

void cal_constraints_single_out(cal_constraints* set) {
    set->pack_count = set->single_count = 0;
    for (int place = 0; place < set->model->constraint_count; place++)
        if (set->active[set->order[place]]) set->singles[set->single_count++] = place;
}

typedef struct listing {
    cal_constraint_part* parts;
    int count;
} listing;

static void list_part(listing* l, size_t field, size_t count, size_t size, bool own) {
    l->parts[l->count++] = (cal_constraint_part){field, count * size, own};
}

#define SHARED(name, count) list_part(&l, offsetof(cal_constraints, name), (size_t)(count), sizeof *set->name, false)
#define OWN(name, count) list_part(&l, offsetof(cal_constraints, name), (size_t)(count), sizeof *set->name, true)

int cal_constraints_list_parts(const cal_constraints* set, cal_constraint_part out[CAL_CONSTRAINT_PARTS]) {
    const cal_model* model = set->model;
    const int constraints = model->constraint_count, rows = set->most_rows, nodes = model->node_count,
              v = model->v_count, q = model->q_count, supports = set->support_start[constraints];
    const size_t degrees = set->degree_start[constraints], paths = (size_t)set->path_count;
    const int fronts = set->front_rows.row_start[constraints];
    const int lines = set->most_rows + cal_chains_most_copies(set), end = set->matrix.count - 1;
    const size_t triangle =
        end < 0 ? 0 : set->matrix.start[end] + cal_skyline_row_size(set->matrix.last[end] - set->matrix.begin[end] + 1);
    const size_t columns = degrees * CAL_CONSTRAINT_ROWS; // not less than any one's
    const size_t directions = cal_directions_size(set);
    listing l = {out, 0};
    SHARED(active, constraints), SHARED(order, constraints), SHARED(support_start, constraints + 1);
    SHARED(support, supports), SHARED(degrees, constraints), SHARED(y_start, constraints + 1);
    SHARED(degree_start, constraints + 1), SHARED(degree_v, degrees), SHARED(follows, constraints);
    SHARED(alone_start, constraints + 1), SHARED(alone, set->alone_start[constraints]);
    SHARED(first_row, constraints + 1), SHARED(singles, constraints), SHARED(frames, 2 * constraints);
    SHARED(matrix.last, lines), SHARED(matrix.begin, lines), SHARED(matrix.start, lines);
    SHARED(chains, set->chain_count), SHARED(first_line, constraints + 1), SHARED(side, degrees);
    SHARED(front_rows.row_start, constraints + 1), SHARED(front_rows.piece_start, fronts + 1);
    SHARED(front_rows.pieces, set->front_rows.piece_start[fronts]);
    SHARED(rounding.arm, nodes), SHARED(rounding.lever, constraints), SHARED(rounding.place, constraints);
    SHARED(rounding.limit, constraints), SHARED(tree.first_v, nodes);
    OWN(matrix.root, triangle), OWN(matrix.over, lines), OWN(matrix.row, lines), OWN(matrix.column, lines);
    OWN(left, rows), OWN(by_line, lines), OWN(matrix.left, lines),
        OWN(matrix.front, cal_skyline_front_size(set->matrix.stride));
    OWN(tree.axes, 6 * v), OWN(tree.response, 6 * v), OWN(tree.root, 6 * v), OWN(tree.inertia, 36 * nodes);
    OWN(tree.arm, 3 * nodes + 1), OWN(tree.motion, 6 * nodes), OWN(tree.after, nodes), OWN(tree.joints, nodes);
    OWN(joint_over, degrees), OWN(joint_kept, degrees), OWN(drift, rows), OWN(motions, nodes);
    OWN(accelerations, 6 * nodes), OWN(tree.wrench, 6 * nodes), OWN(tree.share, v);
    OWN(extent, 4 * nodes), OWN(rows, rows + CAL_CONSTRAINT_ROWS), OWN(y, set->y_start[constraints]), OWN(scale, rows);
    OWN(ease, rows), OWN(nearness, rows), OWN(turns, rows), OWN(noise, rows), OWN(least, rows);
    OWN(columns, columns), OWN(lambda, rows), OWN(right, rows), OWN(work, rows), OWN(rest, rows), OWN(unknown, rows);
    OWN(effort, v), OWN(change, v), OWN(at_q, q), OWN(at_v, v), OWN(before, q + v);
    OWN(directions.numbers, directions), OWN(directions.kept, directions), OWN(directions.share, directions / 2);
    OWN(directions.q, q), OWN(directions.found_q, q);
    if (paths > 0) {
        SHARED(paths, paths), SHARED(path_of, nodes);
        OWN(path_motions, paths), OWN(ends, nodes);
    }
    return l.count;
}
