// `calder info`: what is in a model.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "model_file.h"
#include "options.h"

#define DRAWN_BODIES 40
#define LOOKED_AT_ROWS 2000 // for rows that follow from others
#define KIND_COUNT (CAL_FREE + 1)
#define NAME_CAPACITY 128

// The tree as lists: where each body's joints and children are. Bodies are numbered from 1; entry 0 is the ground.
typedef struct topology {
    const cal_model* model;
    int* first_child;
    int* next_sibling;
    int* first_joint; // joints of one body follow each other through next_joint; -1: none
    int* next_joint;
} topology;

static void destroy_topology(topology* t) {
    free(t->first_child);
    free(t->next_sibling);
    free(t->first_joint);
    free(t->next_joint);
}

static bool create_topology(const cal_model* model, topology* t) {
    int bodies = cal_model_body_count(model), joints = cal_model_joint_count(model);
    *t = (topology){model, calloc((size_t)bodies + 1, sizeof(int)), calloc((size_t)bodies + 1, sizeof(int)),
                    calloc((size_t)bodies + 1, sizeof(int)), calloc((size_t)joints + 1, sizeof(int))};
    if (!t->first_child || !t->next_sibling || !t->first_joint || !t->next_joint) return false;
    // Going backwards keeps children and joints in the order in which they were added.
    for (int body = bodies - 1; body >= 0; body--) {
        cal_body_def def;
        cal_model_body(model, body, &def);
        t->first_joint[body] = -1;
        t->next_sibling[body + 1] = t->first_child[def.parent + 1];
        t->first_child[def.parent + 1] = body + 1;
    }
    for (int joint = joints - 1; joint >= 0; joint--) {
        cal_joint_def def;
        int body;
        cal_model_joint(model, joint, &def, &body, NULL, NULL);
        t->next_joint[joint] = t->first_joint[body];
        t->first_joint[body] = joint;
    }
    return true;
}

static void print_body(const topology* t, int body) {
    char name[NAME_CAPACITY];
    cal_body_def def;
    cal_model_body(t->model, body, &def);
    printf("%s  ", cal_model_body_name(t->model, body, name, sizeof name));
    if (t->first_joint[body] < 0) printf("fixed");
    for (int joint = t->first_joint[body]; joint >= 0; joint = t->next_joint[joint]) {
        cal_joint_def joint_def;
        cal_model_joint(t->model, joint, &joint_def, NULL, NULL, NULL);
        printf("%s%s", joint == t->first_joint[body] ? "" : " + ", cal_joint_kind_name(joint_def.kind));
        if (joint_def.name && strcmp(joint_def.name, name) != 0) printf(" %s", joint_def.name);
    }
    printf(", %.4g kg\n", def.mass);
}

// Depth first and without recursion; the depth of what is drawn is bounded by the number of lines.
static void draw_tree(const topology* t) {
    int path[DRAWN_BODIES + 2], depth = 0, drawn = 0;
    printf("\nground\n");
    path[0] = t->first_child[0];
    while (depth >= 0 && drawn < DRAWN_BODIES) {
        int node = path[depth];
        if (node == 0) {
            if (--depth >= 0) path[depth] = t->next_sibling[path[depth]];
            continue;
        }
        for (int i = 0; i < depth; i++) printf("%s", t->next_sibling[path[i]] ? "│  " : "   ");
        printf("%s", t->next_sibling[node] ? "├─ " : "└─ ");
        print_body(t, node - 1);
        drawn++;
        path[++depth] = t->first_child[node];
    }
    int left = cal_model_body_count(t->model) - drawn;
    if (left > 0) printf("… and %d more\n", left);
}

static void count_kinds(const cal_model* model, int counts[KIND_COUNT]) {
    memset(counts, 0, KIND_COUNT * sizeof *counts);
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        cal_model_joint(model, joint, &def, NULL, NULL, NULL);
        counts[def.kind]++;
    }
}

