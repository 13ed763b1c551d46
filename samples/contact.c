// Bodies that collide, with a callback at each collision: a ball that counts its bounces in a number of its own state, so that a
// rollback takes the count back too.
#include <calder/calder_world.h>
#include <stdio.h>

static void count_bounce(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse, (void)user;
    double* count = cal_callback_slots(view, 0);
    if (!count) count = cal_callback_slots(view, 1); // the ball may be either of the two
    if (count) count[0] += 1.0;
}

int main(void) {
    cal_error error = {0};
    cal_world* world = NULL;
    cal_body_id floor, ball = {0};
    cal_world_def def = cal_default_world_def();
    cal_world_body_def body = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_status status = cal_world_create(&def, &world, &error);
    body.motion = CAL_FIXED;
    shape.kind = CAL_PLANE;
    if (!status) status = cal_world_add_body(world, &body, &floor, &error);
    if (!status) status = cal_world_add_shape(world, floor, &shape, NULL, &error);
    body = cal_default_world_body_def();
    body.position[2] = 1.0;
    body.slots = 1;
    shape.kind = CAL_SPHERE;
    shape.size[0] = 0.1;
    shape.restitution = 0.8;
    if (!status) status = cal_world_add_body(world, &body, &ball, &error);
    if (!status) status = cal_world_add_shape(world, ball, &shape, NULL, &error);
    if (!status) status = cal_world_on_collision(world, ball, count_bounce, NULL, &error);
    for (int k = 1; !status && k <= 4; k++) {
        double position[3] = {0};
        status = cal_world_advance(world, 0.5 * k, &error);
        if (!status) status = cal_world_get_body(world, ball, position, NULL, NULL, NULL);
        const double* count = !status ? cal_world_slots(world, ball) : NULL;
        if (count) printf("%.1f s: %.3f m above the floor after %.0f bounces\n", 0.5 * k, position[2] - 0.1, count[0]);
    }
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_world_destroy(world);
    return status != CAL_OK;
}
