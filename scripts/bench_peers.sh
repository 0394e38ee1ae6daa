#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Times ripplekv beside OpenVINO GenAI and PyTorch on one GGUF file and prompt, round by round; prints a table and writes
# records as `ripplekv bench --json` does (scripts/bench_peers.py has the flags; docs/performance.md how to read them):
#   scripts/bench_peers.sh --json peers.json                 all peers at 1K and 8K tokens
#   scripts/bench_peers.sh --peers openvino --contexts 1024  fetches and runs that one alone
# OpenVINO takes 0.3 GB of disk. PyTorch takes 5.5 GB: PyPI has it for x86-64 Linux with CUDA only.
source "$(dirname "$0")/common.sh"

peers=openvino,torch,kvpress
for ((i = 1; i <= $#; i++)); do
  case ${!i} in
    --peers) j=$((i + 1)) && peers=${!j:-} ;;
    --peers=*) peers=${!i#*=} ;;
  esac
done

need_packages python3 python3-venv ca-certificates
venv="$RIPPLEKV_CACHE_DIR/peers-venv"
[ -x "$venv/bin/pip" ] || /usr/bin/python3 -m venv "$venv"

# Installs a set of packages once; the set is its own mark, so that another one is installed anew.
need_wheels() {
  local mark="$venv/.$*"
  [ ! -f "$mark" ] || return 0
  step "installing $* into $venv"
  "$venv/bin/pip" install -q --no-cache-dir --disable-pip-version-check "$@"
  touch "$mark"
}
case ,$peers, in *,openvino,*) need_wheels openvino-genai==2026.4.1.0 ;; esac
case ,$peers, in
  *,torch,* | *,kvpress,*) need_wheels torch==2.15.0 transformers==5.2.0 kvpress==0.5.5 gguf==0.19.0 ;;
esac

[ -x "$RIPPLEKV_BUILD_DIR/ripplekv" ] || scripts/build.sh
export TQDM_DISABLE=1 HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" scripts/bench_peers.py --program "$RIPPLEKV_BUILD_DIR/ripplekv" \
  --model "$(scripts/fetch_model.sh)" "$@"
