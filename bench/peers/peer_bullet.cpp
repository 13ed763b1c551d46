// calder-peer-bullet: forward dynamics by Bullet's btMultiBody, Featherstone's articulated-body algorithm.
//
// A Bullet link has its frame at its centre of mass, along its principal axes, and at most one joint; so a body with
// several joints becomes a run of links, all but the last massless. A body that is free is the base of a multibody of its
// own; all others hang from one base that is fixed. In what follows P are a link's axes as columns in its body's frame, and
// o is its origin there.
#include <memory>
#include <string>
#include <vector>

#include "BulletDynamics/Featherstone/btMultiBody.h"
#include "peer.h"

namespace {

btVector3 vector3(const double* v) { return btVector3(v[0], v[1], v[2]); }
btQuaternion quaternion(const double* q) { return btQuaternion(q[1], q[2], q[3], q[0]); }

struct Frame {
    btMatrix3x3 P;
    btVector3 o;
    btVector3 moments;
};

struct Link {
    int joint; // -1: fixed
    int multibody;
    int link; // -1: the base
    double mass;
    Frame frame;
};

struct Bullet {
    const peer_tree* tree;
    std::vector<std::unique_ptr<btMultiBody>> multibodies;
    std::vector<Link> links;
    std::vector<double> force;
    struct Scratch {
        btAlignedObjectArray<btScalar> r;
        btAlignedObjectArray<btVector3> v;
        btAlignedObjectArray<btMatrix3x3> m;
    };
    std::vector<Scratch> scratch; // holds the accelerations afterwards
};

Frame principal_frame(const cal_body_def& def) {
    double moments[3], P[9];
    peer_principal_axes(&def, moments, P);
    return {btMatrix3x3(P[0], P[1], P[2], P[3], P[4], P[5], P[6], P[7], P[8]), vector3(def.center), vector3(moments)};
}

btQuaternion rotation_of(const btMatrix3x3& matrix) {
    btQuaternion q;
    matrix.getRotation(q);
    return q.normalize();
}

struct Place {
    int multibody, link;
    Frame frame;
};

class Translator {
  public:
    explicit Translator(const peer_tree& tree, Bullet& out)
        : tree_(tree), out_(out), places_(size_t(tree.body_count)) {}

    void translate() {
        std::vector<int> link_counts(1, 0);
        std::vector<int> home(static_cast<size_t>(tree_.body_count));
        for (int n = 0; n < tree_.body_count; n++) {
            const int body = tree_.order[n], parent = tree_.bodies[body].def.parent;
            if (is_free(body)) {
                home[size_t(body)] = int(link_counts.size());
                link_counts.push_back(0);
                continue;
            }
            home[size_t(body)] = parent == CAL_GROUND ? 0 : home[size_t(parent)];
            int count = 0;
            for (int j = tree_.bodies[body].first_joint; j >= 0; j = tree_.joints[j].next) count++;
            link_counts[size_t(home[size_t(body)])] += count > 0 ? count : 1;
        }
        out_.multibodies.emplace_back(new btMultiBody(link_counts[0], 0.0, btVector3(0, 0, 0), true, false));
        used_.push_back(0);
        for (int n = 0; n < tree_.body_count; n++) {
            const int body = tree_.order[n];
            if (is_free(body)) {
                add_base(body, link_counts[out_.multibodies.size()]);
            } else {
                add_links(body);
            }
        }
        for (auto& multibody : out_.multibodies) {
            multibody->setLinearDamping(0.0);
            multibody->setAngularDamping(0.0);
            multibody->setUseGyroTerm(true);
            multibody->finalizeMultiDof();
        }
        out_.scratch.resize(out_.multibodies.size());
        out_.force.resize(size_t(tree_.v_count));
    }

  private:
    bool is_free(int body) const {
        const int joint = tree_.bodies[body].first_joint;
        return joint >= 0 && tree_.joints[joint].def.kind == CAL_FREE;
    }