// What a constraint holds: two bodies, or two joints.
static void name_ends(const cal_model* model, const cal_constraint_def* def, char ends[2][NAME_CAPACITY]) {
    for (int i = 0; i < 2; i++) {
        if (def->kind == CAL_COUPLING && def->joint[i] == CAL_NONE)
            snprintf(ends[i], NAME_CAPACITY, "a constant");
        else if (def->kind == CAL_COUPLING)
            cal_model_joint_name(model, def->joint[i], ends[i], NAME_CAPACITY);
        else if (def->body[i] == CAL_GROUND)
            snprintf(ends[i], NAME_CAPACITY, "ground");
        else
            cal_model_body_name(model, def->body[i], ends[i], NAME_CAPACITY);
    }
}

// Rows that follow from others at the model's start.
typedef struct redundancy {
    bool* rows; // NULL: was not looked at
    int* first; // of each constraint
    int total, rank;
} redundancy;

static void destroy_redundancy(redundancy* r) {
    free(r->rows);
    free(r->first);
}

// Is not looked at where there is no memory for it, or no place where the constraints hold.
static redundancy find_redundancy(const cal_model* model) {
    const int count = cal_model_constraint_count(model);
    redundancy r = {.first = calloc((size_t)count + 1, sizeof(int))};
    if (!r.first || count == 0) return r;
    for (int i = 0; i < count; i++) {
        cal_constraint_def def;
        cal_model_constraint(model, i, &def);
        r.first[i] = r.total;
        r.total += cal_constraint_rows(&def, NULL);
    }
    r.first[count] = r.total;
    double* q = calloc((size_t)cal_model_q_count(model) + 1, sizeof *q);
    bool* rows = r.total <= LOOKED_AT_ROWS ? calloc((size_t)r.total + 1, sizeof *rows) : NULL;
    if (q && rows) {
        cal_model_initial(model, q, NULL, NULL);
        if (cal_loops_redundant(model, q, rows, &r.rank, NULL) == CAL_OK) r.rows = rows, rows = NULL;
    }
    free(q), free(rows);
    return r;
}

// What a row holds: displacements along, and turns about, a's axes; or what its constraint is about.
static const char* row_name(const cal_constraint_def* def, int row) {
    static const char* const axes[] = {"x", "y", "z", "turn x", "turn y", "turn z"};
    static const char* const rolling[] = {"height", "slip x", "slip y"};
    static const char* const circle[] = {"radius", "z"};
    unsigned bits = 0;
    switch (def->kind) {
    case CAL_WELD: bits = 63; break;
    case CAL_LOOP_REVOLUTE: bits = 31; break;
    case CAL_LOOP_PRISMATIC: bits = 59; break;
    case CAL_LOOP_BALL: bits = 7; break;
    case CAL_ROWS: bits = def->rows; break;
    case CAL_ROLLING: return rolling[row];
    case CAL_ON_CIRCLE: return circle[row];
    default: return cal_constraint_kind_name(def->kind);
    }
    for (int i = 0; i < 6; i++)
        if (bits >> i & 1 && row-- == 0) return axes[i];
    return "?";
}

static void print_redundant(const redundancy* r, int constraint, const cal_constraint_def* def) {
    const char* separator = "; redundant: ";
    for (int i = r->first[constraint]; r->rows && i < r->first[constraint + 1]; i++) {
        if (!r->rows[i]) continue;
        printf("%s%s", separator, row_name(def, i - r->first[constraint]));
        separator = ", ";
    }
}

static void list_constraints(const cal_model* model, const redundancy* r) {
    const int count = cal_model_constraint_count(model);
    if (count == 0) return;
    printf("\nconstraints\n");
    for (int i = 0; i < count && i < DRAWN_BODIES; i++) {
        cal_constraint_def def;
        char name[NAME_CAPACITY], ends[2][NAME_CAPACITY];
        cal_model_constraint(model, i, &def);
        name_ends(model, &def, ends);
        const int rows = cal_constraint_rows(&def, NULL);
        printf("   %s: %s, %d row%s, %s and %s%s", cal_model_constraint_name(model, i, name, sizeof name),
               cal_constraint_kind_name(def.kind), rows, rows == 1 ? "" : "s", ends[0], ends[1],
               def.inactive ? ", not connected" : "");
        print_redundant(r, i, &def);
        printf("\n");
    }
    if (count > DRAWN_BODIES) printf("… and %d more\n", count - DRAWN_BODIES);
}

