/* The convolution of conv_few_in.h; included once per instruction set. */
#include "kernels/conv_few_in.h"
#include "kernels/tile_body.h"

/* A tile that fits in registers; smaller ones for the ends of rows. */
#if VEC == 16
#define FEW_BLOCKS 2
#define FEW_PIXELS 14
#define FEW_HALF   8
#define FEW_REST   4
#else
#define FEW_BLOCKS 1
#define FEW_PIXELS 6
#define FEW_HALF   4
#define FEW_REST   2
#endif
#define FEW_WIDTH (FEW_BLOCKS * CONV_FEW_IN_LANES) /* channels of a tile */
#define FEW_VECS  (FEW_WIDTH / VEC)

struct few {
    struct conv_few_in f;
    const struct kern_call *call;
    const float *weights;
    float *image, *bias, *results;
    int32_t *offsets;
};

/* Where a tile reads and writes. */
struct few_tile {
    const float *x, *w, *bias;
    float *y;
    int64_t y_step;   /* from pixel to pixel */
    int64_t channels; /* to store */
    int64_t pixels;
};

DENSE_INLINE vec few_end(const struct few *r, vec value)
{
    if (r->f.relu)
        return vec_max(vec_set(0), value); /* NaN stays */
    return r->f.clamp ? vec_min(vec_max(value, vec_set(r->f.low)), vec_set(r->f.high)) : value;
}

DENSE_INLINE void few_tile_end(const struct few *r, const struct few_tile *t, vec acc[FEW_PIXELS][FEW_VECS], int pixels,
                               int vecs)
{
    const bool whole = t->pixels == pixels && t->channels >= vecs * VEC;
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            vec value = few_end(r, acc[p][v]);
            if (whole)
                vec_store(t->y + p * t->y_step + v * VEC, value);
            else if (p < t->pixels && v * VEC < t->channels)
                vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, t->y + p * t->y_step, v * VEC, value,
                               t->channels - v * VEC);
        }
    }
}

/* pixels, vecs, stride: constants where that pays. */
DENSE_INLINE void few_tile_run(const struct few *r, const struct few_tile *t, int pixels, int vecs, int64_t stride)
{
    vec acc[FEW_PIXELS][FEW_VECS], w[FEW_VECS];
    const int64_t taps = r->f.taps;
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            acc[p][v] = vec_load(t->bias + v * VEC);
    for (int64_t k = 0; k < taps; k++) {
        const float *x = t->x + r->offsets[k], *from = t->w + k * CONV_FEW_IN_LANES;
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            w[v] =
                vec_load(from + v * VEC / CONV_FEW_IN_LANES * taps * CONV_FEW_IN_LANES + v * VEC % CONV_FEW_IN_LANES);
#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++) {
            vec element = vec_set(x[p * stride]);
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++)
                acc[p][v] = vec_fma(element, w[v], acc[p][v]);
        }
    }
    few_tile_end(r, t, acc, pixels, vecs);
}

DENSE_INLINE void few_tile_by(const struct few *r, const struct few_tile *t, int pixels, int64_t stride)
{
    if (FEW_BLOCKS == 2 && t->channels <= CONV_FEW_IN_LANES)
        few_tile_run(r, t, pixels, FEW_VECS / FEW_BLOCKS, stride);
    else
        few_tile_run(r, t, pixels, FEW_VECS, stride);
}

/* The next pixels of a row with `left` more to do; t->pixels: how many. */
static void few_tile_next(const struct few *r, struct few_tile *t, int64_t left)
{
    const int64_t stride = r->f.s.stride[2], most = stride > 2 ? FEW_REST : left > FEW_HALF ? FEW_PIXELS : FEW_HALF;
    t->pixels = BASE_MIN(left, most);
    if (stride > 2 || left <= FEW_REST)
        few_tile_by(r, t, FEW_REST, stride);
    else if (most == FEW_PIXELS)
        stride == 1 ? few_tile_by(r, t, FEW_PIXELS, 1) : few_tile_by(r, t, FEW_PIXELS, 2);
    else
        stride == 1 ? few_tile_by(r, t, FEW_HALF, 1) : few_tile_by(r, t, FEW_HALF, 2);
}

/* The rows of the image that a band needs, from input row `first` on (which may be negative). */
static void few_load(const struct few *r, int64_t n, int64_t first)
{
    const struct conv_shape *s = &r->f.s;
    const int64_t pad = BASE_MIN(s->pad[2], r->f.pitch), count = BASE_MIN(s->in[2], r->f.pitch - pad);
    float *to = r->image;
    for (int64_t i = 0; i < r->f.in_rows; i++) {
        const int64_t row = first + i;
        for (int64_t c = 0; c < s->in_channels; c++, to += r->f.pitch) {
            if (row < 0 || row >= s->in[1]) {
                memset(to, 0, (size_t)r->f.pitch * sizeof(*to));
                continue;
            }
            memset(to, 0, (size_t)pad * sizeof(*to));
            dense_load_row(r->call->data[0], n * s->x[0] + c * s->x[1] + row * s->x[3], s->x[4],
                           DML_TENSOR_DATA_TYPE_FLOAT32, (uint32_t)count, to + pad);
            memset(to + pad + count, 0, (size_t)(r->f.pitch - pad - count) * sizeof(*to));
        }
    }
}

