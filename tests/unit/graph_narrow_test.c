/* SPDX-License-Identifier: Apache-2.0 */
/* Devices without FLOAT64: operators compute in FLOAT32 within, and tensors of the caller stay what they are. (Results:
 * conformance_vulkan_single.) */
#include "graph_make.h"

#include "schema/sample.h"

#include "test.h"

#define F64 DML_TENSOR_DATA_TYPE_FLOAT64

static bool lacks(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    (void)options;
    return type == F64;
}

/* Tensors and registers. */
static uint32_t count_doubles(const struct graph *graph)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct graph_op *op = graph->ops[i];
        for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++)
            count += op->k.tensors[t].type == F64;
        for (uint32_t r = 0; op->k.kind == KERN_MAP && r < op->k.input_count; r++)
            count += op->k.u.map.load_type[r] == F64;
        for (uint32_t r = 0; op->k.kind == KERN_MAP && r < op->k.u.map.inst_count; r++)
            count += op->k.u.map.inst[r].type == F64 || op->k.u.map.inst[r].to_type == F64;
    }
    return count;
}

static uint32_t doubles_after(struct graph *graph, bool narrow)
{
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    backend.passes = GRAPH_PASS_BIT(narrow) | GRAPH_PASS_BIT(dead_nodes);
    backend.lacks = narrow ? lacks : NULL;
    options.backend = &backend;
    TEST(graph_run_passes(graph, &options) == S_OK);
    return count_doubles(graph);
}

static void test_operator(DML_OPERATOR_TYPE type, const char *text)
{
    for (uint32_t narrow = 0; narrow < 2; narrow++) {
        static struct schema_sample_storage storage;
        char error[256];
        DML_OPERATOR_DESC op;
        struct schema_desc *desc;
        struct graph graph;
        TEST(schema_sample_with(type, text, &storage, &op));
        TEST(schema_desc_create(&op, &desc) == S_OK);
        TEST(graph_from_operator(&graph, desc, 0, error) == S_OK);
        const uint32_t left = doubles_after(&graph, narrow);
        TEST_FOR(narrow ? left == 0 : left > 0, "operator %d has %u", (int)type, left);
        for (uint32_t v = 0; v < graph.value_count; v++)
            TEST(graph.values[v].place != GRAPH_TEMP || graph.values[v].size_bytes > 0);
        graph_finish(&graph);
        schema_desc_destroy(desc);
    }
}

static struct graph_operand value_of(struct graph *graph, enum graph_place place, DML_TENSOR_DATA_TYPE type)
{
    return make_value(graph, place, 0, type, 4, SIZES(1, 1, 4, 4));
}

/* x -> copy -> negated -> y, in FLOAT64; or FLOAT32 that two operators have in FLOAT64 between them. */
static void test_kept(bool between)
{
    const DML_TENSOR_DATA_TYPE outside = between ? DML_TENSOR_DATA_TYPE_FLOAT32 : F64;
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    struct graph_operand x = value_of(&graph, GRAPH_INPUT, outside), t = value_of(&graph, GRAPH_TEMP, F64);
    struct graph_operand y = value_of(&graph, GRAPH_OUTPUT, outside);
    if (between)
        make_map(&graph, KERN_MAP_NEG, &x, 1, t, 0, 0);
    else
        make_move(&graph, x, t);
    make_map(&graph, KERN_MAP_NEG, &t, 1, y, 0, 0);
    graph.ops[0]->node = 0;
    graph.ops[1]->node = between ? 1 : 0;
    for (uint32_t i = 0; i < 2; i++)
        if (graph.ops[i]->k.kind == KERN_MAP)
            graph.ops[i]->k.u.map.load_type[0] = graph.ops[i]->k.u.map.inst[0].type =
                graph.ops[i]->k.u.map.inst[0].to_type = F64;
    const uint32_t before = count_doubles(&graph);
    TEST(doubles_after(&graph, true) == before);
    graph_finish(&graph);
}

int main(void)
{
    test_operator(DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, "");
    test_operator(DML_OPERATOR_BATCH_NORMALIZATION_GRAD, "");
    test_operator(DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD, "");
    test_operator(DML_OPERATOR_ADAM_OPTIMIZER, "");
    test_operator(DML_OPERATOR_ACTIVATION_SHRINK, "InputTensor=2x3x4x5:INT32 OutputTensor=2x3x4x5:INT32");
    test_kept(false);
    test_kept(true);
    return test_result();
}
