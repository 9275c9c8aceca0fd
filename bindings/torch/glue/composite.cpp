// SPDX-License-Identifier: Apache-2.0
// Operators as compositions of others: operators whose result sizes depend on values (a number is read back between two
// plans), and recurrences whose number of steps a tensor determines.
#include "glue.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/broadcast_tensors.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/norm_except_dim.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/special_i0.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor_split_native.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

bool equal(const Tensor &self, const Tensor &other)
{
    return self.sizes() == other.sizes() && self.scalar_type() == other.scalar_type() &&
           (!self.numel() || self.eq(other).all().item<bool>());
}

// ---- positions of nonzero elements ----

// Positions of the set elements of a one-dimensional mask.
Tensor places(const Tensor &mask)
{
    int64_t size = mask.numel();
    if (!size)
        return at::empty({ 0 }, mask.options().dtype(at::kLong));
    Tensor count = mask.to(at::kLong).cumsum(0);
    int64_t found = count[size - 1].item<int64_t>();
    // Elements where the mask is not set are written past the end.
    Tensor to = at::where(mask, count - 1, at::scalar_tensor(found, count.options()));
    Tensor from = at::arange(size, mask.options().dtype(at::kLong));
    return at::empty({ found + 1 }, from.options()).scatter_(0, to, from).narrow(0, 0, found);
}

// One row of indices per nonzero element.
Tensor nonzero(const Tensor &self)
{
    Tensor at = places(self.ne(0).reshape({ -1 }));
    if (self.dim() == 1)
        return at.unsqueeze(0).t();
    std::vector<Tensor> columns(static_cast<size_t>(self.dim()));
    for (int64_t d = self.dim(); d-- > 0;) {
        columns[static_cast<size_t>(d)] = at.remainder(self.size(d));
        at = at.floor_divide(self.size(d));
    }
    // As on the CPU, each column is contiguous.
    return columns.empty() ? at::empty({ at.numel(), 0 }, at.options()) : at::stack(columns, 0).t();
}

Tensor &nonzero_out(const Tensor &self, Tensor &out)
{
    Tensor found = at::nonzero(self);
    at::native::resize_output(out, found.sizes());
    return out.copy_(found);
}

Tensor nonzero_static(const Tensor &self, int64_t size, int64_t fill)
{
    TORCH_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
    Tensor found = at::nonzero(self);
    Tensor out = at::full({ size, self.dim() }, fill, found.options());
    int64_t count = std::min(size, found.size(0));
    out.narrow(0, 0, count).copy_(found.narrow(0, 0, count));
    return out;
}

Tensor masked_select(const Tensor &self, const Tensor &mask)
{
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
    auto both = at::broadcast_tensors({ self, mask });
    return both[0].reshape({ -1 }).index_select(0, places(both[1].reshape({ -1 })));
}

Tensor &masked_select_out(const Tensor &self, const Tensor &mask, Tensor &out)
{
    at::assert_no_internal_overlap(out);
    at::assert_no_overlap(out, self);
    at::assert_no_overlap(out, mask);
    Tensor found = at::masked_select(self, mask);
    at::native::resize_output(out, found.sizes());
    return out.copy_(found);
}

// ---- orthogonal polynomials ----

// p(k + 1) = (a x + b) p(k) - c p(k - 1), p(0) = 1
struct Step {
    double a, b, c;
};

constexpr int64_t kDegreeMax = 1024; // bound of the loop in recurrence()

Tensor recurrence(const Tensor &self, const Tensor &degree, const Tensor &first, Step (*step)(int64_t))
{
    auto both = at::broadcast_tensors({ self, degree });
    Tensor x = both[0], n = both[1].trunc(), before = at::ones_like(x), here = first.expand_as(x);
    int64_t most = n.numel() ? static_cast<int64_t>(n.nan_to_num(0, 0, 0).max().item<double>()) : 0;
    TORCH_CHECK_NOT_IMPLEMENTED(most <= kDegreeMax, "polynomials of a degree above ", kDegreeMax,
                                " are not implemented on dml, got ", most);
    Tensor y = at::where(n.eq(0), before, at::zeros_like(x));
    for (int64_t k = 1; k <= most; k++) {
        y = at::where(n.eq(k), here, y);
        Step s = step(k);
        Tensor next = (x * s.a + s.b) * here - before * s.c;
        before = here;
        here = next;
    }
    return y;
}

Step chebyshev(int64_t)
{
    return { 2, 0, 1 };
}

Step shifted_chebyshev(int64_t)
{
    return { 4, -2, 1 };
}

Step hermite(int64_t k)
{
    return { 2, 0, 2.0 * static_cast<double>(k) };
}

Step hermite_e(int64_t k)
{
    return { 1, 0, static_cast<double>(k) };
}

Step laguerre(int64_t k)
{
    auto n = static_cast<double>(k);
    return { -1 / (n + 1), (2 * n + 1) / (n + 1), n / (n + 1) };
}

Step legendre(int64_t k)
{
    auto n = static_cast<double>(k);
    return { (2 * n + 1) / (n + 1), 0, n / (n + 1) };
}

