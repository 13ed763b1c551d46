// Outlines of faces and lines, clipped by the sides of a face, the ends of a line, or the rim of a round face.
#include "collide/outline.h"

// Of a side's length: corners so near to it are on it. Where two pieces of one width lie flush on each other, rounding would otherwise
// say from step to step which of two corners is there, or make two of one.
static const double flush = 1e-9;

// Of the radius of a round face: points of its rim so near to each other are one. A side that is flush with the rim cuts off as much.
static const double one_point = 1e-4;

// Keeps what is on the inner side of a plane (normal points out) of a closed outline, or of a line where count is 2. Corners that are
// within `slack` of the plane are on it.
static int clip(const cal_corner* in, int count, const double normal[3], double offset, double slack, uint32_t plane,
                cal_corner* out) {
    int kept = 0;
    const int pieces = count == 2 ? 1 : count;
    for (int k = 0; k < pieces; k++) {
        const cal_corner *from = &in[k], *to = &in[(k + 1) % count];
        const double a = cal_dot3(normal, from->p) - offset, b = cal_dot3(normal, to->p) - offset;
        if (a <= slack) out[kept++] = *from;
        if ((a < -slack && b > slack) || (a > slack && b < -slack)) {
            const double t = a / (a - b);
            for (int i = 0; i < 3; i++) out[kept].p[i] = from->p[i] + t * (to->p[i] - from->p[i]);
            out[kept].edge = a < 0.0 ? plane | 0x8000u : from->edge;
            out[kept++].id = from->edge | (plane & 0x7f) << 16 | 0x800000u;
        }
        if (count == 2 && b <= slack) out[kept++] = *to;
    }
    return kept;
}

int cal_outline_clip(const cal_feature* reference, const double n[3], cal_corner* corners, int count) {
    cal_corner other[CAL_OUTLINE_CLIPPED];
    const int sides = reference->count;
    for (int k = 0; k < sides && count > 0; k++) {
        const double *from = reference->corners[k].p, *to = reference->corners[(k + 1) % sides].p;
        double edge[3], out[3];
        cal_subtract3(to, from, edge);
        if (sides == 2)
            for (int i = 0; i < 3; i++) out[i] = -edge[i];
        else
            cal_cross3(edge, n, out);
        if (count + 2 > CAL_OUTLINE_CLIPPED) return count;
        count = clip(corners, count, out, cal_dot3(out, from), flush * cal_dot3(edge, edge), (uint32_t)k, other);
        memcpy(corners, other, (size_t)count * sizeof *corners);
    }
    return count;
}

// A corner seen along n on a round face, from its centre.
static void place_on(const cal_feature* face, const double n[3], const double p[3], double out[3]) {
    cal_subtract3(p, face->center, out);
    const double off = cal_dot3(face->normal, out) / cal_dot3(face->normal, n);
    for (int i = 0; i < 3; i++) out[i] -= off * n[i];
}

// What of an outline is on a round face, seen along n: corners, where edges cross the rim, and those of the rim's eight that are inside. By
// sides between these eight what lies beside the rim, up to 0.08 of the radius from it, would be left out.
typedef struct on_rim {
    const cal_feature* face;
    const cal_corner* in;
    int count;
    double q[CAL_OUTLINE_CORNERS][3];
} on_rim;

static bool is_on(const on_rim* o, int k) {
    const double square = o->face->rim * o->face->rim;
    return cal_dot3(o->q[k], o->q[k]) - square <= 2.0 * flush * square;
}

// An edge and the corner that it begins at; returns how many points there are.
static int clip_edge(const on_rim* o, int k, bool with_end, cal_corner* out) {
    const int end = (k + 1) % o->count;
    const cal_corner *from = &o->in[k], *to = &o->in[end];
    const bool begins = is_on(o, k), ends = is_on(o, end);
    double way[3];
    cal_subtract3(o->q[end], o->q[k], way);
    // |q + t way| = r
    const double a = cal_dot3(way, way), b = cal_dot3(o->q[k], way),
                 square = b * b - a * (cal_dot3(o->q[k], o->q[k]) - o->face->rim * o->face->rim),
                 root = square > 0.0 ? sqrt(square) : 0.0, cuts[2] = {(-b - root) / a, (-b + root) / a};
    const bool crosses = square > 0.0 && cuts[0] < 1.0 && cuts[1] > 0.0;
    int kept = 0;
    if (begins) out[kept++] = *from;
    for (uint32_t e = 0; e < 2; e++) {
        if (!crosses || (e == 0 ? begins : ends)) continue;
        for (int i = 0; i < 3; i++) out[kept].p[i] = from->p[i] + cuts[e] * (to->p[i] - from->p[i]);
        out[kept].edge = from->edge;
        out[kept++].id = from->edge | e << 16 | 0x800000u;
    }
    if (with_end && ends) out[kept++] = *to;
    return kept;
}

// Whether one of the eight is inside of the outline or on it.
static bool is_inside(const on_rim* o, const double q[3], double turn) {
    for (int k = 0; k < o->count; k++) {
        double edge[3], way[3], across[3];
        cal_subtract3(o->q[(k + 1) % o->count], o->q[k], edge);
        cal_subtract3(q, o->q[k], way);
        cal_cross3(edge, way, across);
        if (!(turn * cal_dot3(across, o->face->normal) >= -flush * cal_dot3(edge, edge))) return false;
    }
    return true;
}

// Whether a place on the face is that of one of the points that are there.
static bool is_there(const on_rim* o, const double n[3], const double q[3], const cal_corner* points, int count) {
    for (int k = 0; k < count; k++) {
        double at[3], apart[3];
        place_on(o->face, n, points[k].p, at);
        cal_subtract3(at, q, apart);
        if (cal_dot3(apart, apart) <= one_point * one_point * o->face->rim * o->face->rim) return true;
    }
    return false;
}

int cal_outline_clip_by_rim(const cal_feature* face, const cal_feature* outline, const double n[3], bool onto_face,
                            cal_corner* out) {
    on_rim o = {.face = face, .in = outline->corners, .count = outline->count};
    const bool line = o.count == 2;
    int kept = 0;
    for (int k = 0; k < o.count; k++) place_on(face, n, o.in[k].p, o.q[k]);
    for (int k = 0; k < (line ? 1 : o.count); k++) kept += clip_edge(&o, k, line, out + kept);
    const int clipped = kept;
    // Outlines go round with their own normals.
    const double turn = cal_dot3(outline->normal, face->normal) > 0.0 ? 1.0 : -1.0;
    for (int j = 0; !line && j < face->count; j++) {
        const cal_corner* own = &face->corners[j];
        double q[3], off[3];
        place_on(face, n, own->p, q);
        if (!is_inside(&o, q, turn) || is_there(&o, n, q, out, clipped)) continue;
        cal_subtract3(o.in[0].p, own->p, off);
        const double up = onto_face ? 0.0 : cal_dot3(outline->normal, off) / cal_dot3(outline->normal, n);
        for (int i = 0; i < 3; i++) out[kept].p[i] = own->p[i] + up * n[i];
        const uint32_t before = (uint32_t)((j + face->count - 1) % face->count);
        out[kept].edge = before;
        out[kept++].id = before | 0x8000u | (uint32_t)j << 16 | 0x800000u;
    }
    for (int k = 0; onto_face && k < clipped; k++) {
        double q[3];
        place_on(face, n, out[k].p, q);
        for (int i = 0; i < 3; i++) out[k].p[i] = face->center[i] + q[i];
    }
    return kept;
}
