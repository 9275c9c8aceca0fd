// SPDX-License-Identifier: Apache-2.0
// Unboxed kernels (with C++ arguments) ahead of the boxed ones. torch's stack holds references to its tensors, and a
// second reference to a tensor of Python acquires the interpreter's lock twice. Operators with common argument types
// therefore run here when their plan is cached.
#ifndef ANYDML_TORCH_GLUE_DIRECT_H
#define ANYDML_TORCH_GLUE_DIRECT_H

#include <functional>

#include "call.h"

#include <torch/library.h>

namespace dml
{

using Boxed = std::function<void(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *)>;

// A kernel that delegates every call it cannot handle to `boxed`. Empty if the operator has other argument types.
std::optional<torch::CppFunction> direct_kernel(const aten_op *row, Form form, const c10::OperatorHandle &op,
                                                Boxed boxed);

} // namespace dml

#endif
