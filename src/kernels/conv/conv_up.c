/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"

#include "kernels/core/packed_row.h"

enum {
    BAND_PIXELS = 384,       /* planes: of a band, about */
    BAND_FLOATS = 64 * 1024, /* of X and Y of a band: in the second-level cache next to a panel */
    ROW_FLOATS = 64 * 1024,  /* of one row of X, and of Y for each channel, at most */
    BANDS_MIN = 4,           /* so that there is work for several threads */
};

static bool shape_fits(const struct conv_shape *s)
{
    bool fits = s->transposed && s->groups == 1 && s->kernel[0] == 1 && s->stride[0] == 1 && !s->pad[0] &&
                s->in[0] == 1 && s->out[0] == 1;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        fits = fits && s->kernel[d] == s->stride[d] && (s->dilation[d] == 1 || s->kernel[d] == 1) && !s->pad[d] &&
               s->out[d] == s->in[d] * s->stride[d];
    return fits && (int64_t)s->in_channels * s->in[2] <= ROW_FLOATS && s->out[2] <= ROW_FLOATS;
}

static bool types_fit(const struct kern_op *op)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    return (type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16) && conv_has_type(op, type);
}

/* Results go from registers to Y, bounds and such on the way. */
static bool ends_in_registers(const struct kern_op *op, struct conv_up *u)
{
    bool ends = op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
                conv_epilogue_init(op, &u->tile_epilogue.post);
    for (uint32_t i = 0; ends && i < u->tile_epilogue.post.count; i++)
        ends = !u->tile_epilogue.post.step[i].tensor;
    return ends;
}

static void bands_init(struct conv_up *u)
{
    const struct conv_shape *s = &u->s;
    const int64_t most = u->last ? BAND_FLOATS / ((s->in_channels + s->kernel[2] * s->out_channels) * s->in[2])
                                 : BASE_MIN(BAND_PIXELS, BAND_FLOATS / (int64_t)s->in_channels) / s->in[2];
    const int64_t least = (CONV_PW_LANES_MAX + s->in[2] - 1) / s->in[2]; /* a vector of pixels */
    u->rows = BASE_MAX(BASE_MIN(most, s->in[1] / BANDS_MIN), least);
    u->rows = BASE_MIN(u->rows, s->in[1]);
    u->bands = (s->in[1] + u->rows - 1) / u->rows;
    u->pitch = (int64_t)base_align_up((uint64_t)(u->rows * s->in[2]), CONV_PW_LANES_MAX);
}

static void columns_init(struct conv_up *u, uint32_t lanes)
{
    const struct conv_shape *s = &u->s;
    if (u->last) {
        u->width = (int64_t)CONV_PW_VECS * lanes;
        u->panels = (s->kernel[2] * s->out_channels + u->width - 1) / u->width;
        u->columns = s->kernel[1] * u->panels * u->width;
        return;
    }
    const int64_t all = s->out_channels * s->kernel[1];
    for (u->lines = 1; u->lines < BASE_MIN(all, CONV_UP_ROWS) && u->lines * s->kernel[2] % CONV_UP_ROWS; u->lines++)
        ; /* whole tiles */
    u->tiles = (u->lines * s->kernel[2] + CONV_UP_ROWS - 1) / CONV_UP_ROWS;
    u->groups = (all + u->lines - 1) / u->lines;
    u->columns = u->groups * u->tiles * CONV_UP_ROWS;
}

bool conv_up_init(const struct kern_op *op, uint32_t lanes, struct conv_up *u)
{
    *u = (struct conv_up){ 0 };
    struct conv_shape *s = &u->s;
    if (!types_fit(op) || !conv_shape_init(op, s) || !shape_fits(s))
        return false;
    const bool pixels = s->x[1] == 1 && op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32;
    u->last = s->y[1] == 1 && s->out_channels > 1 && s->y[4] == (int64_t)s->out_channels;
    if (u->last ? !ends_in_registers(op, u) : s->y[4] != 1)
        return false;
    u->copies = !u->last || !pixels;
    bands_init(u);
    columns_init(u, lanes);
    u->image = dense_take(&u->floats, (uint64_t)(u->copies ? s->in_channels * u->pitch : 0), 16);
    u->bias = dense_take(&u->floats, (uint64_t)(u->columns), 16);
    u->sums = dense_take(&u->floats, (uint64_t)(u->last ? 0 : u->tiles * CONV_UP_ROWS * u->pitch), 16);
    u->line = dense_take(&u->floats, (uint64_t)(u->last ? 0 : s->out[2]), 16);
    u->weights = dense_take(&u->floats, (uint64_t)(op->packed_input == 2 ? 0 : u->columns * s->in_channels), 16);
    u->epilogue = u->floats;
    return true;
}

bool conv_up_column(const struct conv_up *u, int64_t i, int64_t *out_place)
{
    const struct conv_shape *s = &u->s;
    if (u->last) {
        const int64_t row = i / (u->panels * u->width), within = i % (u->panels * u->width);
        out_place[0] = within % s->out_channels;
        out_place[1] = row;
        out_place[2] = within / s->out_channels;
        return out_place[2] < s->kernel[2];
    }
    const int64_t within = i % (u->tiles * CONV_UP_ROWS);
    const int64_t line = i / (u->tiles * CONV_UP_ROWS) * u->lines + within / s->kernel[2];
    out_place[0] = line / s->kernel[1];
    out_place[1] = line % s->kernel[1];
    out_place[2] = within % s->kernel[2];
    return within < u->lines * s->kernel[2] && out_place[0] < s->out_channels;
}

/* [tile or panel][input channel][columns of it], zeros in columns of none. */
void conv_up_pack(const struct kern_op *op, const struct conv_up *u, const void *source, float *packed)
{
    const struct conv_shape *s = &u->s;
    const int64_t width = u->last ? u->width : CONV_UP_ROWS;
    for (int64_t i = 0; i < u->columns; i++) {
        float *to = packed + i / width * width * s->in_channels + i % width;
        int64_t place[3];
        const bool held = conv_up_column(u, i, place);
        if (s->flip) {
            place[1] = s->kernel[1] - 1 - place[1];
            place[2] = s->kernel[2] - 1 - place[2];
        }
        const int64_t from = place[0] * s->w[1] + place[1] * s->w[3] + place[2] * s->w[4];
        for (int64_t c = 0; c < s->in_channels; c++)
            to[c * width] = held ? (float)dense_load(source, from + c * s->w[0], op->tensors[1].type) : 0;
    }
}

bool kern_conv_up_f32_accepts(const struct kern_op *op)
{
    struct conv_up u;
    return conv_up_init(op, 1, &u);
}

static uint64_t plan(const struct kern_op *op, uint32_t lanes, struct kern_work *out)
{
    struct conv_up u;
    conv_up_init(op, lanes, &u);
    *out = (struct kern_work){ .units = u.s.batch * (uint64_t)u.bands };
    out->grain = dense_grain((uint64_t)(u.columns * u.s.in_channels * u.pitch / 8));
    out->worker_scratch_bytes = (uint64_t)u.floats * sizeof(float) + (u.last ? 0 : dense_epilogue_bytes(op));
    return (uint64_t)(u.columns * u.s.in_channels) * sizeof(float);
}

static void pack(const struct kern_op *op, uint32_t lanes, const void *source, float *packed)
{
    struct conv_up u;
    conv_up_init(op, lanes, &u);
    conv_up_pack(op, &u, source, packed);
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_up_f32_##isa, plan(op, CONV_PW_LANES_##isa, out),                                             \
                    pack(op, CONV_PW_LANES_##isa, source, packed))
KERN_EACH_ISA(ROW)
