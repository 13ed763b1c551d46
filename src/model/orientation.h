// On which side of a plane is a point? Exactly.
#pragma once

// The sign of ((b − a) × (c − a)) · (p − a): +1 when p is on the side from which a, b, c are seen counterclockwise, 0 when
// the four points lie in one plane. Exact for numbers whose differences are zero or at least 2⁻²⁶⁰, and not above 2.
int cal_side_of_plane(const double a[3], const double b[3], const double c[3], const double p[3]);
