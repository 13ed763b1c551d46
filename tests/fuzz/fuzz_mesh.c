// Meshes from anywhere: the same bytes as STL, as OBJ and as COLLADA, weighed in every way.
#include "fuzz.h"
#include "read/mesh/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    static const char* const names[] = {"fuzz.stl", "fuzz.obj", "fuzz.dae"};
    for (int i = 0; i < 3; i++) {
        cal_triangles mesh;
        cal_solid solid;
        cal_error error;
        if (cal_mesh_parse(names[i], bytes, count, &mesh, &error) != CAL_OK) continue;
        for (int kind = CAL_INERTIA_CONVEX; kind <= CAL_INERTIA_SHELL; kind++)
            cal_mesh_weigh(&mesh, (cal_mesh_inertia)kind, names[i], &solid, &error);
        cal_mesh_free(&mesh);
    }
    return 0;
}
