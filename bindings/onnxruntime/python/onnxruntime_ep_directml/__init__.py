# SPDX-License-Identifier: Apache-2.0
"""The DirectML execution provider for ONNX Runtime: a plugin library, and functions that register it.

    import onnxruntime as ort, onnxruntime_ep_directml as directml

    directml.register()
    session = ort.InferenceSession("model.onnx", providers=["AnyDMLExecutionProvider"])  # ONNX Runtime 1.25 or newer

With ONNX Runtime 1.23 or newer, on a selected device:

    options = ort.SessionOptions()
    options.add_provider_for_devices(directml.register()[:1], {})
    session = ort.InferenceSession("model.onnx", options)

Importing this module does not load the library; ONNX Runtime loads it when it is registered.
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
    """Returns the absolute path of the plugin library, for register_execution_provider_library().

    ANYDML_ONNXRUNTIME_PROVIDER selects another library than the package's.
    """
    named = os.environ.get("ANYDML_ONNXRUNTIME_PROVIDER")
    return os.path.abspath(named) if named else str(Path(__file__).resolve().parent / "libonnxruntime_ep_directml.so")


def get_ep_names() -> list[str]:
    """Returns the names of the execution provider in the library: get_ep_name(), then the name of the Windows provider."""
    return [_NAME, _WINDOWS_NAME]


def get_ep_name() -> str:
    """Returns the execution provider's own name, for providers=[...] and for finding its devices in get_ep_devices()."""
    return _NAME


def register(ort: Any = None) -> list[Any]:
    """Registers the library in ONNX Runtime and returns the provider's devices (OrtEpDevice), the default one first.

    May be called repeatedly and from any thread; a registered provider of that name is kept. Afterwards the name of the
    Windows provider works as on Windows: DmlExecutionProvider is first in get_available_providers(), and providers=[...],
    provider_options=, set_providers() and SessionOptions.add_provider() accept it. ONNX Runtime raises an error if it cannot
    load the library.

    ort: the onnxruntime module; it is imported by default.
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
