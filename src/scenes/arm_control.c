// The controller of an arm. A phase is a quintic in each joint, from where the last one ended to where inverse kinematics says
// the next one does, with accelerations of zero at both ends. The torques are those of inverse dynamics (Newton-Euler) for the
// quintic's accelerations and what the errors ask for,
//
//     τ = M(q) (q̈ᵣ + Kd (q̇ᵣ − q̇) + Kp (qᵣ − q)) + h(q, q̇),
//
// so that every joint follows as a critically damped oscillator would. While there is a box in the hand, M and h are those of
// an arm with one. The fingers are pressed together by a force that is limited, and kept about the hand's middle.
//
// A throw is a straight line in space, its velocity at the end being that of the parabola to the target:
//
//     v² = g X² / (2 cos²ε (X tan ε − Z)),        X, Z: how far and how much higher the target is, ε: the elevation
//
// with the hand pointing along v all the time: when the fingers open the box goes on and the hand stays behind.
#include "scenes/arm_control.h"
#include "base/error.h"
#include "base/memory.h"
#include <math.h>
#include <string.h>

#define TICK 0.01
#define STIFF 900.0 // Kp, 1/s²
#define DAMP 60.0   // Kd, 1/s: 2 √Kp
#define MOST_TORQUE 500.0
#define GRAVITY 9.81

#define ABOVE 0.14 // m back from a box, before and after it is gripped
#define RELEASE_RADIUS 0.75
#define RELEASE_HEIGHT 1.2
#define THROW_X 0.62 // cosine and sine of the elevation
#define THROW_Z 0.78460180983732123
#define PROBE 1e-4 // s: of the throw's straight line, for the joints' speeds

#define SQUEEZE 40.0        // N
#define FINGER_STIFF 1000.0 // N/m; the joints damp
#define EMPTY 0.045         // m: fingers that are nearer to each other hold nothing

static const double lasting[CAL_ARM_PHASES] = {0.0, 0.5, 0.3, 0.15, 0.3, 0.55, 0.3, 0.2, 0.4};

struct cal_arm_dynamics {
    cal_model* models[2]; // with empty hands, and with a box
    cal_machine* machine;
    cal_plan* plans[2];
    cal_state* states[2];
};

void cal_arm_mind_destroy(cal_arm_dynamics* mind) {
    if (mind == NULL) return;
    for (int i = 0; i < 2; i++) {
        cal_state_destroy(mind->states[i]);
        cal_plan_destroy(mind->plans[i]);
        cal_model_destroy(mind->models[i]);
    }
    cal_machine_destroy(mind->machine);
    cal_free(mind);
}

