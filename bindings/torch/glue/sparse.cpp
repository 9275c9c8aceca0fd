// SPDX-License-Identifier: Apache-2.0
// Sparse tensors of layout torch.sparse_coo: their storage, conversions, and the operators of single elements. Their
// indices and values are tensors of the device. Products are in sparse_product.cpp.
#include "sparse.h"

#include <ATen/NativeFunctions.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{

using at::Tensor;

at::ScalarType sparse_sum_type(at::ScalarType type)
{
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

Tensor sparse_keys(const Tensor &indices, at::IntArrayRef sizes)
{
    Tensor keys = at::zeros({ indices.size(1) }, indices.options());
    for (size_t d = 0; d < sizes.size(); d++)
        keys = d ? keys * sizes[d] + indices.select(0, static_cast<int64_t>(d)) : indices.select(0, 0);
    return keys;
}

Tensor sparse_indices(const Tensor &keys, at::IntArrayRef sizes)
{
    std::vector<Tensor> rows(sizes.size());
    Tensor rest = keys;
    for (size_t d = sizes.size(); d-- > 0;) {
        rows[d] = d ? rest.remainder(sizes[d]) : rest;
        rest = d ? rest.floor_divide(sizes[d]) : rest;
    }
    return rows.empty() ? at::zeros({ 0, keys.size(0) }, keys.options()) : at::stack(rows, 0);
}

Tensor sparse_tensor(const Tensor &indices, const Tensor &values, at::IntArrayRef sizes, bool coalesced)
{
    return at::_sparse_coo_tensor_unsafe(indices, values, sizes, values.options().layout(at::kSparse), coalesced);
}

Tensor &sparse_assign(Tensor &out, const Tensor &result)
{
    TORCH_CHECK(out.is_sparse(), "a sparse result requires a sparse out tensor, not one of layout ", out.layout());
    auto *impl = static_cast<at::SparseTensorImpl *>(out.unsafeGetTensorImpl());
    impl->resize_and_clear_(result.sparse_dim(), result.dense_dim(), result.sizes());
    impl->set_indices_and_values_unsafe(result._indices(), result._values().to(out.scalar_type()));
    impl->set_coalesced(result.is_coalesced());
    return out;
}

Tensor sparse_gather(const Tensor &dense, const Tensor &pattern)
{
    TORCH_CHECK(dense.dim() <= pattern.dim(), "a dense tensor of shape ", dense.sizes(),
                " does not broadcast to that of a sparse one, ", pattern.sizes());
    Tensor all = dense;
    while (all.dim() < pattern.dim())
        all = all.unsqueeze(0);
    const Tensor indices = pattern._indices();
    c10::List<std::optional<Tensor>> places;
    for (int64_t d = 0; d < pattern.dim(); d++) {
        TORCH_CHECK(all.size(d) == pattern.size(d) || all.size(d) == 1, "a dense tensor of shape ", dense.sizes(),
                    " does not broadcast to that of a sparse one, ", pattern.sizes());
        if (d < pattern.sparse_dim())
            places.push_back(all.size(d) == 1 ? at::zeros_like(indices.select(0, d)) : indices.select(0, d));
    }
    return all.index(places);
}

Tensor sparse_lookup(const Tensor &sparse, const Tensor &pattern)
{
    TORCH_CHECK(sparse.sizes() == pattern.sizes() && sparse.sparse_dim() == pattern.sparse_dim(),
                "sparse tensors must have equal shapes and numbers of sparse dimensions, not ", sparse.sizes(),
                " with ", sparse.sparse_dim(), " and ", pattern.sizes(), " with ", pattern.sparse_dim());
    const Tensor values = sparse._values();
    if (!sparse._nnz()) {
        auto sizes = values.sizes().vec();
        sizes[0] = pattern._nnz();
        return at::zeros(sizes, values.options());
    }
    at::IntArrayRef sizes = sparse.sizes().slice(0, static_cast<size_t>(sparse.sparse_dim()));
    Tensor keys = sparse_keys(sparse._indices(), sizes), wanted = sparse_keys(pattern._indices(), sizes);
    Tensor at = at::searchsorted(keys, wanted).clamp_max(keys.size(0) - 1);
    Tensor found = keys.index_select(0, at).eq(wanted);
    Tensor rows = values.index_select(0, at);
    while (found.dim() < rows.dim())
        found = found.unsqueeze(-1);
    return at::where(found, rows, at::zeros_like(rows));
}

namespace
{

at::IntArrayRef sparse_sizes(const Tensor &self)
{
    return self.sizes().slice(0, static_cast<size_t>(self.sparse_dim()));
}

// ---- conversions ----

// Values at equal indices are added.
Tensor to_dense(const Tensor &self, std::optional<at::ScalarType> type, std::optional<bool>)
{
    std::vector<int64_t> sizes = { 1 };
    for (int64_t d = 0; d < self.sparse_dim(); d++)
        sizes[0] *= self.size(d);
    for (int64_t d = self.sparse_dim(); d < self.dim(); d++)
        sizes.push_back(self.size(d));
    const Tensor values = self._values();
    Tensor dense = at::zeros(sizes, values.options());
    dense.index_add_(0, sparse_keys(self._indices(), sparse_sizes(self)), values);
    return dense.view(self.sizes()).to(type.value_or(self.scalar_type()));
}

Tensor coalesce(const Tensor &self)
{
    if (self.is_coalesced())
        return self;
    auto [found, place, counts] = at::_unique2(sparse_keys(self._indices(), sparse_sizes(self)), true, true);
    const Tensor values = self._values();
    auto sizes = values.sizes().vec();
    sizes[0] = found.size(0);
    Tensor sums = at::zeros(sizes, values.options().dtype(sparse_sum_type(values.scalar_type())));
    sums = sums.index_add(0, place, values.to(sums.scalar_type())).to(values.scalar_type());
    return sparse_tensor(sparse_indices(found, sparse_sizes(self)), sums, self.sizes(), true);
}

// Only to this layout of the sparse ones.
Tensor from_dense(const Tensor &self, std::optional<at::Layout> layout, at::OptionalIntArrayRef block,
                  std::optional<int64_t> dense_dim)
{
    TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kSparse) == at::kSparse && !block,
                                "aten::_to_sparse: dml does not support sparse tensors of other layouts than "
                                "torch.sparse_coo: leave the tensor on the CPU");
    int64_t dims = self.dim() - dense_dim.value_or(0);
    return at::native::dense_to_sparse(self, dims);
}

