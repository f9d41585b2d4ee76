"""The decode step's kernels as plain functions on torch tensors, numpy arrays or lists.

They compute in this process, by the kernels of the module ``decode`` (``krt.libraries.decode``), whose documentation
has the formulas and bounds. Results are of the kind of their first argument: a torch tensor for a torch tensor, of its
shape, and of its type where that is a half. Where a kernel works in place, so do these; an array that cannot be changed
in place is refused. What the kernel itself refuses raises ``krt.KernelStatusError``.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any, Tuple, Union

from ._generator import Generator
from ._runtime import default_runtime

__all__ = ["add_rmsnorm", "argmax", "rmsnorm", "rope", "sample", "silu_mul", "survivors"]


@functools.lru_cache(maxsize=None)
def _kernel(name: str, field: str, like: int) -> Any:
    """One field of a kernel's result; arrays in it are made like argument number `like`."""
    return default_runtime()._engine.plain_function("decode", name, field, like)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernel.cache_clear)  # they belong to the parent's engine


def rmsnorm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """Root-mean-square norm of every row of ``len(weight)`` values: ``x / sqrt(mean(x^2) + eps) * weight``."""
    return _kernel("rmsnorm", "out", 0)(x, weight, eps)


def add_rmsnorm(residual: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """``residual += x`` in place, then the norm of the residual."""
    return _kernel("add_rmsnorm", "out", 0)(residual, x, weight, eps)


def rope(
    q: Any, k: Any, pos: Any, head_dim: int | None = None, theta: float = 10000.0, interleaved: bool = False
) -> None:
    """Rotates queries and keys in place by their rows' positions.

    ``pos`` is the position of the one row, or a list of one for each. ``head_dim`` is the last dimension of ``q``
    where none is given. ``k`` may be None. ``interleaved``: pairs are neighbours, else the two halves of a head.
    """
    if head_dim is None:
        head_dim = q.shape[-1]
    positions = [pos] if isinstance(pos, int) else pos
    _kernel("rope", "status", -1)(q, [] if k is None else k, positions, head_dim, theta, interleaved)


def silu_mul(gate: Any, up: Any) -> Any:
    """``silu(gate) * up``, the gate of a SwiGLU layer."""
    return _kernel("silu_mul", "out", 0)(gate, up)


def argmax(logits: Any) -> int:
    """The index of the largest logit of a row: the first NaN wins, of equal ones the lowest index."""
    token: int = _kernel("argmax", "token_id", -1)(logits)
    return token


def sample(
    logits: Any,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: Any = None,
    *,
    u: float | None = None,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    epsilon_cutoff: float = 0.0,
    eta_cutoff: float = 0.0,
    top_h: float = 0.0,
    min_tokens_to_keep: int = 1,
    repetition_penalty: float = 1.0,
    presence_penalty: float = 0.0,
    frequency_penalty: float = 0.0,
    history: Any = None,
    exact_top_k: bool = False,
) -> int:
    """Draws a token from a row of logits.

    The draw is ``u``, a number from 0 to below 1, or comes from ``generator``: an int (a seed: the same call gives the
    same token), a ``krt.Generator`` (a seed that goes on from token to token), a ``torch.Generator`` or a
    ``numpy.random.Generator``. ``temperature`` 0 is argmax and needs none. The other options have the names and rules
    of transformers' logits warpers and are off by default; ``history`` is the ids that the penalties are for.
    """
    seed, sequence, position, draw = _draw_of(generator, u)
    token: int = _kernel("sample", "token_id", -1)(
        logits, temperature, top_k, top_p, draw, seed, sequence, position, min_p, typical_p, epsilon_cutoff, eta_cutoff,
        top_h, min_tokens_to_keep, repetition_penalty, presence_penalty, frequency_penalty, history, exact_top_k,
    )  # fmt: skip
    return token


def survivors(
    logits: Any,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    *,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    epsilon_cutoff: float = 0.0,
    eta_cutoff: float = 0.0,
    top_h: float = 0.0,
    min_tokens_to_keep: int = 1,
    repetition_penalty: float = 1.0,
    presence_penalty: float = 0.0,
    frequency_penalty: float = 0.0,
    history: Any = None,
    exact_top_k: bool = False,
) -> tuple[Any, Any]:
    """The ids that ``sample`` may draw, in draw order, and their probabilities."""
    result = _kernel("survivors", "", -1)(
        logits, temperature, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_h, min_tokens_to_keep,
        repetition_penalty, presence_penalty, frequency_penalty, history, exact_top_k,
    )  # fmt: skip
    return result["ids"], result["probs"]


_Draw = Tuple[Union[int, None], int, int, Union[float, None]]  # seed, sequence, position, u


def _draw_of(generator: Any, u: float | None) -> _Draw:
    if generator is not None and u is not None:
        raise TypeError("the draw comes from generator or is u, not both")
    if generator is None:
        return None, 0, 0, u
    if isinstance(generator, int):
        return generator, 0, 0, None
    if isinstance(generator, Generator):
        return generator.seed, generator.sequence, generator.next_position(), None
    if type(generator).__module__.startswith("torch"):
        torch = importlib.import_module("torch")
        return None, 0, 0, float(torch.rand((), generator=generator, dtype=torch.float64))
    if hasattr(generator, "random"):
        return None, 0, 0, float(generator.random())
    raise TypeError(
        "generator is an int, a krt.Generator, a torch.Generator or a numpy.random.Generator, "
        f"got {type(generator).__name__}"
    )