    void add_base(int body, int link_count) {
        const cal_body_def& def = tree_.bodies[body].def;
        const Frame frame = principal_frame(def);
        const int multibody = int(out_.multibodies.size());
        out_.multibodies.emplace_back(new btMultiBody(link_count, def.mass, frame.moments, false, false));
        used_.push_back(0);
        out_.links.push_back({tree_.bodies[body].first_joint, multibody, -1, def.mass, frame});
        places_[size_t(body)] = {multibody, -1, frame};
    }

    void add_links(int body) {
        const cal_body_def& def = tree_.bodies[body].def;
        Place at = def.parent == CAL_GROUND ? Place{0, -1, {btMatrix3x3::getIdentity(), btVector3(0, 0, 0), {}}}
                                            : places_[size_t(def.parent)];
        btMultiBody& multibody = *out_.multibodies[size_t(at.multibody)];
        // The body's frame in the frame of what comes before the joint.
        btMatrix3x3 Q(quaternion(def.quaternion));
        btVector3 r = vector3(def.position);
        int joint = tree_.bodies[body].first_joint;
        do {
            const bool last = joint < 0 || tree_.joints[joint].next < 0;
            const Frame frame =
                last ? principal_frame(def) : Frame{btMatrix3x3::getIdentity(), btVector3(0, 0, 0), btVector3(0, 0, 0)};
            const double mass = last ? def.mass : 0.0;
            const int link = used_[size_t(at.multibody)]++;
            const btVector3 anchor = joint < 0 ? btVector3(0, 0, 0) : vector3(tree_.joints[joint].def.anchor);
            const btQuaternion turn = rotation_of(frame.P.transpose() * Q.transpose() * at.frame.P);
            const btVector3 before = at.frame.P.transpose() * (r + Q * anchor - at.frame.o);
            const btVector3 after = frame.P.transpose() * (frame.o - anchor);
            const btVector3 axis =
                joint < 0 ? btVector3(0, 0, 1) : frame.P.transpose() * vector3(tree_.joints[joint].def.axis);
            if (joint < 0) {
                multibody.setupFixed(link, mass, frame.moments, at.link, turn, before, after);
            } else if (tree_.joints[joint].def.kind == CAL_REVOLUTE) {
                multibody.setupRevolute(link, mass, frame.moments, at.link, turn, axis, before, after, true);
            } else if (tree_.joints[joint].def.kind == CAL_PRISMATIC) {
                multibody.setupPrismatic(link, mass, frame.moments, at.link, turn, axis, before, after, true);
            } else {
                multibody.setupSpherical(link, mass, frame.moments, at.link, turn, before, after, true);
            }
            out_.links.push_back({joint, at.multibody, link, mass, frame});
            at = {at.multibody, link, frame};
            Q = btMatrix3x3::getIdentity();
            r = btVector3(0, 0, 0);
            joint = joint < 0 ? -1 : tree_.joints[joint].next;
        } while (joint >= 0);
        places_[size_t(body)] = at;
    }

