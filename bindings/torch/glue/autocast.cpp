// SPDX-License-Identifier: Apache-2.0
// torch.autocast("dml"): selects the operators that run in the lower precision, in float32, or in the widest type of
// their arguments. The lists are torch's own and the same for all devices.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace
{

using namespace at; // the macros of autocast_mode.h require it

// This loss overflows in float16 regardless of the scale of its arguments.
at::Tensor refuse_binary_cross_entropy(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &,
                                       int64_t)
{
    TORCH_CHECK(false,
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
                "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
                "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
                "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
                "safe to autocast.");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m)
{
#define LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FLOAT32(...)         KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FLOAT32_RESULT(...)  KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define WIDEST(...)          KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_LOWER_PRECISION_FP(LOWER_PRECISION)
    AT_FORALL_FP32(FLOAT32)
    AT_FORALL_FP32_SET_OPT_DTYPE(FLOAT32_RESULT)
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
    AT_FORALL_PROMOTE(WIDEST)
    KERNEL_PRIVATEUSEONE(stack, promote)
    KERNEL_PRIVATEUSEONE(cat, promote)
    m.impl("binary_cross_entropy", refuse_binary_cross_entropy);
}

} // namespace
