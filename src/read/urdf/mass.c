// What the links of a URDF weigh.
//
// A link without <inertial> weighs nothing: such links are frames (tool0, base_footprint), carried by fixed joints, and add
// nothing to the body that carries them. An inertia that no body can have is an error that says how to repair it, and is
// repaired when the caller asked for it, or when the link cannot move anyway.
#include "read/urdf/parts.h"
#include "math/vector.h"
#include <string.h>

static const double inertia_tolerance = 1e-6; // the builder's
static const double no_inertia = 1e-15;       // kg m²; files write such numbers where they mean zero

static cal_status read_inertia(cal_xml_node* inertial, double inertia[6], cal_error* error) {
    static const char* const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    cal_xml_node* node;
    cal_status status = cal_urdf_only_child(inertial, "inertia", &node, error);
    for (int i = 0; status == CAL_OK && node != NULL && i < 6; i++)
        status = cal_urdf_numbers(node, names[i], 1, &inertia[i], i < 3, error);
    return status;
}

static void rotate_inertia(const double quaternion[4], double inertia[6]) {
    const cal_solid given = {.inertia = {inertia[0], inertia[1], inertia[2], inertia[3], inertia[4], inertia[5]}};
    const double origin[3] = {0.0, 0.0, 0.0};
    const cal_solid turned = cal_solid_placed(&given, origin, quaternion);
    memcpy(inertia, turned.inertia, sizeof turned.inertia);
}

static cal_status check_inertia(const urdf* u, urdf_link* link, cal_xml_node* node, cal_error* error) {
    char why[100];
    double largest = 0.0;
    for (int i = 0; i < 6; i++) largest = fmax(largest, fabs(link->solid.inertia[i]));
    if (largest < no_inertia) memset(link->solid.inertia, 0, sizeof link->solid.inertia);
    if (cal_inertia_possible(link->solid.inertia, inertia_tolerance, why, sizeof why)) return CAL_OK;
    if (!u->reader->options->repair && !link->grounded)
        return cal_xml_fail(node, error, CAL_BAD_MODEL,
                            "link '%.60s': no body has this inertia, %s; correct it, or use --repair", link->name, why);
    cal_inertia_repair(link->solid.inertia);
    cal_report_add(u->reader->report, node, link->grounded ? CAL_ISSUE_NOTE : CAL_ISSUE_REPAIRED, "inertia",
                   link->grounded ? "no body has this inertia, but the link cannot move"
                                  : "no body has this inertia; its smaller principal moments were raised");
    return CAL_OK;
}

// What an asked-for repair puts in place of nothing: the collision geometry's weight.
static cal_status weigh_by_shape(urdf* u, urdf_link* link, cal_error* error) {
    if (link->grounded || !u->reader->options->repair) return CAL_OK;
    const cal_status status = cal_urdf_weigh_collision(u, link, &link->solid, error);
    if (status == CAL_OK && link->solid.mass > 0.0)
        cal_report_add(u->reader->report, link->node, CAL_ISSUE_REPAIRED, "link without inertial",
                       "weighs what its collision geometry weighs at 1000 kg/m³");
    return status;
}

static cal_status read_link(urdf* u, urdf_link* link, cal_error* error) {
    cal_xml_node *inertial, *mass;
    urdf_origin origin;
    cal_status status = cal_urdf_only_child(link->node, "inertial", &inertial, error);
    if (status != CAL_OK) return status;
    if (inertial == NULL) {
        // A root or a frame on a fixed joint is meant to be so.
        if (link->joint >= 0 && u->joints[link->joint].kind != URDF_FIXED)
            cal_report_add(u->reader->report, link->node, CAL_ISSUE_NOTE, "link without inertial", "weighs nothing");
        return weigh_by_shape(u, link, error);
    }
    status = cal_urdf_only_child(inertial, "mass", &mass, error);
    if (status == CAL_OK && mass == NULL) status = cal_xml_fail(inertial, error, CAL_BAD_MODEL, "it has no <mass>");
    if (status == CAL_OK) status = cal_urdf_numbers(mass, "value", 1, &link->solid.mass, true, error);
    if (status == CAL_OK) status = cal_urdf_read_origin(inertial, &origin, error);
    if (status == CAL_OK) status = read_inertia(inertial, link->solid.inertia, error);
    if (status != CAL_OK) return status;
    if (link->solid.mass < 0.0) {
        if (!u->reader->options->repair)
            return cal_xml_fail(mass, error, CAL_BAD_MODEL,
                                "link '%.60s': its mass is %g; it must not be negative; --repair makes it 0",
                                link->name, link->solid.mass);
        link->solid.mass = 0.0;
        cal_report_add(u->reader->report, mass, CAL_ISSUE_REPAIRED, "mass", "a negative mass became 0");
    }
    memcpy(link->solid.center, origin.position, sizeof link->solid.center);
    rotate_inertia(origin.quaternion, link->solid.inertia);
    return check_inertia(u, link, inertial, error);
}

cal_status cal_urdf_read_masses(urdf* u, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < u->link_count; i++) status = read_link(u, &u->links[i], error);
    return status;
}
