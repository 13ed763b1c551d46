// Geoms, and what bodies weigh.
//
// A body's inertia comes from its <inertial>, or from its geoms, or from both (compiler inertiafromgeom): each geom of a
// group in the compiler's range is a solid or a shell of its density or mass. Then the compiler's bounds are applied, to
// principal moments A, B, C, and A + B ≥ C is checked or, with balanceinertia, enforced by their mean.
#include "base/memory.h"
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

// Masses below this do not count, as in MuJoCo.
static const double smallest_mass = 1e-14;
// Files print inertias with about six digits.
static const double inertia_tolerance = 1e-6;

// --- Geoms --------------------------------------------------------------------------------------------------------------

// Half edges of the box with the same inertia, in the order of falling moments, and the principal axes in that order.
static void inertia_box(const cal_solid* solid, double half[3], double quaternion[4]) {
    double moments[3], found[4], axes[9], sorted[9];
    cal_principal_moments(solid->inertia, moments, found);
    cal_quaternion_matrix(found, axes);
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; i++)
        for (int j = i + 1; j < 3; j++)
            if (moments[order[j]] > moments[order[i]]) {
                const int swapped = order[i];
                order[i] = order[j];
                order[j] = swapped;
            }
    double x[3], y[3], z[3];
    for (int i = 0; i < 3; i++) {
        x[i] = axes[3 * i + order[0]];
        y[i] = axes[3 * i + order[1]];
    }
    cal_cross3(x, y, z); // right-handed again
    for (int i = 0; i < 3; i++) sorted[3 * i] = x[i], sorted[3 * i + 1] = y[i], sorted[3 * i + 2] = z[i];
    cal_matrix_quaternion(sorted, quaternion);
    for (int i = 0; i < 3; i++) {
        const double a = moments[order[i]], b = moments[order[(i + 1) % 3]], c = moments[order[(i + 2) % 3]];
        half[i] = 0.5 * sqrt(fmax(0.0, 6.0 * (b + c - a) / solid->mass));
    }
}

// The box around a mesh along the axes of `quaternion` through `origin`: its centre there, and half edges.
static void bounding_box(const cal_triangles* mesh, const double origin[3], const double quaternion[4],
                         double center[3], double half[3]) {
    double rotation[9], least[3] = {0.0}, most[3] = {0.0};
    cal_quaternion_matrix(quaternion, rotation);
    for (int v = 0; v < mesh->vertex_count; v++) {
        double point[3];
        for (int i = 0; i < 3; i++) point[i] = mesh->vertices[3 * (size_t)v + (size_t)i] - origin[i];
        cal_unrotate3(rotation, point, point);
        for (int i = 0; i < 3; i++) {
            least[i] = v == 0 ? point[i] : fmin(least[i], point[i]);
            most[i] = v == 0 ? point[i] : fmax(most[i], point[i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        center[i] = 0.5 * (least[i] + most[i]);
        half[i] = 0.5 * (most[i] - least[i]);
    }
}

// A simple shape that names a mesh is fitted to it.
static cal_status fit_geom(mjcf_geom* geom, mjcf_mesh* mesh, double position[3], double quaternion[4],
                           cal_error* error) {
    double half[3], turn[4], center[3] = {0.0, 0.0, 0.0};
    MJCF_TRY(mjcf_weigh_mesh(mesh, error));
    inertia_box(&mesh->solid, half, turn);
    const bool around = geom->source->compiler.fit_box;
    if (around) bounding_box(&mesh->triangles, mesh->solid.center, turn, center, half);
    double* size = geom->size;
    switch (geom->kind) {
    case CAL_SPHERE:
        size[0] = around ? fmax(fmax(half[0], half[1]), half[2]) : (half[0] + half[1] + half[2]) / 3.0;
        break;
    case CAL_CAPSULE:
    case CAL_CYLINDER:
        size[0] = around ? fmax(half[0], half[1]) : 0.5 * (half[0] + half[1]);
        size[1] = half[2];
        if (geom->kind == CAL_CAPSULE) size[1] = around ? half[2] - size[0] : fmax(0.0, half[2] - 0.5 * size[0]);
        break;
    default: memcpy(size, half, sizeof half); break;
    }
    for (int i = 0; i < 3; i++) size[i] *= geom->fit_scale;
    mjcf_compose(position, quaternion, mesh->solid.center, turn);
    mjcf_compose(position, quaternion, center, (double[4]){1.0, 0.0, 0.0, 0.0});
    return CAL_OK;
}

static cal_status apply_from_to(mjcf_geom* geom, cal_error* error) {
    const double* ends = geom->from_to;
    if (geom->kind != CAL_CAPSULE && geom->kind != CAL_CYLINDER && geom->kind != CAL_ELLIPSOID && geom->kind != CAL_BOX)
        return cal_xml_fail(geom->node, error, CAL_BAD_MODEL,
                            "fromto is for capsules, cylinders, ellipsoids and boxes");
    if (geom->mesh != NULL) return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "fromto cannot be used with a mesh");
    mjcf_orientation along = {.kind = MJCF_Z_AXIS};
    for (int i = 0; i < 3; i++) {
        along.values[i] = ends[i] - ends[3 + i];
        geom->position[i] = 0.5 * (ends[i] + ends[3 + i]);
    }
    const double half = 0.5 * cal_length(along.values, 3);
    if (!(half > 1e-14)) return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "the points of fromto are the same");
    const bool wide = geom->kind == CAL_ELLIPSOID || geom->kind == CAL_BOX;
    if (wide) geom->size[1] = geom->size[0];
    geom->size[wide ? 2 : 1] = half;
    geom->orientation = along;
    return CAL_OK;
}

static cal_status check_size(const mjcf_geom* geom, cal_error* error) {
    static const int needed[] = {1, 2, 3, 2, 3, 0, 0, 0}; // by cal_shape_kind
    for (int i = 0; i < needed[geom->kind]; i++)
        if (!(geom->size[i] > 0.0) || !isfinite(geom->size[i]))
            return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "a %s needs %d size%s above zero; this one has %g",
                                cal_shape_kind_name(geom->kind), needed[geom->kind], needed[geom->kind] == 1 ? "" : "s",
                                geom->size[i]);
    return CAL_OK;
}

