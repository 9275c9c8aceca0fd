// SPDX-License-Identifier: Apache-2.0
// 8-bit floats, which DirectML does not have: matrices of them are multiplied in float32. Operators that only move
// elements treat them as bytes (boxed.cpp); conversions are copies.
#include "glue.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using Optional = const std::optional<Tensor> &;

// A scale for the whole matrix, for each row of the first one, or for each column of the second one.
void check_scale(const Tensor &scale, const Tensor &matrix, int64_t axis, const char *name)
{
    bool each = scale.dim() == 2 && scale.size(axis) == matrix.size(axis) && scale.size(1 - axis) == 1;
    TORCH_CHECK(scale.scalar_type() == at::kFloat && (scale.numel() == 1 || each), "_scaled_mm: ", name,
                " must be of float32, with one element or one for each ", axis ? "column" : "row", " of ",
                matrix.sizes(), ", not ", scale.sizes(), " of ", scale.scalar_type());
}

Tensor scaled_mm(const Tensor &self, const Tensor &mat2, const Tensor &scale_a, const Tensor &scale_b, Optional bias,
                 Optional scale_result, std::optional<at::ScalarType> out_dtype, bool)
{
    TORCH_CHECK(self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(0),
                "_scaled_mm: mat1 and mat2 shapes cannot be multiplied (", self.sizes(), " and ", mat2.sizes(), ")");
    TORCH_CHECK(at::isFloat8Type(self.scalar_type()) && at::isFloat8Type(mat2.scalar_type()),
                "_scaled_mm: both matrices must be of 8-bit floats, not ", self.scalar_type(), " and ",
                mat2.scalar_type());
    check_scale(scale_a, self, 0, "scale_a");
    check_scale(scale_b, mat2, 1, "scale_b");
    const at::ScalarType type = out_dtype.value_or(self.scalar_type());
    Tensor y =
        at::mm(self.to(at::kFloat), mat2.to(at::kFloat)) * scale_a.reshape({ -1, 1 }) * scale_b.reshape({ 1, -1 });
    if (bias && bias->defined())
        y = y + bias->to(at::kFloat);
    if (at::isFloat8Type(type) && scale_result && scale_result->defined())
        y = y / *scale_result;
    return y.to(type);
}

Tensor &scaled_mm_out(const Tensor &self, const Tensor &mat2, const Tensor &scale_a, const Tensor &scale_b,
                      Optional bias, Optional scale_result, std::optional<at::ScalarType> out_dtype, bool fast,
                      Tensor &out)
{
    Tensor y = scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype.value_or(out.scalar_type()), fast);
    at::native::resize_output(out, y.sizes());
    return out.copy_(y);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_scaled_mm", scaled_mm);
    m.impl("_scaled_mm.out", scaled_mm_out);
}

} // namespace
} // namespace dml
