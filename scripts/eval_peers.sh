#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Task scores of ripplekv's policies beside OpenVINO GenAI with its full cache and evicting, on the same samples, tokens
# and rows; prints a table (scripts/eval_peers.py has the flags; docs/eval.md how to read it):
#   scripts/eval_peers.sh longbench --data DIR --tasks multi_news --limit 10 --out build/peers
# The same command goes on where it was interrupted. Flags behind -- go to `ripplekv eval`.
source "$(dirname "$0")/common.sh"
source scripts/peers_env.sh

need_peers openvino
run_peers scripts/eval_peers.py "$@"
