#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Times ripplekv beside OpenVINO GenAI and PyTorch on one GGUF file and prompt, round by round; prints a table and writes
# records as `ripplekv bench --json` does (scripts/bench_peers.py has the flags; docs/performance.md how to read them):
#   scripts/bench_peers.sh --json peers.json                 all peers at 1K and 8K tokens
#   scripts/bench_peers.sh --peers openvino --contexts 1024  fetches and runs that one alone
source "$(dirname "$0")/common.sh"
source scripts/peers_env.sh

peers=openvino,torch,kvpress
for ((i = 1; i <= $#; i++)); do
  case ${!i} in
    --peers) j=$((i + 1)) && peers=${!j:-} ;;
    --peers=*) peers=${!i#*=} ;;
  esac
done
need_peers "$peers"
run_peers scripts/bench_peers.py "$@"
