# SPDX-License-Identifier: Apache-2.0
"""The DirectML execution provider for ONNX Runtime: a plugin library and where to find it.

    import onnxruntime as ort, onnxruntime_ep_directml as directml

    directml.register()
    session = ort.InferenceSession("model.onnx", providers=["AnyDMLExecutionProvider"])  # ONNX Runtime 1.25 or newer

With ONNX Runtime 1.23 or newer, and on the device of your choice:

    options = ort.SessionOptions()
    options.add_provider_for_devices(directml.register()[:1], {})
    session = ort.InferenceSession("model.onnx", options)

Importing this module loads nothing; ONNX Runtime loads the library when it is registered.
"""
from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from ._names import OWN as _NAME, WINDOWS as _WINDOWS_NAME, accept as _accept

__all__ = ["get_ep_name", "get_ep_names", "get_library_path", "register"]

_lock = threading.Lock()


def get_library_path() -> str:
    """The absolute path of the plugin library, as register_execution_provider_library() takes it.

    ANYDML_ONNXRUNTIME_PROVIDER names another one than the package's.
    """
    named = os.environ.get("ANYDML_ONNXRUNTIME_PROVIDER")
    return os.path.abspath(named) if named else str(Path(__file__).resolve().parent / "libonnxruntime_ep_directml.so")


def get_ep_names() -> list[str]:
    """The names of the execution provider in the library, get_ep_name() first; the other is the Windows provider's."""
    return [_NAME, _WINDOWS_NAME]


def get_ep_name() -> str:
    """The own name of the execution provider, for providers=[...] and to recognise its devices in get_ep_devices()."""
    return _NAME


def register(ort: Any = None) -> list[Any]:
    """Registers the library in ONNX Runtime and returns the provider's devices (OrtEpDevice), the default one first.

    May be called any number of times, from any thread; a provider of that name that is registered already stays.
    From then on the name of the Windows provider works as there: DmlExecutionProvider is first in
    get_available_providers(), and providers=[...], provider_options=, set_providers() and SessionOptions.add_provider()
    take it.

    ort: the onnxruntime module; imported when it is not given.
    """
    if ort is None:
        import onnxruntime as ort
    with _lock:
        devices = _devices(ort)
        if not devices:
            ort.register_execution_provider_library(_NAME, get_library_path())
            devices = _devices(ort)
        _accept(ort)
    return devices


def _devices(ort: Any) -> list[Any]:
    return [device for device in ort.get_ep_devices() if device.ep_name == _NAME]