// The elements of `self` at whose indices `other`, which is coalesced as well, has an element: their positions.
Tensor common(const Tensor &self, const Tensor &other)
{
    Tensor one = at::ones({ other._nnz() }, other._indices().options());
    Tensor there = sparse_tensor(other._indices(), one, sparse_sizes(other), true);
    Tensor pattern = sparse_tensor(self._indices(), self._indices().select(0, 0), sparse_sizes(self), true);
    return sparse_lookup(there, pattern).nonzero().squeeze(1);
}

Tensor elements(const Tensor &self, const Tensor &values, const Tensor &which)
{
    return sparse_tensor(self._indices().index_select(1, which), values.index_select(0, which), self.sizes(), true);
}

// Without the elements that the mask does not have.
Tensor mask_projection(const Tensor &self, const Tensor &mask, bool)
{
    Tensor x = self.coalesce();
    return elements(x, x._values(), common(x, mask.coalesce()));
}

Tensor sparse_mask(const Tensor &self, const Tensor &mask)
{
    TORCH_CHECK(self.sizes() == mask.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
                self.sizes(), " but mask has size ", mask.sizes());
    Tensor values = self.is_sparse() ? sparse_lookup(self.coalesce(), mask) : sparse_gather(self, mask);
    return sparse_tensor(mask._indices(), values, mask.sizes(), mask.is_coalesced());
}

// ---- elementwise operators ----

Tensor sum_of_sparse(const Tensor &self, const Tensor &other, const at::Scalar &alpha, at::ScalarType type)
{
    TORCH_CHECK(self.sizes() == other.sizes(), "add: expected sizes of 'self' and 'other' to match, but ", self.sizes(),
                " != ", other.sizes());
    TORCH_CHECK(self.sparse_dim() == other.sparse_dim(), "add: sparse dimensions differ: ", self.sparse_dim(), " and ",
                other.sparse_dim());
    Tensor indices = at::cat({ self._indices(), other._indices() }, 1);
    Tensor values = at::cat({ self._values().to(type), other._values().to(type) * alpha });
    Tensor sum = sparse_tensor(indices, values, self.sizes(), false);
    return self.is_coalesced() && other.is_coalesced() ? sum.coalesce() : sum;
}

// Adds to the rows that the sparse tensor has; the others are not visited.
void add_to_dense(Tensor &out, const Tensor &other, const at::Scalar &alpha)
{
    Tensor values = other._values().to(out.scalar_type());
    if (other.sparse_dim() == 1) {
        out.index_add_(0, other._indices().select(0, 0), values, alpha);
        return;
    }
    c10::List<std::optional<Tensor>> places;
    for (int64_t d = 0; d < other.sparse_dim(); d++)
        places.push_back(other._indices().select(0, d));
    out.index_put_(places, values * alpha, true);
}