/* The epilogue over `count` results that lie together. */
static void few_finish(const struct few *r, float *y, int64_t count)
{
    static const uint32_t start[KERN_RANK_MAX];
    const uint32_t out = r->call->op->input_count;
    void *data[KERN_TENSORS_MAX];
    struct kern_op line = *r->call->op;
    struct kern_call call = *r->call;
    kern_view_set_packed(&line.tensors[out], DML_TENSOR_DATA_TYPE_FLOAT32, 1, (uint32_t[]){ (uint32_t)count });
    data[out] = y;
    call.op = &line;
    call.data = data;
    dense_finish_f32(&call, (float *)r->call->worker_scratch + r->f.epilogue, start, (uint32_t)count, y);
}

/* A row's results of `channels` channels from the buffer to their places. */
static void few_store(const struct few *r, float *y, int64_t channels)
{
    const struct conv_shape *s = &r->f.s;
    struct tile_to to = { y, DML_TENSOR_DATA_TYPE_FLOAT32, 0, s->y[4], s->y[1] };
    for (int64_t i = 0; i < s->out[2]; i += VEC) {
        for (int64_t c = 0; c < channels; c += VEC) {
            to.at = i * s->y[4] + c * s->y[1];
            tile_store(&to, r->results + i * FEW_WIDTH + c, FEW_WIDTH, BASE_MIN(s->out[2] - i, VEC),
                       BASE_MIN(channels - c, VEC));
        }
    }
    for (int64_t c = 0; r->f.post && s->y[1] != 1 && c < channels; c++)
        few_finish(r, y + c * s->y[1], s->out[2]);
}

/* x: the copy's row that output row begins with. y: of the row's first result. */
static void few_row(const struct few *r, const float *x, float *y)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t block = 0; block < r->f.blocks; block += FEW_BLOCKS) {
        const int64_t first = block * CONV_FEW_IN_LANES, width = s->out[2];
        float *to = y + first * s->y[1];
        struct few_tile t = { .bias = r->bias + first, .channels = BASE_MIN(s->out_channels - first, FEW_WIDTH) };
        t.w = r->weights + first * r->f.taps;
        t.y_step = r->f.direct ? s->y[4] : FEW_WIDTH;
        for (int64_t i = 0; i < width; i += t.pixels) {
            t.x = x + i * s->stride[2];
            t.y = (r->f.direct ? to : r->results) + i * t.y_step;
            few_tile_next(r, &t, width - i);
        }
        if (!r->f.direct)
            few_store(r, to, t.channels);
    }
    if (r->f.post && s->y[1] == 1)
        few_finish(r, y, s->out[2] * s->out_channels);
}

/* Of each tap in the copy of the image. */
static void few_offsets(const struct few *r)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t k = 0; k < r->f.taps; k++) {
        const int64_t line = k / s->kernel[2], c = line % s->in_channels, k1 = line / s->in_channels;
        r->offsets[k] =
            (int32_t)((k1 * s->dilation[1] * s->in_channels + c) * r->f.pitch + k % s->kernel[2] * s->dilation[2]);
    }
}

static void few_init(struct few *r, const struct kern_call *call)
{
    conv_few_in_init(call->op, &r->f);
    const struct conv_shape *s = &r->f.s;
    float *scratch = call->worker_scratch;
    r->call = call;
    r->image = scratch + r->f.image;
    r->bias = scratch + r->f.bias;
    r->offsets = (int32_t *)(scratch + r->f.offsets);
    r->results = scratch + r->f.results;
    r->weights = call->data[1];
    if (call->op->packed_input != 2) {
        conv_few_in_pack(&r->f, call->data[1], scratch + r->f.weights);
        r->weights = scratch + r->f.weights;
    }
    for (int64_t o = 0; o < r->f.blocks * CONV_FEW_IN_LANES; o++)
        r->bias[o] = call->op->u.conv.has_bias && o < s->out_channels ? ((const float *)call->data[2])[o * s->bias] : 0;
    few_offsets(r);
}

static void few_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct few r;
    few_init(&r, call);
    const struct conv_shape *s = &r.f.s;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t n = unit / r.f.bands, first = unit % r.f.bands * r.f.rows;
        const int64_t rows = BASE_MIN(r.f.rows, s->out[1] - first);
        few_load(&r, n, first * s->stride[1] - s->pad[1]);
        for (int64_t i = 0; i < rows; i++)
            few_row(&r, r.image + i * s->stride[1] * s->in_channels * r.f.pitch,
                    (float *)call->data[call->op->input_count] + n * s->y[0] + (first + i) * s->y[3]);
    }
}
