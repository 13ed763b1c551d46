// Mass, centre and inertia of simple solids and of what is made of several of them.
//
// A solid of uniform density ρ (kg/m³), or a shell of uniform density on its surface (kg/m², MuJoCo's `shellinertia`).
// Sizes are those of cal_shape_def: radius; radius and half length; half axes; half edges.
#pragma once
#include "calder/calder.h"

// What a body or a part of it weighs; inertia is about the centre of mass: xx, yy, zz, xy, xz, yz.
typedef struct cal_solid {
    double mass;
    double center[3];
    double inertia[6];
} cal_solid;

// Volume of a sphere, capsule, ellipsoid, cylinder or box, m³; 0 for other kinds.
double cal_solid_volume(cal_shape_kind kind, const double size[3]);
// Area of its surface, m²; an ellipsoid's by Thomsen's formula, as in MuJoCo.
double cal_solid_area(cal_shape_kind kind, const double size[3]);
// The solid (or shell) with a given mass, in its own frame; a plane and others that have no volume weigh nothing.
cal_solid cal_solid_of_mass(cal_shape_kind kind, const double size[3], bool shell, double mass);
// The same from its density, kg/m³ or, for a shell, kg/m².
cal_solid cal_solid_of_density(cal_shape_kind kind, const double size[3], bool shell, double density);

// The same solid seen from the frame in which its own one is at `position`, turned by `quaternion` (any length but zero).
cal_solid cal_solid_placed(const cal_solid* solid, const double position[3], const double quaternion[4]);
// The same solid with another mass.
cal_solid cal_solid_scaled(const cal_solid* solid, double mass);
// sum becomes both together.
void cal_solid_add(cal_solid* sum, const cal_solid* term);

// Principal moments (in the order of the axes that were found, not sorted) of an inertia, and the quaternion of the
// principal axes in the frame of the inertia.
void cal_principal_moments(const double inertia[6], double moments[3], double quaternion[4]);
// R diag(moments) Rᵀ with R the quaternion's rotation.
void cal_inertia_from_moments(const double moments[3], const double quaternion[4], double inertia[6]);
// Whether some mass distribution has this inertia: no negative moment, no moment above the sum of the two others (but for
// a relative tolerance). On false, text (may be NULL) says why.
bool cal_inertia_possible(const double inertia[6], double tolerance, char* text, size_t capacity);
// A possible inertia with the same principal axes, none of its moments smaller than before: negative moments become 0,
// then the two smaller ones grow by the same amount until their sum reaches the largest.
void cal_inertia_repair(double inertia[6]);
