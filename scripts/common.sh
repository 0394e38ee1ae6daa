# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Sourced by the scripts beside it: where things lie, and how a step reports itself. Pins live in fetch_deps.sh and
# fetch_model.sh. Everything fetched lies in $RIPPLEKV_CACHE_DIR (default: ~/.cache/ripplekv), never in the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
RIPPLEKV_CACHE_DIR="${RIPPLEKV_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ripplekv}"
export RIPPLEKV_CACHE_DIR
RIPPLEKV_BUILD_DIR="${RIPPLEKV_BUILD_DIR:-build}"
# Another clone of the same sources finds the same objects.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-true}"

step() { printf '== %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    die "needs root to run: $*"
  fi
}

# Installs the Debian packages that are missing; asks no package server when none is.
need_packages() {
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  step "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A virtual environment for fetching from PyPI by package name.
fetch_venv() {
  local venv="$RIPPLEKV_CACHE_DIR/venv"
  if [ ! -x "$venv/bin/pip" ]; then
    mkdir -p "$RIPPLEKV_CACHE_DIR"
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
  fi
  printf '%s' "$venv"
}

# check_sha256 FILE SUM
check_sha256() {
  local got
  got=$(sha256sum "$1" | cut -d' ' -f1)
  [ "$got" = "$2" ] || die "$(basename "$1"): SHA-256 is $got, expected $2"
}
