// Tendons of a model: their checks, and what a definition leaves open.
//
// A stop whose stiffness is not given has k = (2π · 10 Hz)² m with the inertia m = 1 / ∑ gᵢ² / Iᵢ that the tendon moves at the
// start: g = dL/dq, and I of a degree of freedom all that hangs below it, as for stops of joints (inertia.c).
#include "base/memory.h"
#include "model/angle.h"
#include "model/builder.h"
#include "model/tendon_path.h"
#include <string.h>

enum { TEXT = 80 };

static bool is_body(const cal_model* model, int body) {
    return body == CAL_GROUND || (body >= 0 && body < model->body_count);
}

static bool is_part(const cal_model* model, const cal_tendon_part* part) {
    const bool placed = is_body(model, part->body) && cal_all_finite(part->position, 3);
    switch (part->kind) {
    case CAL_TENDON_JOINT:
        return part->joint >= 0 && part->joint < model->joint_count &&
               cal_joint_v_count(model->joints[part->joint].def->kind) == 1 && isfinite(part->factor);
    case CAL_TENDON_POINT: return placed;
    case CAL_TENDON_SPHERE:
    case CAL_TENDON_CYLINDER:
        return placed && isfinite(part->radius) && part->radius > 0.0 && cal_all_finite(part->quaternion, 4) &&
               cal_length(part->quaternion, 4) > 0.0 &&
               (!part->sided || (is_body(model, part->side_body) && cal_all_finite(part->side, 3)));
    case CAL_TENDON_PULLEY: return isfinite(part->factor) && part->factor > 0.0;
    }
    return false;
}

static bool is_shape(const cal_tendon_part* part) {
    return part->kind == CAL_TENDON_SPHERE || part->kind == CAL_TENDON_CYLINDER;
}

// Joints alone; or points, with a shape between two of them, and pulleys after and before points.
static const char* find_disorder(const cal_tendon_def* def) {
    const bool joints = def->part_count > 0 && def->parts[0].kind == CAL_TENDON_JOINT;
    int points = 0; // of the branch
    if (def->part_count == 0) return "it has no parts";
    for (int i = 0; i < def->part_count; i++) {
        const cal_tendon_part* part = &def->parts[i];
        const bool ends = i + 1 == def->part_count || part[1].kind == CAL_TENDON_PULLEY;
        if ((part->kind == CAL_TENDON_JOINT) != joints)
            return "it has joints and points; a tendon has one or the other";
        if (joints) continue;
        if (is_shape(part) &&
            (points == 0 || part[-1].kind != CAL_TENDON_POINT || ends || part[1].kind != CAL_TENDON_POINT))
            return "a shape that it goes round must stand between two points";
        if (part->kind == CAL_TENDON_POINT) points++;
        if (part->kind == CAL_TENDON_PULLEY) {
            if (ends) return "it ends with a pulley, or has two in a row";
            points = 0;
        } else if (ends && points < 2)
            return "a path, and each branch of it, goes through two points at least";
    }
    return NULL;
}

static cal_status validate_tendon(const cal_model* model, int number, cal_error* error) {
    const cal_tendon_def* def = &model->kept.tendons[number];
    char who[TEXT];
    cal_describe("tendon", def->name, number, who, sizeof who);
    for (int i = 0; i < def->part_count; i++)
        if (!is_part(model, &def->parts[i]))
            return cal_fail(
                error, CAL_BAD_MODEL,
                "%s: part %d names no joint of one degree or no body, or its numbers are not finite or not above zero",
                who, i);
    const char* disorder = find_disorder(def);
    if (disorder != NULL) return cal_fail(error, CAL_BAD_MODEL, "%s: %s", who, disorder);
    const double magnitudes[] = {def->stiffness, def->damping, def->friction_loss, def->limit_stiffness,
                                 def->limit_damping};
    for (size_t i = 0; i < sizeof magnitudes / sizeof *magnitudes; i++)
        if (!(isfinite(magnitudes[i]) && magnitudes[i] >= 0.0))
            return cal_fail(error, CAL_BAD_MODEL,
                            "%s: its stiffness, damping, friction and stops must be finite and not negative", who);
    if (def->limited && !(cal_all_finite(def->range, 2) && def->range[0] <= def->range[1]))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its range is %g to %g; the smaller length comes first", who,
                        def->range[0], def->range[1]);
    const double* slack = def->spring_length;
    if (!(isnan(slack[0]) && isnan(slack[1])) && !(cal_all_finite(slack, 2) && slack[0] <= slack[1]))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its spring is slack from %g to %g; the smaller length comes first",
                        who, slack[0], slack[1]);
    return CAL_OK;
}

