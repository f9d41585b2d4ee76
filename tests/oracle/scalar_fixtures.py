"""The scalar formulas of llm_sampling, transformer_blocks, fused_kernels and activations.

Formulas that are IEEE operations in a stated order are computed in torch float64 (transformers' own processors where it
has one) and must agree to the bit: bound 0. Those with exp, tanh or pow are computed with mpmath to 50 digits; their
bound is a few units of 2^-53 of the largest intermediate.
"""

import math
import random

import mpmath
import torch
import transformers
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper

from fixture_file import write

SEED = 20261206
INF, NAN = math.inf, math.nan
rng = random.Random(SEED)
mpmath.mp.dps = 50
cases = []


def t(x):
    return torch.tensor(x, dtype=torch.float64)


def add(function, args, want, bound=0.0):
    cases.append({"name": f"{function}{tuple(args)}", "function": function, "args": [float(a) for a in args],
                  "want": float(want), "bound": float(bound)})


def exactly(function, formula, rows):
    for row in rows:
        add(function, row, formula(*[t(float(a)) for a in row]).item())


def rows(n, *ranges):
    return [[rng.uniform(lo, hi) for lo, hi in ranges] for _ in range(n)]


def hf_temperature(logit, temperature):
    return TemperatureLogitsWarper(temperature.item())(None, logit.reshape(1, 1))


def hf_repetition(logit, penalty, appeared):
    ids = torch.zeros((1, 1), dtype=torch.long) if appeared != 0 else torch.ones((1, 1), dtype=torch.long)
    scores = torch.stack([logit, t(0.0)]).reshape(1, 2)
    return RepetitionPenaltyLogitsProcessor(penalty.item())(ids, scores.clone())[0, 0]


def root(x):
    return math.sqrt(x.item())  # torch.sqrt(128.0) is an ulp off in float64


def relu(x):
    return torch.nn.functional.relu(x)


def sampling():
    f = "llm_sampling."
    logits = (-8, 8)
    exactly(f + "beam_score_update", torch.add, rows(4, (-40, 0), (-9, 0)) + [[-INF, -1], [0, NAN]])
    exactly(f + "greedy_token_id", lambda m, c, i: i if m == c else t(-1.0),
            [[9, 9, 1], [9, 8, 1], [-INF, -INF, 0], [0.0, -0.0, 7], [NAN, NAN, 3]])
    exactly(f + "min_p_threshold", torch.mul, rows(4, (0, 1), (0, 1)))
    exactly(f + "temperature_scale", hf_temperature, rows(6, logits, (0.1, 2)) + [[-INF, 0.7], [NAN, 0.7]])
    exactly(f + "repetition_penalty_scale", hf_repetition,
            [r + [flag] for r in rows(5, logits, (0.5, 2)) for flag in (0, 1)] + [[0.0, 1.3, 1], [-INF, 1.3, 1]])
    exactly(f + "token_frequency_penalty", lambda x, n, fr, pr: x - n * fr - torch.where(n > 0, pr, 0.0),
            [[x, n, fr, pr] for x, fr, pr in rows(4, logits, (0, 1), (0, 1)) for n in (0, 1, 5)])
    exactly(f + "top_k_threshold", torch.clone, [[1.5], [-INF], [NAN]])
    probs = torch.softmax(t([rng.uniform(-4, 4) for _ in range(8)]), 0).sort(descending=True).values
    for p in (0.3, 0.9, 1.0):
        before = 0.0
        for prob in probs.tolist():  # the warper keeps a token while the mass before it is below p
            after = before + prob if before < p else before
            add(f + "top_p_cumulative", [prob, before, p], after)
            before = after
    exactly(f + "typical_p_score", lambda logp, entropy: torch.abs((-logp) - entropy), rows(5, (-9, 0), (0, 5)))
    for base, exponent in rows(6, (0, 50), (-3, 3)) + [[2, 0.5], [0, 0], [0, 2], [7, 0], [1, 1e300]]:
        want = mpmath.mpf(base) ** mpmath.mpf(exponent)
        add(f + "pow_approx", [base, exponent], want, abs(want) * 2 * 2**-53)
    for total, length, alpha in rows(5, (-40, 0), (1, 60), (-1, 2)) + [[-6, 4, 1], [-6, 4, 0]]:
        want = mpmath.mpf(total) / mpmath.mpf(length) ** mpmath.mpf(alpha)
        add(f + "length_penalty", [total, length, alpha], want, abs(want) * 4 * 2**-53)


