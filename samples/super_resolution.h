/* SPDX-License-Identifier: Apache-2.0 */
/* The network of data/super_resolution_x2.onnx, which doubles images, as a DirectML graph: its weights are read from
 * the file, its operators are listed here.
 *
 *     x = relu(conv 5x5(image))
 *     x = x + conv 3x3(relu(conv 3x3(x)))               four times
 *     result = nearest x2(image) + depth to space(conv 3x3(x))
 *
 * Needs sample.h. */
#ifndef SUPER_RESOLUTION_H
#define SUPER_RESOLUTION_H

#include "sample.h"

enum { NETWORK_CHANNELS = 32, NETWORK_BLOCKS = 4, NETWORK_NODES_MAX = 40 };

/* ---- weights: fields of a protocol buffer are a number of field and type, and a number or a length with bytes ---- */

static UINT64 next_number(struct bytes *in)
{
    UINT64 number = 0;
    for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
        number |= (UINT64)(*in->at & 127) << shift;
        if (!(*in->at++ & 128))
            break;
    }
    return number;
}

/* The number of the next field, 0 at the end; *out has its bytes if it has any. */
static UINT64 next_field(struct bytes *in, struct bytes *out)
{
    const UINT64 tag = in->at < in->end ? next_number(in) : 0;
    *out = (struct bytes){ in->at, in->at };
    UINT64 length = (tag & 7) == 2 ? next_number(in) : (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
    if ((tag & 7) == 0 && tag)
        next_number(in);
    if (length > (UINT64)(in->end - in->at))
        length = (UINT64)(in->end - in->at);
    *out = (struct bytes){ in->at, in->at + length };
    in->at += length;
    return tag >> 3;
}

/* ModelProto.graph (7), GraphProto.initializer (5), TensorProto.name (8) and raw_data (9). */
static const void *find_weights(struct bytes model, const char *name, UINT64 bytes)
{
    struct bytes graph, tensor, field, data = { NULL, NULL };
    for (UINT64 number; (number = next_field(&model, &graph));)
        for (UINT64 inner; number == 7 && (inner = next_field(&graph, &tensor));) {
            int named = 0;
            for (UINT64 part; inner == 5 && (part = next_field(&tensor, &field));) {
                if (part == 8)
                    named = strlen(name) == (size_t)(field.end - field.at) && !memcmp(field.at, name, strlen(name));
                if (part == 9)
                    data = field;
            }
            if (named && (UINT64)(data.end - data.at) == bytes)
                return data.at;
        }
    fprintf(stderr, "the model does not have %llu bytes of weights \"%s\"\n", (unsigned long long)bytes, name);
    exit(2);
}

/* ---- the graph ---- */

struct tensor {
    UINT sizes[4];
    DML_BUFFER_TENSOR_DESC layout;
    DML_TENSOR_DESC desc;
};

static void tensor_init(struct tensor *t, UINT channels, UINT height, UINT width, UINT count)
{
    *t = (struct tensor){ .sizes = { count, channels, height, width } };
    t->layout = (DML_BUFFER_TENSOR_DESC){ .DataType = DML_TENSOR_DATA_TYPE_FLOAT32,
                                          .DimensionCount = 4,
                                          .Sizes = t->sizes,
                                          .TotalTensorSizeInBytes = (UINT64)count * channels * height * width * 4 };
    t->desc = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &t->layout };
}

struct network {
    IDMLDevice *dml;
    struct bytes model;
    UINT width, height, nodes, edges;
    DML_OPERATOR_GRAPH_NODE_DESC operators[NETWORK_NODES_MAX];
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constants[NETWORK_NODES_MAX];
    DML_GRAPH_NODE_DESC node[NETWORK_NODES_MAX];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middle[2 * NETWORK_NODES_MAX];
    DML_GRAPH_EDGE_DESC edge[2 * NETWORK_NODES_MAX];
};

#define PICTURE UINT32_MAX /* instead of a node: the graph's input */

static UINT add_operator(struct network *n, DML_OPERATOR_TYPE type, const void *desc)
{
    n->operators[n->nodes] = (DML_OPERATOR_GRAPH_NODE_DESC){ sample_operator(n->dml, type, desc), NULL };
    n->node[n->nodes] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &n->operators[n->nodes] };
    return n->nodes++;
}

static void connect(struct network *n, UINT from, UINT to, UINT slot)
{
    if (from == PICTURE)
        return;
    n->middle[n->edges] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, 0, to, slot, NULL };
    n->edge[n->edges] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &n->middle[n->edges] };
    n->edges++;
}

static void add_weights(struct network *n, const char *layer, const char *kind, const struct tensor *t, UINT to,
                        UINT slot)
{
    char name[64];
    const UINT64 bytes = t->layout.TotalTensorSizeInBytes;
    snprintf(name, sizeof(name), "%s.%s", layer, kind);
    n->constants[n->nodes] = (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ find_weights(n->model, name, bytes), bytes, NULL };
    n->node[n->nodes] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &n->constants[n->nodes] };
    connect(n, n->nodes++, to, slot);
}

