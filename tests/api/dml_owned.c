/* SPDX-License-Identifier: Apache-2.0 */
/* Owned weights that the initializer transforms: a convolution and the following batch normalisation, compiled as one
 * graph. One operator may be initialised into several persistent buffers, each with its own weights, and again.
 */
#include "dml_test.h"

#include <math.h>

enum { CHANNELS = 24, SIDE = 9, PIXELS = SIDE * SIDE, FLOATS = CHANNELS * PIXELS, MATRIX = CHANNELS * CHANNELS };

enum input { X, WEIGHTS, MEAN, VARIANCE, SCALE, BIAS, INPUTS };

static const UINT counts[INPUTS] = { FLOATS, MATRIX, CHANNELS, CHANNELS, CHANNELS, CHANNELS };

struct data {
    float values[INPUTS][FLOATS];
};

static void fill(struct data *data, UINT seed)
{
    for (UINT t = 0; t < INPUTS; t++)
        for (UINT i = 0; i < counts[t]; i++) {
            seed = seed * 1664525u + 1013904223u;
            float value = (float)(seed >> 8) / 8388608.0f - 1;
            data->values[t][i] = t == VARIANCE ? 1.5f + value : value;
        }
}

/* In double, as the operators are described. */
static double reference(const struct data *x, const struct data *w, UINT channel, UINT pixel, float epsilon)
{
    double sum = 0;
    for (UINT c = 0; c < CHANNELS; c++)
        sum += (double)x->values[X][c * PIXELS + pixel] * w->values[WEIGHTS][channel * CHANNELS + c];
    sum = (sum - w->values[MEAN][channel]) / sqrt((double)w->values[VARIANCE][channel] + epsilon);
    return sum * w->values[SCALE][channel] + w->values[BIAS][channel];
}

static IDMLCompiledOperator *make_graph(struct rig *rig, bool bias_is_constant, const struct data *constants)
{
    const DML_TENSOR_FLAGS own = DML_TENSOR_FLAG_OWNED_BY_DML;
    static const UINT ones[] = { 1, 1 }, zeros[] = { 0, 0 };
    struct tensor x, w, y, parameter, bias;
    const DML_TENSOR_DESC *ty = tensor_f32(&y, 1, CHANNELS, SIDE, SIDE, 0);
    const DML_TENSOR_DESC *owned = tensor_f32(&parameter, 1, CHANNELS, 1, 1, own);
    DML_CONVOLUTION_OPERATOR_DESC conv = { .InputTensor = tensor_f32(&x, 1, CHANNELS, SIDE, SIDE, 0),
                                           .FilterTensor = tensor_f32(&w, CHANNELS, CHANNELS, 1, 1, own),
                                           .OutputTensor = ty,
                                           .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                           .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
                                           .DimensionCount = 2,
                                           .Strides = ones,
                                           .Dilations = ones,
                                           .StartPadding = zeros,
                                           .EndPadding = zeros,
                                           .OutputPadding = zeros,
                                           .GroupCount = 1 };
    DML_BATCH_NORMALIZATION_OPERATOR_DESC norm = {
        .InputTensor = ty,
        .MeanTensor = owned,
        .VarianceTensor = owned,
        .ScaleTensor = owned,
        .BiasTensor = bias_is_constant ? tensor_f32(&bias, 1, CHANNELS, 1, 1, 0) : owned,
        .OutputTensor = ty,
        .Spatial = TRUE,
        .Epsilon = 1e-3f,
    };
    DML_OPERATOR_GRAPH_NODE_DESC ops[] = { { make_operator(rig->dml, DML_OPERATOR_CONVOLUTION, &conv), "conv" },
                                           { make_operator(rig->dml, DML_OPERATOR_BATCH_NORMALIZATION, &norm), "bn" } };
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constant = { constants->values[BIAS], CHANNELS * 4, "bias" };
    DML_GRAPH_NODE_DESC nodes[] = { { DML_GRAPH_NODE_TYPE_OPERATOR, &ops[0] },
                                    { DML_GRAPH_NODE_TYPE_OPERATOR, &ops[1] },
                                    { DML_GRAPH_NODE_TYPE_CONSTANT, &constant } };
    DML_INPUT_GRAPH_EDGE_DESC in[] = { { X, 0, 0, NULL },        { WEIGHTS, 0, 1, NULL }, { MEAN, 1, 1, NULL },
                                       { VARIANCE, 1, 2, NULL }, { SCALE, 1, 3, NULL },   { BIAS, 1, 4, NULL } };
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middle[] = { { 0, 0, 1, 0, NULL }, { 2, 0, 1, 4, NULL } };
    DML_OUTPUT_GRAPH_EDGE_DESC out = { 1, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC in_edges[6], middle_edges[2], out_edge = { DML_GRAPH_EDGE_TYPE_OUTPUT, &out };
    for (UINT i = 0; i < 6; i++)
        in_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &in[i] };
    for (UINT i = 0; i < 2; i++)
        middle_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle[i] };
    DML_GRAPH_DESC desc = { .InputCount = INPUTS,
                            .OutputCount = 1,
                            .NodeCount = 2u + bias_is_constant,
                            .Nodes = nodes,
                            .InputEdgeCount = 6u - bias_is_constant,
                            .InputEdges = in_edges,
                            .OutputEdgeCount = 1,
                            .OutputEdges = &out_edge,
                            .IntermediateEdgeCount = 1u + bias_is_constant,
                            .IntermediateEdges = middle_edges };
    IDMLCompiledOperator *op = NULL;
    HRESULT hr = IDMLDevice1_CompileGraph(rig->dml, &desc, 0, &IID_IDMLCompiledOperator, (void **)&op);
    api_release(ops[0].Operator);
    api_release(ops[1].Operator);
    rig_skip(hr);
    ok_hr(hr, S_OK);
    need(op);
    return op;
}

