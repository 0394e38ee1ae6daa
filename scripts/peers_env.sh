# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Sourced behind common.sh by the scripts that run peers: their Python packages, pinned, in an environment of their own,
# of which each is installed when it is first asked for. OpenVINO takes 0.3 GB of disk. PyTorch takes 5.5 GB: PyPI has
# it for x86-64 Linux with CUDA only.
venv="$RIPPLEKV_CACHE_DIR/peers-venv"

# Installs a set of packages once; the set is its own mark, so that another one is installed anew.
need_wheels() {
  local mark="$venv/.$*"
  [ ! -f "$mark" ] || return 0
  step "installing $* into $venv"
  "$venv/bin/pip" install -q --no-cache-dir --disable-pip-version-check "$@"
  touch "$mark"
}

# need_peers LIST: of openvino, torch, kvpress, apart by commas.
need_peers() {
  need_packages python3 python3-venv ca-certificates
  [ -x "$venv/bin/pip" ] || /usr/bin/python3 -m venv "$venv"
  case ,$1, in *,openvino,*) need_wheels openvino-genai==2026.4.1.0 ;; esac
  case ,$1, in
    *,torch,* | *,kvpress,*) need_wheels torch==2.15.0 transformers==5.2.0 kvpress==0.5.5 gguf==0.19.0 ;;
  esac
}

# run_peers SCRIPT ARGUMENT...: in that environment, with the program and the default model.
run_peers() {
  [ -x "$RIPPLEKV_BUILD_DIR/ripplekv" ] || scripts/build.sh
  export TQDM_DISABLE=1 HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
  exec "$venv/bin/python" "$1" --program "$RIPPLEKV_BUILD_DIR/ripplekv" --model "$(scripts/fetch_model.sh)" "${@:2}"
}
