// SPDX-License-Identifier: Apache-2.0
// Sparse tensors of layout torch.sparse_coo, as far as modules need them for buffers: they can be created, copied,
// split into their indices and values, which are device tensors, and converted to dense tensors. No operator computes
// with them (absent.cpp).
#include "glue.h"

#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/sparse_resize_and_clear_native.h>
#include <ATen/ops/sparse_resize_native.h>
#include <ATen/ops/values_native.h>
#include <ATen/ops/zero_native.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

// Values at equal indices are added.
at::Tensor to_dense(const at::Tensor &self, std::optional<at::ScalarType> type, std::optional<bool>)
{
    const at::Tensor indices = self._indices(), values = self._values();
    std::vector<int64_t> sizes = { 1 };
    at::Tensor place = at::zeros({ self._nnz() }, indices.options());
    for (int64_t d = 0; d < self.sparse_dim(); d++) {
        sizes[0] *= self.size(d);
        place = place * self.size(d) + indices.select(0, d);
    }
    for (int64_t d = self.sparse_dim(); d < self.dim(); d++)
        sizes.push_back(self.size(d));
    at::Tensor dense = at::zeros(sizes, values.options());
    return dense.index_add_(0, place, values).view(self.sizes()).to(type.value_or(self.scalar_type()));
}

// torch registers these separately for each device that it knows.
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    m.impl("_sparse_coo_tensor_with_dims", at::native::new_with_dims_sparse);
    m.impl("_sparse_coo_tensor_with_dims_and_tensors", at::native::new_with_dims_and_tensor_sparse_symint);
    m.impl("empty.memory_format", at::native::empty_sparse_symint);
    m.impl("clone", at::native::clone_sparse);
    m.impl("copy_", at::native::copy_sparse_wrapper_);
    m.impl("copy_sparse_to_sparse_", at::native::copy_sparse_);
    m.impl("sparse_resize_", at::native::sparse_resize_);
    m.impl("sparse_resize_and_clear_", at::native::sparse_resize_and_clear_);
    m.impl("zero_", at::native::zero_sparse_);
    m.impl("_indices", at::native::_indices_sparse);
    m.impl("_values", at::native::_values_sparse);
    m.impl("indices", at::native::indices_sparse);
    m.impl("values", at::native::values_sparse);
    m.impl("_nnz", at::native::_nnz_sparse);
    m.impl("sparse_dim", at::native::sparse_dim_sparse);
    m.impl("dense_dim", at::native::dense_dim_sparse);
    m.impl("is_coalesced", at::native::is_coalesced_sparse);
    m.impl("_coalesced_", at::native::_coalesced_sparse_);
    m.impl("_to_dense", to_dense);
}

} // namespace
} // namespace dml
