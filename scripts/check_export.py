# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# What scripts/check_export.sh runs: a small random model with as many layers as the budgets file, a prompt under
# kvpress's PerLayerCompressionPress with the exported ratios, and the rows that its cache holds then.
import json
import logging
import subprocess
import sys

import torch
from kvpress import KnormPress, PerLayerCompressionPress, SnapKVPress
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

logging.getLogger("kvpress").setLevel(logging.ERROR)  # decoding needs flash attention; a prefill alone does not


def exported(program, budgets, n_prompt):
    command = [program, "export", budgets, "--to", "kvpress", "--tokens", str(n_prompt)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"check_export.sh: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_held(press, n_layer, n_prompt):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=128,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=n_layer,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=n_prompt,
    )
    model = LlamaForCausalLM(config).eval()
    cache = DynamicCache()
    with torch.no_grad(), press(model):
        model(torch.randint(0, config.vocab_size, (1, n_prompt)), past_key_values=cache)
    return [layer.keys.shape[2] for layer in cache.layers]


def main(program, budgets, *lengths):
    for n_prompt in [int(length) for length in lengths] or [1000, 4096]:
        wanted = exported(program, budgets, n_prompt)
        for scorer in (KnormPress(), SnapKVPress(window_size=32)):
            press = PerLayerCompressionPress(scorer, wanted["compression_ratios"])
            held = rows_held(press, len(wanted["rows"]), n_prompt)
            if held != wanted["rows"]:
                sys.exit(f"check_export.sh: {n_prompt} tokens: kvpress keeps {held}, expected {wanted['rows']}")
        print(f"{n_prompt} tokens: kvpress keeps {min(held)} to {max(held)} rows of {len(held)} layers, as planned")


main(*sys.argv[1:])
