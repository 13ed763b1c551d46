// What is attached to bodies: constraints, shapes and meshes. Their checks, and what callers may ask about their kinds.
#include "model/builder.h"

enum { TEXT = 80 };

int cal_constraint_rows(const cal_constraint_def* def, int* nonholonomic) {
    int rows = 1;
    if (def == NULL) return 0;
    switch (def->kind) {
    case CAL_WELD: rows = 6; break;
    case CAL_LOOP_REVOLUTE:
    case CAL_LOOP_PRISMATIC: rows = 5; break;
    case CAL_LOOP_BALL:
    case CAL_ROLLING: rows = 3; break;
    case CAL_ON_CIRCLE: rows = 2; break;
    case CAL_ROWS:
        rows = 0;
        for (uint32_t bits = def->rows; bits != 0; bits &= bits - 1) rows++;
        break;
    case CAL_DISTANCE:
    case CAL_ON_SURFACE:
    case CAL_COUPLING:
    case CAL_KNIFE_EDGE: break;
    }
    if (nonholonomic != NULL) *nonholonomic = def->kind == CAL_KNIFE_EDGE ? 1 : def->kind == CAL_ROLLING ? 2 : 0;
    return rows;
}

const char* cal_constraint_kind_name(cal_constraint_kind kind) {
    switch (kind) {
    case CAL_WELD: return "weld";
    case CAL_LOOP_REVOLUTE: return "revolute";
    case CAL_LOOP_PRISMATIC: return "prismatic";
    case CAL_LOOP_BALL: return "ball";
    case CAL_ROWS: return "rows";
    case CAL_DISTANCE: return "distance";
    case CAL_ON_CIRCLE: return "on circle";
    case CAL_ON_SURFACE: return "on surface";
    case CAL_COUPLING: return "coupling";
    case CAL_KNIFE_EDGE: return "knife edge";
    case CAL_ROLLING: return "rolling";
    }
    return "unknown";
}

const char* cal_shape_kind_name(cal_shape_kind kind) {
    switch (kind) {
    case CAL_SPHERE: return "sphere";
    case CAL_CAPSULE: return "capsule";
    case CAL_ELLIPSOID: return "ellipsoid";
    case CAL_CYLINDER: return "cylinder";
    case CAL_BOX: return "box";
    case CAL_PLANE: return "plane";
    case CAL_MESH: return "mesh";
    case CAL_HEIGHT_FIELD: return "height field";
    }
    return "unknown";
}

int cal_shape_size_count(cal_shape_kind kind) {
    switch (kind) {
    case CAL_SPHERE: return 1;
    case CAL_CAPSULE:
    case CAL_CYLINDER: return 2;
    case CAL_ELLIPSOID:
    case CAL_BOX: return 3;
    default: return 0;
    }
}

static cal_status validate_frame(const double position[3], const double quaternion[4], const char* who,
                                 cal_error* error) {
    if (!cal_all_finite(position, 3) || !cal_all_finite(quaternion, 4))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its position or quaternion is not finite", who);
    if (cal_length(quaternion, 4) == 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its quaternion is zero; no rotation is (1, 0, 0, 0)", who);
    return CAL_OK;
}

static cal_status validate_coupling(const cal_model* model, const cal_constraint_def* def, const char* who,
                                    cal_error* error) {
    for (int i = 0; i < 2; i++) {
        const int joint = def->joint[i];
        if (i == 1 && joint == CAL_NONE) continue;
        if (joint < 0 || joint >= model->joint_count)
            return cal_fail(error, CAL_BAD_MODEL, "%s: it couples joint %d, but there are joints 0 to %d only", who,
                            joint, model->joint_count - 1);
        const cal_joint_kind kind = model->joints[joint].def->kind;
        if (cal_joint_v_count(kind) != 1)
            return cal_fail(error, CAL_BAD_MODEL, "%s: joint %d is a %s joint; only joints of one degree are coupled",
                            who, joint, cal_joint_kind_name(kind));
    }
    if (def->joint[0] == def->joint[1])
        return cal_fail(error, CAL_BAD_MODEL, "%s: it couples joint %d with itself", who, def->joint[0]);
    return cal_all_finite(def->polynomial, 5) ? CAL_OK
                                              : cal_fail(error, CAL_BAD_MODEL, "%s: its polynomial is not finite", who);
}

static cal_status validate_constraint(const cal_model* model, int number, cal_error* error) {
    const cal_constraint_def* def = &model->constraints[number];
    char who[TEXT];
    cal_describe("constraint", def->name, number, who, sizeof who);
    if ((int)def->kind < CAL_WELD || (int)def->kind > CAL_ROLLING)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its kind is %d, which is no kind of constraint", who,
                        (int)def->kind);
    if (def->kind == CAL_COUPLING) return validate_coupling(model, def, who, error);
    for (int i = 0; i < 2; i++) {
        const int body = def->body[i];
        if (body != CAL_GROUND && (body < 0 || body >= model->body_count))
            return cal_fail(error, CAL_BAD_MODEL, "%s: it holds body %d, but there are bodies 0 to %d only", who, body,
                            model->body_count - 1);
        const cal_status status = validate_frame(def->position[i], def->quaternion[i], who, error);
        if (status != CAL_OK) return status;
    }
    if (def->body[0] == def->body[1]) return cal_fail(error, CAL_BAD_MODEL, "%s: it holds a body to itself", who);
    if (cal_is_loop_joint(def) && (def->closes < 0 || def->closes >= model->joint_count || def->body[0] < 0 ||
                                   model->joints[def->closes].body != def->body[0]))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it closes joint %d, which is not its first body's", who,
                        def->closes);
    if (def->kind == CAL_ROWS && (def->rows == 0 || def->rows > 63))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its rows are %u; they are bits from 1 to 63", who, def->rows);
    const bool measured = def->kind == CAL_DISTANCE || def->kind == CAL_ON_CIRCLE || def->kind == CAL_ROLLING;
    if (measured && !(def->length > 0.0 && isfinite(def->length)))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its length is %g; it must be above zero", who, def->length);
    if (def->kind == CAL_ON_SURFACE && def->surface == NULL)
        return cal_fail(error, CAL_BAD_MODEL, "%s: it has no surface", who);
    return CAL_OK;
}

