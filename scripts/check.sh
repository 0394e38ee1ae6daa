#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Everything a change must pass: format, layers, scripts, documents, build with -Werror, all tests, clang-tidy.
#   scripts/check.sh              clang-tidy on what differs from the commit before the last, within a time bound
#   scripts/check.sh --tidy       clang-tidy on every source file
#   scripts/check.sh --sanitize   also builds build-sanitize with address,undefined and runs all tests there, and the
#                                 kernels and what computes no graph under valgrind's memcheck
source "$(dirname "$0")/common.sh"

tidy_all=false sanitize=false
for argument in "$@"; do
  case $argument in
    --tidy) tidy_all=true ;;
    --sanitize) sanitize=true ;;
    *) die "got '$argument', expected --tidy or --sanitize" ;;
  esac
done
tidy_seconds=600 # for what differs; all files take as long as they take

need_packages git clang-format clang-tidy shellcheck python3
folders=(include src tests fuzz)
[ ! -d bench ] || folders+=(bench)

step "format"
find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 clang-format --dry-run -Werror ||
  die "clang-format -i puts it right"

scripts/check_layers.sh

step "scripts"
shellcheck -s bash -x -P SCRIPTDIR scripts/*.sh .ci/run

step "documents"
python3 scripts/check_docs.py

scripts/test.sh

step "flag tables"
"$RIPPLEKV_BUILD_DIR/ripplekv" help --markdown | diff -u docs/cli.md - >&2 ||
  die "docs/cli.md is not what the program says: $RIPPLEKV_BUILD_DIR/ripplekv help --markdown >docs/cli.md"

# NUL-separated.
sources_to_tidy() {
  if $tidy_all; then
    find "${folders[@]}" -name '*.cpp' -print0
  else
    local since
    since=$(git rev-parse --verify --quiet HEAD~1 || git rev-parse HEAD)
    { git diff -z --name-only --diff-filter=d "$since" -- "${folders[@]}" &&
      git ls-files -z --others --exclude-standard -- "${folders[@]}"; } | { grep -z '\.cpp$' || true; } | sort -zu
  fi
}
mapfile -d '' -t sources < <(sources_to_tidy)
step "clang-tidy on ${#sources[@]} files"
if [ ${#sources[@]} -gt 0 ]; then
  bound=()
  $tidy_all || bound=(timeout "$tidy_seconds")
  tidy=(clang-tidy --quiet -p "$RIPPLEKV_BUILD_DIR")
  code=0
  printf '%s\0' "${sources[@]}" | "${bound[@]}" xargs -0 -n 1 -P "$(nproc)" "${tidy[@]}" 2>/dev/null || code=$?
  case $code in
    0) ;;
    124) step "clang-tidy was stopped after $tidy_seconds s: not every file was looked at; --tidy takes its time" ;;
    *) die "clang-tidy found the above" ;;
  esac
fi

if $sanitize; then
  # Without -Werror: instrumented, std::regex makes GCC warn of what is not. Waiting threads sleep: instrumented, the
  # others keep them waiting for long.
  OMP_WAIT_POLICY=passive RIPPLEKV_BUILD_DIR=build-sanitize RIPPLEKV_WERROR=OFF RIPPLEKV_SANITIZE=address,undefined \
    scripts/test.sh
  # What the sanitizers do not see: bytes that were never written. ggml's kernels use instructions that valgrind does
  # not know, so these are the programs that compute no graph; ours are run for the best processor that valgrind has
  # (AVX2) and the portable one. Two tests of resident memory would see valgrind's.
  need_packages valgrind
  for program in base selection allocation cache profiling kernels; do
    step "memcheck: unit_$program"
    filter=-TensorArena.MemoryComesWhenTouchedAndGoesWhenFreed:LayerCache.CompactReturnsMemoryToTheSystem
    [ "$program" != kernels ] || filter='*Ragged*:*OneRow*:*NotANumber*:*WideGroup*:*Together*:*NotFinite*'
    valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
      "$RIPPLEKV_BUILD_DIR/tests/unit_$program" --gtest_brief=1 --gtest_filter="$filter"
  done
fi
step "all checks passed"
