"""mlpk: the activations and their derivatives with mpmath to 400 digits; gates, blocks and embeddings, forward and
backward, with torch in float64."""

import mpmath
import numpy as np
import torch
import torch.nn.functional as F

from fixture_file import write

SEED = 20261218
rng = np.random.default_rng(SEED)
mpmath.mp.dps = 400  # 1 + tanh of the left tail needs them
cases = []


def normal(*shape, scale=1.0):
    return torch.tensor(np.round(rng.standard_normal(shape) * scale, 3))  # short in the file


def tanh_form(x):
    t = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)  # 0.044715 as the f64 it is in the code
    return x / 2 * (1 + mpmath.tanh(t))


def erf_form(x):
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def silu(x):
    return x / (1 + mpmath.exp(-x))


FORMS = {"silu": silu, "gelu_erf": erf_form, "gelu_tanh": tanh_form}
points = [0.0, 1e-300, -1e-8, 0.7517915, -0.7517915, 0.5, -0.5, 1, -1, 2.69894, -2.69894, 5, -5, 9, -9, 20, -20, 37,
          -37, -21.2, -21.4, -38.2, 700, -700, -708.5, -711, -730, -744.4, -746, 1e10, -1e10, 1e200, -1e200] + [float(x) for x in np.round(rng.uniform(-7, 7, 40), 4)]
for name, form in FORMS.items():
    cases.append({"name": name, "kind": "function", "x": points,
                  "y": [float(form(mpmath.mpf(x))) if abs(x) < 1e3 else max(x, 0.0) for x in points],
                  "grad": [float(mpmath.diff(form, mpmath.mpf(x))) if abs(x) < 100 else float(x > 0) for x in points]})

ACTS = [F.silu, F.gelu, lambda x: F.gelu(x, approximate="tanh")]
for kind, act in enumerate(ACTS):
    for n_tok, d_ff in ((1, 1), (3, 7), (2, 40)):
        value, gate, dy = normal(n_tok, d_ff), normal(n_tok, d_ff, scale=3.0), normal(n_tok, d_ff)
        value.requires_grad = gate.requires_grad = True
        y = value * act(gate)
        y.backward(dy)
        cases.append({"name": f"gated {kind} {n_tok}x{d_ff}", "kind": "gated", "activation": kind, "n_tok": n_tok,
                      "d_ff": d_ff, "value": value, "gate": gate, "dy": dy, "y": y, "d_value": value.grad,
                      "d_gate": gate.grad})

for n_tok, vocab, d_model in ((1, 1, 1), (6, 4, 3), (9, 50, 8)):
    ids = torch.tensor(rng.integers(0, vocab, n_tok))
    weight, dy = normal(vocab, d_model), normal(n_tok, d_model)
    weight.requires_grad = True
    y = F.embedding(ids, weight)
    y.backward(dy)
    cases.append({"name": f"embedding {n_tok} of {vocab}x{d_model}", "kind": "embedding", "n_tok": n_tok, "vocab": vocab,
                  "d_model": d_model, "ids": ids, "weight": weight, "dy": dy, "y": y, "d_weight": weight.grad,
                  "n_touched": len(set(ids.tolist()))})

for tokens, d_model, d_ff in ((1, 1, 1), (3, 5, 7), (2, 16, 24), (5, 8, 20)):
    x, wg, wu, wd = normal(tokens, d_model), normal(d_model, d_ff), normal(d_model, d_ff), normal(d_ff, d_model)
    cases.append({"name": f"block {tokens}x{d_model}x{d_ff}", "kind": "block", "tokens": tokens, "d_model": d_model,
                  "d_ff": d_ff, "x": x, "wg": wg, "wu": wu, "wd": wd, "out": (F.silu(x @ wg) * (x @ wu)) @ wd,
                  # |out| with every product's magnitude: what rounding errors are a share of
                  "magnitude": (F.silu(x.abs() @ wg.abs()) * (x.abs() @ wu.abs())) @ wd.abs()})

write("mlpk", SEED, f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}, mpmath {mpmath.__version__}",
      cases)
