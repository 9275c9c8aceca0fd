/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by graph_check.c and graph_edges.c. */
#ifndef DML_GRAPH_CHECK_H
#define DML_GRAPH_CHECK_H

#include "dml/dml.h"

struct graph_check {
    struct dml_device *device;
    const DML_GRAPH_DESC *desc;
    struct dml_graph *graph;
    const struct schema_desc **nodes; /* NULL for constants */
    uint32_t *first_input;            /* per node: global index of its first input slot; one more at the end */
    uint32_t *first_output;
    bool *fed;     /* per input slot: an edge leads here */
    bool *used;    /* per output slot: an edge starts here */
    bool *written; /* per graph output */
};

#define GRAPH_LABEL_BYTES 160
/* "node 3 \"conv\" (DML_OPERATOR_CONVOLUTION)" */
const char *graph_node_label(const struct graph_check *check, uint32_t node, char out[GRAPH_LABEL_BYTES]);

/* "IDMLDevice1::CompileGraph: <text>"; returns E_INVALIDARG. */
HRESULT graph_check_fail(const struct graph_check *check, const char *format, ...) BASE_PRINTF(2, 3);

uint32_t graph_node_inputs(const struct graph_check *check, uint32_t node);
uint32_t graph_node_outputs(const struct graph_check *check, uint32_t node);
/* NULL: absent, or a constant's output. */
const DML_BUFFER_TENSOR_DESC *graph_output_tensor(const struct graph_check *check, uint32_t node, uint32_t slot);

/* Each edge separately: types, indices, descriptions of both ends, sizes, one source for each target. Fills fed, used,
 * written and the graph's slots. */
HRESULT graph_check_edges(struct graph_check *check);

#endif
