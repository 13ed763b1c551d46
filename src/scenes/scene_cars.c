// Cars: vehicles of seven links (a chassis, two knuckles that steer, four wheels) that drive over bumps and through an array
// of spherical pendulums, turn round behind them and come back. A controller a car, 100 times a second, holds the wheels'
// speed and the steering angles.
//
//      posts  |   |   |   |   |   |   |   |
//      cars   ▭>   ‿  ‿  ‿   ! ! ! ! ! ! !      ‿ bumps   ! pendulums
//             ▭>   ‿  ‿  ‿   ! ! ! ! ! ! !
//      posts  |   |   |   |   |   |   |   |
#include "base/memory.h"
#include "scenes/scene.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(cars, 4, 1, 1000, "vehicles")                                                                              \
    INTEGER(rows, 20, 0, 100, "of pendulums, as many across")                                                          \
    NUMBER(speed, 5, 0, 30, "that the controllers hold, m/s")                                                          \
    INTEGER(sides, 24, 0, 64, "of a wheel, a prism as in the paper, whose shapes are polyhedra; 0: a ball")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { BUMPS = 10, POSTS = 85, WHEELS = 4, FEWEST_SIDES = 3, MOST_SIDES = 64 };
#define WHEEL_RADIUS 0.35
#define WHEEL_HALF 0.1 // m: half its width
#define ROD_LENGTH 1.5
#define ROD_HEIGHT 2.3 // of the anchors: a rod's end is lower than a car's roof
#define LANE 4.0       // m between cars
#define NEAR_END -15.0 // m: where cars that come back turn round
#define FAR_END 90.0   // m: where the others do, behind the pendulums

static void prepare(const double* values, cal_world_def* def) {
    (void)values;
    def->restitution = 0.2;
    def->friction = 0.8;
}

static void solid_box(cal_body_def* def, double mass, const double half[3]) {
    def->mass = mass;
    for (int i = 0; i < 3; i++) {
        const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
        def->inertia[i] = mass / 3.0 * (a * a + b * b);
    }
}

// The corners of a prism about the y axis, one of them straight down; sine and cosine of the angle between two by series.
static void prism(int sides, double* out) {
    const double x = 6.283185307179586 / sides, z = x * x;
    double sine = 1.0, cosine = 1.0;
    for (int n = 24; n > 0; n -= 2) {
        cosine = 1.0 - z / ((n - 1) * n) * cosine;
        sine = 1.0 - z / (n * (n + 1)) * sine;
    }
    sine *= x;
    double at[2] = {0.0, -WHEEL_RADIUS};
    for (int i = 0; i < sides; i++) {
        for (int side = 0; side < 2; side++) {
            double* corner = out + 3 * (2 * i + side);
            corner[0] = at[0], corner[1] = side == 0 ? -WHEEL_HALF : WHEEL_HALF, corner[2] = at[1];
        }
        const double next[2] = {cosine * at[0] - sine * at[1], sine * at[0] + cosine * at[1]};
        memcpy(at, next, sizeof at);
    }
}

static int add_tyre(cal_builder* builder, int sides) {
    double corners[6 * MOST_SIDES];
    int32_t triangles[3 * 4 * MOST_SIDES];
    int count = 0;
    if (sides < FEWEST_SIDES) return -1;
    prism(sides, corners);
    // Corners 2 i and 2 i + 1 are of the two ends, i going from below towards +x: the tread, then both ends as fans.
    for (int i = 0; i < sides; i++) {
        const int32_t a = 2 * i, b = 2 * ((i + 1) % sides);
        const int32_t corner[12] = {a, b, a + 1, b, b + 1, a + 1, 0, b, a, 1, a + 1, b + 1};
        memcpy(triangles + 3 * count, corner, (i == 0 || i == sides - 1 ? 6 : 12) * sizeof *corner);
        count += i == 0 || i == sides - 1 ? 2 : 4;
    }
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.name = "tyre";
    mesh.vertices = corners;
    mesh.vertex_count = 2 * sides;
    mesh.triangles = triangles;
    mesh.triangle_count = count;
    return cal_builder_add_mesh(builder, &mesh);
}

