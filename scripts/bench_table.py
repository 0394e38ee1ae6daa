# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Records of `ripplekv bench --json` and scripts/bench_peers.sh as tables: what was measured, and beside it the goals:
#   python3 scripts/bench_table.py bench.json peers.json
import json
import sys

from openvino_peer import OPENVINO

SPEEDS = ("prefill", "decode")
LLAMA, PYTORCH, OWN = "llama.cpp", "PyTorch", "ripplekv"


def is_compressed(record):
    return record["policy"] != "full"


# What, against whom, the records it is read from, and the bounds of their ratio (or other figure).
GOALS = [
    ("decode, 8K, full cache", LLAMA, ("decode", 8192, False), 1.8, None),
    ("decode, 8K, full cache", OPENVINO, ("decode", 8192, False), 1.7, None),
    ("decode, 8K, 10%", LLAMA, ("decode", 8192, True), 4.0, None),
    ("decode, 8K, 10%", OPENVINO, ("decode", 8192, True), 2.0, None),
    ("decode, 32K, 10%", LLAMA, ("decode", 32768, True), 8.0, None),
    ("decode, 8K, 10%", "full cache of", ("decode", 8192, True), 0.95, None),
    ("prefill, 8K", LLAMA, ("prefill", 8192, False), 4.0, None),
    ("prefill, 1K", LLAMA, ("prefill", 1024, False), 3.0, None),
    ("prefill, 1K", OPENVINO, ("prefill", 1024, False), 0.95, None),
    ("prefill, 8K", OPENVINO, ("prefill", 8192, False), 0.95, None),
    ("prefill, 8K", PYTORCH, ("prefill", 8192, False), 2.0, None),
    ("compression, 8K, 10%", "time to first token", ("prefill", 8192, True), None, 0.02),
    ("memory above the weights, 32K, 10%", LLAMA, ("memory", 32768, True), None, 0.30),
    ("decode", "uniform snapkv", ("decode", None, True), 0.97, 1.03),
    ("prefill", "uniform snapkv", ("prefill", None, True), 0.97, 1.03),
    ("memory", "uniform snapkv", ("memory", None, True), 0.97, 1.03),
    ("load and first token", LLAMA, ("first_token", None, False), None, 1.0),
]


def against(record):
    return record["peer_setting"] if record["peer"] == OWN else record["peer"]


def matching(records, peer, work, context, compressed):
    for record in records:
        if record["work"] != work or is_compressed(record) != compressed or context not in (None, record["context"]):
            continue
        if peer == "time to first token" and record["peer"] in (None, LLAMA):
            yield record, record["compress_share"]
        elif record["peer"] and against(record).startswith(peer):
            yield record, record["ratio"]


def goals_table(records):
    lines = ["| work | against | goal | cache | measured | |", "| --- | --- | --- | --- | --- | --- |"]
    for what, peer, of, low, high in GOALS:
        goal = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
        found = list(matching(records, peer, *of))
        for record, value in found:
            reached = (low is None or value >= low) and (high is None or value <= high)
            cache = f"{record['policy']} {record['k']}/{record['v']}, {record['context']} tokens"
            lines.append(f"| {what} | {peer} | {goal} | {cache} | {value:.3g} | {'reached' if reached else 'short'} |")
        if not found:
            lines.append(f"| {what} | {peer} | {goal} | - | not measured | |")
    return "\n".join(lines)


def figure(record, prefix):
    if record["work"] == "memory":
        return f"{record[prefix + 'above_weights_bytes'] / 2**20:.1f} MiB"
    low, high = record[prefix + "seconds_min"], record[prefix + "seconds_max"]
    if record["work"] not in SPEEDS:
        return f"{record[prefix + 'seconds']:.2f} s ({low:.2f} to {high:.2f})"
    n = record["tokens"]
    return f"{record[prefix + 'tokens_per_s']:.1f} ({n / high:.1f} to {n / low:.1f})"


def records_table(records):
    lines = ["| work | tokens | cache | ripplekv | peer | peer's best | ratio |", "| --- " * 7 + "|"]
    for record in records:
        cache = record["policy"] + (f" {record['budget']}" if is_compressed(record) else "")
        peer, theirs, ratio = "-", "-", "-"
        if record["peer"]:
            peer = f"{record['peer']} ({record['peer_setting']})"
            theirs, ratio = figure(record, "peer_"), f"{record['ratio']:.2f}"
        cells = (record["work"], record["context"], cache, figure(record, ""), peer, theirs, ratio)
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


def main(paths):
    if not paths:
        sys.exit("usage: bench_table.py RECORDS.json...")
    records = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            records += json.load(file)
    print(records_table(records) + "\n\n" + goals_table(records))


if __name__ == "__main__":
    main(sys.argv[1:])
