// What a body without shapes looks like: a solid of its mass and inertia, and wires from its joint to those of its children
// that hang outside it.
//
//            o  joint                 With principal moments I₁ ≤ I₂ ≤ I₃ about the centre of mass:
//           /|\                       a box has the edges  e₁² = 6 (I₂ + I₃ − I₁)/m, …
//          / | \    wires             a cylinder about a symmetry axis, moment I there and J across it, has
//         /  |  \                         r² = 2 I/m,  l² = 12 J/m − 6 I/m.
//        o [===] o  children          Long cylinders are drawn with round ends.
//
// Bodies take their parent's colour while they are its only child; where a tree branches, the branches take turns.
#include "record/drawing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/vector.h"

const float cal_paint[CAL_PAINTS][4] = {{0.84f, 0.16f, 0.14f, 1}, {0.20f, 0.21f, 0.23f, 1}, {0.96f, 0.75f, 0.13f, 1},
                                        {0.14f, 0.35f, 0.65f, 1}, {0.93f, 0.92f, 0.88f, 1}, {0.93f, 0.47f, 0.16f, 1}};
const float cal_wire_paint[4] = {0.55f, 0.56f, 0.58f, 1};
static const double SYMMETRIC = 0.02; // relative difference of moments below which a body is one of revolution
static const double HUB = 0.42;       // a solid with children outside it reaches at most so far towards them

// Eigenvalues and eigenvectors (columns) of a symmetric matrix (xx, yy, zz, xy, xz, yz) by Jacobi's rotations; the vectors
// are right-handed.
static void diagonalize(const double s[6], double values[3], double vectors[9]) {
    double a[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 30; sweep++) {
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(a[p][q]) <= 1e-300) continue;
                const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                const double c = 1 / sqrt(t * t + 1), sine = t * c;
                for (int k = 0; k < 3; k++) {
                    const double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - sine * y, a[k][q] = sine * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    const double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - sine * y, a[q][k] = sine * x + c * y;
                    const double z = v[k][p], w = v[k][q];
                    v[k][p] = c * z - sine * w, v[k][q] = sine * z + c * w;
                }
            }
    }
    for (int i = 0; i < 3; i++) values[i] = a[i][i];
    memcpy(vectors, v, 9 * sizeof(double));
}

// Turns the columns so that number i comes last, still right-handed.
static void put_last(double values[3], double vectors[9], int i) {
    double old_values[3], old[9];
    memcpy(old_values, values, sizeof old_values);
    memcpy(old, vectors, sizeof old);
    for (int k = 0; k < 3; k++) {
        const int from = (i + 1 + k) % 3;
        values[k] = old_values[from];
        for (int row = 0; row < 3; row++) vectors[3 * row + k] = old[3 * row + from];
    }
}

static bool are_equal(double a, double b, double scale) { return fabs(a - b) <= SYMMETRIC * scale; }

static double edge(double square) { return sqrt(fmax(square, 0)); }

// The solid of a body; false where there is none.
static bool shape_solid(const cal_body_def* body, cal_drawn* out) {
    double moments[3], axes[9];
    if (!(body->mass > 0)) return false;
    diagonalize(body->inertia, moments, axes);
    const double m = body->mass, largest = fmax(moments[0], fmax(moments[1], moments[2]));
    memcpy(out->position, body->center, sizeof out->position);
    if (!(largest > DBL_MIN)) {
        // A point mass: a ball of the density of wood.
        out->kind = CAL_SPHERE;
        out->size[0] = 0.07 * sqrt(sqrt(m));
        return true;
    }
    int axis = -1;
    for (int i = 0; i < 3; i++)
        if (are_equal(moments[(i + 1) % 3], moments[(i + 2) % 3], largest)) axis = i;
    if (axis >= 0 && are_equal(moments[0], moments[1], largest) && are_equal(moments[1], moments[2], largest)) {
        out->kind = CAL_SPHERE;
        out->size[0] = sqrt(2.5 * largest / m);
        return true;
    }
    if (axis >= 0) put_last(moments, axes, axis);
    const double radius = edge(2 * moments[2] / m), length = edge(12 * moments[0] / m - 6 * moments[2] / m);
    cal_matrix_quaternion(axes, out->quaternion);
    if (axis < 0) {
        const double sum = moments[0] + moments[1] + moments[2];
        out->kind = CAL_BOX;
        for (int i = 0; i < 3; i++) out->size[i] = edge(6 * (sum - 2 * moments[i]) / m) / 2;
    } else if (length > 2.2 * radius) {
        out->kind = CAL_CAPSULE;
        // Ends that are a little shorter than the cylinder's leave a gap for the joint.
        out->size[0] = fmax(radius, 0.01 * length), out->size[1] = fmax(length / 2 - 0.6 * radius, 0);
    } else {
        out->kind = CAL_CYLINDER;
        out->size[0] = radius, out->size[1] = length / 2;
    }
    const double widest = fmax(out->size[0], fmax(out->size[1], out->size[2]));
    for (int i = 0; i < (out->kind == CAL_BOX ? 3 : 2); i++) out->size[i] = fmax(out->size[i], 0.01 * widest);
    return true;
}