/* A convolution that keeps the image's size. */
static UINT add_conv(struct network *n, UINT x, const char *layer, UINT in, UINT out, UINT kernel, int relu)
{
    static const UINT ones[2] = { 1, 1 }, none[2] = { 0, 0 };
    const UINT pad[2] = { kernel / 2, kernel / 2 };
    const DML_ACTIVATION_RELU_OPERATOR_DESC no_tensors = { NULL, NULL };
    const DML_OPERATOR_DESC activation = { DML_OPERATOR_ACTIVATION_RELU, &no_tensors };
    struct tensor input, filter, bias, output;
    tensor_init(&input, in, n->height, n->width, 1);
    tensor_init(&filter, in, kernel, kernel, out);
    tensor_init(&bias, out, 1, 1, 1);
    tensor_init(&output, out, n->height, n->width, 1);
    DML_CONVOLUTION_OPERATOR_DESC conv = { .InputTensor = &input.desc,
                                           .FilterTensor = &filter.desc,
                                           .BiasTensor = &bias.desc,
                                           .OutputTensor = &output.desc,
                                           .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                           .DimensionCount = 2,
                                           .Strides = ones,
                                           .Dilations = ones,
                                           .StartPadding = pad,
                                           .EndPadding = pad,
                                           .OutputPadding = none,
                                           .GroupCount = 1,
                                           .FusedActivation = relu ? &activation : NULL };
    const UINT node = add_operator(n, DML_OPERATOR_CONVOLUTION, &conv);
    connect(n, x, node, 0);
    add_weights(n, layer, "weight", &filter, node, 1);
    add_weights(n, layer, "bias", &bias, node, 2);
    return node;
}

static UINT add_sum(struct network *n, UINT a, UINT b, UINT channels, UINT scale)
{
    struct tensor t;
    tensor_init(&t, channels, scale * n->height, scale * n->width, 1);
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &t.desc, &t.desc, &t.desc };
    const UINT node = add_operator(n, DML_OPERATOR_ELEMENT_WISE_ADD, &add);
    connect(n, a, node, 0);
    connect(n, b, node, 1);
    return node;
}

/* Twice the image, by repeating pixels, and the detail of 12 channels at twice the size. */
static UINT add_result(struct network *n, UINT detail, UINT *out_base)
{
    struct tensor small, deep, large;
    tensor_init(&small, 3, n->height, n->width, 1);
    tensor_init(&deep, 12, n->height, n->width, 1);
    tensor_init(&large, 3, 2 * n->height, 2 * n->width, 1);
    DML_UPSAMPLE_2D_OPERATOR_DESC twice = {
        &small.desc, &large.desc, { 2, 2 }, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR
    };
    DML_DEPTH_TO_SPACE1_OPERATOR_DESC shuffle = { &deep.desc, &large.desc, 2, DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH };
    *out_base = add_operator(n, DML_OPERATOR_UPSAMPLE_2D, &twice);
    const UINT pixels = add_operator(n, DML_OPERATOR_DEPTH_TO_SPACE1, &shuffle);
    connect(n, detail, pixels, 0);
    return add_sum(n, *out_base, pixels, 3, 2);
}

/* From [1, 3, height, width] to [1, 3, 2 height, 2 width], FLOAT32, values 0 to 1. Needs no initializer's owned inputs.
 */
static IDMLCompiledOperator *super_resolution(IDMLDevice1 *dml, const char *path, UINT width, UINT height)
{
    static struct network n;
    char name[32];
    UINT base, x;
    n = (struct network){ .dml = (IDMLDevice *)dml, .model = read_file(path), .width = width, .height = height };
    const UINT head = x = add_conv(&n, PICTURE, "head", 3, NETWORK_CHANNELS, 5, 1);
    for (int i = 0; i < NETWORK_BLOCKS; i++) {
        snprintf(name, sizeof(name), "block%d_first", i);
        const UINT first = add_conv(&n, x, name, NETWORK_CHANNELS, NETWORK_CHANNELS, 3, 1);
        snprintf(name, sizeof(name), "block%d_second", i);
        x = add_sum(&n, x, add_conv(&n, first, name, NETWORK_CHANNELS, NETWORK_CHANNELS, 3, 0), NETWORK_CHANNELS, 1);
    }
    const UINT result = add_result(&n, add_conv(&n, x, "tail", NETWORK_CHANNELS, 12, 3, 0), &base);
    DML_INPUT_GRAPH_EDGE_DESC in[2] = { { 0, head, 0, NULL }, { 0, base, 0, NULL } };
    DML_OUTPUT_GRAPH_EDGE_DESC out = { result, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC inputs[2] = { { DML_GRAPH_EDGE_TYPE_INPUT, &in[0] }, { DML_GRAPH_EDGE_TYPE_INPUT, &in[1] } };
    DML_GRAPH_EDGE_DESC output = { DML_GRAPH_EDGE_TYPE_OUTPUT, &out };
    DML_GRAPH_DESC graph = { 1, 1, n.nodes, n.node, 2, inputs, 1, &output, n.edges, n.edge };
    IDMLCompiledOperator *compiled;
    CHECK(
        IDMLDevice1_CompileGraph(dml, &graph, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&compiled));
    for (UINT i = 0; i < n.nodes; i++)
        if (n.operators[i].Operator)
            IDMLOperator_Release(n.operators[i].Operator);
    free((void *)n.model.at); /* compiling has copied the weights */
    return compiled;
}

#endif
