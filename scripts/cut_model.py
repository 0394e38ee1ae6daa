#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
"""Writes the first layers of a GGUF model as a model of its own: nonsense to read, but its time and memory at contexts
of 128K tokens are those of its layers, in minutes. Needs the package gguf, as in the environment of bench_peers.sh:
  "${XDG_CACHE_HOME:-$HOME/.cache}/ripplekv/peers-venv/bin/python" scripts/cut_model.py MODEL LAYERS OUT
"""
import re
import sys

import gguf


def main() -> None:
    if len(sys.argv) != 4 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 1:
        sys.exit(f"cut_model.py: got {sys.argv[1:]}, expected MODEL LAYERS OUT")
    source, n_layer, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    reader = gguf.GGUFReader(source)
    architecture = reader.get_field("general.architecture").contents()
    writer = gguf.GGUFWriter(out, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = n_layer if name == f"{architecture}.block_count" else field.contents()
        kind = field.types[0]
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(name, value, kind, sub_type=field.types[-1])
        else:
            writer.add_key_value(name, value, kind)
    for tensor in reader.tensors:
        layer = re.match(r"blk\.(\d+)\.", tensor.name)
        if layer is None or int(layer[1]) < n_layer:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
