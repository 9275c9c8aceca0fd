/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/gemm.h"

#define BLOCK_BYTES  (16 * 1024)
#define BLOCK_PIXELS 24 /* whole tiles of most heights */
#define PIXELS_MIN   8
#define CHANNELS_MIN 16 /* fewer leave most of a vector empty */
#define LINES_BYTES  (256 * 1024)

static bool bytes_init(const struct kern_op *op, struct conv_bytes *c)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *t = op->tensors;
    if (!conv->integer || conv->transposed || conv->flip || conv->has_w_zero || op->packed_input != 2 ||
        !dense_is_byte(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !conv_shape_init(op, &c->s) ||
        (conv->has_bias && t[2].type != DML_TENSOR_DATA_TYPE_INT32))
        return false;
    if (!kern_epilogue_requantize(op, &c->how))
        return false;
    const struct kern_view *scale = &t[c->how.scale], *y = &t[op->input_count];
    struct kern_view one = *scale; /* channel */
    one.sizes[1] = 1;
    if (!gemm_repeats(&one, one.rank) || (c->how.divisor && !gemm_repeats(&t[c->how.divisor], y->rank)) ||
        (c->how.zero && !gemm_repeats(&t[c->how.zero], y->rank)))
        return false;
    bool is_signed = y->type == DML_TENSOR_DATA_TYPE_INT8;
    c->scale_step = scale->sizes[1] > 1 ? scale->strides[1] : 0;
    c->flip = t[0].type == DML_TENSOR_DATA_TYPE_INT8 ? 0x80 : 0;
    return c->how.low <= c->how.high && c->how.low >= (is_signed ? -128 : 0) && c->how.high <= (is_signed ? 127 : 255);
}