static cal_status mesh_of(mjcf_geom* geom, mjcf_mesh** out, cal_error* error) {
    *out = NULL;
    if (geom->mesh == NULL)
        return geom->kind == CAL_MESH ? cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "it is a mesh, but names none")
                                      : CAL_OK;
    *out = mjcf_find_mesh(geom->source, geom->mesh);
    return *out != NULL ? CAL_OK
                        : cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "there is no mesh \"%.60s\"", geom->mesh);
}

// From here on position and orientation.quaternion are in the body's frame, and the size is what it will be. *usable is
// false when its mesh cannot be had.
static cal_status resolve_geom(mjcf_geom* geom, bool* usable, cal_error* error) {
    mjcf_mesh* mesh;
    double own[4], position[3], quaternion[4];
    *usable = true;
    MJCF_TRY(mesh_of(geom, &mesh, error));
    if (isfinite(geom->from_to[0])) {
        if (cal_xml_text(geom->node, "pos") != NULL && cal_xml_text(geom->node, "fromto") != NULL)
            cal_report_add(geom->source->reader->report, geom->node, CAL_ISSUE_NOT_UNDERSTOOD, "geom pos",
                           "ignored: fromto says where it is");
        MJCF_TRY(apply_from_to(geom, error));
    }
    MJCF_TRY(mjcf_resolve(&geom->source->compiler, &geom->orientation, geom->node, own, error));
    if (!cal_all_finite(geom->position, 3))
        return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "its pos or fromto is not finite");
    memcpy(position, geom->frame_position, sizeof position);
    memcpy(quaternion, geom->frame_quaternion, sizeof quaternion);
    mjcf_compose(position, quaternion, geom->position, own);
    if (mesh != NULL && geom->kind != CAL_MESH) {
        MJCF_TRY(mjcf_load_mesh(geom->source, mesh, usable, error));
        if (*usable) MJCF_TRY(fit_geom(geom, mesh, position, quaternion, error));
    }
    geom->orientation = (mjcf_orientation){.quaternion = {quaternion[0], quaternion[1], quaternion[2], quaternion[3]}};
    memcpy(geom->position, position, sizeof position);
    return *usable ? check_size(geom, error) : CAL_OK;
}

