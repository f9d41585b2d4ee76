"""Every function of the registry with its documented example, and how to compare what came back."""

import json
import struct


def all_of(runtime):
    """(module, function, args) of every function's documented example."""
    for module in runtime.list_modules():
        for function in runtime.describe(module["name"])["functions"]:
            if function["example"]:  # some need an object that no JSON can write
                yield module["name"], function["name"], json.loads(function["example"])


def without_strings(value):
    """JSON's strings for NaN and the infinities as the floats that they stand for."""
    if isinstance(value, list):
        return [without_strings(item) for item in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def bits(value):
    """The value with every float as its bits, so that == tells -0 from 0 and knows NaN."""
    if isinstance(value, float):
        return struct.pack("<d", value).hex()
    if isinstance(value, dict):
        return {name: bits(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    return value