static void print_keyframes(const cal_model* model) {
    printf("%-20s %d", "keyframes", cal_model_keyframe_count(model));
    const char* separator = ": ";
    for (int i = 0; i < cal_model_keyframe_count(model); i++) {
        cal_keyframe_def key;
        cal_model_keyframe(model, i, &key);
        if (!key.name) continue;
        printf("%s%s", separator, key.name);
        separator = ", ";
    }
    printf("\n");
}

static void print_summary(const topology* t, const redundancy* r, const char* argument, const cal_read_report* report) {
    const cal_model* model = t->model;
    int counts[KIND_COUNT];
    count_kinds(model, counts);
    printf("%-20s %s\n", "model", argument);
    printf("%-20s %d\n", "bodies", cal_model_body_count(model));
    printf("%-20s %d", "joints", cal_model_joint_count(model));
    const char* separator = ": ";
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (counts[kind] == 0) continue;
        printf("%s%d %s", separator, counts[kind], cal_joint_kind_name((cal_joint_kind)kind));
        separator = ", ";
    }
    printf("\n%-20s %d\n", "degrees of freedom", cal_model_v_count(model));
    printf("%-20s %d\n", "depth", cal_model_depth(model));
    printf("%-20s %.6g kg\n", "moving mass", cal_model_mass(model));
    printf("%-20s %.6g kg\n", "total mass", cal_model_total_mass(model));
    printf("%-20s %d\n", "actuators", cal_model_actuator_count(model));
    if (cal_model_sensor_count(model) > 0) printf("%-20s %d\n", "sensors", cal_model_sensor_count(model));
    if (cal_model_tendon_count(model) > 0) printf("%-20s %d\n", "tendons", cal_model_tendon_count(model));
    if (cal_model_constraint_count(model) > 0) {
        printf("%-20s %d, of %d rows", "constraints", cal_model_constraint_count(model), r->total);
        if (r->rows) printf(", %d independent at the start", r->rank);
        printf("\n");
    }
    if (cal_model_shape_count(model) > 0) printf("%-20s %d\n", "shapes", cal_model_shape_count(model));
    if (cal_model_site_count(model) > 0) printf("%-20s %d\n", "sites", cal_model_site_count(model));
    if (cal_model_keyframe_count(model) > 0) print_keyframes(model);
    draw_tree(t);
    list_constraints(model, r);
    cal_print_issues(report);
}

static void write_constraints(cal_json* json, const cal_model* model, const redundancy* r) {
    char name[NAME_CAPACITY];
    cal_json_open(json, "constraints", '[');
    for (int i = 0; i < cal_model_constraint_count(model); i++) {
        cal_constraint_def def;
        char ends[2][NAME_CAPACITY];
        int nonholonomic;
        cal_model_constraint(model, i, &def);
        name_ends(model, &def, ends);
        cal_json_open(json, NULL, '{');
        cal_json_text(json, "name", cal_model_constraint_name(model, i, name, sizeof name));
        cal_json_text(json, "kind", cal_constraint_kind_name(def.kind));
        cal_json_integer(json, "rows", cal_constraint_rows(&def, &nonholonomic));
        cal_json_integer(json, "nonholonomic", nonholonomic);
        cal_json_text(json, "a", ends[0]);
        cal_json_text(json, "b", ends[1]);
        cal_json_boolean(json, "connected", !def.inactive);
        cal_json_open(json, "redundant", '[');
        for (int k = r->first[i]; r->rows && k < r->first[i + 1]; k++)
            if (r->rows[k]) cal_json_text(json, NULL, row_name(&def, k - r->first[i]));
        cal_json_close(json, ']');
        cal_json_close(json, '}');
    }
    cal_json_close(json, ']');
}

