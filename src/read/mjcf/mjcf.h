// MJCF, MuJoCo's format: what its reader's parts share.
//
// Reading goes the way MuJoCo goes, so that the same file means the same model:
//
//   include     every <include> is replaced by what is in its file                             include.c
//   known       every element and attribute is looked up in one table; what is not there,
//               or is there with a consequence, goes into the report                           known.c
//   settings    compiler, option and custom                                                    settings.c
//   elements    attributes of one element over the values that its class gave                  elements.c
//   classes     default classes, each a copy of its parent with its own attributes over it     classes.c
//   assets      meshes, height fields, materials, other models                                 assets.c
//   textures    pictures that are made, or read from PNG files                                 textures.c
//   bodies      walks the bodies, through frames, replicates and attachments                   bodies.c
//   inertia     what each body weighs, from its inertial element or its geoms                  inertia.c
//   fluid       what air and water do to bodies                                                 fluid.c
//   tendons     tendons, and what they are made of                                              tendons.c
//   links       what refers to bodies and joints by name: equality, actuator, contact          links.c
//   build       all of it into a builder                                                       mjcf.c
//
// A *source* is one MJCF file with all its includes. The model that was asked for is one; each <model> asset is another, with
// its own compiler, classes and assets. Bodies of all sources end up in one list.
#pragma once
#include "base/names.h"
#include "read/mesh/mesh.h"
#include "read/reader.h"
#include "read/mesh/solids.h"

// A list that grows; items move as it does.
typedef struct mjcf_list {
    void* items;
    int count, capacity;
} mjcf_list;

// Room for one more item, zeroed and counted; NULL when there is no memory.
void* mjcf_add(mjcf_list* list, size_t size);
void mjcf_list_free(mjcf_list* list);

typedef enum mjcf_choice { MJCF_NO, MJCF_YES, MJCF_AUTO } mjcf_choice;

typedef struct mjcf_compiler {
    bool autolimits, degrees, balance_inertia, discard_visual, fit_box, strip_path, align_free;
    mjcf_choice inertia_from_geom;
    double bound_mass, bound_inertia, total_mass;
    int group_range[2];
    char euler[4];
    const char *mesh_folder, *texture_folder;
    cal_mesh_inertia mesh_inertia; // of meshes that do not say
} mjcf_compiler;

// An orientation as it was written; degrees and the order of Euler's angles are known only at the end.
typedef enum mjcf_turn { MJCF_QUATERNION, MJCF_AXIS_ANGLE, MJCF_XY_AXES, MJCF_Z_AXIS, MJCF_EULER } mjcf_turn;
typedef struct mjcf_orientation {
    mjcf_turn kind;
    double quaternion[4], values[6];
} mjcf_orientation;

typedef struct mjcf_joint {
    const char* name;
    cal_joint_kind kind;
    double position[3], axis[3], range[2], force_range[2], spring_damper[2];
    double stiffness[3], damping[3]; // polynomials; only the first coefficient is simulated
    double reference, spring_reference, armature, friction_loss;
    mjcf_choice limited, force_limited;
    bool motor_carries;
    // From here on not attributes.
    int body, number, next; // number: in the builder; next: of the body's joints, -1: none
    int motors;             // actuators that drive it
    bool unnamed;           // its name was made here
    const struct mjcf_source* source;
    cal_xml_node* node;
} mjcf_joint;

typedef struct mjcf_geom {
    const char* name;
    cal_shape_kind kind;
    bool shell;
    int contype, conaffinity, group, condim, priority;
    double size[3], friction, mass, density, from_to[6], position[3], fit_scale; // mass and from_to: NaN when not given
    bool is_ellipsoid;                                                           // in a medium
    double fluid[5];
    mjcf_orientation orientation;
    const char *material, *mesh, *height_field;
    float color[4];
    bool friction_given;
    // From here on not attributes.
    double frame_position[3], frame_quaternion[4]; // of the frames around it
    int body, next, shape;
    struct mjcf_source* source;
    cal_xml_node* node;
} mjcf_geom;

