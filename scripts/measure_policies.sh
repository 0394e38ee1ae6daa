#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The tables of policies in docs/results.md: KL to the full cache on L-Eval prompts that no profile was made from.
#   scripts/measure_policies.sh DATA [OUT]   DATA: folder of L-Eval .jsonl files; OUT: folder for results (build/policies)
# Goes on where it was interrupted. RIPPLEKV_MODEL_FILE names another model, RIPPLEKV_PROFILE its profile,
# RIPPLEKV_TOKENS another length (2048), RIPPLEKV_LIMIT another number of prompts a file (4), RIPPLEKV_TABLES some of the
# tables (allocators selectors bytes), RIPPLEKV_THREADS another number of threads (1 where others work).
source "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || die "got no data, expected: scripts/measure_policies.sh DATA [OUT]"
data=$1 out=${2:-$RIPPLEKV_BUILD_DIR/policies}
program=${RIPPLEKV_PROGRAM:-$RIPPLEKV_BUILD_DIR/ripplekv}
model=(-m "${RIPPLEKV_MODEL_FILE:-$(scripts/fetch_model.sh)}" -t "${RIPPLEKV_THREADS:-0}")
limit=${RIPPLEKV_LIMIT:-4}
tokens=${RIPPLEKV_TOKENS:-2048}
[ -x "$program" ] || scripts/build.sh
mkdir -p "$out"

profile=${RIPPLEKV_PROFILE:-$out/profile.json}
if [ ! -f "$profile" ]; then
  step "profile: built-in samples, damage curves"
  "$program" profile "${model[@]}" -o "$profile" >"$out/profile.txt"
fi

# Models with one KV head have nothing to share out among heads.
by_heads() { if grep -q head_fractions "$profile"; then echo ",$1"; fi; }

measure() { # NAME POLICIES EVAL-FLAGS...
  local name=$1 policies=$2
  shift 2
  [[ " ${RIPPLEKV_TABLES:-allocators selectors bytes} " = *" $name "* ]] || return 0
  step "$name"
  "$program" eval leval "${model[@]}" --data "$data" --limit "$limit" --max-tokens "$tokens" --profile "$profile" \
    --policies "$policies" -o "$out/$name-$tokens.jsonl" "$@" | tee "$out/$name-$tokens.md"
}

allocators=snapkv,snapkv+pyramid,streaming_llm,h2o,snapkv+ripple
allocators+=,snapkv+ripple:transform=sqrt:r=8:gamma=8,snapkv+curves
allocators+=,snapkv+ripple:signal=local,snapkv+ripple:signal=index,snapkv+ripple:signal=random
allocators+=$(by_heads snapkv+head_curves)
measure allocators "$allocators"

selectors=snapkv,snapkv+curves:kernel=1,snapkv+curves:value-norm,snapkv+curves:kernel=1:value-norm
selectors+=,snapkv+curves:window=64,snapkv+curves:window=64:kernel=1:value-norm,tova+curves,expected_attention
selectors+=,expected_attention+curves,streaming_llm+curves
heads=snapkv+head_curves
selectors+=$(by_heads $heads:kernel=1:value-norm,$heads:window=64:kernel=1:value-norm,tova+head_curves)
selectors+=$(by_heads expected_attention+head_curves,$heads:head-floor=0.5)
measure selectors "$selectors"

bytes=snapkv,snapkv:kv-type=q8_0,snapkv:ctk=q8_0:ctv=q4_0,snapkv+curves,snapkv+curves:kv-type=q8_0
bytes+=,snapkv+curves:ctk=q8_0:ctv=q4_0,snapkv+curves:ctk=q8_0:ctv=q4_0:kernel=1:value-norm
bytes+=,snapkv+curves:kv-type=auto
bytes+=$(by_heads $heads,$heads:kv-type=auto,$heads:kv-type=auto:kernel=1:value-norm)
measure bytes "$bytes" --match bytes --budgets 5%,10%,20%
