# SPDX-License-Identifier: Apache-2.0
"""Attention of nested tensors of layout torch.jagged. For devices without fused kernels of its own, torch makes nested tensors
of layout torch.strided, which dml does not support. Here the parts are padded, and the padding is masked."""
import torch
import torch.nn.functional as F
from torch.nested._internal import ops, sdpa
from torch.nested._internal.nested_tensor import nested_from_padded

from .name import DEVICE_TYPE

_of_torch = ops.jagged_scaled_dot_product_attention


def _padded(x):
    """A nested tensor of the sizes (batch, heads, length, width), as a dense one."""
    x = x.transpose(1, 2)
    batch, _, heads, width = x.shape
    return x.to_padded_tensor(0.0, output_size=(batch, x._get_max_seqlen(), heads, width)).transpose(1, 2)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if query.device.type != DEVICE_TYPE or query.dim() != 4 or query._ragged_idx != 2:
        return _of_torch(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    query, key, value, attn_mask = sdpa._autocast(query, key, value, attn_mask)
    sdpa._validate_sdpa_input(query, key, value, attn_mask, dropout_p, is_causal, scale)
    q, k, v = _padded(query), _padded(key), _padded(value)
    # A part without keys keeps one, of zeros: the scores of its padding are no NaN.
    lengths = key.offsets().diff().clamp_min(1)
    mask = (torch.arange(k.shape[2], device=k.device) < lengths[:, None])[:, None, None, :]
    if is_causal:
        mask = mask & torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
    y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, scale=scale, enable_gqa=enable_gqa).transpose(1, 2)
    return nested_from_padded(y, query.offsets(), min_seqlen=query._maybe_min_seqlen, max_seqlen=query._maybe_max_seqlen,
                              sum_S=query.values().shape[query._ragged_idx - 1]).transpose(1, 2)


ops.jagged_scaled_dot_product_attention = attention
