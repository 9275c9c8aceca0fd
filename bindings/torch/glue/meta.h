// SPDX-License-Identifier: Apache-2.0
// Computes the layout of results (meta.cpp).
#ifndef ANYDML_TORCH_META_H
#define ANYDML_TORCH_META_H

#include "glue.h"

namespace dml
{

// Fills *out with meta tensors of the results. Returns false and sets *why if the meta device cannot infer them.
bool infer(const c10::OperatorHandle &op, const torch::jit::Stack &stack, size_t begin, torch::jit::Stack *out,
           std::string *why);
// Replaces each mask among the indices (argument 1) by the positions of its set elements, one index tensor per
// dimension.
void expand_masks(torch::jit::Stack *stack, size_t begin);

} // namespace dml

#endif
