// One table of everything in MJCF that means something here. What a file has beyond it is reported as not understood; what
// is in it with a consequence is reported with that.
//
// A row is an element (or PARENT/ELEMENT where the same name means two things), attributes, and what follows from
// having them without effect: nothing for those that are read. Rows of one element stand together. A row without
// attributes is about the element as a whole, and what is in such an element is not looked at. Consequences that begin
// with "ignored" are about settings; the others say what is left out.
#include "read/mjcf/mjcf.h"
#include <stdio.h>
#include <string.h>

#define SOFT "ignored: Calder uses its own contact model"
#define SERVO "ignored: Calder uses its own model of stops and joint friction"
#define DRAWING "ignored: only the looks differ"
#define NO_EFFECT "ignored: the motion does not depend on it"
#define EXACT "ignored: Calder holds constraints exactly"
#define NO_FLEX "flexible bodies and skins are left out"

#define ORIENTATION " quat axisangle xyaxes zaxis euler "
#define ACTUATOR                                                                                                       \
    "name class group ctrlrange forcerange ctrllimited forcelimited gear damping armature joint jointinparent tendon " \
    "site body refsite cranksite slidersite cranklength actlimited actrange actdim actearly lengthrange "

#define TENDON                                                                                                         \
    "name class limited actuatorfrclimited range actuatorfrcrange frictionloss springlength stiffness damping "        \
    "armature"
#define TENDON_LOST "solreflimit solimplimit solreffriction solimpfriction margin"
#define TENDON_LOOKS "group user width material rgba"

// Noise and delays are MuJoCo's own, and off unless they are switched on there.
#define SENSOR "name cutoff noise user nsample interp interval delay "
#define FRAME SENSOR "objtype objname reftype refname"

typedef struct row {
    const char* element;
    const char* attributes; // NULL: the element as a whole
    cal_issue_kind kind;
    const char* consequence; // NULL: it is read
} row;

#define READ(element, attributes)                                                                                      \
    { element, attributes, CAL_ISSUE_NOTE, NULL }
#define NOTE(element, attributes, text)                                                                                \
    { element, attributes, CAL_ISSUE_NOTE, text }
#define LOST(element, attributes, text)                                                                                \
    { element, attributes, CAL_ISSUE_NOT_SIMULATED, text }

