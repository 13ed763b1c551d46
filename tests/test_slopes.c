// Slopes half a percent from the angle of friction, on all kinds of ground: below it everything stays, above it a = g (sin α − μ cos α), and what
// rolls has g sin α / (1 + I / m r²). At any time, in any unit, laid down or dropped.
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double g = 9.81, mu = 0.4;

enum { PLANE, BLOCK, FIELD, HULL, GROUNDS };
enum { BOX, CAPSULE, STANDING, LYING, ROLLING_CAPSULE, ROLLING_CYLINDER, SHAPES };
static const char* const names[SHAPES] = {
    "box", "capsule", "standing cylinder", "lying cylinder", "rolling capsule", "rolling cylinder"};

static cal_body_id add(cal_world* world, const cal_world_body_def* def, cal_shape_kind kind, const double size[3],
                       const cal_mesh_def* mesh) {
    cal_body_id body;
    cal_error error;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    memcpy(shape.size, size, sizeof shape.size);
    shape.friction = mu, shape.restitution = 0.0;
    if (cal_world_add_body(world, def, &body, &error) != CAL_OK ||
        cal_world_add_shape(world, body, &shape, mesh, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return body;
}

// A slope down along x: a plane, a block, a flat height field whose edges are under the body, or the hull of eight corners.
static void add_ground(cal_world* world, int ground, double angle, double size) {
    enum { SIDE = 9 };
    const double big = 200.0 * size;
    cal_world_body_def def = cal_default_world_body_def();
    cal_mesh_def mesh = cal_default_mesh_def();
    double vertices[3 * SIDE * SIDE];
    int32_t triangles[6 * (SIDE - 1) * (SIDE - 1)];
    def.motion = CAL_FIXED;
    def.quaternion[0] = cos(0.5 * angle), def.quaternion[2] = sin(0.5 * angle);
    if (ground == PLANE) add(world, &def, CAL_PLANE, (double[]){0, 0, 0}, NULL);
    if (ground == BLOCK) {
        def.position[0] = -big * sin(angle), def.position[2] = -big * cos(angle);
        add(world, &def, CAL_BOX, (double[]){big, big, big}, NULL);
    }
    mesh.vertices = vertices;
    if (ground == HULL) {
        for (int i = 0; i < 8; i++) {
            vertices[3 * i] = i & 1 ? big : -big, vertices[3 * i + 1] = i & 2 ? big : -big;
            vertices[3 * i + 2] = i & 4 ? 0.0 : -big;
        }
        mesh.vertex_count = 8;
        add(world, &def, CAL_MESH, (double[]){1, 1, 1}, &mesh);
    }
    if (ground == FIELD) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            vertices[3 * i] = 0.25 * big * (i % SIDE - 4) + 0.3 * size;
            vertices[3 * i + 1] = 0.25 * big * (i / SIDE - 4) + 0.3 * size;
            vertices[3 * i + 2] = 0.0;
        }
        int t = 0;
        for (int row = 0; row + 1 < SIDE; row++)
            for (int k = row * SIDE; k + 1 < (row + 1) * SIDE; k++) {
                const int32_t two[6] = {k, k + 1, k + SIDE + 1, k, k + SIDE + 1, k + SIDE};
                memcpy(triangles + t, two, sizeof two);
                t += 6;
            }
        mesh.vertex_count = SIDE * SIDE, mesh.columns = SIDE, mesh.triangles = triangles, mesh.triangle_count = t / 3;
        add(world, &def, CAL_HEIGHT_FIELD, (double[]){big, big, size}, &mesh);
    }
}

typedef struct slide {
    cal_world* world;
    cal_body_id body;
    double start[3], down[3], acceleration;
} slide;

