#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The tables of task scores in docs/results.md: LongBench multi_news, L-Eval and RULER, answers scored as the suites do.
#   scripts/measure_tasks.sh DATA [OUT]   DATA: folder with longbench/, leval/ and ruler/; OUT: results (build/tasks)
# Goes on where it was interrupted. RIPPLEKV_MODEL_FILE names another model, RIPPLEKV_PROFILE its profile,
# RIPPLEKV_TOKENS another length (4096), RIPPLEKV_LIMIT another number of samples a task (4), RIPPLEKV_THREADS another
# number of threads (1 where others work).
source "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || die "got no data, expected: scripts/measure_tasks.sh DATA [OUT]"
data=$1 out=${2:-$RIPPLEKV_BUILD_DIR/tasks}
program=${RIPPLEKV_PROGRAM:-$RIPPLEKV_BUILD_DIR/ripplekv}
model=(-m "${RIPPLEKV_MODEL_FILE:-$(scripts/fetch_model.sh)}" -t "${RIPPLEKV_THREADS:-0}")
limit=${RIPPLEKV_LIMIT:-4}
[ -x "$program" ] || scripts/build.sh
mkdir -p "$out"

profile=${RIPPLEKV_PROFILE:-$out/profile.json}
if [ ! -f "$profile" ]; then
  step "profile: built-in samples"
  "$program" profile "${model[@]}" -o "$profile" >"$out/profile.txt"
fi

policies=full,snapkv,snapkv+pyramid,streaming_llm,h2o,snapkv+ripple,snapkv+curves,snapkv+curves:kernel=1:value-norm
measure() { # NAME SUITE EVAL-FLAGS...
  local name=$1 suite=$2
  shift 2
  step "$name"
  "$program" eval "$suite" "${model[@]}" --data "$data/$suite" --max-tokens "${RIPPLEKV_TOKENS:-4096}" --generate \
    --profile "$profile" --policies "$policies" --budgets 10%,30% --limit "$limit" -o "$out/$name.jsonl" "$@" |
    tee "$out/$name.md"
}
measure ruler ruler
measure multi_news longbench --tasks multi_news
measure leval leval --question both
