"""decode.sample beside the torch operations that do the same work, in one run on one thread.

    cmake --preset release && cmake --build --preset release --target krt
    python tests/peers/torch_sampling.py build/release/bin/krt          # needs torch, on a CPU

Two sequences are timed for the usual chain: the full one of transformers (mask the row by top-k, sort it, softmax, cumsum,
mask, softmax, multinomial) and a short one that leaves the row at topk and works on the 50. Figures are medians.
"""

import json
import statistics
import subprocess
import sys
import time

import torch

TEMPERATURE, K, P, MIN_P = 0.8, 50, 0.95, 0.05


def peaked_row(vocabulary):
    """The kind of row that modules/decode/sample/sample_bench.cc makes."""
    torch.manual_seed(20261130)
    row = torch.randn(1, vocabulary) * 2
    row[0, torch.randint(vocabulary, (64,))] += 8 + 2 * torch.randn(64)
    return row


def nucleus(scores):
    ordered, ids = torch.sort(scores, descending=False)
    drop = ordered.softmax(-1).cumsum(-1) <= 1 - P
    drop[..., -1:] = False
    return scores.masked_fill(drop.scatter(1, ids, drop), -torch.inf)


def draw(scores):
    return torch.multinomial(scores.softmax(-1), 1)


def full_chain(row):
    scores = row / TEMPERATURE
    return draw(nucleus(scores.masked_fill(scores < torch.topk(scores, K)[0][..., -1:], -torch.inf)))


def short_chain(row):
    best, ids = torch.topk(row / TEMPERATURE, K)
    p = best.softmax(-1)
    p = p.masked_fill(p.cumsum(-1) - p > P, 0)
    return ids.gather(-1, torch.multinomial(p, 1))


def min_p(row):
    scores = row / TEMPERATURE
    p = scores.softmax(-1)
    return draw(scores.masked_fill(p < MIN_P * p.amax(-1, keepdim=True), -torch.inf))


SEQUENCES = {
    "argmax": {"argmax": lambda row: row.argmax(-1)},
    "top_k=50,top_p=0.95": {"full chain": full_chain, "short chain": short_chain},
    "top_p=0.95": {"chain": lambda row: draw(nucleus(row / TEMPERATURE))},
    "min_p=0.05": {"chain": min_p},
    "temperature": {"softmax, multinomial": lambda row: draw(row / TEMPERATURE)},
}


def median_us(function, row):
    times = []
    for _ in range(60):
        start = time.perf_counter()
        function(row)
        times.append(time.perf_counter() - start)
    return statistics.median(times[10:]) * 1e6


def main():
    torch.set_num_threads(1)
    lines = subprocess.run([sys.argv[1], "bench", "decode.sample", "--format", "json"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for row in map(json.loads, lines):
        _, vocabulary, kind = row["name"].split("/")
        ours = row["value"] / 1e3
        for name, function in SEQUENCES[kind].items():
            theirs = median_us(function, peaked_row(int(vocabulary)))
            print(f"{vocabulary} {kind:20} krt {ours:8.1f} us   torch ({name}) {theirs:8.1f} us   {theirs / ours:5.1f}x")


if __name__ == "__main__":
    main()
