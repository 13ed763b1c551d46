// Energy and momentum of what moves, for reports. Of a body: ½ m u² + ½ ω·Iω and −m g·x. Joints add what no body has: armature,
// ½ a q̇², springs and stops (pass/joint_law.h), and what several of them have together (pass/coupled_force.h).
#include "simulation/energy.h"
#include "base/memory.h"
#include "layout/layout.h"
#include "model/model.h"
#include "pass/coupled_force.h"
#include "pass/joint_law.h"
#include "plan/plan.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"

void cal_find_energy(const cal_world* world, const cal_sim_body* part, const cal_motion* at, cal_energy_terms* out) {
    double w[3], spin[3], orbital[3];
    cal_unrotate3(at->pose.rotation, at->w, w);
    for (int i = 0; i < 3; i++) {
        spin[i] = part->inertia[i] * w[i];
        out->kinetic[i] = 0.5 * (part->mass * at->u[i] * at->u[i] + spin[i] * w[i]);
        out->fall[i] = part->mass * world->def.gravity[i] * at->pose.position[i];
        out->momentum[i] = part->mass * at->u[i];
    }
    cal_rotate3(at->pose.rotation, spin, spin);
    cal_cross3(at->pose.position, at->u, orbital);
    for (int i = 0; i < 3; i++) out->momentum[3 + i] = spin[i] + part->mass * orbital[i];
}

void cal_add_energy(const cal_energy_terms* terms, cal_world_report* r) {
    for (int i = 0; i < 3; i++) r->kinetic += terms->kinetic[i], r->potential -= terms->fall[i];
    for (int i = 0; i < 6; i++) r->momentum[i] += terms->momentum[i];
}

cal_status cal_add_joint_energy(cal_world* world, int component, cal_world_report* r) {
    const cal_multibody* m = world->components[component].multibody;
    const cal_multibody_model* e = m->engine;
    double* numbers = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *numbers);
    if (numbers == NULL) return CAL_NO_MEMORY;
    double *q = numbers, *v = numbers + e->q_count;
    const cal_status status = cal_multibody_at(world, m, world->time, q, v);
    for (int n = 0; status == CAL_OK && n < e->model->node_count; n++) {
        const cal_node* node = &e->model->nodes[n];
        r->potential += cal_node_energy(e->model, node, q + node->first_q);
        for (int i = 0; i < cal_kind_v(node->kind); i++)
            r->kinetic += 0.5 * node->armature * v[node->first_v + i] * v[node->first_v + i];
    }
    if (status == CAL_OK && e->aba_state->coupled != NULL)
        r->potential += cal_coupled_energy_at(e->aba_state->coupled, q, v);
    cal_free(numbers);
    return status;
}