static struct prepared initialize(struct rig *rig, IDMLCompiledOperator *op, bool bias_is_constant,
                                  const struct data *weights)
{
    struct bound owned[INPUTS] = { { NULL, 0, 0 } };
    for (UINT t = WEIGHTS; t < INPUTS - (UINT)bias_is_constant; t++)
        owned[t] = buffer_of(rig, weights->values[t], counts[t] * 4);
    struct prepared prepared = prepare(rig, op, INPUTS, owned);
    for (UINT t = WEIGHTS; t < INPUTS - (UINT)bias_is_constant; t++)
        api_release(owned[t].buffer);
    return prepared;
}

static void check(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared, const struct data *x,
                  const struct data *weights)
{
    static float got[FLOATS];
    struct bound inputs[INPUTS] = { buffer_of(rig, x->values[X], FLOATS * 4) };
    struct bound output = { buffer_f32(rig, FLOATS, NAN, 0), 0, FLOATS * 4 };
    IDMLBindingTable *table = table_at(rig, op, 0);
    double worst = 0;
    bind_inputs(table, INPUTS, inputs);
    bind_outputs(table, 1, &output);
    bind_prepared(table, prepared);
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, output.buffer, 0, got, sizeof(got));
    rig_set_heap(rig);
    for (UINT i = 0; i < FLOATS; i++) {
        double want = reference(x, weights, i / PIXELS, i % PIXELS, 1e-3f),
               error = fabs(got[i] - want) / (1 + fabs(want));
        worst = error <= worst ? worst : error;
    }
    ok(worst < 1e-5, "relative error %g", worst);
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
    api_release(inputs[0].buffer);
    api_release(output.buffer);
}

static void test_owned(bool bias_is_constant)
{
    static struct data first, second;
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    fill(&first, 1);
    fill(&second, 2);
    if (bias_is_constant)
        memcpy(second.values[BIAS], first.values[BIAS], CHANNELS * 4);
    IDMLCompiledOperator *op = make_graph(&rig, bias_is_constant, &first);
    UINT64 bytes = properties(op).PersistentResourceSize;
    ok(bytes >= MATRIX * 4, "%llu bytes of state", (unsigned long long)bytes);
    struct prepared a = initialize(&rig, op, bias_is_constant, &first);
    struct prepared b = initialize(&rig, op, bias_is_constant, &second);
    check(&rig, op, &a, &first, &first);
    check(&rig, op, &b, &first, &second);
    check(&rig, op, &a, &second, &first);
    prepared_release(&a);
    a = initialize(&rig, op, bias_is_constant, &second);
    check(&rig, op, &a, &first, &second);
    prepared_release(&a);
    prepared_release(&b);
    api_release(op);
    rig_destroy(&rig);
}

int main(void)
{
    rig_part(test_owned(false));
    rig_part(test_owned(true));
    return rig_end();
}
