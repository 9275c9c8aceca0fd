/* SPDX-License-Identifier: Apache-2.0 */
/* The convolution of struct conv_small_cin (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_small_cin_tile.h"
#include "kernels/vec/tile_body.h"

/* A row's results of `channels` channels from the buffer to their places. */
static void small_cin_store(const struct small_cin *r, float *y, int64_t channels)
{
    const struct conv_shape *s = &r->f.s;
    struct tile_to to = { y, DML_TENSOR_DATA_TYPE_FLOAT32, 0, s->y[4], s->y[1] };
    for (int64_t i = 0; i < s->out[2]; i += VEC) {
        for (int64_t c = 0; c < channels; c += VEC) {
            to.at = i * s->y[4] + c * s->y[1];
            tile_store(&to, r->results + i * CIN_WIDTH + c, CIN_WIDTH, BASE_MIN(s->out[2] - i, VEC),
                       BASE_MIN(channels - c, VEC));
        }
    }
    for (int64_t c = 0; r->f.post && s->y[1] != 1 && c < channels; c++)
        dense_finish_line(r->call, r->epilogue, y + c * s->y[1], s->out[2]);
}

/* x: the copy's row that output row begins with. y: of the row's first result. */
static void small_cin_row(const struct small_cin *r, const float *x, float *y)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t block = 0; block < r->f.blocks; block += CIN_BLOCKS) {
        const int64_t first = block * CONV_SMALL_CIN_LANES, width = s->out[2];
        float *to = y + first * s->y[1];
        struct small_cin_tile t = { .bias = r->bias + first, .channels = BASE_MIN(s->out_channels - first, CIN_WIDTH) };
        t.w = r->weights + first * r->f.taps;
        t.y_step = r->f.direct ? s->y[4] : CIN_WIDTH;
        for (int64_t i = 0; i < width; i += t.pixels) {
            t.x = x + i * s->stride[2];
            t.y = (r->f.direct ? to : r->results) + i * t.y_step;
            small_cin_tile_next(r, &t, width - i);
        }
        if (!r->f.direct)
            small_cin_store(r, to, t.channels);
    }
    if (r->f.post && s->y[1] == 1)
        dense_finish_line(r->call, r->epilogue, y, s->out[2] * s->out_channels);
}

static void small_cin_init(struct small_cin *r, const struct kern_call *call)
{
    conv_small_cin_init(call->op, &r->f);
    float *scratch = call->worker_scratch;
    r->call = call;
    r->image = scratch + r->f.image;
    r->bias = scratch + r->f.bias;
    r->offsets = (int32_t *)(scratch + r->f.offsets);
    r->results = scratch + r->f.results;
    r->epilogue = scratch + r->f.epilogue;
    r->weights = call->data[1];
    if (call->op->packed_input != 2) {
        conv_small_cin_pack(&r->f, call->data[1], scratch + r->f.weights);
        r->weights = scratch + r->f.weights;
    }
    conv_bias(call, &r->f.s, r->f.blocks * CONV_SMALL_CIN_LANES, r->bias);
    small_cin_offsets(r);
}

static void small_cin_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct small_cin r;
    small_cin_init(&r, call);
    const struct conv_shape *s = &r.f.s;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t n = unit / r.f.bands, first = unit % r.f.bands * r.f.rows;
        const int64_t rows = BASE_MIN(r.f.rows, s->out[1] - first);
        small_cin_load(&r, n, first * s->stride[1] - s->pad[1]);
        for (int64_t i = 0; i < rows; i++)
            small_cin_row(&r, r.image + i * s->stride[1] * s->in_channels * r.f.pitch,
                          (float *)call->data[call->op->input_count] + n * s->y[0] + (first + i) * s->y[3]);
    }
}

KERN_ISA_RUN(conv_small_cin_f32, small_cin_run)
