"""Compares decode.survivors with transformers' warpers on random rows: the full check, by hand.

    cmake --preset release && cmake --build --preset release --target sampler_rows
    python tests/oracle/sampler_compare.py build/release/bin/sampler_rows [--rows 100000] [--variant scalar]

needs torch and transformers (CPU). 100,000 rows over the vocabularies 32, 2,000, 128,256 and 151,936 take about ten
minutes. A row counts as

    equal      the same set of ids
    tied       the same scores, but other ids of equal score at an edge: transformers leaves open which (its sort is
               not stable), here the lower ids stay, which is checked; for min_p with min_tokens_to_keep the same
               probabilities (it ranks by them, and they underflow to ties)
    float64    transformers keeps another set when its own chain runs in float64: the row stands on a rounding
    refused    the scores after penalties and temperature hold +infinity or NaN, or no finite one, on both sides
    wrong      anything else. None is allowed; the exit status says so

and every probability is compared with softmax in float64, every draw order with the scores. At the end torch.multinomial
draws from transformers' scores, and the draws are tested against krt's probabilities (chi-square).
"""

import argparse
import collections
import struct
import subprocess
import sys
import time

import numpy as np
import torch

from sampler_warpers import OFF, apply, chain

VOCABULARIES = {32: 0.45, 2000: 0.40, 128256: 0.08, 151936: 0.07}  # share of the rows
SEED = 20261130


