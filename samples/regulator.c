// Two poles on top of each other on a cart, kept upright by one motor: derivatives of the dynamics, and the linear regulator that is best for
// them.
#include <calder/calder_read.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char cart[] =
    "<mujoco><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
    "<geom type='box' size='.1 .05 .05' mass='1'/>"
    "<body name='lower'><joint axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 .5' size='.02' mass='.2'/>"
    "<body name='upper' pos='0 0 .5'><joint axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 .5' size='.02' mass='.2'/></body></body></body></worldbody>"
    "<actuator><motor joint='rail'/></actuator></mujoco>";

enum { N = 3, STATE = 2 * N }; // q and v
static const double period = 0.01;

// After a period with a constant control u, x becomes A x + b u: the series of the exponential of the derivatives.
static cal_status linearize(const cal_model* model, double A[STATE][STATE], double b[STATE], cal_error* error) {
    static const double upright[N] = {0.0};
    double by_q[N * N], by_v[N * N], by_control[N], rate[STATE][STATE + 1] = {{0.0}}, term[STATE][STATE + 1] = {{0.0}};
    cal_dynamics* dynamics = NULL;
    cal_status status = cal_dynamics_create(model, &dynamics, error);
    if (!status)
        status = cal_dynamics_forward_derivatives(dynamics, upright, NULL, NULL, NULL, by_q, by_v, NULL, by_control);
    cal_dynamics_destroy(dynamics);
    for (int i = 0; !status && i < N; i++) {
        rate[i][N + i] = 1.0;
        for (int k = 0; k < N; k++) rate[N + i][k] = by_q[N * i + k], rate[N + i][N + k] = by_v[N * i + k];
        rate[N + i][STATE] = by_control[i];
    }
    for (int i = 0; i < STATE; i++)
        for (int k = 0; k <= STATE; k++) term[i][k] = period * rate[i][k];
    for (int order = 1; order < 12; order++) {
        double next[STATE][STATE + 1] = {{0.0}};
        for (int i = 0; i < STATE; i++) {
            for (int k = 0; k < STATE; k++) A[i][k] += term[i][k];
            b[i] += term[i][STATE];
            for (int k = 0; k <= STATE; k++)
                for (int j = 0; j < STATE; j++) next[i][k] += rate[i][j] * term[j][k] * period / (order + 1);
        }
        memcpy(term, next, sizeof term);
    }
    for (int i = 0; i < STATE; i++) A[i][i] += 1.0;
    return status;
}

// The gain of u = −k x that makes the sum of x·x + 0.1 u² least: Riccati's equation, backward until it stays.
static void regulate(double A[STATE][STATE], const double b[STATE], double k[STATE]) {
    double P[STATE][STATE] = {{0.0}};
    for (int i = 0; i < STATE; i++) P[i][i] = 1.0;
    for (int round = 0; round < 2000; round++) {
        double Pb[STATE] = {0.0}, PA[STATE][STATE] = {{0.0}}, next[STATE][STATE] = {{0.0}}, weight = 0.1;
        for (int i = 0; i < STATE; i++)
            for (int j = 0; j < STATE; j++) {
                Pb[i] += P[i][j] * b[j];
                for (int c = 0; c < STATE; c++) PA[i][c] += P[i][j] * A[j][c];
            }
        for (int i = 0; i < STATE; i++) weight += b[i] * Pb[i];
        for (int c = 0; c < STATE; c++) {
            k[c] = 0.0;
            for (int i = 0; i < STATE; i++) k[c] += Pb[i] * A[i][c] / weight;
        }
        // Half of the matrix is mirrored: what rounding made of it otherwise would grow.
        for (int i = 0; i < STATE; i++)
            for (int c = 0; c <= i; c++) {
                for (int j = 0; j < STATE; j++) next[i][c] += A[j][i] * PA[j][c];
                next[i][c] += (i == c ? 1.0 : 0.0) - weight * k[i] * k[c];
                next[c][i] = next[i][c];
            }
        memcpy(P, next, sizeof P);
    }
}

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    const cal_read_options options = cal_default_read_options();
    const cal_sim_def def = cal_default_sim_def();
    double A[STATE][STATE] = {{0.0}}, b[STATE] = {0.0}, k[STATE];
    const double start[N] = {0.0, 0.1, -0.05};
    cal_status status = cal_model_read_memory(cart, strlen(cart), "cart", &options, &model, NULL, &error);
    if (!status) status = linearize(model, A, b, &error);
    if (!status) regulate(A, b, k);
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    if (!status) status = cal_sim_set(sim, 0.0, start, NULL, &error);
    for (int tick = 1; !status && tick <= 1000; tick++) {
        double u = 0.0;
        for (int i = 0; i < N; i++) u -= k[i] * cal_sim_q(sim)[i] + k[N + i] * cal_sim_v(sim)[i];
        status = cal_sim_drive(sim, NULL, &u, &error);
        if (!status) status = cal_sim_advance(sim, period * tick, &error);
    }
    if (!status) {
        const double* q = cal_sim_q(sim);
        printf("after 10 s the poles are %.1e and %.1e rad from upright, the cart %.1e m from where it began\n",
               fabs(q[1]), fabs(q[1] + q[2]), fabs(q[0]));
        if (fabs(q[0]) + fabs(q[1]) + fabs(q[2]) > 1e-3) status = CAL_NOT_CONVERGED;
    }
    if (error.text[0]) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
