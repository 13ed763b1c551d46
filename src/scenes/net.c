// A net of masses and bars that hangs by its upper edge: bars keep each mass at its distance from its neighbours to the right and
// above. All bars are constraints; every mass has a tree of its own, three slides.
//
//     ──┬───┬───┬──      the beam
//       ○───○───○        tall rows of wide masses; the net leans by `start`
//       │   │   │
//       ○───○───○
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(wide, 10, 1, 10000, "masses beside each other")                                                            \
    INTEGER(tall, 10, 1, 10000, "rows of masses")                                                                      \
    NUMBER(length, 0.1, 0.001, 1000, "of a bar, m")                                                                    \
    NUMBER(mass, 0.1, 0.000001, 1000000, "of a mass, kg")                                                              \
    NUMBER(start, 0.5, -3, 3, "angle of the net from the vertical at the start, rad")                                  \
    NUMBER(gravity, 9.81, 0, 1000, "along -z, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

// A mass that slides along all axes.
static int add_mass(cal_builder* builder, const double* values, const double position[3]) {
    cal_body_def mass = cal_default_body_def();
    cal_joint_def slide = cal_default_joint_def();
    mass.mass = values[at_mass];
    for (int i = 0; i < 3; i++) mass.position[i] = position[i], mass.inertia[i] = 0.0;
    const int body = cal_builder_add_body(builder, &mass);
    slide.kind = CAL_PRISMATIC;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) slide.axis[i] = i == k ? 1.0 : 0.0;
        cal_builder_add_joint(builder, body, &slide);
    }
    return body;
}

// A bar from a mass to another one, or to a point of the beam.
static void add_bar(cal_builder* builder, double length, int body, int other, const double* point) {
    cal_constraint_def bar = cal_default_constraint_def();
    bar.kind = CAL_DISTANCE;
    bar.body[0] = other, bar.body[1] = body;
    for (int i = 0; point && i < 3; i++) bar.position[0][i] = point[i];
    bar.length = length;
    cal_builder_add_constraint(builder, &bar);
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    if (values[at_wide] * values[at_tall] > CAL_GENERATED_LIMIT)
        return cal_fail(error, CAL_BAD_ARGUMENT, "net: wide=%g, tall=%g make %.3g masses; at most %d are possible",
                        values[at_wide], values[at_tall], values[at_wide] * values[at_tall], CAL_GENERATED_LIMIT);
    const int wide = (int)values[at_wide], tall = (int)values[at_tall];
    const double length = values[at_length];
    double sine, cosine;
    cal_sine_cosine(values[at_start], &sine, &cosine);
    const double gravity[3] = {0.0, 0.0, -values[at_gravity]};
    cal_builder_set_gravity(builder, gravity);
    for (int row = 0; row < tall; row++)
        for (int column = 0; column < wide; column++) {
            const double down = length * (row + 1), position[3] = {length * column, sine * down, -cosine * down};
            const double beam[3] = {position[0], 0.0, 0.0};
            // Masses are numbered as they are added, and are all bodies that there are.
            const int body = add_mass(builder, values, position);
            add_bar(builder, length, body, row == 0 ? CAL_GROUND : body - wide, row == 0 ? beam : NULL);
            if (column > 0) add_bar(builder, length, body, body - 1, NULL);
        }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(net, PARAMETERS, "a net of masses and bars that hangs by its upper edge")
