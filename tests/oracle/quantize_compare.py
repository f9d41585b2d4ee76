#!/usr/bin/env python3
"""The K formats of quant.encode beside those of llama.cpp: the ratio of their root mean square errors on random rows. Then
the files that krt quantize makes of data/shakespeare/f16.gguf, read and compared with what the gguf package writes.

Usage: quantize_compare.py KRT LIBGGML_BASE   (the krt program; libggml-base.so of a llama.cpp build, which exports
ggml_quantize_chunk)

Needs numpy and gguf. No part of the test suite; a ratio over 1.05 and a tensor that differs are an exit status of 1."""
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

from fixture_file import DATA

TYPES = gguf.GGMLQuantizationType
KINDS = [TYPES.Q2_K, TYPES.Q3_K, TYPES.Q4_K, TYPES.Q5_K, TYPES.Q6_K]
ROWS, COLS, SEED, MOST = 8, 8192, 20261130, 1.05


def rows():
    rng = np.random.default_rng(SEED)
    shape = (ROWS, COLS)
    sizes = np.exp(rng.normal(size=(ROWS, COLS // 32)) * 0.7).repeat(32, axis=1)
    yield "normal", rng.normal(size=shape) * 0.02
    yield "uniform", rng.uniform(-1, 1, size=shape)
    yield "Student's t, 3", rng.standard_t(3, size=shape) * 0.02
    yield "Laplace", rng.laplace(size=shape) * 0.02
    yield "positive", rng.uniform(0.5, 1, size=shape)
    yield "groups of sizes", rng.normal(size=shape) * sizes * 0.02


def theirs(library, kind, x):
    values, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros((ROWS, COLS // values * size), np.uint8)
    library.ggml_quantize_chunk(int(kind), x.ctypes.data, out.ctypes.data, 0, ROWS, COLS, None)
    return dequantize(out, kind)


def ours(program, kind, x):
    arguments = json.dumps([kind.name, x.reshape(-1).tolist()])
    command = [program, "--format", "json", "execute", "quant", "encode", "--args-json", "-"]
    answer = json.loads(subprocess.run(command, input=arguments, capture_output=True, text=True, check=True).stdout)
    return dequantize(np.array(answer["result"]["data"], np.uint8).reshape(ROWS, -1), kind)


def differing_tensors(program, kind, folder):
    """Rows of 128 and 384: no K format is in these files, and all of their bytes are the package's."""
    source, target = DATA / "shakespeare/f16.gguf", pathlib.Path(folder) / f"{kind}.gguf"
    subprocess.run([program, "quantize", source, target, kind], check=True, capture_output=True)
    before = {t.name: t for t in gguf.GGUFReader(source).tensors}
    after = gguf.GGUFReader(target).tensors
    assert [t.name for t in after] == list(before)
    wanted = lambda t: quantize(dequantize(before[t.name].data, before[t.name].tensor_type), t.tensor_type)
    return [t.name for t in after if wanted(t).tobytes() != t.data.tobytes()]


def main():
    program, library = sys.argv[1], ctypes.CDLL(sys.argv[2])
    library.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3,
                                            ctypes.c_void_p]
    worst = 0
    for name, values in rows():
        x = np.ascontiguousarray(values, np.float32)
        error = lambda decoded: np.sqrt(np.mean((decoded - x).astype(np.float64) ** 2))
        ratios = [error(ours(program, kind, x)) / error(theirs(library, kind, x)) for kind in KINDS]
        worst = max(worst, *ratios)
        print(f"{name:16}", *[f"{kind.name} {ratio:.3f} " for kind, ratio in zip(KINDS, ratios)], flush=True)
    differing = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", *(k.name.lower() for k in KINDS)]:
            differing += differing_tensors(program, kind, folder)
    print(f"{len(differing)} tensors differ", *differing[:4])
    sys.exit(1 if worst > MOST or differing else 0)


main()
