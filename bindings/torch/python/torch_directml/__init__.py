# SPDX-License-Identifier: Apache-2.0
"""PyTorch on DirectML: a device "dml" for tensors, modules and torch.compile.

    import torch, torch_directml
    x = torch.ones(3, device=torch_directml.device())      # or device="dml"

docs/pytorch.md is the full documentation. torch.dml is the device module, like torch.cuda for CUDA. Functions may be called
from any thread. Their `device_id` is the index of a device; None selects default_device(). A ValueError is raised if it is
out of range.
"""

import atexit as _atexit
import ctypes as _ctypes
import glob as _glob
import json as _json
import os as _os
import sys as _sys

import torch

from .name import DEVICE_TYPE as _DEVICE_TYPE

__all__ = ["apply_rotary_position_emb", "default_device", "device", "device_count", "device_name",
           "disable_tiled_resources", "fallbacks", "gpu_memory", "has_float64_support", "is_available", "mlp_llama",
           "mlp_phi2", "mlp_phi3", "multi_head_attention", "rmsnorm"]

_folder = _os.path.dirname(_os.path.abspath(__file__))


def _load():
    """Loads the libraries in the order of their dependencies, and the glue for this version of torch."""
    minor = ".".join(torch.__version__.split(".")[:2])
    glue = _os.path.join(_folder, f"glue-{minor}.so")
    if not _os.path.exists(glue):
        known = [_os.path.basename(path)[5:-3] for path in _glob.glob(_os.path.join(_folder, "glue-*.so"))]
        known.sort(key=lambda version: [int(number) for number in version.split(".")])
        raise ImportError(f"this torch_directml supports torch {', '.join(known)}, but torch {torch.__version__} is "
                          f"installed: install one of these (pip install \"torch=={known[-1] if known else 'N'}.*\"), or "
                          "torch_directml from its sdist, which is compiled for the installed torch")
    for name in ("libdxcore.so", "libd3d12.so", "libdirectml.so", "libanydml_torch_ops.so"):
        path = _os.path.join(_folder, name)
        if _os.path.exists(path):
            _ctypes.CDLL(_os.path.realpath(path))
    torch.utils.rename_privateuse1_backend(_DEVICE_TYPE)  # even if unchanged: makes torch treat it as an accelerator
    torch.ops.load_library(glue)
    _atexit.register(torch.ops.torch_directml.hold_ended_threads)


if not hasattr(torch, _DEVICE_TYPE):
    _load()
    from . import dlpack as _dlpack, dml as _dml, hooks as _hooks, nested as _nested, sharing as _sharing

    torch._register_device_module(_DEVICE_TYPE, _dml)
    torch.dml = _sys.modules["torch.dml"] = _dml  # regardless of the device's name
    _dlpack.install()
    _sharing.install()
    _hooks.install()
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    if torch.distributed.is_available():
        from . import distributed as distributed

from .functions import (apply_rotary_position_emb, mlp_llama, mlp_phi2, mlp_phi3,  # requires the registered device
                        multi_head_attention, rmsnorm)

_ops = torch.ops.torch_directml
__version__ = _ops.version()


def is_available():
    """Returns whether there is at least one device."""
    return device_count() > 0


def device_count():
    """Returns the number of devices: the adapters that DXCore lists (ANYDML_ADAPTERS)."""
    return _ops.device_count()


def device_name(device_id):
    """Returns the name of the adapter, or "" if the index is out of range."""
    return _ops.device_name(device_id)


def default_device():
    """Returns the index of the device that device() selects by default."""
    return 0


def _checked(device_id):
    device_id = default_device() if device_id is None else device_id
    count = device_count()
    if device_id < 0 or device_id >= count:
        raise ValueError(f"Invalid device_id argument supplied {device_id}. device_id must be in range [0, {count}).")
    return device_id


def device(device_id=None):
    """Returns torch.device("dml", device_id); TORCH_DIRECTML_DEVICE_TYPE can select another name than "dml"."""
    return torch.device(_DEVICE_TYPE, _checked(device_id))


def has_float64_support(device_id=None):
    """Returns whether the device supports torch.float64."""
    return _ops.has_type(_checked(device_id), torch.float64)


def gpu_memory(device_id=None, mb_per_tile=1):
    """Returns the use of the device memory that this process has reserved, as a list with one number for each tile of
    `mb_per_tile` MiB: the fraction used by tensors, from 0 to 1. Full tiles are first. Raises ValueError if mb_per_tile is
    not positive."""
    if mb_per_tile <= 0:
        raise ValueError(f"gpu_memory: mb_per_tile must be positive, not {mb_per_tile}")
    index, tile = _checked(device_id), mb_per_tile << 20
    used, held = torch.accelerator.memory_allocated(index), torch.accelerator.memory_reserved(index)
    return [min(max(used - start, 0) / tile, 1.0) for start in range(0, held, tile)]


def disable_tiled_resources(is_disabled):
    """Has no effect, because memory never consists of tiled resources. It exists for compatibility."""


def __getattr__(name):
    """Loads `compile` on first use, because importing torch._dynamo takes seconds."""
    if name == "compile":
        from .compiler import compile as function
        globals()["compile"] = function
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fallbacks(clear=False):
    """Returns the operators that ran on the CPU because the device does not support them, as {"aten::name.overload": calls}.
    clear: resets the counts."""
    return _json.loads(_ops.fallbacks(clear))
