/* SPDX-License-Identifier: Apache-2.0 */
/* Passes and planning take as long for each op of a large graph as of a small one. Counted are the branches that
 * src/graph goes through, for which this program has it compiled with -fsanitize-coverage=trace-pc: no clock, so that
 * neither the machine nor its load matter. */
#include "graph_make.h"

#include "test.h"

#define SMALL 300u
#define LARGE 4800u
/* Times as many branches for each op. n log n is allowed, which gives 1.49: products of one matrix are merged eight by
 * eight, round after round. */
#define GROWTH_MAX 1.5

static uint64_t branches;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    branches++;
}

typedef void make_fn(struct graph *graph, uint32_t count);

static struct graph_operand row(struct graph *graph, enum graph_place place)
{
    return make_value(graph, place, 0, F32, 2, SIZES(4, 16));
}

/* The last step of what count steps make of a value; the first one reads the input. */
#define LAST(i, count) ((i) + 1 == (count) ? GRAPH_OUTPUT : GRAPH_TEMP)

static void make_chain(struct graph *graph, uint32_t count)
{
    static const enum kern_map_code codes[] = { KERN_MAP_TANH, KERN_MAP_ABS, KERN_MAP_EXP, KERN_MAP_NEG };
    struct graph_operand x = row(graph, GRAPH_INPUT), y;
    for (uint32_t i = 0; i < count; i++, x = y) {
        y = row(graph, LAST(i, count));
        make_map(graph, codes[i % ARRAY_SIZE(codes)], &x, 1, y, 0, 0);
    }
}

/* Products of one weight, which is a constant, or owned: packed by the initializer then. */
static void make_shared(struct graph *graph, uint32_t count, bool owned)
{
    struct graph_operand x = row(graph, GRAPH_INPUT), y, z;
    struct graph_operand w = make_constant(graph, 2, SIZES(16, 16), 0, 0.01f);
    if (owned)
        w = make_value(graph, GRAPH_OWNED, 1, F32, 2, SIZES(16, 16));
    for (uint32_t i = 0; i < count; i++, x = z) {
        y = row(graph, GRAPH_TEMP);
        z = row(graph, LAST(i, count));
        make_gemm(graph, (struct graph_operand[]){ x, w }, 2, y);
        make_map(graph, KERN_MAP_TANH, &y, 1, z, 0, 0);
    }
}

static void make_shared_constant(struct graph *graph, uint32_t count)
{
    make_shared(graph, count, false);
}

static void make_shared_owned(struct graph *graph, uint32_t count)
{
    make_shared(graph, count, true);
}

/* Everything reads one tensor, half of it alike, and all results live until the end. */
static void make_fan(struct graph *graph, uint32_t count)
{
    struct graph_operand x = row(graph, GRAPH_INPUT), *leaf = calloc(count, sizeof(*leaf));
    uint32_t left = count;
    for (uint32_t i = 0; i < count; i++) {
        leaf[i] = row(graph, GRAPH_TEMP);
        if (i % 2)
            make_map(graph, KERN_MAP_SIN, &x, 1, leaf[i], 0, 0);
        else
            make_softmax(graph, x, leaf[i]);
        if (i % 4)
            continue;
        leaf[i] = row(graph, GRAPH_TEMP);
        make_map(graph, KERN_MAP_MULADD, &x, 1, leaf[i], (float)i, 1);
    }
    for (; left > 1; left = (left + 1) / 2)
        for (uint32_t i = 0; i < left / 2; i++) {
            struct graph_operand sum = row(graph, left == 2 ? GRAPH_OUTPUT : GRAPH_TEMP);
            make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ leaf[2 * i], leaf[2 * i + 1] }, 2, sum, 0, 0);
            leaf[i] = sum;
            if (2 * i + 3 == left)
                leaf[i + 1] = leaf[left - 1];
        }
    free(leaf);
}

/* Results of as many ops, side by side in one tensor: along its first dimension, or within each line. */
static void make_join(struct graph *graph, uint32_t count, bool lines)
{
    struct graph_operand x = row(graph, GRAPH_INPUT);
    struct graph_operand all =
        make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(lines ? 4 : 4 * count, lines ? 16 * count : 16));
    for (uint32_t i = 0; i < count; i++) {
        struct graph_operand part = row(graph, GRAPH_TEMP), soft = row(graph, GRAPH_TEMP), to = all;
        make_map(graph, KERN_MAP_MULADD, &x, 1, part, (float)i, 1);
        make_softmax(graph, part, soft);
        to.view.sizes[0] = 4;
        to.view.sizes[1] = 16;
        to.view.offset = lines ? (int64_t)i * 16 : (int64_t)i * 64;
        make_move(graph, soft, to);
    }
}

static void make_join_lines(struct graph *graph, uint32_t count)
{
    make_join(graph, count, true);
}

static void make_join_blocks(struct graph *graph, uint32_t count)
{
    make_join(graph, count, false);
}

/* One tensor copied to all parts of another. */
static void make_copies(struct graph *graph, uint32_t count)
{
    struct graph_operand x = row(graph, GRAPH_INPUT), y = row(graph, GRAPH_TEMP);
    struct graph_operand all = make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(4 * count, 16));
    make_softmax(graph, x, y);
    for (uint32_t i = 0; i < count; i++) {
        struct graph_operand to = all;
        to.view.sizes[0] = 4;
        to.view.offset = (int64_t)i * 64;
        make_move(graph, y, to);
    }
}

