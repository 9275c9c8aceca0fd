/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from descriptions: edges of all kinds, their errors, and the result of the compiled graph. */
#include "graph_make.h"

#include "test.h"

#define N 6

static const UINT flat_sizes[4] = { 1, 1, 1, N }, square_sizes[4] = { 1, 1, 2, N / 2 };
static DML_BUFFER_TENSOR_DESC flat = { F32, 0, 4, flat_sizes, NULL, N * 4, 0 };
static DML_BUFFER_TENSOR_DESC square = { F32, 0, 4, square_sizes, NULL, N * 4, 0 };
static DML_BUFFER_TENSOR_DESC owned = { F32, DML_TENSOR_FLAG_OWNED_BY_DML, 4, flat_sizes, NULL, N * 4, 0 };
static DML_BUFFER_TENSOR_DESC large = { F32, 0, 4, flat_sizes, NULL, N * 4 + 8, 0 };

static struct schema_desc *unary(DML_BUFFER_TENSOR_DESC *tensor)
{
    DML_TENSOR_DESC desc = { DML_TENSOR_TYPE_BUFFER, tensor };
    DML_ACTIVATION_RELU_OPERATOR_DESC relu = { &desc, &desc };
    DML_OPERATOR_DESC op = { DML_OPERATOR_ACTIVATION_RELU, &relu };
    struct schema_desc *copy = NULL;
    TEST(schema_desc_create(&op, &copy) == S_OK);
    return copy;
}

static struct schema_desc *binary(DML_BUFFER_TENSOR_DESC *a, DML_BUFFER_TENSOR_DESC *b, DML_BUFFER_TENSOR_DESC *out)
{
    DML_TENSOR_DESC descs[3] = { { DML_TENSOR_TYPE_BUFFER, a },
                                 { DML_TENSOR_TYPE_BUFFER, b },
                                 { DML_TENSOR_TYPE_BUFFER, out } };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &descs[0], &descs[1], &descs[2] };
    DML_OPERATOR_DESC op = { DML_OPERATOR_ELEMENT_WISE_ADD, &add };
    struct schema_desc *copy = NULL;
    TEST(schema_desc_create(&op, &copy) == S_OK);
    return copy;
}

struct sample {
    DML_GRAPH_DESC desc;
    DML_GRAPH_NODE_DESC nodes[4];
    struct schema_desc *ops[4];
    DML_GRAPH_EDGE_DESC inputs[6], outputs[6], links[6];
    DML_INPUT_GRAPH_EDGE_DESC input_edges[6];
    DML_OUTPUT_GRAPH_EDGE_DESC output_edges[6];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC link_edges[6];
    char error[256];
};

static void add_node(struct sample *sample, struct schema_desc *op)
{
    sample->ops[sample->desc.NodeCount] = op;
    sample->nodes[sample->desc.NodeCount++].Type = DML_GRAPH_NODE_TYPE_OPERATOR;
    sample->desc.Nodes = sample->nodes;
}

static void add_constant(struct sample *sample, const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant)
{
    sample->nodes[sample->desc.NodeCount++] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, constant };
    sample->desc.Nodes = sample->nodes;
}

static void add_input(struct sample *sample, UINT index, UINT node, UINT slot)
{
    UINT i = sample->desc.InputEdgeCount++;
    sample->input_edges[i] = (DML_INPUT_GRAPH_EDGE_DESC){ index, node, slot, NULL };
    sample->inputs[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &sample->input_edges[i] };
    sample->desc.InputEdges = sample->inputs;
    sample->desc.InputCount = BASE_MAX(sample->desc.InputCount, index + 1);
}

static void add_output(struct sample *sample, UINT node, UINT slot, UINT index)
{
    UINT i = sample->desc.OutputEdgeCount++;
    sample->output_edges[i] = (DML_OUTPUT_GRAPH_EDGE_DESC){ node, slot, index, NULL };
    sample->outputs[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &sample->output_edges[i] };
    sample->desc.OutputEdges = sample->outputs;
    sample->desc.OutputCount = BASE_MAX(sample->desc.OutputCount, index + 1);
}

static void add_link(struct sample *sample, UINT from, UINT from_slot, UINT to, UINT to_slot)
{
    UINT i = sample->desc.IntermediateEdgeCount++;
    sample->link_edges[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, from_slot, to, to_slot, NULL };
    sample->links[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &sample->link_edges[i] };
    sample->desc.IntermediateEdges = sample->links;
}