// Flat, with parents by number: a chain of a million bodies would be too deep for readers as nested objects.
static void write_tree(cal_json* json, const topology* t) {
    const cal_model* model = t->model;
    char name[NAME_CAPACITY];
    cal_json_open(json, "tree", '[');
    for (int body = 0; body < cal_model_body_count(model); body++) {
        cal_body_def def;
        cal_model_body(model, body, &def);
        cal_json_open(json, NULL, '{');
        cal_json_text(json, "name", cal_model_body_name(model, body, name, sizeof name));
        cal_json_integer(json, "parent", def.parent);
        cal_json_number(json, "mass", def.mass);
        cal_json_open(json, "joints", '[');
        for (int joint = t->first_joint[body]; joint >= 0; joint = t->next_joint[joint]) {
            cal_joint_def joint_def;
            int first_q, first_v;
            cal_model_joint(model, joint, &joint_def, NULL, &first_q, &first_v);
            cal_json_open(json, NULL, '{');
            cal_json_text(json, "name", cal_model_joint_name(model, joint, name, sizeof name));
            cal_json_text(json, "kind", cal_joint_kind_name(joint_def.kind));
            cal_json_integer(json, "first_q", first_q);
            cal_json_integer(json, "first_v", first_v);
            cal_json_close(json, '}');
        }
        cal_json_close(json, ']');
        cal_json_close(json, '}');
    }
    cal_json_close(json, ']');
}

static void print_json(const topology* t, const redundancy* r, const char* argument, const cal_read_report* report) {
    const cal_model* model = t->model;
    int counts[KIND_COUNT];
    count_kinds(model, counts);
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", argument);
    cal_json_text(&json, "name", cal_model_name(model));
    cal_json_integer(&json, "bodies", cal_model_body_count(model));
    cal_json_integer(&json, "joints", cal_model_joint_count(model));
    cal_json_open(&json, "joints_by_kind", '{');
    for (int kind = 0; kind < KIND_COUNT; kind++)
        cal_json_integer(&json, cal_joint_kind_name((cal_joint_kind)kind), counts[kind]);
    cal_json_close(&json, '}');
    cal_json_integer(&json, "dof", cal_model_v_count(model));
    cal_json_integer(&json, "positions", cal_model_q_count(model));
    cal_json_integer(&json, "depth", cal_model_depth(model));
    cal_json_number(&json, "mass", cal_model_mass(model));
    cal_json_number(&json, "total_mass", cal_model_total_mass(model));
    cal_json_integer(&json, "actuators", cal_model_actuator_count(model));
    cal_json_integer(&json, "tendons", cal_model_tendon_count(model));
    cal_json_integer(&json, "sensors", cal_model_sensor_count(model));
    cal_json_integer(&json, "loops", cal_model_constraint_count(model));
    if (r->rows) cal_json_integer(&json, "rank", r->rank);
    write_constraints(&json, model, r);
    cal_json_integer(&json, "shapes", cal_model_shape_count(model));
    cal_json_integer(&json, "meshes", cal_model_mesh_count(model));
    cal_json_integer(&json, "sites", cal_model_site_count(model));
    cal_json_integer(&json, "keyframes", cal_model_keyframe_count(model));
    cal_json_number(&json, "timestep", cal_model_timestep(model));
    double gravity[3];
    cal_model_gravity(model, gravity);
    cal_json_numbers(&json, "gravity", gravity, 3);
    write_tree(&json, t);
    cal_json_issues(&json, report);
    cal_json_close(&json, '}');
}

int cal_command_info(int argc, char** argv) {
    bool as_json = false;
    cal_model_options options = {0};
    const cal_option table[] = {
        CAL_MODEL_FILE_OPTIONS(options),
        {"json", CAL_OPTION_FLAG, &as_json, NULL, "print one JSON object, with the whole tree", 0, 0, NULL},
    };
    const cal_usage usage = {
        "info",
        "MODEL",
        "Says what is in a model: counts, mass, its tree drawn in characters, and for a file what in\n"
        "it was not understood or is not simulated.",
        NULL,
        "calder info humanoid",
        1,
        1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    status = cal_model_open(argv[1], &options, &model, &report);
    if (status != CAL_EXIT_DONE) return status;
    topology t;
    redundancy r = find_redundancy(model);
    if (!create_topology(model, &t) || !r.first)
        status = cal_complain(CAL_EXIT_FAILED, "no memory for the tree of '%s'", argv[1]);
    else if (as_json)
        print_json(&t, &r, argv[1], report);
    else
        print_summary(&t, &r, argv[1], report);
    destroy_topology(&t);
    destroy_redundancy(&r);
    if (status == CAL_EXIT_DONE) cal_mention_listed_issues(argv[1], report);
    cal_read_report_destroy(report);
    cal_model_destroy(model);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}
