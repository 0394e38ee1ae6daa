# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# Every path of the repository that a document names (in backticks, in a code block or as a link) must exist. What
# begins with a folder of ours or is spelled like a file beside README.md counts as one; {a,b} and * are understood,
# <placeholders> are not checked. Part of scripts/check.sh; run from the repository's root.
import glob
import itertools
import pathlib
import re
import sys

FOLDERS = ("include/", "src/", "tests/", "bench/", "scripts/", "cmake/", "docs/", ".ci/")
BESIDE_README = re.compile(r"[A-Z_]+\.md|LICENSE|CMakeLists\.txt|\.clang-(format|tidy)|\.gitignore")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\s]+)[^`]*`")


def expand(path):
    """'a.{h,cpp}' -> 'a.h', 'a.cpp'"""
    parts = re.split(r"\{([^{}]*)\}", path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def named_paths(document):
    """(line number, path as written, path from the root) of each path the document names."""
    fenced = False
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if not fenced:
            for target in LINK.findall(line):
                if not re.match(r"[a-z]+:|#", target):
                    yield number, target, str(document.parent / target.split("#")[0])
            for word in CODE.findall(line):
                if (word.startswith(FOLDERS) or BESIDE_README.fullmatch(word)) and "<" not in word:
                    yield number, word, word
        else:
            for word in re.findall(r"(?<![\w/.-])(?:%s)[\w./{},*-]+" % "|".join(map(re.escape, FOLDERS)), line):
                yield number, word, word


def main():
    documents = sorted(itertools.chain(pathlib.Path(".").glob("*.md"), pathlib.Path("docs").glob("*.md")))
    missing = [
        f"{document}:{number}: '{written}' does not exist"
        for document in documents
        for number, written, path in named_paths(document)
        if not all(glob.glob(candidate) for candidate in expand(path))
    ]
    print("\n".join(missing), end="\n" if missing else "", file=sys.stderr)
    return 1 if missing or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
