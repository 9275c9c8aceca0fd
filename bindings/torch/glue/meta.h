// SPDX-License-Identifier: Apache-2.0
// What results will look like (meta.cpp).
#ifndef ANYDML_TORCH_META_H
#define ANYDML_TORCH_META_H

#include "glue.h"

namespace dml
{

// What the meta device says about the results: false when it cannot, and why.
bool infer(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin, torch::jit::Stack *out,
           std::string *why);
// Argument 1 are indices: a mask among them stands for the places where it is set, one tensor for each of its
// dimensions.
void expand_masks(torch::jit::Stack *stack, size_t begin);

} // namespace dml

#endif
