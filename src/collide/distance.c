// Distances of geometries: the least one over their pairs of pieces, by two trees of boxes.
//
// A bound for two boxes is the gap along the axes of either, which is negative where they overlap: the pieces inside cannot
// be nearer, nor deeper in each other, than that (F of the boxes along one n bounds the largest F of what is inside).
#include "collide/convex.h"

typedef struct walk {
    const cal_geometry *a, *b;
    double rotation[9], position[3]; // b's frame in a's
    double magnitude[9];             // of the rotation, for extents
    double* limit;
    cal_pair_visitor* visit;
    void* user;
} walk;

// Least signed distance that anything in box p (a's frame) and box q (b's frame) can have.
static double box_bound(const walk* w, const cal_box* p, const cal_box* q) {
    double half_p[3], half_q[3], center_q[3], d[3], inside[3];
    for (int i = 0; i < 3; i++) {
        half_p[i] = 0.5 * (p->high[i] - p->low[i]);
        half_q[i] = 0.5 * (q->high[i] - q->low[i]);
        center_q[i] = 0.5 * (q->high[i] + q->low[i]);
    }
    cal_rotate3(w->rotation, center_q, d);
    for (int i = 0; i < 3; i++) d[i] += w->position[i] - 0.5 * (p->high[i] + p->low[i]);
    cal_unrotate3(w->rotation, d, inside);
    double most = -INFINITY, square = 0.0;
    for (int i = 0; i < 3; i++) {
        const double gap = fabs(d[i]) - half_p[i] - cal_dot3(w->magnitude + 3 * i, half_q);
        most = fmax(most, gap);
        if (gap > 0.0) square += gap * gap;
        double extent = half_q[i];
        for (int k = 0; k < 3; k++) extent += w->magnitude[3 * k + i] * half_p[k];
        most = fmax(most, fabs(inside[i]) - extent);
    }
    const double bound = fmax(most, square > 0.0 ? sqrt(square) : -INFINITY);
    // Rounding must not hide the nearest pair.
    return bound - 1e-13 * (fabs(bound) + half_p[0] + half_p[1] + half_p[2] + half_q[0] + half_q[1] + half_q[2]);
}

static double extent(const cal_box* box) {
    return box->high[0] - box->low[0] + box->high[1] - box->low[1] + box->high[2] - box->low[2];
}

static void visit_pair(const walk* w, int i, int k) {
    const cal_convex *p = &w->a->pieces[i], *q = &w->b->pieces[k];
    if ((p->category & q->mask) != 0 || (q->category & p->mask) != 0) w->visit(w->user, i, k, w->limit);
}

static void descend(walk* w, int32_t i, int32_t k) {
    const cal_branch *p = &w->a->branches[i], *q = &w->b->branches[k];
    if (p->right < 0 && q->right < 0) {
        visit_pair(w, p->left, q->left);
        return;
    }
    const bool split_a = q->right < 0 || (p->right >= 0 && extent(&p->box) >= extent(&q->box));
    int32_t first_a = i, first_b = k, second_a = i, second_b = k;
    if (split_a)
        first_a = p->left, second_a = p->right;
    else
        first_b = q->left, second_b = q->right;
    double first = box_bound(w, &w->a->branches[first_a].box, &w->b->branches[first_b].box);
    double second = box_bound(w, &w->a->branches[second_a].box, &w->b->branches[second_b].box);
    if (second < first) { // the nearer one first: what it finds may spare the other
        int32_t swap = first_a;
        first_a = second_a, second_a = swap;
        swap = first_b, first_b = second_b, second_b = swap;
        const double bound = first;
        first = second, second = bound;
    }
    if (!(first > *w->limit)) descend(w, first_a, first_b);
    if (!(second > *w->limit)) descend(w, second_a, second_b);
}

