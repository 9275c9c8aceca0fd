# SPDX-License-Identifier: Apache-2.0
"""The classes that Inductor, torch.compile's default backend, requests from a device module (torch.dml). Inductor cannot
generate code for dml; these classes raise an error that says so in one line."""
from torch._inductor.codegen import common

from .name import DEVICE_TYPE

MESSAGE = ('Inductor, the default backend of torch.compile, does not support dml: use torch.compile(model, '
           'backend="directml") or torch_directml.compile(model)')


class Scheduling:
    supports_caching = False  # read from all three classes, without an instance
    def __init__(self, *args, **kwargs):
        raise RuntimeError(MESSAGE)


class PythonWrapperCodegen(Scheduling):
    @staticmethod
    def create(*args, **kwargs):
        raise RuntimeError(MESSAGE)


class CppWrapperCodegen(PythonWrapperCodegen):
    pass


class WrapperFxCodegen(PythonWrapperCodegen):  # torch 2.13 ignores the others without this one
    pass


# Inductor looks this up before the classes above.
common.register_device_op_overrides(DEVICE_TYPE, common.DeviceOpOverrides())
