#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The tables of task scores in docs/results.md: RULER's needles, L-Eval and LongBench multi_news, scored as the suites do.
#   scripts/measure_tasks.sh DATA [OUT]   DATA: folder with ruler/, leval/ and longbench/; OUT: results (build/tasks)
# Goes on where it was interrupted. RIPPLEKV_MODEL_FILE names another model, RIPPLEKV_PROFILE its profile,
# RIPPLEKV_TABLES some of the tables (needles ruler leval multi_news), RIPPLEKV_LIMIT another number of samples a task
# (4), RIPPLEKV_QUESTION one way to ask (both), RIPPLEKV_TOKENS another length of prompts from leval and longbench (4096),
# RIPPLEKV_THREADS another number of threads (1 where others work). scripts/score_table.py compares the scores.
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

policies=full,snapkv,snapkv+pyramid,streaming_llm,h2o,snapkv+ripple,snapkv+curves
# Models with one KV head have nothing to share out among heads.
if grep -q head_fractions "$profile"; then policies+=,snapkv+head_curves,snapkv+head_curves:kernel=1:value-norm; fi
measure() { # NAME SUITE EVAL-FLAGS...
  local name=$1 suite=$2
  shift 2
  [[ " ${RIPPLEKV_TABLES:-needles ruler leval multi_news} " = *" $name "* ]] || return 0
  step "$name"
  "$program" eval "$suite" "${model[@]}" --generate --profile "$profile" --policies "$policies" --budgets 10%,30% \
    --limit "$limit" --parallel 8 --question "${RIPPLEKV_QUESTION:-both}" -o "$out/$name.jsonl" "$@" | tee "$out/$name.md"
}
from_files() { # NAME SUITE EVAL-FLAGS...
  measure "$@" --data "$data/$2" --max-tokens "${RIPPLEKV_TOKENS:-4096}"
}
# Generated, at a length where models of this size still find something; the files' niah_multikey_3 is beyond them.
needles=niah_single_1,niah_single_2,niah_single_3,niah_multikey_1,niah_multikey_2,niah_multivalue
measure needles ruler --tasks "$needles" --lengths 2k
measure ruler ruler --data "$data/ruler" # whole: a cut may take the needle
from_files leval leval
from_files multi_news longbench --tasks multi_news