cal_status cal_arm_mind_create(double load, cal_arm_dynamics** out, cal_error* error) {
    *out = NULL;
    cal_arm_dynamics* mind = cal_allocate(1, sizeof *mind);
    if (mind == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for an arm's controller");
    cal_status status = cal_machine_serial(1, &mind->machine, error);
    for (int i = 0; status == CAL_OK && i < 2; i++) {
        status = cal_arm_model(i == 0 ? 0.0 : load, &mind->models[i], error);
        if (status == CAL_OK) status = cal_plan_create(mind->models[i], "rnea", mind->machine, &mind->plans[i], error);
        if (status == CAL_OK) status = cal_state_create(mind->plans[i], &mind->states[i]);
    }
    if (status != CAL_OK) {
        cal_arm_mind_destroy(mind);
        return cal_fail(error, status, "no controller for an arm: %s", cal_status_text(status));
    }
    *out = mind;
    return CAL_OK;
}

// --- The plan ---------------------------------------------------------------------------------------------------------------

// The hand at the box, or so far back from it.
static void pick_pose(const double* slots, double back, cal_arm_pose* out) {
    memcpy(out, slots + CAL_ARM_AT_POSE, sizeof *out);
    for (int i = 0; i < 3; i++) out->grip[i] -= back * out->along[i];
}

// Where the next box is to land: each time somewhere else, so that no heap grows. Multiples of two numbers whose fractions
// fill a square evenly.
static void aim_at(const cal_arm_controller* brain, const double* slots, double out[3]) {
    const double steps[2] = {0.7548776662466927, 0.5698402909980532}, count = slots[CAL_ARM_AT_ORDERS];
    memcpy(out, brain->target, 3 * sizeof *out);
    for (int i = 0; i < 2; i++) {
        const double share = count * steps[i] + 0.5;
        out[i] += brain->spread * (2.0 * (share - floor(share)) - 1.0);
    }
}

// The hand at a time before the release, on the throw's straight line.
static void throw_pose(const cal_arm_controller* brain, const double* slots, double before, cal_arm_pose* out) {
    double t[3];
    aim_at(brain, slots, t);
    const double far = sqrt(t[0] * t[0] + t[1] * t[1]), c = t[0] / far, s = t[1] / far;
    const double X = far - RELEASE_RADIUS, Z = t[2] - RELEASE_HEIGHT;
    const double speed = X * sqrt(0.5 * GRAVITY / (THROW_X * (X * THROW_Z - Z * THROW_X)));
    const double radius = RELEASE_RADIUS - before * speed * THROW_X;
    *out = (cal_arm_pose){.grip = {radius * c, radius * s, RELEASE_HEIGHT - before * speed * THROW_Z},
                          .open = {-s, c, 0.0},
                          .along = {THROW_X * c, THROW_X * s, THROW_Z}};
}

// The joints' speeds at the release.
static bool throw_speeds(const cal_arm_controller* brain, const double* slots, double v[CAL_ARM_JOINTS]) {
    cal_arm_pose pose;
    double before[CAL_ARM_JOINTS];
    throw_pose(brain, slots, PROBE, &pose);
    if (!cal_arm_reach(&pose, 0.0, before)) return false;
    throw_pose(brain, slots, -PROBE, &pose);
    if (!cal_arm_reach(&pose, 0.0, v)) return false;
    for (int i = 0; i < CAL_ARM_JOINTS; i++) v[i] = (v[i] - before[i]) / (2.0 * PROBE);
    return true;
}

// Where a phase ends: six angles and six speeds. False when that cannot be reached.
static bool end_of(const cal_arm_controller* brain, cal_arm_phase phase, const double* slots, const double* from,
                   double* to) {
    cal_arm_pose pose;
    memset(to + CAL_ARM_JOINTS, 0, CAL_ARM_JOINTS * sizeof *to);
    const double span = lasting[CAL_ARM_THROW];
    switch (phase) {
    case CAL_ARM_ABOVE:
    case CAL_ARM_LIFT: pick_pose(slots, ABOVE, &pose); return cal_arm_reach(&pose, from[5], to);
    case CAL_ARM_DOWN: pick_pose(slots, 0.0, &pose); return cal_arm_reach(&pose, from[5], to);
    case CAL_ARM_CLOSE: memcpy(to, from, CAL_ARM_JOINTS * sizeof *to); return true;
    case CAL_ARM_WIND: throw_pose(brain, slots, 0.5 * span, &pose); return cal_arm_reach(&pose, 0.0, to);
    case CAL_ARM_THROW:
        throw_pose(brain, slots, 0.0, &pose);
        return cal_arm_reach(&pose, 0.0, to) && throw_speeds(brain, slots, to + CAL_ARM_JOINTS);
    case CAL_ARM_FOLLOW:
        // Half way on: the shortest stop that never turns back.
        for (int i = 0; i < CAL_ARM_JOINTS; i++)
            to[i] = from[i] + 0.5 * lasting[CAL_ARM_FOLLOW] * from[CAL_ARM_JOINTS + i];
        return true;
    case CAL_ARM_IDLE:
    case CAL_ARM_HOME:
    case CAL_ARM_PHASES: break;
    }
    memcpy(to, cal_arm_home, CAL_ARM_JOINTS * sizeof *to);
    return true;
}

// Begins a phase where the reference is: at from, six angles and six speeds.
static bool begin(const cal_arm_controller* brain, cal_arm_phase phase, double time, const double* from,
                  double* slots) {
    double to[2 * CAL_ARM_JOINTS];
    if (!end_of(brain, phase, slots, from, to)) return false;
    slots[CAL_ARM_AT_PHASE] = (double)phase;
    slots[CAL_ARM_AT_BEGIN] = time;
    memmove(slots + CAL_ARM_AT_FROM, from, sizeof to);
    memcpy(slots + CAL_ARM_AT_TO, to, sizeof to);
    return true;
}

bool cal_arm_order(const cal_arm_controller* brain, double time, const cal_arm_pose* grip, double width,
                   double* slots) {
    if ((cal_arm_phase)slots[CAL_ARM_AT_PHASE] != CAL_ARM_IDLE) return false;
    double trial[CAL_ARM_SLOTS], end[2 * CAL_ARM_JOINTS], home[2 * CAL_ARM_JOINTS] = {0};
    memcpy(trial, slots, sizeof trial);
    memcpy(trial + CAL_ARM_AT_POSE, grip, sizeof *grip);
    trial[CAL_ARM_AT_WIDTH] = 0.5 * width + CAL_ARM_SPARE;
    memcpy(home, cal_arm_home, sizeof cal_arm_home);
    if (!end_of(brain, CAL_ARM_DOWN, trial, home, end) || !begin(brain, CAL_ARM_ABOVE, time, home, trial)) return false;
    trial[CAL_ARM_AT_ORDERS] += 1.0;
    memcpy(slots, trial, sizeof trial);
    return true;
}

// What comes after a phase; an arm that holds nothing goes home.
static cal_arm_phase next_phase(cal_arm_phase phase, bool holds) {
    switch (phase) {
    case CAL_ARM_CLOSE:
    case CAL_ARM_LIFT:
    case CAL_ARM_WIND: return holds ? phase + 1 : CAL_ARM_HOME;
    case CAL_ARM_IDLE:
    case CAL_ARM_HOME:
    case CAL_ARM_PHASES: return CAL_ARM_IDLE;
    case CAL_ARM_ABOVE:
    case CAL_ARM_DOWN:
    case CAL_ARM_THROW:
    case CAL_ARM_FOLLOW: break;
    }
    return phase + 1;
}

static void update_phase(const cal_arm_controller* brain, double time, const double* q, double* slots) {
    const cal_arm_phase phase = (cal_arm_phase)slots[CAL_ARM_AT_PHASE];
    // Phases last whole ticks; half a tick's tolerance, for the sum of the times is rounded.
    if (phase == CAL_ARM_IDLE || time < slots[CAL_ARM_AT_BEGIN] + lasting[phase] - 0.5 * TICK) return;
    const bool holds = q[CAL_ARM_JOINTS] + q[CAL_ARM_JOINTS + 1] > EMPTY;
    if (phase == CAL_ARM_CLOSE) slots[CAL_ARM_AT_GRASPS] += holds;
    if (phase == CAL_ARM_THROW) slots[CAL_ARM_AT_THROWS] += holds;
    const double* from = slots + CAL_ARM_AT_TO;
    if (!begin(brain, next_phase(phase, holds), time, from, slots)) begin(brain, CAL_ARM_HOME, time, from, slots);
}

// --- Torques ----------------------------------------------------------------------------------------------------------------

// A quintic from (a, u) to (b, v) over a time T, with no acceleration at its ends: value, slope and second derivative at t.
static void quintic(double a, double u, double b, double v, double T, double t, double out[3]) {
    const double s = t < 0.0 ? 0.0 : t > T ? 1.0 : t / T, D = b - a - u * T, w = (v - u) * T;
    const double c3 = 10.0 * D - 4.0 * w, c4 = -15.0 * D + 7.0 * w, c5 = 6.0 * D - 3.0 * w;
    out[0] = a + u * s * T + s * s * s * (c3 + s * (c4 + s * c5));
    out[1] = u + s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)) / T;
    out[2] = s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)) / (T * T);
}

