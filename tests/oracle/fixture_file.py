"""Writes tests/oracle/data/NAME.json, what runtime/testing/fixture.h reads.

Each NAME_fixtures.py computes cases with an oracle (torch, numpy) in float64 and hands them to write(). The numbers are
in the shortest form that reads back to the same bits. Run one as

    python tests/oracle/normk_fixtures.py          # needs numpy and torch, on a CPU

and `git diff` shows whether anything moved. The test suite reads the committed files and needs neither.
"""

import json
import pathlib
import platform

DATA = pathlib.Path(__file__).parent / "data"


def plain(value):
    """Arrays and tensors as flat lists, numpy scalars as Python's."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if hasattr(value, "reshape"):
        return value.reshape(-1).tolist()
    return value.item() if hasattr(value, "item") else value


def write(name, seed, versions, cases):
    """`versions`: "torch 2.1, numpy 1.26"; `cases`: dicts with a "name" each."""
    head = {"generator": f"tests/oracle/{name}_fixtures.py", "seed": seed,
            "oracle": f"{versions}, Python {platform.python_version()}"}
    lines = [json.dumps({key: plain(value) for key, value in case.items()}, separators=(",", ":")) for case in cases]
    text = json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    (DATA / f"{name}.json").write_text(text)
    print(f"{name}.json: {len(cases)} cases, {len(text)} bytes")
