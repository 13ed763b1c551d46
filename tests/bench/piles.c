// Scenes of contact, with counters, for measuring: piles SCENE [n] [seconds] [forced rollbacks]
//
//     bowl         n balls poured into a bowl of twelve boxes
//     boxes        n boxes that tumble onto a floor
//     grid         n × n balls that touch each other and a floor
//     dominoes     n of them
//     cradle       n hinged balls without gaps
#include "calder/calder_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cal_error error;

static void check(cal_status status) {
    if (status == CAL_OK) return;
    printf("%s\n", error.text);
    exit(1);
}

static double noise(uint64_t* state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / 2147483648.0;
}

static cal_body_id add(cal_world* world, const cal_world_body_def* def, cal_shape_kind kind, double x, double y,
                       double z) {
    cal_body_id body;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    shape.size[0] = x, shape.size[1] = y, shape.size[2] = z;
    shape.friction = 0.5;
    shape.restitution = 0.2;
    check(cal_world_add_body(world, def, &body, &error));
    check(cal_world_add_shape(world, body, &shape, NULL, &error));
    return body;
}

static void add_floor(cal_world* world) {
    cal_world_body_def def = cal_default_world_body_def();
    def.motion = CAL_FIXED;
    add(world, &def, CAL_PLANE, 0, 0, 0);
}

// A floor and twelve boxes that lean outwards, so that n balls of radius 5 cm fill it half.
static void bowl(cal_world* world, int n) {
    const double r = 0.05, R = fmax(0.3, 0.075 * cbrt((double)n) * 1.3), pi = 3.14159265358979;
    add_floor(world);
    for (int i = 0; i < 12; i++) {
        const double a = pi / 6 * i, lean = 0.5;
        cal_world_body_def def = cal_default_world_body_def();
        def.motion = CAL_FIXED;
        // turn about z by a, then about y by lean
        const double ca = cos(a / 2), sa = sin(a / 2), cl = cos(lean / 2), sl = sin(lean / 2);
        const double q[4] = {ca * cl, -sa * sl, ca * sl, sa * cl};
        memcpy(def.quaternion, q, sizeof q);
        const double h = 2 * R, out = R + 0.1 + sin(lean) * h * 0.5;
        def.position[0] = out * cos(a), def.position[1] = out * sin(a), def.position[2] = 0.5 * h * cos(lean);
        add(world, &def, CAL_BOX, 0.05, R, h);
    }
    uint64_t seed = 1;
    const int side = (int)fmax(3.0, floor(1.4 * R / (2.4 * r)));
    for (int i = 0; i < n; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        const int layer = i / (side * side), k = i % (side * side);
        def.position[0] = (k % side - 0.5 * (side - 1)) * 2.4 * r + 0.01 * noise(&seed);
        def.position[1] = (k / side - 0.5 * (side - 1)) * 2.4 * r + 0.01 * noise(&seed);
        def.position[2] = 0.2 + layer * 2.6 * r;
        add(world, &def, CAL_SPHERE, r, 0, 0);
    }
}

static void boxes(cal_world* world, int n) {
    uint64_t seed = 1;
    add_floor(world);
    for (int i = 0; i < n; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        for (int k = 0; k < 4; k++) def.quaternion[k] = noise(&seed) - 0.5;
        for (int k = 0; k < 3; k++) def.angular_velocity[k] = 4 * noise(&seed) - 2;
        def.position[0] = 0.05 * noise(&seed), def.position[1] = 0.05 * noise(&seed);
        def.position[2] = 0.3 + 0.25 * i;
        add(world, &def, CAL_BOX, 0.1, 0.07, 0.05);
    }
}

static void grid(cal_world* world, int n) {
    add_floor(world);
    for (int i = 0; i < n * n; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        def.position[0] = 0.1 * (i % n), def.position[1] = 0.1 * (i / n), def.position[2] = 0.05;
        add(world, &def, CAL_SPHERE, 0.05, 0, 0);
    }
}

int main(int argc, char** argv) {
    const char* scene = argc > 1 ? argv[1] : "bowl";
    const int n = argc > 2 ? atoi(argv[2]) : 10;
    const double seconds = argc > 3 ? atof(argv[3]) : 1.0;
    cal_world_def def = cal_default_world_def();
    if (argc > 4) def.forced_rollbacks = atof(argv[4]);
    if (argc > 5) def.seed = (uint64_t)atoi(argv[5]);
    cal_world* world = NULL;
    if (strcmp(scene, "bowl") == 0 || strcmp(scene, "boxes") == 0 || strcmp(scene, "grid") == 0) {
        check(cal_world_create(&def, &world, &error));
        if (scene[0] == 'g')
            grid(world, n);
        else if (scene[1] == 'o' && scene[2] == 'w')
            bowl(world, n);
        else
            boxes(world, n);
    } else if (strcmp(scene, "dominoes") == 0) {
        char text[64];
        snprintf(text, sizeof text, "stack:kind=dominoes,n=%d", n);
        def.restitution = -1, def.friction = -1;
        check(cal_world_generate(text, &def, &world, &error));
    } else
        check(cal_world_generate(scene, &def, &world, &error));
    cal_world_report r;
    double deepest = 0.0, most = -INFINITY, last = INFINITY, grew = 0.0;
    const int frames = (int)fmax(1.0, seconds * 20);
    for (int k = 1; k <= frames; k++) {
        const clock_t begin = clock();
        const cal_status status = cal_world_advance(world, seconds * k / frames, &error);
        cal_world_get_report(world, &r);
        const double energy = r.kinetic + r.potential;
        if (last < INFINITY) grew = fmax(grew, energy - last);
        last = energy, most = fmax(most, energy);
        static cal_contact_point points[100000];
        int count = 0;
        if (status == CAL_OK && cal_world_contacts(world, points, 100000, &count, &error) == CAL_OK)
            for (int i = 0; i < count && i < 100000; i++) deepest = fmax(deepest, -points[i].gap);
        if (k % (frames / 20 > 0 ? frames / 20 : 1) == 0 || status != CAL_OK)
            printf("t %.2f cpu %.3f coll %lld fus %lld fis %lld groups %lld now %d largest %d/%d asleep %d gsteps %lld "
                   "rej %lld "
                   "newton %lld solves %lld states %lld rb %lld deepest %.2e E %.6g grew %.2e\n",
                   r.time, (double)(clock() - begin) / CLOCKS_PER_SEC, (long long)r.collisions, (long long)r.fusions,
                   (long long)r.fissions, (long long)r.groups, r.groups_now, r.largest_group, r.largest_contacts,
                   r.asleep, (long long)r.group_steps, (long long)r.group_rejected, (long long)r.group_newton,
                   (long long)r.group_solves, (long long)r.states, (long long)r.rollbacks, deepest, energy, grew),
                fflush(stdout);
        check(status);
    }
    printf("total cpu %.3f hash %016llx penetration %.2e\n", (double)clock() / CLOCKS_PER_SEC,
           (unsigned long long)r.hash, r.penetration);
    cal_world_destroy(world);
    return 0;
}
