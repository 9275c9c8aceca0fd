/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs bound over inputs: pairs that a plan allows give the same bits in place, others must be rejected. */
#include "graph_random.h"

#include "base/cpu.h"
#include "base/parallel.h"
#include "graph/plan/alias.h"
#include "schema/sample.h"

#include "test.h"

/* ---- known cases: one input, one output ---- */

struct made {
    struct graph_plan *plan;
    struct graph_aliases *aliases;
};

static struct made made_of(struct graph *graph)
{
    struct graph_options options = make_options(GRAPH_PASSES_ALL);
    struct made made = { NULL, NULL };
    char error[256] = "";
    HRESULT hr = graph_plan_create(graph, &options, &made.plan, error);
    graph_finish(graph);
    if (TEST_FOR(SUCCEEDED(hr), "%s", error))
        TEST(graph_aliases_create(made.plan, &made.aliases) == S_OK);
    return made;
}

static void made_release(struct made *made)
{
    graph_aliases_destroy(made->aliases);
    graph_plan_destroy(made->plan);
}

enum known {
    ELEMENT_WISE,    /* y = -x */
    TWICE_ALIKE,     /* y = x + x */
    OTHER_ORDER,     /* y = -transposed(x) */
    TWO_ORDERS,      /* y = x + transposed(x) */
    READ_BEFORE,     /* a = tanh(x); y = transposed(a) */
    READ_LATER,      /* y = -x; then its first half again, of x's second half */
    OTHER_HALF,      /* first half of y = -first half of x, then the second of the second */
    OTHER_WIDTH,     /* y = half(x): 2 bytes for 4 */
    SAME_WIDTH,      /* y = int32 of x */
    PRODUCT,         /* y = x * x as matrices */
    SOFTMAX,         /* along rows */
    COPY,            /* y = x */
    TRANSPOSED_COPY, /* y = transposed(x) */
    KNOWN_COUNT,
};

static const bool known_allowed[KNOWN_COUNT] = { [ELEMENT_WISE] = true, [TWICE_ALIKE] = true, [READ_BEFORE] = true,
                                                 [OTHER_HALF] = true,   [SAME_WIDTH] = true,  [COPY] = true };

static struct graph_operand transposed(struct graph_operand x)
{
    x.view = graph_view_permute(&x.view, SIZES(0, 1, 3, 2));
    return x;
}

static struct graph_operand half_of(struct graph_operand x, uint32_t which)
{
    x.view = graph_view_slice(&x.view, SIZES(0, 0, 4 * which, 0), SIZES(1, 2, 4, 8), NULL);
    return x;
}

static void make_known(struct graph *graph, enum known known)
{
    const DML_TENSOR_DATA_TYPE type = known == OTHER_WIDTH  ? DML_TENSOR_DATA_TYPE_FLOAT16
                                      : known == SAME_WIDTH ? DML_TENSOR_DATA_TYPE_INT32
                                                            : F32;
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 2, 8, 8), in[2] = { x, x },
                         y = make_value(graph, GRAPH_OUTPUT, 0, type, 4, SIZES(1, 2, 8, 8)),
                         a = make4(graph, GRAPH_TEMP, 0, 1, 2, 8, 8);
    struct graph_operand first = half_of(x, 0), second = half_of(x, 1);
    in[1] = known == TWO_ORDERS ? transposed(x) : x;
    switch (known) {
    case ELEMENT_WISE:
        make_map(graph, KERN_MAP_NEG, &x, 1, y, 0, 0);
        break;
    case TWICE_ALIKE:
    case TWO_ORDERS:
        make_map(graph, KERN_MAP_ADD, in, 2, y, 0, 0);
        break;
    case OTHER_ORDER:
        in[0] = transposed(x);
        make_map(graph, KERN_MAP_NEG, in, 1, y, 0, 0);
        break;
    case READ_BEFORE:
        make_map(graph, KERN_MAP_TANH, &x, 1, a, 0, 0);
        make_move(graph, transposed(a), y);
        break;
    case READ_LATER:
        make_map(graph, KERN_MAP_NEG, &x, 1, y, 0, 0);
        make_map(graph, KERN_MAP_NEG, &second, 1, half_of(y, 0), 0, 0);
        break;
    case OTHER_HALF:
        make_map(graph, KERN_MAP_NEG, &first, 1, half_of(y, 0), 0, 0);
        make_map(graph, KERN_MAP_NEG, &second, 1, half_of(y, 1), 0, 0);
        break;
    case OTHER_WIDTH:
    case SAME_WIDTH:
        make_cast(graph, x, y);
        break;
    case PRODUCT:
        make_gemm(graph, in, 2, y);
        break;
    case SOFTMAX:
        make_softmax(graph, x, y);
        break;
    case COPY:
        make_move(graph, x, y);
        break;
    case TRANSPOSED_COPY:
    default:
        make_move(graph, transposed(x), y);
        break;
    }
}

