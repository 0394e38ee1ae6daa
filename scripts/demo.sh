#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The whole way on a fresh Debian machine: installs, builds, fetches the default model, profiles it, allocates budgets,
# and answers a question about docs/demo_document.txt with the full cache and with compressed ones, side by side.
# What has been done is not done again. Arguments go to `ripplekv profile`: scripts/demo.sh --limit 2
source "$(dirname "$0")/common.sh"

need_packages python3
scripts/build.sh
ripplekv="$RIPPLEKV_BUILD_DIR/ripplekv"
model=$(scripts/fetch_model.sh)
document=docs/demo_document.txt
demo="$RIPPLEKV_CACHE_DIR/demo"
mkdir -p "$demo"

# is_current OUTPUT INPUT...: OUTPUT is there and no older than what it was made from.
is_current() {
  local output=$1 input
  shift
  [ -f "$output" ] || return 1
  for input in "$@"; do
    if [ "$input" -nt "$output" ]; then return 1; fi
  done
}

# The finished profile of the model in the cache folder, or nothing.
finished_profile() {
  "$ripplekv" models --json | python3 -c '
import json, os, sys
found = json.load(sys.stdin)
model = [m.get("fingerprint") for m in found["models"] if os.path.samefile(m["path"], sys.argv[1])]
for profile in found["profiles"]:
    if profile.get("complete") and profile["fingerprint"] in model:
        print(profile["path"])' "$model"
}

profile=$(finished_profile)
if [ -z "$profile" ]; then
  step "profiling the layers of the model, once: some minutes on two cores; interrupted, it goes on where it was"
  "$ripplekv" profile -m "$model" "$@" >&2
  profile=$(finished_profile)
  [ -n "$profile" ] || die "no finished profile of $model after profiling it"
fi

for percent in 10 20; do
  budgets="$demo/ripple-$percent.budgets.json"
  is_current "$budgets" "$profile" "$ripplekv" scripts/demo.sh && continue
  step "allocating $percent%"
  "$ripplekv" allocate -m "$model" --profile "$profile" --kv-budget "$percent%" -o "$budgets" >&2
done

# answer NAME FLAG...: answers the question with a cache as the flags say; files among the flags are inputs.
answer() {
  local run="$demo/$1.run.json" flag inputs=("$document" "$ripplekv" scripts/demo.sh)
  for flag in "${@:2}"; do
    if [ -f "$flag" ]; then inputs+=("$flag"); fi
  done
  is_current "$run" "${inputs[@]}" && return
  step "answering: $1"
  "$ripplekv" run -m "$model" -f "$document" --temp 0 -n 96 --json "${@:2}" >"$run.partial"
  mv "$run.partial" "$run"
}

# trace NAME FLAG...: the same cache against the full one, over the full one's answer.
trace() {
  local trace="$demo/$1.trace.json"
  is_current "$trace" "$demo/$1.run.json" "$demo/trace_input.json" && return
  step "comparing with the full cache: $1"
  "$ripplekv" trace -m "$model" --input "$demo/trace_input.json" --html "$demo/$1.html" -o "$trace" "${@:2}"
}

answer full
if ! is_current "$demo/trace_input.json" "$demo/full.run.json"; then
  python3 scripts/demo_table.py trace-input "$demo"
fi
compressed() { # NAME FLAG...
  answer "$@"
  trace "$@"
}
compressed uniform-10 --kv-budget 10% --selector snapkv --allocator uniform
compressed ripple-10 --budget "$demo/ripple-10.budgets.json"
compressed ripple-20 --budget "$demo/ripple-20.budgets.json"
python3 scripts/demo_table.py table "$demo" "$document"
