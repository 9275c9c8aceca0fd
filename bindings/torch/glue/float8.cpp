// SPDX-License-Identifier: Apache-2.0
// 8-bit floats, which DirectML does not have: matrices of them are multiplied in float32. Operators that only move
// elements treat them as bytes (boxed.cpp); conversions are copies.
#include "glue.h"

#include <ATen/core/IListRef.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_scaled_mm_v2_ops.h>
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

// ---- scales whose arrangement is named ----

// The type of a list of tensors, which depends on the version of torch.
using List = c10::guts::typelist::element_t<
    2, c10::guts::infer_function_traits_t<at::_ops::_scaled_mm_v2::schema>::parameter_types>;

// A recipe of torch.nn.functional.ScalingType: 0, one scale for the whole matrix, or 1, one for each row of the first
// matrix or each column (axis 1) of the second one.
Tensor named_scale(const at::ITensorListRef &scales, at::IntArrayRef recipe, at::IntArrayRef swizzle,
                   const Tensor &matrix, int64_t axis, const char *name)
{
    TORCH_CHECK(scales.size() == 1 && recipe.size() == 1, "_scaled_mm_v2: ", name,
                " must be one tensor with one recipe, not ", scales.size(), " with ", recipe.size());
    TORCH_CHECK_NOT_IMPLEMENTED(recipe[0] == 0 || recipe[0] == 1, "_scaled_mm_v2: ", name,
                                ": dml supports the recipes TensorWise (0) and RowWise (1), not ", recipe[0]);
    TORCH_CHECK_NOT_IMPLEMENTED(swizzle.empty() || (swizzle.size() == 1 && !swizzle[0]), "_scaled_mm_v2: ", name,
                                ": dml does not support swizzled scales, use SwizzleType.NO_SWIZZLE");
    const Tensor &scale = scales.front();
    int64_t count = recipe[0] ? matrix.size(axis) : 1;
    TORCH_CHECK(scale.numel() == count, "_scaled_mm_v2: ", name, " must have ", count,
                " elements for this recipe, not the sizes ", scale.sizes());
    return axis ? scale.reshape({ 1, count }) : scale.reshape({ count, 1 });
}

Tensor scaled_mm_v2(const Tensor &self, const Tensor &mat2, List scale_a, at::IntArrayRef recipe_a,
                    at::IntArrayRef swizzle_a, List scale_b, at::IntArrayRef recipe_b, at::IntArrayRef swizzle_b,
                    Optional bias, std::optional<at::ScalarType> out_dtype, at::IntArrayRef contraction, bool fast)
{
    TORCH_CHECK(self.dim() == 2 && mat2.dim() == 2, "_scaled_mm_v2: both matrices must have two dimensions, not ",
                self.dim(), " and ", mat2.dim());
    TORCH_CHECK(contraction.empty() || (contraction.size() == 2 && (contraction[0] == 1 || contraction[0] == -1) &&
                                        (contraction[1] == 0 || contraction[1] == -2)),
                "_scaled_mm_v2: contraction_dim must be (1, 0), not ", contraction);
    return scaled_mm(self, mat2, named_scale(scale_a, recipe_a, swizzle_a, self, 0, "scale_a"),
                     named_scale(scale_b, recipe_b, swizzle_b, mat2, 1, "scale_b"), bias, {}, out_dtype, fast);
}

Tensor &scaled_mm_v2_out(const Tensor &self, const Tensor &mat2, List scale_a, at::IntArrayRef recipe_a,
                         at::IntArrayRef swizzle_a, List scale_b, at::IntArrayRef recipe_b, at::IntArrayRef swizzle_b,
                         Optional bias, std::optional<at::ScalarType> out_dtype, at::IntArrayRef contraction, bool fast,
                         Tensor &out)
{
    Tensor y = scaled_mm_v2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias,
                            out_dtype.value_or(out.scalar_type()), contraction, fast);
    at::native::resize_output(out, y.sizes());
    return out.copy_(y);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_scaled_mm_v2", scaled_mm_v2);
    m.impl("_scaled_mm_v2.out", scaled_mm_v2_out);
    m.impl("_scaled_mm", scaled_mm);
    m.impl("_scaled_mm.out", scaled_mm_out);
}

} // namespace
} // namespace dml
