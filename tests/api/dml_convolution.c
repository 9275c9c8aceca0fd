/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of convolutions as training clients request them: as convolutions whose outputs are smaller or larger
 * than the attributes imply. */
#include "dml_test.h"

enum { CASES = 160, ELEMENTS_MAX = 4096 };

static uint32_t state = 1;

static UINT pick(UINT from, UINT to)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return from + state % (to - from + 1);
}

/* dy = convolution of x [n, c, h[0], h[1]] with w [o, c, k[0], k[1]]. */
struct geometry {
    UINT n, c, o, in[2], out[2], kernel[2], stride[2], dilation[2], start[2], end[2];
};

static struct geometry geometry(void)
{
    struct geometry g = { pick(1, 3), pick(1, 9), pick(1, 9) };
    for (int d = 0; d < 2; d++) {
        g.in[d] = pick(1, 11);
        g.stride[d] = pick(1, 3);
        g.dilation[d] = pick(1, 2);
        g.kernel[d] = pick(1, 4);
        UINT span = (g.kernel[d] - 1) * g.dilation[d] + 1;
        g.start[d] = pick(0, span - 1);
        g.end[d] = pick(0, span - 1);
        while (g.in[d] + g.start[d] + g.end[d] < span)
            g.end[d]++;
        g.out[d] = (g.in[d] + g.start[d] + g.end[d] - span) / g.stride[d] + 1;
    }
    return g;
}

struct operand {
    struct tensor tensor;
    UINT strides[4];
};

/* Sizes n, c, h, w of elements stored with the first two dimensions exchanged if `transposed`. */
static const DML_TENSOR_DESC *operand(struct operand *out, const UINT *sizes, bool transposed)
{
    UINT plane = sizes[2] * sizes[3];
    const DML_TENSOR_DESC *desc =
        tensor_f32(&out->tensor, sizes[0], sizes[1], sizes[2], sizes[3], DML_TENSOR_FLAG_NONE);
    const UINT strides[] = { transposed ? plane : sizes[1] * plane, transposed ? sizes[0] * plane : plane, sizes[3],
                             1 };
    memcpy(out->strides, strides, sizeof(strides));
    out->tensor.buffer.Strides = out->strides;
    return desc;
}

static void fill(float *data, UINT count)
{
    for (UINT i = 0; i < count; i++)
        data[i] = (float)pick(0, 8) - 4; /* sums of products are exact */
}

static UINT elements(const UINT *sizes)
{
    return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

struct input {
    const float *data;
    UINT count;
};

/* The operator's result for its two inputs. */
static void run(struct rig *rig, const DML_CONVOLUTION_OPERATOR_DESC *desc, struct input a, struct input b, float *out,
                UINT out_count)
{
    IDMLOperator *made = make_operator(rig->dml, DML_OPERATOR_CONVOLUTION, desc);
    IDMLCompiledOperator *op = compile(rig->dml, made, DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    struct bound in[] = { buffer_of(rig, a.data, a.count * 4u), buffer_of(rig, b.data, b.count * 4u), { 0 } };
    memset(out, 0xff, out_count * sizeof(*out));
    struct bound to = buffer_of(rig, out, out_count * 4u);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, in);
    bind_outputs(table, 1, &to);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, to.buffer, 0, out, out_count * sizeof(*out));
    rig_set_heap(rig);
    api_release(table);
    api_release(in[0].buffer);
    api_release(in[1].buffer);
    api_release(to.buffer);
    prepared_release(&prepared);
    api_release(op);
}

static void compare(const char *what, UINT number, const float *got, const double *want, UINT count)
{
    UINT wrong = 0;
    for (UINT i = 0; i < count; i++)
        wrong += got[i] != (float)want[i];
    ok(!wrong, "case %u: %u of %u elements of the gradient of %s are wrong", number, wrong, count, what);
}

/* Both gradients by the definition, element by element. */
static void differentiate(const struct geometry *g, const float *x, const float *w, const float *dy, double *dx,
                          double *dw)
{
    const UINT taps = g->kernel[0] * g->kernel[1], pixels = g->out[0] * g->out[1];
    memset(dx, 0, sizeof(*dx) * g->n * g->c * g->in[0] * g->in[1]);
    memset(dw, 0, sizeof(*dw) * g->o * g->c * taps);
    for (UINT i = 0; i < g->n * g->o * pixels * taps; i++) {
        UINT tap = i % taps, pixel = i / taps % pixels, o = i / taps / pixels % g->o, n = i / taps / pixels / g->o;
        UINT row = pixel / g->out[1] * g->stride[0] + tap / g->kernel[1] * g->dilation[0] - g->start[0];
        UINT column = pixel % g->out[1] * g->stride[1] + tap % g->kernel[1] * g->dilation[1] - g->start[1];
        if (row >= g->in[0] || column >= g->in[1])
            continue;
        for (UINT c = 0; c < g->c; c++) {
            UINT at = ((n * g->c + c) * g->in[0] + row) * g->in[1] + column, weight = (o * g->c + c) * taps + tap;
            dx[at] += (double)dy[(n * g->o + o) * pixels + pixel] * w[weight];
            dw[weight] += (double)dy[(n * g->o + o) * pixels + pixel] * x[at];
        }
    }
}

/* Of the weights: x with channels as its batch, convolved with dy, with strides and dilations exchanged; the output has
 * the size of the window, whatever the rest of x. `bare`: clients that state only padding at the start. */