Tensor &add_out(const Tensor &self, const Tensor &other, const at::Scalar &alpha, Tensor &out)
{
    TORCH_CHECK(other.is_sparse(), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
    if (self.is_sparse())
        return sparse_assign(out, sum_of_sparse(self, other, alpha, out.scalar_type()));
    TORCH_CHECK(self.sizes() == other.sizes(), "add: expected 'self' and 'other' to have same size, but self has size ",
                self.sizes(), " while other has size ", other.sizes());
    if (!out.is_same(self)) {
        at::native::resize_output(out, self.sizes());
        out.copy_(self);
    }
    add_to_dense(out, other, alpha);
    return out;
}

Tensor product(const Tensor &self, const Tensor &other)
{
    const Tensor &sparse = self.is_sparse() ? self : other, &factor = self.is_sparse() ? other : self;
    if (!factor.is_sparse()) { // also a number
        Tensor values = sparse._values() * (factor.dim() ? sparse_gather(factor, sparse) : factor);
        return sparse_tensor(sparse._indices(), values, sparse.sizes(), sparse.is_coalesced());
    }
    // Only the elements that both have, of the tensor with fewer elements.
    Tensor few = (self._nnz() <= other._nnz() ? self : other).coalesce();
    Tensor many = (self._nnz() <= other._nnz() ? other : self).coalesce();
    TORCH_CHECK(few.sizes() == many.sizes(), "mul: expected 'self' and 'other' to have same sizes, but ", self.sizes(),
                " != ", other.sizes());
    return elements(few, few._values() * sparse_lookup(many, few), common(few, many));
}

Tensor &mul_out(const Tensor &self, const Tensor &other, Tensor &out)
{
    return sparse_assign(out, product(self, other));
}

Tensor vector_norm(const Tensor &self, const at::Scalar &order, at::OptionalIntArrayRef dims, bool keep,
                   std::optional<at::ScalarType> type)
{
    TORCH_CHECK(!dims && !keep, "linalg.vector_norm: dim and keepdim are not supported for sparse tensors");
    return at::linalg_vector_norm(self.coalesce()._values(), order, std::nullopt, false, type);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_to_sparse", from_dense);
    m.impl("_to_sparse.sparse_dim",
           [](const Tensor &self, int64_t dims) { return at::native::dense_to_sparse(self, dims); });
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    m.impl("_to_dense", to_dense);
    m.impl("_coalesce", coalesce);
    m.impl("sparse_mask", sparse_mask);
    m.impl("_sparse_mask_projection", mask_projection);
    m.impl("add.out", add_out);
    m.impl("mul.out", mul_out);
    m.impl("linalg_vector_norm", vector_norm);
}

// torch registers these, which are compositions themselves, separately for each device that it knows: storage,
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    m.impl("_sparse_coo_tensor_with_dims", at::native::new_with_dims_sparse);
    m.impl("_sparse_coo_tensor_with_dims_and_tensors", at::native::new_with_dims_and_tensor_sparse_symint);
    m.impl("empty.memory_format", at::native::empty_sparse_symint);
    m.impl("empty_like", at::native::empty_like_sparse_coo);
    m.impl("clone", at::native::clone_sparse);
    m.impl("copy_", at::native::copy_sparse_wrapper_);
    m.impl("copy_sparse_to_sparse_", at::native::copy_sparse_);
    m.impl("resize_as_sparse_", at::native::resize_as_sparse_);
    m.impl("sparse_resize_", at::native::sparse_resize_);
    m.impl("sparse_resize_and_clear_", at::native::sparse_resize_and_clear_);
    m.impl("zero_", at::native::zero_sparse_);
    m.impl("zeros.out", at::native::zeros_sparse_out);
    m.impl("_indices", at::native::_indices_sparse);
    m.impl("_values", at::native::_values_sparse);
    m.impl("indices", at::native::indices_sparse);
    m.impl("values", at::native::values_sparse);
    m.impl("_nnz", at::native::_nnz_sparse);
    m.impl("sparse_dim", at::native::sparse_dim_sparse);
    m.impl("dense_dim", at::native::dense_dim_sparse);
    m.impl("is_coalesced", at::native::is_coalesced_sparse);
    m.impl("_coalesced_", at::native::_coalesced_sparse_);
    m.impl("_to_sparse",
           TORCH_FN(static_cast<Tensor (*)(const Tensor &, std::optional<at::Layout>, at::OptionalIntArrayRef,
                                           std::optional<int64_t>)>(at::native::sparse_coo_to_sparse)));
    m.impl("_to_sparse.sparse_dim",
           TORCH_FN(static_cast<Tensor (*)(const Tensor &, int64_t)>(at::native::sparse_coo_to_sparse)));
    m.impl("cat", at::native::cat_sparse);
    m.impl("permute", at::native::permute_sparse_coo);
    m.impl("unsqueeze", at::native::unsqueeze_sparse);
    m.impl("narrow_copy", at::native::narrow_copy_sparse);
    m.impl("_sparse_broadcast_to", at::native::sparse_broadcast_to);
    m.impl("view_as_real", at::native::view_as_real_sparse);
    m.impl("view_as_complex", at::native::view_as_complex_sparse);
}

