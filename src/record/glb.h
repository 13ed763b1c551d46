// A run as a binary glTF 2.0 file: meshes, a node for each body, and an animation of their positions and quaternions.
//
//     "glTF" 2 length │ length "JSON" text │ length "BIN" bytes
//     bytes:  positions and normals │ indices │ coordinates of textures │ times │ for each body that moves: positions,
//             quaternions │ pictures
//
// glb.c gathers the frames, glb_file.c writes the file.
#pragma once
#include "calder/calder_record.h"
#include "record/surface.h"
#include <stdio.h>

enum { CAL_GLB_POSE = 7 };

// A surface in a colour.
typedef struct cal_painted {
    int surface;
    float color[4];
    int texture; // CAL_NONE: none
} cal_painted;

// A part of a body that is drawn.
typedef struct cal_placed {
    const cal_drawn* instance;
    cal_solid solid;
    int mesh;
} cal_placed;

struct cal_glb {
    cal_whole_file* whole;
    FILE* file; // its stream
    char *path, *title;
    cal_run* run;
    cal_drawing* drawing;
    double* poses;
    float* frames; // CAL_GLB_POSE numbers a body, frame by frame
    float* times;
    size_t frame_count, capacity;
    // While the file is written:
    cal_surface* surfaces; // unit shapes, then the drawing's meshes, then planes with a texture
    int* images;           // of each texture of the model: its number in the file; CAL_NONE: it is not used
    int image_count;
    bool* used;
    int surface_count;
    cal_painted* meshes;
    int mesh_count;
    cal_placed* solids; // those of the ground, then those of body 0, …
    int* first;         // solid of the ground, of body 0, …, and their end
    int* nodes;         // of each body; 0: nothing of it is drawn
    int node_count;     // of bodies
    bool* moves;        // whether a body that is drawn does
    int moving_count;
};

// Writes the file and closes it; the recorder is still to be released.
cal_status cal_glb_write_file(cal_glb* glb, cal_error* error);
