/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DirectML graphs as C++ expressions, with the interface of Microsoft's header of the same name. C++17 and later,
 * headers only:
 *
 *     dml::Graph graph(device);
 *     dml::Expression x = dml::InputTensor(graph, 0, { DML_TENSOR_DATA_TYPE_FLOAT32, { 1, 1, 2, 3 } });
 *     dml::Expression w = dml::InputTensor(graph, 1, { DML_TENSOR_DATA_TYPE_FLOAT32, { 1, 1, 3, 4 } });
 *     dml::Expression y = dml::ActivationRelu(dml::Gemm(x, w)) * 2.0f;
 *     auto compiled = graph.Compile(DML_EXECUTION_FLAG_NONE, { y });
 *
 * Each function creates the operator of its name immediately, so errors are reported by the call that causes them: as a
 * dml::Error, which holds the HRESULT, or, if exceptions are disabled, by a line on stderr and std::abort (define
 * DMLX_FAIL to replace this). docs/directmlx.md has the rules, and the differences from Microsoft's header.
 *
 *   anydml/dmlx_types.h        Span, Optional, errors, tensors and their policies
 *   anydml/dmlx_graph.h        Graph, Expression, and the helper that creates all operators
 *   anydml/dmlx_math.h         element-wise operators, and C++'s operator overloads
 *   anydml/dmlx_activation.h   activations
 *   anydml/dmlx_dense.h        convolutions, matrix products, pooling
 *   anydml/dmlx_norm.h         reductions, running sums, normalisation, recurrent networks
 *   anydml/dmlx_data.h         moving, gathering, resizing and generating elements
 */
#ifndef ANYDML_DIRECTMLX_H
#define ANYDML_DIRECTMLX_H

#include "anydml/dmlx_types.h"
#include "anydml/dmlx_graph.h"
#include "anydml/dmlx_math.h"
#include "anydml/dmlx_activation.h"
#include "anydml/dmlx_dense.h"
#include "anydml/dmlx_norm.h"
#include "anydml/dmlx_data.h"

#endif
