import os

import pytest

import krt


@pytest.fixture(scope="session")
def runtime():
    return krt.MojoRuntime(threads=2)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed (docs/python.md says how to run these tests)")
