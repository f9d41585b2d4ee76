"""What a call costs from Python, and the kernels of krt.decode beside torch's sequences. Values are checked first.

    bench.py [NAME] [--format text|json]       all rows, or those whose name contains NAME

Every row and its peer are timed in turn, in 40 rounds of about a millisecond; the figure is the fastest round, which on a
busy machine is the one that was not interrupted. Both sides have KRT_THREADS threads (1). Without torch its rows are left
out.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy as np

os.environ.setdefault("KRT_THREADS", "1")
del sys.path[0]  # the source of the package is beside this file, without the native module
import krt  # noqa: E402
from krt import _native  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

ROUNDS, ROUND_SECONDS = 40, 1e-3
F32 = np.float32
RNG = np.random.default_rng(1)


class Row:
    """`ours` and what it is measured against; `check` compares their values before anything is timed."""

    def __init__(self, name, ours, peer_name, peer, check=None):
        self.name, self.ours, self.peer_name, self.peer, self.check = name, ours, peer_name, peer, check


def loops_for(function):
    loops = 1
    while True:
        start = time.perf_counter()
        for _ in range(loops):
            function()
        took = time.perf_counter() - start
        if took > ROUND_SECONDS:
            return max(1, int(loops * ROUND_SECONDS / took))
        loops *= 2


def fastest(functions):
    """Seconds a call of each, interleaved."""
    loops = [loops_for(f) for f in functions]
    best = [math.inf] * len(functions)
    for turn in range(ROUNDS):
        for i in range(len(functions)):
            i = (i + turn) % len(functions)
            function, count = functions[i], range(loops[i])
            start = time.perf_counter()
            for _ in count:
                function()
            best[i] = min(best[i], (time.perf_counter() - start) / loops[i])
    return best


def close(bound):
    def check(ours, peer):
        ours, peer = (np.asarray(x, np.float64) for x in (ours, peer))
        assert np.allclose(ours, peer, rtol=bound, atol=bound), np.abs(ours - peer).max()

    return check


def equal(ours, peer):
    assert ours == peer, (ours, peer)


def overhead_rows():
    runtime = krt.MojoRuntime(threads=1)
    tiny, bare = RNG.normal(size=8).astype(F32), _native._bare
    argmax = ("llmk.generate", "greedy_argmax_flat", [tiny, 8])
    dims = ("llmk.contract", "llmk_residual_dims_check", [8, 8, 8])
    function = runtime.function("decode", "argmax")
    yield Row("krt.decode.argmax, 8 values, numpy", lambda: krt.decode.argmax(tiny), "bare nanobind call", lambda: bare(tiny))
    yield Row("function resolved once, 8 values, numpy", lambda: function(tiny), "bare nanobind call", lambda: bare(tiny))
    yield Row("execute by name, 8 values, numpy", lambda: runtime.execute(*argmax), "bare nanobind call", lambda: bare(tiny))
    yield Row("execute by name, 3 ints", lambda: runtime.execute(*dims), "bare nanobind call", lambda: bare(tiny))
    if torch:
        t = torch.from_numpy(tiny)
        yield Row("krt.decode.argmax, 8 values, torch", lambda: krt.decode.argmax(t), "bare nanobind call", lambda: bare(t))
        yield Row("krt.decode.argmax, 8 values", lambda: krt.decode.argmax(t), "torch x.argmax().item()",
                  lambda: t.argmax().item(), equal)
        yield Row("krt.decode.argmax, 8 values", lambda: krt.decode.argmax(t), "cheapest torch op, x.neg_()", t.neg_)


def rmsnorm_sequence(x, w, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


def rope_sequence(q, k, pos, theta=10000.0):
    half = q.shape[-1] // 2
    angle = pos * theta ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = (torch.cat([f(angle), f(angle)]).float() for f in (torch.cos, torch.sin))
    rotated = (torch.cat((-x[..., half:], x[..., :half]), -1) for x in (q, k))
    return [x * cos + r * sin for x, r in zip((q, k), rotated)]


def sample_sequence(logits, temperature, top_k, top_p, generator):
    """transformers' warpers in their order, and a draw."""
    scores = logits / temperature
    scores = scores.masked_fill(scores < torch.topk(scores, top_k).values[-1], -math.inf)
    ascending, order = torch.sort(scores)
    out = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
    out[-1:] = False
    scores = scores.masked_fill(out.scatter(0, order, out), -math.inf)
    return int(torch.multinomial(scores.softmax(-1), 1, generator=generator))


