// calder-peer-simbody: forward dynamics by Simbody's recursive algorithm, realize(Acceleration).
//
// A body with several joints becomes a run of mobilized bodies, all but the last massless and all with the body's frame. A
// pin turns about the z of its two frames, a slider slides along their x. Simbody's u of balls and free joints are in the
// parent's axes, angular before linear.
#include <string>
#include <vector>

#include "Simbody.h"
#include "peer.h"

namespace {

using namespace SimTK;

Vec3 vector3(const double* v) { return Vec3(v[0], v[1], v[2]); }
Rotation rotation(const double* q) { return Rotation(Quaternion(q[0], q[1], q[2], q[3])); }

struct Simbody {
    explicit Simbody(const peer_tree* model)
        : tree(model), matter(system), forces(system), gravity(forces, matter, vector3(model->gravity)),
          applied(forces, matter), force(size_t(model->v_count)) {}
    const peer_tree* tree;
    MultibodySystem system;
    SimbodyMatterSubsystem matter;
    GeneralForceSubsystem forces;
    Force::UniformGravity gravity;
    Force::DiscreteForces applied;
    State state;
    std::vector<int> first_q, first_u; // of each joint
    std::vector<double> force;
    Vector mobility_forces;
};

MassProperties mass_properties(const cal_body_def& def) {
    const Vec3 center = vector3(def.center);
    const double* const i = def.inertia;
    // About the body's origin, as Simbody wants it.
    const SymMat33 central(i[0], i[3], i[1], i[4], i[5], i[2]);
    const Real square = ~center * center;
    const SymMat33 shift(square - center[0] * center[0], -center[0] * center[1], square - center[1] * center[1],
                         -center[0] * center[2], -center[1] * center[2], square - center[2] * center[2]);
    return MassProperties(def.mass, center, Inertia(central + def.mass * shift));
}

MobilizedBody add_joint(MobilizedBody& parent, const Transform& where, const Body& body, const cal_joint_def& def) {
    const Vec3 anchor = vector3(def.anchor);
    const UnitVec3 axis(vector3(def.axis));
    switch (def.kind) {
    case CAL_REVOLUTE: {
        const Transform frame(Rotation(axis, ZAxis), anchor);
        return MobilizedBody::Pin(parent, where * frame, body, frame);
    }
    case CAL_PRISMATIC: {
        const Transform frame(Rotation(axis, XAxis), anchor);
        return MobilizedBody::Slider(parent, where * frame, body, frame);
    }
    case CAL_BALL: return MobilizedBody::Ball(parent, where * Transform(anchor), body, Transform(anchor));
    default: return MobilizedBody::Free(parent, Transform(), body, Transform());
    }
}

cal_status create(const peer_tree* tree, bool exact, void** out, cal_error* error) {
    if (exact && peer_check_plain(tree, "Simbody", error)) return error->status;
    Simbody* const simbody = new Simbody(tree);
    std::vector<MobilizedBodyIndex> last(size_t(tree->body_count)), of_joint(size_t(tree->joint_count));
    for (int n = 0; n < tree->body_count; n++) {
        const int number = tree->order[n];
        const cal_body_def& def = tree->bodies[number].def;
        const Body::Rigid body(mass_properties(def));
        Transform where(rotation(def.quaternion), vector3(def.position));
        MobilizedBodyIndex at = def.parent == CAL_GROUND ? GroundIndex : last[size_t(def.parent)];
        int j = tree->bodies[number].first_joint;
        if (j < 0) at = MobilizedBody::Weld(simbody->matter.updMobilizedBody(at), where, body, Transform());
        for (; j >= 0; j = tree->joints[j].next) {
            const bool is_last = tree->joints[j].next < 0;
            at = add_joint(simbody->matter.updMobilizedBody(at), where, is_last ? Body(body) : Body(Body::Massless()),
                           tree->joints[j].def);
            of_joint[size_t(j)] = at;
            where = Transform();
        }
        last[size_t(number)] = at;
    }
    simbody->state = simbody->system.realizeTopology();
    simbody->system.realizeModel(simbody->state);
    for (int j = 0; j < tree->joint_count; j++) {
        const MobilizedBody& body = simbody->matter.getMobilizedBody(of_joint[size_t(j)]);
        simbody->first_q.push_back(body.getFirstQIndex(simbody->state));
        simbody->first_u.push_back(body.getFirstUIndex(simbody->state));
    }
    simbody->mobility_forces.resize(simbody->state.getNU());
    *out = simbody;
    return CAL_OK;
}

void destroy(void* engine) { delete static_cast<Simbody*>(engine); }

void set(void* engine, const double* q, const double* v, const double* tau) {
    Simbody& simbody = *static_cast<Simbody*>(engine);
    peer_joint_forces(simbody.tree, q, v, tau, simbody.force.data());
    Vector& Q = simbody.state.updQ();
    Vector& U = simbody.state.updU();
    for (int j = 0; j < simbody.tree->joint_count; j++) {
        const peer_joint& joint = simbody.tree->joints[j];
        const double *qj = q + joint.first_q, *vj = v + joint.first_v, *fj = simbody.force.data() + joint.first_v;
        const int at = simbody.first_q[size_t(j)], to = simbody.first_u[size_t(j)];
        if (joint.def.kind == CAL_REVOLUTE || joint.def.kind == CAL_PRISMATIC) {
            Q[at] = *qj - joint.def.zero;
            U[to] = *vj;
            simbody.mobility_forces[to] = *fj;
            continue;
        }
        const int linear = joint.def.kind == CAL_FREE ? 3 : 0;
        const Rotation R = rotation(qj + linear);
        const Vec3 omega = R * vector3(vj + linear), moment = R * vector3(fj + linear);
        for (int i = 0; i < 4; i++) Q[at + i] = qj[linear + i];
        for (int i = 0; i < 3; i++) {
            U[to + i] = omega[i];
            simbody.mobility_forces[to + i] = moment[i];
        }
        for (int i = 0; i < linear; i++) {
            Q[at + 4 + i] = qj[i];
            U[to + 3 + i] = vj[i];
            simbody.mobility_forces[to + 3 + i] = fj[i];
        }
    }
    simbody.applied.setAllMobilityForces(simbody.state, simbody.mobility_forces);
}

void evaluate(void* engine) {
    Simbody& simbody = *static_cast<Simbody*>(engine);
    simbody.system.realize(simbody.state, Stage::Acceleration);
}

void get(void* engine, double* qdd) {
    Simbody& simbody = *static_cast<Simbody*>(engine);
    const Vector& udot = simbody.state.getUDot();
    for (int j = 0; j < simbody.tree->joint_count; j++) {
        const peer_joint& joint = simbody.tree->joints[j];
        double* const a = qdd + joint.first_v;
        const int to = simbody.first_u[size_t(j)], at = simbody.first_q[size_t(j)];
        if (joint.def.kind == CAL_REVOLUTE || joint.def.kind == CAL_PRISMATIC) {
            a[0] = udot[to];
            continue;
        }
        const int linear = joint.def.kind == CAL_FREE ? 3 : 0;
        const double quaternion[4] = {simbody.state.getQ()[at], simbody.state.getQ()[at + 1],
                                      simbody.state.getQ()[at + 2], simbody.state.getQ()[at + 3]};
        const Vec3 angular = ~rotation(quaternion) * Vec3(udot[to], udot[to + 1], udot[to + 2]);
        for (int i = 0; i < linear; i++) a[i] = udot[to + 3 + i];
        for (int i = 0; i < 3; i++) a[linear + i] = angular[i];
    }
}

} // namespace

int main(int argc, char** argv) {
    int major, minor, patch;
    SimTK_version_simbody(&major, &minor, &patch);
    const std::string name = "Simbody " + std::to_string(major) + "." + std::to_string(minor);
    const peer_engine engine = {name.c_str(), create, destroy, set, evaluate, get};
    return peer_main(&engine, argc, argv);
}
