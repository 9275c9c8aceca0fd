# SPDX-License-Identifier: Apache-2.0
"""Programs written for ONNX Runtime with DirectML find AnyDML by the names that they use. anydml_compat.pth puts a finder before
the others when Python starts, which asks this module about onnxruntime; until then nothing is imported, and nothing changed.

    ANYDML_COMPAT=0            leaves onnxruntime as it is
    ANYDML_COMPAT_WINDOWS=a,b  tells these packages, when they ask the module platform, that the system is Windows
"""
import sys

__all__ = ["find_spec", "get_library_path"]


def find_spec(name, path=None, target=None):
    """What the other finders find; when it has been executed, the provider is registered."""
    for finder in sys.meta_path:
        find = None if _is_own(finder) else getattr(finder, "find_spec", None)
        spec = find and find(name, path, target)
        if spec is not None:
            if spec.loader is not None:
                _accept_after(spec.loader)
            return spec
    return None


def get_library_path():
    """The absolute path of libonnxruntime_directml.so, for LD_PRELOAD and for programs that open ONNX Runtime by path."""
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