def blocks():
    f = "transformer_blocks."
    wide = (-3, 3)
    exactly(f + "attention_head_output", torch.mul, rows(4, wide, (0, 1)))
    exactly(f + "causal_mask_logit", lambda x, q, k: torch.where(k <= q, x, -INF),
            [[0.5, 3, 2], [0.5, 3, 3], [0.5, 3, 4], [NAN, 0, 0], [INF, 0, 1]])
    exactly(f + "dropout_scale", torch.div, rows(4, wide, (0.1, 1)) + [[1, 0], [0, 0]])
    exactly(f + "feedforward_layer1", lambda x, w, b: relu(x * w + b), rows(8, wide, wide, wide) + [[NAN, 1, 0]])
    exactly(f + "feedforward_layer2", lambda x, w, b: x * w + b, rows(8, wide, wide, wide))
    for x, gate in rows(8, wide, (-9, 9)) + [[2, 0], [1, 800]]:
        want = x / (1 + mpmath.exp(-mpmath.mpf(gate)))
        add(f + "gated_feedforward", [x, gate], want, abs(want) * 6 * 2**-53)
    add(f + "gated_feedforward", [1, -800], 0)
    exactly(f + "multi_head_split_head",
            lambda v, h, d, m: v if 0 <= int(h) < int(m) // int(d) else t(0.0),
            [[1.5, h, 4, 8] for h in (-1, 0, 1, 2)] + [[1.5, 1, 5, 8], [NAN, 0, 4, 8]])
    exactly(f + "post_norm", lambda x, s, scale, bias: (x + s) * scale + bias, rows(5, wide, wide, wide, wide))
    exactly(f + "pre_norm", lambda x, _, s: x + s, rows(4, wide, wide, wide))
    exactly(f + "residual_connection", torch.add, rows(4, wide, wide) + [[1, 2**-53], [1, 1.5 * 2**-53], [INF, -INF]])


def fused():
    f = "fused_kernels."
    wide, positive = (-3, 3), (0.1, 2)
    exactly(f + "fused_add_norm", lambda x, s, m, r, g, b: ((x + s) - m) * r * g + b,
            rows(6, wide, wide, wide, positive, wide, wide))
    exactly(f + "fused_layernorm_element", lambda x, m, r, g, b: (x - m) * r * g + b,
            rows(6, wide, wide, positive, wide, wide))
    exactly(f + "fused_attention_score",
            lambda q, k, d, mask, on: q * k / root(d) + (mask if on != 0 else 0.0),
            [r + [64, mask, on] for r in rows(3, wide, wide) for mask in (-INF, -2.5) for on in (0, 1)])
    exactly(f + "fused_dropout_residual", lambda x, s, p, on: x + (s / p if on != 0 else 0.0),
            [r + [on] for r in rows(4, wide, wide, positive) for on in (0, 1)])
    exactly(f + "fused_matmul_bias_relu", lambda x, b: relu(x + b), rows(6, wide, wide) + [[NAN, 0], [-1, 1]])
    exactly(f + "fused_rope_attention",
            lambda q, k, c, s, q2, k2, d: (q * c - q2 * s) * (k * c - k2 * s) / root(d),
            [[q, k, math.cos(a), math.sin(a), q2, k2, 128] for q, k, q2, k2, a in rows(6, wide, wide, wide, wide, wide)])
    exactly(f + "fused_scale_shift", lambda x, a, b: x * a + b, rows(5, wide, wide, wide))
    for logit, total in rows(6, (-30, 0), (1, 9)):
        want = mpmath.exp(mpmath.mpf(logit) - 0.5) / mpmath.mpf(total)  # logit - 0.5 rounds: 32 * 2^-53 at most
        add(f + "fused_softmax_mask", [logit, 0.5, total, 1], want, abs(want) * 40 * 2**-53)
        add(f + "fused_softmax_mask", [logit, 0.5, total, 0], 0)
    for x, b in rows(6, wide, wide):
        add(f + "fused_matmul_bias_gelu", [x, b], gelu(x + b), max(1, abs(x + b)) * 4 * 2**-53)
    exactly(f + "kernel_fusion_savings", lambda n, b, e: 2 * (n - 1) * b * e if n > 1 else t(0.0),
            [[3, 4, 1024], [1, 4, 1024], [0, 4, 1024], [2, 2, 4096 * 151936], [NAN, 1, 1]])


def gelu(x):
    x = mpmath.mpf(x)
    return x / 2 * (1 + mpmath.tanh(mpmath.mpf("0.7978845608") * (x + mpmath.mpf("0.044715") * x**3)))


def activations():
    f = "activations.gelu"
    add(f, [1.0], 0.841191990607477, 2**-53)  # the two published values
    add(f, [-1.0], -0.1588080093925231, 2**-53)
    for x in [0.0, -0.0, 0.5, -0.5, 1e-300, 3, -3, 8, -8, 40, 1e100] + [r[0] for r in rows(8, (-4, 4))]:
        add(f, [x], gelu(x), max(1e-300, abs(x)) * 4 * 2**-53)
    add(f, [INF], INF)
    add(f, [NAN], NAN)


sampling()
blocks()
fused()
activations()
write("scalar", SEED, f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
      f"mpmath {mpmath.__version__}", cases)
