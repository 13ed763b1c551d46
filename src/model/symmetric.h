// Symmetric 3 × 3 matrices are kept as xx, yy, zz, xy, xz, yz: rows and columns of the six.
#pragma once
#include <stddef.h>

static const size_t cal_symmetric_row[6] = {0, 1, 2, 0, 0, 1}, cal_symmetric_column[6] = {0, 1, 2, 1, 2, 2};
