# SPDX-License-Identifier: Apache-2.0
"""Parts of torch that have no entry for devices from outside: its default backend of torch.compile, and its counter of
floating-point operations."""
import functools
import itertools
import logging

import torch

from .name import DEVICE_TYPE

_aten = torch.ops.aten


def _on_device(module, inputs):
    """Whether a graph reads or makes tensors of the device."""
    made = (node.meta.get("example_value") for node in module.graph.nodes)
    return any(isinstance(x, torch.Tensor) and x.device.type == DEVICE_TYPE for x in itertools.chain(inputs, made))


def _install_default_backend():
    """Libraries call torch.compile without a backend, which selects Inductor. It cannot generate code for the device: graphs
    with tensors of the device go to the backend "directml", and others to Inductor."""
    wrapper = torch._TorchCompileInductorWrapper
    inductor = wrapper.__call__

    @functools.wraps(inductor)
    def call(self, module, inputs, **options):
        if type(self) is wrapper and _on_device(module, inputs):
            from .compiler import directml
            return directml(module, inputs)
        return inductor(self, module, inputs, **options)

    wrapper.__call__ = call


def _install_flop_formulas():
    """For torch.utils.flop_counter, whose import warns on machines without Triton."""
    log = logging.getLogger("torch.utils.flop_counter")
    silent, log.disabled = log.disabled, True
    try:
        from torch.utils import flop_counter
    finally:
        log.disabled = silent
    for target, formula in ((_aten._scaled_dot_product_fused_attention_overrideable, flop_counter.sdpa_flop),
                            (_aten._scaled_dot_product_fused_attention_overrideable_backward, flop_counter.sdpa_backward_flop)):
        flop_counter.register_flop_formula(target, get_raw=True)(formula)  # which takes the shapes itself


def install():
    _install_default_backend()
    _install_flop_formulas()