// arithmetic and reductions,
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    m.impl("add.Tensor", at::native::add_sparse);
    m.impl("add_.Tensor", at::native::add_sparse_);
    m.impl("sub.Tensor", at::native::sub_sparse);
    m.impl("sub_.Tensor", at::native::sub_sparse_);
    m.impl("sub.out", at::native::sub_out_sparse);
    m.impl("mul.Tensor", at::native::mul_sparse);
    m.impl("mul_.Tensor", at::native::mul_sparse_);
    m.impl("div.Tensor", TORCH_FN(static_cast<Tensor (*)(const Tensor &, const Tensor &)>(at::native::div_sparse)));
    m.impl("div_.Tensor", TORCH_FN(static_cast<Tensor &(*)(Tensor &, const Tensor &)>(at::native::div_sparse_)));
    m.impl("div.out", TORCH_FN(static_cast<Tensor &(*)(const Tensor &, const Tensor &, Tensor &)>(
                          at::native::div_out_sparse_zerodim)));
    m.impl("pow.Tensor_Scalar", at::native::pow_sparse_scalar);
    m.impl("pow.Tensor_Scalar_out", at::native::pow_out_sparse_scalar);
    m.impl("sum", at::native::sum_coo);
    m.impl("sum.dim_IntList", at::native::sum_sparse_coo);
    m.impl("any", at::native::any_sparse);
    m.impl("norm.ScalarOpt_dim", at::native::sparse_norm);
    m.impl("norm.ScalarOpt_dim_dtype", at::native::sparse_dtype_norm);
    m.impl("native_norm",
           TORCH_FN(static_cast<Tensor (*)(const Tensor &, const at::Scalar &)>(at::native::norm_sparse)));
    m.impl("native_norm.ScalarOpt_dim_dtype",
           TORCH_FN(static_cast<Tensor (*)(const Tensor &, const std::optional<at::Scalar> &, at::IntArrayRef, bool,
                                           std::optional<at::ScalarType>)>(at::native::norm_sparse)));
}

// and functions with f(0) = 0, which apply to the values.
#define FUNCTION(name)                                                                                                 \
    m.impl(#name, at::native::name##_sparse);                                                                          \
    m.impl(#name "_", at::native::name##_sparse_);                                                                     \
    m.impl(#name ".out", at::native::name##_sparse_out)

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    FUNCTION(abs);
    FUNCTION(asin);
    FUNCTION(asinh);
    FUNCTION(atan);
    FUNCTION(atanh);
    FUNCTION(ceil);
    FUNCTION(deg2rad);
    FUNCTION(erf);
    FUNCTION(erfinv);
    FUNCTION(expm1);
    FUNCTION(floor);
    FUNCTION(frac);
    FUNCTION(log1p);
    FUNCTION(nan_to_num);
    FUNCTION(rad2deg);
    FUNCTION(round);
    FUNCTION(sgn);
    FUNCTION(sign);
    FUNCTION(sin);
    FUNCTION(sinh);
    FUNCTION(sqrt);
    FUNCTION(tan);
    FUNCTION(tanh);
    FUNCTION(trunc);
    m.impl("neg", at::native::neg_sparse);
    m.impl("neg_", at::native::neg_sparse_);
    m.impl("neg.out", at::native::neg_out_sparse);
    m.impl("relu", at::native::relu_sparse);
    m.impl("relu_", at::native::relu_sparse_);
    m.impl("threshold_backward", at::native::threshold_backward_sparse);
    m.impl("conj_physical.out", at::native::conj_physical_out_sparse);
    m.impl("isnan", at::native::isnan_sparse);
    m.impl("isinf", at::native::isinf_sparse);
    m.impl("signbit", at::native::signbit_sparse);
}

} // namespace
} // namespace dml

// Checks of the invariants, as torch.load makes them, call this. torch does not install the header that declares it.
namespace at::native
{

using flatten_indices_fn = Tensor (*)(const Tensor &, IntArrayRef);
DECLARE_DISPATCH(flatten_indices_fn, flatten_indices_stub)
REGISTER_PRIVATEUSE1_DISPATCH(flatten_indices_stub, &dml::sparse_keys)

} // namespace at::native
