// See mjcf.h. Both engines give q and v the same meaning; they differ in their order alone, because MuJoCo numbers bodies
// depth first, so everything is named by Calder's numbers and looked up by name.
#include "mjcf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/vector.h"

static void write_numbers(FILE* file, const char* attribute, const double* values, int count) {
    fprintf(file, " %s=\"", attribute);
    for (int i = 0; i < count; i++) fprintf(file, "%s%.17g", i ? " " : "", values[i]);
    fputc('"', file);
}

static void write_body(FILE* file, const peer_tree* tree, int body) {
    const cal_body_def* const def = &tree->bodies[body].def;
    fprintf(file, "<body name=\"b%d\"", body);
    write_numbers(file, "pos", def->position, 3);
    write_numbers(file, "quat", def->quaternion, 4);
    fputs(">\n", file);
    if (def->mass > 0.0) {
        // MuJoCo wants moments that are positive and obey the triangle inequality; rounding takes that from rods, plates
        // and points, so a sphere of a ten-trillionth of the inertia is added.
        double moments[3], axes[9], quaternion[4];
        peer_principal_axes(def, moments, axes);
        cal_matrix_quaternion(axes, quaternion);
        const double sphere = fmax(1e-13 * (moments[0] + moments[1] + moments[2]), 4e-15);
        for (int i = 0; i < 3; i++) moments[i] += sphere;
        fputs("<inertial", file);
        write_numbers(file, "pos", def->center, 3);
        write_numbers(file, "quat", quaternion, 4);
        write_numbers(file, "mass", &def->mass, 1);
        write_numbers(file, "diaginertia", moments, 3);
        fputs("/>\n", file);
    }
    static const char* const types[] = {"hinge", "slide", "ball", "free"};
    for (int i = tree->bodies[body].first_joint; i >= 0; i = tree->joints[i].next) {
        const cal_joint_def* const joint = &tree->joints[i].def;
        const bool has_axis = joint->kind == CAL_REVOLUTE || joint->kind == CAL_PRISMATIC;
        fprintf(file, "<joint name=\"j%d\" type=\"%s\"", i, types[joint->kind]);
        if (joint->kind != CAL_FREE) write_numbers(file, "pos", joint->anchor, 3);
        if (has_axis) write_numbers(file, "axis", joint->axis, 3);
        if (has_axis) write_numbers(file, "ref", &joint->zero, 1);
        if (has_axis) write_numbers(file, "springref", &joint->spring_reference, 1);
        write_numbers(file, "damping", &joint->damping, 1);
        write_numbers(file, "stiffness", &joint->stiffness, 1);
        write_numbers(file, "armature", &joint->armature, 1);
        fputs("/>\n", file);
    }
}

static void write_actuator(FILE* file, const cal_actuator_def* def) {
    fprintf(file, "<general joint=\"j%d\" biastype=\"affine\"", def->joint);
    write_numbers(file, "gear", &def->gear, 1);
    write_numbers(file, "gainprm", &def->gain, 1);
    write_numbers(file, "biasprm", def->bias, 3);
    if (def->control_range[0] != def->control_range[1]) {
        fputs(" ctrllimited=\"true\"", file);
        write_numbers(file, "ctrlrange", def->control_range, 2);
    }
    if (def->force_range[0] != def->force_range[1]) {
        fputs(" forcelimited=\"true\"", file);
        write_numbers(file, "forcerange", def->force_range, 2);
    }
    fputs("/>\n", file);
}