static int add_wheel(cal_builder* builder, int parent, const char* name, double x, double y, int mesh) {
    cal_body_def wheel = cal_default_body_def();
    wheel.name = name;
    wheel.parent = parent;
    wheel.position[0] = x, wheel.position[1] = y, wheel.position[2] = parent == 0 ? -0.25 : 0.0;
    wheel.mass = 20.0;
    const double square = WHEEL_RADIUS * WHEEL_RADIUS, width = 4.0 * WHEEL_HALF * WHEEL_HALF;
    for (int i = 0; i < 3; i++)
        wheel.inertia[i] = wheel.mass * (mesh < 0 ? 0.4 * square
                                         : i == 1 ? 0.5 * square
                                                  : (3.0 * square + width) / 12.0);
    const int body = cal_builder_add_body(builder, &wheel);
    cal_joint_def axle = cal_default_joint_def();
    axle.axis[1] = 1.0, axle.axis[2] = 0.0;
    cal_builder_add_joint(builder, body, &axle);
    cal_shape_def tyre = cal_default_shape_def();
    tyre.body = body;
    tyre.size[0] = WHEEL_RADIUS;
    if (mesh >= 0) tyre.kind = CAL_MESH, tyre.mesh = mesh;
    cal_builder_add_shape(builder, &tyre);
    return body;
}

