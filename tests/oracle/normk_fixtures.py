"""normk: outputs from the formula in 80-bit long double (numpy), gradients from torch's autograd in float64."""

import numpy as np
import torch

from fixture_file import write

SEED = 20261207
rng = np.random.default_rng(SEED)


def normal(*shape, scale=1.0, shift=0.0):
    return np.round(rng.standard_normal(shape) * scale + shift, 3)  # short in the file


def exact(x, gamma, beta, eps, centred):
    x, gamma, beta = (a.astype(np.longdouble) for a in (x, gamma, beta))
    mean = x.mean(axis=1, keepdims=True) if centred else np.zeros((len(x), 1), np.longdouble)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + np.longdouble(eps))
    return (x - mean) * rstd * gamma + beta, mean, rstd


def gradients(dy, x, gamma, beta, eps, centred):
    x, gamma, beta = (torch.tensor(a, requires_grad=True) for a in (x, gamma, beta))
    width = x.shape[1:]
    y = torch.nn.functional.layer_norm(x, width, gamma, beta, eps) if centred else torch.nn.functional.rms_norm(
        x, width, gamma, eps)
    y.backward(torch.tensor(dy))
    return x.grad, gamma.grad, beta.grad


def case(name, x, eps=1e-6):
    rows, cols = x.shape
    gamma, beta, dy = normal(cols), normal(cols), normal(rows, cols)
    out = {"name": name, "n_rows": rows, "n_cols": cols, "eps": eps, "x": x, "gamma": gamma, "beta": beta, "dy": dy}
    for prefix, centred in (("rms", False), ("layer", True)):
        y, mean, rstd = exact(x, gamma, beta if centred else np.zeros(cols), eps, centred)
        dx, dgamma, dbeta = gradients(dy, x, gamma, beta, eps, centred)
        out |= {f"{prefix}_y": y.astype(float), f"{prefix}_rstd": rstd.astype(float), f"{prefix}_dx": dx,
                f"{prefix}_dgamma": dgamma}
        if centred:
            out |= {"layer_mean": mean.astype(float), "layer_dbeta": dbeta}
    return out


cases = [case(f"{rows}x{cols}", normal(rows, cols))
         for rows, cols in ((1, 1), (1, 2), (3, 5), (7, 1), (4, 64), (1, 257), (5, 33))]
cases += [
    case("large eps", normal(2, 9), 10.0),
    case("small values under a small eps", normal(3, 16, scale=1e-2), 1e-12),
    case("large values", normal(3, 16, scale=1e6)),
    case("far from zero", normal(3, 16, shift=1000.0), 1e-5),
    case("a constant row", np.full((2, 8), 3.5)),
    case("zeros", np.zeros((2, 8))),
]
write("normk", SEED, f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}", cases)
