# SPDX-License-Identifier: Apache-2.0
"""torch.dml, the device module of dml: it has the interface of torch.cuda. torch itself calls it for seeds, autocast and the
current device.

A parameter `device` is a torch.device, its name, its index, or None for the current device. Sizes of memory are in bytes.
Functions may be called from any thread; the current device is a property of the calling thread."""
import contextlib
import functools
import os
import sys
import types
import typing

import torch

from .name import DEVICE_TYPE

_ops = torch.ops.torch_directml
# Activation checkpointing reads this before it saves the generators.
_initialized = True
_PRIVATEUSE1 = 20  # c10::DeviceType


def _index(device=None):
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != DEVICE_TYPE:
        raise ValueError(f"Expected a {DEVICE_TYPE} device, but got: {device}")
    return current_device() if device.index is None else device.index


# ---- devices ----

def is_available():
    return device_count() > 0


def is_initialized():
    return True


def init():
    pass


def _lazy_init():
    pass


def _lazy_call(callable, **kwargs):
    callable()


def device_count():
    return _ops.device_count()


def get_device_name(device=None):
    return _ops.device_name(_index(device))


class _DeviceProperties(typing.NamedTuple):
    name: str
    total_memory: int  # bytes
    major: int
    minor: int
    multi_processor_count: int  # the host's for the cpu adapter; 1 for others, which do not report it


def get_device_capability(device=None):
    """Returns the feature level of DirectML as the pair (major, minor)."""
    _index(device)
    return 6, 4


def get_device_properties(device=None):
    """Returns name, total_memory (bytes), major and minor (of get_device_capability()) and multi_processor_count."""
    processors = len(os.sched_getaffinity(0)) if _ops.host_memory(_index(device)) else 1
    return _DeviceProperties(get_device_name(device), mem_get_info(device)[1], *get_device_capability(device), processors)


def get_arch_list():
    return []


def can_device_access_peer(device, peer_device):
    """Returns whether both are the same device: no device can access the memory of another one."""
    return _index(device) == _index(peer_device)


def is_tf32_supported():
    return False


def current_device():
    return torch._C._accelerator_getDeviceIndex()


def set_device(device):
    torch._C._accelerator_setDeviceIndex(_index(device))


def synchronize(device=None):
    torch._C._accelerator_synchronizeDevice(_index(device))


class device:
    """Context manager that makes this device the current one."""

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        self.prev_idx = torch._C._accelerator_exchangeDevice(self.idx)

    def __exit__(self, *exc_info):
        torch._C._accelerator_maybeExchangeDevice(self.prev_idx)


class device_of(device):
    """Context manager that makes the device of a tensor the current one; it has no effect for tensors of other types of
    devices."""

    def __init__(self, tensor):
        super().__init__(tensor.device if tensor.device.type == DEVICE_TYPE else None)


def _is_in_bad_fork():
    return _ops.forked()


def _exchange_device(index):
    return torch._C._accelerator_exchangeDevice(index)


def _maybe_exchange_device(index):
    return torch._C._accelerator_maybeExchangeDevice(index)


# ---- streams and events ----

def Stream(device=None, priority=0):
    return torch.Stream(torch.device(DEVICE_TYPE, _index(device)), priority=priority)


