/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a block of points: the pixels of each and their weights are found once for all channels. Channels that are
 * neighbours in memory are summed as vectors, others plane by plane. */
#include "kernels/core/isa.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/sample.h"
#include "kernels/row/row.h"

#define SAMPLE_CHANNELS 256       /* summed at once */
#define SAMPLE_OUTSIDE  INT64_MIN /* instead of the place of a pixel */

struct sample_block {
    const struct kern_call *call;
    struct sample_shape s;
    uint32_t count;                             /* of points */
    int64_t x, y;                               /* places of the image */
    int64_t at[SAMPLE_TAPS_MAX][SAMPLE_POINTS]; /* places of pixels in a plane, or SAMPLE_OUTSIDE */
    float weight[SAMPLE_TAPS_MAX][SAMPLE_POINTS];
    int64_t to[SAMPLE_POINTS];     /* places of results in a plane */
    bool dense;                    /* which are side by side */
    float place[3][SAMPLE_POINTS]; /* in pixels */
    float sum[BASE_MAX(SAMPLE_CHANNELS, SAMPLE_POINTS)], row[SAMPLE_CHANNELS];
};

static void sample_positions(struct sample_block *b, int64_t n, int64_t first)
{
    const struct sample_shape *s = &b->s;
    const struct kern_view *grid = &b->call->op->tensors[1];
    b->dense = true;
    for (uint32_t p = 0; p < b->count; p++) {
        int64_t rest = first + p, from = n * s->grid[0], to = 0;
        for (uint32_t d = 3; d-- > 0; rest /= s->out[d]) {
            from += rest % s->out[d] * s->grid[1 + d];
            to += rest % s->out[d] * s->y[2 + d];
        }
        for (uint32_t d = s->first; d < 3; d++)
            b->place[d][p] =
                sample_position(&b->call->op->u.sample,
                                (float)dense_load(b->call->data[1], from + (2 - d) * s->grid[4], grid->type), s->in[d]);
        b->to[p] = to;
        b->dense = b->dense && to == b->to[0] + p;
    }
}

static void sample_taps(struct sample_block *b)
{
    const struct sample_shape *s = &b->s;
    const bool linear = b->call->op->u.sample.linear;
    for (uint32_t tap = 0; tap < s->taps; tap++)
        for (uint32_t p = 0; p < b->count; p++) {
            float weight = 1;
            int64_t at = 0;
            bool inside = true;
            for (uint32_t d = s->first; d < 3; d++) {
                const float place = b->place[d][p], base = linear ? floorf(place) : rintf(place), after = place - base;
                const uint32_t next = tap >> (2 - d) & 1;
                const int64_t pixel = (int64_t)base + next;
                weight *= !linear ? 1 : next ? after : 1 - after;
                inside = inside && pixel >= 0 && pixel < s->in[d];
                at += pixel * s->x[2 + d];
            }
            b->at[tap][p] = inside ? at : SAMPLE_OUTSIDE;
            b->weight[tap][p] = weight;
        }
}

/* ---- channels that are neighbours in memory ---- */

static const float *sample_pixel(struct sample_block *b, int64_t at, uint32_t channels)
{
    const DML_TENSOR_DATA_TYPE type = b->call->op->tensors[0].type;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return (const float *)b->call->data[0] + at;
    dense_load_row(b->call->data[0], at, 1, type, channels, b->row);
    return b->row;
}

static void sample_channels(struct sample_block *b, int64_t first, uint32_t channels)
{
    const struct sample_shape *s = &b->s;
    for (uint32_t p = 0; p < b->count; p++) {
        memset(b->sum, 0, channels * sizeof(*b->sum));
        for (uint32_t tap = 0; tap < s->taps; tap++)
            if (b->at[tap][p] != SAMPLE_OUTSIDE)
                resample_add(b->sum, sample_pixel(b, b->x + first + b->at[tap][p], channels), b->weight[tap][p],
                             channels);
        dense_store_row(b->call->data[2], b->y + first * s->y[1] + b->to[p], s->y[1], b->call->op->tensors[2].type,
                        channels, b->sum);
    }
}

/* ---- plane by plane ---- */

DENSE_INLINE void sample_plane_sums(struct sample_block *b, int64_t plane, DML_TENSOR_DATA_TYPE type)
{
    for (uint32_t p = 0; p < b->count; p++)
        b->sum[p] = 0;
    for (uint32_t tap = 0; tap < b->s.taps; tap++)
        for (uint32_t p = 0; p < b->count; p++)
            if (b->at[tap][p] != SAMPLE_OUTSIDE)
                b->sum[p] += b->weight[tap][p] * (float)dense_load(b->call->data[0], plane + b->at[tap][p], type);
}

static void sample_plane(struct sample_block *b, int64_t channel)
{
    const DML_TENSOR_DATA_TYPE type = b->call->op->tensors[0].type;
    const int64_t plane = b->x + channel * b->s.x[1], to = b->y + channel * b->s.y[1];
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        sample_plane_sums(b, plane, DML_TENSOR_DATA_TYPE_FLOAT32);
    else
        sample_plane_sums(b, plane, type);
    if (b->dense)
        dense_store_row(b->call->data[2], to + b->to[0], 1, type, b->count, b->sum);
    for (uint32_t p = 0; !b->dense && p < b->count; p++)
        dense_store_row(b->call->data[2], to + b->to[p], 1, type, 1, b->sum + p);
}

static void sample_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct sample_block b = { .call = call };
    sample_shape_init(call->op, &b.s);
    const int64_t blocks = (b.s.points + SAMPLE_POINTS - 1) / SAMPLE_POINTS;
    for (uint64_t unit = begin; unit < end; unit++) {
        const int64_t n = (int64_t)unit / blocks, first = (int64_t)unit % blocks * SAMPLE_POINTS;
        b.count = (uint32_t)BASE_MIN(b.s.points - first, SAMPLE_POINTS);
        b.x = n * b.s.x[0];
        b.y = n * b.s.y[0];
        sample_positions(&b, n, first);
        sample_taps(&b);
        if (b.s.x[1] == 1 && b.s.channels > 4) {
            for (int64_t c = 0; c < b.s.channels; c += SAMPLE_CHANNELS)
                sample_channels(&b, c, (uint32_t)BASE_MIN(b.s.channels - c, SAMPLE_CHANNELS));
        } else {
            for (int64_t c = 0; c < b.s.channels; c++)
                sample_plane(&b, c);
        }
    }
}

KERN_ISA_RUN(sample_f32, sample_run)
