# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The referee of scripts/eval_peers.sh: `ripplekv eval` answers with its policies and writes the token ids of its
# prompts (--prompts); OpenVINO GenAI answers the same ids with its full cache and evicting to the same rows; `ripplekv
# score` scores it by the same references. What is measured is kept in --out, line by line; a failure is named, never a
# score.
import argparse
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys

import openvino_peer
from openvino_peer import BLOCK, OPENVINO

FORMAT = "ripplekv.peer_answers"
N_BATCH = 2048  # tokens that OpenVINO reads at a time
QUESTIONS = ("aware", "agnostic")


def note(text):
    print(f"eval_peers.sh: {text}", file=sys.stderr)


def read_lines(path):
    """The JSON objects of whole lines, and the bytes these take: a run that was killed may leave a torn last line."""
    if not os.path.exists(path):
        return [], 0
    with open(path, "rb") as file:
        whole = file.read().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.split(b"\n") if line], len(whole) + 1 if whole else 0


class Answers:
    """One JSON line for each answer or failure of the peer, flushed as they come."""

    def __init__(self, path, header):
        lines, n_whole = read_lines(path)
        if lines and lines[0] != header:
            different = [key for key in header if lines[0].get(key) != header[key]]
            what = ", ".join(different)
            sys.exit(f"eval_peers.sh: {path}: holds answers with another {what}; remove it to start over")
        self.known = {self.key_of(line): line for line in lines[1:]}
        if lines:
            os.truncate(path, n_whole)
        self.file = open(path, "a", encoding="utf-8")
        if not lines:
            self.file.truncate(0)
            self.write(header)

    @staticmethod
    def key_of(line):
        return line["sample"], line["prompt"], line["kept"]

    def write(self, line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def get(self, prompt, kept):
        return self.known.get((prompt["sample"], prompt["hash"], kept))

    def add(self, prompt, kept, of):
        line = {"sample": prompt["sample"], "prompt": prompt["hash"], "kept": kept, **of}
        self.known[self.key_of(line)] = line
        self.write(line)


class OpenVino:
    """One setting of the pipeline; rows: what it keeps of each layer, None for all."""

    def __init__(self, args, end_ids, rows, n_tokens):
        import openvino
        import openvino_genai

        self.openvino, self.genai, self.end_ids, self.rows = openvino, openvino_genai, end_ids, rows
        scheduler = openvino_peer.scheduler_of(openvino_genai, N_BATCH, rows)
        self.n_block = -(-n_tokens // BLOCK) + 8  # and some that evicted ones wait in
        scheduler.num_kv_blocks = self.n_block
        properties = {"INFERENCE_NUM_THREADS": args.threads, **args.peer_properties}
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(args.model, scheduler, "CPU", properties)

    def answer(self, prompt, n_layer):
        config = openvino_peer.greedy(self.genai, prompt["answer_tokens"])
        config.stop_token_ids = set(self.end_ids)
        handle = self.pipeline.add_request(0, openvino_peer.tensor_of(self.openvino, prompt["ids"]), config)
        # A prompt is read in steps of N_BATCH tokens, then a token is decoded in each. The usage is that with which a
        # step begins, its own tokens included: what eviction leaves behind the first decoded token shows in the next
        # step. An answer that has ended before was made from the whole prompt.
        n_prompt = len(prompt["ids"])
        n_decoded = -n_prompt // N_BATCH  # 0 at the step that reads the last of the prompt
        while self.pipeline.has_non_finished_requests():
            self.pipeline.step()
            n_decoded += 1
            if n_decoded <= 2:
                metrics = self.pipeline.get_metrics()
                n_block = round(metrics.cache_usage / 100 * self.n_block)
                rows = (n_block - 1) * BLOCK + (n_prompt + n_decoded - 1) % BLOCK + 1 - n_decoded
        ids = [id_ for id_ in handle.read_all()[0].generated_ids if id_ not in self.end_ids]
        return {
            "answer": self.pipeline.get_tokenizer().decode(ids),
            "rows": rows * n_layer,
            "rows_set": self.rows and self.rows * n_layer,
            "bytes": round(rows / BLOCK * metrics.cache_size_in_bytes / self.n_block),
        }


def run_ripplekv(args, paths):
    command = [args.program, "eval", args.suite, "-m", args.model, "-t", str(args.threads), "--generate"]
    command += ["--policies", args.policies, "--budgets", ",".join(f"{kept * 100:.12g}%" for kept in args.budgets)]
    command += ["--question", args.question, "--prompts", paths["prompts"], "-o", paths["results"]] + args.eval_flags
    for flag in ("data", "tasks", "limit", "max_tokens"):
        if getattr(args, flag) is not None:
            command += ["--" + flag.replace("_", "-"), getattr(args, flag)]
    done = subprocess.run(command + ["--json"], stdout=subprocess.PIPE, check=False)
    # With a summary, 1 is of samples that failed, each of which has a line with its error.
    if done.returncode not in (0, 1) or not done.stdout.strip():
        sys.exit(max(1, done.returncode))
    return done.returncode


def run_openvino(args, header, prompts, path):
    import openvino_genai

    made_by = {"fingerprint": header["fingerprint"], "openvino_genai": openvino_genai.__version__}
    made_by["properties"] = args.peer_properties
    answers = Answers(path, {"format": FORMAT, "version": 1, **made_by})
    todo = {}  # by the rows a pipeline is set to: loading one takes seconds
    for prompt in prompts:
        for kept in [1.0] + args.budgets:
            known = answers.get(prompt, kept)
            if known is None or "error" in known:
                rows = openvino_peer.rows_for(kept, len(prompt["ids"])) if kept < 1 else None
                todo.setdefault(rows, []).append((prompt, kept))
    n_done, n_todo = 0, sum(map(len, todo.values()))
    for rows, jobs in todo.items():
        n_tokens = max(len(prompt["ids"]) + prompt["answer_tokens"] for prompt, _ in jobs)
        peer = None
        for prompt, kept in jobs:
            try:
                peer = peer or OpenVino(args, header["end_ids"], rows, n_tokens)
                answers.add(prompt, kept, peer.answer(prompt, header["n_layer"]))
            except (RuntimeError, ValueError) as error:
                note(f"{OPENVINO}: {prompt['sample']} at {kept:.0%}: {error}")
                answers.add(prompt, kept, {"error": str(error)})
                peer = None  # what it left half done is not to be gone on with
            n_done += 1
            note(f"{OPENVINO}: {n_done} of {n_todo} answers")
    return answers


def score(args, header, jobs, folder):
    """jobs: (prompt, answer line). Sets "score" in the lines."""
    jobs = [(prompt, line) for prompt, line in jobs if "error" not in line]
    if not jobs:
        return
    pairs = []
    for prompt, line in jobs:
        pair = {key: prompt[key] for key in ("task", "metric", "answers", "all_classes") if key in prompt}
        pairs.append({"suite": header["suite"], **pair, "prediction": line["answer"]})
    source, scored = os.path.join(folder, "openvino_pairs.json"), os.path.join(folder, "openvino_scores.json")
    with open(source, "w", encoding="utf-8") as file:
        json.dump(pairs, file)
    subprocess.run([args.program, "score", source, "-o", scored], check=True, stdout=subprocess.DEVNULL)
    with open(scored, encoding="utf-8") as file:
        for (_, line), pair in zip(jobs, json.load(file), strict=True):
            line["score"] = pair["score"]


def interval(values):
    """The mean and its 95% bootstrap interval over samples."""
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(2000))
    return {"value": statistics.fmean(values), "lo": means[49], "hi": means[1949]}


def cell_of(lines):
    """Lines of one policy, budget and question, by sample; those with an error count as failed alone."""
    measured = [line for line in lines.values() if "error" not in line]
    cell = {"samples": len(measured), "failed": len(lines) - len(measured)}
    if measured:
        for key in ("rows", "bytes"):
            cell[key] = statistics.fmean(line[key] for line in measured)
        if measured[0].get("rows_set"):
            cell["rows_set"] = statistics.fmean(line["rows_set"] for line in measured)
        cell["score"] = interval([line["score"] for line in measured])
    return cell


def make_rows(args, prompts, results, answers):
    """One row for each task, budget and policy, with a cell for each way to ask; "all" is over samples."""
    lines = {key_of(line): line for line in results}
    policies = args.policies.split(",")
    tasks = list(dict.fromkeys(prompt["task"] for prompt in prompts))
    rows = []
    for task in tasks + (["all"] if len(tasks) > 1 else []):
        of_task = [prompt for prompt in prompts if task in ("all", prompt["task"])]
        for kept in [1.0] + args.budgets:
            cells = {}
            for policy in policies:
                if (policy == "full") != (kept == 1):
                    continue
                for question in QUESTIONS:
                    asked = [prompt for prompt in of_task if prompt["question"] == question]
                    if asked:
                        found = {p["sample"]: find(lines, (p["sample"], policy, question, kept)) for p in asked}
                        cells.setdefault(policy, {})[question] = found
            asked = [prompt for prompt in of_task if prompt["question"] == "aware"]
            cells[OPENVINO] = {"aware": {p["sample"]: p if "error" in p else answers.get(p, kept) for p in asked}}
            theirs = {sample: line for sample, line in cells[OPENVINO]["aware"].items() if "error" not in line}
            for policy, by_question in cells.items():
                row = {"task": task, "kept": kept, "policy": policy}
                row.update((question, cell_of(found)) for question, found in by_question.items())
                ours = by_question.get("aware", {})
                pairs = [ours[s]["score"] - theirs[s]["score"] for s in theirs if s in ours and "error" not in ours[s]]
                if pairs and policy != OPENVINO:
                    row["over_peer"] = {"pairs": len(pairs), **interval(pairs)}
                rows.append(row)
    return rows


def key_of(line):
    """Of one of our results."""
    return line["sample"], line["policy"], line["question"], line["kept"]


def find(lines, key):
    if key not in lines:
        what = "no result of {1} for sample {0}, {2}, at {3:.4g}".format(*key)
        sys.exit(f"eval_peers.sh: {what}: see what ripplekv eval said")
    return lines[key]


def interval_text(of):
    return f"{100 * of['value']:.2f} [{100 * of['lo']:.2f}, {100 * of['hi']:.2f}]"


def cell_text(cell):
    failed = f" ({cell['failed']} failed)" if cell and cell["failed"] else ""
    if not cell or not cell["samples"]:
        return [f"0{failed}" if cell else "-", "-", "-", "-"]
    rows = f"{cell['rows']:.0f}" + (f" (set: {cell['rows_set']:.0f})" if "rows_set" in cell else "")
    return [f"{cell['samples']}{failed}", rows, f"{cell['bytes'] / 2**20:.2f} MiB", interval_text(cell["score"])]


def table_of(rows):
    asked = [question for question in QUESTIONS if any(question in row for row in rows)]
    names = ["task", "kept", "policy"]
    for question in asked:
        behind = f", {question}" if len(asked) > 1 else ""
        names += [f"samples{behind}", f"rows{behind}", f"bytes{behind}", f"score{behind} [95%]"]
    if any("over_peer" in row for row in rows):
        names.append(f"over {OPENVINO}'s [95%]")
    lines = ["| " + " | ".join(names) + " |", "| --- " * len(names) + "|"]
    for row in rows:
        cells = [row["task"], f"{100 * row['kept']:g}%", row["policy"]]
        for question in asked:
            cells += cell_text(row.get(question))
        if len(cells) < len(names):
            cells.append(interval_text(row["over_peer"]) if "over_peer" in row else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures_of(prompts, results, answers, budgets):
    asked = {(prompt["sample"], prompt["question"]) for prompt in prompts}
    failures = [line for line in results if "error" in line and (line["sample"], line["question"]) in asked]
    for prompt in prompts:
        if prompt["question"] == "aware" and "error" not in prompt:
            lines = [answers.get(prompt, kept) for kept in [1.0] + budgets]
            failures += [{"policy": OPENVINO, "question": "aware", **line} for line in lines if "error" in line]
    return [{key: line[key] for key in ("sample", "policy", "question", "kept", "error")} for line in failures]


def parse_args():
    parser = argparse.ArgumentParser(prog="eval_peers.sh")
    parser.add_argument("suite", help="as of `ripplekv eval`, like all flags that are named so there")
    parser.add_argument("--program", required=True, help="the ripplekv program (eval_peers.sh names it)")
    parser.add_argument("-m", "--model", required=True, help="the GGUF file (eval_peers.sh names the default model)")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    for flag in ("--data", "--tasks", "--limit", "--max-tokens"):
        parser.add_argument(flag)
    parser.add_argument("--policies", default="full,snapkv,snapkv+pyramid,h2o,streaming_llm", help="ours")
    parser.add_argument("--budgets", default="10%,20%", help="fractions of the rows that every policy keeps")
    parser.add_argument("--question", default="both", choices=("aware", "both"), help=f"{OPENVINO}: aware alone")
    parser.add_argument("--peer-properties", default="", help="of OpenVINO in place of its own, as in A=1,B=f16")
    parser.add_argument("--out", required=True, help="folder for everything measured; the same command goes on from it")
    parser.add_argument("--json", help="file for the table's figures")
    parser.add_argument("eval_flags", nargs="*", help="behind --: more flags of `ripplekv eval`")
    own, behind = sys.argv[1:], []
    if "--" in own:
        own, behind = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    args.eval_flags += behind
    try:
        scale = {True: 100, False: 1}
        budgets = [round(float(text.removesuffix("%")) / scale["%" in text], 12) for text in args.budgets.split(",")]
    except ValueError:
        budgets = [0]
    if not all(0 < kept < 1 for kept in budgets):
        parser.error(f"--budgets: got '{args.budgets}', expected fractions between 0 and 1, as in 10%,20%")
    args.budgets = sorted(set(budgets))
    pairs = [text.partition("=") for text in args.peer_properties.split(",") if text]
    if not all(name and value for name, _, value in pairs):
        parser.error(f"--peer-properties: got '{args.peer_properties}', expected names with values, as in A=1,B=f16")
    args.peer_properties = {name: value for name, _, value in pairs}
    return args


def main():
    args = parse_args()
    os.makedirs(args.out, exist_ok=True)
    paths = {name: os.path.join(args.out, f"{name}.jsonl") for name in ("prompts", "results", "openvino")}
    code = run_ripplekv(args, paths)
    header, *prompts = read_lines(paths["prompts"])[0]
    for prompt in prompts:
        prompt["hash"] = hashlib.sha256(json.dumps(prompt.get("ids")).encode()).hexdigest()
    whole = [prompt for prompt in prompts if prompt["question"] == "aware" and "error" not in prompt]
    answers = run_openvino(args, header, whole, paths["openvino"])
    score(args, header, [(p, answers.get(p, kept)) for p in whole for kept in [1.0] + args.budgets], args.out)
    # A sample that failed and was tried again has two lines: what was measured counts.
    results = [{**line, "kept": round(line["kept"], 12)} for line in read_lines(paths["results"])[0][1:]]
    results.sort(key=lambda line: "error" not in line)
    results = list({key_of(line): line for line in results}.values())
    rows = make_rows(args, prompts, results, answers)
    failures = failures_of(prompts, results, answers, args.budgets)
    print(table_of(rows))
    print(f"\nrows: of all layers, when the answer begins; set: what {OPENVINO} was told to keep, in blocks of {BLOCK}")
    for failure in failures:
        print("failed: {sample}, {policy}, {question}, at {kept:.4g}: {error}".format(**failure))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            common = {"model": header["model"], "suite": args.suite, "peer_properties": args.peer_properties}
            json.dump({**common, "rows": rows, "failures": failures}, file, indent=1)
    sys.exit(1 if failures or code else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        note("interrupted; the same command goes on")
        sys.exit(130)