typedef struct mjcf_site {
    const char* name;
    double position[3], from_to[6], size[3];
    cal_shape_kind kind;
    mjcf_orientation orientation;
    double quaternion[4]; // in the body's frame, once resolved
    int body;
    cal_xml_node* node;
} mjcf_site;

typedef struct mjcf_tendon {
    const char* name;
    mjcf_choice limited, force_limited;
    double range[2], force_range[2], spring_length[2]; // spring_length: -1 twice: that of the spring position
    double stiffness[3], damping[3];                   // polynomials; only the first coefficient is simulated
    double friction_loss, armature;
    // From here on not attributes.
    mjcf_list parts; // cal_tendon_part; joints, bodies and shapes as in the lists of the model
    int number, motors;
    const struct mjcf_source* source;
    cal_xml_node* node;
} mjcf_tendon;

typedef enum mjcf_law { MJCF_LAW_NONE, MJCF_LAW_FIXED, MJCF_LAW_AFFINE, MJCF_LAW_MUSCLE, MJCF_LAW_OTHER } mjcf_law;
enum { MJCF_MUSCLE = 9 }; // parameters of a muscle: range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax

typedef struct mjcf_actuator {
    const char* name;
    mjcf_choice control_limited, force_limited, activation_limited;
    double control_range[2], force_range[2], activation_range[2], length_range[2], gear[6];
    double dynamics[3], gain[MJCF_MUSCLE], bias[MJCF_MUSCLE]; // dynamics: time constants (2), smoothing
    double inherit_range, damping[3], armature;
    cal_activation_kind activation;
    bool unknown; // it is none of those that are simulated
    mjcf_law gain_law, bias_law;
    int group;
} mjcf_actuator;

typedef struct mjcf_mesh {
    const char *name, *file;
    double scale[3], reference_position[3], reference_quaternion[4];
    cal_mesh_inertia inertia;
    bool inertia_given;
    // From here on not attributes.
    cal_xml_node* node;
    cal_triangles triangles;
    bool loaded, weighed;
    int number;      // in the builder; CAL_NONE until it is needed there
    cal_solid solid; // at density 1
} mjcf_mesh;

typedef struct mjcf_material {
    const char* name;
    float color[4];
    const char* texture;
    double repeat[2];
    bool uniform; // repeats count per m, and not per shape
} mjcf_material;

typedef struct mjcf_texture {
    const char *name, *file;
    cal_xml_node* node;
    bool loaded;
    int number; // in the builder; CAL_NONE: it is not drawn
} mjcf_texture;

typedef struct mjcf_class {
    const char* name;
    mjcf_joint joint;
    mjcf_geom geom;
    mjcf_site site;
    mjcf_mesh mesh;
    mjcf_material material;
    mjcf_actuator actuator;
    mjcf_tendon tendon;
    bool equality_active;
    double pair_friction; // NaN: that of the geoms
    int pair_condim;      // MJCF_CONDIM_OF_GEOMS: that of the geoms
} mjcf_class;

typedef struct mjcf_field {
    const char* name;
    cal_xml_node* node;
    int number; // of its mesh in the builder
    bool loaded;
} mjcf_field;

typedef struct mjcf_source {
    cal_reader* reader;
    cal_xml_document* document;
    cal_xml_node* root;
    const char* name;   // of a <model> asset
    const char* inside; // its folder, relative to that of the main file
    mjcf_compiler compiler;
    mjcf_list classes, meshes, materials, fields, textures; // classes: pointers, so that they stay where they are
    cal_name_table *class_names, *mesh_names, *material_names, *field_names, *texture_names;
    mjcf_list attachable; // bodies and frames with a name, found when the first one is attached; nodes
    cal_name_table *attached_bodies, *attached_frames; // numbers of attachable; NULL: not found yet
    struct mjcf_model* model;
} mjcf_source;

typedef struct mjcf_body {
    const char* name;
    cal_xml_node* node;
    mjcf_source* source;
    int parent;
    double position[3], quaternion[4];
    bool mocap, has_inertial, unnamed;                                            // unnamed: its name was made here
    cal_solid solid;                                                              // in the body's frame
    int first_joint, last_joint, first_geom, last_geom, joint_count, child_count; // -1: none
    double gravity_compensation;
} mjcf_body;