class Krt:
    """sampler_rows as a function of one row."""

    def __init__(self, program, variant):
        self.process = subprocess.Popen([program] + ([variant] if variant else []), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __call__(self, logits, history, options):
        values = np.array([float({**OFF, **options}[name]) for name in OFF])
        sizes = struct.pack("=ii", len(logits), len(history))
        self.process.stdin.write(values.tobytes() + sizes + np.array(history, "i4").tobytes() + logits.tobytes())
        self.process.stdin.flush()
        status, n = struct.unpack("=ii", self.process.stdout.read(8))
        ids = np.frombuffer(self.process.stdout.read(4 * n), "i4")
        return status, ids, np.frombuffer(self.process.stdout.read(8 * n), "f8")


def random_row(rng, vocabulary):
    kind = rng.integers(9)
    spread = rng.choice([0.5, 1, 3, 6])
    row = rng.standard_normal(vocabulary, dtype=np.float32) * np.float32(spread)
    if kind == 0:  # ties, few values
        row = np.round(row * 2) / 2
    elif kind == 1:  # ties, more values
        row = np.round(row * 16) / 16
    elif kind == 2:  # a masked part
        row[rng.random(vocabulary) < rng.choice([0.1, 0.5, 0.99])] = -np.inf
    elif kind == 3:  # wide
        row *= 50
    elif kind == 4:  # flat
        row *= np.float32(1e-3)
    elif kind == 5:  # a few far above the rest, as a trained model has it
        row[rng.integers(vocabulary, size=8)] += np.float32(12)
    elif kind == 6:  # a long thin tail
        row = -np.exp(np.abs(row) / 2)
    return np.ascontiguousarray(row, dtype=np.float32)


def random_options(rng):
    choices = {
        "temperature": lambda: float(rng.choice([0.1, 0.5, 0.7, 0.8, 1.3, 2.0, 5.0])),
        "top_k": lambda: int(rng.choice([1, 2, 5, 20, 40, 50, 100, 1000])),
        "top_p": lambda: float(rng.choice([0.0, 0.05, 0.1, 0.5, 0.8, 0.9, 0.92, 0.95, 0.99, 0.999])),
        "min_p": lambda: float(rng.choice([0.01, 0.05, 0.1, 0.5, 1.0])),
        "typical_p": lambda: float(rng.choice([0.2, 0.5, 0.9, 0.95, 0.999])),
        "epsilon_cutoff": lambda: float(rng.choice([1e-5, 3e-4, 1e-3, 0.1])),
        "eta_cutoff": lambda: float(rng.choice([1e-4, 3e-4, 2e-3, 0.1])),
        "top_h": lambda: float(rng.choice([0.1, 0.3, 0.4, 0.7, 0.95])),
        "min_tokens_to_keep": lambda: int(rng.choice([2, 3, 10])),
        "repetition_penalty": lambda: float(rng.choice([0.8, 1.1, 1.3, 2.0])),
        "presence_penalty": lambda: float(rng.choice([-0.5, 0.25, 1.5])),
        "frequency_penalty": lambda: float(rng.choice([-0.5, 0.25, 1.5])),
    }
    if rng.random() < 0.35:  # the chain everybody uses
        names = ["temperature", "top_k", "top_p"]
    elif rng.random() < 0.5:  # one filter over the whole row
        names = [str(rng.choice(["top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h"]))]
    else:
        names = [name for name in choices if rng.random() < 0.3]
    options = {name: choices[name]() for name in names}
    if rng.random() < 0.05:
        options["temperature"] = float(rng.choice([1e-30, 1e-6, 1e-3, 1e3, 1e6, 1e30]))
    return options


def survivors(scores):
    return np.flatnonzero(~np.isneginf(scores.numpy()))


def lower_ids_stay(scores, ids):
    """Of each score that is in for some ids only, the lower ids are in."""
    inside = np.zeros(len(scores), bool)
    inside[ids] = True
    last = scores[ids].min()
    edge = inside[scores == last]
    return not (np.diff(edge.astype(int)) > 0).any() and inside[scores > last].all()


def probabilities_match(scores, probs, top):
    """Against softmax in float64. The bound is the rounding of score - max to f32, which torch's softmax shares."""
    want = np.exp(scores - scores.max())
    want /= want.sum()
    bound = 1e-6 + np.abs(scores - top) * 2.0**-23
    seen = want > 1e-300
    return (np.abs(probs[seen] / want[seen] - 1) <= bound[seen]).all()


def verdict(krt, processors, options, logits, history):
    scaling, filters = processors
    status, ids, probs = krt(logits, history, options)
    before = apply(scaling, torch.from_numpy(logits), history)
    finite = before.numpy().astype(np.float64)
    if np.isnan(finite).any() or np.isposinf(finite).any() or np.isneginf(finite).all():
        return "refused" if status in (614, 615, 616) and len(ids) == 0 else "wrong"
    scores = finite[ids]
    in_order = (np.diff(scores) < 0) | ((np.diff(scores) == 0) & (np.diff(ids) > 0))
    if status != 600 or not in_order.all() or not probabilities_match(scores, probs, finite.max()):
        return "wrong"
    kept = survivors(apply(filters, before, history))
    if np.array_equal(np.sort(ids), kept):
        return "equal"
    if np.array_equal(np.sort(scores), np.sort(finite[kept])):
        return "tied" if "typical_p" in options or lower_ids_stay(finite, ids) else "wrong"
    rounded = before.softmax(-1).numpy()  # by which min-p ranks what min_tokens_to_keep saves
    if "min_p" in options and options.get("min_tokens_to_keep", 1) > 1:
        if len(ids) == len(kept) and np.array_equal(np.sort(rounded[ids]), np.sort(rounded[kept])):
            return "tied"
    exact = survivors(apply(scaling + filters, torch.from_numpy(logits).double(), history))
    return "float64" if not np.array_equal(kept, exact) else "wrong"


def chi_square(counts, probabilities, draws):
    """(statistic - degrees) / sqrt(2 degrees), about a standard normal; cells below 5 expected draws are pooled."""
    expected = probabilities * draws
    small = expected < 5
    cells = np.append(counts[~small], counts[small].sum()), np.append(expected[~small], expected[small].sum())
    counted, expected = (c[cells[1] > 0] for c in cells)
    degrees = max(len(expected) - 1, 1)
    return (((counted - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees)


def compare_draws(krt, rng, rows=50, draws=100_000):
    torch.manual_seed(SEED)
    worst = 0.0
    for _ in range(rows):
        options = {"temperature": 0.8, "top_k": 50, "top_p": 0.95}
        logits = random_row(rng, 2000)
        _, ids, probs = krt(logits, [], options)
        scaling, filters = chain(options)
        after = apply(scaling + filters, torch.from_numpy(logits), [])
        counts = np.bincount(torch.multinomial(after.softmax(-1), draws, replacement=True).numpy(), minlength=2000)
        if counts.sum() != counts[ids].sum():
            continue  # another tied id at an edge
        worst = max(worst, chi_square(counts[ids], probs, draws))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--variant", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    krt = Krt(arguments.program, arguments.variant)
    pool = [(options, chain(options)) for options in (random_options(rng) for _ in range(400))]
    wrong = 0
    for vocabulary, share in VOCABULARIES.items():
        tally, start = collections.Counter(), time.time()
        for row in range(round(arguments.rows * share)):
            options, processors = pool[rng.integers(len(pool))]
            logits = random_row(rng, vocabulary)
            history = rng.integers(vocabulary, size=int(rng.choice([1, 20, 300]))).tolist()
            v = verdict(krt, processors, options, logits, history)
            tally[v] += 1
            if v == "wrong":
                print(f"wrong: vocabulary {vocabulary}, row {row}, {options}")
        wrong += tally["wrong"]
        print(f"vocabulary {vocabulary}: {sum(tally.values())} rows, {dict(tally)}, {time.time() - start:.0f} s", flush=True)
    worst = compare_draws(krt, rng)
    print(f"torch.multinomial against krt's probabilities, 50 rows of 100,000 draws: worst chi-square {worst:.2f} sigma")
    return 1 if wrong or worst > 6 else 0


if __name__ == "__main__":
    sys.exit(main())
