#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Builds build/ripplekv. Arguments go to cmake's configure step: scripts/build.sh -DGGML_CUDA=ON
# Targets other than the program: RIPPLEKV_TARGETS="ripplekv tests" (empty: everything of ours).
source "$(dirname "$0")/common.sh"

scripts/fetch_deps.sh
step "configuring $RIPPLEKV_BUILD_DIR"
cmake -S . -B "$RIPPLEKV_BUILD_DIR" -G Ninja "$@" >"/tmp/ripplekv-configure.$$.log" 2>&1 || {
  cat "/tmp/ripplekv-configure.$$.log" >&2
  rm -f "/tmp/ripplekv-configure.$$.log"
  die "cmake failed"
}
rm -f "/tmp/ripplekv-configure.$$.log"
step "building (the first build takes about ten minutes on two cores, later ones seconds)"
# shellcheck disable=SC2086
cmake --build "$RIPPLEKV_BUILD_DIR" --target ${RIPPLEKV_TARGETS:-ripplekv} >&2