// The polynomial of degree 1 is A x + B. Either argument may be a number, which torch passes as a tensor of the CPU.
template <int A, int B, Step (*step)(int64_t)> Tensor polynomial(const Tensor &self, const Tensor &degree)
{
    at::ScalarType type = at::result_type(self, degree);
    type = at::isIntegralType(type, true) ? c10::get_default_dtype_as_scalartype() : type;
    c10::Device where = self.is_privateuseone() ? self.device() : degree.device();
    Tensor x = self.to(where, type);
    return recurrence(x, degree.to(where, type), x * A + B, step);
}

// ---- windows ----

// The other windows are composed by torch. i0(beta sqrt(1 - x^2)) / i0(beta) with x from -1 to 1.
Tensor kaiser_window(int64_t length, bool periodic, double beta, std::optional<at::ScalarType> type,
                     std::optional<at::Layout> layout, std::optional<at::Device> device, std::optional<bool> pinned)
{
    TORCH_CHECK(length >= 0, "kaiser_window requires non-negative window_length, got window_length=", length);
    auto options = at::TensorOptions().dtype(type).layout(layout).device(device).pinned_memory(pinned);
    c10::ScalarType result = type.value_or(c10::get_default_dtype_as_scalartype());
    TORCH_CHECK(at::isFloatingType(result), "kaiser_window expects floating point dtypes, got: ", options);
    if (length <= 1)
        return at::ones({ length }, options);
    c10::ScalarType wide = result == at::kDouble ? at::kDouble : at::kFloat;
    Tensor x = at::linspace(-1, 1, periodic ? length + 1 : length, options.dtype(wide)).narrow(0, 0, length);
    Tensor y = at::special_i0((1 - x * x).clamp_min(0).sqrt() * beta) /
               at::special_i0(at::full({}, beta, options.dtype(wide)));
    return y.to(result);
}

Tensor kaiser_window_of_12(int64_t length, bool periodic, std::optional<at::ScalarType> type,
                           std::optional<at::Layout> layout, std::optional<at::Device> device,
                           std::optional<bool> pinned)
{
    return kaiser_window(length, periodic, 12, type, layout, device, pinned);
}

Tensor kaiser_window_periodic(int64_t length, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                              std::optional<at::Device> device, std::optional<bool> pinned)
{
    return kaiser_window(length, true, 12, type, layout, device, pinned);
}

// ---- histograms ----

Tensor counted(const Tensor &self, const Tensor &bins, const std::optional<Tensor> &weight, bool density)
{
    int64_t count = bins.numel() - 1;
    Tensor x = self.reshape({ -1 }), last = bins[count];
    Tensor at = at::where(x.eq(last), at::scalar_tensor(count - 1, x.options().dtype(at::kLong)),
                          at::bucketize(x, bins, false, true) - 1);
    Tensor inside = x.ge(bins[0]).logical_and(x.le(last));
    Tensor each = weight && weight->defined() ? weight->reshape({ -1 }) : at::ones_like(x);
    each = at::where(inside, each, at::zeros_like(each));
    Tensor y = at::zeros({ count }, self.options()).scatter_add(0, at.clamp(0, count - 1), each);
    return density ? y / (bins.slice(0, 1) - bins.slice(0, 0, count)) / y.sum() : y;
}

std::tuple<Tensor, Tensor> histogram(const Tensor &self, const Tensor &bins, const std::optional<Tensor> &weight,
                                     bool density)
{
    return { counted(self, bins, weight, density), bins.clone() };
}

std::tuple<Tensor, Tensor> histogram_count(const Tensor &self, int64_t bins, std::optional<at::ArrayRef<double>> range,
                                           const std::optional<Tensor> &weight, bool density)
{
    double low = 0, high = 1;
    if (range) {
        low = (*range)[0];
        high = (*range)[1];
    } else if (self.numel()) {
        low = self.min().item<double>();
        high = self.max().item<double>();
    }
    TORCH_CHECK(low <= high, "torch.histogram: max must be larger than min");
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    Tensor edges = at::linspace(low, high, bins + 1, self.options());
    return { counted(self, edges, weight, density), edges };
}

// For tensors with gaps, the CPU's implementation writes as if there were none.
Tensor &narrow_copy_out(const Tensor &self, int64_t dim, c10::SymInt start, c10::SymInt length, Tensor &out)
{
    Tensor part = self.narrow_symint(dim, std::move(start), std::move(length));
    at::native::resize_output(out, part.sizes());
    return out.copy_(part);
}

// ---- weight normalisation: direction and magnitude ----

// Sums over all dimensions except for `dim`, the first or the last.
Tensor sum_except(const Tensor &x, int64_t dim)
{
    std::vector<int64_t> others;
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != dim)
            others.push_back(d);
    return others.empty() ? x : x.sum(others, true);
}

std::tuple<Tensor, Tensor> weight_norm(const Tensor &v, const Tensor &g, int64_t dim)
{
    Tensor norm = at::norm_except_dim(v, 2, dim);
    return { v * (g / norm), norm };
}

std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor &dw, const Tensor &v, const Tensor &g, const Tensor &norm,
                                                int64_t dim)
{
    Tensor along = sum_except(dw * v, dim) / norm; // the component of the gradient along v
    return { (dw - v * (along / norm)) * (g / norm), along };
}