static void test_known(enum known known)
{
    struct graph graph;
    make_known(&graph, known);
    struct made made = made_of(&graph);
    if (made.aliases) {
        TEST_FOR(graph_aliases_allow(made.aliases, 0, 0) == known_allowed[known], "case %d", known);
        TEST_FOR(graph_aliases_bytes_read(made.aliases, 0) == 512, "case %d", known);
    }
    made_release(&made);
}

/* Two results of one step, and an input that is itself one of them: it may be overwritten before it is stored. */
static void test_several_results(bool stores_input)
{
    struct graph graph;
    graph_init(&graph, 2, 2, 0);
    struct graph_operand in[2], out[2];
    for (uint32_t i = 0; i < 2; i++) {
        in[i] = make4(&graph, GRAPH_INPUT, i, 1, 1, 8, 8);
        out[i] = make4(&graph, GRAPH_OUTPUT, i, 1, 1, 8, 8);
    }
    struct graph_op *op = graph_op_add(&graph, KERN_MAP, in, 2, out, 2);
    op->k.u.map.load_type[0] = op->k.u.map.load_type[1] = F32;
    op->k.u.map.inst[0] = (struct kern_map_inst){ KERN_MAP_ADD, F32, F32, { 0, 1 }, { { 0 } } };
    op->k.u.map.inst[1] = (struct kern_map_inst){ KERN_MAP_SUB, F32, F32, { 0, 1 }, { { 0 } } };
    op->k.u.map.inst_count = 2;
    op->k.u.map.store[0] = 2;
    op->k.u.map.store[1] = stores_input ? 0 : 3;
    struct made made = made_of(&graph);
    for (uint32_t i = 0; made.aliases && i < 4; i++)
        TEST(graph_aliases_allow(made.aliases, i / 2, i % 2) == !stores_input);
    made_release(&made);
}

/* ---- pairs that the specification allows need no copy ---- */

static bool equal_tensors(const DML_BUFFER_TENSOR_DESC *a, const DML_BUFFER_TENSOR_DESC *b)
{
    return a && b && a->DimensionCount == b->DimensionCount && !a->Strides && !b->Strides &&
           !memcmp(a->Sizes, b->Sizes, a->DimensionCount * sizeof(UINT)) &&
           schema_data_type_bits(a->DataType) == schema_data_type_bits(b->DataType);
}

static uint32_t test_pairs(const struct schema_desc *desc, const struct graph_aliases *aliases)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < desc->input_count; i++)
        for (uint32_t o = 0; o < desc->output_count; o++) {
            if (!schema_in_place_allowed(desc->op, i, o) || !equal_tensors(desc->inputs[i], desc->outputs[o]))
                continue;
            TEST_FOR(graph_aliases_allow(aliases, i, o), "%s, output %u over input %u", desc->op->name, o, i);
            pairs++;
        }
    return pairs;
}

static uint32_t test_operator(DML_OPERATOR_TYPE type, const struct graph_options *options)
{
    struct schema_sample_storage storage;
    struct schema_desc *desc = NULL;
    struct graph_aliases *aliases = NULL;
    struct graph_plan *plan = NULL;
    DML_OPERATOR_DESC op;
    struct graph graph;
    char error[512] = "";
    uint32_t pairs = 0;
    if (!TEST(schema_sample(type, &storage, &op) && schema_desc_create(&op, &desc) == S_OK))
        return 0;
    if (SUCCEEDED(graph_from_operator(&graph, desc, 0, error))) {
        HRESULT hr = graph_run_passes(&graph, options);
        if (SUCCEEDED(hr))
            hr = graph_plan_create(&graph, options, &plan, error);
        if (SUCCEEDED(hr))
            hr = graph_aliases_create(plan, &aliases);
        graph_finish(&graph);
        if (TEST_FOR(SUCCEEDED(hr), "%s: %s", desc->op->name, error))
            pairs = test_pairs(desc, aliases);
    }
    graph_aliases_destroy(aliases);
    graph_plan_destroy(plan);
    schema_desc_destroy(desc);
    return pairs;
}

static void test_operators(const struct graph_options *options)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < schema_op_count(); i++)
        pairs += test_operator(schema_op_at(i)->type, options);
    TEST_FOR(pairs > 80, "%u pairs", pairs);
}

/* ---- random graphs ---- */

struct sizes {
    uint64_t in[INPUTS], out[OUTPUTS];
    uint64_t written[OUTPUTS]; /* without the bytes that round a size up */
    bool bound[INPUTS];        /* not OWNED */
};