/* Copies on end. */
static void make_moves(struct graph *graph, uint32_t count)
{
    struct graph_operand x = row(graph, GRAPH_INPUT), y;
    for (uint32_t i = 0; i < count; i++, x = y) {
        y = row(graph, LAST(i, count));
        make_move(graph, x, y);
        if (i % 8 != 7 || i + 1 == count)
            continue;
        x = y;
        y = row(graph, GRAPH_TEMP);
        make_softmax(graph, x, y);
    }
}

/* Products of one matrix with a constant of its own each. */
static void make_heads(struct graph *graph, uint32_t count)
{
    struct graph_operand x = row(graph, GRAPH_INPUT);
    struct graph_operand all = make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(4 * count, 16));
    for (uint32_t i = 0; i < count; i++) {
        struct graph_operand w = make_constant(graph, 2, SIZES(16, 16), (float)i, 0.01f), y = row(graph, GRAPH_TEMP);
        struct graph_operand to = all;
        make_gemm(graph, (struct graph_operand[]){ x, w }, 2, y);
        to.view.sizes[0] = 4;
        to.view.offset = (int64_t)i * 64;
        make_softmax(graph, y, to);
    }
}

static void make_residual(struct graph *graph, uint32_t count)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 4, 4, 4);
    for (uint32_t i = 0; i < count; i++) {
        struct graph_operand w = make_constant(graph, 4, SIZES(4, 4, 3, 3), (float)i, 0.01f);
        struct graph_operand scale = make_constant(graph, 4, SIZES(1, 4, 1, 1), 1, 0.1f);
        struct graph_operand y = make4(graph, GRAPH_TEMP, 0, 1, 4, 4, 4), z = make4(graph, GRAPH_TEMP, 0, 1, 4, 4, 4);
        make_conv(graph, (struct graph_operand[]){ x, w }, 2, y, 1, 1, 1);
        make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ y, scale }, 2, z, 0, 0);
        struct graph_operand sum = make4(graph, GRAPH_TEMP, 0, 1, 4, 4, 4);
        make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ z, x }, 2, sum, 0, 0);
        x = make4(graph, LAST(i, count), 0, 1, 4, 4, 4);
        make_map(graph, KERN_MAP_RELU, &sum, 1, x, 0, 0);
    }
}

/* Dequantised bytes through convolutions and products, quantised again. */
static void make_quantised(struct graph *graph, uint32_t count)
{
    const DML_TENSOR_DATA_TYPE i8 = DML_TENSOR_DATA_TYPE_INT8;
    int32_t weights[16] = { 3, -5, 7 };
    struct graph_operand scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.05f, 0);
    struct graph_operand zero = make_integers(graph, i8, 4, SIZES(1, 1, 1, 1), (const int32_t[]){ 3 });
    struct graph_operand none = make_integers(graph, i8, 4, SIZES(1, 1, 1, 1), (const int32_t[]){ 0 });
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, i8, 4, SIZES(1, 4, 4, 4));
    for (uint32_t i = 0; i < count; i++) {
        weights[0] = (int32_t)i % 100;
        struct graph_operand w = make_integers(graph, i8, 4, SIZES(4, 4, 1, 1), weights), fw, x, y;
        make_scaled(graph, false, q, scale, zero, x = make4(graph, GRAPH_TEMP, 0, 1, 4, 4, 4));
        make_scaled(graph, false, w, scale, none, fw = make4(graph, GRAPH_TEMP, 0, 4, 4, 1, 1));
        make_conv(graph, (struct graph_operand[]){ x, fw }, 2, y = make4(graph, GRAPH_TEMP, 0, 1, 4, 4, 4), 1, 1, 0);
        q = make_value(graph, LAST(i, count), 0, i8, 4, SIZES(1, 4, 4, 4));
        make_scaled(graph, true, y, scale, zero, q);
    }
}

static uint64_t count_branches(make_fn *make, uint32_t size, struct graph_store *store, const char *name)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_options options = make_options(0);
    char error[256] = "";
    options.store = store;
    graph_init(&graph, 2, 1, 0);
    make(&graph, size);
    uint32_t ops = graph.op_count;
    branches = 0;
    HRESULT hr = graph_run_passes(&graph, &options);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&graph, &options, &plan, error);
    uint64_t counted = branches;
    graph_finish(&graph);
    graph_plan_destroy(plan);
    TEST_FOR(SUCCEEDED(hr), "%s: %s", name, error);
    return counted / ops;
}

int main(void)
{
    static const struct {
        const char *name;
        make_fn *make;
    } shapes[] = {
        { "chain", make_chain },
        { "shared constant", make_shared_constant },
        { "shared owned weight", make_shared_owned },
        { "fan", make_fan },
        { "joined lines", make_join_lines },
        { "joined blocks", make_join_blocks },
        { "copies of one tensor", make_copies },
        { "moves", make_moves },
        { "heads", make_heads },
        { "residual", make_residual },
        { "quantised", make_quantised },
    };
    struct graph_store *store = graph_store_create();
    TEST(store != NULL);
    for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        uint64_t small = count_branches(shapes[i].make, SMALL, store, shapes[i].name);
        uint64_t large = count_branches(shapes[i].make, LARGE, store, shapes[i].name);
        printf("%s: %llu branches for each op of %u, %llu of %u\n", shapes[i].name, (unsigned long long)small, SMALL,
               (unsigned long long)large, LARGE);
        TEST_FOR(small > 100 && (double)large < GROWTH_MAX * (double)small, "%s grows faster than the graph",
                 shapes[i].name);
    }
    graph_store_destroy(store);
    return test_result();
}
