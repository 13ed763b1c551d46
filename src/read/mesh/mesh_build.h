// How the readers of mesh files put a mesh together.
#pragma once
#include "read/mesh/mesh.h"

typedef struct cal_mesh_build {
    cal_triangles mesh;
    int vertex_capacity, triangle_capacity;
    int32_t* table; // from points to vertices: open addressing, -1: empty
    size_t table_size;
    const char* name; // of the file, for complaints
    bool as_mujoco;   // cuts faces
    cal_error* error;
    cal_status status; // of the first failure
} cal_mesh_build;

// The number of the vertex at a point, a new one if none is there yet; negative when the point is not finite, there are too
// many, or memory ran out: build->status then says which. Points are rounded to single precision, which is what STL
// holds and MuJoCo computes with. `where` is the line, or the triangle of a binary file.
int cal_mesh_add_vertex(cal_mesh_build* build, const double point[3], const char* unit, size_t where);
bool cal_mesh_add_triangle(cal_mesh_build* build, int a, int b, int c);

// Sets build->status and the error's text to `NAME: text`, or `NAME:LINE: text` when line is not 0; returns the status.
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
cal_status
cal_mesh_complain(cal_mesh_build* build, cal_status status, size_t line, const char* format, ...);

// The readers of one kind of file each; text ends with a NUL that `count` does not count.
cal_status cal_mesh_parse_stl(cal_mesh_build* build, const char* bytes, size_t count);
cal_status cal_mesh_parse_obj(cal_mesh_build* build, const char* text, size_t count);
cal_status cal_mesh_parse_dae(cal_mesh_build* build, const char* text, size_t count);
