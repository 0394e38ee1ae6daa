# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# The rounds of scripts/bench_peers.sh. In each of them ripplekv runs once (`ripplekv bench --repeats 1`), then every
# setting of every peer; every other round runs backwards. Settings that take a tenth longer than the peer's best in the
# first round are not run again. Records are those of `ripplekv bench --json`; a peer's best setting counts.
import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import bench_table
import openvino_peer

HOPELESS = 1.1


class Ripplekv:
    """Seconds of prefill and of decoding, full and compressed."""

    def __init__(self, args, prompt_file):
        self.args, self.prompt_file = args, prompt_file

    def run(self, context):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "records.json")
            command = [self.args.program, "bench", "-m", self.args.model, "-t", str(self.args.threads)]
            command += ["-f", self.prompt_file, "--contexts", str(context), "--policies", f"full,{self.args.policy}"]
            command += ["--budgets", f"{self.args.kept * 100:g}%", "--decode", str(self.args.decode), "--repeats", "1"]
            command += ["--works", "prefill,decode", "--weights", self.args.weights, "--json", out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                records = [record for record in json.load(file) if record["peer"] is None]
        return {(record["work"], record["policy"]): record for record in records}


class OpenVino:
    """LLMPipeline on the GGUF file itself; kept < 1: evicts to that part of the prompt, in whole blocks."""

    peer = openvino_peer.OPENVINO

    def __init__(self, args, ids, kept, setting):
        import openvino
        import openvino_genai

        self.args, self.ids, self.genai, self.openvino = args, ids, openvino_genai, openvino
        self.compressed, self.setting = kept < 1, setting["name"]
        properties = {"INFERENCE_NUM_THREADS": args.threads}
        if setting["batch"]:
            rows = openvino_peer.rows_for(kept, len(ids)) if self.compressed else None
            n_batch = min(setting["batch"], max(256, len(ids)))
            scheduler = openvino_peer.scheduler_of(openvino_genai, n_batch, rows)
            scheduler.cache_size = 1 + len(ids) // 16384  # GB
            if rows:
                self.setting += f", {rows} rows"
            properties["scheduler_config"] = scheduler
        else:
            properties["ATTENTION_BACKEND"] = "SDPA"
        self.pipeline = openvino_genai.LLMPipeline(args.model, "CPU", **properties)
        self.generate(ids[:64], 2)

    def generate(self, ids, n):
        config = openvino_peer.greedy(self.genai, n)
        config.min_new_tokens, config.ignore_eos = n, True
        inputs = self.genai.TokenizedInputs(
            openvino_peer.tensor_of(self.openvino, ids), openvino_peer.tensor_of(self.openvino, [1] * len(ids))
        )
        return self.pipeline.generate(inputs, config).perf_metrics

    def run(self):
        metrics = self.generate(self.ids, self.args.decode + 1)
        return {"prefill": metrics.get_ttft().mean / 1000, "decode": metrics.get_tpot().mean / 1000 * self.args.decode}


class Torch:
    """transformers on the dequantised file, F32, SDPA; kept < 1: kvpress's SnapKV."""

    model = None

    def __init__(self, args, ids, kept):
        import torch
        import transformers

        torch.set_num_threads(args.threads)
        self.args, self.torch, self.transformers = args, torch, transformers
        self.compressed, self.ids = kept < 1, torch.tensor([ids])
        self.peer = "kvpress" if self.compressed else bench_table.PYTORCH
        self.setting = f"F32, SDPA{', SnapKV' if self.compressed else ''}"
        if Torch.model is None:
            folder, name = os.path.split(args.model)
            Torch.model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, gguf_file=name, dtype=torch.float32, attn_implementation="sdpa"
            ).eval()
        self.press = None
        if self.compressed:
            import kvpress

            self.press = kvpress.SnapKVPress(compression_ratio=1 - kept, window_size=32)
        self.time(self.ids[:, :256], 1)

    def time(self, ids, n_decode):
        torch, n = self.torch, ids.shape[1]
        cache = self.transformers.DynamicCache()
        with torch.inference_mode():
            begin = time.perf_counter()
            with self.press(Torch.model) if self.press else contextlib.nullcontext():
                logits = Torch.model(ids, past_key_values=cache, logits_to_keep=1).logits
            prefill = time.perf_counter() - begin
            for i in range(n_decode + 1):
                if i == 1:
                    begin = time.perf_counter()
                token = logits[:, -1:].argmax(-1)
                positions = torch.tensor([[n + i]])
                logits = Torch.model(token, past_key_values=cache, position_ids=positions, logits_to_keep=1).logits
        return {"prefill": prefill, "decode": time.perf_counter() - begin}

    def run(self):
        return self.time(self.ids, self.args.decode)


