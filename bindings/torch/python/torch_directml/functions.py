# SPDX-License-Identifier: Apache-2.0
"""The released package's functions for parts of language models, as compositions of torch's operators: they are
differentiable, run on every device, and torch.compile makes graphs of them. Weights are those of torch.nn.Linear."""
import torch
from torch.nn.functional import gelu, linear, silu


def rmsnorm(input, weight, eps):
    """input / sqrt(mean(input^2) + eps) * weight over the last dimension, computed in float32."""
    x = input.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)).to(input.dtype) * weight


def mlp_llama(input, weight1, weight2, weight3, bias1=None, bias2=None, bias3=None):
    """linear2(silu(linear1(input)) * linear3(input))."""
    return linear(silu(linear(input, weight1, bias1)) * linear(input, weight3, bias3), weight2, bias2)


def mlp_phi3(input, weight1, weight2, bias1=None, bias2=None):
    """mlp_llama whose gate and the factor that it scales are the halves of one layer, the gate first."""
    gate, up = linear(input, weight1, bias1).chunk(2, -1)
    return linear(silu(gate) * up, weight2, bias2)


def mlp_phi2(input, weight1, weight2, bias1=None, bias2=None):
    """linear2(gelu(linear1(input))) with the approximation of GELU by tanh."""
    return linear(gelu(linear(input, weight1, bias1), approximate="tanh"), weight2, bias2)