def decode_rows():
    for d in (1024, 4096, 8192):
        x, w = (torch.from_numpy(RNG.normal(size=d).astype(F32)) for _ in range(2))
        yield Row(f"rmsnorm 1x{d}", lambda x=x, w=w: krt.decode.rmsnorm(x, w), "torch sequence",
                  lambda x=x, w=w: rmsnorm_sequence(x, w), close(1e-6))
        yield Row(f"rmsnorm 1x{d}", lambda x=x, w=w: krt.decode.rmsnorm(x, w), "torch F.rms_norm",
                  lambda x=x, w=w, d=d: torch.nn.functional.rms_norm(x, (d,), w, 1e-6), close(1e-6))
        zero = torch.zeros(d)  # so that the residual stays what it is, round after round
        r, s = x.clone(), x.clone()
        yield Row(f"add_rmsnorm 1x{d}", lambda r=r, z=zero, w=w: krt.decode.add_rmsnorm(r, z, w), "torch sequence",
                  lambda s=s, z=zero, w=w: rmsnorm_sequence(s.add_(z), w), close(1e-6))
        yield Row(f"silu_mul {d}", lambda x=x, w=w: krt.decode.silu_mul(x, w), "torch F.silu(gate) * up",
                  lambda x=x, w=w: torch.nn.functional.silu(x) * w, close(1e-6))
    q, k = (torch.from_numpy(RNG.normal(size=(1, h, 128)).astype(F32)) for h in (32, 8))
    p, m = q.clone(), k.clone()
    yield Row("rope 32+8 heads of 128, in place", lambda: krt.decode.rope(q, k, 1), "torch sequence, not in place",
              lambda: rope_sequence(p, m, 1))
    for n in (128_256, 151_936):
        logits = torch.from_numpy(RNG.normal(size=n).astype(F32) * 3)
        yield Row(f"argmax {n}", lambda x=logits: krt.decode.argmax(x), "torch x.argmax().item()",
                  lambda x=logits: x.argmax().item(), equal)
        ours, theirs = krt.Generator(1), torch.Generator().manual_seed(1)
        yield Row(f"sample {n}, T 0.8, top_k 50, top_p 0.95",
                  lambda x=logits, g=ours: krt.decode.sample(x, 0.8, 50, 0.95, generator=g), "torch sequence",
                  lambda x=logits, g=theirs: sample_sequence(x, 0.8, 50, 0.95, g))


def check_what_is_random_or_in_place():
    """The rows that have no `check`: rope changes its input, sample draws."""
    q, k = (torch.from_numpy(RNG.normal(size=(1, h, 128)).astype(F32)) for h in (32, 8))
    want = rope_sequence(q.clone(), k.clone(), 11)
    krt.decode.rope(q, k, 11)
    for ours, theirs in zip((q, k), want):
        close(1e-5)(ours, theirs)
    logits = torch.from_numpy(RNG.normal(size=1000).astype(F32) * 3)
    ids, _ = krt.decode.survivors(logits, 0.8, 50, 0.95)
    drawn = {sample_sequence(logits, 0.8, 50, 0.95, torch.Generator().manual_seed(i)) for i in range(500)}
    assert drawn <= set(np.asarray(ids).tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    rows = list(overhead_rows())
    if torch:
        torch.set_num_threads(int(os.environ["KRT_THREADS"]))
        check_what_is_random_or_in_place()
        rows += decode_rows()
    else:
        print("torch is not installed: the rows beside it are left out", file=sys.stderr)
    for row in rows:
        if options.name not in row.name:
            continue
        if row.check:
            row.check(row.ours(), row.peer())
        ours, peer = fastest([row.ours, row.peer])
        if options.format == "json":
            print(json.dumps({"name": row.name, "value": ours * 1e9, "unit": "ns", "peer": row.peer_name,
                              "peer_value": peer * 1e9, "ratio": peer / ours}))
        else:
            print(f"{row.name:42} {ours * 1e6:9.2f} us   {row.peer_name:30} {peer * 1e6:9.2f} us   {peer / ours:6.2f}x")


main()
