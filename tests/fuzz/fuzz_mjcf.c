// MJCF from anywhere. What is read is a model that can be simulated, or that says why not; what is written of it is read again.
#include "calder/calder_read.h"
#include "../place.h"
#include "change.h"
#include "formats.h"
#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BODIES = 30, MOST_EVALUATIONS = 60, MOST_WRITTEN = 200 };

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed) {
    return fuzz_change_xml(bytes, count, room, seed, &fuzz_mjcf);
}

// A moment of its motion, with a solver that the bytes choose: numbers, or an error.
static void simulate(const cal_model* model, size_t choice) {
    static const char* const solvers[] = {"auto", "gear", "rkf", "rk4", "implicit"};
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.solver = solvers[choice % (sizeof solvers / sizeof solvers[0])];
    def.contact = false;
    def.evaluation_limit = MOST_EVALUATIONS;
    if (cal_sim_create(model, &def, &sim, NULL) != CAL_OK) return;
    double kinetic, potential;
    if (cal_sim_advance(sim, 2e-3, NULL) == CAL_OK) {
        for (int i = 0; i < cal_model_q_count(model); i++)
            if (!isfinite(cal_sim_q(sim)[i])) fprintf(stderr, "q[%d] is %g\n", i, cal_sim_q(sim)[i]), abort();
        for (int i = 0; i < cal_model_v_count(model); i++)
            if (!isfinite(cal_sim_v(sim)[i])) fprintf(stderr, "v[%d] is %g\n", i, cal_sim_v(sim)[i]), abort();
        cal_sim_energy(sim, &kinetic, &potential);
    }
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        double values[16];
        cal_sim_sensor(sim, i, values, NULL);
    }
    cal_sim_destroy(sim);
}

// What is written is a file of the same model.
static void write_and_read(const cal_model* model) {
    char path[CAL_TEST_PATH];
    cal_model* again = NULL;
    cal_error error;
    cal_test_path(path, "written.xml");
    if (cal_model_write(model, path, &error) != CAL_OK) return;
    if (cal_model_read(path, NULL, &again, NULL, &error) != CAL_OK) fprintf(stderr, "%s\n", error.text), abort();
    if (cal_model_body_count(again) != cal_model_body_count(model) ||
        cal_model_q_count(again) != cal_model_q_count(model) || cal_model_v_count(again) != cal_model_v_count(model) ||
        cal_model_constraint_count(again) != cal_model_constraint_count(model) ||
        cal_model_actuator_count(again) != cal_model_actuator_count(model))
        fprintf(stderr, "another model\n"), abort();
    cal_model_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_read_options options = cal_default_read_options();
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    cal_error error;
    options.format = CAL_FORMAT_MJCF;
    if (cal_model_read_memory((const char*)bytes, count, "fuzz.xml", &options, &model, &report, &error) == CAL_OK) {
        if (cal_model_body_count(model) <= MOST_BODIES) simulate(model, count);
        if (cal_model_body_count(model) <= MOST_WRITTEN) write_and_read(model);
        cal_model_destroy(model);
    }
    cal_read_report_destroy(report);
    return 0;
}