static void free_sample(struct sample *sample)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(sample->ops); i++)
        schema_desc_destroy(sample->ops[i]);
}

/* Builds and, when that is to work, runs with and without passes; results go to run->outputs. */
static void build_and_run(struct sample *sample, const struct make_run *run, uint64_t disabled)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_options options = make_options(disabled);
    HRESULT hr =
        graph_from_desc(&graph, &sample->desc, (const struct schema_desc *const *)sample->ops, 0, sample->error);
    if (!TEST_FOR(hr == S_OK, "%s", sample->error))
        return;
    TEST(graph_run_passes(&graph, &options) == S_OK);
    hr = graph_plan_create(&graph, &options, &plan, sample->error);
    graph_finish(&graph);
    if (TEST_FOR(hr == S_OK, "%s", sample->error))
        TEST(make_execute(plan, run));
    graph_plan_destroy(plan);
}

static void refused(struct sample *sample, const char *why)
{
    struct graph graph;
    HRESULT hr =
        graph_from_desc(&graph, &sample->desc, (const struct schema_desc *const *)sample->ops, 0, sample->error);
    TEST_FOR(hr == E_INVALIDARG, "%s", why);
    TEST_FOR(strstr(sample->error, why) != NULL, "%s: %s", why, sample->error);
    if (SUCCEEDED(hr))
        graph_finish(&graph);
    free_sample(sample);
}

/* Node 0 = node 1 + constant; node 1 = relu(x). Node 1 is connected to outputs 0 and 2 as well, the constant to output
 * 3. */
static void test_everything(void)
{
    static const float constant_data[N] = { 10, 20, 30, 40, 50, 60 };
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC constant = { constant_data, sizeof(constant_data), NULL };
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct sample sample = { 0 };
        float x[N] = { -1, 1, -2, 2, -3, 3 }, out[4][N] = { { 0 } };
        struct make_run run = { { NULL, x }, { out[0], out[1], out[2], out[3] } };
        add_node(&sample, binary(&square, &square, &square));
        add_node(&sample, unary(&flat));
        add_constant(&sample, &constant);
        add_input(&sample, 1, 1, 0); /* graph input 0 is not used */
        add_link(&sample, 1, 0, 0, 0);
        add_link(&sample, 2, 0, 0, 1);
        add_output(&sample, 1, 0, 0);
        add_output(&sample, 0, 0, 1);
        add_output(&sample, 1, 0, 2);
        add_output(&sample, 2, 0, 3);
        build_and_run(&sample, &run, pass ? 0 : GRAPH_PASSES_ALL);
        for (uint32_t i = 0; i < N; i++) {
            float y = x[i] > 0 ? x[i] : 0;
            TEST(out[0][i] == y && out[2][i] == y && out[3][i] == constant_data[i] &&
                 out[1][i] == y + constant_data[i]);
        }
        free_sample(&sample);
    }
}

/* Paddings and resamplings that change nothing: only the activation between them remains. */
static void test_nothing_changes(void)
{
    static const UINT zeros[4] = { 0 };
    static const FLOAT ones[4] = { 1, 1, 1, 1 }, halves[4] = { 0.5f, 0.5f, 0.5f, 0.5f };
    static const FLOAT minus[4] = { -0.5f, -0.5f, -0.5f, -0.5f };
    DML_TENSOR_DESC desc = { DML_TENSOR_TYPE_BUFFER, &square };
    DML_PADDING_OPERATOR_DESC padding = { &desc, &desc, DML_PADDING_MODE_CONSTANT, 3, 4, zeros, zeros };
    DML_RESAMPLE_OPERATOR_DESC resample = { &desc, &desc, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR, 4, ones };
    DML_RESAMPLE2_OPERATOR_DESC linear = {
        &desc, &desc, DML_INTERPOLATION_MODE_LINEAR, DML_AXIS_DIRECTION_INCREASING, 4, ones, halves, minus
    };
    const DML_OPERATOR_DESC ops[] = { { DML_OPERATOR_PADDING, &padding },
                                      { DML_OPERATOR_RESAMPLE, &resample },
                                      { DML_OPERATOR_RESAMPLE2, &linear } };
    struct sample sample = { 0 };
    struct graph graph;
    struct graph_options options = make_options(0);
    struct schema_desc *copy;
    for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
        TEST(schema_desc_create(&ops[i], &copy) == S_OK);
        add_node(&sample, copy);
        if (i)
            add_link(&sample, i - 1, 0, i, 0);
    }
    add_node(&sample, unary(&square));
    add_link(&sample, 2, 0, 3, 0);
    add_input(&sample, 0, 0, 0);
    add_output(&sample, 3, 0, 0);
    TEST(graph_from_desc(&graph, &sample.desc, (const struct schema_desc *const *)sample.ops, 0, sample.error) == S_OK);
    TEST(graph_run_passes(&graph, &options) == S_OK && graph.op_count == 1 && graph.ops[0]->k.kind == KERN_MAP);
    graph_finish(&graph);
    free_sample(&sample);
}

