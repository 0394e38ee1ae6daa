#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Holds `ripplekv export --to kvpress` against the real package (CPU only; installs it, 5.5 GB): each layer of a model
# under its PerLayerCompressionPress keeps the rows that the plan says.
#   scripts/check_export.sh budgets.json [N...]   N: lengths of prompts (1000, 4096)
source "$(dirname "$0")/common.sh"
source scripts/peers_env.sh

[ $# -ge 1 ] || die "got no budgets file, expected: scripts/check_export.sh budgets.json [N...]"
budgets=$(realpath "$1")
shift
program=${RIPPLEKV_PROGRAM:-$RIPPLEKV_BUILD_DIR/ripplekv}
[ -x "$program" ] || scripts/build.sh
need_peers kvpress
export HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" scripts/check_export.py "$program" "$budgets" "$@"
