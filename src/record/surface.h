// Triangles with normals of what a drawing is made of, for files that hold geometry.
#pragma once
#include "record/drawing.h"

typedef struct cal_surface {
    int vertex_count, index_count;
    float* positions; // 3 a vertex
    float* normals;
    uint32_t* indices;
    float* coordinates; // of a texture, 2 a vertex; NULL: there are none
} cal_surface;

// Unit shapes: a sphere of radius 1, a cylinder of radius 1 and a box from -1 to 1 along z, a square plane.
typedef enum cal_unit { CAL_UNIT_SPHERE, CAL_UNIT_CYLINDER, CAL_UNIT_BOX, CAL_UNIT_PLANE, CAL_UNIT_COUNT } cal_unit;

// False when there is no memory; release it in any case.
bool cal_surface_unit(cal_surface* surface, cal_unit unit);
bool cal_surface_mesh(cal_surface* surface, const cal_mesh_def* mesh); // a face's own normal at each of its corners
// A plane with a texture, as wide as its instance draws it.
bool cal_surface_textured_plane(cal_surface* surface, const cal_drawn* instance);
void cal_surface_release(cal_surface* surface);

// A unit shape (or, from CAL_UNIT_COUNT on, a mesh) with its place and size in a body's frame.
typedef struct cal_solid {
    int surface;
    double position[3], scale[3];
} cal_solid;

// What an instance is made of: a capsule is a cylinder and two spheres. All have the instance's quaternion. Returns how many.
int cal_drawn_split(const cal_drawn* instance, cal_solid solids[3]);
