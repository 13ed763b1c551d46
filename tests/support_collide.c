#include "support_collide.h"
#include <math.h>
#include <stdio.h>

cal_geometry* cal_test_geometry(const cal_piece_def* defs, int count) {
    cal_geometry* geometry = NULL;
    cal_error error = {0};
    if (cal_geometry_create(defs, count, &geometry, &error) != CAL_OK) fail_msg("refused: %s", error.text);
    return geometry;
}

cal_geometry* cal_test_shape(cal_shape_kind kind, double x, double y, double z) {
    cal_piece_def def = cal_default_piece_def();
    def.kind = kind;
    def.size[0] = x, def.size[1] = y, def.size[2] = z;
    return cal_test_geometry(&def, 1);
}

void cal_test_expect_near(double value, double wanted, double bound, const char* what) {
    char text[128];
    snprintf(text, sizeof text, "%s: %.17g, not %.17g", what, value, wanted);
    cal_test_expect_below(fabs(value - wanted), bound, text, "");
}