def make_peers(args, ids):
    peers = []
    if "openvino" in args.peers:
        for name, batch in (("256 tokens a batch", 256), ("2048 tokens a batch", 2048), ("SDPA backend", 0)):
            for kept in (1.0, args.kept) if batch else (1.0,):
                print(f"loading OpenVINO: {name}, {kept:.0%}", file=sys.stderr)
                peers.append(OpenVino(args, ids, kept, {"name": name, "batch": batch}))
    if "torch" in args.peers:
        peers.append(Torch(args, ids, 1.0))
    if "kvpress" in args.peers:
        peers.append(Torch(args, ids, args.kept))
    return peers


def kind_of(peer):
    return peer.peer, peer.compressed


def is_hopeless(peer, peers, times):
    rivals = [other for other in peers if kind_of(other) == kind_of(peer)]
    return all(
        times[peer][0][work] > HOPELESS * min(times[rival][0][work] for rival in rivals) for work in bench_table.SPEEDS
    )


def record_of(args, ours, work, peers, times):
    """One of ours beside the best setting of one peer."""
    best = min(peers, key=lambda peer: statistics.median(of[work] for of in times[peer]))
    record = dict(ours[0][work, args.policy if best.compressed else "full"])
    n_token = record["tokens"]
    figures = {
        "": [of[work, record["policy"]]["seconds"] for of in ours],
        "peer_": [of[work] for of in times[best]],
    }
    record.update(peer=best.peer, peer_setting=best.setting)
    for prefix, seconds in figures.items():
        record[prefix + "tokens_per_s"] = n_token / statistics.median(seconds)
        record[prefix + "seconds"] = statistics.median(seconds)
        record[prefix + "seconds_min"], record[prefix + "seconds_max"] = min(seconds), max(seconds)
        record[prefix + "repeats"] = len(seconds)
    record["ratio"] = record["tokens_per_s"] / record["peer_tokens_per_s"]
    record["peer_settings"] = {
        peer.setting: n_token / statistics.median(of[work] for of in times[peer]) for peer in peers
    }
    return record


def measure(args, context, ids, ripplekv):
    peers = make_peers(args, ids[:context])
    times = {peer: [] for peer in peers}
    ours = []
    for round_ in range(args.repeats):
        order = [ripplekv] + [peer for peer in peers if round_ == 0 or not is_hopeless(peer, peers, times)]
        for who in order if round_ % 2 == 0 else reversed(order):
            if who is ripplekv:
                ours.append(ripplekv.run(context))
            else:
                times[who].append(who.run())
        print(f"{context} tokens: round {round_ + 1} of {args.repeats}", file=sys.stderr)
    kinds = dict.fromkeys(kind_of(peer) for peer in peers)
    return [
        record_of(args, ours, work, [peer for peer in peers if kind_of(peer) == kind], times)
        for work in bench_table.SPEEDS
        for kind in kinds
    ]


def main():
    parser = argparse.ArgumentParser(prog="bench_peers.sh")
    parser.add_argument("--program", required=True, help="the ripplekv program (bench_peers.sh names it)")
    parser.add_argument("-m", "--model", required=True, help="the GGUF file (bench_peers.sh names the default model)")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peers", default="openvino,torch,kvpress", help="of openvino, torch, kvpress")
    parser.add_argument("--contexts", default="1024,8192", help="tokens of prompts, apart by commas")
    parser.add_argument("--policy", default="snapkv", help="what runs beside peers that evict")
    parser.add_argument("--kept", type=float, default=0.1, help="fraction of the rows that it and they keep")
    parser.add_argument("--weights", default="native", help="as of `ripplekv bench`")
    parser.add_argument("--decode", type=int, default=32, help="tokens decoded in one timed run")
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--json", help="file for the records")
    args = parser.parse_args()
    args.peers = args.peers.split(",")
    unknown = set(args.peers) - {"openvino", "torch", "kvpress"}
    if unknown:
        sys.exit(f"bench_peers.sh: --peers: got {', '.join(sorted(unknown))}, expected openvino, torch, kvpress")
    contexts = [int(context) for context in args.contexts.split(",")]
    draw = random.Random(1)
    ids = [draw.randrange(3, 32000) for _ in range(max(contexts))]
    records = []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as prompt_file:
        json.dump(ids, prompt_file)
        prompt_file.flush()
        ripplekv = Ripplekv(args, prompt_file.name)
        for context in contexts:
            records += measure(args, context, ids, ripplekv)
            if args.json:
                with open(args.json, "w", encoding="utf-8") as file:
                    json.dump(records, file, indent=2)
    print(bench_table.records_table(records))


if __name__ == "__main__":
    main()
