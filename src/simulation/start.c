// What a body begins with: mass, principal axes, geometry, first state.
#include "simulation/start.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/members.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody.h"
#include "simulation/share.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdatomic.h>
#include <string.h>

#define ROUND 1e-13     // moments that differ by less, relative, are equal
#define SYMMETRIC 1e-13 // of a size, of a moment: what rounding makes of something symmetric
enum { MOST_BALLS = 64 };

// --- Masses -------------------------------------------------------------------------------------------------------------------

// Jacobi's rotations: A = V diag V ᵀ, with V a rotation (rows).
void cal_principal_axes(const double inertia[6], double moments[3], double quaternion[4]) {
    double A[9] = {inertia[0], inertia[3], inertia[4], inertia[3], inertia[1],
                   inertia[5], inertia[4], inertia[5], inertia[2]};
    double V[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int sweep = 0; sweep < 50; sweep++) {
        const double off = A[1] * A[1] + A[2] * A[2] + A[5] * A[5], all = A[0] * A[0] + A[4] * A[4] + A[8] * A[8];
        if (off <= 1e-32 * all) break;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (A[3 * p + q] == 0.0) continue;
                const double theta = (A[4 * q] - A[4 * p]) / (2.0 * A[3 * p + q]);
                const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (int k = 0; k < 3; k++) {
                    const double x = A[3 * k + p], y = A[3 * k + q];
                    A[3 * k + p] = c * x - s * y, A[3 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    const double x = A[3 * p + k], y = A[3 * q + k];
                    A[3 * p + k] = c * x - s * y, A[3 * q + k] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    const double x = V[3 * k + p], y = V[3 * k + q];
                    V[3 * k + p] = c * x - s * y, V[3 * k + q] = s * x + c * y;
                }
            }
    }
    for (int i = 0; i < 3; i++) moments[i] = A[4 * i];
    cal_matrix_quaternion(V, quaternion);
}

static void piece_of(const cal_sim_body* part, int shape, cal_piece_def* out) {
    const cal_shape_def* s = &part->shapes[shape];
    *out = cal_default_piece_def();
    out->kind = s->kind;
    memcpy(out->position, s->position, sizeof out->position);
    memcpy(out->quaternion, s->quaternion, sizeof out->quaternion);
    memcpy(out->size, s->size, sizeof out->size);
    out->vertices = part->meshes[shape].vertices;
    out->vertex_count = part->meshes[shape].vertex_count;
    out->columns = part->meshes[shape].columns;
    out->tag = shape;
    out->category = s->category;
    out->mask = s->mask;
}

