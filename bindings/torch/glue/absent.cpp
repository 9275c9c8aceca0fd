// SPDX-License-Identifier: Apache-2.0
// Rejects the tensor layouts that the device does not support (sparse, nested, quantized, mkldnn): operators that would
// create such a tensor or compute with it throw an error that names an alternative.
#include "glue.h"

#include <cstdlib>

#include <torch/library.h>

namespace dml
{
namespace
{

enum Absent { COO, SPARSE, NESTED, QUANTIZED, MKLDNN };

[[noreturn]] void refuse(const c10::OperatorHandle &op, Absent kind)
{
    static const char *const texts[] = {
        "this operator of sparse tensors: make the tensor dense first (to_dense()), or compute on the CPU",
        "sparse tensors of other layouts than torch.sparse_coo: leave the tensor on the CPU, or make it dense first "
        "(to_dense())",
        "nested tensors of layout torch.strided: use layout=torch.jagged",
        "quantized tensors: quantize on the CPU, or dequantize() first",
        "tensors of layout torch._mkldnn: leave the tensor on the CPU",
    };
    TORCH_CHECK_NOT_IMPLEMENTED(false, op.operator_name(), ": dml does not support ", texts[kind]);
    std::abort(); // unreachable
}

template <Absent kKind> void refuse_all(const c10::OperatorHandle &op, torch::jit::Stack *)
{
    refuse(op, kKind);
}

template <Absent kKind> torch::CppFunction refusal()
{
    return torch::CppFunction::makeFromBoxedFunction<&refuse_all<kKind>>();
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) // except for the operators in sparse.cpp
{
    m.fallback(refusal<COO>());
}

TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m)
{
    m.fallback(refusal<SPARSE>());
}

// torch registers kernels of these operators for all devices; they take precedence over fallbacks.
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m)
{
    for (const char *name : { "_to_copy", "sparse_compressed_tensor.comp_plain_value_size",
                              "sparse_compressed_tensor.comp_plain_value", "_sparse_compressed_tensor_unsafe" })
        m.impl(name, refusal<SPARSE>());
}

TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m)
{
    m.fallback(refusal<NESTED>());
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m)
{
    m.fallback(refusal<QUANTIZED>());
}

// The same applies here; torch's kernels would create a tensor that no operator supports.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_nested_tensor_from_tensor_list", refusal<NESTED>());
    m.impl("_nested_view_from_buffer", refusal<NESTED>());
    m.impl("_nested_view_from_buffer_copy", refusal<NESTED>());
    // nn.TransformerEncoder asks whether it may convert a padded tensor to a nested one.
    m.impl("_nested_tensor_from_mask_left_aligned", [](const at::Tensor &, const at::Tensor &) { return false; });
}

} // namespace

void check_kind(const c10::OperatorHandle &op, const at::Tensor &made)
{
    if (!made.defined())
        return;
    if (made.is_nested())
        refuse(op, NESTED);
    if (made.layout() != at::kStrided)
        refuse(op, made.is_mkldnn() ? MKLDNN : SPARSE);
    if (made.is_quantized())
        refuse(op, QUANTIZED);
}

} // namespace dml
