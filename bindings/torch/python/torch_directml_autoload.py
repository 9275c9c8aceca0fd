# SPDX-License-Identifier: Apache-2.0
"""The function that `import torch` calls (entry point torch.backends): registers the device dml if that has no side effects.

torch supports one accelerator per process, and an external backend takes precedence: once dml is registered, the backward
pass of CUDA tensors fails inside autograd. If torch has another available accelerator, programs must therefore import
torch_directml explicitly. This module is outside of the package, because importing the package registers the device."""


def autoload():
    import torch
    if torch.accelerator.current_accelerator(check_available=True) is None:
        import torch_directml  # noqa: F401
