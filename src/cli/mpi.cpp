// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "cli/mpi.h"

#include <cstdlib>
#include <string_view>

#ifdef RIPPLEKV_MPI
#include <mpi.h>
#endif

namespace ripplekv {
namespace {

// Of OpenMPI's mpirun, and of whatever starts processes by PMIx (srun --mpi=pmix).
bool started_together() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr ? std::string_view(size) != "1" : std::getenv("PMIX_RANK") != nullptr;
}

#ifdef RIPPLEKV_MPI
bool running() {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}
#endif

}  // namespace

Result<Ranks> join_ranks() {
  Ranks ranks;
  if (!started_together()) return ranks;
#ifdef RIPPLEKV_MPI
  if (!running()) MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  if (ranks.count > 1) ranks.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  return ranks;
#else
  return unsupported(
      "started as one of several processes by a build without MPI, expected one built with -DRIPPLEKV_MPI=ON");
#endif
}

void leave_ranks([[maybe_unused]] int exit_code) {
#ifdef RIPPLEKV_MPI
  if (!running()) return;
  if (exit_code != 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
  MPI_Finalize();
#endif
}

}  // namespace ripplekv
