/// \file calder_mpi.h
/// Calder on the ranks of an MPI communicator: library calder_mpi, which links to MPI; the core does not.
///
/// Every rank makes the same calls with the same arguments (as MPI programs do), builds the same model, and holds the
/// moving numbers of its own share of it. After cal_sim_advance every rank has all of q and v.
#pragma once
#include <calder/calder_run.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// A machine of the ranks of a communicator, which is duplicated and may be freed afterwards. Collective: all ranks call it,
/// and all get the same status. lanes as for cal_machine_serial.
cal_status cal_machine_mpi(MPI_Comm communicator, int lanes, cal_machine** out, cal_error* error);

/// What the messages of a plan's machine amount to, for one evaluation: of all ranks together.
typedef struct cal_mpi_traffic {
    int64_t messages, bytes;
} cal_mpi_traffic;
/// Collective. The plan must have been made with a machine of cal_machine_mpi.
cal_status cal_mpi_plan_traffic(const cal_plan* plan, cal_mpi_traffic* out);

/// A run that the ranks of a communicator do together, and that the first one is asked about: there everything of calder_run.h
/// is called (by one thread at a time: MPI_THREAD_SERIALIZED), the others call cal_run_follow. Collective. Takes over `inner`, each
/// rank's own run (cal_run_create_sim) of the same model on a machine of cal_machine_mpi, which has begun; on an error it stays the
/// caller's. Checkpoints, changes of settings and events are not among what it can do.
cal_status cal_run_create_ranks(MPI_Comm communicator, cal_run* inner, cal_run** out, cal_error* error);
/// On all ranks but the first: does what the first one does, until that destroys its run.
cal_status cal_run_follow(cal_run* run, cal_error* error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
