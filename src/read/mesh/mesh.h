// Mesh files: STL (binary and text), OBJ and COLLADA (DAE) into triangles, what they weigh, and the changes that files ask for.
//
// Vertices that are the same point are one vertex, in the order in which the file first names them, so that two readings
// of a file, or a text and a binary version with the same numbers, give the same mesh.
#pragma once
#include "base/error.h"
#include "read/mesh/solids.h"

// Files larger than this, and meshes with more vertices or triangles than these, are refused.
enum { CAL_MESH_FILE_LIMIT = 1 << 30, CAL_MESH_VERTEX_LIMIT = 20000000, CAL_MESH_TRIANGLE_LIMIT = 20000000 };

typedef struct cal_triangles {
    double* vertices;   // 3 a vertex
    int32_t* triangles; // 3 a triangle, counterclockwise seen from outside
    int vertex_count, triangle_count;
    float* coordinates; // of a texture, 2 a corner of a triangle, y downwards; NULL: there are none
    int left_out;       // faces of an OBJ file's further objects, which are not part of the mesh
    int open;           // faces of an OBJ file that were not covered, as in MuJoCo
} cal_triangles;

// How a mesh's mass is spread (MJCF's names).
typedef enum cal_mesh_inertia {
    CAL_INERTIA_CONVEX, // its convex hull, solid
    CAL_INERTIA_EXACT,  // the volume that its triangles enclose; holes and hollows count as they are oriented
    CAL_INERTIA_LEGACY, // each triangle with the centre makes a tetrahedron that counts as positive volume
    CAL_INERTIA_SHELL   // on the surface
} cal_mesh_inertia;

// Whether a name ends with .stl, .obj or .dae, in any case.
bool cal_mesh_is_known(const char* name);
// Reads a mesh file by the ending of its name ; other endings are CAL_NOT_AVAILABLE and the text
// says so. CAL_BAD_MODEL: the file is not such a mesh. On an error *out is empty.
cal_status cal_mesh_read(const char* path, cal_triangles* out, cal_error* error);
// The same from memory; name is for messages and its ending.
cal_status cal_mesh_parse(const char* name, const void* bytes, size_t count, cal_triangles* out, cal_error* error);
// The same with the faces of OBJ files cut as MuJoCo cuts them.
cal_status cal_mesh_parse_as_mujoco(const char* name, const void* bytes, size_t count, cal_triangles* out,
                                    cal_error* error);
// From numbers (MJCF's inline `vertex` and `face`); without triangles it becomes the convex hull.
cal_status cal_mesh_from_arrays(const char* name, const double* vertices, int vertex_count, const int32_t* triangles,
                                int triangle_count, cal_triangles* out, cal_error* error);
void cal_mesh_free(cal_triangles* mesh); // empties it

// MuJoCo's order: first moved by −refpos and turned by the inverse of refquat, then scaled. A scale with an odd number of
// negative factors mirrors the mesh: its triangles are turned over, so that they keep facing outside. Any may be NULL.
void cal_mesh_transform(cal_triangles* mesh, const double scale[3], const double refpos[3], const double refquat[4]);

// Mass, centre and inertia at density 1 (kg/m³, or kg/m² for a shell), in the mesh's own frame. CAL_BAD_MODEL when the mesh
// has no volume (or area), is inside out, or encloses an impossible inertia; the text says what to do.
cal_status cal_mesh_weigh(const cal_triangles* mesh, cal_mesh_inertia kind, const char* name, cal_solid* out,
                          cal_error* error);