// ---- embedding with a maximum norm ----

// Rows at these indices whose norm is larger are scaled to it.
Tensor &embedding_renorm(Tensor &self, const Tensor &indices, double most, double order)
{
    TORCH_CHECK(self.dim() == 2, "embedding_renorm_: self must have 2 dimensions, not ", self.dim());
    TORCH_CHECK(at::isIntegralType(indices.scalar_type(), false), "embedding_renorm_: indices must be integers, not ",
                indices.scalar_type());
    Tensor where = indices.reshape({ -1 }).to(at::kLong), rows = self.index_select(0, where);
    rows = rows.to(self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    Tensor norm = at::linalg_vector_norm(rows, order, at::IntArrayRef{ 1 }, true);
    rows = at::where(norm.gt(most), rows * (most / (norm + 1e-7)), rows);
    return self.index_copy_(0, where, rows.to(self.scalar_type())); // equal indices: equal rows
}

// ---- Python's << and >> ----

// Besides bitwise_left_shift and bitwise_right_shift, torch has older operators for these.
template <typename Number> void add_shifts(torch::Library &m, const std::string &overload)
{
    m.impl(("__lshift__." + overload).c_str(),
           [](const Tensor &self, const Number &by) { return at::bitwise_left_shift(self, by); });
    m.impl(("__rshift__." + overload).c_str(),
           [](const Tensor &self, const Number &by) { return at::bitwise_right_shift(self, by); });
    m.impl(("__ilshift__." + overload).c_str(),
           [](Tensor &self, const Number &by) -> Tensor & { return self.bitwise_left_shift_(by); });
    m.impl(("__irshift__." + overload).c_str(),
           [](Tensor &self, const Number &by) -> Tensor & { return self.bitwise_right_shift_(by); });
}

// ---- splits at positions given by a tensor ----

std::vector<Tensor> tensor_split(const Tensor &self, const Tensor &where, int64_t dim)
{
    return at::native::tensor_split(self, where.cpu(), dim);
}

// ---- assertions ----

void assert_nonzero(const Tensor &self, std::string_view message)
{
    TORCH_CHECK(self.is_nonzero(), message);
}

void assert_nonzero_plain(const Tensor &self)
{
    assert_nonzero(self, "Expected Tensor with single nonzero value, but got zero");
}

Tensor assert_nonzero_functional(const Tensor &self, std::string_view message, const Tensor &token)
{
    assert_nonzero(self, message);
    return token.clone();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_assert_async", assert_nonzero_plain);
    m.impl("_assert_async.msg", assert_nonzero);
    m.impl("_functional_assert_async.msg", assert_nonzero_functional);
    m.impl("equal", equal);
    m.impl("nonzero", nonzero);
    m.impl("nonzero.out", nonzero_out);
    m.impl("nonzero_static", nonzero_static);
    m.impl("narrow_copy.out", narrow_copy_out);
    m.impl("masked_select", masked_select);
    m.impl("masked_select.out", masked_select_out);
    m.impl("histogram.bins_tensor", histogram);
    m.impl("histogram.bin_ct", histogram_count);
    m.impl("kaiser_window", kaiser_window_periodic);
    m.impl("kaiser_window.periodic", kaiser_window_of_12);
    m.impl("kaiser_window.beta", kaiser_window);
    m.impl("special_chebyshev_polynomial_t", polynomial<1, 0, chebyshev>);
    m.impl("special_chebyshev_polynomial_u", polynomial<2, 0, chebyshev>);
    m.impl("special_chebyshev_polynomial_v", polynomial<2, -1, chebyshev>);
    m.impl("special_chebyshev_polynomial_w", polynomial<2, 1, chebyshev>);
    m.impl("special_shifted_chebyshev_polynomial_t", polynomial<2, -1, shifted_chebyshev>);
    m.impl("special_shifted_chebyshev_polynomial_u", polynomial<4, -2, shifted_chebyshev>);
    m.impl("special_shifted_chebyshev_polynomial_v", polynomial<4, -3, shifted_chebyshev>);
    m.impl("special_shifted_chebyshev_polynomial_w", polynomial<4, -1, shifted_chebyshev>);
    m.impl("special_hermite_polynomial_h", polynomial<2, 0, hermite>);
    m.impl("special_hermite_polynomial_he", polynomial<1, 0, hermite_e>);
    m.impl("special_laguerre_polynomial_l", polynomial<-1, 1, laguerre>);
    m.impl("special_legendre_polynomial_p", polynomial<1, 0, legendre>);
    add_shifts<Tensor>(m, "Tensor");
    add_shifts<at::Scalar>(m, "Scalar");
    m.impl("embedding_renorm_", embedding_renorm);
    m.impl("_weight_norm_interface", weight_norm);
    m.impl("_weight_norm_interface_backward", weight_norm_backward);
    m.impl("tensor_split.tensor_indices_or_sections", tensor_split);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    m.impl("tensor_split.tensor_indices_or_sections", tensor_split);
}

} // namespace
} // namespace dml
