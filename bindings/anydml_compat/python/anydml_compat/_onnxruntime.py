# SPDX-License-Identifier: Apache-2.0
"""Registers the provider under the names of the Windows provider when a program has imported onnxruntime."""
import os
import sys

OLDEST = 1, 23


def accept(ort):
    """Registers the provider. Never raises, because the program may not use DirectML; errors are reported in a line on
    stderr."""
    if os.environ.get("ANYDML_COMPAT") == "0":
        return
    try:
        if "DML" in ort.get_device():
            return  # a build with DirectML
        version = getattr(ort, "__version__", "")
        if tuple(map(int, version.split(".")[:2])) < OLDEST:
            raise RuntimeError(f"ONNX Runtime {version} does not support plugins; 1.23 or newer is required")
        import onnxruntime_ep_directml
        onnxruntime_ep_directml.register(ort)
        packages = os.environ.get("ANYDML_COMPAT_WINDOWS")
        if packages:
            from . import _platform
            _platform.answer_for(packages.split(","))
    except Exception as error:  # pylint: disable=broad-except
        print(f"anydml_compat: DmlExecutionProvider is not available: {error}", file=sys.stderr)
