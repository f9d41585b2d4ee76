"""The kernels of a decode step beside the torch operations that do the same work, in one run.

    cmake --preset release && cmake --build --preset release --target krt
    python tests/peers/torch_decode.py build/release/bin/krt            # needs torch, on a CPU

Each row of `krt bench decode` that torch has an equivalent of is measured by torch too, right after its family was measured by
krt: with one thread, and with all of the machine. Figures are medians; a ratio above 1 says that krt is faster.
"""

import json
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

ROUND, ROUNDS = 20e-3, 9  # seconds and number of rounds, as krt bench has them


def rmsnorm(d):
    x, weight = torch.randn(1, d), torch.randn(d)

    def sequence():  # as transformers writes it
        return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
    return {"sequence": sequence, "F.rms_norm": lambda: F.rms_norm(x, (d,), weight, 1e-6)}


def add_rmsnorm(d):
    residual, x, weight = torch.randn(1, d), torch.randn(1, d) * 1e-3, torch.randn(d)

    def sequence():
        residual.add_(x)
        return weight * (residual * torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + 1e-6))

    def fused():
        residual.add_(x)
        return F.rms_norm(residual, (d,), weight, 1e-6)
    return {"sequence": sequence, "F.rms_norm": fused}


def rope(widths):
    heads = [int(width) // 128 for width in widths.split("+")]
    q, k = (torch.randn(1, n, 1, 128) for n in heads)
    frequencies = 10000.0 ** -(torch.arange(0, 128, 2) / 128)

    def turn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def sequence():  # transformers: the angles once a step, for all layers
        return turn(q, cos, sin), turn(k, cos, sin)

    def with_angles():
        angles = 1000.0 * frequencies
        both = torch.cat((angles, angles), -1)
        return turn(q, both.cos(), both.sin()), turn(k, both.cos(), both.sin())
    angles = torch.cat((1000.0 * frequencies,) * 2, -1)
    cos, sin = angles.cos(), angles.sin()
    return {"sequence": sequence, "with angles": with_angles}


def silu_mul(n):
    gate, up = torch.randn(1, n), torch.randn(1, n)
    return {"silu(gate) * up": lambda: F.silu(gate) * up}


def argmax(n):
    row = torch.randn(1, n)
    return {"argmax": lambda: row.argmax(-1)}


def attention(kind, kv, dtype):
    dtype = dict(f32=torch.float32, f16=torch.float16, bf16=torch.bfloat16).get(dtype)
    if dtype is None:
        return {}
    rows, keys = int(kind.partition("=")[2] or 1), int(kv.partition("=")[2])
    each = 2 * 8 * keys * 128 * dtype.itemsize
    layers = [[torch.randn(1, 8, keys, 128, dtype=dtype) for _ in "kv"] for _ in range(2**29 // each + 1 if rows == 1 else 1)]
    q = torch.randn(1, 16, rows, 128, dtype=dtype)
    mask = None
    if rows > 1:
        mask = torch.arange(keys) <= torch.arange(keys - rows, keys)[:, None]
    turn = [0]

    def call():
        turn[0] = (turn[0] + 1) % len(layers)
        k, v = layers[turn[0]]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return {"sdpa": call}


def functions(name):
    """What torch runs for a row of krt's report; empty where it has nothing of the kind."""
    kernel, *shape = name.split("/")
    kernel = kernel.removeprefix("decode.")
    if kernel == "attention":
        return attention(*shape[:3])
    if kernel == "rope":
        return rope(shape[0])
    if kernel in ("rmsnorm", "add_rmsnorm", "silu_mul", "argmax"):
        return globals()[kernel](int(shape[0]))
    return {}


def median_seconds(call):
    def a_round(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start
    call()
    calls = 1
    while (seconds := a_round(calls)) < ROUND:
        calls = max(calls + 1, int(calls * min(10, 1.2 * ROUND / max(seconds, 1e-9))))
    return statistics.median(a_round(calls) / calls for _ in range(ROUNDS if seconds < 0.5 else 3))


def report(row, kernel, call):
    ours, unit = row["value"], row["unit"]
    threads = [1, torch.get_num_threads()] if "threads=" not in row["name"] else [int(row["name"].rpartition("=")[2])]
    share = f"{100 * row['ceiling_share']:3.0f} % of the ceiling" if row["ceiling_share"] else ""
    for n in threads:
        torch.set_num_threads(n)
        seconds = median_seconds(call)
        torch.set_num_threads(threads[-1])
        print(f"{row['name']:52} {ours:9.4g} {unit} {share}   torch ({kernel}, {n} threads) {seconds * 1e6:9.1f} us"
              f"   {seconds / row['seconds']:6.2f}x", flush=True)


def main():
    krt = sys.argv[1]
    families = sys.argv[2:] or ["rmsnorm", "add_rmsnorm", "rope", "silu_mul", "argmax", "attention"]
    for family in families:
        lines = subprocess.run([krt, "bench", f"decode.{family}/", "--format", "json"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        for row in map(json.loads, lines):
            for kernel, call in functions(row["name"]).items():
                row["seconds"] = work_of(row["name"]) / (row["value"] * 1e9)
                report(row, kernel, call)


def work_of(name):
    """Bytes, or flops of a prefill, as the case states them (modules/decode/*/*_bench.cc)."""
    kernel, *shape = name.split("/")
    kernel = kernel.removeprefix("decode.")
    if kernel == "attention":
        rows, keys = int(shape[0].partition("=")[2] or 1), int(shape[1].partition("=")[2])
        if rows > 1:
            return 4 * 16 * 128 * sum(keys - rows + r + 1 for r in range(rows))
        return 2 * 8 * keys * 128 * dict(f32=4, f16=2, bf16=2).get(shape[2], 34 / 32)
    width = sum(int(part) for part in shape[0].split("+"))
    return 4 * width * dict(rmsnorm=3, add_rmsnorm=5, rope=2, silu_mul=3, argmax=1)[kernel]


if __name__ == "__main__":
    main()
