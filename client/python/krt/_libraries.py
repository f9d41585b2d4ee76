"""krt.libraries: every module and function as attributes, with signatures and documentation.

>>> krt.libraries.llmk.residual.residual_add_flat([1.0, 2.0], [3.0, 4.0], 2)["out"]
[4.0, 6.0]

All of it is read from the declarations of the runtime that serves the calls, so ``help()`` and tab completion show
what is there. A call gives the kernel's result, and raises ``MojoRuntimeError`` where ``execute`` would answer a
failure.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Iterator

from .errors import MojoFunctionNotRegisteredError, MojoModuleNotRegisteredError, error_for

if TYPE_CHECKING:
    from ._runtime import MojoRuntime


class Library:
    """One module, or a name that modules begin with (``llmk`` of ``llmk.residual``)."""

    def __init__(self, runtime: MojoRuntime, name: str, functions: tuple[str, ...]) -> None:
        self._runtime = runtime
        self._name = name
        self._functions = functions
        self._children: dict[str, Library] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._children:
            return self._children[name]
        if name in self._functions:
            function = function_of(self._runtime, self._name, name)
            setattr(self, name, function)  # asked once
            return function
        raise AttributeError(f"Runtime library {self._name!r} does not expose {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*self._children, *self._functions})

    def __repr__(self) -> str:
        return f"<krt library {self._name!r}: {', '.join([*self._functions, *self._children])}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        if not self._functions:
            return f"The modules of {self._name}: {', '.join(self._children)}."
        description = self._runtime.describe(self._name)
        lines = [f"{f['signature']}\n    {f['summary']}" for f in description["functions"]]
        return "\n\n".join([f"{description['summary']}.", *lines])


class Libraries:
    """All modules of a runtime. ``libraries.llmk.residual`` and ``libraries.llmk_residual`` are the same module."""

    def __init__(self, runtime: MojoRuntime | Callable[[], MojoRuntime]) -> None:
        self._source = runtime
        self._modules: dict[str, Library] = {}  # by full name
        self._roots: dict[str, Library] = {}  # by attribute

    def __call__(self) -> Libraries:
        """Itself: the public client spells it ``libraries()``."""
        return self

    def names(self) -> list[str]:
        """The full names of all modules, sorted."""
        return sorted(self._load())

    def module(self, name: str) -> Library:
        """The module of that full name."""
        try:
            return self._load()[name]
        except KeyError:
            raise MojoModuleNotRegisteredError(
                "module_not_registered", f"Unknown runtime library {name!r}", {"module": name}
            ) from None

    def function(self, module: str, name: str) -> Callable[..., Any]:
        """The function of that name."""
        library = self.module(module)
        if name not in library._functions:
            raise MojoFunctionNotRegisteredError(
                "function_not_registered",
                f"Runtime library {module!r} does not expose {name!r}",
                {"module": module, "function": name},
            )
        function: Callable[..., Any] = getattr(library, name)
        return function

    def __getattr__(self, name: str) -> Library:
        if name.startswith("__"):
            raise AttributeError(name)
        self._load()
        if name in self._roots:
            return self._roots[name]
        raise AttributeError(f"Unknown runtime library {name!r}")

    def __dir__(self) -> list[str]:
        self._load()
        return sorted({"function", "module", "names", *self._roots})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load(self) -> dict[str, Library]:
        if not self._modules:
            runtime = self._source() if callable(self._source) else self._source
            for module in runtime.list_modules():
                self._add(runtime, module["name"], tuple(module["functions"]))
            for name, library in self._modules.items():
                self._roots.setdefault(name.replace(".", "_"), library)
        return self._modules

    def _add(self, runtime: MojoRuntime, name: str, functions: tuple[str, ...]) -> None:
        siblings = self._roots
        path = name.split(".")
        for depth, part in enumerate(path, 1):
            library = siblings.setdefault(part, Library(runtime, ".".join(path[:depth]), ()))
            siblings = library._children
        library._functions = functions
        self._modules[name] = library


def function_of(runtime: MojoRuntime, module: str, name: str) -> Callable[..., Any]:
    """A function with the declaration's signature and documentation."""
    info = runtime.describe(module, name)
    names = [p["name"] for p in info["params"]]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return runtime.call(module, name, _by_name(info, names, args, kwargs))
        return runtime.function(module, name)(*args)

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__module__ = module
    kernel.__doc__ = documentation(info)
    kernel.__signature__ = signature(info)  # type: ignore[attr-defined]
    return kernel


def _by_name(info: dict[str, Any], names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    full_name = f"{info['module']}.{info['name']}"
    if len(args) > len(names):
        raise error_for("invalid_arguments", f"{full_name} takes {len(names)} arguments, got {len(args)} and more")
    merged = dict(zip(names, args))
    for key, value in kwargs.items():
        if key in merged:
            raise error_for("invalid_arguments", f"{full_name}: argument {key!r} is given twice")
        merged[key] = value
    return merged


def signature(info: dict[str, Any]) -> inspect.Signature:
    """The declaration's parameters as ``inspect`` shows them."""
    parameters = [
        inspect.Parameter(
            p["name"],
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=p.get("default", inspect.Parameter.empty),
            annotation=p["type"],
        )
        for p in info["params"]
    ]
    return inspect.Signature(parameters, return_annotation=info["result_struct"] or info["result_fields"][0]["type"])


def documentation(info: dict[str, Any]) -> str:
    """The declaration in words: summary, parameters, result, statuses, example."""
    lines = [f"{info['summary']}.", ""]
    if info["details"]:
        lines += [f"{info['details']}.", ""]
    if info["params"]:
        width = max(len(p["name"]) for p in info["params"])
        lines += ["Parameters"]
        lines += [f"    {p['name']:{width}}  {p['type']}: {p['doc']}" for p in info["params"]] + [""]
    if info["result_struct"]:
        lines += [f"Result: {info['result_struct']}"]
        lines += [f"    {f['name']}: {f['type']}" for f in info["result_fields"]] + [""]
    else:
        lines += [f"Result: {info['result_fields'][0]['type']}", ""]
    if info["statuses"] and any(f["name"] == "status" for f in info["result_fields"]):
        lines += ["Statuses"]
        lines += [f"    {s['code']} {s['name']}: {s['meaning']}" for s in info["statuses"]] + [""]
    capabilities = info["capabilities"]
    lines += [f"Determinism: {capabilities['determinism']}"]
    if capabilities["in_place"]:
        lines += [f"Changed in place: {', '.join(capabilities['in_place'])}"]
    if info["variants"]:
        lines += [f"Variants: {', '.join(v['name'] for v in info['variants'])}"]
    return "\n".join([*lines, f"Example: {info['example']}"])