typedef struct mjcf_motor {
    mjcf_actuator actuator;
    int joint, tendon, site, reference; // of mjcf_model's lists; reference: the refsite
    int number;                         // in the builder, CAL_NONE when it is not simulated
    const mjcf_source* source;
    cal_xml_node* node;
} mjcf_motor;

// A subtree that was read with a prefix or a suffix on every name, so that what refers to it is read again as well.
typedef struct mjcf_copy {
    mjcf_source* source;
    const char *prefix, *suffix;
} mjcf_copy;

typedef struct mjcf_model {
    cal_reader* reader;
    mjcf_source* main;
    mjcf_list sources;   // pointers, the main one first
    mjcf_list documents; // included files; pointers
    mjcf_list bodies, joints, geoms, sites, tendons, actuators, copies;
    cal_name_table *body_names, *joint_names, *geom_names, *site_names, *tendon_names;
    double gravity[3], timestep, density, viscosity, wind[3], magnetic_field[3];
    double restitution, friction; // of the world, from custom numbers; NaN when not given
    uint32_t disabled;            // CAL_PART_… of <flag>
    uint32_t disabled_groups;     // of actuators, a bit each
    bool unclamped;               // controls are not clamped
    bool measures_motors;  // a sensor measures the force of an actuator, which a range of what it drives does not clamp
    cal_solid* composites; // what each body carries in the start position, itself included; in the world
    double* poses;         // of bodies in the start position: position and quaternion, 7 numbers each
    int64_t bytes;         // of all files
    int file_count;        // beside the main one
    int64_t copied;        // elements that were read as part of a copy
    int64_t tries;         // to link an element in a copy
    double *start_q, *start_v, *start_control,
        *start_activation; // of a model that our own writer wrote; NULL: at the references
} mjcf_model;

// A few lines can ask for copies of copies without end, so what they cost is bounded by the files' size: one element, or one
// step of a search, per byte beyond what any file may have (some seconds' work). Links are cheaper: as many tries per element.
enum {
    MJCF_FREE_COPIES = 200000,
    MJCF_TRIES_PER_COPY = 10,
    MJCF_SOURCE_DEPTH = 8,
    MJCF_MOST_FILES = 10000,
    MJCF_LONGEST_NAME = 1000
};
// How many elements copies may have in all.
int64_t mjcf_copy_limit(const struct mjcf_model* model);
// Counts a file that a model names, beside its own: too many of them, or too large together, are refused.
cal_status mjcf_count_file(struct mjcf_model* model, size_t size, const cal_xml_node* node, cal_error* error);

#define MJCF_TRY(expression)                                                                                           \
    do {                                                                                                               \
        const cal_status mjcf_status = (expression);                                                                   \
        if (mjcf_status != CAL_OK) return mjcf_status;                                                                 \
    } while (0)

cal_status mjcf_no_memory(const cal_xml_node* node, cal_error* error);

// Replaces every <include> below a source's root.
cal_status mjcf_include(mjcf_source* source, cal_error* error);
// Reports what is not known or not simulated below a source's root.
void mjcf_report_unknown(const mjcf_source* source);

cal_status mjcf_read_compiler(mjcf_source* source, cal_error* error);
cal_status mjcf_read_option(mjcf_source* source, cal_error* error);
cal_status mjcf_read_custom(mjcf_source* source, cal_error* error);

// Attributes. Each leaves what it writes to as it was when the attribute is not there.
cal_status mjcf_boolean(cal_xml_node* node, const char* name, bool* out, cal_error* error);
cal_status mjcf_choice_of(cal_xml_node* node, const char* name, mjcf_choice* out,
                          cal_error* error); // false, true, auto
// A polynomial whose higher coefficients are zero when they are not given.
cal_status mjcf_polynomial(cal_xml_node* node, const char* name, double out[3], cal_error* error);
cal_status mjcf_choose(cal_xml_node* node, const char* name, const char* choices, int* out, cal_error* error);
cal_status mjcf_integer(cal_xml_node* node, const char* name, int* out, cal_error* error);
cal_status mjcf_read_orientation(cal_xml_node* node, mjcf_orientation* out, cal_error* error);
// The quaternion of an orientation, of unit length.
cal_status mjcf_resolve(const mjcf_compiler* compiler, const mjcf_orientation* orientation, const cal_xml_node* node,
                        double quaternion[4], cal_error* error);

