// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The ranks that mpirun or srun started: all that the program has to do with MPI, which is optional at build time
// (RIPPLEKV_MPI). Started alone, with or without it, the process is one rank of one.
#pragma once

#include "base/ranks.h"
#include "ripplekv/status.h"

namespace ripplekv {

// May be called again. Error: started as one of several by a build without MPI, which would have all do the same work.
Result<Ranks> join_ranks();

// The program's last call. exit_code other than 0: the ranks that wait for this one are ended, too.
void leave_ranks(int exit_code);

}  // namespace ripplekv