def Event(enable_timing=False, blocking=False, interprocess=False):
    return torch.Event(DEVICE_TYPE, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


def current_stream(device=None):
    return torch.accelerator.current_stream(_index(device))


def default_stream(device=None):
    return torch.Stream(stream_id=0, device_index=_index(device), device_type=_PRIVATEUSE1)


def set_stream(stream):
    torch.accelerator.set_stream(stream)


def stream(stream):
    """Context manager that makes the stream the current one; None has no effect."""
    return contextlib.nullcontext() if stream is None else stream


StreamContext = stream


def is_current_stream_capturing():
    return False


# ---- memory ----

def empty_cache():
    torch.accelerator.empty_cache()


def memory_stats(device=None):
    return torch.accelerator.memory_stats(_index(device))


def memory_allocated(device=None):
    return torch.accelerator.memory_allocated(_index(device))


def max_memory_allocated(device=None):
    return torch.accelerator.max_memory_allocated(_index(device))


def memory_reserved(device=None):
    return torch.accelerator.memory_reserved(_index(device))


def max_memory_reserved(device=None):
    return torch.accelerator.max_memory_reserved(_index(device))


def reset_peak_memory_stats(device=None):
    torch.accelerator.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device=None):
    torch.accelerator.reset_accumulated_memory_stats(_index(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def memory_summary(device=None, abbreviated=False):
    """Returns memory_stats() as a table; abbreviated: only the rows of bytes."""
    stats, index = memory_stats(device), _index(device)
    rows = [("allocated_bytes", "Allocated bytes"), ("requested_bytes", "Requested bytes"),
            ("reserved_bytes", "Reserved bytes")]
    if not abbreviated:
        rows += [("allocation", "Allocations"), ("segment", "Reserved blocks")]
    columns = "current", "peak", "allocated", "freed"
    lines = [f"DirectML memory, {DEVICE_TYPE}:{index} ({get_device_name(index)}); out of memory: {stats.get('num_ooms', 0)}",
             f"{'':16}" + "".join(f"{column:>18}" for column in columns)]
    for key, name in rows:
        lines.append(f"{name:16}" + "".join(f"{stats.get(f'{key}.all.{column}', 0):18d}" for column in columns))
    return "\n".join(lines) + "\n"


def ipc_collect():
    """Has no effect: memory of tensors sent to other processes is freed when these processes release it."""


def mem_get_info(device=None):
    """Returns the free and the total memory of the device, in bytes."""
    return torch.accelerator.get_memory_info(_index(device))


def set_per_process_memory_fraction(fraction, device=None):
    """Limits the memory of this process to a fraction, from 0 to 1, of the device's total memory; 1: no limit. Allocations
    beyond the limit raise torch.OutOfMemoryError."""
    _ops.set_memory_limit(_index(device), float(fraction))


# ---- random numbers ----

def _generator(device=None):
    return _ops.default_generator(_index(device))


_get_generator = _generator


def manual_seed(seed):
    if not _is_in_bad_fork():
        _generator().manual_seed(seed)


def manual_seed_all(seed):
    if not _is_in_bad_fork():
        for index in range(device_count()):
            _generator(index).manual_seed(seed)


def seed():
    _generator().seed()


def seed_all():
    manual_seed_all(_generator().seed())


def initial_seed():
    return _generator().initial_seed()


def get_rng_state(device=DEVICE_TYPE):
    return _generator(device).get_state()


def get_rng_state_all():
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device=DEVICE_TYPE):
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states):
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def __getattr__(name):
    """Computes attributes on first access: the default generators, and the classes for Inductor."""
    if name == "default_generators":
        return tuple(_generator(index) for index in range(device_count()))
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):  # read by Inductor when it is loaded
        from . import inductor
        return getattr(inductor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- automatic mixed precision ----

def get_amp_supported_dtype():
    return [torch.float16, torch.bfloat16]


def is_autocast_enabled():
    return torch.is_autocast_enabled(DEVICE_TYPE)


def set_autocast_enabled(enabled):
    torch.set_autocast_enabled(DEVICE_TYPE, enabled)


def get_autocast_dtype():
    return torch.get_autocast_dtype(DEVICE_TYPE)


def set_autocast_dtype(dtype):
    torch.set_autocast_dtype(DEVICE_TYPE, dtype)


def is_bf16_supported(including_emulation=True):
    return _ops.has_type(current_device(), torch.bfloat16)


# torch.cuda also has these functions in submodules, and libraries import them from there.
random = memory = sys.modules[__name__]
amp = types.SimpleNamespace(
    autocast=functools.partial(torch.amp.autocast, DEVICE_TYPE), GradScaler=functools.partial(torch.amp.GradScaler, DEVICE_TYPE),
    custom_fwd=functools.partial(torch.amp.custom_fwd, device_type=DEVICE_TYPE),
    custom_bwd=functools.partial(torch.amp.custom_bwd, device_type=DEVICE_TYPE))