bool conv_pw_bytes_init(const struct kern_op *op, struct conv_pw_bytes *out)
{
    struct conv_shape *s = &out->c.s;
    memset(out, 0, sizeof(*out));
    if (!bytes_init(op, &out->c) || !conv_is_pointwise(s) || s->in_channels % CONV_BYTES_PACK ||
        memcmp(s->in, s->out, sizeof(s->in)) != 0 || !conv_pixels(&op->tensors[0], &out->x_step) ||
        !conv_pixels(&op->tensors[op->input_count], &out->y_step))
        return false;
    out->pixels = (uint64_t)s->batch * (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    out->k = s->in_channels;
    out->vecs = (s->out_channels + CONV_BYTES_LANES - 1) / CONV_BYTES_LANES;
    out->panels = (out->vecs + CONV_PW_BYTES_VECS - 1) / CONV_PW_BYTES_VECS;
    out->c.columns = out->vecs * CONV_BYTES_LANES;
    out->block = BASE_MAX(BLOCK_BYTES / out->k / BLOCK_PIXELS, 1) * BLOCK_PIXELS;
    out->blocks = (out->pixels + out->block - 1) / out->block;
    out->tile_scratch = out->c.columns * (sizeof(int32_t) + sizeof(float));
    return out->pixels >= PIXELS_MIN;
}

bool conv_dw_bytes_init(const struct kern_op *op, struct conv_dw_bytes *out)
{
    struct conv_shape *s = &out->c.s;
    memset(out, 0, sizeof(*out));
    if (!bytes_init(op, &out->c) || s->in_group != 1 || s->out_group != 1 || s->groups < CHANNELS_MIN ||
        s->kernel[0] != 1 || s->in[0] != 1 || s->out[0] != 1 || s->pad[0] || s->x[1] != 1 || s->y[1] != 1)
        return false;
    for (uint32_t d = 1; d < 3; d++)
        if (s->kernel[d] > CONV_DW_BYTES_WINDOW || s->dilation[d] != 1 || s->pad[d] >= s->kernel[d])
            return false;
    int64_t pixels = BASE_MAX(s->pad[2] + s->in[2], (s->out[2] - 1) * s->stride[2] + s->kernel[2]);
    out->packs = (uint32_t)(s->kernel[1] * s->kernel[2] + CONV_BYTES_PACK - 1) / CONV_BYTES_PACK;
    out->blocks = (s->out_channels + CONV_BYTES_WIDTH - 1) / CONV_BYTES_WIDTH;
    out->c.columns = out->blocks * CONV_BYTES_WIDTH;
    out->line = base_align_up((uint64_t)pixels * s->out_channels, 64);
    out->lines = out->c.columns * (sizeof(int32_t) + sizeof(float));
    out->scratch = out->lines + out->line * ((uint64_t)s->kernel[1] + 1);
    return out->scratch <= LINES_BYTES;
}

float conv_bytes_parameters(const struct kern_call *call, const struct conv_bytes *c, const int32_t *sums,
                            bool interleaved, int32_t *start, float *scale)
{
    const struct kern_conv *conv = &call->op->u.conv;
    const int32_t *bias = conv->has_bias ? call->data[2] : NULL;
    const float *scales = call->data[c->how.scale];
    uint32_t largest = 0; /* as bits, where NaN is the largest of all */
    uint32_t zero = (uint32_t)conv_x_zero(call) + c->flip;
    for (uint32_t i = 0; i < c->columns; i++) {
        uint32_t channel = interleaved ? conv_dw_bytes_channel(i) : i;
        bool held = channel < c->s.out_channels;
        uint32_t plus = held && bias ? (uint32_t)bias[channel * c->s.bias] : 0;
        start[i] = (int32_t)(plus - zero * (uint32_t)sums[i]);
        scale[i] = held ? scales[channel * c->scale_step] : 0;
        uint32_t size = base_float_to_bits(scale[i]) & INT32_MAX;
        largest = BASE_MAX(size, largest);
    }
    return base_bits_to_float(largest);
}

/* ---- pointwise ---- */

static uint64_t pw_plan(const struct conv_pw_bytes *p, struct kern_work *out)
{
    *out = (struct kern_work){ .units = p->blocks * p->panels };
    out->grain =
        dense_grain((uint64_t)BASE_MIN(p->block, p->pixels) * (p->k / CONV_BYTES_PACK + 8) * CONV_PW_BYTES_VECS);
    out->worker_scratch_bytes = p->tile_scratch + CONV_PW_BYTES_ROWS * ((uint64_t)p->k + CONV_BYTES_WIDTH);
    return (uint64_t)p->c.columns * (p->k + sizeof(int32_t));
}

/* [panel][k / 4][channel of the panel][4], then the sums. */
static void pw_pack(const struct conv_pw_bytes *p, const int8_t *source, int8_t *to)
{
    const struct conv_shape *s = &p->c.s;
    int32_t *sums = (int32_t *)(to + (uint64_t)p->c.columns * p->k);
    memset(sums, 0, p->c.columns * sizeof(*sums));
    for (uint32_t panel = 0; panel < p->panels; panel++) {
        uint32_t first = p->vecs * panel / p->panels * CONV_BYTES_LANES;
        uint32_t end = p->vecs * (panel + 1) / p->panels * CONV_BYTES_LANES;
        for (uint32_t k = 0; k < p->k; k += CONV_BYTES_PACK)
            for (uint32_t i = first; i < end; i++)
                for (uint32_t b = 0; b < CONV_BYTES_PACK; b++, to++) {
                    *to = i < s->out_channels ? source[i * s->w[0] + (k + b) * s->w[1]] : 0;
                    sums[i] += *to;
                }
    }
}

/* ---- depthwise ---- */

static uint64_t dw_plan(const struct conv_dw_bytes *d, struct kern_work *out)
{
    *out = (struct kern_work){ .units = d->c.s.batch * (uint64_t)d->c.s.out[1] };
    out->grain = BASE_MAX(dense_grain((uint64_t)d->c.s.out[2] * d->blocks * (d->packs + 2) * 12), 2);
    out->worker_scratch_bytes = d->scratch;
    return (uint64_t)d->c.columns * (d->packs * CONV_BYTES_PACK + sizeof(int32_t));
}

/* [block][pack][channel of the block][4], zeros for taps past the last, then the sums. */
static void dw_pack(const struct conv_dw_bytes *d, const int8_t *source, int8_t *to)
{
    const struct conv_shape *s = &d->c.s;
    uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]), depth = d->packs * CONV_BYTES_PACK;
    int32_t *sums = (int32_t *)(to + (uint64_t)d->c.columns * depth);
    memset(to, 0, (uint64_t)d->c.columns * (depth + sizeof(int32_t)));
    for (uint32_t i = 0; i < d->c.columns; i++) {
        uint32_t channel = conv_dw_bytes_channel(i);
        for (uint32_t t = 0; channel < s->out_channels && t < taps; t++) {
            int8_t w = source[channel * s->w[0] + t / s->kernel[2] * s->w[3] + t % s->kernel[2] * s->w[4]];
            uint64_t line = (uint64_t)(i / CONV_BYTES_WIDTH) * d->packs + t / CONV_BYTES_PACK;
            to[(line * CONV_BYTES_WIDTH + i % CONV_BYTES_WIDTH) * CONV_BYTES_PACK + t % CONV_BYTES_PACK] = w;
            sums[i] += w;
        }
    }
}

KERN_PACKED_ROW(conv_pw_bytes_vnni, struct conv_pw_bytes, conv_pw_bytes_init(op, &plan), pw_plan(&plan, out),
                pw_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_pw_bytes, struct conv_pw_bytes, conv_pw_bytes_init(op, &plan))
KERN_PACKED_ROW(conv_dw_bytes_vnni, struct conv_dw_bytes, conv_dw_bytes_init(op, &plan), dw_plan(&plan, out),
                dw_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_dw_bytes, struct conv_dw_bytes, conv_dw_bytes_init(op, &plan))
