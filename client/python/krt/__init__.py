"""krt: a kernel runtime for LLM inference.

A program names a kernel, hands it arguments, and gets a result plus a status code: in its own process, or over gRPC,
through the same object.

>>> import krt
>>> runtime = krt.MojoRuntime()  # or MojoRuntime(mode="remote", address="host:50099")
>>> runtime.execute("llmk.residual", "residual_add_flat", [[1.0, 2.0], [3.0, 4.0], 2])["result"]["out"]
[4.0, 6.0]

``krt.libraries`` has every kernel as an attribute; ``krt.decode`` has the decode step's kernels as plain functions.
"""

from typing import TYPE_CHECKING, cast

from . import decode
from .errors import (
    KernelStatusError,
    MojoExecutionError,
    MojoFunctionNotRegisteredError,
    MojoModuleNotRegisteredError,
    MojoRuntimeConfigurationError,
    MojoRuntimeError,
)
from ._generator import Generator
from ._handles import Handle
from ._libraries import Libraries
from ._runtime import MojoRuntime, default_runtime
from ._version import __version__

if TYPE_CHECKING:
    from ._catalogue import Catalogue

libraries: "Catalogue" = cast("Catalogue", Libraries(default_runtime))

__all__ = [
    "Generator",
    "Handle",
    "KernelStatusError",
    "Libraries",
    "MojoExecutionError",
    "MojoFunctionNotRegisteredError",
    "MojoModuleNotRegisteredError",
    "MojoRuntime",
    "MojoRuntimeConfigurationError",
    "MojoRuntimeError",
    "__version__",
    "decode",
    "default_runtime",
    "libraries",
]
