// What happens where two bodies collide (collision.c), and which impulses that takes (impact.c, impact_faces.c).
#pragma once
#include "base/error.h"
#include "simulation/body.h"

// Friction and restitution of a contact.
void cal_material(const cal_world* world, int a, int piece_a, int b, int piece_b, double* friction,
                  double* restitution);

// The impulse on body a (body b gets the opposite) of Chatterjee and Ruina's law. K: velocity change of the contact point, a
// relative to b, for an impulse; relative: velocity of a's point relative to b's.
void cal_impulse(const double K[9], const double normal[3], const double relative[3], double restitution,
                 double friction, double impulse[3]);
// Adds to K what an impulse on a free body does to one of its points.
void cal_add_response(const cal_sim_body* part, const cal_motion* motion, const double point[3], double K[9]);

// What a collision over several points does to two bodies.
typedef struct cal_face_result {
    double u[2][3], w[2][3]; // velocities after, world's axes
    double impulse[3];       // on the first body, all points together
    double parting;          // the largest speed at which any point bodies
} cal_face_result;
// False where they meet in one point only, or one of them is a link.
bool cal_face_impulse(const cal_world* world, const int bodies[2], const cal_motion at[2], double margin,
                      cal_face_result* out);

// Processes a collision of a pair at a time: new states, junction, log, callbacks, perhaps a group.
cal_status cal_world_collide(cal_world* world, int pair, double time, cal_error* error);
