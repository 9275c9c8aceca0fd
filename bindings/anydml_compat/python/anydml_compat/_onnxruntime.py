# SPDX-License-Identifier: Apache-2.0
"""What happens when a program has imported onnxruntime: the provider is registered under the names of the Windows one."""
import os
import sys

OLDEST = 1, 23


def accept(ort):
    """Never fails: the program did not ask for anything yet. A line on stderr says why it will find no DirectML."""
    if os.environ.get("ANYDML_COMPAT") == "0":
        return
    try:
        if "DML" in ort.get_device():
            return  # a build with DirectML
        version = getattr(ort, "__version__", "")
        if tuple(map(int, version.split(".")[:2])) < OLDEST:
            raise RuntimeError(f"ONNX Runtime {version} takes no plugins; 1.23 or newer is needed")
        import onnxruntime_ep_directml
        onnxruntime_ep_directml.register(ort)
        packages = os.environ.get("ANYDML_COMPAT_WINDOWS")
        if packages:
            from . import _platform
            _platform.answer_for(packages.split(","))
    except Exception as error:  # pylint: disable=broad-except
        print(f"anydml_compat: DmlExecutionProvider is not available: {error}", file=sys.stderr)