static void weight_gradient(struct rig *rig, const struct geometry *g, const float *x, const float *dy, bool bare,
                            float *out)
{
    const UINT a[] = { g->c, g->n, g->in[0], g->in[1] }, b[] = { g->o, g->n, g->out[0], g->out[1] };
    const UINT y[] = { g->c, g->o, g->kernel[0], g->kernel[1] }, none[2] = { 0, 0 };
    struct operand tensors[3];
    const DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = operand(&tensors[0], a, true),
        .FilterTensor = operand(&tensors[1], b, true),
        .OutputTensor = operand(&tensors[2], y, true),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = 2,
        .Strides = g->dilation,
        .Dilations = g->stride,
        .StartPadding = g->start,
        .EndPadding = bare ? none : g->end,
        .OutputPadding = none,
        .GroupCount = 1,
    };
    run(rig, &desc, (struct input){ x, elements(a) }, (struct input){ dy, elements(b) }, out, elements(y));
}

/* Of the input: the transposed convolution; or for steps of 1 the convolution with transposed weights. */
static void input_gradient(struct rig *rig, const struct geometry *g, const float *w, const float *dy, bool forward,
                           bool bare, float *out)
{
    const UINT a[] = { g->n, g->o, g->out[0], g->out[1] }, y[] = { g->n, g->c, g->in[0], g->in[1] };
    const UINT plain[] = { g->o, g->c, g->kernel[0], g->kernel[1] };
    const UINT transposed[] = { g->c, g->o, g->kernel[0], g->kernel[1] }, none[2] = { 0, 0 };
    const UINT start[] = { (g->kernel[0] - 1) * g->dilation[0] - g->start[0],
                           (g->kernel[1] - 1) * g->dilation[1] - g->start[1] };
    struct operand tensors[3];
    const DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = operand(&tensors[0], a, false),
        .FilterTensor = operand(&tensors[1], forward ? transposed : plain, forward),
        .OutputTensor = operand(&tensors[2], y, false),
        .Mode = forward ? DML_CONVOLUTION_MODE_CONVOLUTION : DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = forward ? DML_CONVOLUTION_DIRECTION_FORWARD : DML_CONVOLUTION_DIRECTION_BACKWARD,
        .DimensionCount = 2,
        .Strides = g->stride,
        .Dilations = g->dilation,
        .StartPadding = forward ? start : g->start,
        .EndPadding = bare || forward ? none : g->end,
        .OutputPadding = none,
        .GroupCount = 1,
    };
    run(rig, &desc, (struct input){ dy, elements(a) }, (struct input){ w, elements(plain) }, out, elements(y));
}

static void test_case(struct rig *rig, UINT number)
{
    static float x[ELEMENTS_MAX], w[ELEMENTS_MAX], dy[ELEMENTS_MAX], got[ELEMENTS_MAX];
    static double dx[ELEMENTS_MAX], dw[ELEMENTS_MAX];
    const struct geometry g = geometry();
    const UINT in = g.n * g.c * g.in[0] * g.in[1], weights = g.o * g.c * g.kernel[0] * g.kernel[1];
    const UINT out = g.n * g.o * g.out[0] * g.out[1];
    need(in <= ELEMENTS_MAX && weights <= ELEMENTS_MAX && out <= ELEMENTS_MAX);
    fill(x, in);
    fill(w, weights);
    fill(dy, out);
    differentiate(&g, x, w, dy, dx, dw);
    for (int bare = 0; bare < 2; bare++) {
        weight_gradient(rig, &g, x, dy, bare, got);
        compare("weights", number, got, dw, weights);
        input_gradient(rig, &g, w, dy, false, bare, got);
        compare("the input", number, got, dx, in);
    }
    if (g.stride[0] == 1 && g.stride[1] == 1) {
        input_gradient(rig, &g, w, dy, true, true, got);
        compare("the input, as a convolution", number, got, dx, in);
    }
}

/* Nearly all windows are far outside of the input: compiling must not take longer. */
static void test_far(struct rig *rig)
{
    static const UINT x[] = { 1, 1, 4, 4 }, w[] = { 1, 1, 2, 2 }, y[] = { 1, 1, 60, 60 };
    static const UINT steps[] = { 1 << 20, 1 << 20 }, ones[] = { 1, 1 }, none[] = { 0, 0 };
    static const float weights[] = { 1, 2, 3, 4 };
    static float image[16], got[3600];
    static double want[3600];
    struct operand tensors[3];
    const DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = operand(&tensors[0], x, false),
        .FilterTensor = operand(&tensors[1], w, false),
        .OutputTensor = operand(&tensors[2], y, false),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .DimensionCount = 2,
        .Strides = steps,
        .Dilations = ones,
        .StartPadding = none,
        .EndPadding = none,
        .OutputPadding = none,
        .GroupCount = 1,
    };
    for (int i = 0; i < 16; i++)
        image[i] = (float)i;
    want[0] = 0 * 1 + 1 * 2 + 4 * 3 + 5 * 4;
    run(rig, &desc, (struct input){ image, 16 }, (struct input){ weights, 4 }, got, 3600);
    compare("nothing, a convolution of long strides", 0, got, want, 3600);
}

int main(void)
{
    api_begin();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    test_far(&rig);
    for (UINT i = 0; i < CASES; i++)
        test_case(&rig, i);
    ok_hr(dml_reason(&rig), S_OK);
    rig_destroy(&rig);
    return rig_end();
}
