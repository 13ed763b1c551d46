// What tests of shapes and distances share.
#pragma once
#include "collide/collide.h"
#include "support.h"

// A geometry of some pieces, or of one in the origin; the test fails with the error's text when there is none.
cal_geometry* cal_test_geometry(const cal_piece_def* defs, int count);
cal_geometry* cal_test_shape(cal_shape_kind kind, double x, double y, double z);
// Fails the test, naming what and both numbers, unless they differ by less than the bound.
void cal_test_expect_near(double value, double wanted, double bound, const char* what);
