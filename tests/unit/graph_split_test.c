/* SPDX-License-Identifier: Apache-2.0 */
/* Products with long sums, planned for many threads: in parts or whole, results are those of double precision except
 * for rounding. */
#include "graph_make.h"

#include "base/cpu.h"

#include "test.h"

#include <math.h>

static uint64_t state;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

struct product {
    uint32_t batch, m, n, k, threads;
    bool a_transposed, b_transposed, b_shared, has_c, c_row, relu;
    float alpha, beta;
};

static struct product product_make(uint64_t seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct product p = { .batch = 1 + rnd(2), .m = 1 + rnd(9), .n = 1 + rnd(60), .k = 1500 + rnd(9000) };
    p.threads = 1 + rnd(12);
    p.a_transposed = rnd(2);
    p.b_transposed = rnd(2);
    p.b_shared = rnd(2);
    p.has_c = rnd(2);
    p.c_row = rnd(2);
    p.relu = rnd(3) == 0;
    p.alpha = rnd(2) ? 1 : 0.5f;
    p.beta = rnd(2) ? 1 : 2;
    return p;
}

/* A matrix of each batch, whose last two dimensions may lie the other way round. */
static struct graph_operand matrix(struct graph *graph, uint32_t index, uint32_t batch, uint32_t rows, uint32_t columns,
                                   bool transposed)
{
    struct graph_operand out = make_value(graph, GRAPH_INPUT, index, F32, 3,
                                          SIZES(batch, transposed ? columns : rows, transposed ? rows : columns));
    if (transposed)
        out.view = graph_view_permute(&out.view, SIZES(0, 2, 1));
    return out;
}

static void product_graph(const struct product *p, struct graph *graph, struct kern_view views[3])
{
    graph_init(graph, 3, 1, 0);
    struct graph_operand in[3] = { matrix(graph, 0, p->batch, p->m, p->k, p->a_transposed),
                                   matrix(graph, 1, p->b_shared ? 1 : p->batch, p->k, p->n, p->b_transposed),
                                   matrix(graph, 2, 1, p->c_row ? 1 : p->m, p->n, false) };
    struct graph_operand y = make_value(graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(p->batch, p->m, p->n)), sum = y;
    in[1].view = graph_view_broadcast(&in[1].view, 3, SIZES(p->batch, p->k, p->n));
    in[2].view = graph_view_broadcast(&in[2].view, 3, y.view.sizes);
    if (p->relu)
        sum = graph_temp(graph, F32, 3, y.view.sizes);
    struct graph_op *op = make_gemm(graph, in, p->has_c ? 3 : 2, sum);
    op->k.u.gemm.alpha = p->alpha;
    op->k.u.gemm.beta = p->beta;
    if (p->relu)
        make_map(graph, KERN_MAP_RELU, &sum, 1, y, 0, 0);
    for (uint32_t t = 0; t < 3; t++)
        views[t] = in[t].view;
}

static double at(const float *data, const struct kern_view *view, uint32_t i, uint32_t j, uint32_t k)
{
    return data[i * view->strides[0] + j * view->strides[1] + k * view->strides[2]];
}

static void check(uint64_t seed, const struct product *p, const struct kern_view views[3], const struct make_run *run)
{
    const float *y = run->outputs[0];
    for (uint32_t i = 0; i < p->batch * p->m * p->n; i++) {
        uint32_t b = i / (p->m * p->n), m = i / p->n % p->m, n = i % p->n;
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < p->k; k++) {
            double term = at(run->inputs[0], &views[0], b, m, k) * at(run->inputs[1], &views[1], b, k, n);
            sum += term;
            size += fabs(term);
        }
        const double c = p->has_c ? p->beta * at(run->inputs[2], &views[2], b, m, n) : 0;
        sum = sum * p->alpha + c;
        size = size * fabs(p->alpha) + fabs(c);
        if (p->relu && sum < 0)
            sum = 0;
        /* Each term is rounded with its products, by alpha and once for each sum that it is in. */
        if (!TEST_FOR(fabs(y[i] - sum) <= (p->k + 3) * 0x1p-24 * size, "seed %llu, element %u: %g, not %g",
                      (unsigned long long)seed, i, y[i], sum))
            return;
    }
}

static uint32_t split;

static void one(uint64_t seed, uint32_t cpu)
{
    struct product p = product_make(seed);
    struct graph graph;
    struct kern_view views[3];
    struct make_run run = { 0 };
    product_graph(&p, &graph, views);
    for (uint32_t t = 0; t < 3; t++) {
        uint64_t count = graph.values[t].size_bytes / sizeof(float);
        float *data = run.inputs[t] = malloc(count * sizeof(float));
        for (uint64_t i = 0; i < count; i++)
            data[i] = (float)rnd(2000) / 1000 - 1;
    }
    uint64_t bytes = graph.values[3].size_bytes;
    run.outputs[0] = malloc(bytes);
    memset(run.outputs[0], 0xa5, bytes);
    struct graph_options options = make_options(0);
    options.cpu = cpu;
    options.threads = p.threads;
    HRESULT hr = graph_run_passes(&graph, &options);
    char *text = graph_print(&graph);
    split += text && strstr(text, "reduce");
    free(text);
    if (make_run_graph(&graph, &options, hr, seed, &run))
        check(seed, &p, views, &run);
    for (uint32_t t = 0; t < 3; t++)
        free(run.inputs[t]);
    free(run.outputs[0]);
}

/* softmax(x) times y, with sums as long as others that are split. */
static void attention_stays(void)
{
    struct graph graph;
    graph_init(&graph, 2, 1, 0);
    struct graph_operand x = make_value(&graph, GRAPH_INPUT, 0, F32, 3, SIZES(2, 4, 5000));
    struct graph_operand y = make_value(&graph, GRAPH_INPUT, 1, F32, 3, SIZES(2, 5000, 32));
    struct graph_operand weights = graph_temp(&graph, F32, 3, x.view.sizes);
    make_softmax(&graph, x, weights);
    make_gemm(&graph, (struct graph_operand[]){ weights, y }, 2,
              make_value(&graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(2, 4, 32)));
    struct graph_options options = make_options(0);
    options.threads = 8;
    TEST(graph_run_passes(&graph, &options) == S_OK);
    char *text = graph_print(&graph);
    TEST(text && !strstr(text, "reduce"));
    free(text);
    graph_finish(&graph);
}

int main(void)
{
    attention_stays();
    for (uint64_t seed = 0; seed < 60; seed++)
        one(seed, seed & 1 ? base_cpu_flags() : 0);
    TEST_FOR(split > 10 && split < 50, "%u of 60 products were split", split);
    return test_result();
}
