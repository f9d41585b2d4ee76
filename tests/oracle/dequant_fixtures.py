#!/usr/bin/env python3
"""Writes tests/oracle/data/dequant/TYPE.bin for every quantised GGUF type: 24 blocks of bytes, then what the `gguf`
package (0.19) decodes them to, as little-endian f32. The first twelve blocks of a type have a zero, subnormal, negative,
largest, infinite or NaN scale; the rest are random bytes with random scales of either sign.

Usage: dequant_fixtures.py [OUT]   (default: tests/oracle/data/dequant beside this file)"""
import pathlib
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize

SEED = 20261130
BLOCKS = 24
# Where the f16 scales of a block are; IQ1_M spreads its scale and the FP4 types have 8-bit ones: random bytes serve.
SCALES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2],
    T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0], T.IQ1_S: [0],
    T.IQ1_M: [], T.IQ4_NL: [0], T.IQ4_XS: [0], T.TQ1_0: [52], T.TQ2_0: [64], T.MXFP4: [], T.NVFP4: [], T.F16: [0], T.BF16: [],
}
EDGES = [0.0, -0.0, 6e-8, -6e-8, 6.1e-5, -1.0, 65504.0, -65504.0, np.inf, -np.inf, np.nan, 1.0]

out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data" / "dequant"
out.mkdir(parents=True, exist_ok=True)
np.seterr(all="ignore")
for kind, scales in SCALES.items():
    rng = np.random.default_rng([SEED, int(kind)])
    values, size = GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
    for at in scales:
        for i in range(BLOCKS):
            scale = np.float16(EDGES[i]) if i < len(EDGES) else np.float16(rng.normal() * 0.05)
            raw[i, at : at + 2] = np.frombuffer(scale.tobytes(), np.uint8)
    expected = dequantize(raw, kind).astype("<f4")
    assert expected.shape == (BLOCKS, values), kind
    (out / f"{kind.name}.bin").write_bytes(raw.tobytes() + expected.tobytes())