static cal_status validate_shape(const cal_model* model, int number, cal_error* error) {
    const cal_shape_def* def = &model->shapes[number];
    char who[TEXT];
    cal_describe("shape", def->name, number, who, sizeof who);
    if ((int)def->kind < CAL_SPHERE || (int)def->kind > CAL_HEIGHT_FIELD)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its kind is %d, which is no kind of shape", who, (int)def->kind);
    if (def->body != CAL_GROUND && (def->body < 0 || def->body >= model->body_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it is on body %d, but there are bodies 0 to %d only", who, def->body,
                        model->body_count - 1);
    const cal_status status = validate_frame(def->position, def->quaternion, who, error);
    if (status != CAL_OK) return status;
    for (int i = 0; i < cal_shape_size_count(def->kind); i++)
        if (!(def->size[i] > 0.0 && isfinite(def->size[i])))
            return cal_fail(error, CAL_BAD_MODEL, "%s: a %s of size %g; it must be above zero", who,
                            cal_shape_kind_name(def->kind), def->size[i]);
    const bool meshed = def->kind == CAL_MESH || def->kind == CAL_HEIGHT_FIELD;
    if (meshed && (def->mesh < 0 || def->mesh >= model->mesh_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its mesh is %d, but there are %d meshes", who, def->mesh,
                        model->mesh_count);
    if (def->texture != CAL_NONE && (def->texture < 0 || def->texture >= model->kept.texture_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its texture is %d, but there are %d textures", who, def->texture,
                        model->kept.texture_count);
    if (!isfinite(def->texture_repeat[0]) || !isfinite(def->texture_repeat[1]))
        return cal_fail(error, CAL_BAD_MODEL, "%s: how often its texture repeats is not finite", who);
    if (def->kind == CAL_HEIGHT_FIELD && model->meshes[def->mesh].columns < 2)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its mesh %d is no grid of heights", who, def->mesh);
    if (!(def->friction >= 0.0 && isfinite(def->friction)) || !(def->restitution >= 0.0 && def->restitution <= 1.0))
        return cal_fail(error, CAL_BAD_MODEL, "%s: friction %g must not be negative, restitution %g must be 0 to 1",
                        who, def->friction, def->restitution);
    return CAL_OK;
}

static cal_status validate_mesh(const cal_model* model, int number, cal_error* error) {
    const cal_mesh_def* def = &model->meshes[number];
    char who[TEXT];
    cal_describe("mesh", def->name, number, who, sizeof who);
    for (int i = 0; i < def->vertex_count; i++)
        if (!cal_all_finite(def->vertices + 3 * (size_t)i, 3))
            return cal_fail(error, CAL_BAD_MODEL, "%s: its vertex %d is not finite", who, i);
    for (size_t i = 0; i < 3 * (size_t)def->triangle_count; i++)
        if (def->triangles[i] < 0 || def->triangles[i] >= def->vertex_count)
            return cal_fail(error, CAL_BAD_MODEL, "%s: triangle %zu has vertex %d, but there are %d", who, i / 3,
                            def->triangles[i], def->vertex_count);
    if (def->columns > 0 && (def->vertex_count % def->columns != 0 || def->vertex_count / def->columns < 2))
        return cal_fail(error, CAL_BAD_MODEL, "%s: %d vertices are not rows of %d", who, def->vertex_count,
                        def->columns);
    return CAL_OK;
}

cal_status cal_model_validate_attached(const cal_model* model, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < model->mesh_count; i++) status = validate_mesh(model, i, error);
    for (int i = 0; status == CAL_OK && i < model->constraint_count; i++) status = validate_constraint(model, i, error);
    for (int i = 0; status == CAL_OK && i < model->shape_count; i++) status = validate_shape(model, i, error);
    return status;
}