// In the body's frame; a mass of 0 when it does not count.
static cal_status geom_solid(mjcf_geom* geom, cal_solid* out, cal_error* error) {
    *out = (cal_solid){.mass = 0.0};
    if (geom->mass < 0.0 || geom->density < 0.0)
        return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "its mass or density is negative");
    const bool given = !isnan(geom->mass);
    if (given ? geom->mass == 0.0 : geom->density == 0.0) return CAL_OK;
    cal_solid own = {.mass = 0.0};
    if (geom->kind == CAL_MESH) {
        mjcf_mesh* mesh;
        bool available;
        MJCF_TRY(mesh_of(geom, &mesh, error));
        MJCF_TRY(mjcf_load_mesh(geom->source, mesh, &available, error));
        if (!available)
            return cal_xml_fail(geom->node, error, CAL_BAD_MODEL,
                                "its body's inertia comes from the mesh \"%.60s\", which cannot be read", geom->mesh);
        MJCF_TRY(mjcf_weigh_mesh(mesh, error));
        own = cal_solid_scaled(&mesh->solid, given ? geom->mass : geom->density * mesh->solid.mass);
    } else if (given) {
        const double content =
            geom->shell ? cal_solid_area(geom->kind, geom->size) : cal_solid_volume(geom->kind, geom->size);
        if (content > smallest_mass) own = cal_solid_of_mass(geom->kind, geom->size, geom->shell, geom->mass);
    } else {
        own = cal_solid_of_density(geom->kind, geom->size, geom->shell, geom->density);
    }
    if (!isfinite(own.mass)) return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "its mass is not finite");
    if (own.mass > smallest_mass) *out = cal_solid_placed(&own, geom->position, geom->orientation.quaternion);
    return CAL_OK;
}

static void shape_color(const mjcf_geom* geom, float color[4]) {
    static const float plain[4] = {0.5F, 0.5F, 0.5F, 1.0F};
    memcpy(color, geom->color, 4 * sizeof *color);
    const mjcf_material* material = geom->material != NULL ? mjcf_find_material(geom->source, geom->material) : NULL;
    if (material != NULL && cal_same_bits(color, plain, sizeof plain))
        memcpy(color, material->color, 4 * sizeof *color);
}

// MuJoCo's viewers show groups 0, 1 and 2.
enum { SHOWN_GROUPS = 3 };

double mjcf_geom_friction(const mjcf_geom* geom) {
    const double whole = geom->source->model->friction;
    if (geom->condim == 1) return 0.0;
    return geom->friction_given || isnan(whole) ? geom->friction : whole;
}

cal_status mjcf_geom_shape(mjcf_geom* geom, cal_shape_def* shape, bool* drawn, cal_error* error) {
    const mjcf_model* model = geom->source->model;
    const bool collides = geom->contype != 0 || geom->conaffinity != 0;
    *shape = cal_default_shape_def();
    *drawn = geom->shape != CAL_GROUND; // see weigh_geoms
    if (!*drawn || (geom->source->compiler.discard_visual && !collides)) {
        *drawn = false;
        return CAL_OK;
    }
    shape->name = geom->name;
    shape->body = geom->body;
    shape->kind = geom->kind;
    memcpy(shape->position, geom->position, sizeof shape->position);
    memcpy(shape->quaternion, geom->orientation.quaternion, sizeof shape->quaternion);
    memcpy(shape->size, geom->size, sizeof shape->size);
    if (geom->kind == CAL_PLANE)
        for (int i = 0; i < 3; i++) shape->size[i] = fmax(0.0, shape->size[i]);
    if (geom->kind == CAL_MESH) {
        mjcf_mesh* mesh;
        MJCF_TRY(mesh_of(geom, &mesh, error));
        MJCF_TRY(mjcf_use_mesh(geom->source, mesh, &shape->mesh, error));
        *drawn = shape->mesh != CAL_NONE;
    } else if (geom->kind == CAL_HEIGHT_FIELD) {
        if (geom->height_field == NULL)
            return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "it is a height field, but names none");
        MJCF_TRY(mjcf_use_field(geom->source, geom->height_field, geom->node, &shape->mesh, error));
        *drawn = shape->mesh != CAL_NONE;
    }
    if (geom->friction < 0.0) return cal_xml_fail(geom->node, error, CAL_BAD_MODEL, "its friction is negative");
    shape->friction = mjcf_geom_friction(geom);
    shape->priority = geom->priority;
    if (!isnan(model->restitution)) shape->restitution = fmin(1.0, fmax(0.0, model->restitution));
    shape->collides = collides;
    shape->category = (uint32_t)geom->contype;
    shape->mask = (uint32_t)geom->conaffinity;
    shape_color(geom, shape->color);
    const mjcf_material* material = geom->material != NULL ? mjcf_find_material(geom->source, geom->material) : NULL;
    if (material != NULL) MJCF_TRY(mjcf_use_texture(geom->source, material, shape, error));
    shape->group = geom->group;
    shape->visible = shape->color[3] > 0.0F && geom->group < SHOWN_GROUPS;
    return CAL_OK;
}