// Whether a point of the body is in its solid, or almost.
static bool is_inside(const cal_drawn* solid, const double point[3]) {
    const double near = 1.3;
    double R[9], x[3];
    cal_quaternion_matrix(solid->quaternion, R);
    for (int i = 0; i < 3; i++) x[i] = point[i] - solid->position[i];
    cal_unrotate3(R, x, x);
    const double across = sqrt(x[0] * x[0] + x[1] * x[1]), along = fabs(x[2]);
    switch (solid->kind) {
    case CAL_SPHERE: return sqrt(cal_dot3(x, x)) <= near * solid->size[0];
    case CAL_BOX:
        for (int i = 0; i < 3; i++)
            if (fabs(x[i]) > near * solid->size[i]) return false;
        return true;
    case CAL_CAPSULE: return across <= near * solid->size[0] && along <= solid->size[1] + near * solid->size[0];
    default: return across <= near * solid->size[0] && along <= near * solid->size[1];
    }
}

static bool add_wire(cal_drawing* drawing, int body, const double from[3], const double to[3]) {
    double axis[3], R[9];
    for (int i = 0; i < 3; i++) axis[i] = to[i] - from[i];
    const double length = sqrt(cal_dot3(axis, axis));
    if (!(length > 1e-9)) return true;
    cal_drawn wire = {
        .body = body, .mesh = -1, .texture = CAL_NONE, .kind = CAL_CYLINDER, .size = {0.008 * length, length / 2, 0}};
    for (int i = 0; i < 3; i++) {
        axis[i] /= length;
        wire.position[i] = (from[i] + to[i]) / 2;
    }
    memcpy(wire.color, cal_wire_paint, sizeof wire.color);
    cal_rotation_to_axis(axis, R);
    cal_matrix_quaternion(R, wire.quaternion);
    return cal_drawing_add(drawing, &wire, false);
}

// --- The tree -----------------------------------------------------------------------------------------------------------

typedef struct family {
    int* first_joint; // of each body; -1: fixed
    int* child_count; // of each body
    int* rank;        // of a body among its siblings
    double* reach;    // of each body: how far from its centre the farthest child hangs that is outside its solid
} family;

static void anchor_of(const cal_model* model, const family* f, int body, double anchor[3]) {
    cal_joint_def joint;
    memset(anchor, 0, 3 * sizeof(double));
    if (f->first_joint[body] < 0) return;
    cal_model_joint(model, f->first_joint[body], &joint, NULL, NULL, NULL);
    if (joint.kind != CAL_FREE) memcpy(anchor, joint.anchor, 3 * sizeof(double));
}

// Where a child's joint is in its parent's frame, with all joints at zero.
static void find_hanger(const cal_model* model, const family* f, int child, const cal_body_def* body, double at[3]) {
    double R[9];
    anchor_of(model, f, child, at);
    cal_quaternion_matrix(body->quaternion, R);
    cal_rotate3(R, at, at);
    for (int i = 0; i < 3; i++) at[i] += body->position[i];
}

// Tells a parent about a child that hangs outside its solid; false where it does not.
static bool hangs_outside(const cal_model* model, const family* f, int child, double at[3]) {
    cal_body_def body, parent;
    cal_drawn solid = {.quaternion = {1, 0, 0, 0}, .texture = CAL_NONE};
    cal_model_body(model, child, &body);
    cal_model_body(model, body.parent, &parent);
    find_hanger(model, f, child, &body, at);
    if (!shape_solid(&parent, &solid)) return true;
    double square = 0;
    for (int i = 0; i < 3; i++) square += (at[i] - parent.center[i]) * (at[i] - parent.center[i]);
    if (is_inside(&solid, at) && !(f->child_count[body.parent] > 2)) return false;
    f->reach[body.parent] = fmax(f->reach[body.parent], sqrt(square));
    return true;
}

