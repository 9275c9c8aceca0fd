/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers. A node with a seed makes the same ones in every process, and other ones in each run; without a seed
 * they differ between processes. ONNX leaves the generator open. */
#include "base/clock.h"
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

struct generator {
    uint64_t state;
    bool spare; /* the second of two normal numbers */
    double second;
};

/* SplitMix64: a counter with steps of the golden ratio, mixed. */
static uint64_t next_bits(struct generator *g)
{
    uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From 0 to below 1. */
static double next_real(struct generator *g)
{
    return (double)(next_bits(g) >> 11) * 0x1p-53;
}

/* Two for each pair of uniform ones (Box and Muller). */
static double next_normal(struct generator *g)
{
    if (g->spare) {
        g->spare = false;
        return g->second;
    }
    double radius = sqrt(-2 * log(1 - next_real(g))), angle = 2 * M_PI * next_real(g);
    g->spare = true;
    g->second = radius * sin(angle);
    return radius * cos(angle);
}

/* The node's own, which continues from run to run. */
static HRESULT generator_of(struct onnx_host_call *c, struct generator **out)
{
    const struct onnx_attribute *seed = onnx_attribute(c->node, "seed");
    *out = *c->kept;
    if (*out)
        return S_OK;
    struct generator *g = *out = *c->kept = calloc(1, sizeof(*g));
    if (!g)
        return onnx_host_no_memory(c);
    if (seed) {
        uint32_t bits;
        memcpy(&bits, &seed->f, sizeof(bits));
        g->state = bits;
    } else {
        g->state = base_now_ns() ^ (uint64_t)(uintptr_t)g << 20;
    }
    next_bits(g);
    return S_OK;
}

static bool is_float(int64_t type)
{
    return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16 || type == ONNX_BFLOAT16;
}

/* Of a shape attribute, or of an input. */
static HRESULT make(struct onnx_host_call *c, bool floats, int64_t otherwise)
{
    const struct onnx_array *like = onnx_host_in(c, 0);
    const struct onnx_attribute *shape = onnx_attribute(c->node, "shape"), *type = onnx_attribute(c->node, "dtype");
    const int64_t made = type ? type->i : like ? like->type : otherwise;
    int64_t dims[ONNX_RANK_MAX];
    if (made < 0 || made > INT32_MAX || !onnx_type_bytes((int32_t)made) || made == ONNX_INT4 || made == ONNX_UINT4 ||
        (floats && !is_float(made)))
        return onnx_flow_fail(c->flow, c->node, "results of data type %lld are not supported", (long long)made);
    if (like)
        return onnx_host_make(c, 0, (int32_t)made, like->rank, like->dims);
    const uint32_t rank = shape && shape->ints ? shape->count : 0;
    if (c->node->input_count || rank > ONNX_RANK_MAX)
        return onnx_flow_fail(c->flow, c->node, "the shape is missing or has more than 8 dimensions");
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = shape->ints[i];
        if (dims[i] < 0)
            return onnx_flow_fail(c->flow, c->node, "shape[%u] is %lld", i, (long long)dims[i]);
    }
    return onnx_host_make(c, 0, (int32_t)made, rank, dims);
}

HRESULT onnx_host_random(struct onnx_host_call *c)
{
    const bool normal = !strncmp(c->node->op, "RandomNormal", 12);
    const double from = onnx_attr_float(c->node, normal ? "mean" : "low", 0);
    const double scale = normal ? onnx_attr_float(c->node, "scale", 1) : onnx_attr_float(c->node, "high", 1) - from;
    struct generator *g;
    HRESULT hr = generator_of(c, &g);
    if (SUCCEEDED(hr))
        hr = make(c, true, ONNX_FLOAT);
    if (FAILED(hr) || !c->out[0].data)
        return hr;
    for (int64_t i = 0, count = onnx_host_elements(&c->out[0]); i < count; i++)
        onnx_host_set_real(&c->out[0], i, from + scale * (normal ? next_normal(g) : next_real(g)));
    return S_OK;
}

HRESULT onnx_host_bernoulli(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    struct generator *g;
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr))
        hr = generator_of(c, &g);
    if (SUCCEEDED(hr))
        hr = make(c, false, ONNX_FLOAT);
    for (int64_t i = 0; SUCCEEDED(hr) && c->out[0].data && i < onnx_host_elements(x); i++)
        onnx_host_set_real(&c->out[0], i, next_real(g) < onnx_host_real(x, i));
    return hr;
}

/* A class, of weights that are powers of e; the largest one has the weight 1. */
static int64_t draw(struct generator *g, const struct onnx_array *x, int64_t row, int64_t classes)
{
    double most = -INFINITY, sum = 0;
    int64_t k = 0, last = 0;
    for (int64_t i = 0; i < classes; i++)
        most = fmax(most, onnx_host_real(x, row * classes + i));
    for (int64_t i = 0; i < classes; i++) {
        double weight = exp(onnx_host_real(x, row * classes + i) - most);
        sum += weight;
        last = weight > 0 ? i : last;
    }
    for (double at = next_real(g) * sum; k < last; k++) {
        at -= exp(onnx_host_real(x, row * classes + k) - most);
        if (at < 0)
            break;
    }
    return k;
}

HRESULT onnx_host_multinomial(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    struct generator *g = NULL;
    int64_t type = onnx_attr_int(c->node, "dtype", ONNX_INT32), samples = onnx_attr_int(c->node, "sample_size", 1);
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr) && (x->rank != 2 || !x->dims[1] || samples < 1 || (type != ONNX_INT32 && type != ONNX_INT64)))
        hr = onnx_flow_fail(c->flow, c->node,
                            "%lld samples of type %lld from an input of %u dimensions: it must be [batch, "
                            "classes]",
                            (long long)samples, (long long)type, x->rank);
    if (SUCCEEDED(hr))
        hr = generator_of(c, &g);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, (int32_t)type, 2, (int64_t[]){ x->dims[0], samples });
    for (int64_t i = 0; SUCCEEDED(hr) && c->out[0].data && i < x->dims[0] * samples; i++)
        onnx_host_set_int(&c->out[0], i, draw(g, x, i / samples, x->dims[1]));
    return hr;
}
