// SPDX-License-Identifier: Apache-2.0
// Computes the layout of results with torch's meta device, and by rules where that has no kernel.
#include "meta.h"

#include <algorithm>

#include <ATen/record_function.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

namespace dml
{
namespace
{

at::Tensor meta_twin(const at::Tensor &tensor)
{
    if (!tensor.defined() || (tensor.is_cpu() && !tensor.dim()))
        return tensor;
    at::Tensor twin = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        twin.unsafeGetTensorImpl()->set_wrapped_number(true);
    return twin;
}

c10::IValue meta_argument(const c10::IValue &value)
{
    if (value.isTensor())
        return meta_twin(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &t : value.toTensorVector())
            list.push_back(meta_twin(t));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor> &t : value.toOptionalTensorVector())
            list.push_back(t ? std::optional<at::Tensor>(meta_twin(*t)) : std::nullopt);
        return list;
    }
    if (value.isDevice())
        return c10::Device(at::kMeta);
    if (value.isGenerator())
        return c10::IValue();
    return value;
}

// Handles operators without a meta kernel whose result has the layout of an argument.
bool infer_like(const c10::OperatorHandle &op, torch::jit::Stack *out)
{
    static const std::map<std::string, size_t> like = { { "aten::_logcumsumexp", 0 },
                                                        { "aten::_sample_dirichlet", 0 },
                                                        { "aten::_standard_gamma", 0 },
                                                        { "aten::fractional_max_pool3d_backward", 1 },
                                                        { "aten::multi_margin_loss_backward", 1 },
                                                        { "aten::multilabel_margin_loss_backward", 1 } };
    auto found = like.find(op.operator_name().name);
    size_t begin = out->size() - op.schema().arguments().size();
    if (op.operator_name().name == "aten::geqrf") {
        at::Tensor self = (*out)[begin].toTensor();
        TORCH_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
        std::vector<int64_t> sizes = self.sizes().vec();
        sizes.pop_back();
        sizes.back() = std::min(self.size(-1), self.size(-2));
        *out = { at::empty_like(self.mT(), at::MemoryFormat::Contiguous).mT(), at::empty(sizes, self.options()) };
        return true;
    }
    if (op.operator_name().name.find("fake_quantize_per_") != std::string::npos) {
        at::Tensor self = (*out)[begin].toTensor();
        *out = { at::empty_like(self), at::empty_like(self, self.options().dtype(at::kBool)) };
        return true;
    }
    if (found == like.end())
        return false;
    at::Tensor result = at::empty_like((*out)[begin + found->second].toTensor(), at::MemoryFormat::Contiguous);
    out->resize(begin);
    out->emplace_back(result);
    return true;
}

// As on the CPU and with CUDA, the result of a convolution has channels last in memory if its image or filter has.
void correct_layout(const torch::jit::Stack &stack, size_t begin, torch::jit::Stack *out)
{
    const at::Tensor &x = stack[begin].toTensor(), &filter = stack[begin + 1].toTensor(), y = out->front().toTensor();
    const at::MemoryFormat last = y.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
    if ((y.dim() == 4 || y.dim() == 5) && (x.suggest_memory_format() == last || filter.suggest_memory_format() == last))
        out->front() = at::empty(y.sizes(), y.options().memory_format(last));
}

// Corrects sizes for which meta kernels and CPU differ: a loss of a single row, and batch statistics in evaluation
// mode.
void correct_sizes(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin, torch::jit::Stack *out)
{
    const std::string &name = op.operator_name().name;
    if (name == "aten::convolution")
        correct_layout(stack, begin, out);
    if (name == "aten::multilabel_margin_loss_forward" && stack[begin].toTensor().dim() <= 1)
        out->front() = at::empty({}, out->front().toTensor().options());
    if ((name != "aten::native_batch_norm" && name != "aten::_native_batch_norm_legit") || !stack[begin + 5].isBool() ||
        stack[begin + 5].toBool())
        return;
    for (size_t i = out->size() - 2; i < out->size(); i++)
        (*out)[i] = at::empty({ 0 }, (*out)[i].toTensor().options());
}

} // namespace

bool infer(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin, torch::jit::Stack *out,
           std::string *why)
{
    at::DisableRecordFunctionGuard unrecorded; // the profiler must not count the operator twice
    try {
        out->assign(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
        c10::OperatorHandle common = common_form(op, out);
        for (c10::IValue &value : *out)
            value = meta_argument(value);
        if (!infer_like(common, out))
            common.callBoxed(out);
        correct_sizes(common, stack, begin, out);
        return true;
    } catch (const std::exception &e) { // wrong arguments, or no meta kernel: the fallback to the CPU decides
        *why = e.what();
        *why = why->substr(0, why->find('\n'));
        return false;
    }
}

void expand_masks(torch::jit::Stack *stack, size_t begin)
{
    auto indices = (*stack)[begin + 1].toOptionalTensorVector();
    auto is_mask = [](const std::optional<at::Tensor> &t) {
        return t && t->defined() && (t->scalar_type() == at::kBool || t->scalar_type() == at::kByte);
    };
    if (std::none_of(indices.begin(), indices.end(), is_mask))
        return;
    const at::Tensor self = (*stack)[begin].toTensor();
    c10::List<std::optional<at::Tensor>> plain;
    for (const std::optional<at::Tensor> &index : indices) {
        if (!is_mask(index)) {
            plain.push_back(index);
            continue;
        }
        for (int64_t d = 0; d < index->dim(); d++) {
            int64_t at = static_cast<int64_t>(plain.size()) + d;
            TORCH_CHECK_INDEX(at < self.dim() && self.size(at) == index->size(d), "The shape of the mask ",
                              index->sizes(), " at index ", d, " does not match the shape of the indexed tensor ",
                              self.sizes(), " at index ", at);
        }
        at::Tensor found = index->to(self.device()).nonzero();
        for (int64_t d = 0; d < index->dim(); d++)
            plain.push_back(found.select(1, d));
    }
    (*stack)[begin + 1] = std::move(plain);
}

} // namespace dml
