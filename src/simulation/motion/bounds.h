// Steps of a multibody as curves (curve.h), and what its links keep to on them.
#pragma once
#include "simulation/motion/curve.h"
#include "simulation/motion/multibody_data.h"

// A step's curves: a row for each number of q.
typedef struct cal_curves {
    double* rows;
    int stride, degree;
    double length;
} cal_curves;

// Cubics through two states, stride CAL_CUBIC_TERMS.
void cal_curves_hermite(const cal_model* model, cal_curves* step, const double* q, const double* v, const double* to_q,
                        const double* to_v);
// q and its true rate as v a time t after the beginning.
void cal_curves_at(const cal_model* model, const cal_curves* step, double t, double* q, double* v);
// Bounds of each link's motion, three numbers each: acceleration of its centre, turning rate, and its derivative. work: 3 numbers
// for each joint. Infinite where a frame turns by too much for its curve.
void cal_curves_bound_links(const cal_world* world, const cal_multibody* m, const cal_curves* step, double* work,
                            double* out);
