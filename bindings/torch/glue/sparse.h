// SPDX-License-Identifier: Apache-2.0
// Sparse tensors of layout torch.sparse_coo, as compositions of operators of their indices and values.
#ifndef ANYDML_TORCH_SPARSE_H
#define ANYDML_TORCH_SPARSE_H

#include "glue.h"

namespace dml
{

// The position of each element (row of values) in the sparse dimensions `sizes`, in row-major order.
at::Tensor sparse_keys(const at::Tensor &indices, at::IntArrayRef sizes);
// The reverse: the indices of the elements at these positions.
at::Tensor sparse_indices(const at::Tensor &keys, at::IntArrayRef sizes);
// A sparse tensor with these indices, [dimension, element], and values.
at::Tensor sparse_tensor(const at::Tensor &indices, const at::Tensor &values, at::IntArrayRef sizes, bool coalesced);
// Replaces the contents of `out` by those of a sparse tensor.
at::Tensor &sparse_assign(at::Tensor &out, const at::Tensor &result);
// The elements of a dense tensor, which broadcasts to the shape of `pattern`, at the indices of `pattern`.
at::Tensor sparse_gather(const at::Tensor &dense, const at::Tensor &pattern);
// The values of a coalesced tensor at the indices of `pattern`, which has the same shape; 0 where it has none.
at::Tensor sparse_lookup(const at::Tensor &sparse, const at::Tensor &pattern);
// float32 for 16-bit floating-point types, in which sums would lose precision; other types themselves.
at::ScalarType sparse_sum_type(at::ScalarType type);

} // namespace dml

#endif