// Elements over what their class gave.
void mjcf_default_class(mjcf_class* out);
cal_status mjcf_read_joint(cal_xml_node* node, mjcf_joint* out, cal_error* error);
cal_status mjcf_read_geom(cal_xml_node* node, mjcf_geom* out, cal_error* error);
cal_status mjcf_read_site(cal_xml_node* node, mjcf_site* out, cal_error* error);
cal_status mjcf_read_mesh(cal_xml_node* node, mjcf_mesh* out, cal_error* error);
cal_status mjcf_read_material(cal_xml_node* node, mjcf_material* out, cal_error* error);
// Any of <general>, <motor>, <position>, <velocity> and the others.
cal_status mjcf_read_actuator(cal_xml_node* node, mjcf_actuator* out, cal_error* error);
bool mjcf_is_actuator(const cal_xml_node* node);

cal_status mjcf_read_classes(mjcf_source* source, cal_error* error);
// The class that an element's attribute (class, childclass) names; fallback when it names none.
cal_status mjcf_class_of(const mjcf_source* source, cal_xml_node* node, const char* attribute,
                         const mjcf_class* fallback, const mjcf_class** out, cal_error* error);
const mjcf_class* mjcf_main_class(const mjcf_source* source);

cal_status mjcf_read_assets(mjcf_source* source, int depth, cal_error* error);
// Another file as a source of this model: parsed, included, settings, classes and assets read.
cal_status mjcf_open_source(mjcf_model* model, cal_xml_document* document, const char* inside, int depth,
                            mjcf_source** out, cal_error* error);
// The path of a file that a source names: in `folder` beside the source's main file, as in MuJoCo, or else beside the file
// that the node is from.
cal_status mjcf_resolve_file(const mjcf_source* source, const char* folder, const char* file, const cal_xml_node* node,
                             char out[CAL_PATH], cal_error* error);
mjcf_mesh* mjcf_find_mesh(mjcf_source* source, const char* name);
// Reads a mesh's file. *available is false when its format is not read here; that is no error.
cal_status mjcf_load_mesh(mjcf_source* source, mjcf_mesh* mesh, bool* available, cal_error* error);
// Mass, centre and inertia of a loaded mesh at density 1.
cal_status mjcf_weigh_mesh(mjcf_mesh* mesh, cal_error* error);
// The mesh's number in the builder; CAL_NONE when it has none there.
cal_status mjcf_use_mesh(mjcf_source* source, mjcf_mesh* mesh, int* number, cal_error* error);
// The same for a height field; CAL_NONE when it is an image, which is not read here.
cal_status mjcf_use_field(mjcf_source* source, const char* name, const cal_xml_node* node, int* number,
                          cal_error* error);
// A texture's element; the number of a shape's texture in the builder, CAL_NONE where it has none that is drawn, and how often it
// repeats per m.
cal_status mjcf_read_texture(mjcf_source* source, cal_xml_node* node, cal_error* error);
cal_status mjcf_use_texture(mjcf_source* source, const mjcf_material* material, cal_shape_def* shape, cal_error* error);
const mjcf_material* mjcf_find_material(const mjcf_source* source, const char* name);

cal_status mjcf_read_bodies(mjcf_model* model, cal_error* error);
// Gives every body its mass, centre and inertia.
cal_status mjcf_weigh_bodies(mjcf_model* model, cal_error* error);
// Position, orientation, size, mesh and the rest of a geom, as a shape. *drawn is false when there is nothing to add.
// condim, the dimensions of a contact: 1 has no friction. A pair that does not say has that of its geoms.
enum { MJCF_CONDIM_OF_GEOMS = -1 };
cal_status mjcf_contact_dimension(cal_xml_node* node, int* out, cal_error* error);
// Friction of a geom: its own, or the model's where it has none; 0 for contacts of one dimension.
double mjcf_geom_friction(const mjcf_geom* geom);
cal_status mjcf_geom_shape(mjcf_geom* geom, cal_shape_def* shape, bool* drawn, cal_error* error);

