"""gemm: products in 80-bit long double (numpy), also with weights unpacked from integer and NormalFloat codes; the levels
of NormalFloat from the quantiles of the normal distribution (torch)."""

import numpy as np
import torch

from fixture_file import write

SEED = 20261231
rng = np.random.default_rng(SEED)
cases = []


def normal(*shape):
    return np.round(rng.standard_normal(shape), 3)  # short in the file


def exact(a, b):
    return (a.astype(np.longdouble) @ b.astype(np.longdouble)).astype(float)


# The published f32 levels (QLoRA, appendix E), in the digits of its authors' code.
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


def quantile_levels():
    """What they round: 8 quantiles above zero, 7 below, zero itself, over the largest."""
    def quantiles(n):
        return torch.special.ndtri(torch.linspace(0.9677083, 0.5, n, dtype=torch.float64)[:-1])
    levels = torch.cat([quantiles(9), torch.zeros(1, dtype=torch.float64), -quantiles(8)]).sort().values
    return levels / levels.max()


cases.append({"name": "NormalFloat levels", "kind": "levels", "published": NF4, "quantiles": quantile_levels()})
for m, n, k in ((1, 1, 1), (3, 5, 7), (6, 17, 20)):
    a, b = normal(m, k), normal(k, n)
    cases.append({"name": f"product {m}x{n}x{k}", "kind": "product", "m": m, "n": n, "k": k, "a": a, "b": b,
                  "a_stored_transposed": a.T, "b_stored_transposed": b.T, "c": 0.75 * exact(a, b),
                  "magnitude": 0.75 * exact(abs(a), abs(b))})
for bits in (0, 2, 4, 8):  # 0: NormalFloat
    for m, k, n, block in ((1, 4, 1, 4), (5, 24, 3, 8), (3, 64, 1, 32)):
        codes = rng.integers(0, 16, (m, k)) if bits == 0 else rng.integers(-2**(bits - 1), 2**(bits - 1), (m, k))
        weights = np.array(NF4)[codes] if bits == 0 else codes.astype(float)
        scales, x = normal(m, k // block), normal(k, n if bits == 0 else 1)
        unpacked = weights.astype(np.longdouble) * np.repeat(scales, block, axis=1)
        cases.append({"name": f"{bits} bits {m}x{k}/{block}", "kind": "quantized", "bits": bits, "m": m, "k": k,
                      "n": x.shape[1], "block": block, "codes": codes, "scales": scales, "x": x,
                      "y": exact(unpacked, x), "magnitude": exact(abs(unpacked), abs(x))})
write("gemm", SEED, f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}", cases)
