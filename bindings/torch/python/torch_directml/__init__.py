# SPDX-License-Identifier: Apache-2.0
"""PyTorch on DirectML: a device "dml" for tensors, modules and torch.compile.

    import torch, torch_directml
    x = torch.ones(3, device=torch_directml.device())      # or device="dml"

docs/pytorch.md has everything; torch.dml is the module that torch's own functions use, as torch.cuda is for CUDA.
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
    """The libraries, in the order in which they need each other, and the glue for this version of torch."""
    minor = ".".join(torch.__version__.split(".")[:2])
    glue = _os.path.join(_folder, f"glue-{minor}.so")
    if not _os.path.exists(glue):
        known = [_os.path.basename(path)[5:-3] for path in _glob.glob(_os.path.join(_folder, "glue-*.so"))]
        known.sort(key=lambda version: [int(number) for number in version.split(".")])
        raise ImportError(f"this torch_directml is for torch {', '.join(known)}, and torch {torch.__version__} is "
                          f"installed: install one of these (pip install \"torch=={known[-1] if known else 'N'}.*\"), or "
                          "torch_directml from its sdist, which compiles for the torch that is there")
    for name in ("libdxcore.so", "libd3d12.so", "libdirectml.so", "libanydml_torch_ops.so"):
        path = _os.path.join(_folder, name)
        if _os.path.exists(path):
            _ctypes.CDLL(_os.path.realpath(path))
    torch.utils.rename_privateuse1_backend(_DEVICE_TYPE)  # also to the name it has: torch then takes it for an accelerator
    torch.ops.load_library(glue)
    _atexit.register(torch.ops.torch_directml.hold_ended_threads)


if not hasattr(torch, _DEVICE_TYPE):
    _load()
    from . import dlpack as _dlpack, dml as _dml, sharing as _sharing

    torch._register_device_module(_DEVICE_TYPE, _dml)
    torch.dml = _sys.modules["torch.dml"] = _dml  # whatever the device is called
    _dlpack.install()
    _sharing.install()
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    if torch.distributed.is_available():
        from . import distributed as distributed

from .functions import (apply_rotary_position_emb, mlp_llama, mlp_phi2, mlp_phi3,  # after the device is there
                        multi_head_attention, rmsnorm)

_ops = torch.ops.torch_directml
__version__ = _ops.version()


def is_available():
    """Whether there is a device."""
    return device_count() > 0


def device_count():
    """How many devices there are: adapters as DXCore lists them (ANYDML_ADAPTERS)."""
    return _ops.device_count()


def device_name(device_id):
    """The adapter's name; "" if there is no such device."""
    return _ops.device_name(device_id)


def default_device():
    """The number of the device that device() takes."""
    return 0


def _checked(device_id):
    device_id = default_device() if device_id is None else device_id
    count = device_count()
    if device_id < 0 or device_id >= count:
        raise ValueError(f"Invalid device_id argument supplied {device_id}. device_id must be in range [0, {count}).")
    return device_id


def device(device_id=None):
    """torch.device("dml:N"), or of the name that TORCH_DIRECTML_DEVICE_TYPE says."""
    return torch.device(_DEVICE_TYPE, _checked(device_id))


def has_float64_support(device_id=None):
    """Whether the device computes in torch.float64."""
    return _ops.has_type(_checked(device_id), torch.float64)


def gpu_memory(device_id=None, mb_per_tile=1):
    """The memory that this process holds on the device, in tiles of `mb_per_tile` megabytes: for each the share in use
    by tensors, from 0 to 1. Tiles that are wholly in use come first."""
    if mb_per_tile <= 0:
        raise ValueError(f"gpu_memory: mb_per_tile must be positive, not {mb_per_tile}")
    index, tile = _checked(device_id), mb_per_tile << 20
    used, held = torch.accelerator.memory_allocated(index), torch.accelerator.memory_reserved(index)
    return [min(max(used - start, 0) / tile, 1.0) for start in range(0, held, tile)]


def disable_tiled_resources(is_disabled):
    """Memory is never made of tiled resources here: the call is accepted and changes nothing."""


def __getattr__(name):
    """What is loaded when first used: torch._dynamo takes seconds."""
    if name == "compile":
        from .compiler import compile as function
        globals()["compile"] = function
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fallbacks(clear=False):
    """Operators that ran on the CPU for want of one of the device, as {"aten::name.overload": calls}."""
    return _json.loads(_ops.fallbacks(clear))
