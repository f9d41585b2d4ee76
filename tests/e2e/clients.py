"""The clients that are not written here: scripts/peers fetches them into build/peers."""

import os
import pathlib
import shutil

import pytest

PEERS = pathlib.Path(os.environ.get("KRT_PEERS", "build/peers"))


def absent(reason):
    """Skips the test; where KRT_CI=1 promises that all clients are there, fails it."""
    if os.environ.get("KRT_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def grpc_js():
    """Node, and the folder whose node_modules have @grpc/grpc-js."""
    node = shutil.which("node")
    if node is None or not (PEERS / "grpc-js/node_modules/@grpc/proto-loader").exists():
        absent("@grpc/grpc-js is not installed (scripts/peers)")
    return node, PEERS / "grpc-js"


def algenta():
    """A Python that has the public client, without its own engine: krt stands in for that."""
    python = PEERS / "algenta/bin/python"
    if not python.exists():
        absent("the public client is not installed (scripts/peers)")
    return python