    const peer_tree& tree_;
    Bullet& out_;
    std::vector<Place> places_; // of each body
    std::vector<int> used_;     // links of each multibody
};

cal_status create(const peer_tree* tree, bool exact, void** out, cal_error* error) {
    if (exact && peer_check_plain(tree, "Bullet", error)) return error->status;
    Bullet* const bullet = new Bullet;
    bullet->tree = tree;
    Translator(*tree, *bullet).translate();
    *out = bullet;
    return CAL_OK;
}

void destroy(void* engine) { delete static_cast<Bullet*>(engine); }

void set_base(btMultiBody& multibody, const Frame& frame, const double* q, const double* v, const double* force) {
    const btMatrix3x3 R(quaternion(q + 3));
    const btVector3 arm = R * frame.o, omega = R * vector3(v + 3);
    multibody.setBasePos(vector3(q) + arm);
    multibody.setWorldToBaseRot(rotation_of(R * frame.P).inverse());
    multibody.setBaseVel(vector3(v) + omega.cross(arm));
    multibody.setBaseOmega(omega);
    multibody.addBaseForce(vector3(force));
    multibody.addBaseTorque(R * vector3(force + 3) - arm.cross(vector3(force)));
}

void set(void* engine, const double* q, const double* v, const double* tau) {
    Bullet& bullet = *static_cast<Bullet*>(engine);
    const btVector3 gravity = vector3(bullet.tree->gravity);
    peer_joint_forces(bullet.tree, q, v, tau, bullet.force.data());
    for (auto& multibody : bullet.multibodies) multibody->clearForcesAndTorques();
    for (const Link& link : bullet.links) {
        btMultiBody& multibody = *bullet.multibodies[size_t(link.multibody)];
        if (link.link >= 0) {
            multibody.addLinkForce(link.link, link.mass * gravity);
        } else {
            multibody.addBaseForce(link.mass * gravity);
        }
        if (link.joint < 0) continue;
        const peer_joint& joint = bullet.tree->joints[link.joint];
        const double *qj = q + joint.first_q, *vj = v + joint.first_v, *fj = bullet.force.data() + joint.first_v;
        if (joint.def.kind == CAL_FREE) {
            set_base(multibody, link.frame, qj, vj, fj);
        } else if (joint.def.kind == CAL_BALL) {
            const btQuaternion p = rotation_of(link.frame.P), turned = p.inverse() * quaternion(qj) * p;
            const btVector3 omega = link.frame.P.transpose() * vector3(vj),
                            moment = link.frame.P.transpose() * vector3(fj);
            const double position[4] = {turned.x(), turned.y(), turned.z(), turned.w()};
            multibody.setJointPosMultiDof(link.link, position);
            multibody.setJointVelMultiDof(link.link, &omega[0]);
            multibody.addJointTorqueMultiDof(link.link, &moment[0]);
        } else {
            const double position = *qj - joint.def.zero;
            multibody.setJointPosMultiDof(link.link, &position);
            multibody.setJointVelMultiDof(link.link, vj);
            multibody.addJointTorqueMultiDof(link.link, fj);
        }
    }
}

void evaluate(void* engine) {
    Bullet& bullet = *static_cast<Bullet*>(engine);
    for (size_t i = 0; i < bullet.multibodies.size(); i++) {
        btMultiBody& multibody = *bullet.multibodies[i];
        if (multibody.hasFixedBase() && multibody.getNumLinks() == 0) continue;
        // A step of no length: the velocities stay, the accelerations are left behind in the scratch memory.
        multibody.computeAccelerationsArticulatedBodyAlgorithmMultiDof(0.0, bullet.scratch[i].r, bullet.scratch[i].v,
                                                                       bullet.scratch[i].m, false, false, false);
    }
}

void get(void* engine, double* qdd) {
    Bullet& bullet = *static_cast<Bullet*>(engine);
    for (const Link& link : bullet.links) {
        if (link.joint < 0) continue;
        const peer_joint& joint = bullet.tree->joints[link.joint];
        btMultiBody& multibody = *bullet.multibodies[size_t(link.multibody)];
        // The scratch memory's second part: the base's angular and linear acceleration, then the joints'.
        const btScalar* const output = &bullet.scratch[size_t(link.multibody)].r[multibody.getNumDofs()];
        double* const a = qdd + joint.first_v;
        if (joint.def.kind == CAL_FREE) {
            const btMatrix3x3 R =
                btMatrix3x3(multibody.getWorldToBaseRot().inverse()) * link.frame.P.transpose(); // of the body
            const btVector3 omega = multibody.getBaseOmega(), arm = R * link.frame.o, alpha = vector3(output);
            const btVector3 linear = vector3(output + 3) - alpha.cross(arm) - omega.cross(omega.cross(arm));
            const btVector3 angular = R.transpose() * alpha;
            for (int i = 0; i < 3; i++) a[i] = linear[i], a[3 + i] = angular[i];
            continue;
        }
        const btScalar* const at = output + 6 + multibody.getLink(link.link).m_dofOffset;
        if (joint.def.kind == CAL_BALL) {
            const btVector3 angular = link.frame.P * vector3(at);
            for (int i = 0; i < 3; i++) a[i] = angular[i];
        } else {
            a[0] = at[0];
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::string name =
        "Bullet " + std::to_string(BT_BULLET_VERSION / 100) + "." + std::to_string(BT_BULLET_VERSION % 100);
    const peer_engine engine = {name.c_str(), create, destroy, set, evaluate, get};
    return peer_main(&engine, argc, argv);
}
