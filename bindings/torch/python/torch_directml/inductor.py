# SPDX-License-Identifier: Apache-2.0
"""What Inductor, torch.compile's default backend, asks of a device module (torch.dml) when it begins: it has no code for
dml, and says so in one line wherever it would make some."""
from torch._inductor.codegen import common

from .name import DEVICE_TYPE

MESSAGE = ('Inductor, the default backend of torch.compile, has no code for dml: use torch.compile(model, '
           'backend="directml"), which torch_directml.compile(model) does')


class Scheduling:
    supports_caching = False  # asked of all three, of the class itself
    def __init__(self, *args, **kwargs):
        raise RuntimeError(MESSAGE)


class PythonWrapperCodegen(Scheduling):
    @staticmethod
    def create(*args, **kwargs):
        raise RuntimeError(MESSAGE)


class CppWrapperCodegen(PythonWrapperCodegen):
    pass


# Asked for before the classes above are.
common.register_device_op_overrides(DEVICE_TYPE, common.DeviceOpOverrides())
