# SPDX-License-Identifier: Apache-2.0
"""Building blocks of language models with the interface of the released torch_directml package, as compositions of torch's
operators: they are differentiable, run on every device and can be compiled by torch.compile. Weights have the layout of
torch.nn.Linear: [output features, input features]."""
import torch
from torch.nn.functional import gelu, linear, scaled_dot_product_attention, silu


def rmsnorm(input, weight, eps):
    """Returns input / sqrt(mean(input^2) + eps) * weight, with the mean over the last dimension in float32. input:
    [..., size]; weight: [size]."""
    x = input.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)).to(input.dtype) * weight


def mlp_llama(input, weight1, weight2, weight3, bias1=None, bias2=None, bias3=None):
    """Returns linear2(silu(linear1(input)) * linear3(input))."""
    return linear(silu(linear(input, weight1, bias1)) * linear(input, weight3, bias3), weight2, bias2)


def mlp_phi3(input, weight1, weight2, bias1=None, bias2=None):
    """Like mlp_llama, but the gate and the factor that it scales are the two halves of linear1(input), gate first."""
    gate, up = linear(input, weight1, bias1).chunk(2, -1)
    return linear(silu(gate) * up, weight2, bias2)


def mlp_phi2(input, weight1, weight2, bias1=None, bias2=None):
    """Returns linear2(gelu(linear1(input))) with the tanh approximation of GELU."""
    return linear(gelu(linear(input, weight1, bias1), approximate="tanh"), weight2, bias2)


def apply_rotary_position_emb(query, key, cos, sin, position, length, dim):
    """Applies rotary position embeddings and returns (query, key).

    The first `dim` elements of the last dimension are rotated by the angles of the tokens' positions: position, position + 1,
    ... for `length` tokens. Elements i and i + dim / 2 are a pair; other elements are unchanged. query, key: [batch, heads,
    length, head size]; cos, sin: [..., positions, at least dim]. Raises ValueError if dim, position or length does not fit."""
    places, width = cos.shape[-2:]
    if dim % 2 or not 0 < dim <= width or dim > min(query.shape[-1], key.shape[-1]):
        raise ValueError(f"apply_rotary_position_emb: dim is {dim}, must be even and at most {width}, cos's last size, "
                         f"and {min(query.shape[-1], key.shape[-1])}, the head size")
    if position < 0 or position + length > places or query.shape[-2] != length or key.shape[-2] != length:
        raise ValueError(f"apply_rotary_position_emb: {length} positions from {position} on must be within the {places} of "
                         f"cos and match the tokens of query ({query.shape[-2]}) and key ({key.shape[-2]})")
    cos, sin = (t[..., position:position + length, :dim] for t in (cos, sin))

    def turned(x):
        x, rest = x[..., :dim], x[..., dim:]
        a, b = x.chunk(2, -1)
        y = x * cos + torch.cat((-b, a), -1) * sin
        return torch.cat((y, rest), -1) if rest.shape[-1] else y
    return turned(query), turned(key)


def multi_head_attention(query, key, value, dim, num_heads, past_key=None, past_value=None, mask=None):
    """Returns (attention, present key, present value) of scaled dot-product attention.

    query, attention: [batch, tokens, dim]; key, value: [batch, tokens, heads * head size] with head size = dim / num_heads;
    num_heads may be a multiple of the number of their heads. past_key, past_value: the present key and value of an earlier
    call, [batch, heads, past tokens, head size]; they precede key and value. mask: 0 where a token must not be attended to,
    broadcast to [batch, num_heads, tokens, past tokens + tokens]. Raises ValueError if sizes do not match."""
    if query.shape[-1] != dim or num_heads < 1 or dim % num_heads:
        raise ValueError(f"multi_head_attention: query's last size is {query.shape[-1]}, must be dim, {dim}, a multiple "
                         f"of num_heads, {num_heads}")
    if (past_key is None) != (past_value is None):
        raise ValueError("multi_head_attention: past_key and past_value must both be given or both be None")
    size = dim // num_heads
    query, key, value = (t.unflatten(-1, (-1, size)).transpose(1, 2) for t in (query, key, value))
    if past_key is not None:
        key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
    attention = scaled_dot_product_attention(query, key, value, attn_mask=None if mask is None else mask != 0,
                                             enable_gqa=key.shape[1] != num_heads)
    return attention.transpose(1, 2).flatten(2), key, value