/* Bytes of a constant that its reader expects but that are not given are read as zero. */
static void test_short_constant(void)
{
    static const UINT sizes[4] = { 1, 1, 1, 3 };
    DML_BUFFER_TENSOR_DESC bytes = { DML_TENSOR_DATA_TYPE_UINT8, 0, 4, sizes, NULL, 4, 0 };
    DML_TENSOR_DESC desc = { DML_TENSOR_TYPE_BUFFER, &bytes };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &desc, &desc, NULL };
    DML_OPERATOR_DESC op = { DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity };
    static const uint8_t data[3] = { 7, 8, 9 };
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC constant = { data, sizeof(data), NULL };
    struct sample sample = { 0 };
    struct schema_desc *copy = NULL;
    uint8_t out[4] = { 0 };
    struct make_run run = { { NULL }, { out } };
    TEST(schema_desc_create(&op, &copy) == S_OK);
    add_node(&sample, copy);
    add_constant(&sample, &constant);
    add_link(&sample, 1, 0, 0, 0);
    add_output(&sample, 0, 0, 0);
    build_and_run(&sample, &run, 0);
    TEST(out[0] == 7 && out[1] == 8 && out[2] == 9);
    free_sample(&sample);
}

static void test_owned(void)
{
    struct sample sample = { 0 };
    float x[N] = { 1, 2, 3, 4, 5, 6 }, w[N] = { 10, 10, 10, 10, 10, 10 }, y[N];
    struct make_run run = { { x, w }, { y } };
    add_node(&sample, binary(&flat, &owned, &flat));
    add_input(&sample, 0, 0, 0);
    add_input(&sample, 1, 0, 1);
    add_output(&sample, 0, 0, 0);
    build_and_run(&sample, &run, 0);
    for (uint32_t i = 0; i < N; i++)
        TEST(y[i] == x[i] + 10);
    free_sample(&sample);
}

/* A valid chain of two; each test then breaks one thing. */
static void chain(struct sample *sample)
{
    memset(sample, 0, sizeof(*sample));
    add_node(sample, unary(&flat));
    add_node(sample, unary(&flat));
    add_input(sample, 0, 0, 0);
    add_link(sample, 0, 0, 1, 0);
    add_output(sample, 1, 0, 0);
}

static void test_bad_edges(void)
{
    struct sample sample;
    chain(&sample);
    sample.link_edges[0].FromNodeIndex = 1;
    refused(&sample, "cycle");
    chain(&sample);
    sample.link_edges[0].ToNodeIndex = 0;
    refused(&sample, "more than one edge");
    chain(&sample);
    sample.link_edges[0].ToNodeIndex = 2;
    refused(&sample, "does not exist");
    chain(&sample);
    sample.link_edges[0].FromNodeOutputIndex = 1;
    refused(&sample, "does not exist");
    chain(&sample);
    sample.desc.IntermediateEdgeCount = 0;
    refused(&sample, "no edge leads there");
    chain(&sample);
    sample.desc.OutputEdgeCount = 0;
    refused(&sample, "graph output 0: no edge");
    chain(&sample);
    sample.output_edges[0].GraphOutputIndex = 1;
    refused(&sample, "below OutputCount");
    chain(&sample);
    sample.input_edges[0].GraphInputIndex = 5;
    refused(&sample, "below InputCount");
    chain(&sample);
    sample.inputs[0].Type = DML_GRAPH_EDGE_TYPE_OUTPUT;
    refused(&sample, "not of type INPUT");
    chain(&sample);
    add_output(&sample, 0, 0, 0);
    refused(&sample, "graph output 0: more than one edge");
    chain(&sample);
    sample.desc.InputEdges = NULL;
    refused(&sample, "edge array is NULL");
}

