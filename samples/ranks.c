// The same program on any number of ranks, to the same bits: mpirun -n 4 ./ranks
#include <calder/calder_mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    cal_error error = {0};
    cal_model* model = NULL;
    cal_machine* machine = NULL;
    cal_sim* sim = NULL;
    cal_sim_def def = cal_default_sim_def();
    // Every rank makes the same calls with the same arguments.
    cal_status status = cal_model_generate("mobile", &model, &error);
    if (!status) status = cal_machine_mpi(MPI_COMM_WORLD, 0, &machine, &error);
    def.machine = machine;
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    if (!status) status = cal_sim_advance(sim, 2.0, &error);
    if (!status && rank == 0)
        printf("%d rank%s: %016llx\n", ranks, ranks == 1 ? "" : "s", (unsigned long long)cal_sim_hash(sim));
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
    MPI_Finalize();
    return status != CAL_OK;
}
