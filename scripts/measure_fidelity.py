#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
"""KL to the full cache of several policies on prompts that were not used for profiling.

For every prompt: the full cache's own greedy answer (`ripplekv run`), then one `ripplekv trace` per policy and budget,
teacher-forced on that answer. One JSON line per (prompt, policy, budget) in --output; lines that are there are not
measured again. Prints means, medians, worst cases and paired bootstrap intervals of the ratio to uniform.

  scripts/measure_fidelity.py --data ../shared/data/leval --prompts 12 --tokens 2048 --output fidelity.jsonl
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

POLICIES = {
    "uniform": ["--allocator", "uniform"],
    "pyramid": ["--allocator", "pyramid"],
    "streaming_llm": ["--allocator", "uniform", "--selector", "streaming_llm"],
    "ripple": ["--allocator", "ripple"],
    "ripple sqrt r8": ["--allocator", "ripple", "--transform", "sqrt", "--r", "8", "--gamma", "8"],
}


def program(args, *command):
    done = subprocess.run([args.program, *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def prompts(args):
    """The documents with their first question, one of each file in turn; cut in the middle to about --tokens."""
    files = [[json.loads(line) for line in open(path)] for path in sorted(pathlib.Path(args.data).glob("*.jsonl"))]
    names = [path.stem for path in sorted(pathlib.Path(args.data).glob("*.jsonl"))]
    taken = 0
    for record in range(max(map(len, files))):
        for name, records in zip(names, files):
            if record >= len(records) or taken == args.prompts:
                continue
            taken += 1
            document, question = records[record]["input"], records[record]["instructions"][0]
            half = int(args.tokens * args.characters_per_token / 2)
            if len(document) > 2 * half:
                document = document[:half] + document[-half:]
            yield f"{name}:{record}", f"{document}\n\n{question}"


def ratio_interval(pairs, n=2000):
    """Mean of the first over mean of the second, with a 95% bootstrap interval over prompts."""
    draw = random.Random(0)
    ratios = []
    for _ in range(n):
        sample = [pairs[draw.randrange(len(pairs))] for _ in pairs]
        ratios.append(sum(a for a, _ in sample) / max(1e-12, sum(b for _, b in sample)))
    ratios.sort()
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs), ratios[int(0.025 * n)], ratios[int(0.975 * n)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of L-Eval .jsonl files")
    parser.add_argument("--output", required=True, help="results, one JSON line each; read first if it is there")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=2048, help="approximate length of a prompt")
    parser.add_argument("--characters-per-token", type=float, default=4.0)
    parser.add_argument("--answer-tokens", type=int, default=32)
    parser.add_argument("--budgets", default="10%,20%")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--model", default="")
    parser.add_argument("--weights", default="f32", help="native adds ggml's own rounding noise, about 0.003 nats")
    parser.add_argument("--program", default="build/ripplekv")
    args = parser.parse_args()

    model = ["--weights", args.weights] + (["-m", args.model] if args.model else [])
    done = {}
    if pathlib.Path(args.output).exists():
        for line in open(args.output):
            row = json.loads(line)
            done[row["prompt"], row["policy"], row["budget"]] = row
    cases = [(p, b) for b in args.budgets.split(",") for p in args.policies.split(",")]
    with tempfile.TemporaryDirectory() as folder, open(args.output, "a") as output:
        for name, text in prompts(args):
            missing = [case for case in cases if (name, *case) not in done]
            if not missing:
                continue
            prompt_file, input_file = f"{folder}/prompt.txt", f"{folder}/input.json"
            pathlib.Path(prompt_file).write_text(text)
            full = program(args, "run", *model, "-f", prompt_file, "--temp", "0", "-n", str(args.answer_tokens), "--json")
            if len(full["ids"]) < 2:
                print(f"{name}: the answer is {len(full['ids'])} token, left out", file=sys.stderr)
                continue
            pathlib.Path(input_file).write_text(json.dumps({"ids": full["prompt_ids"], "answer": full["ids"]}))
            for policy, budget in missing:
                trace = program(args, "trace", *model, "--input", input_file, "--kv-budget", budget, *POLICIES[policy])
                row = {"prompt": name, "policy": policy, "budget": budget, "n_prompt": trace["n_prompt"],
                       "n_answer": len(full["ids"]), "rows": sum(trace["rows"]), "kl": trace["kl"], "top1": trace["top1"]}
                done[name, policy, budget] = row
                output.write(json.dumps(row) + "\n")
                output.flush()
            print(f"{name}: {len(full['prompt_ids'])} tokens", file=sys.stderr)

    names = sorted({name for name, _, _ in done})
    print("| budget | policy | prompts | mean KL | median | worst | top-1 | ratio to uniform [95%] |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for budget in args.budgets.split(","):
        for policy in args.policies.split(","):
            rows = [done[n, policy, budget] for n in names if (n, policy, budget) in done]
            if not rows:
                continue
            kl = [row["kl"] for row in rows]
            pairs = [(row["kl"], done[row["prompt"], "uniform", budget]["kl"]) for row in rows
                     if (row["prompt"], "uniform", budget) in done]
            ratio = "{:.2f} [{:.2f}, {:.2f}]".format(*ratio_interval(pairs)) if pairs else ""
            print(f"| {budget} | {policy} | {len(rows)} | {statistics.mean(kl):.3f} | {statistics.median(kl):.3f} | "
                  f"{max(kl):.3f} | {statistics.mean(row['top1'] for row in rows):.3f} | {ratio} |")


if __name__ == "__main__":
    main()
