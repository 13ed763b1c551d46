// How the ends of a few paths of joints move, each without all the nodes on the way to it: where rows of a loop are made, a long chain has
// one node that counts.
//
// A path is cut into eight segments of equal length, a lane each, which turn and move as if the first joint of each stood still on the
// ground. One after the other they are put together: with R, o the place of a segment's end in its first axes, ω, u its velocities there,
//
//     R ← R Rₛ     o ← o + R oₛ     u ← u + ω × R oₛ + R uₛ     ω ← ω + R ωₛ
//
// A place is the same product of rotations, a velocity the same sum, in another order than node by node; always in this one, whatever the
// width. Velocities are linear: those for other rates (of directions, constraint/directions.h) come along.
#pragma once
#include "base/everywhere.h"
#include "pass/constraint_rows.h"

enum { CAL_JOINT_PATH_LANES = 8, CAL_JOINT_PATH_RATES = 6 };
enum { CAL_BEGIN_ORIGIN = 9, CAL_BEGIN_ANGULAR = 12, CAL_BEGIN_LINEAR = 15, CAL_BEGIN_COUNT = 18 };

typedef struct cal_joint_path {
    int node, steps; // its end; joints of each segment, in the last ones fewer
    int segments;    // that have joints: the first ones
    bool slides;     // some joint does
    bool spatial;    // or its joints are not hinges in one plane, whose axes are parallel
    double base[3];
    // Of each step and lane, lanes side by side: the joint's rotation (rows) and offset in its parent, ones for joints that turn, ones for
    // those that slide; and where its q and v are.
    double* constants;
    int32_t *q, *v;
    double* masses; // of each step and lane as well: mass, moment, J (xx, yy, zz, xy, xz, yz), armature
    bool stores;    // some joint has a spring or stops
} cal_joint_path;

// What else is asked: rates beside v, `count` per degree of freedom, the next one's `stride` further.
typedef struct cal_joint_path_rates {
    const double* numbers;
    int count, stride;
} cal_joint_path_rates;

typedef struct cal_joint_path_motion {
    double answers[6 * CAL_JOINT_PATH_RATES]; // angular and linear velocity of the end for each of the rates
    double extent,
        speed; // the largest of the numbers that were added up to its place, and to its velocities; one at least
    // Where each segment that has joints begins: R (columns), origin with the base, ω and u, lanes side by side.
    double begins[CAL_BEGIN_COUNT * CAL_JOINT_PATH_LANES];
} cal_joint_path_motion;

// Paths have joints of one degree of freedom each.
bool cal_joint_path_exists(const cal_model* model, int node);
cal_status cal_joint_path_create(const cal_model* model, int node, cal_joint_path* out);
void cal_joint_path_destroy(cal_joint_path* path); // zeros are allowed

// The motion of its end (all but the arm) at q and v. variant: of the kernels (pass.h), the same bits from all.
CAL_EVERYWHERE void cal_joint_path_move(const cal_joint_path* path, int variant, const double* q, const double* v,
                                        const cal_joint_path_rates* rates, cal_node_motion* motion,
                                        cal_joint_path_motion* out);

// Kinetic and potential energy of the nodes of a path that has moved to q and v.
double cal_joint_path_energy(const cal_joint_path* path, const cal_model* model, int variant, const double* q,
                             const double* v, const cal_joint_path_motion* motion);

// What wrenches on the end of a path that has moved to q do at its joints.
typedef struct cal_joint_path_load {
    double wrench[CAL_JOINT_PATH_RATES][6]; // moments about the end's origin, forces; a wrench per row
    int count, stride;                      // how many; the next joint's number is `stride` further
    double slide;                           // factor of the forces on joints that slide
} cal_joint_path_load;
// Adds their joint forces to out, in the user's order. variant: of the kernels, the same bits from all.
CAL_EVERYWHERE void cal_joint_path_press(const cal_joint_path* path, int variant, const double* q,
                                         const cal_node_motion* end, const cal_joint_path_motion* motion,
                                         const cal_joint_path_load* load, double* out);

// Numbers of a segment: R (columns), o, the two sizes, ω and u of v and of each rate; lanes side by side.
enum {
    CAL_SEGMENT_TURN = 0,
    CAL_SEGMENT_ORIGIN = 9,
    CAL_SEGMENT_EXTENT = 12,
    CAL_SEGMENT_SPEED = 13,
    CAL_SEGMENT_RATES = 14,
    CAL_SEGMENT_COUNT = CAL_SEGMENT_RATES + 6 * (1 + CAL_JOINT_PATH_RATES)
};
enum { CAL_JOINT_PATH_MASSES = 11 };
enum { CAL_JOINT_PATH_TURNS = 12, CAL_JOINT_PATH_SLIDES = 13, CAL_JOINT_PATH_CONSTANTS = 14 };
typedef void cal_joint_path_kernel(const cal_joint_path* path, const double* q, const double* v,
                                   const cal_joint_path_rates* rates, double* segments);
// wrenches: about where segments begin, in the axes there; 6 per row, lanes side by side.
typedef void cal_joint_path_presses(const cal_joint_path* path, const double* q, const double* wrenches,
                                    const cal_joint_path_load* load, double* out);
typedef void cal_joint_path_energies(const cal_joint_path* path, const double* gravity, const double* q,
                                     const double* v, const double* begins, double* energies);
