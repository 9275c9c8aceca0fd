# SPDX-License-Identifier: Apache-2.0
"""Support of dml tensors in torch.multiprocessing: in queues, pipes and arguments of processes.

On devices that use host memory, a tensor is sent like a CPU tensor: its storage is moved to shared memory, which both
processes use. For other devices the receiver gets a copy. As with CUDA, processes must be spawned, not forked."""
from multiprocessing.reduction import ForkingPickler

import torch
from torch.multiprocessing import reductions

from .name import DEVICE_TYPE

_ops = torch.ops.torch_directml


def _key(data, index):
    return DEVICE_TYPE, index, data.untyped_storage()._cdata


def _shared_bytes(tensor):
    """Moves the tensor's storage to shared memory unless it is there, and returns it as a CPU tensor of bytes."""
    data = _ops.host_bytes(tensor)
    if data is None or not data.is_shared():
        storage = torch.UntypedStorage._new_shared(tensor.untyped_storage().nbytes())
        data = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
        _ops.move_over_host(tensor, data)
    return data


def _rebuild(cls, data, index, dtype, metadata):
    key = _key(data, index)
    storage = reductions.storage_from_cache(torch.UntypedStorage, key)
    if storage is None:  # otherwise it was received before, or this process sent it
        storage = _ops.over_host(data, index).untyped_storage()
        reductions.shared_cache[key] = reductions.StorageWeakRef(storage)
    storage = torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
    return reductions.rebuild_tensor(cls, storage, metadata)


def _rebuild_copy(cls, copy, index, requires_grad):
    tensor = copy.to(torch.device(DEVICE_TYPE, index))
    return cls(tensor, requires_grad) if cls is torch.nn.Parameter else tensor.requires_grad_(requires_grad)


def _reduce(tensor):
    if tensor.device.type != DEVICE_TYPE:
        return reductions.reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("a non-leaf tensor that requires gradients cannot be sent to another process: "
                           "detach() it first")
    torch.utils.hooks.warn_if_has_hooks(tensor)
    index, plain = tensor.device.index, tensor.detach().resolve_conj().resolve_neg()
    if not plain.untyped_storage().nbytes() or not _ops.host_memory(index):
        return _rebuild_copy, (type(tensor), plain.cpu(), index, tensor.requires_grad)
    data = _shared_bytes(plain)
    reductions.shared_cache[_key(data, index)] = reductions.StorageWeakRef(plain.untyped_storage())
    metadata = plain.storage_offset(), plain.size(), plain.stride(), tensor.requires_grad
    return _rebuild, (type(tensor), data, index, plain.dtype, metadata)


def install():
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, _reduce)