static double clamp(double value, double most) { return value > most ? most : value < -most ? -most : value; }

static bool is_closed(cal_arm_phase phase) { return phase >= CAL_ARM_CLOSE && phase <= CAL_ARM_THROW; }

void cal_arm_drive(cal_callback_context* view, void* user) {
    const cal_arm_controller* brain = user;
    const double time = cal_callback_time(view), *q = cal_callback_q(view, 0), *v = cal_callback_v(view, 0);
    double *tau = cal_callback_tau(view, 0), *slots = cal_callback_slots(view, 0), wanted[CAL_ARM_FREEDOMS] = {0};
    update_phase(brain, time, q, slots);
    const cal_arm_phase phase = (cal_arm_phase)slots[CAL_ARM_AT_PHASE];
    const double *from = slots + CAL_ARM_AT_FROM, *to = slots + CAL_ARM_AT_TO, t = time - slots[CAL_ARM_AT_BEGIN];
    for (int i = 0; i < CAL_ARM_JOINTS; i++) {
        double now[3] = {cal_arm_home[i], 0.0, 0.0}, soon[3] = {0.0};
        if (phase != CAL_ARM_IDLE) {
            quintic(from[i], from[CAL_ARM_JOINTS + i], to[i], to[CAL_ARM_JOINTS + i], lasting[phase], t, now);
            // Torques are held for a tick: those for its middle are best.
            quintic(from[i], from[CAL_ARM_JOINTS + i], to[i], to[CAL_ARM_JOINTS + i], lasting[phase], t + 0.5 * TICK,
                    soon);
        }
        wanted[i] = soon[2] + STIFF * (now[0] - q[i]) + DAMP * (now[1] - v[i]);
    }
    const bool closed = is_closed(phase), loaded = closed && phase > CAL_ARM_CLOSE;
    cal_state* state = brain->mind->states[loaded];
    memset(tau, 0, CAL_ARM_FREEDOMS * sizeof *tau);
    if (cal_state_set(state, CAL_Q, q) != CAL_OK || cal_state_set(state, CAL_V, v) != CAL_OK ||
        cal_state_set(state, CAL_QDD, wanted) != CAL_OK ||
        cal_plan_execute(brain->mind->plans[loaded], state, NULL) != CAL_OK ||
        cal_state_get(state, CAL_TAU, tau) != CAL_OK)
        return;
    for (int i = 0; i < CAL_ARM_JOINTS; i++) tau[i] = clamp(tau[i], MOST_TORQUE);
    const double gap = q[6] + q[7], aside = q[6] - q[7];
    const double aim =
        closed ? 0.01
               : 2.0 * (phase == CAL_ARM_ABOVE || phase == CAL_ARM_DOWN ? slots[CAL_ARM_AT_WIDTH] : CAL_ARM_OPEN);
    const double squeeze = clamp(FINGER_STIFF * (aim - gap), SQUEEZE), center = clamp(-FINGER_STIFF * aside, SQUEEZE);
    tau[6] = squeeze + center;
    tau[7] = squeeze - center;
}