static cal_status make_car(int sides, cal_model** out, cal_error* error) {
    cal_builder* builder;
    if (cal_builder_create(&builder) != CAL_OK) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a car");
    cal_builder_set_name(builder, "car");
    const double half[3] = {2.0, 0.8, 0.25};
    cal_body_def chassis = cal_default_body_def();
    chassis.name = "chassis";
    chassis.position[2] = WHEEL_RADIUS + 0.25;
    solid_box(&chassis, 1000.0, half);
    cal_builder_add_body(builder, &chassis);
    cal_joint_def ride = cal_default_joint_def();
    ride.kind = CAL_FREE;
    cal_builder_add_joint(builder, 0, &ride);
    cal_shape_def body = cal_default_shape_def();
    body.body = 0;
    body.kind = CAL_BOX;
    memcpy(body.size, half, sizeof half);
    body.position[2] = 0.15;
    cal_builder_add_shape(builder, &body);
    for (int side = 0; side < 2; side++) {
        cal_body_def knuckle = cal_default_body_def();
        knuckle.name = side == 0 ? "left knuckle" : "right knuckle";
        knuckle.parent = 0;
        knuckle.position[0] = 1.4, knuckle.position[1] = side == 0 ? 1.0 : -1.0, knuckle.position[2] = -0.25;
        const double small[3] = {0.1, 0.1, 0.1};
        solid_box(&knuckle, 15.0, small);
        const int number = cal_builder_add_body(builder, &knuckle);
        cal_joint_def pin = cal_default_joint_def();
        pin.armature = 1.0;
        cal_builder_add_joint(builder, number, &pin);
    }
    const int tyre = add_tyre(builder, sides);
    add_wheel(builder, 1, "front left", 0.0, 0.15, tyre);
    add_wheel(builder, 2, "front right", 0.0, -0.15, tyre);
    add_wheel(builder, 0, "rear left", -1.4, 1.15, tyre);
    add_wheel(builder, 0, "rear right", -1.4, -1.15, tyre);
    const cal_status status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

static cal_status make_pendulum(cal_model** out, cal_error* error) {
    cal_builder* builder;
    if (cal_builder_create(&builder) != CAL_OK) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a pendulum");
    cal_builder_set_name(builder, "pendulum");
    cal_body_def rod = cal_default_body_def();
    rod.name = "rod";
    const double top[3] = {0.0}, bottom[3] = {0.0, 0.0, -ROD_LENGTH};
    cal_shape_capsule(&rod, top, bottom, 0.05, 5.0);
    cal_builder_add_body(builder, &rod);
    cal_joint_def ball = cal_default_joint_def();
    ball.kind = CAL_BALL;
    ball.damping = 0.2;
    cal_builder_add_joint(builder, 0, &ball);
    cal_shape_def shape = cal_default_shape_def();
    shape.body = 0;
    shape.kind = CAL_CAPSULE;
    shape.size[0] = 0.05, shape.size[1] = 0.5 * ROD_LENGTH;
    shape.position[2] = -0.5 * ROD_LENGTH;
    cal_builder_add_shape(builder, &shape);
    const cal_status status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

static double clamp(double value, double most) { return value > most ? most : value < -most ? -most : value; }

// Wheel speed by a proportional law; steering back to the car's own lane, which is where q counts from, at most fifty degrees
// across, and with full lock while it looks the wrong way: all turn to one side, so that they do not meet. The target speed is
// in the car's slot 0, the way along the lane in slot 1.
static void drive(cal_callback_context* view, void* user) {
    (void)user;
    double *tau = cal_callback_tau(view, 0), *slots = cal_callback_slots(view, 0);
    const double *q = cal_callback_q(view, 0), *v = cal_callback_v(view, 0);
    if (q[0] > FAR_END) slots[1] = -1.0;
    if (q[0] < NEAR_END) slots[1] = 1.0;
    const double way = slots[1],
                 sine = way * 2.0 * (q[3] * q[6] + q[4] * q[5]); // of the yaw, away from where it should go
    const double cosine = way * (1.0 - 2.0 * (q[5] * q[5] + q[6] * q[6]));
    double aim = clamp(-clamp(0.15 * way * q[1], 0.6) - 0.8 * sine, 0.4);
    if (cosine < 0.0) aim = -0.4 * way;
    memset(tau, 0, 12 * sizeof *tau);
    for (int i = 0; i < 2; i++) tau[6 + i] = 2000.0 * (aim - q[7 + i]) - 200.0 * v[6 + i];
    for (int i = 0; i < WHEELS; i++) tau[8 + i] = clamp(150.0 * (slots[0] / WHEEL_RADIUS - v[8 + i]), 400.0);
}

static void start_driving(cal_callback_context* view, void* user) {
    const double* speed = user;
    cal_callback_slots(view, 0)[0] = *speed;
    cal_callback_slots(view, 0)[1] = 1.0;
}

static cal_status add_surroundings(cal_world* world, int cars, cal_error* error) {
    cal_shape_def ground = cal_default_shape_def();
    ground.kind = CAL_PLANE;
    cal_status status = cal_scene_fixed(world, "ground", &ground, error);
    char name[32];
    for (int i = 0; status == CAL_OK && i < BUMPS; i++) {
        cal_shape_def bump = cal_default_shape_def();
        bump.kind = CAL_CAPSULE;
        bump.size[0] = 0.3, bump.size[1] = 0.5 * LANE * cars;
        bump.position[0] = 6.0 + 3.0 * i, bump.position[1] = 0.5 * LANE * (cars - 1), bump.position[2] = -0.22;
        const double half = 0.70710678118654752;
        bump.quaternion[0] = half, bump.quaternion[1] = half, bump.quaternion[2] = bump.quaternion[3] = 0.0;
        snprintf(name, sizeof name, "bump %d", i);
        status = cal_scene_fixed(world, name, &bump, error);
    }
    for (int i = 0; status == CAL_OK && i < POSTS; i++) {
        cal_shape_def post = cal_default_shape_def();
        post.kind = CAL_CAPSULE;
        post.size[0] = 0.1, post.size[1] = 0.4;
        const int pair = i / 2;
        post.position[0] = 1.5 * pair, post.position[1] = i % 2 == 0 ? -3.0 : LANE * (cars - 1) + 3.0;
        post.position[2] = 0.5;
        snprintf(name, sizeof name, "post %d", i);
        status = cal_scene_fixed(world, name, &post, error);
    }
    return status;
}

static cal_status build(const double* values, cal_world* world, cal_error* error) {
    const int cars = (int)values[at_cars], rows = (int)values[at_rows];
    double* speed = cal_allocate(1, sizeof *speed);
    if (speed == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for cars");
    world->owned = speed;
    *speed = values[at_speed];
    cal_model *car_model = NULL, *pendulum = NULL;
    cal_status status = make_car((int)values[at_sides], &car_model, error);
    if (status == CAL_OK) status = cal_world_keep_model(world, car_model, error);
    if (status == CAL_OK) status = make_pendulum(&pendulum, error);
    if (status == CAL_OK) status = cal_world_keep_model(world, pendulum, error);
    if (status == CAL_OK) status = add_surroundings(world, cars, error);
    for (int i = 0; status == CAL_OK && i < cars; i++) {
        const double at[3] = {0.0, LANE * i, 1e-4};
        cal_multibody_id car;
        status = cal_world_add_multibody(world, car_model, at, NULL, 2, &car, error);
        if (status != CAL_OK) break;
        const cal_body_id chassis = cal_world_link(world, car, 0);
        status = cal_world_on_period(world, &chassis, 1, 0.0, 1e6, start_driving, speed, error);
        if (status == CAL_OK) status = cal_world_on_period(world, &chassis, 1, 0.01, 0.01, drive, NULL, error);
    }
    for (int i = 0; status == CAL_OK && i < rows * rows; i++) {
        const int column = i / rows;
        const double at[3] = {40.0 + 1.2 * column, LANE * (cars * (i % rows + 0.5) / rows - 0.5), ROD_HEIGHT};
        status = cal_world_add_multibody(world, pendulum, at, NULL, 0, NULL, error);
    }
    return status;
}

CAL_DEFINE_SCENE(cars, PARAMETERS, 60.0, "vehicles with controllers that drive over bumps and through pendulums")
