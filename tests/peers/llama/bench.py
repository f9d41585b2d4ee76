#!/usr/bin/env python3
"""bench.py MODEL.gguf ... [--rounds N] [--threads N]: krt generate beside llama.cpp on the same files, as a table.

    scripts/build release krt && tests/peers/llama/build
    python3 tests/peers/llama/bench.py build/models/*.gguf

The two programs run in turn, a process each, and the medians of the rounds are printed: seconds to load, tokens/s of a
prefill of 512 and of decoding 64 behind 1 and behind 1024 tokens, peak memory. The last column is the bytes of the file
that a decoded token has to read, times tokens/s, as a share of the read bandwidth that krt bench measures. The values
are compared by tests/oracle/model_compare.py, not here.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
KRT = ROOT / "build/release/bin/krt"
PEER = ROOT / "build/peers/llama/llama_peer"
DEPTHS = [0, 1024]
METRICS = {"load_s": "load, s", "prefill_512": "prefill 512, tokens/s",
           **{f"decode_at_{d}": f"decode 64 at depth {d}, tokens/s" for d in DEPTHS}, "peak_mib": "peak memory, MiB"}
LOWER_IS_BETTER = ("load_s", "peak_mib")


def generate(model, threads, prompt, tokens):
    ids = ",".join(str(1000 + i * 7 % 5000) for i in range(prompt))
    run = subprocess.run([KRT, "--threads", str(threads), "generate", "-m", model, "--prompt-ids", ids, "-n", str(tokens),
                          "--ignore-eos", "--chunk", "512", "--format", "json"], capture_output=True, text=True, check=True)
    load = re.search(r" in ([0-9.]+) s", run.stderr)
    peak = re.search(r"peak memory ([0-9]+) MiB", run.stderr)
    return json.loads(run.stdout) | {"load_s": float(load[1]), "peak_mib": int(peak[1])}


def krt(model, threads):
    prefill = generate(model, threads, 512, 1)
    out = {"load_s": prefill["load_s"], "prefill_512": 512 / prefill["prefill_s"]}
    for depth in DEPTHS:
        run = generate(model, threads, max(depth, 1), 65)  # the last token is not read
        out[f"decode_at_{depth}"] = 64 / run["decode_s"]
        out["peak_mib"] = run["peak_mib"]
    return out


def llama(model, threads):
    run = subprocess.run([PEER, model, "time", *map(str, DEPTHS)], capture_output=True, text=True, check=True,
                         env=os.environ | {"THREADS": str(threads)})
    return json.loads(run.stdout)


def bandwidth(threads):
    """GB/s, of the ceiling behind a case of krt bench."""
    run = subprocess.run([KRT, "bench", f"quant.matvec/F16/n=1/threads={threads}", "--format", "json"],
                         capture_output=True, text=True, check=True)
    row = json.loads(run.stdout.splitlines()[0])
    return row["value"] / row["ceiling_share"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    ceiling = bandwidth(options.threads)
    print(f"{options.threads} threads, median of {options.rounds} rounds; read bandwidth {ceiling:.1f} GB/s\n")
    print("| file | case | krt | llama.cpp | times | of bandwidth |\n|---|---|---|---|---|---|")
    for model in options.models:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(krt(model, options.threads))
            theirs.append(llama(model, options.threads))
        for key, name in METRICS.items():
            a, b = (statistics.median(run[key] for run in runs) for runs in (ours, theirs))
            ratio = b / a if key in LOWER_IS_BETTER else a / b
            share = f"{a * model.stat().st_size / 1e9 / ceiling:.0%}" if key.startswith("decode") else ""
            print(f"| {model.name} | {name} | {a:.4g} | {b:.4g} | {ratio:.2f}x | {share} |", flush=True)


if __name__ == "__main__":
    main()