static bool draw_body(cal_drawing* drawing, const family* f, int number, int color) {
    cal_body_def body;
    cal_model_body(drawing->model, number, &body);
    cal_drawn solid = {.body = number, .mesh = -1, .texture = CAL_NONE, .quaternion = {1, 0, 0, 0}};
    // Neighbours in a chain differ a little.
    const float light = number % 2 ? 0.14f : 0;
    for (int i = 0; i < 3; i++) solid.color[i] = cal_paint[color][i] + light * (1 - cal_paint[color][i]);
    solid.color[3] = 1;
    if (!shape_solid(&body, &solid)) return true;
    const double widest = fmax(solid.size[0], fmax(solid.size[1], solid.size[2]));
    const double shrink = f->reach[number] > 0 ? fmin(HUB * f->reach[number] / widest, 1) : 1;
    for (int i = 0; i < 3; i++) solid.size[i] *= shrink;
    if (!cal_drawing_add(drawing, &solid, false)) return false;
    double anchor[3];
    anchor_of(drawing->model, f, number, anchor);
    if (f->first_joint[number] < 0 || is_inside(&solid, anchor)) return true;
    cal_joint_def joint;
    cal_model_joint(drawing->model, f->first_joint[number], &joint, NULL, NULL, NULL);
    return joint.kind == CAL_FREE || add_wire(drawing, number, anchor, body.center);
}

// Wires on a parent that lead to its children's joints.
static bool draw_link(cal_drawing* drawing, const family* f, int child, int parent) {
    double from[3], to[3];
    if (!hangs_outside(drawing->model, f, child, to)) return true;
    anchor_of(drawing->model, f, parent, from);
    return add_wire(drawing, parent, from, to);
}

static void survey(const cal_model* model, int bodies, family* f) {
    for (int i = 0; i < bodies; i++) f->first_joint[i] = -1;
    for (int joint = cal_model_joint_count(model) - 1; joint >= 0; joint--) {
        cal_joint_def def;
        int body;
        cal_model_joint(model, joint, &def, &body, NULL, NULL);
        if (body < bodies) f->first_joint[body] = joint;
    }
    for (int i = 0; i < bodies; i++) {
        cal_body_def def;
        cal_model_body(model, i, &def);
        if (def.parent >= 0 && def.parent < bodies) f->rank[i] = f->child_count[def.parent]++;
    }
}

// A parent may come after its children, so a colour is found by going up to the last branching.
static int color_of(const cal_model* model, const family* f, int bodies, int body) {
    cal_body_def def;
    int turns = 0;
    for (int steps = 0; steps < bodies; steps++) {
        cal_model_body(model, body, &def);
        if (def.parent < 0 || def.parent >= bodies) return turns % CAL_PAINTS;
        if (f->child_count[def.parent] > 1) turns += 1 + f->rank[body];
        body = def.parent;
    }
    return 0;
}

// As color_of, from the parent's where that came first.
static int color_after(const cal_model* model, const family* f, int bodies, int body, const uint8_t* colors) {
    cal_body_def def;
    cal_model_body(model, body, &def);
    if (def.parent >= 0 && def.parent < body && f->child_count[def.parent] == 1) return colors[def.parent];
    if (def.parent >= 0 && def.parent < body) return (colors[def.parent] + 1 + f->rank[body]) % CAL_PAINTS;
    return color_of(model, f, bodies, body);
}

static bool draw_all(cal_drawing* drawing, const family* f, const bool* shown, uint8_t* colors) {
    const int bodies = drawing->body_count;
    const cal_model* model = drawing->model;
    // Wires first: they say how much room a solid has.
    for (int i = 0; i < bodies; i++) {
        cal_body_def def;
        cal_model_body(model, i, &def);
        if (def.parent < 0 || def.parent >= bodies || shown[def.parent]) continue;
        if (!draw_link(drawing, f, i, def.parent)) return false;
    }
    for (int i = 0; i < bodies; i++) {
        colors[i] = (uint8_t)color_after(model, f, bodies, i, colors);
        if (!shown[i] && !draw_body(drawing, f, i, colors[i])) return false;
    }
    return true;
}

bool cal_drawing_add_defaults(cal_drawing* drawing, const bool* shown) {
    const int bodies = drawing->body_count;
    int* memory = cal_allocate(3 * (size_t)bodies, sizeof *memory);
    double* reach = cal_allocate((size_t)bodies, sizeof *reach);
    uint8_t* colors = cal_allocate((size_t)bodies, 1);
    bool done = memory && reach && colors;
    if (done) {
        family f = {memory, memory + bodies, memory + 2 * bodies, reach};
        survey(drawing->model, bodies, &f);
        done = draw_all(drawing, &f, shown, colors);
    }
    cal_free(memory);
    cal_free(reach);
    cal_free(colors);
    return done;
}
