#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Which branches of our code the unit tests take, both ways counted: builds build-coverage with clang, runs the tests,
# prints a table per folder. Exits 1 where what coverage_table.py holds to a bound falls under it.
#   scripts/coverage.sh [PATH...]   also lists the branches not taken under these, e.g. src/selection
source "$(dirname "$0")/common.sh"

need_packages clang llvm python3
export RIPPLEKV_BUILD_DIR=${RIPPLEKV_COVERAGE_BUILD_DIR:-build-coverage}
# As scripts/fuzz.sh builds, so that ccache has ggml and libllama for both.
RIPPLEKV_TARGETS=all scripts/build.sh -DRIPPLEKV_COVERAGE=ON -DRIPPLEKV_TESTS=ON -DCMAKE_C_COMPILER=clang \
  -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DGGML_OPENMP=OFF

build=$PWD/$RIPPLEKV_BUILD_DIR
rm -rf "$build/counts"
step "unit tests"
# One file per program, into which its processes add: a test may start hundreds.
LLVM_PROFILE_FILE="$build/counts/%4m.profraw" ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -L unit >&2
llvm-profdata merge -o "$build/counts/all.profdata" "$build"/counts/*.profraw
objects=("$build/ripplekv")
for program in "$build"/tests/unit_*; do
  [ ! -x "$program" ] || objects+=(-object "$program")
done
llvm-cov export -instr-profile "$build/counts/all.profdata" "${objects[@]}" |
  python3 scripts/coverage_table.py "$@"
