# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# What scripts/demo.sh shows, from the JSON that `ripplekv run` and `ripplekv trace` wrote into its folder:
#   demo_table.py trace-input FOLDER       the full cache's prompt and answer -> FOLDER/trace_input.json
#   demo_table.py table FOLDER DOCUMENT    answers, bytes, speed and KL side by side, to standard output
import json
import os
import sys
import textwrap

NAMES = ("full", "uniform-10", "ripple-10", "ripple-20")


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def write_trace_input(folder):
    full = read(folder, "full.run.json")
    path = os.path.join(folder, "trace_input.json")
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump({"ids": full["prompt_ids"], "answer": full["ids"]}, file)
    os.replace(path + ".partial", path)


def title(run):
    if run["allocator"] == "full":
        return "full cache"
    return f"{run['selector']}, {run['allocator']} {run['kv_budget']}"


def table_row(run, kl):
    kept_fraction = sum(run["rows"]) / (len(run["prompt_ids"]) * len(run["rows"]))
    return (
        title(run),
        f"{kept_fraction:.1%}",
        f"{run['kv_bytes_held'] / 2**20:.1f} MiB",
        f"{run['kv_bytes_peak'] / 2**20:.1f} MiB",
        f"{run['prefill_tokens_per_second']:.0f}",
        f"{run['decode_tokens_per_second']:.0f}",
        "" if kl is None else f"{kl:.3f}",
    )


def print_table(folder, document):
    runs = {name: read(folder, f"{name}.run.json") for name in NAMES}
    kl = {name: None if name == "full" else read(folder, f"{name}.trace.json")["kl"] for name in NAMES}
    with open(document, encoding="utf-8") as file:
        question = file.read().strip().split("\n")[-1]
    full = runs["full"]

    print(f"\n{full['model']}, {document}: a prompt of {len(full['prompt_ids'])} tokens. The question:")
    print(textwrap.fill(question, 100, initial_indent="  ", subsequent_indent="  "))
    for run in runs.values():
        print(f"\n{title(run)}:")
        print(textwrap.fill(run["text"].strip(), 100, initial_indent="  ", subsequent_indent="  "))

    head = ("cache", "rows kept", "KV held", "KV peak", "prefill tok/s", "decode tok/s", "KL to full")
    rows = [head] + [table_row(run, kl[name]) for name, run in runs.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    print()
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))
    print("\nKL: nats per token, mean over the answer of the full cache. KV held counts the positions of the rows too; KV")
    print("peak is the largest allocation at any moment of the prefill.")
    print("One question is an example, no measurement. Which tokens each layer kept:")
    for name in NAMES[1:]:
        print(f"  {os.path.join(folder, name)}.html")


if __name__ == "__main__":
    if sys.argv[1:2] == ["trace-input"] and len(sys.argv) == 3:
        write_trace_input(sys.argv[2])
    elif sys.argv[1:2] == ["table"] and len(sys.argv) == 4:
        print_table(sys.argv[2], sys.argv[3])
    else:
        sys.exit("demo_table.py: expected trace-input FOLDER, or table FOLDER DOCUMENT")