// A link refers to others by name. found are numbers in the model's lists, or CAL_GROUND for the body "world", or CAL_NONE
// for a name that was not required and not given.
typedef enum mjcf_noun { MJCF_BODY, MJCF_JOINT, MJCF_GEOM, MJCF_SITE, MJCF_TENDON } mjcf_noun;
typedef struct mjcf_reference {
    const char* attribute;
    mjcf_noun noun;
    bool required;
} mjcf_reference;
typedef cal_status mjcf_link(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                             const int* found, void* user, cal_error* error);
// Calls link when the node's names mean something in this copy of its source; at most two references. Without a copy it
// says which name means nothing.
cal_status mjcf_link_in(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                        const mjcf_reference* references, int count, mjcf_link* link, void* user, cal_error* error);
// The number of what an attribute names in a copy; CAL_NONE: nothing has that name there. *own: whether the copy's own has it.
int mjcf_find_in(const mjcf_model* model, mjcf_noun noun, const char* name, const mjcf_copy* copy, bool* own);
// The name of a link in a copy; NULL when it has none.
const char* mjcf_link_name(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy);
// Calls read for every element of all sections of this name, copy by copy, and at last without a copy for those of the main
// file that did not become `linked`.
typedef cal_status mjcf_read(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error);
cal_status mjcf_each(mjcf_model* model, const char* section, mjcf_read* read, cal_error* error);

// Tendons: read them all, then, once joints have numbers, put them into the builder (tendons.c).
cal_status mjcf_read_tendon(cal_xml_node* node, mjcf_tendon* out, cal_error* error); // attributes
cal_status mjcf_read_tendons(mjcf_model* model, cal_error* error);
cal_status mjcf_add_tendons(mjcf_model* model, cal_error* error);
void mjcf_free_tendons(mjcf_model* model);
// What a medium does to bodies: drags into the builder (fluid.c).
cal_status mjcf_add_drags(mjcf_model* model, cal_error* error);
// Actuators: read them all (joints get their rotors), then, once joints have numbers, put them into the builder.
cal_status mjcf_read_actuators(mjcf_model* model, cal_error* error);
// Whether actuatorfrcrange of a joint is its motor_range, and not the clamp of its only actuator.
bool mjcf_sums_motors(const mjcf_model* model, const mjcf_joint* joint);
cal_status mjcf_add_actuators(mjcf_model* model, cal_error* error);
// Sensors into the builder, once actuators are there (sensors.c).
cal_status mjcf_add_sensors(mjcf_model* model, cal_error* error);
// Whether a range holds, by what the file says of it (`what` + "limited") or because it is there.
cal_status mjcf_limited(const mjcf_source* source, mjcf_choice choice, const double range[2], const char* what,
                        const cal_xml_node* node, bool* out, cal_error* error);
// Fills in composites and poses.
cal_status mjcf_weigh_subtrees(mjcf_model* model, cal_error* error);
// The inertia that a joint of one degree moves in the start position: its entry on the mass matrix's diagonal.
double mjcf_joint_inertia(const mjcf_model* model, int joint);
// Equality, contact and keyframes into the builder.
cal_status mjcf_read_links(mjcf_model* model, cal_error* error);

// Finds the start that our own writer wrote; nothing happens when there is none. Then a joint's part of it, into its definition.
void mjcf_read_start(mjcf_model* model);
void mjcf_start_joint(const mjcf_model* model, cal_joint_def* def, int first_q, int first_v);
void mjcf_free_start(mjcf_model* model);
// MJCF lists the activations of actuators that have one. How many these are; and from such a list, which goes, one with a number per
// actuator: NULL when there is no memory.
int mjcf_activation_count(const mjcf_model* model);
double* mjcf_spread_activations(const mjcf_model* model, double* activations);

// T = T ∘ (position, quaternion).
void mjcf_compose(double position[3], double quaternion[4], const double by_position[3], const double by_quaternion[4]);
// The three texts as one; `name` itself when there is nothing to add. NULL when there is no memory.
const char* mjcf_join(cal_xml_document* document, const char* prefix, const char* name, const char* suffix);
