// Multibodies: models of calder.h in a world. One queue for all links. How it goes on alone: multibody_flight.c; in a contact
// group: multibody_unit.c.
#include "base/memory.h"
#include "model/coordinates.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/motion/bounds.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// In windows of the world (world.h), 2⁻⁶ s where groups are checked at 100 Hz.
#define LONGEST_BOX 4.0
#define BEYOND_CALLBACK 0.0064

// --- Where things are ---------------------------------------------------------------------------------------------------------

static cal_multibody* of_body(const cal_world* world, int body) {
    return world->multibodies[world->bodies[body].multibody];
}

double* cal_multibody_q(const cal_world* world, int body, double* data) {
    (void)world;
    (void)body;
    return data;
}
double* cal_multibody_v(const cal_world* world, int body, double* data) { return data + of_body(world, body)->at.v; }
double* cal_multibody_tau(const cal_world* world, int body, double* data) {
    return data + of_body(world, body)->at.tau;
}
int cal_multibody_degrees(const cal_world* world, int body) { return of_body(world, body)->engine->v_count; }
int cal_multibody_extras(const cal_world* world, int component) {
    const cal_multibody* m = world->components[component].multibody;
    return m->at.step - m->at.tau;
}
double* cal_multibody_control(const cal_multibody* m, double* tau) { return tau + (m->at.control - m->at.tau); }

// --- Links --------------------------------------------------------------------------------------------------------------------

void cal_multibody_place_link(const cal_multibody* m, int link, const double pose[7], cal_motion* out) {
    const cal_sim_body* part = &m->world->bodies[m->bodies[link]];
    double R[9], center[3], quaternion[4];
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, pose, out->pose.position);
    cal_quaternion_multiply(m->quaternion, pose + 3, quaternion);
    double body_R[9];
    cal_quaternion_matrix(quaternion, body_R);
    cal_rotate3(body_R, part->offset, center);
    for (int i = 0; i < 3; i++) out->pose.position[i] += m->position[i] + center[i];
    cal_quaternion_multiply(quaternion, part->turn, out->quaternion);
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
}

cal_status cal_multibody_links(cal_multibody* m, const double* q, cal_motion* links) {
    cal_multibody_model* e = m->engine;
    const cal_status status = cal_multibody_model_place(e, q);
    for (int link = 0; status == CAL_OK && link < e->body_count; link++)
        cal_multibody_place_link(m, link, e->poses + 7 * link, &links[link]);
    return status;
}

cal_links* cal_multibody_forgotten(cal_multibody* m) {
    m->newest = (m->newest + 1) % m->known_count;
    m->known[m->newest].source = CAL_LINKS_UNKNOWN;
    return &m->known[m->newest];
}

void cal_multibody_forget(cal_multibody* m, double from) {
    for (int i = 0; i < m->known_count; i++)
        if (m->known[i].source == CAL_LINKS_ALONE && m->known[i].time >= from) m->known[i].source = CAL_LINKS_UNKNOWN;
}

