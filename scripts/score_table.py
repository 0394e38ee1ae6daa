# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Task scores of a results file of `ripplekv eval --generate`, of 100, and what each policy has less or more than another
# on the same samples, both with 95% bootstrap intervals: the tables of "Task scores" in docs/results.md.
#   python3 scripts/score_table.py RESULTS... [--against POLICY]     the full cache, if none is named
# Several files are one: they hold other samples.
import argparse
import sys

from eval_peers import interval, interval_text, read_lines


def scores_of(paths):
    """(question, policy, kept) -> {sample: score}, in the order of the files."""
    scores = {}
    for path in paths:
        for line in read_lines(path)[0][1:]:
            if "score" in line:
                run = (line["question"], line["policy"], line["kept"])
                scores.setdefault(run, {})[line["sample"]] = line["score"]
    return scores


def main():
    parser = argparse.ArgumentParser(prog="score_table.py")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--against", default="full", metavar="POLICY")
    args = parser.parse_args()
    scores = scores_of(args.results)
    print(f"| question | kept | policy | samples | score [95%] | less {args.against}'s [95%] |")
    print("| --- " * 6 + "|")
    for (question, policy, kept), of_policy in scores.items():
        other = scores.get((question, args.against, 1.0 if args.against == "full" else kept), {})
        pairs = [score - other[sample] for sample, score in of_policy.items() if sample in other]
        less = interval_text(interval(pairs)) if pairs and policy != args.against else ""
        score = interval_text(interval(list(of_policy.values())))
        print(f"| {question} | {100 * kept:g}% | {policy} | {len(of_policy)} | {score} | {less} |")
    if not scores:
        sys.exit(f"score_table.py: {', '.join(args.results)}: got no scores, expected results of eval --generate")


if __name__ == "__main__":
    main()
