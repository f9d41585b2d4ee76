"""tests/oracle/data/sampler.json: what transformers' warpers keep.

Small rows of every kind under each warper and the usual chains; the whole comparison is sampler_compare.py. Left out
are rows on which transformers' own chain keeps another set in float64, and rows where tied scores straddle an edge,
which it leaves open.
"""

import numpy as np
import torch
import transformers

import fixture_file
from sampler_warpers import apply, chain

SEED = 20261130
CASES = [
    {"temperature": 0.7, "top_k": 50, "top_p": 0.9}, {"temperature": 1.3, "top_k": 20, "top_p": 0.95},
    {"temperature": 0.2, "top_k": 10, "top_p": 0.5}, {"temperature": 2.0, "top_k": 200, "top_p": 0.8},
    {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repetition_penalty": 1.1},
    {"top_h": 0.5, "top_k": 3}, {"top_p": 0.9, "typical_p": 0.9, "epsilon_cutoff": 0.01, "eta_cutoff": 0.02},
    {"top_k": 3, "min_tokens_to_keep": 5}, {"top_p": 0.1, "min_tokens_to_keep": 3},
    {"typical_p": 0.2, "min_tokens_to_keep": 4}, {"epsilon_cutoff": 0.1, "min_tokens_to_keep": 4},
    *({"top_k": k} for k in (1, 2, 5, 40)), *({"top_p": p} for p in (0.0, 0.05, 0.3, 0.5, 0.9, 0.95, 0.999)),
    *({"min_p": p} for p in (0.01, 0.1, 0.5, 1.0)), *({"typical_p": p} for p in (0.2, 0.5, 0.9, 0.95)),
    *({"epsilon_cutoff": e} for e in (0.0003, 0.01, 0.1)), *({"eta_cutoff": e} for e in (0.0003, 0.01, 0.1)),
    *({"top_h": a} for a in (0.1, 0.4, 0.8)), *({"repetition_penalty": r, "top_p": 0.8} for r in (0.8, 1.3, 2.0)),
    *({"temperature": t, "top_p": 0.9} for t in (1e-3, 0.1, 10.0, 1e3)),
]
KINDS = {
    "normal": lambda rng, n: rng.standard_normal(n) * 2,
    "ties": lambda rng, n: np.round(rng.standard_normal(n) * 2),
    "masked": lambda rng, n: np.where(rng.random(n) < 0.5, -np.inf, rng.standard_normal(n) * 3),
    "wide": lambda rng, n: rng.standard_normal(n) * 100,
    "peaked": lambda rng, n: rng.standard_normal(n) + 12 * (rng.random(n) < 4 / n),
}
SIZES = {"normal": 257, "ties": 32, "masked": 32, "wide": 32, "peaked": 32}


def kept(processors, scores, history):
    return np.flatnonzero(~np.isneginf(apply(processors, scores, history).numpy()))


def case(rng, kind, options):
    """None where the answer depends on a rounding or on the order of tied scores."""
    # Multiples of 1/256: exact in f32, and short in text.
    logits = (np.round(KINDS[kind](rng, SIZES[kind]) * 256) / 256).astype(np.float32)
    history = rng.integers(len(logits), size=6).tolist() if "repetition_penalty" in options else []
    scaling, filters = chain(options)
    row = torch.from_numpy(logits)
    before = apply(scaling, row, history).numpy()
    ids = kept(scaling + filters, row, history)
    straddled = set(before[ids]) & set(np.delete(before, ids))
    if straddled or not np.array_equal(ids, kept(scaling + filters, row.double(), history)):
        return None
    return {"name": f"{kind} {options}", **options, "logits": logits, "history": history, "kept": ids}


def main():
    rng = np.random.default_rng(SEED)
    cases = [case(rng, kind, options) for kind in KINDS for options in CASES]
    fixture_file.write("sampler", SEED, f"torch {torch.__version__}, transformers {transformers.__version__}",
                       [c for c in cases if c is not None])


if __name__ == "__main__":
    main()