static void test_bad_nodes(void)
{
    static const float data[N + 4];
    struct sample sample;
    chain(&sample);
    schema_desc_destroy(sample.ops[1]);
    sample.ops[1] = unary(&large);
    refused(&sample, "TotalTensorSizeInBytes");
    chain(&sample);
    schema_desc_destroy(sample.ops[1]);
    sample.ops[1] = binary(&flat, &owned, &flat);
    add_link(&sample, 0, 0, 1, 1);
    refused(&sample, "must be fed by a graph input");
    chain(&sample);
    schema_desc_destroy(sample.ops[1]);
    sample.ops[1] = binary(&flat, &owned, &flat);
    add_input(&sample, 0, 1, 1);
    refused(&sample, "agree on DML_TENSOR_FLAG_OWNED_BY_DML");
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC shorter = { data, 5, NULL }, longer = { data, N * 4 + 1, NULL },
                                            none = { NULL, 4, NULL };
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC *const bad[3] = { &shorter, &longer, &none };
    for (uint32_t i = 0; i < 3; i++) {
        memset(&sample, 0, sizeof(sample));
        add_node(&sample, unary(&flat));
        add_constant(&sample, bad[i]);
        add_link(&sample, 1, 0, 0, 0);
        add_output(&sample, 0, 0, 0);
        refused(&sample, bad[i]->Data ? "DataSize" : "constant with data");
    }
    memset(&sample, 0, sizeof(sample));
    refused(&sample, "NodeCount");
}

static void test_single(void)
{
    struct schema_desc *relu = unary(&flat);
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_options options = make_options(0);
    char error[256];
    float x[N] = { -1, 2, -3, 4, -5, 6 };
    TEST(graph_from_operator(&graph, relu, 0, error) == S_OK);
    TEST(graph_run_passes(&graph, &options) == S_OK && graph_plan_create(&graph, &options, &plan, error) == S_OK);
    graph_finish(&graph);
    schema_desc_destroy(relu);
    struct make_run run = { { x }, { x } }; /* in place */
    TEST(plan && make_execute(plan, &run));
    for (uint32_t i = 0; i < N; i++)
        TEST(x[i] == (i % 2 ? (float)(i + 1) : 0));
    graph_plan_destroy(plan);
}

static bool contains(char *text, const char *part)
{
    bool found = text && strstr(text, part);
    if (!found)
        fprintf(stderr, "%s\n", text ? text : "no text");
    free(text);
    return found;
}

/* Names of nodes and edges are printed with the ops and values; those of fused nodes one after the other. */
static void test_names(void)
{
    struct sample sample = { 0 };
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_options options = make_options(0);
    const DML_OPERATOR_GRAPH_NODE_DESC sum = { NULL, "the \"sum\"" }, end = { NULL, "end" };
    add_node(&sample, binary(&flat, &flat, &flat));
    add_node(&sample, unary(&flat));
    sample.nodes[0].Desc = &sum;
    sample.nodes[1].Desc = &end;
    add_input(&sample, 0, 0, 0);
    add_input(&sample, 1, 0, 1);
    add_link(&sample, 0, 0, 1, 0);
    add_output(&sample, 1, 0, 0);
    sample.input_edges[0].Name = "left";
    sample.input_edges[1].Name = "\1made by a program";
    sample.link_edges[0].Name = "between";
    sample.output_edges[0].Name = "result";
    HRESULT hr = graph_from_desc(&graph, &sample.desc, (const struct schema_desc *const *)sample.ops, 0, sample.error);
    if (TEST_FOR(hr == S_OK, "%s", sample.error)) {
        TEST(contains(graph_print(&graph), "%0 = input 0, 24 bytes \"left\"\n%1 = input 1, 24 bytes\n"));
        TEST(contains(graph_print(&graph), "temp, 24 bytes \"between\"\n"));
        TEST(contains(graph_print(&graph), "output 0, 24 bytes \"result\"\n"));
        TEST(graph_run_passes(&graph, &options) == S_OK);
        hr = graph_plan_create(&graph, &options, &plan, sample.error);
        TEST(contains(graph_print(&graph), "ACTIVATION_RELU \"end\" + \"the _sum_\"\n"));
        graph_finish(&graph);
    }
    if (TEST_FOR(hr == S_OK, "%s", sample.error))
        TEST(contains(graph_plan_print(plan), "ACTIVATION_RELU \"end\" + \"the _sum_\"\n"));
    graph_plan_destroy(plan);
    free_sample(&sample);
}

int main(void)
{
    test_names();
    test_everything();
    test_nothing_changes();
    test_short_constant();
    test_owned();
    test_bad_edges();
    test_bad_nodes();
    test_single();
    return test_result();
}
