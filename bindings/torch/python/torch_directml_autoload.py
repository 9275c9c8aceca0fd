# SPDX-License-Identifier: Apache-2.0
"""What `import torch` calls (entry point torch.backends): makes the device dml known where that does no harm.

A process has one accelerator in torch's eyes, and a backend from outside comes first: with the device dml known, the
backward pass of CUDA tensors fails inside autograd. Where torch has an accelerator that is there, programs have to ask for
dml by importing torch_directml themselves. A module beside the package, since importing the package makes it known."""


def autoload():
    import torch
    if torch.accelerator.current_accelerator(check_available=True) is None:
        import torch_directml  # noqa: F401
