/* SPDX-License-Identifier: Apache-2.0 */
/* The work of overhead.c and submit.c: additions of CHAIN_COUNT numbers. Failures end the program, as in samples. */
#ifndef BENCH_CHAIN_H
#define BENCH_CHAIN_H

#include "sample.h"

#include <time.h>

enum { CHAIN_COUNT = 16 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* x + x + ..., `steps` additions in sequence, of two inputs. */
static IDMLCompiledOperator *compile_graph(IDMLDevice *dml, IDMLOperator *add, UINT steps)
{
    DML_OPERATOR_GRAPH_NODE_DESC node = { add, NULL };
    DML_OUTPUT_GRAPH_EDGE_DESC output = { steps - 1, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC output_edge = { DML_GRAPH_EDGE_TYPE_OUTPUT, &output };
    DML_GRAPH_NODE_DESC *nodes = calloc(steps, sizeof(*nodes));
    DML_INPUT_GRAPH_EDGE_DESC *inputs = calloc(steps + 1, sizeof(*inputs));
    DML_INTERMEDIATE_GRAPH_EDGE_DESC *middles = calloc(steps, sizeof(*middles));
    DML_GRAPH_EDGE_DESC *edges = calloc(2 * steps, sizeof(*edges)), *more = edges + steps + 1;
    if (!nodes || !inputs || !middles || !edges)
        exit(1);
    inputs[steps] = (DML_INPUT_GRAPH_EDGE_DESC){ 0, 0, 0, NULL };
    edges[steps] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &inputs[steps] };
    for (UINT i = 0; i < steps; i++) {
        nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &node };
        inputs[i] = (DML_INPUT_GRAPH_EDGE_DESC){ 1, i, 1, NULL };
        edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &inputs[i] };
        if (i + 1 == steps)
            break;
        middles[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ i, 0, i + 1, 0, NULL };
        more[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middles[i] };
    }
    DML_GRAPH_DESC desc = { 2, 1, steps, nodes, steps + 1, edges, 1, &output_edge, steps - 1, more };
    IDMLDevice1 *device;
    IDMLCompiledOperator *compiled;
    CHECK(IDMLDevice_QueryInterface(dml, &IID_IDMLDevice1, (void **)&device));
    CHECK(IDMLDevice1_CompileGraph(device, &desc, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator,
                                   (void **)&compiled));
    IDMLDevice1_Release(device);
    free(nodes);
    free(inputs);
    free(middles);
    free(edges);
    return compiled;
}

static IDMLCompiledOperator *compile_add(IDMLDevice *dml, UINT steps)
{
    UINT sizes[] = { 1, 1, 1, CHAIN_COUNT };
    DML_BUFFER_TENSOR_DESC layout = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, CHAIN_COUNT * 4, 0
    };
    DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &layout };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC desc = { &tensor, &tensor, &tensor };
    IDMLOperator *op = sample_operator(dml, DML_OPERATOR_ELEMENT_WISE_ADD, &desc);
    IDMLCompiledOperator *compiled;
    if (steps > 1)
        compiled = compile_graph(dml, op, steps);
    else
        CHECK(IDMLDevice_CompileOperator(dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator,
                                         (void **)&compiled));
    IDMLOperator_Release(op);
    return compiled;
}

#endif