static void note_sizes(const struct graph *graph, struct sizes *sizes)
{
    memset(sizes, 0, sizeof(*sizes));
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct graph_value *value = &graph->values[v];
        if (value->place == GRAPH_OUTPUT)
            sizes->out[value->index] = value->size_bytes;
        else if (value->place == GRAPH_INPUT || value->place == GRAPH_OWNED)
            sizes->in[value->index] = value->size_bytes;
        if (value->place == GRAPH_INPUT)
            sizes->bound[value->index] = true;
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct kern_op *op = &graph->ops[i]->k;
        const struct graph_value *value = &graph->values[graph->ops[i]->value[op->input_count]];
        if (value->place == GRAPH_OUTPUT)
            sizes->written[value->index] = graph_view_span_bytes(&op->tensors[op->input_count]);
    }
}

static void fill_inputs(uint64_t seed, const struct sizes *sizes, void *const *inputs)
{
    for (uint32_t i = 0; i < INPUTS; i++) {
        state = seed + i;
        for (uint64_t e = 0; e < sizes->in[i] / 4; e++)
            ((float *)inputs[i])[e] = rnd_float();
    }
}

static uint32_t allowed_count, refused_count, wrong_count;

/* As many outputs as possible over inputs for which that is allowed. */
static uint32_t pair_up(const struct graph_aliases *aliases, const struct sizes *sizes, struct make_run *run)
{
    uint32_t pairs = 0, taken = 0;
    for (uint32_t o = 0; o < OUTPUTS; o++)
        for (uint32_t i = 0, from = rnd(INPUTS); i < INPUTS; i++) {
            uint32_t input = (from + i) % INPUTS;
            if (taken >> input & 1 || !sizes->bound[input] || sizes->in[input] != sizes->out[o])
                continue;
            if (!graph_aliases_allow(aliases, input, o)) {
                refused_count++;
                continue;
            }
            run->outputs[o] = run->inputs[input];
            taken |= 1u << input;
            pairs++;
            break;
        }
    return pairs;
}

static void run_twice(uint64_t seed, const struct graph_plan *plan, const struct graph_aliases *aliases,
                      const struct sizes *sizes)
{
    struct make_run apart = { { NULL } }, within;
    void *own[OUTPUTS];
    for (uint32_t i = 0; i < INPUTS; i++)
        apart.inputs[i] = malloc(sizes->in[i]);
    for (uint32_t o = 0; o < OUTPUTS; o++) {
        apart.outputs[o] = malloc(sizes->out[o]);
        own[o] = malloc(sizes->out[o]);
    }
    within = apart;
    memcpy(within.outputs, own, sizeof(own));
    state = seed;
    uint32_t pairs = pair_up(aliases, sizes, &within);
    fill_inputs(seed, sizes, apart.inputs);
    if (pairs && TEST(make_execute(plan, &apart))) {
        fill_inputs(seed, sizes, within.inputs);
        TEST(make_execute(plan, &within));
        for (uint32_t o = 0; o < OUTPUTS; o++)
            wrong_count += !TEST_FOR(!memcmp(apart.outputs[o], within.outputs[o], sizes->written[o]),
                                     "seed %llu, output %u", (unsigned long long)seed, o);
    }
    allowed_count += pairs;
    for (uint32_t i = 0; i < INPUTS; i++)
        free(apart.inputs[i]);
    for (uint32_t o = 0; o < OUTPUTS; o++) {
        free(apart.outputs[o]);
        free(own[o]);
    }
}

static void test_seed(uint64_t seed, const struct graph_options *options)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_aliases *aliases = NULL;
    struct sizes sizes;
    char error[256] = "";
    bool half;
    make_graph(&graph, seed, 0, &half);
    note_sizes(&graph, &sizes);
    HRESULT hr = graph_run_passes(&graph, options);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&graph, options, &plan, error);
    graph_finish(&graph);
    if (SUCCEEDED(hr))
        hr = graph_aliases_create(plan, &aliases);
    if (TEST_FOR(SUCCEEDED(hr), "seed %llu: %s", (unsigned long long)seed, error))
        run_twice(seed, plan, aliases, &sizes);
    graph_aliases_destroy(aliases);
    graph_plan_destroy(plan);
}

/* Arguments: number of graphs, first seed. */
int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 3000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct graph_options plain = make_options(GRAPH_PASSES_ALL), fast;
    base_parallel_enter(2);
    graph_options_init(&fast, &graph_backend_host, 2);
    fast.disabled_passes = 0;
    for (int i = 0; i < KNOWN_COUNT; i++)
        test_known((enum known)i);
    test_several_results(false);
    test_several_results(true);
    test_operators(&plain);
    test_operators(&fast);
    for (uint64_t i = 0; i < count && wrong_count < 10; i++) {
        test_seed(first + i, &plain);
        test_seed(first + i, &fast);
    }
    TEST_FOR(count < 1000 || (allowed_count > count / 10 && refused_count > count / 10), "%u allowed, %u refused",
             allowed_count, refused_count);
    return test_result();
}
