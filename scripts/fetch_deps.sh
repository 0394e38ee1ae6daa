#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Installs Debian's packages and unpacks the pinned llama.cpp source into the cache folder, once.
source "$(dirname "$0")/common.sh"

need_packages g++ cmake ninja-build ccache python3 python3-venv ca-certificates \
  libcli11-dev libspdlog-dev libfmt-dev libxxhash-dev libedit-dev libutf8proc-dev libgtest-dev libbenchmark-dev

package=llama_cpp_python version=0.3.36
sum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
target="$RIPPLEKV_CACHE_DIR/$package-$version"
[ -f "$target/.complete" ] && exit 0

step "fetching llama.cpp (the sdist of $package $version, 77 MB)"
venv=$(fetch_venv)
"$venv/bin/pip" install -q --disable-pip-version-check scikit-build-core # pip's metadata step for the sdist asks for it
work=$(mktemp -d "$RIPPLEKV_CACHE_DIR/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation \
  --dest "$work" "$package==$version"
check_sha256 "$work/$package-$version.tar.gz" "$sum"
tar -xzf "$work/$package-$version.tar.gz" -C "$work"
touch "$work/$package-$version/.complete"
rm -rf "$target"
mv "$work/$package-$version" "$target"