// A shape of which the centre is `size` above a slope, and the gap.
static slide begin(int ground, int shape, double size, double share, double gap) {
    const double angle = atan(mu * (1.0 + share)), c = cos(0.5 * angle), s = sin(0.5 * angle), h = sqrt(0.5);
    // About x, which lays an axis across the slope, and about y, which lays it along.
    static const double turns[SHAPES][2] = {{0, 0}, {0, 1}, {0, 0}, {0, 1}, {1, 0}, {1, 0}};
    static const cal_shape_kind kinds[SHAPES] = {CAL_BOX,      CAL_CAPSULE, CAL_CYLINDER,
                                                 CAL_CYLINDER, CAL_CAPSULE, CAL_CYLINDER};
    static const double sizes[SHAPES][3] = {{2, 1.5, 1}, {1, 2}, {2, 1}, {1, 1.5}, {1, 2}, {1, 1.5}};
    const double ball = 4.0 / 3.0, rod = 4.0,
                 moment = shape == ROLLING_CAPSULE ? (0.5 * rod + 0.4 * ball) / (rod + ball) : 0.5;
    cal_world_def def = cal_default_world_def();
    def.restitution = def.friction = -1.0;
    slide out = {.world = cal_test_world(&def), .down = {cos(angle), 0.0, -sin(angle)}};
    add_ground(out.world, ground, angle, size);
    cal_world_body_def body = cal_default_world_body_def();
    body.position[0] = (size + gap) * sin(angle), body.position[2] = (size + gap) * cos(angle);
    const double x = turns[shape][0], y = turns[shape][1], w = x + y > 0.0 ? h : 1.0;
    // First the own turn (w, h x, h y, 0), then that of the slope (c, 0, s, 0).
    const double own[4] = {w, h * x, h * y, 0.0};
    body.quaternion[0] = c * own[0] - s * own[2], body.quaternion[1] = c * own[1];
    body.quaternion[2] = c * own[2] + s * own[0], body.quaternion[3] = -s * own[1];
    double scaled[3];
    for (int i = 0; i < 3; i++) scaled[i] = size * sizes[shape][i];
    out.body = add(out.world, &body, kinds[shape], scaled, NULL);
    memcpy(out.start, body.position, sizeof out.start);
    const double slips = fmax(g * (sin(angle) - mu * cos(angle)), 0.0);
    out.acceleration = shape < ROLLING_CAPSULE ? slips : g * sin(angle) / (1.0 + moment);
    return out;
}

static void look(const slide* s, double time, double* way, double* speed) {
    double x[3], v[3];
    cal_test_advance(s->world, time);
    assert_int_equal(cal_world_get_body(s->world, s->body, x, NULL, v, NULL), CAL_OK);
    *way = *speed = 0.0;
    for (int i = 0; i < 3; i++) *way += (x[i] - s->start[i]) * s->down[i], *speed += v[i] * s->down[i];
}

// Edges of a height field under a body are in the same place twice, and contacts there nearly say the same: what they differ by, which is rounding,
// became speeds (13 % of the way of a capsule, more in small units).
static void every_ground_is_as_smooth_as_a_plane(void** unused) {
    (void)unused;
    static const double sizes[] = {1e-3, 0.1, 10.0};
    for (int k = 0; k < 3; k++)
        for (int ground = 0; ground < GROUNDS; ground++)
            for (int shape = 0; shape < SHAPES; shape++)
                for (int above = 0; above < 2; above++) {
                    if (CAL_TEST_SANITIZED && ground == FIELD && k != 1) continue;
                    const double size = sizes[k], share = above ? 0.005 : -0.005, time = fmin(2.0, 4.0 * sqrt(size));
                    const slide s = begin(ground, shape, size, share, 0.0);
                    double way, speed;
                    look(&s, time, &way, &speed);
                    const double wanted = 0.5 * s.acceleration * time * time;
                    // What rolls over an edge takes steps in which forces jump, of a tenth of a size at most.
                    const double jumps = shape < ROLLING_CAPSULE ? 1e-5 : 0.2;
                    cal_test_expect_below(fabs(way - wanted), 4e-3 * wanted + jumps * size, "way", names[shape]);
                    cal_world_destroy(s.world);
                }
}

// What is dropped flat lands on all of its points at once, on any ground, and slides on as Coulomb says: speeds along and across the slope fall by
// one amount each. On the hull of a mesh the sweeps over the points had not come to their end, and one point took all of it (57 %).
static void what_is_dropped_flat_slides_on(void** unused) {
    (void)unused;
    for (int ground = 0; ground < GROUNDS; ground++)
        for (int shape = 0; shape < ROLLING_CAPSULE; shape++)
            for (int above = 0; above < 2; above++) {
                const double size = 10.0, share = above ? 0.005 : -0.005, gap = 1e-5 * size;
                const slide s = begin(ground, shape, size, share, gap);
                double way, speed;
                look(&s, 2.0, &way, &speed);
                cal_test_expect_below(fabs(way - 2.0 * s.acceleration), 2e-2 * 2.0 * s.acceleration + 2.0 * gap, "way",
                                      names[shape]);
                cal_world_destroy(s.world);
            }
}

// Speeds are right at all times, not at the ends of steps alone: those of a block that has begun to slide were shown as 0 there, since most of what
// it loses it loses to friction.
static void speeds_are_right_at_any_time(void** unused) {
    (void)unused;
    for (int ground = 0; ground < GROUNDS; ground++)
        for (int shape = 0; shape < SHAPES; shape++) {
            const slide s = begin(ground, shape, 0.1, 0.005, 0.0);
            for (int i = 0; i < 37; i++) {
                const double time = 0.1 + 0.01037 * i;
                double way, speed;
                look(&s, time, &way, &speed);
                cal_test_expect_below(fabs(speed / (s.acceleration * time) - 1.0), 0.05, "speed", names[shape]);
            }
            cal_world_destroy(s.world);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ground_is_as_smooth_as_a_plane),
        cmocka_unit_test(what_is_dropped_flat_slides_on),
        cmocka_unit_test(speeds_are_right_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
