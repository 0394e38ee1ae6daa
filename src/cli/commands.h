// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// All commands, in the order help lists them. cmd_x() lives in cmd_x.cpp: it turns its arguments into the engine's
// options, does the work and prints the result to stdout. What it returns as a Status becomes the one line on stderr
// and exit code 1; it catches nothing and calls exit() never.
#pragma once

#include <array>

#include "cli/command.h"

namespace ripplekv {

Status cmd_inspect(const InspectArgs& args);
Status cmd_profile(const ProfileArgs& args);
Status cmd_validate(const ValidateArgs& args);
Status cmd_allocate(const AllocateArgs& args);
Status cmd_tune(const TuneArgs& args);
Status cmd_run(const RunArgs& args);
Status cmd_trace(const TraceArgs& args);
Status cmd_eval(const EvalArgs& args);
Status cmd_report(const ReportArgs& args);
Status cmd_bench(const BenchArgs& args);
Status cmd_export(const ExportArgs& args);
Status cmd_models(const ModelsArgs& args);
Status cmd_score(const ScoreArgs& args);

inline constexpr std::array kCommands = {
    make_command<InspectArgs, cmd_inspect>(),   make_command<ProfileArgs, cmd_profile>(),
    make_command<ValidateArgs, cmd_validate>(), make_command<AllocateArgs, cmd_allocate>(),
    make_command<TuneArgs, cmd_tune>(),         make_command<RunArgs, cmd_run>(),
    make_command<TraceArgs, cmd_trace>(),       make_command<EvalArgs, cmd_eval>(),
    make_command<ReportArgs, cmd_report>(),     make_command<ScoreArgs, cmd_score>(),
    make_command<BenchArgs, cmd_bench>(),       make_command<ExportArgs, cmd_export>(),
    make_command<ModelsArgs, cmd_models>(),
};

}  // namespace ripplekv
