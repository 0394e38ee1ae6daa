#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Installs what is missing, builds everything and runs all tests. Arguments go to ctest: scripts/test.sh -L unit
# RIPPLEKV_SANITIZE=address,undefined instruments our code; scripts/check.sh --sanitize does that.
source "$(dirname "$0")/common.sh"

need_packages python3-jieba # its tables and itself: Chinese segmentation is compared with it word by word
need_packages libopenmpi-dev openmpi-bin procps # several processes that share samples
model=$(scripts/fetch_model.sh)
gemma=$(scripts/fetch_model.sh gemma3)
shared=""
[ -d ../shared/reference ] && shared=$(cd ../shared && pwd)
RIPPLEKV_TARGETS=all scripts/build.sh -DRIPPLEKV_TESTS=ON "-DRIPPLEKV_WERROR=${RIPPLEKV_WERROR:-ON}" \
  -DRIPPLEKV_MPI=ON "-DRIPPLEKV_SANITIZE=${RIPPLEKV_SANITIZE:-}" "-DRIPPLEKV_MODEL=$model" \
  "-DRIPPLEKV_GEMMA_MODEL=$gemma" "-DRIPPLEKV_SHARED_DIR=${RIPPLEKV_SHARED_DIR:-$shared}"
step "testing"
ctest --test-dir "$RIPPLEKV_BUILD_DIR" --output-on-failure -j "$(nproc)" "$@"
