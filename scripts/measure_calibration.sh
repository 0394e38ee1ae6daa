#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The table in docs/results.md of what a profile is made from: number, length and domain of its samples, points of its
# curves, and the KL to the full cache that its plans have on other prompts.
#   scripts/measure_calibration.sh DATA [OUT]   DATA: folder with longbench/ and leval/; OUT: results (build/calibration)
# Goes on where it was interrupted. RIPPLEKV_LIMIT sets another number of prompts a task (4; half of it at 4,096 tokens),
# RIPPLEKV_THREADS another number of threads (1 where others work).
source "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || die "got no data, expected: scripts/measure_calibration.sh DATA [OUT]"
data=$1
out=$(realpath -m "${2:-$RIPPLEKV_BUILD_DIR/calibration}") # it is part of the policies' names
program=${RIPPLEKV_PROGRAM:-$RIPPLEKV_BUILD_DIR/ripplekv}
model=(-m "${RIPPLEKV_MODEL_FILE:-$(scripts/fetch_model.sh)}" -t "${RIPPLEKV_THREADS:-0}")
limit=${RIPPLEKV_LIMIT:-4}
[ -x "$program" ] || scripts/build.sh
mkdir -p "$out"

# Built-in samples but where it says otherwise; the LongBench samples are the last ones of their file, L-Eval's are used
# for LongBench prompts only.
policies=snapkv
profile() { # NAME FLAGS...
  local name=$1
  shift
  policies+=,snapkv+curves:profile=$out/$name.json
  [ ! -f "$out/$name.txt" ] || return 0
  step "profile: $name"
  "$program" profile "${model[@]}" --curve-types f16 -o "$out/$name.json" "$@" >"$out/$name.part"
  mv "$out/$name.part" "$out/$name.txt"
}
tail -n 8 "$data/longbench/multi_news.jsonl" >"$out/news.jsonl"
for n in 2 4 8 16; do # each goes on from the one before
  [ -f "$out/samples$n.json" ] || [ "$n" = 2 ] || cp "$out/samples$((n / 2)).json" "$out/samples$n.json"
  profile "samples$n" --limit "$n"
done
profile seed1 --seed 1
profile point10 --curves 10%
profile points5_40 --curves 5%,40%
profile length1024 --max-tokens 1024
profile length4096 --max-tokens 4096
profile news --calibration "$out/news.jsonl"
profile leval --calibration "$data/leval"

measure() { # NAME SUITE EVAL-FLAGS...
  local name=$1 suite=$2
  shift 2
  step "$name"
  "$program" eval "$suite" "${model[@]}" --data "$data/$suite" --limit "$limit" --policies "$policies" \
    -o "$out/$name.jsonl" "$@" | tee "$out/$name.md"
}
measure news_2048 longbench --tasks multi_news --max-tokens 2048
policies=${policies%,*} # L-Eval's own profile is not held out there
measure leval_2048 leval --max-tokens 2048
limit=$(((limit + 1) / 2))
measure leval_4096 leval --max-tokens 4096