static cal_status make_geometry(cal_sim_body* part, bool principal, cal_geometry** out, cal_error* error) {
    *out = NULL;
    cal_piece_def* pieces = cal_allocate((size_t)part->shape_count + 1, sizeof *pieces);
    if (pieces == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    double R[9];
    cal_quaternion_matrix(part->turn, R);
    const double back[4] = {part->turn[0], -part->turn[1], -part->turn[2], -part->turn[3]};
    int count = 0;
    for (int i = 0; i < part->shape_count; i++) {
        if (!part->shapes[i].collides) continue;
        cal_piece_def* piece = &pieces[count++];
        piece_of(part, i, piece);
        if (!principal) continue;
        for (int k = 0; k < 3; k++) piece->position[k] -= part->offset[k];
        cal_unrotate3(R, piece->position, piece->position);
        cal_quaternion_multiply(back, piece->quaternion, piece->quaternion);
    }
    const cal_status status = count > 0 ? cal_geometry_create(pieces, count, out, error) : CAL_OK;
    cal_free(pieces);
    return status;
}

// What the mass of a body says about it. link: its joints carry what it lacks.
static cal_status take_mass(cal_world* world, int body, bool link, const cal_mass_properties* mass, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    char name[64];
    if (link && !(mass->mass > 0.0)) return CAL_OK;
    if (!(mass->mass > 0.0))
        return cal_fail(error, CAL_BAD_MODEL, "%s moves but has no mass: give it one, or a density and a shape",
                        cal_body_name_at(world, body, name, sizeof name));
    cal_principal_axes(mass->inertia, part->inertia, part->turn);
    for (int i = 0; i < 3; i++)
        if (!(part->inertia[i] > 0.0) && !link)
            return cal_fail(error, CAL_BAD_MODEL, "%s moves but has no inertia about some axis",
                            cal_body_name_at(world, body, name, sizeof name));
    part->mass = mass->mass;
    memcpy(part->offset, mass->center, sizeof part->offset);
    const double largest = fmax(part->inertia[0], fmax(part->inertia[1], part->inertia[2]));
    part->round = largest - fmin(part->inertia[0], fmin(part->inertia[1], part->inertia[2])) <= ROUND * largest;
    part->pushed = part->first_periodic_callback > 0;
    part->round &= !part->pushed;
    return CAL_OK;
}

static cal_status weigh(cal_world* world, int body, bool link, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    cal_mass_properties mass = {.mass = part->def.mass};
    memcpy(mass.center, part->def.center, sizeof mass.center);
    memcpy(mass.inertia, part->def.inertia, sizeof mass.inertia);
    part->turn[0] = 1.0;
    if (part->def.motion != CAL_MOVING) return CAL_OK;
    cal_geometry* geometry = NULL; // in the body's frame
    if (part->def.density > 0.0) {
        const cal_status status = make_geometry(part, false, &geometry, error);
        if (status != CAL_OK) return status;
        if (geometry != NULL) cal_geometry_mass(geometry, part->def.density, &mass);
    }
    const cal_status status = take_mass(world, body, link, &mass, error);
    // Where that is the frame of the principal axes, it is the body's.
    bool same = part->turn[0] == 1.0;
    for (int i = 0; i < 3; i++) same &= part->turn[1 + i] == 0.0 && part->offset[i] == 0.0;
    if (status == CAL_OK && same && part->geometry == NULL)
        part->geometry = geometry;
    else
        cal_geometry_destroy(geometry);
    return status;
}

// --- Shapes -------------------------------------------------------------------------------------------------------------------

static void find_form(cal_sim_body* part) {
    part->form = CAL_FORM_GENERAL;
    int colliding = 0, balls = 0, last = 0;
    bool alike = true; // in who may touch them
    part->category = part->mask = 0;
    for (int i = 0; i < part->shape_count; i++) {
        const cal_shape_def* shape = &part->shapes[i];
        if (!shape->collides) continue;
        alike &= colliding == 0 || (shape->category == part->category && shape->mask == part->mask);
        part->category |= shape->category, part->mask |= shape->mask;
        colliding++, balls += shape->kind == CAL_SPHERE, last = i;
    }
    if (colliding == 0)
        part->form = CAL_FORM_NONE;
    else if (alike && balls == colliding && balls == part->shape_count && balls <= MOST_BALLS)
        part->form = CAL_FORM_BALLS;
    else if (colliding == 1 && part->shape_count == 1 && part->shapes[last].kind == CAL_PLANE)
        part->form = CAL_FORM_PLANE;
    else if (colliding == 1 && part->shape_count == 1 && part->shapes[last].kind == CAL_BOX)
        part->form = CAL_FORM_BLOCK;
}

// false: no memory.
static bool make_solid(cal_sim_body* part) {
    if (part->solid == NULL) part->solid = cal_allocate(1, sizeof *part->solid);
    return part->solid != NULL;
}

// The axis of a shape about which it is symmetric, in its own frame: 0, 1, 2; −1: any (a ball); −2: none.
static int axis_of(const cal_shape_def* shape) {
    const double* size = shape->size;
    if (shape->kind == CAL_SPHERE) return -1;
    if (shape->kind == CAL_CAPSULE || shape->kind == CAL_CYLINDER) return 2;
    for (int i = 0; shape->kind == CAL_ELLIPSOID && i < 3; i++)
        if (size[(i + 1) % 3] == size[(i + 2) % 3]) return i;
    return -2;
}

// Whether all shapes are symmetric about a principal axis, to rounding.
static bool are_shapes_symmetric(const cal_sim_body* part, const double axis[3]) {
    for (int i = 0; i < part->shape_count; i++) {
        const cal_shape_def* shape = &part->shapes[i];
        const int own = axis_of(shape);
        double R[9], arm[3], off[3];
        if (own == -2) return false;
        for (int k = 0; k < 3; k++) arm[k] = shape->position[k] - part->offset[k];
        cal_cross3(arm, axis, off);
        if (sqrt(cal_dot3(off, off)) > SYMMETRIC * part->reach) return false;
        if (own < 0) continue;
        cal_quaternion_matrix(shape->quaternion, R);
        const double direction[3] = {R[own], R[3 + own], R[6 + own]};
        cal_cross3(direction, axis, off);
        if (sqrt(cal_dot3(off, off)) > SYMMETRIC) return false;
    }
    return true;
}

// The principal axis of symmetry, counted from 1; 0: there is none. Moments about the two others are equal, and that about it is another one, so
// that how fast it turns about them stays the same (motion/trajectory.c).
static int8_t symmetry_of(const cal_sim_body* part) {
    const double* I = part->inertia;
    double R[9];
    if (part->form == CAL_FORM_BALLS || part->round || !(part->mass > 0.0)) return 0;
    cal_quaternion_matrix(part->turn, R);
    for (int i = 0; i < 3; i++) {
        const double a = I[(i + 1) % 3], b = I[(i + 2) % 3], axis[3] = {R[i], R[3 + i], R[6 + i]};
        if (fabs(a - b) > SYMMETRIC * a || fabs(I[i] - a) <= SYMMETRIC * a) continue;
        if (are_shapes_symmetric(part, axis)) return (int8_t)(i + 1);
    }
    return 0;
}

static cal_status prepare_shape(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    find_form(part);
    part->spinning = true;
    if (part->form == CAL_FORM_NONE) return CAL_OK;
    const cal_status status = part->geometry == NULL ? make_geometry(part, true, &part->geometry, error) : CAL_OK;
    if (status != CAL_OK) return status;
    part->reach = cal_geometry_reach(part->geometry);
    part->ball_count = part->form == CAL_FORM_BALLS ? part->shape_count : 1;
    part->balls = cal_allocate((size_t)part->ball_count, sizeof *part->balls);
    if (part->balls == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    double R[9];
    cal_quaternion_matrix(part->turn, R);
    for (int i = 0; i < part->ball_count; i++) {
        double* ball = part->balls[i];
        for (int k = 0; k < 3; k++) ball[k] = part->shapes[i].position[k] - part->offset[k];
        cal_unrotate3(R, ball, ball);
        ball[3] = part->shapes[i].size[0];
        const double reach = sqrt(cal_dot3(ball, ball)) + ball[3];
        if (part->form == CAL_FORM_BALLS) part->reach = i == 0 ? reach : fmax(part->reach, reach);
    }
    const double* center = part->balls[0];
    part->spinning = part->form != CAL_FORM_BALLS || part->ball_count > 1 || cal_dot3(center, center) > 0.0;
    part->symmetric = symmetry_of(part);
    if (part->form != CAL_FORM_BLOCK && part->form != CAL_FORM_PLANE) return CAL_OK;
    if (!make_solid(part)) return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    cal_solid* solid = part->solid;
    memcpy(solid->block.position, center, sizeof solid->block.position);
    const double back[4] = {part->turn[0], -part->turn[1], -part->turn[2], -part->turn[3]};
    double turned[4];
    cal_quaternion_multiply(back, part->shapes[0].quaternion, turned);
    cal_quaternion_matrix(turned, solid->block.rotation);
    memcpy(solid->half, part->shapes[0].size, sizeof solid->half);
    return CAL_OK;
}

// false: no memory.
static bool place_fixed(cal_sim_body* part) {
    if (!make_solid(part)) return false;
    cal_motion* at = &part->solid->at;
    *at = (cal_motion){0};
    memcpy(at->quaternion, part->def.quaternion, sizeof at->quaternion);
    at->pose = cal_pose_make(part->def.position, at->quaternion);
    if (part->geometry != NULL) cal_geometry_box(part->geometry, &at->pose, &part->solid->box);
    if (part->form != CAL_FORM_PLANE) return true;
    const cal_pose* block = &part->solid->block;
    double* plane = part->balls[0];
    double R[9], point[3];
    cal_multiply33(at->pose.rotation, block->rotation, R);
    cal_rotate3(at->pose.rotation, block->position, point);
    for (int i = 0; i < 3; i++) {
        point[i] += at->pose.position[i];
        plane[i] = R[3 * i + 2];
    }
    plane[3] = cal_dot3(plane, point);
    return true;
}

// Components have their numbers in the order of bodies; their states are made by all processors.
static cal_status add_free(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    part->series = (int)CAL_AT_SLOTS + part->def.slots + (int)CAL_FREE_FLOWS;
    part->component = cal_component_add(world, CAL_FREE_BODY, cal_free_body_stride(part), 0);
    if (part->component < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    cal_component* c = &world->components[part->component];
    c->queue.copied = part->series;
    c->body = body;
    return CAL_OK;
}

// false: no memory.
static bool begin_free(cal_world* world, int body) {
    cal_sim_body* part = &world->bodies[body];
    // One that is turned has a second state where its series goes on; and domains keep what was at the beginning of a window.
    const bool two = part->pushed || world->machine != NULL || world->ranks != NULL;
    if (!cal_queue_reserve(&world->components[part->component].queue, two ? 2 : 1) ||
        cal_queue_push(world, part->component, CAL_SEGMENT, world->time) == NULL)
        return false;
    double* data = cal_data_at(&world->components[part->component].queue, 0);
    double R[9], center[3];
    cal_quaternion_matrix(part->def.quaternion, R);
    cal_rotate3(R, part->offset, center);
    for (int i = 0; i < 3; i++) {
        data[CAL_AT_POSITION + i] = part->def.position[i] + center[i];
        data[CAL_AT_VELOCITY + i] = part->def.velocity[i];
        data[CAL_AT_ACCELERATION + i] = world->def.gravity[i];
    }
    cal_quaternion_multiply(part->def.quaternion, part->turn, data + CAL_AT_QUATERNION);
    cal_quaternion_matrix(data + CAL_AT_QUATERNION, R);
    cal_unrotate3(R, part->def.angular_velocity, data + CAL_AT_ANGULAR);
    cal_free_body_begin(part, world->time, data);
    cal_free_body_note_course(world, part->component);
    return true;
}

// Where it fails the body is as it was: normalised twice, a quaternion may have other last bits.
static cal_status measure(cal_world* world, int body, cal_error* error) {
    cal_world_body_def* def = &world->bodies[body].def;
    double given[4];
    memcpy(given, def->quaternion, sizeof given);
    cal_quaternion_normalize(def->quaternion);
    cal_status status = weigh(world, body, false, error);
    if (status == CAL_OK) status = prepare_shape(world, body, error);
    if (status != CAL_OK) memcpy(def->quaternion, given, sizeof given);
    return status;
}

// --- Bodies that are alike ----------------------------------------------------------------------------------------------------

// A gas has ten thousand bodies of two kinds. What is measured of one is taken over for the next, and its geometry is shared.
enum { KINDS = 4 };

static bool shapes_are_alike(const cal_sim_body* a, const cal_sim_body* b) {
    for (int i = 0; i < a->shape_count; i++) {
        const cal_shape_def *p = &a->shapes[i], *q = &b->shapes[i];
        if (p->kind != q->kind || p->kind == CAL_MESH || p->kind == CAL_HEIGHT_FIELD) return false;
        if (p->collides != q->collides || p->category != q->category || p->mask != q->mask) return false;
        if (!cal_same_bits(p->position, q->position, sizeof p->position) ||
            !cal_same_bits(p->quaternion, q->quaternion, sizeof p->quaternion) ||
            !cal_same_bits(p->size, q->size, sizeof p->size))
            return false;
    }
    return true;
}

static bool are_alike(const cal_sim_body* a, const cal_sim_body* b) {
    const cal_world_body_def *p = &a->def, *q = &b->def;
    return p->motion == CAL_MOVING && q->motion == CAL_MOVING && a->shape_count == b->shape_count &&
           (a->first_periodic_callback > 0) == b->pushed &&
           cal_same_bits(&p->density, &q->density, sizeof p->density) &&
           cal_same_bits(&p->mass, &q->mass, sizeof p->mass) && cal_same_bits(p->center, q->center, sizeof p->center) &&
           cal_same_bits(p->inertia, q->inertia, sizeof p->inertia) && shapes_are_alike(a, b);
}

// Bodies whose shapes are the same to the last bit have one list of them. false: no memory.
static bool share_shapes(cal_sim_body* part, cal_sim_body* like) {
    if (!cal_same_bits(part->shapes, like->shapes, (size_t)part->shape_count * sizeof *part->shapes)) return true;
    for (int i = 0; i < part->shape_count; i++)
        if (part->shapes[i].name != NULL || part->meshes[i].vertices != NULL) return true;
    if (like->sharing == NULL) {
        like->sharing = cal_allocate(1, sizeof *like->sharing);
        if (like->sharing == NULL) return false;
        *like->sharing = 1;
    }
    cal_body_free_shapes(part);
    ++*like->sharing;
    part->sharing = like->sharing, part->shapes = like->shapes, part->meshes = like->meshes;
    part->shape_count = part->shape_capacity = like->shape_count;
    return true;
}

// false: no memory.
static bool take_over(cal_sim_body* part, cal_sim_body* like) {
    const size_t balls = (size_t)like->ball_count * sizeof *part->balls;
    if (like->balls != NULL) {
        part->balls = cal_allocate((size_t)like->ball_count, sizeof *part->balls);
        if (part->balls == NULL) return false;
        memcpy(part->balls, like->balls, balls);
    }
    if (like->geometry != NULL) part->geometry = cal_geometry_share(like->geometry);
    part->form = like->form, part->category = like->category, part->mask = like->mask;
    part->round = like->round, part->pushed = like->pushed, part->spinning = like->spinning,
    part->symmetric = like->symmetric;
    part->ball_count = like->ball_count, part->reach = like->reach, part->mass = like->mass;
    memcpy(part->inertia, like->inertia, sizeof part->inertia);
    memcpy(part->offset, like->offset, sizeof part->offset);
    memcpy(part->turn, like->turn, sizeof part->turn);
    if (like->solid != NULL && !make_solid(part)) return false;
    if (like->solid != NULL) *part->solid = *like->solid;
    return part->sharing != NULL || share_shapes(part, like);
}

typedef struct kinds {
    int bodies[KINDS], count; // one of each kind that was seen last
} kinds;

static bool measure_like(cal_world* world, int body, kinds* seen) {
    cal_sim_body* part = &world->bodies[body];
    for (int k = 0; k < seen->count && k < KINDS; k++) {
        cal_sim_body* like = &world->bodies[seen->bodies[k]];
        if (!are_alike(part, like)) continue;
        if (!take_over(part, like)) return false;
        cal_quaternion_normalize(
            part->def.quaternion); // once: the length of what has length 1 may be off by a rounding
        return true;
    }
    const bool done = measure(world, body, NULL) == CAL_OK;
    if (done) seen->bodies[seen->count++ % KINDS] = body;
    return done;
}

typedef struct measuring {
    cal_world* world;
    bool* done; // of each body
} measuring;

// Of what fails nothing is left: it is measured again, by one core, for what there is to say about it.
static void measure_some(void* user, int first, int end) {
    const measuring* m = user;
    kinds seen = {0};
    for (int i = first; i < end; i++) {
        cal_sim_body* part = &m->world->bodies[i];
        if (part->stage != CAL_NEW || part->component >= 0) continue;
        m->done[i] = measure_like(m->world, i, &seen);
        if (m->done[i]) continue;
        cal_geometry_destroy(part->geometry);
        cal_free(part->balls);
        part->geometry = NULL;
        part->balls = NULL;
    }
}

static cal_status prepare_part(cal_world* world, int body, bool measured, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    if (part->component >= 0) { // its multibody did
        cal_quaternion_normalize(part->def.quaternion);
        return CAL_OK;
    }
    const cal_status status = measured ? CAL_OK : measure(world, body, error);
    if (status != CAL_OK) return status;
    if (part->def.motion == CAL_MOVING) return add_free(world, body, error);
    if (world->started) part->came = world->time;
    if (part->def.motion == CAL_FIXED && !place_fixed(part))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a fixed body");
    return CAL_OK;
}

typedef struct beginning {
    cal_world* world;
    atomic_int begun, failed;
} beginning;

static bool is_to_begin(const cal_world* world, int body) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->stage != CAL_NEW || part->component < 0) return false;
    const cal_component* c = &world->components[part->component];
    return c->ops->single && c->queue.tail == c->queue.head;
}

// Counts go into a world of the piece's own.
static void begin_some(void* user, int first, int end) {
    beginning* b = user;
    cal_world own = *b->world;
    int begun = 0;
    bool enough = true;
    for (int i = first; enough && i < end; i++) {
        if (!is_to_begin(&own, i)) continue;
        enough = begin_free(&own, i);
        begun += enough;
    }
    atomic_fetch_add_explicit(&b->begun, begun, memory_order_relaxed);
    if (!enough) atomic_store_explicit(&b->failed, 1, memory_order_relaxed);
}

static cal_status begin_all_free(cal_world* world, cal_error* error) {
    beginning all = {.world = world};
    cal_world_share(world, world->body_count, begin_some, &all);
    world->states += all.begun;
    if (world->states > world->report.peak_states) world->report.peak_states = world->states;
    return all.failed == 0 ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
}

cal_status cal_body_weigh_link(cal_world* world, int body, cal_error* error) {
    cal_quaternion_normalize(world->bodies[body].def.quaternion);
    const cal_status status = weigh(world, body, true, error);
    return status == CAL_OK ? prepare_shape(world, body, error) : status;
}

cal_status cal_world_prepare_new(cal_world* world, cal_error* error) {
    cal_status status = cal_multibodies_prepare(world, error);
    measuring all = {world, cal_allocate((size_t)world->body_count + 1, sizeof *all.done)};
    if (status == CAL_OK && all.done == NULL) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for bodies");
    if (status == CAL_OK) cal_world_share(world, world->body_count, measure_some, &all);
    for (int i = 0; status == CAL_OK && i < world->body_count; i++)
        if (world->bodies[i].stage == CAL_NEW) status = prepare_part(world, i, all.done[i], error);
    cal_free(all.done);
    return status == CAL_OK ? begin_all_free(world, error) : status;
}
