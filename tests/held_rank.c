// Loaded before the command: a rank that comes to its end, where it sends a message without a number, and stays there.
#include <mpi.h>
#include <unistd.h>

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    while (count == 0) pause();
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}
