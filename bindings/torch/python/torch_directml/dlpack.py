# SPDX-License-Identifier: Apache-2.0
"""DLPack: Tensor.__dlpack_device__ of torch fails for a renamed device; its device type is kDLExtDev."""
import functools

import torch
from torch.utils.dlpack import DLDeviceType

from .name import DEVICE_TYPE


def install():
    """Wraps Tensor.__dlpack_device__, which from_dlpack of every library calls first. Must be called only once."""
    original = torch.Tensor.__dlpack_device__

    @functools.wraps(original)
    def device(self):
        return (DLDeviceType.kDLExtDev, self.device.index) if self.device.type == DEVICE_TYPE else original(self)

    torch.Tensor.__dlpack_device__ = device
