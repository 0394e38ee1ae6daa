#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Holds every #include of ours against the layers of CMakeLists.txt: a folder of src/ names only itself and what it
# links, directly or not. Lists the offenders and exits 1. Reads text only: needs no build and no compiler.
source "$(dirname "$0")/common.sh"

# The folder of src/ that defines what a public header declares; headers that declare no function are in the lowest that
# their own includes allow.
declare -A owner=(
  [status]=base [keep_list]=base [taps]=base
  [kv_type]=cache [model_id]=cache [kv_cache]=cache [model]=model
  [selection]=selection [allocation]=allocation [budgets]=allocation
  [profile]=profiling [engine]=engine
)
pure=" base kernels selection allocation " # pure functions over host memory: no ggml, no libllama

# allowed[layer]: itself and everything it links. The calls stand in CMakeLists.txt top first, each on one line.
declare -A allowed=()
while read -r layer links; do
  allowed[$layer]=" $layer "
  for link in $links; do allowed[$layer]+="${allowed[${link#ripplekv_}]:-}"; done
done < <(sed -nE 's/^ripplekv_layer\((\w+) (.*)\)$/\1 \2/p; s/^target_link_libraries\(ripplekv_(\w+) PUBLIC (.*)\)$/\1 \2/p' \
  CMakeLists.txt)

n_offenders=0
offend() { # PLACE WHAT
  printf '%s: %s\n' "$1" "$2" >&2
  n_offenders=$((n_offenders + 1))
}

check_include() { # PLACE LAYER INCLUDED, the last with its quotes or brackets
  local name=${3:1:-1} needed
  if [[ $name == ripplekv/* ]]; then
    needed=${name#*/}
    needed=${owner[${needed%.h}]:-}
    if [[ -z $needed ]]; then
      offend "$1" "$3 is not in the table of scripts/check_layers.sh"
    elif [[ ${allowed[$2]} != *" $needed "* ]]; then
      offend "$1" "$2 does not link '$needed', which defines $3"
    fi
  elif [[ $1 == include/* && $name == *[./]* ]]; then
    offend "$1" "$3: public headers include public and standard ones only"
  elif [[ $3 == \"* ]]; then
    needed=${name%%/*}
    if [[ -z ${allowed[$needed]:-} ]]; then
      offend "$1" "$3 names no layer, expected \"<folder of src>/<file>\""
    elif [[ ${allowed[$2]} != *" $needed "* ]]; then
      offend "$1" "$2 does not link '$needed', which holds $3"
    fi
  elif [[ $pure == *" $2 "* && $name =~ ^(ggml|gguf|llama) ]]; then
    offend "$1" "$2 is pure and does not include $3"
  fi
}

for folder in src/*/; do
  layer=${folder#src/}
  [[ -n ${allowed[${layer%/}]:-} ]] || offend "$folder" "not a layer of CMakeLists.txt"
done
while IFS=: read -r file line text; do
  [[ $text =~ [\"\<][^\"\>]+[\"\>] ]] || continue
  included=${BASH_REMATCH[0]}
  if [[ $file == include/* ]]; then
    layer=${file##*/}
    layer=${owner[${layer%.h}]:-}
    if [[ -z $layer ]]; then
      offend "$file:$line" "the header is not in the table of scripts/check_layers.sh"
      continue
    fi
  else
    layer=${file#src/}
    layer=${layer%%/*}
    [[ -n ${allowed[$layer]:-} ]] || continue # said above
  fi
  check_include "$file:$line" "$layer" "$included"
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.h' --include='*.cpp' include src)

[ "$n_offenders" -eq 0 ] || die "$n_offenders against the layers of CMakeLists.txt"
step "layers: every include follows CMakeLists.txt"