cal_status cal_multibody_motion(cal_world* world, int component, int link, double from, double time, cal_motion* out) {
    cal_multibody* m = world->components[component].multibody;
    // What is known is of the motion that holds at its time; that of another piece is not kept.
    const bool holds = cal_multibody_holds(world, component, from, time);
    for (int i = 0; holds && i < m->known_count; i++)
        if (m->known[i].source == CAL_LINKS_ALONE && m->known[i].time == time) {
            *out = *cal_link_frames_find(m, &m->known[i], link);
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    const cal_status status =
        cal_multibody_state(world, component, holds ? time : from, time, true, known->q, known->v);
    if (status != CAL_OK) return status;
    known->source = holds ? CAL_LINKS_ALONE : CAL_LINKS_UNKNOWN;
    known->time = time;
    cal_link_frames_begin(m, known);
    *out = *cal_link_frames_find(m, known, link);
    return CAL_OK;
}

// What the user set where a span begins.
static const double* extras_of(const cal_multibody* m, const cal_member_span* span) {
    return span->extras != NULL ? span->extras : m->extras;
}

// Speeds of the way between two states where it begins and where it ends.
static void way_speeds(const cal_multibody_model* e, const cal_member_span* span, double* v, double* to_v) {
    for (int i = 0; i < e->v_count; i++) {
        const double bow = span->bow != NULL ? span->bow[i] : 0.0;
        v[i] = span->v[i] + bow, to_v[i] = span->to_v[i] - bow;
    }
}

// Its cubics, in 4 q of the 12 (q + v) numbers to work with; the speeds are behind 4 (q + v).
static cal_curves curves_between(const cal_multibody* m, const cal_member_span* span) {
    const cal_multibody_model* e = m->engine;
    double *v = e->work + 4 * (e->q_count + e->v_count), *to_v = v + e->v_count;
    cal_curves curves = {.rows = e->work, .length = span->length};
    way_speeds(e, span, v, to_v);
    cal_curves_hermite(e->model, &curves, span->q, v, span->to_q, to_v);
    return curves;
}

cal_status cal_multibody_numbers(cal_multibody* m, const cal_member_span* span, double* at_q, double* at_rate) {
    cal_multibody_model* e = m->engine;
    if (span->to_q != NULL) {
        const cal_curves curves = curves_between(m, span);
        cal_curves_at(e->model, &curves, span->t, at_q, at_rate);
    } else {
        double* rows = e->work;
        cal_model_rate(e->model, span->q, span->v, rows);
        memcpy(at_rate, span->v, (size_t)e->v_count * sizeof *at_rate);
        for (int i = 0; i < e->q_count; i++) at_q[i] = span->q[i] + span->t * rows[i];
        cal_model_normalize(e->model, at_q);
    }
    cal_multibody_use(m, extras_of(m, span) + e->v_count + m->slots);
    return cal_loops_project(e, span->from + span->t, at_q, at_rate, CAL_PROJECT_BOTH);
}

void cal_multibody_bounds_between(const cal_multibody* m, const cal_member_span* span, double* out) {
    const cal_curves curves = curves_between(m, span);
    cal_curves_bound_links(m->world, m, &curves, m->engine->work + CAL_CUBIC_TERMS * m->engine->q_count, out);
    // Three numbers for each link become six, from the back.
    for (int k = m->engine->body_count - 1; k >= 0; k--) {
        const double own[3] = {out[3 * k], out[3 * k + 1], out[3 * k + 2]};
        memset(out + CAL_BODY_BOUNDS * k, 0, 3 * sizeof *out);
        memcpy(out + CAL_BODY_BOUNDS * k + 3, own, sizeof own);
    }
}

// Two states of a group and a place between them as one row of numbers; after the last state there is no second one.
static size_t row_of(const cal_multibody* m, const cal_member_span* span, double* out) {
    const cal_multibody_model* e = m->engine;
    const size_t q_count = (size_t)e->q_count, v_count = (size_t)e->v_count, constraints = (size_t)e->constraint_count;
    double* next = out + 3;
    out[0] = span->t, out[1] = span->to_q != NULL ? span->length : 0.0, out[2] = span->from;
    memcpy(next, extras_of(m, span) + v_count + m->slots, constraints * sizeof *out);
    next += constraints;
    memcpy(next, span->q, q_count * sizeof *out);
    if (span->to_q == NULL) {
        memcpy(next + q_count, span->v, v_count * sizeof *out);
        return (size_t)(next - out) + q_count + v_count;
    }
    memcpy(next + q_count + v_count, span->to_q, q_count * sizeof *out);
    way_speeds(e, span, next + q_count, next + 2 * q_count + v_count);
    return (size_t)(next - out) + 2 * (q_count + v_count);
}

cal_status cal_multibody_between(cal_multibody* m, int link, const cal_member_span* span, cal_motion* out) {
    cal_multibody_model* e = m->engine;
    double* row = e->work + 8 * (e->q_count + e->v_count);
    const size_t row_size = row_of(m, span, row) * sizeof *row;
    for (int i = 0; i < m->known_count; i++)
        if (m->known[i].source == CAL_LINKS_BETWEEN && cal_same_bits(m->known[i].numbers, row, row_size)) {
            *out = *cal_link_frames_find(m, &m->known[i], link);
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    memcpy(known->numbers, row, row_size);
    const cal_status status = cal_multibody_numbers(m, span, known->q, known->v);
    if (status == CAL_OK) known->source = CAL_LINKS_BETWEEN;
    cal_link_frames_begin(m, known);
    *out = *cal_link_frames_find(m, known, link);
    return status;
}

static bool is_bowed(const cal_multibody_model* e, const cal_member_span* span) {
    bool bowed = false;
    for (int i = 0; span->bow != NULL && !bowed && i < e->v_count; i++) bowed = span->bow[i] != 0.0;
    return bowed;
}

// Those of the way; or where it is bowed from one state's to the other's in proportion to time, as constraints allow it there.
cal_status cal_multibody_shown_numbers(cal_multibody* m, const cal_member_span* span, double* q, double* v) {
    cal_multibody_model* e = m->engine;
    const double share = span->t / span->length;
    double* rate = e->work + 10 * (e->q_count + e->v_count);
    const cal_status status = cal_multibody_numbers(m, span, q, rate);
    if (status != CAL_OK) return status;
    const bool blends = !(span->t > 0.0) || is_bowed(e, span);
    for (int i = 0; i < e->v_count; i++) v[i] = blends ? (1.0 - share) * span->v[i] + share * span->to_v[i] : rate[i];
    return span->t > 0.0 ? cal_loops_project(e, span->from + span->t, q, v, CAL_PROJECT_VELOCITY) : CAL_OK;
}

cal_status cal_multibody_shown_speeds(cal_multibody* m, int link, const cal_member_span* span, cal_motion* motion) {
    cal_links* at = cal_multibody_forgotten(m);
    const cal_status status = cal_multibody_shown_numbers(m, span, at->q, at->v);
    if (status != CAL_OK) return status;
    cal_link_frames_begin(m, at);
    const cal_motion* shown = cal_link_frames_find(m, at, link);
    memcpy(motion->u, shown->u, sizeof motion->u);
    memcpy(motion->w, shown->w, sizeof motion->w);
    return CAL_OK;
}

double cal_multibody_next_callback(const cal_world* world, int component) {
    double next = (double)INFINITY;
    for (int place = world->components[component].multibody->first_callback; place > 0;) {
        const cal_periodic_hook* hook = &world->periodic_hooks[(place - 1) / CAL_VIEW_BODIES];
        next = fmin(next, hook->first + (double)hook->tick * hook->period);
        place = hook->next[(place - 1) % CAL_VIEW_BODIES];
    }
    return next;
}

double cal_multibody_room(const cal_world* world, int component, double time) {
    // A little beyond the callback, or the change, which makes new boxes: what ends with it would be made twice.
    const double next = fmin(cal_multibody_next_callback(world, component),
                             cal_component_next_change(&world->components[component], time)) -
                        time;
    return fmin(LONGEST_BOX * world->window, fmax(next, 0.0) + BEYOND_CALLBACK * world->window);
}
