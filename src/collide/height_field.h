// Height fields as pieces: two upright prisms a cell.
#pragma once
#include "collide/convex.h"

// Whether the grid is one, and how many prisms it makes.
cal_status cal_height_field_check(const cal_piece_def* def, const char* who, int* prisms, cal_error* error);
// Writes the prisms; owned: their vertices and normals, to be freed with the geometry.
cal_status cal_height_field_pieces(const cal_piece_def* def, cal_convex* out, int* made, void* owned[2],
                                   const char* who, cal_error* error);
