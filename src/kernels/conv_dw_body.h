/* The depthwise convolution of conv_dw.h; included once per instruction set. */
#include "kernels/conv_dw.h"
#include "kernels/dense_vec.h"

struct conv_dw {
    struct conv_shape s;
    struct conv_dw_plan plan;
    const struct kern_call *call;
    float *rows, *zeros, *line, *out, *weights;
    const float **taps;
    void *epilogue;
    int64_t *slot_row; /* which input row each slot holds */
    int64_t x_at; /* element of the channel's first element */
};

static void conv_dw_init(struct conv_dw *d, const struct kern_call *call)
{
    d->call = call;
    conv_shape_init(call->op, &d->s);
    conv_dw_plan_init(&d->s, &d->plan);
    uint64_t row = (uint64_t)d->plan.phase * (uint64_t)d->s.stride[2];
    float *at = call->worker_scratch;
    d->rows = at;
    d->zeros = at + row * d->plan.slots;
    d->line = d->zeros + row;
    d->out = d->line + d->plan.line;
    d->weights = d->out + d->plan.width;
    d->taps = (const float **)(at + d->plan.floats);
    d->slot_row = (int64_t *)(d->taps + d->plan.taps);
    d->epilogue = (void *)base_align_up((uint64_t)(uintptr_t)(d->slot_row + d->plan.slots), 64);
    memset(at, 0, d->plan.floats * sizeof(float));
}

static void conv_dw_split(const float *restrict line, int64_t stride, int64_t count, float *restrict phase)
{
    if (stride == 2) {
        for (int64_t i = 0; i < count; i++)
            phase[i] = line[i * 2];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        phase[i] = line[i * stride];
}

static float *conv_dw_slot(const struct conv_dw *d, int64_t row)
{
    return d->rows + (uint64_t)(row % d->plan.slots) * d->plan.phase * (uint64_t)d->s.stride[2];
}

static void conv_dw_load(struct conv_dw *d, int64_t row)
{
    const struct conv_shape *s = &d->s;
    float *slot = conv_dw_slot(d, row), *line = s->stride[2] == 1 ? slot : d->line;
    int64_t room = d->plan.line - s->pad[2], count = s->in[2] < room ? s->in[2] : room;
    int64_t at = d->x_at + row * s->x[3];
    d->slot_row[row % d->plan.slots] = row;
    if (count > 0) /* the padding around stays zero from the start */
        dense_load_row(d->call->data[0], at, 1, d->call->op->tensors[0].type, (uint32_t)count, line + s->pad[2]);
    for (int64_t p = 0; s->stride[2] > 1 && p < s->stride[2]; p++)
        conv_dw_split(line + p, s->stride[2], (d->plan.line - p + s->stride[2] - 1) / s->stride[2],
                      slot + p * d->plan.phase);
}

/* The taps of one output row; loads the input rows that are not there yet. */
static void conv_dw_taps(struct conv_dw *d, int64_t out_row)
{
    const struct conv_shape *s = &d->s;
    uint32_t n = 0;
    for (int64_t k = 0; k < s->kernel[1]; k++) {
        int64_t row = conv_tap(s, 1, out_row, k);
        const float *from = d->zeros;
        if (row >= 0) {
            if (d->slot_row[row % d->plan.slots] != row)
                conv_dw_load(d, row);
            from = conv_dw_slot(d, row);
        }
        for (int64_t x = 0; x < s->kernel[2]; x++) {
            int64_t position = x * s->dilation[2];
            d->taps[n++] = from + (position % s->stride[2]) * d->plan.phase + position / s->stride[2];
        }
    }
}

static void conv_dw_row(const struct conv_dw *d, float bias)
{
    for (uint32_t x = 0; x < d->plan.width; x += 2 * VEC) {
        vec low = vec_set(bias), high = low;
        for (uint32_t t = 0; t < d->plan.taps; t++) {
            vec w = vec_set(d->weights[t]);
            low = vec_fma(w, vec_load(d->taps[t] + x), low);
            high = vec_fma(w, vec_load(d->taps[t] + x + VEC), high);
        }
        vec_store(d->out + x, low);
        vec_store(d->out + x + VEC, high);
    }
}

static void conv_dw_plane(struct conv_dw *d, uint64_t plane)
{
    const struct conv_shape *s = &d->s;
    const struct kern_op *op = d->call->op;
    int64_t n = (int64_t)(plane / s->out_channels), o = (int64_t)(plane % s->out_channels);
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)n, (uint32_t)o }, rank = op->tensors[0].rank;
    for (uint32_t t = 0; t < d->plan.taps; t++) {
        int64_t k1 = t / s->kernel[2], k2 = t % s->kernel[2];
        if (s->flip) {
            k1 = s->kernel[1] - 1 - k1;
            k2 = s->kernel[2] - 1 - k2;
        }
        d->weights[t] = (float)dense_load(d->call->data[1], o * s->w[0] + k1 * s->w[3] + k2 * s->w[4], op->tensors[1].type);
    }
    float bias = op->u.conv.has_bias ? (float)dense_load(d->call->data[2], o * s->bias, op->tensors[2].type) : 0;
    d->x_at = n * s->x[0] + o / s->out_group * s->x[1];
    for (uint32_t i = 0; i < d->plan.slots; i++)
        d->slot_row[i] = -1;
    for (int64_t row = 0; row < s->out[1]; row++) {
        conv_dw_taps(d, row);
        conv_dw_row(d, bias);
        if (rank > 3)
            at[rank - 2] = (uint32_t)row;
        dense_finish_f32(d->call, d->epilogue, at, (uint32_t)s->out[2], d->out);
    }
}

static void conv_dw_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_dw d;
    conv_dw_init(&d, call);
    for (uint64_t plane = begin; plane < end; plane++)
        conv_dw_plane(&d, plane);
}
