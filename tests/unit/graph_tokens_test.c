/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions between products and element-wise ops that view the pixels as tokens: images become NHWC, and results
 * are those of double precision except for rounding. */
#include "graph_make.h"

#include "base/cpu.h"

#include <math.h>

static uint64_t state;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

enum reader { WHOLE, WINDOWS, SOME_CHANNELS, SOME_PIXELS, ONE_LINE, READERS };

struct net {
    uint32_t batch, channels, height, width, depth;
    enum reader reader;
};

static uint32_t pixels(const struct net *net)
{
    return net->height * net->width;
}

static struct net net_make(uint64_t seed)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct net net = { 1 + rnd(2), 3 + rnd(20), 2 * (1 + rnd(5)), 2 * (1 + rnd(5)), 1 + rnd(9), rnd(READERS) };
    return net;
}

/* What the element-wise op reads of the convolution's result, as tokens or (one line) channel after channel. */
static struct kern_view reader_view(const struct net *net, const struct kern_view *image)
{
    const uint32_t n = net->batch, c = net->channels, h = net->height, w = net->width, p = pixels(net);
    const int64_t whole = (int64_t)c * p;
    struct kern_view out = *image;
    if (net->reader == WINDOWS) {
        out.rank = 6;
        memcpy(out.sizes, SIZES(n, h / 2, w / 2, 2, 2, c), sizeof(uint32_t) * 6);
        memcpy(out.strides, (const int64_t[]){ whole, 2 * w, 2, w, 1, p }, sizeof(int64_t) * 6);
        return out;
    }
    out.rank = 3;
    memcpy(out.sizes, SIZES(n, p, c), sizeof(uint32_t) * 3);
    memcpy(out.strides, (const int64_t[]){ whole, 1, p }, sizeof(int64_t) * 3);
    if (net->reader == SOME_CHANNELS) {
        out.sizes[2]--;
        out.offset += p;
    } else if (net->reader == SOME_PIXELS) {
        out.sizes[1]--;
        out.offset += 1;
    } else if (net->reader == ONE_LINE) {
        out.rank = 2;
        out.sizes[1] = c * p;
        out.strides[1] = 1;
    }
    return out;
}

static void net_graph(const struct net *net, struct graph *graph, struct kern_view *out_read)
{
    const uint32_t n = net->batch, c = net->channels, p = pixels(net);
    graph_init(graph, 2, 1, 0);
    struct graph_operand in[2] = { make_value(graph, GRAPH_INPUT, 0, F32, 3, SIZES(n, p, net->depth)),
                                   make_value(graph, GRAPH_INPUT, 1, F32, 3, SIZES(1, net->depth, c)) };
    in[1].view = graph_view_broadcast(&in[1].view, 3, SIZES(n, net->depth, c));
    struct graph_operand image = graph_temp(graph, F32, 4, SIZES(n, c, net->height, net->width)), tokens = image;
    struct net whole = *net;
    whole.reader = WHOLE;
    tokens.view = reader_view(&whole, &image.view);
    make_gemm(graph, in, 2, tokens);
    struct graph_operand of[2] = { image, make_constant(graph, 4, SIZES(c, 1, 3, 3), -0.7f, 0.037f) };
    struct graph_operand result = graph_temp(graph, F32, 4, image.view.sizes);
    make_conv(graph, of, 2, result, c, 1, 1);
    *out_read = result.view = reader_view(net, &result.view);
    make_map(graph, KERN_MAP_ABS, &result, 1,
             make_value(graph, GRAPH_OUTPUT, 0, F32, result.view.rank, result.view.sizes), 0, 0);
}

/* The depthwise convolution's result at channel c, line i, column j of batch n. */
static double expected(const struct net *net, const struct make_run *run, uint32_t n, uint32_t c, int32_t i, int32_t j)
{
    const float *x = run->inputs[0], *w = run->inputs[1];
    double sum = 0;
    for (int32_t t = 0; t < 9; t++) {
        const int32_t at = i + t / 3 - 1, to = j + t % 3 - 1;
        double value = 0;
        if (at < 0 || to < 0 || at >= (int32_t)net->height || to >= (int32_t)net->width)
            continue;
        const uint32_t token = n * pixels(net) + (uint32_t)at * net->width + (uint32_t)to;
        for (uint32_t k = 0; k < net->depth; k++)
            value += (double)x[token * net->depth + k] * w[k * net->channels + c];
        sum += value * (-0.7 + 0.037 * (c * 9 + (uint32_t)t));
    }
    return fabs(sum);
}

static void check(uint64_t seed, const struct net *net, const struct kern_view *read, const struct make_run *run)
{
    const float *y = run->outputs[0];
    for (uint64_t e = 0; e < kern_view_elements(read); e++) {
        uint64_t rest = e;
        int64_t at = read->offset;
        for (uint32_t d = read->rank; d--; rest /= read->sizes[d])
            at += (int64_t)(rest % read->sizes[d]) * read->strides[d];
        const uint32_t pixel = (uint32_t)at % pixels(net), image = (uint32_t)at / pixels(net);
        const double want = expected(net, run, image / net->channels, image % net->channels,
                                     (int32_t)(pixel / net->width), (int32_t)(pixel % net->width));
        if (!TEST_FOR(fabs(y[e] - want) < 1e-4 * (1 + want), "seed %llu, %llu: %g, not %g", (unsigned long long)seed,
                      (unsigned long long)e, y[e], want))
            return;
    }
}

static float *numbers(uint64_t count)
{
    float *out = malloc(count * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)rnd(2001) / 1000 - 1;
    return out;
}

static bool is_last(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (!graph->ops[i]->dead && graph->ops[i]->k.kind == KERN_CONV)
            return graph->ops[i]->k.tensors[0].strides[1] == 1 && graph->ops[i]->k.tensors[2].strides[1] == 1;
    return false;
}

static void one(uint64_t seed, uint32_t cpu)
{
    const struct net net = net_make(seed);
    struct graph graph;
    struct kern_view read;
    net_graph(&net, &graph, &read);
    const uint64_t rows = (uint64_t)net.batch * pixels(&net);
    struct make_run run = { { numbers(rows * net.depth), numbers((uint64_t)net.depth * net.channels) },
                            { numbers(rows * net.channels) } };
    struct graph_options options = make_options(0);
    options.cpu = cpu;
    HRESULT hr = graph_run_passes(&graph, &options);
    TEST_FOR(is_last(&graph) == (net.reader != ONE_LINE), "seed %llu, reader %d", (unsigned long long)seed, net.reader);
    if (make_run_graph(&graph, &options, hr, seed, &run))
        check(seed, &net, &read, &run);
    free(run.inputs[0]);
    free(run.inputs[1]);
    free(run.outputs[0]);
}

int main(void)
{
    for (uint64_t seed = 0; seed < 80; seed++)
        one(seed, seed & 1 ? base_cpu_flags() : 0);
    return test_result();
}
