#!/usr/bin/env python3
"""Runs the examples of the documents: fenced blocks marked `run`, whose output is the block marked `output` behind them.

    run.py --kind sh|cpp|python|grpcurl --krt PROGRAM [--prefix PREFIX --compiler CXX] FILE.md...

A block is "```LANGUAGE run [serve] [grpcurl]": with `serve` a server listens, and its address stands for 127.0.0.1:50099
in the text. `model.gguf` is the small model of tests/oracle/data/shakespeare. A C++ block is built against PREFIX with what pkg-config says. In the expected output a line "..." stands
for any lines. Exit status 77: what the kind needs is not here (said on standard output), nothing was run; 1 where
KRT_CI=1 promises that all is there.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MODEL = pathlib.Path(__file__).resolve().parents[1] / "oracle/data/shakespeare/q8_0.gguf"
FENCE = re.compile(r"^```(.*)$")


def blocks(path):
    """(words of the fence, text, line number) of every fenced block of a document."""
    fence, lines, start = None, [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = FENCE.match(line)
        if not match:
            lines.append(line)
        elif fence is None:
            fence, lines, start = match[1].split(), [], number
        else:
            yield fence, "\n".join(lines) + "\n", start
            fence = None


def examples(path, kind):
    """(text, words, expected output or None, line number) of the runnable blocks of one kind."""
    found = list(blocks(path))
    for (fence, text, line), (next_fence, next_text, _) in zip(found, found[1:] + [([], "", 0)]):
        if fence[1:2] != ["run"]:
            continue
        if ("grpcurl" if "grpcurl" in fence else fence[0]) == kind:
            yield text, fence, next_text if next_fence == ["output"] else None, line


@contextlib.contextmanager
def server(krt):
    """The address of a server that lives as long as the block."""
    process = subprocess.Popen(
        [krt, "serve", "--listen", "127.0.0.1:0", "--lame-duck-ms", "0", "--log-level", "warn"],
        stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


def command(kind, text, folder, options):
    """The command that runs the example in `folder`."""
    if kind == "python":
        return [sys.executable, "-c", text]
    if kind != "cpp":
        return ["bash", "-euo", "pipefail", "-c", text]
    (folder / "example.cc").write_text(text)
    pc = next(pathlib.Path(options.prefix).resolve().rglob("krt.pc"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "krt"], env={**os.environ, "PKG_CONFIG_PATH": pc.parent},
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run([options.compiler, "-std=c++20", "-Wall", "-Wextra", "example.cc", "-o", "example", *flags],
                   cwd=folder, check=True)
    return [folder / "example"]


def run(kind, example, options):
    """What the example prints."""
    text, fence, _, _ = example
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "model.gguf").symlink_to(MODEL)
        if "serve" in fence:
            text = text.replace("127.0.0.1:50099", stack.enter_context(server(options.krt)))
        path = str(pathlib.Path(options.krt).resolve().parent) + ":" + os.environ["PATH"]
        done = subprocess.run(command(kind, text, folder, options), cwd=folder, env={**os.environ, "PATH": path},
                              stdout=subprocess.PIPE, text=True, timeout=300)
    return done.returncode, done.stdout


def matches(expected, got):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected.splitlines())
    return re.fullmatch(pattern, got) is not None


def missing(kind):
    """What the kind needs and this machine lacks, or None."""
    if kind == "grpcurl" and not shutil.which("grpcurl"):
        return "grpcurl is not installed"
    if kind == "python" and subprocess.run([sys.executable, "-c", "import krt"], capture_output=True).returncode != 0:
        return f"{sys.executable} has no package krt (pip install .)"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", required=True, choices=["sh", "cpp", "python", "grpcurl"])
    parser.add_argument("--krt", required=True)
    parser.add_argument("--prefix")
    parser.add_argument("--compiler")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    lacking = missing(options.kind)
    if lacking:
        print("skipped:", lacking)
        return 1 if os.environ.get("KRT_CI") == "1" else SKIPPED
    count = failed = 0
    for path in options.files:
        for example in examples(path, options.kind):
            count += 1
            code, got = run(options.kind, example, options)
            if code == 0 and (example[2] is None or matches(example[2], got)):
                continue
            failed += 1
            print(f"{path}:{example[3]}: exit status {code}, printed\n{got}expected\n{example[2]}")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
