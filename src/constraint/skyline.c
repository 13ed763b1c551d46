// Triangles with a skyline (skyline.h).
#include "constraint/skyline_body.h"