cal_status cal_model_validate_tendons(const cal_model* model, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < model->kept.tendon_count; i++) status = validate_tendon(model, i, error);
    return status;
}

// --- What is left open -----------------------------------------------------------------------------------------------------

// q with the springs of all joints slack; balls and free joints have no reference, and are where they start.
static void slacken(const cal_model* model, double* q) {
    memcpy(q, model->initial_q, (size_t)model->q_count * sizeof *q);
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        if (cal_joint_q_count(joint->def->kind) == 1) q[joint->first_q] = joint->def->spring_reference;
    }
}

static void settle_spring(cal_model* model, int tendon, const cal_placed* slack) {
    cal_tendon_def* def = &model->kept.tendons[tendon];
    if (!isnan(def->spring_length[0])) return;
    def->spring_length[0] = def->spring_length[1] = cal_tendon_trace(model, tendon, slack, NULL, NULL);
}

typedef struct slope {
    const cal_model* model;
    const cal_placed* at;
    double* gradient;
} slope;

static void add_slope(void* user, const cal_tendon_end* pull) {
    const slope* own = user;
    cal_tendon_end_add_gradient(own->model, own->at, pull, 1.0, own->gradient);
}

static cal_status settle_stop(cal_model* model, int tendon, const cal_placed* start, double* gradient,
                              cal_error* error) {
    cal_tendon_def* def = &model->kept.tendons[tendon];
    slope own = {model, start, gradient};
    double moved = 0.0;
    if (!def->limited || def->limit_stiffness != 0.0) return CAL_OK;
    memset(gradient, 0, (size_t)model->v_count * sizeof *gradient);
    cal_tendon_trace(model, tendon, start, add_slope, &own);
    cal_tendon_add_joints(model, tendon, 1.0, gradient);
    for (int i = 0; i < model->v_count; i++)
        if (gradient[i] != 0.0) moved += gradient[i] * gradient[i] / model->rigid_inertia[i];
    const double rate = 2.0 * CAL_PI * CAL_STOP_FREQUENCY;
    if (moved > 0.0 && isfinite(moved)) {
        def->limit_stiffness = rate * rate / moved;
        return CAL_OK;
    }
    char who[TEXT];
    return cal_fail(error, CAL_BAD_MODEL, "%s: no joint changes its length at the start: give its stops a stiffness",
                    cal_describe("tendon", def->name, tendon, who, sizeof who));
}

static void write_law(cal_model* model, int tendon) {
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    cal_tendon_law* law = &model->tendon_laws[tendon];
    law->def = cal_default_joint_def();
    law->def.kind = CAL_PRISMATIC;
    law->def.damping = def->damping;
    law->def.friction_loss = def->friction_loss;
    law->def.limited = def->limited;
    memcpy(law->def.range, def->range, sizeof law->def.range);
    law->def.limit_damping = def->limit_damping;
    law->joint = (cal_joint){.def = &law->def, .limit_stiffness = def->limit_stiffness, .body = CAL_NONE, .node = -1};
}

cal_status cal_model_settle_tendons(cal_model* model, cal_error* error) {
    const size_t count = (size_t)model->kept.tendon_count, nodes = (size_t)model->node_count;
    const size_t q_count = (size_t)model->q_count, v_count = (size_t)model->v_count;
    if (count == 0) return cal_model_weigh(model, error);
    model->tendon_laws = cal_allocate(count, sizeof *model->tendon_laws);
    model->rigid_inertia = cal_allocate(v_count + 1, sizeof *model->rigid_inertia);
    double* work = cal_allocate(24 * nodes + q_count + v_count + 1, sizeof *work);
    cal_status status = CAL_NO_MEMORY;
    if (model->tendon_laws != NULL && model->rigid_inertia != NULL && work != NULL) {
        double *slack_frames = work + 12 * nodes, *slack_q = work + 24 * nodes, *gradient = slack_q + q_count;
        const cal_placed start = {work, 12, model->initial_q, NULL}, slack = {slack_frames, 12, slack_q, NULL};
        status = cal_model_weigh(model, error);
        slacken(model, slack_q);
        cal_model_place_nodes(model, model->initial_q, work);
        cal_model_place_nodes(model, slack_q, slack_frames);
        for (int i = 0; status == CAL_OK && i < (int)count; i++) {
            settle_spring(model, i, &slack);
            status = settle_stop(model, i, &start, gradient, error);
            write_law(model, i);
        }
    } else
        cal_explain(error, status, "out of memory for %d tendons", (int)count);
    cal_free(work);
    cal_free(model->rigid_inertia);
    model->rigid_inertia = NULL;
    return status;
}
