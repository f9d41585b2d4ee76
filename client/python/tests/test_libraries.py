"""krt.libraries: attributes, signatures, help, completion."""

import inspect
import json
import pydoc

import pytest

import krt


def test_attributes_reach_every_function(runtime):
    for module in runtime.list_modules():
        library = runtime.libraries
        for part in module["name"].split("."):
            library = getattr(library, part)
        assert library is runtime.libraries.module(module["name"])
        assert library is getattr(runtime.libraries, module["name"].replace(".", "_"))
        for name in module["functions"]:
            assert callable(getattr(library, name)) and name in dir(library)


def test_every_documented_example_runs(runtime):
    for module in runtime.list_modules():
        for name in module["functions"]:
            d = runtime.describe(module["name"], name)
            if not d["example"]:
                continue  # it needs an object that no JSON can write
            args = json.loads(d["example"])
            answer = runtime.execute(module["name"], name, args)
            assert answer["success"], (module["name"], name, answer["error"])
            function = runtime.libraries.function(module["name"], name)
            if isinstance(args, dict):
                assert repr(function(**args)) == repr(answer["result"])
            assert str(inspect.signature(function)).startswith("(")
            assert d["summary"] in pydoc.render_doc(function)


def test_a_call_by_position_and_by_name():
    add = krt.libraries.llmk.residual.residual_add_flat
    assert add([1.0], [2.0], 1) == add([1.0], n=1, b=[2.0]) == add(a=[1.0], b=[2.0], n=1)
    assert str(inspect.signature(add)) == "(a: 'f64[n]', b: 'f64[n]', n: 'int') -> 'ResidResult'"
    assert add.__name__ == "residual_add_flat" and add is krt.libraries.llmk.residual.residual_add_flat


def test_a_call_that_fails_raises():
    add = krt.libraries.llmk.residual.residual_add_flat
    for call, error in [
        (lambda: add([1.0]), "argument 'b' is missing"),
        (lambda: add([1.0], [1.0], 1, 2), "takes 3 arguments"),
        (lambda: add([1.0], [1.0], 1, 2, n=3), "takes 3 arguments"),
        (lambda: add([1.0], [1.0], m=3), "no argument is named 'm'"),
        (lambda: add([1.0], [1.0], a=3), "argument 'a' is given twice"),
        (lambda: add("x", [1.0], 1), "argument 'a' must be f64"),
    ]:
        with pytest.raises(krt.MojoExecutionError, match=error) as caught:
            call()
        assert caught.value.code == "invalid_arguments"


def test_help_shows_the_declaration():
    text = pydoc.render_doc(krt.libraries.llmk.residual.residual_add_flat, renderer=pydoc.plaintext)
    for line in ("residual_add_flat(a: 'f64[n]', b: 'f64[n]', n: 'int') -> 'ResidResult'",
                 "Elementwise sum of two whole flat buffers.", "n  int: how many values, 1 to 2^24",
                 "560 llmk_ok: the kernel ran and every element of the output is defined", "Determinism: bit_exact",
                 "Example: [[0,1,2,3,4,5],[10,9,8,7,6,5],6]"):
        assert line in text
    assert "residual_add_flat(a: f64[n]" in krt.libraries.llmk.residual.__doc__
    assert "The modules of llmk: contract" in krt.libraries.llmk.__doc__


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="Unknown runtime library 'nope'"):
        krt.libraries.nope
    with pytest.raises(AttributeError, match="Runtime library 'llmk.residual' does not expose 'nope'"):
        krt.libraries.llmk.residual.nope
    assert not hasattr(krt.libraries, "_private") and not hasattr(krt.libraries.llmk, "__wrapped__")
    with pytest.raises(krt.MojoModuleNotRegisteredError):
        krt.libraries.module("llmk.nope")
    with pytest.raises(krt.MojoFunctionNotRegisteredError):
        krt.libraries.function("llmk.residual", "nope")


def test_completion_and_listing():
    assert "llmk" in dir(krt.libraries) and "llmk_residual" in dir(krt.libraries)
    assert {"contract", "residual"} <= set(dir(krt.libraries.llmk))
    assert list(krt.libraries) == krt.libraries.names() == sorted(krt.libraries.names())
    assert krt.libraries() is krt.libraries  # as the public client spells it
