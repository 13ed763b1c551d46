// Where tendons go: their lengths, and how these change with the places of nodes.
//
// A path goes straight from point to point. With u the unit vector from point p to point p′ and d the divisor of the branch, the
// stretch adds |p′ − p| / d to the length, and moving its ends adds u·δp′/d − u·δp/d: a *pull* at each end. A shape between two
// points is gone round where it is in the way: two more points, which move with the shape's body, and the length of the arc
// between them. Tangents leave the shape where the length is stationary, so that sliding along it adds nothing.
//
// Round a sphere the path is in the plane of its centre and the two points. Round a cylinder it is seen along the axis, and rises
// in proportion to its length there. In that plane it is a circle's problem, which has two solutions; the one nearer to the side
// point is taken, or the shorter one. With a side point inside of the shape the path comes from outside, touches the circle's
// inside in one point and goes on: A = r/|p|, B = r/|p′| and G the angle between p and p′, z the sine of the angle between path
// and radius there,
//
//     asin(A z) + asin(B z) − 2 asin(z) + G = 0.
#pragma once
#include "model/model.h"

// Rotation (9, rows: node's axes to the world's) and position (3) of each node, `stride` numbers from one to the next; and q, of
// node n at places[n], or in the user's order where places is NULL.
typedef struct cal_placed {
    const double* frames;
    size_t stride;
    const double* q;
    const int32_t* places;
} cal_placed;

// The length grows by direction · δ(point), where the point is the node's; −1: the ground's.
typedef struct cal_tendon_end {
    int node;
    double point[3], direction[3];
} cal_tendon_end;
enum { CAL_PULLS = 4 }; // that a part may have
typedef void cal_tendon_end_sink(void* user, const cal_tendon_end* pull);

// The length of a tendon; its pulls go to `sink` one by one (NULL: nobody asks). Tendons of joints have none.
double cal_tendon_trace(const cal_model* model, int tendon, const cal_placed* at, cal_tendon_end_sink* sink,
                        void* user);
// Adds factor · dL/dq to v_count numbers: of what a tendon has of joints, and of one of its pulls.
void cal_tendon_add_joints(const cal_model* model, int tendon, double factor, double* out);
void cal_tendon_end_add_gradient(const cal_model* model, const cal_placed* at, const cal_tendon_end* pull,
                                 double factor, double* out);
// Where a point of a body is; returns its node, −1: the ground.
int cal_place_point(const cal_model* model, const cal_placed* at, int body, const double point[3], double out[3]);
// Frames of all nodes at q (the user's order), 12 numbers each.
void cal_model_place_nodes(const cal_model* model, const double* q, double* frames);
