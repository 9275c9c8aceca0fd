// SPDX-License-Identifier: Apache-2.0
// Kernels with C++ arguments in front of the boxed ones. torch's stack holds references to its tensors, and what torch
// pays for a second reference to a tensor of Python is the interpreter's lock, twice. So operators with arguments of
// common types run here as long as there is a plan for them.
#ifndef ANYDML_TORCH_GLUE_DIRECT_H
#define ANYDML_TORCH_GLUE_DIRECT_H

#include <functional>

#include "call.h"

#include <torch/library.h>

namespace dml
{

using Boxed = std::function<void(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *)>;

// A kernel that leaves to `boxed` whatever it cannot do. None: the operator's arguments are of other types.
std::optional<torch::CppFunction> direct_kernel(const aten_op *row, Form form, const c10::OperatorHandle &op,
                                                Boxed boxed);

} // namespace dml

#endif
