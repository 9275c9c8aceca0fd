# SPDX-License-Identifier: Apache-2.0
"""Makes AnyDML available to programs written for ONNX Runtime with DirectML, by the names that they use. When Python starts,
anydml_compat.pth inserts a finder before all others, which calls this module when onnxruntime is imported; before that,
nothing is imported or changed.

    ANYDML_COMPAT=0            does not change onnxruntime
    ANYDML_COMPAT_WINDOWS=a,b  makes the module platform report Windows as the system to these packages
"""
import sys

__all__ = ["find_spec", "get_library_path"]


def find_spec(name, path=None, target=None):
    """Returns the spec that the other finders find, with a loader that registers the provider after executing the module."""
    for finder in sys.meta_path:
        find = None if _is_own(finder) else getattr(finder, "find_spec", None)
        spec = find and find(name, path, target)
        if spec is not None:
            if spec.loader is not None:
                _accept_after(spec.loader)
            return spec
    return None


def get_library_path():
    """Returns the absolute path of libonnxruntime_directml.so, for LD_PRELOAD and for programs that open ONNX Runtime by path."""
    from pathlib import Path
    return str(Path(__file__).resolve().parent / "libonnxruntime_directml.so")


def _is_own(finder):
    return getattr(finder, "__name__", "") == "anydml_compat"


def _accept_after(loader):
    execute = loader.exec_module

    def exec_module(module):
        loader.exec_module = execute
        execute(module)
        from . import _onnxruntime
        _onnxruntime.accept(module)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_own(finder)]

    loader.exec_module = exec_module
