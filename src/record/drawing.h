// What a run looks like: instances of a few unit shapes, each on a body. The viewer, glTF files and HTML files all draw the
// same one.
#pragma once
#include "base/parts.h"
#include "calder/calder_run.h"
#include <stdio.h>

// One shape on one body.
typedef struct cal_drawn {
    int32_t body; // or CAL_GROUND
    int32_t mesh; // of meshes and height fields; -1 otherwise
    cal_shape_kind kind;
    double position[3], quaternion[4]; // in the body's frame
    double size[3];                    // as cal_shape_def's
    float color[4];
    bool touches; // others, beside being looked at
    int group;    // of shapes that are shown and hidden together
    int texture;  // of the drawing's model; CAL_NONE: none
    double texture_repeat[2];
} cal_drawn;

typedef struct cal_drawing {
    const cal_model* model; // of the run; NULL: it has no single one
    int all_bodies;         // that there are
    int moving;             // bodies that are not fixed
    int body_count;         // bodies that are drawn and whose poses are told: the first ones of very large models
    int instance_count, capacity;
    cal_drawn* instances;
    // What is not drawn, though it touches others or is of a group that is hidden: for whoever wants to see that. At the end of the list.
    int contact_count;
    int mesh_count;
    cal_mesh_def* meshes; // by the instances' numbers, in memory of their own; without vertices: not used
    int64_t triangles;    // of the meshes that instances use, each counted once
    double up[3];         // against gravity; z where there is none
} cal_drawing;

// Paint of Alexander Calder's workshop, for what has no colour of its own: red, black, yellow, blue, white, orange; wires.
enum { CAL_PAINTS = 6 };
extern const float cal_paint[CAL_PAINTS][4], cal_wire_paint[4];

// Meshes with more triangles than that together are drawn with fewer; one that cannot be is drawn as the box around it.
enum { CAL_DRAWN_BODIES_LIMIT = 50000, CAL_DRAWN_TRIANGLES_LIMIT = 400000 };

// The visible shapes of a run, and, of one that has a model, a default for every body that has none. It keeps nothing of the
// run but its model.
CAL_FOR_PARTS cal_status cal_drawing_create(const cal_run* run, cal_drawing** out, cal_error* error);
CAL_FOR_PARTS void cal_drawing_destroy(cal_drawing* drawing); // NULL is allowed
// Adds a copy to the instances, or, where `contact`, behind them; false when there is no memory.
bool cal_drawing_add(cal_drawing* drawing, const cal_drawn* instance, bool contact);
// Fewer than `wanted` triangles in the shape of a mesh, in memory of their own; false when that cannot be, or there is no
// memory.
bool cal_mesh_coarsen(const cal_mesh_def* mesh, int wanted, cal_mesh_def* out);
// Whether a mesh still fits into the drawing; then it is counted.
bool cal_drawing_takes_mesh(cal_drawing* drawing, const cal_mesh_def* mesh);
// Makes an instance of a mesh one of the box around its vertices.
void cal_drawn_become_box(cal_drawn* instance, const cal_mesh_def* mesh);
// Draws every body that `shown` does not mark, from its inertia and its joints (default.c); false when there is no memory.
bool cal_drawing_add_defaults(cal_drawing* drawing, const bool* shown);

// Members of a JSON object, without its braces: model, counts, up, instances as arrays of numbers, meshes (null for those
// that no instance uses), textures. Contacts: the shapes that are not drawn, as instances.
CAL_FOR_PARTS void cal_drawing_write_json(const cal_drawing* drawing, FILE* file);
// Channels as a JSON array.
CAL_FOR_PARTS void cal_channels_write_json(const cal_channel* channels, int count, FILE* file);