// The model as MJCF; freed with free(). NULL when memory ran out. Limits are left out: MuJoCo's are constraints.
static char* write_mjcf(const peer_tree* tree) {
    char* text = NULL;
    size_t length = 0;
    FILE* const file = open_memstream(&text, &length);
    if (!file) return NULL;
    fputs("<mujoco>\n<compiler angle=\"radian\" balanceinertia=\"false\" inertiafromgeom=\"false\"/>\n"
          "<size njmax=\"1\" nconmax=\"1\"/>\n<option",
          file);
    write_numbers(file, "gravity", tree->gravity, 3);
    fputs("><flag contact=\"disable\" constraint=\"disable\" energy=\"enable\"/></option>\n<worldbody>\n", file);
    int open = CAL_GROUND;
    for (int i = 0; i < tree->body_count; i++) {
        for (; open != tree->bodies[tree->order[i]].def.parent; open = tree->bodies[open].def.parent)
            fputs("</body>\n", file);
        open = tree->order[i];
        write_body(file, tree, open);
    }
    for (; open != CAL_GROUND; open = tree->bodies[open].def.parent) fputs("</body>\n", file);
    fputs("</worldbody>\n<actuator>\n", file);
    for (int i = 0; i < cal_model_actuator_count(tree->model); i++) {
        cal_actuator_def def;
        cal_model_actuator(tree->model, i, &def);
        write_actuator(file, &def);
    }
    fputs("</actuator>\n</mujoco>\n", file);
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

static mjModel* load(const char* text, cal_error* error) {
    mjVFS* const files = cal_allocate(1, sizeof *files);
    if (!files) return NULL;
    mj_defaultVFS(files);
    const int length = (int)strlen(text);
    mjModel* model = NULL;
    if (mj_makeEmptyFileVFS(files, "model.xml", length) == 0) {
        memcpy(files->filedata[0], text, (size_t)length);
        char complaint[512] = "";
        model = mj_loadXML("model.xml", files, complaint, sizeof complaint);
        complaint[strcspn(complaint, "\n")] = '\0';
        // 18 is tinyxml2's XML_ELEMENT_DEPTH_EXCEEDED.
        const bool too_deep = strstr(complaint, "XML parse error 18") != NULL;
        if (!model)
            cal_explain(error, CAL_NOT_AVAILABLE, "MuJoCo does not load the model: %.180s",
                        too_deep ? "its XML reader does not nest bodies as deep as this" : complaint);
    }
    mj_deleteVFS(files);
    cal_free(files);
    return model;
}

cal_status peer_mujoco_create(const peer_tree* tree, peer_mujoco** out, cal_error* error) {
    *out = NULL;
    peer_mujoco* const peer = cal_allocate(1, sizeof *peer);
    char* const text = write_mjcf(tree);
    if (peer && text) {
        peer->tree = tree;
        peer->q_address = cal_allocate((size_t)tree->joint_count, sizeof(int));
        peer->v_address = cal_allocate((size_t)tree->joint_count, sizeof(int));
        peer->body = cal_allocate((size_t)tree->body_count, sizeof(int));
        cal_explain(error, CAL_NO_MEMORY, "there is not enough memory for MuJoCo's model");
        peer->model = load(text, error);
        if (peer->model) peer->data = mj_makeData(peer->model);
    }
    free(text);
    if (!peer || !peer->q_address || !peer->v_address || !peer->body || !peer->data) {
        peer_mujoco_destroy(peer);
        return error && error->status ? error->status : CAL_NO_MEMORY;
    }
    char name[16];
    for (int i = 0; i < tree->joint_count; i++) {
        snprintf(name, sizeof name, "j%d", i);
        const int joint = mj_name2id(peer->model, mjOBJ_JOINT, name);
        peer->q_address[i] = peer->model->jnt_qposadr[joint];
        peer->v_address[i] = peer->model->jnt_dofadr[joint];
    }
    for (int i = 0; i < tree->body_count; i++) {
        snprintf(name, sizeof name, "b%d", i);
        peer->body[i] = mj_name2id(peer->model, mjOBJ_BODY, name);
    }
    cal_model_initial(tree->model, NULL, NULL, peer->data->ctrl);
    *out = peer;
    return CAL_OK;
}

void peer_mujoco_destroy(peer_mujoco* peer) {
    if (!peer) return;
    if (peer->data) mj_deleteData(peer->data);
    if (peer->model) mj_deleteModel(peer->model);
    cal_free(peer->q_address);
    cal_free(peer->v_address);
    cal_free(peer->body);
    cal_free(peer);
}

void peer_mujoco_set(peer_mujoco* peer, const double* q, const double* v, const double* tau) {
    for (int i = 0; i < peer->tree->joint_count; i++) {
        const peer_joint* const joint = &peer->tree->joints[i];
        const int nq = cal_joint_q_count(joint->def.kind), nv = cal_joint_v_count(joint->def.kind);
        for (int k = 0; k < nq; k++) peer->data->qpos[peer->q_address[i] + k] = q[joint->first_q + k];
        for (int k = 0; k < nv; k++) {
            peer->data->qvel[peer->v_address[i] + k] = v[joint->first_v + k];
            peer->data->qfrc_applied[peer->v_address[i] + k] = tau[joint->first_v + k];
        }
    }
}

void peer_mujoco_evaluate(peer_mujoco* peer) {
    mj_fwdPosition(peer->model, peer->data);
    mj_fwdVelocity(peer->model, peer->data);
    mj_fwdActuation(peer->model, peer->data);
    mj_fwdAcceleration(peer->model, peer->data);
}

void peer_mujoco_get(const peer_mujoco* peer, double* qdd) {
    for (int i = 0; i < peer->tree->joint_count; i++) {
        const peer_joint* const joint = &peer->tree->joints[i];
        for (int k = 0; k < cal_joint_v_count(joint->def.kind); k++)
            qdd[joint->first_v + k] = peer->data->qacc_smooth[peer->v_address[i] + k];
    }
}

void peer_mujoco_poses(const peer_mujoco* peer, double* poses) {
    for (int i = 0; i < peer->tree->body_count; i++) {
        memcpy(poses + 7 * i, peer->data->xpos + 3 * peer->body[i], 3 * sizeof(double));
        memcpy(poses + 7 * i + 3, peer->data->xquat + 4 * peer->body[i], 4 * sizeof(double));
    }
}

void peer_mujoco_energy(peer_mujoco* peer, double* kinetic, double* potential) {
    mj_energyPos(peer->model, peer->data);
    mj_energyVel(peer->model, peer->data);
    *potential = peer->data->energy[0];
    *kinetic = peer->data->energy[1];
}
