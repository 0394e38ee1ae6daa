# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Reads what `llvm-cov export` writes; prints how many branch outcomes of our code were taken (a condition has two: true
# and false; conditions joined by && and || count each), per folder and for what is held to a bound:
#   llvm-cov export ... | coverage_table.py [PATH...]     also lists the outcomes not taken under these paths
# Left out: conditions of RKV_CHECK, whose failing is a bug of ours and ends the process. Run from the repository's root.
import collections
import functools
import json
import os
import sys

BOUND = 0.95
HELD = {
    "selection": ("src/selection/",),
    "allocation": ("src/allocation/",),
    "cache": ("src/cache/",),
    "readers": (
        "src/base/atomic_file.cpp",
        "src/base/json_file.cpp",
        "src/base/utf8.cpp",
        "src/model/gguf_file.cpp",
        "src/engine/session.cpp",
        "src/profiling/calibration.cpp",
        "src/profiling/profile.cpp",
    ),
}
BRANCH, EXPANSION = 4, 1  # kinds of region


@functools.cache
def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def outcomes(document):
    """(path, line, column, condition's end) -> [times true, times false], instances of templates added up."""
    counts = collections.defaultdict(lambda: [0, 0])
    root = os.getcwd() + "/"
    for function in document["data"][0]["functions"]:
        path = os.path.normpath(function["filenames"][0])
        if not path.startswith(root + "src/"):
            continue
        path = path[len(root) :]
        # A macro's body is a file of its own: where its text stands in the function. The outermost one counts.
        stands_at = {region[6]: region for region in function["regions"] if region[7] == EXPANSION}
        for line, column, end_line, end_column, n_true, n_false, file, _, kind in function["branches"]:
            if kind != BRANCH:
                continue
            place, inside = (line, column, end_line, end_column), ()
            while file != 0 and file in stands_at:
                inside += place
                place, file = tuple(stands_at[file][:4]), stands_at[file][5]
            if lines_of(path)[place[0] - 1][place[1] - 1 :].startswith("RKV_CHECK"):
                continue
            count = counts[path, place + inside]
            count[0] += n_true
            count[1] += n_false
    return counts


def main(listed):
    counts = outcomes(json.load(sys.stdin))
    taken, total = collections.Counter(), collections.Counter()
    for (path, place), count in sorted(counts.items()):
        names = [name for name, paths in HELD.items() if path.startswith(paths)]
        names.append("/".join(path.split("/")[:2]) + "/")
        for name in names:
            taken[name] += sum(n > 0 for n in count)
            total[name] += 2
        if any(path.startswith(prefix) for prefix in listed) and 0 in count:
            missed = " and ".join(word for word, n in zip(("true", "false"), count) if n == 0)
            print(f"{path}:{place[0]}:{place[1]}: never {missed}: {lines_of(path)[place[0] - 1].strip()}")
    under = [name for name in HELD if taken[name] < BOUND * total[name]]
    print(f"{'':16} {'outcomes':>9} {'taken':>7}")
    for name in [*HELD, *sorted(set(total) - set(HELD))]:
        bound = f"  under {BOUND:.0%}" if name in under else f"  at least {BOUND:.0%}" if name in HELD else ""
        print(f"{name:16} {total[name]:>9} {taken[name] / total[name]:>7.1%}{bound}")
    return 1 if under else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