static const row rows[] = {
    READ("mujoco", "model"),
    READ("compiler", "angle autolimits balanceinertia boundinertia boundmass coordinate discardvisual eulerseq fitaabb "
                     "inertiafromgeom inertiagrouprange meshdir assetdir texturedir settotalmass strippath "
                     "exactmeshinertia usethread saveinertial conflict convexhull"),
    NOTE("compiler", "fusestatic", "ignored: bodies without joints stay bodies; the motion is the same"),
    LOST("compiler", "alignfree",
         "ignored: frames of free bodies stay where the file puts them, and q is the pose of these"),
    NOTE("lengthrange", NULL, "ignored: ranges of lengths are not searched for"),
    READ("option", "gravity timestep actuatorgroupdisable wind density viscosity magnetic"),
    NOTE("option",
         "integrator cone jacobian solver iterations ls_iterations tolerance ls_tolerance noslip_iterations "
         "noslip_tolerance ccd_iterations ccd_tolerance mpr_iterations mpr_tolerance sdf_iterations "
         "sdf_initpoints sleep_tolerance apirate",
         "ignored: Calder has its own solvers"),
    LOST("option", "impratio o_margin o_solref o_solimp o_friction", SOFT),
    LOST("option", "collision", "ignored: pairs and all other shapes touch"),
    READ("flag", "constraint equality frictionloss limit contact passive spring damper gravity actuation clampctrl"),
    NOTE("flag",
         "warmstart refsafe sensor midphase nativeccd eulerdamp autoreset island multiccd override "
         "energy fwdinv invdiscrete sensornoise sleep diagexact",
         "ignored: it is about MuJoCo's solver"),
    LOST("flag", "filterparent", "ignored: a body does not touch the one that it hangs from by a joint"),
    NOTE("size", NULL, "ignored: it is about MuJoCo's memory"),
    NOTE("statistic", NULL, DRAWING),
    NOTE("visual", NULL, DRAWING),
    READ("default", "class"),
    READ("worldbody", "childclass"),
    READ("body", "name childclass pos mocap gravcomp" ORIENTATION),
    NOTE("body", "user sleep simple", NO_EFFECT),
    READ("inertial", "pos mass diaginertia fullinertia" ORIENTATION),
    READ("joint", "name class type pos axis springdamper limited actuatorfrclimited range actuatorfrcrange "
                  "actuatorgravcomp stiffness "
                  "damping ref springref armature frictionloss"),
    NOTE("joint", "group user", NO_EFFECT),
    LOST("joint", "solreflimit solimplimit solreffriction solimpfriction margin", SERVO),
    READ("freejoint", "name"),
    NOTE("freejoint", "group", NO_EFFECT),
    LOST("freejoint", "align", "ignored: the body's frame stays where the file puts it, and q is its pose"),
    READ("geom", "name class type contype conaffinity condim group priority size material friction mass density "
                 "shellinertia fromto pos "
                 "hfield mesh fitscale rgba fluidshape fluidcoef" ORIENTATION),
    NOTE("geom", "user", NO_EFFECT),
    LOST("geom", "solmix solref solimp margin gap surfacevel adhesion", SOFT),
    READ("site", "name class type size pos fromto" ORIENTATION),
    NOTE("site", "group material rgba user", "ignored: sites are points with axes and are not drawn"),
    READ("frame", "name childclass pos" ORIENTATION),
    READ("replicate", "count offset euler sep childclass"),
    READ("attach", "model body frame prefix"),
    NOTE("camera", NULL, DRAWING),
    NOTE("light", NULL, DRAWING),
    LOST("composite", NULL, "its bodies are left out"),
    LOST("flexcomp", NULL, NO_FLEX),
    LOST("deformable", NULL, NO_FLEX),
    LOST("plugin", NULL, "plugins are left out"),
    LOST("extension", NULL, "plugins are left out"),
    READ("asset", ""),
    READ("mesh", "name class file vertex face refpos refquat scale inertia builtin params"),
    NOTE("mesh", "normal texcoord smoothnormal maxhullvert material content_type", DRAWING),
    READ("hfield", "name nrow ncol size elevation file"),
    NOTE("hfield", "content_type", "the file's ending says what it is"),
    NOTE("skin", NULL, DRAWING),
    READ("texture",
         "name type file builtin rgb1 rgb2 width height mark markrgb hflip vflip random content_type colorspace"),
    NOTE("texture", "gridsize gridlayout nchannel fileright fileleft fileup filedown filefront fileback", DRAWING),
    READ("material", "name class rgba texture texrepeat texuniform"),
    NOTE("material", "emission specular shininess reflectance metallic roughness", DRAWING),
    NOTE("layer", NULL, DRAWING),
    READ("model", "name file"),
    NOTE("model", "content_type", "the file's ending says what it is"),
    READ("contact", ""),
    READ("pair", "name class geom1 geom2 condim friction"),
    LOST("pair", "solref solreffriction solimp gap margin adhesion", SOFT),
    READ("exclude", "name body1 body2"),
    READ("equality", "active class"), // the section, and the element of a class
    LOST("equality", "solref solimp", EXACT),
    READ("connect", "name class active body1 body2 anchor site1 site2"),
    LOST("connect", "solref solimp", EXACT),
    READ("weld", "name class active body1 body2 relpose anchor site1 site2"),
    LOST("weld", "solref solimp torquescale", EXACT),
    READ("equality/joint", "name class active joint1 joint2 polycoef"),
    LOST("equality/joint", "solref solimp", EXACT),
    READ("equality/tendon", "name class active tendon1 tendon2 polycoef"),
    LOST("equality/tendon", "solref solimp", EXACT),
    LOST("flex", NULL, NO_FLEX),
    LOST("flexvert", NULL, NO_FLEX),
    LOST("flexstrain", NULL, NO_FLEX),
    READ("tendon", TENDON), // the section, and the element of a class
    LOST("tendon", TENDON_LOST, SERVO),
    NOTE("tendon", TENDON_LOOKS, DRAWING),
    READ("fixed", TENDON),
    LOST("fixed", TENDON_LOST, SERVO),
    NOTE("fixed", TENDON_LOOKS, DRAWING),
    READ("fixed/joint", "joint coef"),
    READ("spatial", TENDON),
    LOST("spatial", TENDON_LOST, SERVO),
    NOTE("spatial", TENDON_LOOKS, DRAWING),
    READ("spatial/site", "site"),
    READ("spatial/geom", "geom sidesite"),
    READ("spatial/pulley", "divisor"),
    READ("actuator", ""),
    READ("general", ACTUATOR "dyntype gaintype biastype dynprm gainprm biasprm input velrange ffrange"),
    NOTE("general", "user", NO_EFFECT),
    LOST("general", "delay nsample interp", "ignored: controls act at once"),
    READ("motor", ACTUATOR),
    NOTE("motor", "user", NO_EFFECT),
    LOST("motor", "delay nsample interp", "ignored: controls act at once"),
    READ("position", ACTUATOR "kp kv dampratio timeconst inheritrange"),
    NOTE("position", "user", NO_EFFECT),
    LOST("position", "delay nsample interp", "ignored: controls act at once"),
    READ("velocity", ACTUATOR "kv"),
    NOTE("velocity", "user", NO_EFFECT),
    LOST("velocity", "delay nsample interp", "ignored: controls act at once"),
    READ("intvelocity", ACTUATOR "kp kv dampratio timeconst inheritrange"),
    READ("damper", ACTUATOR "kv"),
    READ("cylinder", ACTUATOR "timeconst area diameter bias"),
    READ("muscle", ACTUATOR "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax"),
    READ("adhesion", ACTUATOR "gain"),
    READ("dcmotor", NULL),
    READ("orientation", NULL),
    READ("pid", NULL),
    READ("actuator/plugin", NULL),
    READ("sensor", ""),
    // Those that are not read here are listed where they are met (sensors.c).
    READ("jointpos", SENSOR "joint"),
    READ("jointvel", SENSOR "joint"),
    READ("ballquat", SENSOR "joint"),
    READ("ballangvel", SENSOR "joint"),
    READ("tendonpos", SENSOR "tendon"),
    READ("tendonvel", SENSOR "tendon"),
    READ("actuatorfrc", SENSOR "actuator"),
    READ("framepos", FRAME),
    READ("framequat", FRAME),
    READ("framexaxis", FRAME),
    READ("frameyaxis", FRAME),
    READ("framezaxis", FRAME),
    READ("framelinvel", FRAME),
    READ("frameangvel", FRAME),
    READ("framelinacc", FRAME),
    READ("frameangacc", FRAME),
    READ("velocimeter", SENSOR "site"),
    READ("gyro", SENSOR "site"),
    READ("accelerometer", SENSOR "site"),
    READ("force", SENSOR "site"),
    READ("torque", SENSOR "site"),
    READ("subtreecom", SENSOR "body"),
    READ("subtreelinvel", SENSOR "body"),
    READ("clock", SENSOR),
    READ("touch", SENSOR "site"),
    READ("rangefinder", SENSOR "site camera data"),
    READ("magnetometer", SENSOR "site"),
    READ("camprojection", NULL),
    READ("jointactuatorfrc", SENSOR "joint"),
    READ("tendonactuatorfrc", SENSOR "tendon"),
    READ("actuatorpos", SENSOR "actuator"),
    READ("actuatorvel", SENSOR "actuator"),
    READ("jointlimitpos", NULL),
    READ("jointlimitvel", NULL),
    READ("jointlimitfrc", NULL),
    READ("tendonlimitpos", NULL),
    READ("tendonlimitvel", NULL),
    READ("tendonlimitfrc", NULL),
    READ("subtreeangmom", SENSOR "body"),
    READ("insidesite", NULL),
    READ("distance", NULL),
    READ("normal", NULL),
    READ("fromto", NULL),
    READ("sensor/contact", NULL),
    READ("e_potential", NULL),
    READ("e_kinetic", NULL),
    READ("tactile", NULL),
    READ("sensor/user", NULL),
    READ("sensor/plugin", NULL),
    READ("custom", ""),
    READ("numeric", "name size data"),
    NOTE("text", NULL, NO_EFFECT),
    NOTE("tuple", NULL, NO_EFFECT),
    READ("keyframe", ""),
    READ("key", "name time qpos qvel ctrl act"),
    LOST("key", "mpos mquat", "ignored: mocap bodies do not move"),
};