void cal_visit_pairs(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                     double* limit, cal_pair_visitor* visit, void* user) {
    const int bounded_a = a->piece_count - a->plane_count, bounded_b = b->piece_count - b->plane_count;
    walk w = {.a = a, .b = b, .limit = limit, .visit = visit, .user = user};
    if (bounded_a > 0 && bounded_b > 0) {
        if (bounded_a == 1 && bounded_b == 1)
            visit_pair(&w, 0, 0);
        else {
            double d[3];
            cal_transpose_multiply33(pose_a->rotation, pose_b->rotation, w.rotation);
            cal_subtract3(pose_b->position, pose_a->position, d);
            cal_unrotate3(pose_a->rotation, d, w.position);
            for (int i = 0; i < 9; i++) w.magnitude[i] = fabs(w.rotation[i]);
            if (!(box_bound(&w, &a->branches[0].box, &b->branches[0].box) > *limit)) descend(&w, 0, 0);
        }
    }
    for (int i = 0; i < bounded_a; i++)
        for (int k = bounded_b; k < b->piece_count; k++) visit_pair(&w, i, k);
    for (int i = bounded_a; i < a->piece_count; i++)
        for (int k = 0; k < bounded_b; k++) visit_pair(&w, i, k);
}

typedef struct nearest_search {
    const cal_geometry *a, *b;
    const cal_pose *pose_a, *pose_b;
    const cal_distance_cache* warm;
    cal_separation* best;
} nearest_search;

// Bounding balls bound distances that are positive.
bool cal_pieces_are_far(const cal_convex* p, const cal_pose* pose_p, const cal_convex* q, const cal_pose* pose_q,
                        double limit) {
    if (limit < 0.0 || !isfinite(p->reach) || !isfinite(q->reach)) return false;
    double x[3], y[3], d[3];
    cal_rotate3(pose_p->rotation, p->center, x);
    cal_rotate3(pose_q->rotation, q->center, y);
    for (int i = 0; i < 3; i++) d[i] = (pose_p->position[i] - pose_q->position[i]) + (x[i] - y[i]);
    const double apart = limit + p->reach + q->reach;
    return cal_dot3(d, d) > apart * apart * (1.0 + 1e-12);
}

static void look(void* user, int i, int k, double* limit) {
    nearest_search* s = user;
    const cal_convex *p = &s->a->pieces[i], *q = &s->b->pieces[k];
    if (cal_pieces_are_far(p, s->pose_a, q, s->pose_b, *limit)) return;
    const bool warm = s->warm != NULL && s->warm->piece_a == i && s->warm->piece_b == k &&
                      cal_dot3(s->warm->direction, s->warm->direction) > 0.0;
    cal_separation trial;
    cal_piece_distance(p, s->pose_a, q, s->pose_b, warm ? s->warm->direction : NULL, &trial);
    if (!(trial.distance <= *limit)) return;
    const cal_separation* best = s->best;
    const bool first = best->piece_a < 0 || i < best->piece_a || (i == best->piece_a && k < best->piece_b);
    if (best->piece_a >= 0 && trial.distance == best->distance && !first) return;
    *limit = trial.distance;
    trial.piece_a = i, trial.piece_b = k;
    *s->best = trial;
}

void cal_distance_within(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                         double limit, cal_distance_cache* warm, cal_separation* out) {
    double nearest = limit;
    *out = (cal_separation){.distance = limit, .normal = {0.0, 0.0, 1.0}, .piece_a = -1, .piece_b = -1};
    nearest_search s = {a, b, pose_a, pose_b, warm, out};
    cal_visit_pairs(a, pose_a, b, pose_b, &nearest, look, &s);
    if (warm == NULL) return;
    warm->piece_a = out->piece_a, warm->piece_b = out->piece_b;
    memcpy(warm->direction, out->normal, sizeof warm->direction);
    if (out->piece_a < 0) memset(warm->direction, 0, sizeof warm->direction);
}

void cal_distance(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                  cal_distance_cache* warm, cal_separation* out) {
    cal_distance_within(a, pose_a, b, pose_b, INFINITY, warm, out);
    if (out->piece_a < 0) out->piece_a = out->piece_b = 0; // planes only
}
