// The inside of the URDF reader: what a <robot> consists of while it becomes bodies and joints.
//
//     urdf_tree.c     links, joints, and that they are one tree
//     urdf_mass.c     what links weigh
//     urdf_shapes.c   what they look like: geometry, materials, meshes
//     urdf_files.c    where package:// and other names of files lead
//     transmission.c  motors
//     urdf.c          all of it into the builder, and a list of what was not understood
#pragma once
#include "base/names.h"
#include "read/reader.h"
#include "read/mesh/solids.h"

typedef enum urdf_joint_kind {
    URDF_REVOLUTE,
    URDF_CONTINUOUS,
    URDF_PRISMATIC,
    URDF_FIXED,
    URDF_FLOATING,
    URDF_PLANAR,
    URDF_SPHERICAL, // not in the standard; Bullet and MuJoCo have it
    URDF_JOINT_KINDS
} urdf_joint_kind;

// A place and a direction, as <origin> gives it.
typedef struct urdf_origin {
    double position[3], quaternion[4];
} urdf_origin;

typedef struct urdf_link {
    cal_xml_node* node;
    const char* name;
    cal_solid solid;             // in the link's frame
    int joint;                   // that carries it; -1: the root
    int first_child, last_child; // joints, through urdf_joint.next; -1: none
    int body;                    // CAL_GROUND for a root that is called "world"
    bool grounded;               // nothing between it and the ground moves
    urdf_origin from_ground;     // of a grounded link
} urdf_link;

typedef struct urdf_joint {
    cal_xml_node* node;
    const char* name;
    urdf_joint_kind kind;
    int parent, child, next; // links; the next joint of the same parent
    int number;              // the first of its joints in the model; CAL_NONE: none
    urdf_origin origin;
    double axis[3], effort; // effort: the largest force or torque of a motor; 0: no limit
} urdf_joint;

typedef struct urdf_material {
    const char* name;
    float color[4];
} urdf_material;

// A mesh that is in the builder already.
typedef struct urdf_mesh {
    char* path;
    double scale[3];
    int number;
} urdf_mesh;

typedef struct urdf {
    cal_reader* reader;
    cal_xml_node* robot;
    urdf_link* links;
    urdf_joint* joints;
    int link_count, joint_count, root;
    bool floats; // the root does
    cal_name_table *link_names, *joint_names;
    int* order; // links, depth first, children in the order of their joints in the file
    urdf_material* materials;
    int material_count;
    cal_name_table* material_names;
    urdf_mesh* meshes;
    int mesh_count, mesh_capacity;
    char package[CAL_PATH]; // the folder above the model that has a package.xml, "" when there is none
    char inside[CAL_PATH];  // the model's folder in it
} urdf;

// <origin xyz rpy> below a node; the identity when there is none.
cal_status cal_urdf_read_origin(cal_xml_node* node, urdf_origin* out, cal_error* error);
// a ∘ b: what b places in a's frame.
urdf_origin cal_urdf_compose(const urdf_origin* a, const urdf_origin* b);
// The child element of this name, marked as used; NULL when there is none. A second one is an error.
cal_status cal_urdf_only_child(cal_xml_node* node, const char* name, cal_xml_node** out, cal_error* error);
// An attribute's finite numbers, exactly `count` of them; out stays as it was when it is not there.
cal_status cal_urdf_numbers(cal_xml_node* node, const char* name, int count, double* out, bool required,
                            cal_error* error);

cal_status cal_urdf_read_tree(urdf* u, cal_error* error);
cal_status cal_urdf_read_masses(urdf* u, cal_error* error);
cal_status cal_urdf_read_materials(urdf* u, cal_error* error);
cal_status cal_urdf_read_shapes(urdf* u, urdf_link* link, cal_error* error);
// What a link's collision geometry weighs at the density of water, in the link's frame; a mesh weighs what its hull does, and
// nothing when it cannot be read.
cal_status cal_urdf_weigh_collision(urdf* u, urdf_link* link, cal_solid* out, cal_error* error);

// Motors from <transmission>; joints have their numbers.
cal_status cal_urdf_read_transmissions(urdf* u, cal_error* error);

// Where the model's own package is.
void cal_urdf_find_package(urdf* u);
// The path of a mesh's file; *found is false when it is in a package that is nowhere.
cal_status cal_urdf_resolve(urdf* u, cal_xml_node* node, const char* name, char out[CAL_PATH], bool* found,
                            cal_error* error);
