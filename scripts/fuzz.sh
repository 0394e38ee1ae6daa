#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Fuzzes the readers of strangers' input: builds build-fuzz with clang, runs each target, prints a table.
#   scripts/fuzz.sh [SECONDS [TARGET...]]   60 seconds each, all targets of fuzz/
# What was found to be new stays in build-fuzz/corpus, inputs that crash in build-fuzz/crashes: then it exits 1.
source "$(dirname "$0")/common.sh"

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "got '$seconds', expected seconds for each target"
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || for source in fuzz/fuzz_*.cpp; do targets+=("$(basename "$source" .cpp | sed 's/^fuzz_//')"); done
for target in "${targets[@]}"; do
  [ -f "fuzz/fuzz_$target.cpp" ] || die "no target '$target': there is no fuzz/fuzz_$target.cpp"
done

need_packages clang llvm
export RIPPLEKV_BUILD_DIR=${RIPPLEKV_FUZZ_BUILD_DIR:-build-fuzz}
RIPPLEKV_TARGETS=fuzz_programs scripts/build.sh -DRIPPLEKV_FUZZ=ON -DRIPPLEKV_TESTS=ON -DCMAKE_C_COMPILER=clang \
  -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DGGML_OPENMP=OFF

build=$PWD/$RIPPLEKV_BUILD_DIR
mkdir -p "$build/corpus" "$build/crashes"
"$build/fuzz/write_seeds" "$build/seeds"
TMPDIR=$(mktemp -d -p "$([ -d /dev/shm ] && printf /dev/shm || printf /tmp)" ripplekv-fuzz-XXXXXX) # each input is a file
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export UBSAN_OPTIONS=print_stacktrace=1

failed=()
table=""
for target in "${targets[@]}"; do
  step "fuzzing $target for $seconds s"
  mkdir -p "$build/corpus/$target"
  log=$build/$target.log
  code=0
  # print_funcs: to name each new function takes longer than to run it thousands of times.
  nice "$build/fuzz/fuzz_$target" "$build/corpus/$target" "$build/seeds/$target" -max_total_time="$seconds" \
    -max_len=32768 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 -use_value_profile=1 -print_final_stats=1 \
    -print_funcs=0 \
    -artifact_prefix="$build/crashes/$target-" >"$log" 2>&1 || code=$?
  # Of the last line that reports progress: "#123 DONE cov: 456 ft: ...".
  edges=$(sed -nE 's/^#[0-9]+\s.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
  n_run=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")
  per_second=$(sed -nE 's/^stat::average_exec_per_sec: +//p' "$log")
  outcome=ok
  if [ "$code" -ne 0 ]; then
    failed+=("$target")
    outcome=CRASH
    grep -E 'ERROR|SUMMARY|runtime error|check failed|Test unit written' "$log" >&2 || tail -n 20 "$log" >&2
  fi
  table+=$(printf '%-16s %12s %8s %8s  %s' "$target" "${n_run:--}" "${per_second:--}" "${edges:--}" "$outcome")$'\n'
done
printf '%-16s %12s %8s %8s\n%s' target executions exec/s edges "$table"
[ ${#failed[@]} -eq 0 ] || die "crashes in ${failed[*]}: inputs in $build/crashes, reports in $build/<target>.log"
