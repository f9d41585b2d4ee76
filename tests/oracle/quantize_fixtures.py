#!/usr/bin/env python3
"""Writes tests/oracle/data/quantize/: values.f32, and for each type that the `gguf` package (0.19) can write the bytes that
it makes of them. The blocks of 32 are zeros, constants, a single spike, ties between levels, subnormals, the largest values
whose scale is an f16, values of equal magnitude and both signs, and random ones of several distributions and sizes.

Usage: quantize_fixtures.py [OUT]   (default: tests/oracle/data/quantize beside this file)"""
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import quantize

SEED = 20261130
KINDS = [T.F16, T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0]


def blocks():
    rng = np.random.default_rng(SEED)
    steps = np.arange(32) - 16
    yield np.zeros(32)
    yield np.full(32, 0.1)
    yield np.full(32, -3.0)
    for at, spike in ((0, 1.0), (31, -1.0), (17, 65504.0)):
        yield np.where(np.arange(32) == at, spike, 0)
    for scale in (0.5, 0.25, -0.5):  # half-way between levels
        yield steps * scale
    yield np.where(np.arange(32) % 2, 2.0, -2.0)
    yield np.where(np.arange(32) % 2, -2.0, 2.0)
    yield steps * 2.0**-24  # f16 subnormals
    yield steps * 2.0**-28  # the scale is a subnormal or zero
    yield steps * 2.0**-120
    yield steps * 4094.0  # the largest f16
    yield 1000 + rng.normal(size=32)
    yield -1000 - rng.uniform(size=32)
    for scale in (1e-6, 1e-3, 1.0, 30.0, 5000.0):
        yield rng.normal(size=32) * scale
        yield rng.uniform(-1, 1, size=32) * scale
        yield rng.uniform(0, 1, size=32) * scale
        yield np.clip(rng.standard_t(2, size=32), -10, 10) * scale
    for _ in range(91):
        yield rng.normal(size=32) * 0.02


out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data" / "quantize"
out.mkdir(parents=True, exist_ok=True)
values = np.concatenate(list(blocks())).astype("<f4").reshape(1, -1)
assert values.size % 256 == 0, values.size
(out / "values.f32").write_bytes(values.tobytes())
for kind in KINDS:
    (out / f"{kind.name}.bin").write_bytes(quantize(values, kind).tobytes())
