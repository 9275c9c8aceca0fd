// SPDX-License-Identifier: Apache-2.0
// Operators on integers as compositions that read a number back: the number of values, or whether a loop has ended.
#include "glue.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/broadcast_tensors.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/gcd.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

Tensor bincount(const Tensor &self, const std::optional<Tensor> &weights, c10::SymInt minlength)
{
    int64_t least = minlength.expect_int();
    TORCH_CHECK(least >= 0, "minlength should be >= 0");
    TORCH_CHECK(self.dim() == 1 || !self.numel(), "bincount only supports 1-d non-negative integral inputs.");
    TORCH_CHECK(at::isIntegralType(self.scalar_type(), false),
                "bincount only supports 1-d non-negative integral inputs.");
    bool weighted = weights && weights->defined();
    TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
                "weights should be 1-d and have the same length as input");
    if (self.dim() != 1)
        return at::zeros({ least }, self.options().dtype(at::kLong));
    Tensor at = self.to(at::kLong), each = at::ones_like(at);
    if (weighted)
        each = weights->scalar_type() == at::kFloat ? *weights : weights->to(at::kDouble);
    if (!self.numel())
        return at::zeros({ least }, (weighted ? each : at).options());
    TORCH_CHECK(at.min().item<int64_t>() >= 0, "bincount only supports 1-d non-negative integral inputs.");
    int64_t count = std::max(least, at.max().item<int64_t>() + 1);
    return at::zeros({ count }, each.options()).scatter_add(0, at, each);
}

Tensor repeat_interleave(const Tensor &repeats, std::optional<c10::SymInt> output_size)
{
    TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
    TORCH_CHECK(repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
                "repeats has to be Long or Int tensor");
    if (!repeats.numel())
        return at::empty_like(repeats);
    TORCH_CHECK(repeats.min().item<int64_t>() >= 0, "repeats can not be negative");
    Tensor ends = repeats.cumsum(0);
    int64_t total = ends[repeats.numel() - 1].item<int64_t>();
    TORCH_CHECK(!output_size || output_size->expect_int() == total, "allocated size does not match required size");
    Tensor at = at::arange(total, ends.options());
    return at::searchsorted(ends, at, false, true).to(repeats.scalar_type());
}

// Euclid's algorithm on all elements until the last one has converged.
Tensor gcd(const Tensor &self, const Tensor &other)
{
    at::ScalarType type = at::result_type(self, other);
    TORCH_CHECK(at::isIntegralType(type, false), "\"gcd\" not implemented for '", type, "'");
    auto both = at::broadcast_tensors({ self.to(type), other.to(type) });
    Tensor a = both[0].abs(), b = both[1].abs();
    while (b.numel() && b.ne(0).any().item<bool>()) {
        Tensor none = b.eq(0), rest = at::fmod(a, b.masked_fill(none, 1));
        a = at::where(none, a, b);
        b = rest.masked_fill(none, 0);
    }
    return a.clone();
}

Tensor lcm(const Tensor &self, const Tensor &other)
{
    Tensor common = at::gcd(self, other);
    at::ScalarType type = common.scalar_type();
    Tensor whole = at::div(self.to(type), common.masked_fill(common.eq(0), 1), "trunc");
    return (whole * other.to(type)).abs();
}

using Function = Tensor (*)(const Tensor &, const Tensor &);

template <Function function> Tensor &to_out(const Tensor &self, const Tensor &other, Tensor &out)
{
    Tensor y = function(self, other);
    at::native::resize_output(out, y.sizes());
    return out.copy_(y);
}

template <Function function> Tensor &in_place(Tensor &self, const Tensor &other)
{
    return self.copy_(function(self, other));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("bincount", bincount);
    m.impl("repeat_interleave.Tensor", repeat_interleave);
    m.impl("gcd", gcd);
    m.impl("gcd.out", to_out<gcd>);
    m.impl("gcd_", in_place<gcd>);
    m.impl("lcm", lcm);
    m.impl("lcm.out", to_out<lcm>);
    m.impl("lcm_", in_place<lcm>);
}

} // namespace
} // namespace dml