enum { ROWS = (int)(sizeof rows / sizeof rows[0]) };

// Whether a list of words separated by blanks has this one.
static bool has_word(const char* list, const char* word) {
    const size_t length = strlen(word);
    for (const char* p = strstr(list, word); p != NULL; p = strstr(p + 1, word))
        if ((p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0')) return true;
    return false;
}

static void report_attribute(const mjcf_source* source, const cal_xml_node* node, const char* attribute, int first) {
    int i = first;
    while (i < ROWS && strcmp(rows[i].element, rows[first].element) == 0 && !has_word(rows[i].attributes, attribute))
        i++;
    const bool known = i < ROWS && strcmp(rows[i].element, rows[first].element) == 0;
    if (known && rows[i].consequence == NULL) return;
    char what[80];
    snprintf(what, sizeof what, "%.30s %.40s", node->name, attribute);
    if (known)
        cal_report_add(source->reader->report, node, rows[i].kind, what, "%s", rows[i].consequence);
    else
        cal_report_add(source->reader->report, node, CAL_ISSUE_NOT_UNDERSTOOD, what, "the attribute has no effect");
}

// Returns whether to look at what is in the element.
static bool report_element(const mjcf_source* source, const cal_xml_node* node, cal_name_table* firsts) {
    char key[80];
    snprintf(key, sizeof key, "%.30s/%.40s", node->parent != NULL ? node->parent->name : "", node->name);
    int first = cal_names_find(firsts, key);
    if (first == CAL_NONE) first = cal_names_find(firsts, node->name);
    char what[80];
    snprintf(what, sizeof what, "<%.60s>", node->name);
    if (first == CAL_NONE) {
        cal_report_add(source->reader->report, node, CAL_ISSUE_NOT_UNDERSTOOD, what,
                       "it and what is in it have no effect");
        return false;
    }
    if (rows[first].attributes == NULL) {
        // Of a section, what is in it is counted: three tendons, not one <tendon>.
        const cal_xml_node* inside = node->parent == source->root ? node->first : NULL;
        if (rows[first].consequence == NULL) return false;
        do {
            cal_report_add(source->reader->report, inside != NULL ? inside : node, rows[first].kind, what, "%s",
                           rows[first].consequence);
            inside = inside != NULL ? inside->next : NULL;
        } while (inside != NULL);
        return false;
    }
    for (int i = 0; i < node->attribute_count; i++) report_attribute(source, node, node->attributes[i].name, first);
    return true;
}

void mjcf_report_unknown(const mjcf_source* source) {
    cal_name_table* firsts = cal_names_create(ROWS);
    if (firsts == NULL) return; // reading will find no memory either
    for (int i = 0; i < ROWS; i++) cal_names_add(firsts, rows[i].element, i);
    const cal_xml_node* node = source->root;
    while (node != NULL) {
        if (report_element(source, node, firsts) && node->first != NULL) {
            node = node->first;
            continue;
        }
        while (node != source->root && node->next == NULL) node = node->parent;
        node = node == source->root ? NULL : node->next;
    }
    cal_names_destroy(firsts);
}
