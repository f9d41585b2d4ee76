"""Generator: the draws of one sequence, fixed by its seed."""

from __future__ import annotations

import itertools


class Generator:
    """The draws of one sequence: the draw for a token is a function of ``seed``, ``sequence`` and the token's
    position, so that it depends on nothing else that is being sampled.

    Every ``krt.decode.sample`` with this generator takes the next position. Generators of different sequences, or of
    different seeds, are independent.
    """

    def __init__(self, seed: int, sequence: int = 0, position: int = 0) -> None:
        self.seed = seed
        self.sequence = sequence
        self._positions = itertools.count(position)

    def next_position(self) -> int:
        """The position of the next draw; each is given out once, whatever the threads."""
        return next(self._positions)

    def __repr__(self) -> str:
        return f"krt.Generator(seed={self.seed}, sequence={self.sequence})"
