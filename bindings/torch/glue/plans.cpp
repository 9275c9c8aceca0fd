// SPDX-License-Identifier: Apache-2.0
// Compiled graphs: the Python package builds the plan (compiler.py), torch.ops.torch_directml.run_plan runs it.
#include "profiler.h"

#include <torch/library.h>

namespace dml
{
namespace
{

std::vector<at::Tensor> run_plan(int64_t address, int64_t index, at::TensorList inputs)
{
    auto *plan = reinterpret_cast<aten_plan *>(address);
    std::vector<aten_tensor> tensors(inputs.size());
    std::vector<aten_arg> args(inputs.size());
    std::vector<uint64_t> versions(inputs.size());
    bool fixed = aten_plan_has_fixed(plan);
    for (size_t i = 0; i < inputs.size(); i++) {
        TORCH_CHECK(describe(inputs[i], &tensors[i]), "torch_directml: input ", i,
                    " of a graph has an unsupported type or layout");
        args[i].kind = ATEN_TENSOR;
        args[i].count = 1;
        args[i].tensors = &tensors[i];
        if (fixed)
            versions[i] = version_of(inputs[i]);
    }
    std::vector<aten_tensor> outputs(aten_plan_output_count(plan));
    std::vector<at::Tensor> made(outputs.size());
    for (uint32_t i = 0; i < outputs.size(); i++) {
        outputs[i] = *aten_plan_output(plan, i);
        made[i] = empty_like_layout(outputs[i], static_cast<c10::DeviceIndex>(index));
        outputs[i].data = made[i].numel() ? made[i].mutable_data_ptr() : nullptr;
    }
    char message[kMessageBytes] = "";
    Activity activity("graph", static_cast<c10::DeviceIndex>(index));
    TORCH_CHECK(aten_run_fixed(plan, args.data(), versions.data(), outputs.data(), message, sizeof(message)),
                "torch_directml: ", message);
    return made;
}

// Equal numbers mean equal contents of all tensors; 0: unknown.
int64_t contents_of(at::TensorList tensors)
{
    uint64_t sum = 1;
    for (const at::Tensor &tensor : tensors) {
        const uint64_t version = version_of(tensor);
        if (!version)
            return 0;
        sum = (sum ^ version ^ reinterpret_cast<uintptr_t>(tensor.const_data_ptr())) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return static_cast<int64_t>(sum | 1);
}

TORCH_LIBRARY_FRAGMENT(torch_directml, m)
{
    m.def("contents_of(Tensor[] tensors) -> int", &contents_of);
    m.def("run_plan(int plan, int device, Tensor[] inputs) -> Tensor[]", &run_plan);
}

} // namespace
} // namespace dml