// --- Bodies -------------------------------------------------------------------------------------------------------------

static cal_status weigh_geoms(mjcf_model* model, mjcf_body* body, cal_error* error) {
    const mjcf_compiler* compiler = &body->source->compiler;
    cal_solid sum = {.mass = 0.0};
    for (int i = body->first_geom; i >= 0;) {
        mjcf_geom* geom = &((mjcf_geom*)model->geoms.items)[i];
        i = geom->next;
        if (geom->group < compiler->group_range[0] || geom->group > compiler->group_range[1]) continue;
        cal_solid solid;
        MJCF_TRY(geom_solid(geom, &solid, error));
        if (solid.mass > smallest_mass) cal_solid_add(&sum, &solid);
    }
    if (sum.mass > 0.0) body->solid = sum;
    return CAL_OK;
}

static cal_status bound_inertia(mjcf_model* model, mjcf_body* body, cal_error* error) {
    const mjcf_compiler* compiler = &body->source->compiler;
    double moments[3], quaternion[4];
    char why[128];
    cal_solid* solid = &body->solid;
    solid->mass = fmax(solid->mass, compiler->bound_mass);
    if (!isfinite(solid->mass) || !cal_all_finite(solid->center, 3) || !cal_all_finite(solid->inertia, 6))
        return cal_xml_fail(body->node, error, CAL_BAD_MODEL, "its mass, centre or inertia is not finite");
    if (compiler->bound_inertia > 0.0 || compiler->balance_inertia) {
        cal_principal_moments(solid->inertia, moments, quaternion);
        bool changed = false;
        for (int i = 0; i < 3; i++) {
            changed = changed || moments[i] < compiler->bound_inertia;
            moments[i] = fmax(moments[i], compiler->bound_inertia);
        }
        const double total = moments[0] + moments[1] + moments[2],
                     largest = fmax(fmax(moments[0], moments[1]), moments[2]);
        if (compiler->balance_inertia && total - 2.0 * largest < -1e-12 * total) {
            changed = true;
            for (int i = 0; i < 3; i++) moments[i] = total / 3.0;
        }
        if (changed) cal_inertia_from_moments(moments, quaternion, solid->inertia);
    }
    if (cal_inertia_possible(solid->inertia, inertia_tolerance, why, sizeof why)) return CAL_OK;
    if (!model->reader->options->repair)
        return cal_xml_fail(body->node, error, CAL_BAD_MODEL,
                            "no body has this inertia: %s; balanceinertia or --repair would change it", why);
    cal_inertia_repair(solid->inertia);
    cal_report_add(model->reader->report, body->node, CAL_ISSUE_REPAIRED, "inertial", "no body has this inertia: %s",
                   why);
    return CAL_OK;
}

// Every geom once, also those of the world: a geom whose mesh cannot be had is marked by the shape CAL_GROUND.
static cal_status resolve_geoms(mjcf_model* model, cal_error* error) {
    for (int i = 0; i < model->geoms.count; i++) {
        mjcf_geom* geom = &((mjcf_geom*)model->geoms.items)[i];
        bool usable;
        MJCF_TRY(resolve_geom(geom, &usable, error));
        if (!usable) geom->shape = CAL_GROUND;
    }
    return CAL_OK;
}

cal_status mjcf_weigh_bodies(mjcf_model* model, cal_error* error) {
    double total = 0.0;
    MJCF_TRY(resolve_geoms(model, error));
    for (int i = 0; i < model->bodies.count; i++) {
        mjcf_body* body = &((mjcf_body*)model->bodies.items)[i];
        const mjcf_choice from_geom = body->source->compiler.inertia_from_geom;
        if (from_geom == MJCF_YES || (from_geom == MJCF_AUTO && !body->has_inertial))
            MJCF_TRY(weigh_geoms(model, body, error));
        MJCF_TRY(bound_inertia(model, body, error));
        total += body->solid.mass;
    }
    const double wanted = model->main->compiler.total_mass;
    if (!(wanted > 0.0) || !(total > 0.0)) return CAL_OK;
    for (int i = 0; i < model->bodies.count; i++) {
        cal_solid* solid = &((mjcf_body*)model->bodies.items)[i].solid;
        *solid = cal_solid_scaled(solid, solid->mass * (wanted / total));
    }
    return CAL_OK;
}
