/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise convolutions, and the transposed ones that use the same tiles. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/choice.h"
#include "kernels/core/isa.h"
#include "kernels/row/row.h"

#include <math.h>

/* Tiles of a block: its pixels of X and Y stay in the second-level cache next to a panel. */
#define BLOCK_BYTES (384 * 1024)

#define OWN_TILES 3 /* of a thread, which must read all panels */

/* Fewer pixels leave most of a tile empty. */
#define PIXELS_MIN 8

bool conv_pixels(const struct kern_view *view, int64_t *out_step)
{
    int64_t step = 0, next = 0;
    bool found = false;
    if (view->sizes[1] > 1 && view->strides[1] != 1)
        return false;
    for (uint32_t i = view->rank; i-- > 1;) {
        uint32_t d = i == 1 ? 0 : i; /* the batch is the last */
        if (view->sizes[d] == 1)
            continue;
        if (found && view->strides[d] != next)
            return false;
        if (!found)
            step = next = view->strides[d];
        found = true;
        next *= view->sizes[d];
    }
    *out_step = found ? step : view->sizes[1];
    return *out_step >= view->sizes[1];
}

bool conv_pw_pixels(const struct kern_view *view, int64_t *out_step)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && conv_pixels(view, out_step);
}

/* Steps that conv_pw_finish and the like apply to vectors in registers; mul: the operands of products. */
#define REGISTER_STEPS(mul)                                                                                            \
    [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE, [KERN_MAP_LEAKY_RELU] = KERN_EPILOGUE_VALUE,                                \
    [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE, [KERN_MAP_CLAMP_NAN] = KERN_EPILOGUE_VALUE,                                \
    [KERN_MAP_HARD_SIGMOID] = KERN_EPILOGUE_VALUE, [KERN_MAP_HARD_SWISH] = KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE,   \
    [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE, [KERN_MAP_ADD] = KERN_EPILOGUE_NUMBER | KERN_EPILOGUE_TENSOR,             \
    [KERN_MAP_MUL] = (mul), [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER, [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER,              \
    [KERN_MAP_MIN_NAN] = KERN_EPILOGUE_NUMBER, [KERN_MAP_MAX_NAN] = KERN_EPILOGUE_NUMBER

bool conv_epilogue_steps(const struct kern_op *op, struct kern_epilogue *out)
{
    static const struct kern_epilogue_support support = { CONV_EPILOGUE_MAX, { REGISTER_STEPS(KERN_EPILOGUE_NUMBER) } };
    return kern_epilogue_match(op, &support, out);
}

static bool added_fit(const struct kern_op *op, const struct kern_epilogue *steps)
{
    bool result = true;
    for (uint32_t i = 0; result && i < steps->count; i++) {
        const struct kern_view *added = &op->tensors[steps->step[i].tensor];
        result = !steps->step[i].tensor ||
                 (added->type == DML_TENSOR_DATA_TYPE_FLOAT32 && added->rank == op->tensors[op->input_count].rank);
    }
    return result;
}

bool conv_epilogue_init(const struct kern_op *op, struct kern_epilogue *out)
{
    return conv_epilogue_steps(op, out) && added_fit(op, out);
}

#define PLANE_PIXELS 1024 /* with more, the kernels with vectors of pixels are as fast */

/* Small planes whose pixels are contiguous. */
static bool is_planes(const struct kern_view *view, const struct conv_shape *s, const int64_t *strides)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && s->out[0] * s->out[1] * s->out[2] <= PLANE_PIXELS &&
           (s->out[2] == 1 || strides[4] == 1) && (s->out[1] == 1 || strides[3] == s->out[2]) &&
           (s->out[0] == 1 || strides[2] == s->out[2] * s->out[1]);
}

/* X and Y as pixels or planes. */
static bool layouts_init(const struct kern_op *op, struct conv_pw *out)
{
    const struct conv_shape *s = &out->s;
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    out->x_planes = !conv_pw_pixels(x, &out->x_step);
    out->y_planes = !conv_pw_pixels(y, &out->y_step);
    if ((out->x_planes && !is_planes(x, s, s->x)) || (out->y_planes && !is_planes(y, s, s->y)))
        return false;
    for (uint32_t i = 0; out->y_planes && i < out->epilogue.post.count; i++)
        if (out->epilogue.post.step[i].tensor)
            return false;
    return true;
}

/* One for all pixels. */
static bool is_repeated(const struct kern_view *view)
{
    bool result = view->strides[1] == 1 || view->sizes[1] == 1;
    for (uint32_t d = 0; d < view->rank; d++)
        result = result && (d == 1 || view->sizes[d] == 1 || view->strides[d] == 0);
    return result;
}

static bool find_added(const struct kern_op *op, struct conv_pw_epilogue *out)
{
    bool result = true;
    for (uint32_t i = 0; result && i < out->post.count; i++) {
        const struct kern_view *view = &op->tensors[out->post.step[i].tensor];
        out->step[i] = 0;
        result = !out->post.step[i].tensor || conv_pw_pixels(view, &out->step[i]) || is_repeated(view);
    }
    return result;
}

bool conv_tile_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out)
{
    static const struct kern_epilogue_support support = {
        CONV_EPILOGUE_MAX, { REGISTER_STEPS(KERN_EPILOGUE_NUMBER | KERN_EPILOGUE_TENSOR), KERN_EPILOGUE_CURVES }
    };
    struct kern_epilogue *post = &out->post;
    uint32_t curves = 0;
    *out = (struct conv_pw_epilogue){ 0 };
    if (!kern_epilogue_match(op, &support, post) || !added_fit(op, post))
        return false;
    for (uint32_t i = 0; i < post->count; i++)
        curves += kern_is_curve(post->step[i].code);
    out->curved = curves && kern_is_curve(post->step[post->count - 1].code);
    if (out->curved)
        out->curve = post->step[--post->count];
    return curves == out->curved;
}

bool conv_tile_epilogue_alone(const struct kern_op *op, struct conv_pw_epilogue *out)
{
    return (!op->epilogue || op->epilogue_input == op->input_count) && conv_tile_epilogue(op, out);
}

bool conv_pw_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out)
{
    return conv_tile_epilogue(op, out) && find_added(op, out);
}

bool conv_pw_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_pw *out)
{
    const struct conv_shape *s = &out->s;
    *out = (struct conv_pw){ 0 };
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, &out->s) || !conv_is_pointwise(s) ||
        memcmp(s->in, s->out, sizeof(s->in)) != 0 || !conv_pw_epilogue(op, &out->epilogue) || !layouts_init(op, out))
        return false;
    const uint64_t images = out->x_planes || out->y_planes ? s->batch : 1;
    uint32_t width = CONV_PW_VECS * lanes;
    out->pixels = s->batch / images * (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    out->image_tiles = (out->pixels + rows - 1) / rows;
    out->tiles = images * out->image_tiles;
    out->k = s->in_channels;
    out->columns = s->out_channels;
    out->vecs = (s->out_channels + lanes - 1) / lanes;
    out->panels = (s->out_channels + width - 1) / width;
    uint64_t tile_bytes = ((uint64_t)out->k + out->columns) * rows * sizeof(float);
    uint64_t block = BASE_MAX(BLOCK_BYTES / tile_bytes, 4);
    out->blocks = (out->tiles + block - 1) / block;
    /* Threads with blocks of their own find their pixels where they wrote them in the previous step. */
    if (op->threads > 2 && out->tiles >= OWN_TILES * op->threads)
        out->blocks = BASE_MIN((out->blocks + op->threads - 1) / op->threads * op->threads, out->tiles);
    const uint64_t most = (out->tiles + out->blocks - 1) / out->blocks;
    out->floats = (uint64_t)out->panels * width;
    out->copy = dense_take(&out->floats, out->x_planes ? most * out->k * CONV_PW_PITCH(rows, lanes) : 0, 16);
    out->turned =
        dense_take(&out->floats, out->y_planes ? BASE_MAX(CONV_PW_TURNED * rows, lanes) * (uint64_t)width : 0, 16);
    return out->pixels >= PIXELS_MIN;
}

#define POINTWISE_COST 0.1 /* time relative to the following kernels: no other is nearly as fast */

bool kern_conv_pw_f32_accepts(const struct kern_op *op)
{
    struct conv_pw p;
    return op->packed_input == 2 && conv_pw_init(op, 1, 1, &p) && kern_pays(op, KERN_CHOICE_pointwise, POINTWISE_COST);
}

double kern_conv_pw_cost(const struct kern_op *op)
{
    struct conv_pw p;
    return conv_pw_init(op, 1, 1, &p) ? POINTWISE_COST : INFINITY;
}

/* Units are vectors of a tile: block by block, within it panel by panel. The thread with the first one of a panel does
 * the others. */
static uint64_t conv_pw_plan(const struct conv_pw *p, uint32_t rows, uint32_t lanes, struct kern_work *out)
{
    *out = (struct kern_work){ .units = p->tiles * p->vecs };
    out->grain = dense_grain((uint64_t)p->k * rows);
    out->calls = KERN_CALLS;
    out->worker_scratch_bytes = p->floats * sizeof(float);
    return (uint64_t)p->panels * CONV_PW_VECS * lanes * p->k * sizeof(float);
}

struct pw_packing {
    const float *w;
    const int64_t *strides;
    uint32_t columns, k, width;
    float *packed;
};

static void pw_pack_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct pw_packing *p = context;
    (void)worker;
    for (uint32_t panel = (uint32_t)begin; panel < end; panel++) {
        float *out = p->packed + (uint64_t)panel * p->k * p->width;
        for (uint32_t i = 0; i < p->k; i++)
            for (uint32_t c = panel * p->width; c < (panel + 1) * p->width; c++)
                *out++ = c < p->columns ? p->w[c * p->strides[0] + i * p->strides[1]] : 0;
    }
}

void conv_pw_panels(const float *w, const int64_t *strides, uint32_t columns, uint32_t k, uint32_t width, float *out)
{
    struct pw_packing packing = { w, strides, columns, k, width, out };
    base_parallel_for((columns + width - 1) / width, dense_pack_grain((uint64_t)k * width * sizeof(float)),
                      pw_pack_range, &packing);
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_pw_f32_##isa, struct conv_pw,                                                                 \
                    conv_pw_init(op, CONV_PW_ROWS_##isa, CONV_PW_LANES_##isa, &plan),                                  \
                    conv_pw_plan(&plan, CONV_PW_ROWS_##isa, CONV_PW_LANES_##isa, out),                                 \
                    conv_pw_panels(source, op->tensors[1].strides, plan.columns, plan.k,                               \
                                   CONV_PW_VECS *CONV_PW_LANES_##isa, packed))
KERN_EACH_ISA(ROW)

/* ---- transposed ---- */

enum {
    BAND_PIXELS = 384,       /* planes: of a band, about */
    BAND_FLOATS = 64 * 1024, /* of X and Y of a band: in the second-level cache next to a panel */
    ROW_FLOATS = 64 * 1024,  /* of one row of X, and of Y for each channel, at most */
    BANDS_MIN = 4,           /* so that there is work for several threads */
};

static bool up_shape_fits(const struct conv_shape *s)
{
    bool fits = s->transposed && s->groups == 1 && s->stride[0] == 1 && conv_is_plane(s);
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        fits = fits && s->kernel[d] == s->stride[d] && (s->dilation[d] == 1 || s->kernel[d] == 1) && !s->pad[d] &&
               s->out[d] == s->in[d] * s->stride[d];
    return fits && (int64_t)s->in_channels * s->in[2] <= ROW_FLOATS && s->out[2] <= ROW_FLOATS;
}

/* Results are written from registers to Y, with clamps and similar applied. */
static bool ends_in_registers(const struct kern_op *op, struct conv_up *u)
{
    return op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           conv_tile_epilogue_alone(op, &u->tile_epilogue);
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
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if ((type != DML_TENSOR_DATA_TYPE_FLOAT32 && type != DML_TENSOR_DATA_TYPE_FLOAT16) || !conv_has_type(op, type) ||
        !conv_shape_init(op, s) || !up_shape_fits(s))
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

/* [tile or panel][input channel][columns of it], zeros in unused columns. */
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

static uint64_t up_plan(const struct kern_op *op, const struct conv_up *u, struct kern_work *out)
{
    *out = (struct kern_work){ .units = u->s.batch * (uint64_t)u->bands };
    out->grain = dense_grain((uint64_t)(u->columns * u->s.in_channels * u->pitch / 8));
    out->worker_scratch_bytes = (uint64_t)u->floats * sizeof(float) + (u->last ? 0 : dense_epilogue_bytes(op));
    return (uint64_t)(u->columns * u->s.in_channels) * sizeof(float);
}

#undef ROW
#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_up_f32_##isa, struct conv_up, conv_up_init(op, CONV_PW_LANES_##isa, &plan),                   \
                    up_plan(op, &plan, out), conv_up_pack(op, &plan, source, packed))
KERN_PLAN_ACCEPTS(conv_up_f32, struct conv_up, conv_up_init(op, 1, &plan))
KERN_EACH_ISA(ROW)

/* ---- pointwise, planes ---- */

/* The GEMM W [out channels, in channels] * X [in channels, pixels] of each image. Its op has A, W, first. */
static bool planes_gemm(const struct kern_op *op, struct kern_op *out)
{
    struct conv_shape s;
    if (op->u.conv.integer || op->packed_input == 2 || !dense_short_floats(op) || !conv_shape_init(op, &s) ||
        !conv_is_pointwise(&s) || s.x[4] != 1 || s.y[4] != 1 || s.out[0] * s.out[1] * s.out[2] < CONV_PW_LANES_MAX ||
        (op->u.conv.has_bias && op->tensors[2].sizes[1] != s.out_channels))
        return false;
    const uint32_t y = op->input_count;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        if (s.in[d] != s.out[d])
            return false;
    *out = *op;
    out->kind = KERN_GEMM;
    out->u.gemm = (struct kern_gemm){ .alpha = 1, .beta = 1, .has_c = op->u.conv.has_bias };
    out->tensors[0] = op->tensors[1];
    out->tensors[1] = op->tensors[0];
    for (uint32_t t = 1; t <= y; t++) {
        struct kern_view *view = &out->tensors[t];
        if (t > 1 && t != y && (!op->epilogue || t < op->epilogue_input))
            continue;
        for (; view->rank > 3; dense_view_merge(view, 2))
            if (!dense_view_merges(view, 2))
                return false;
    }
    out->tensors[0].rank = 3;
    memcpy(out->tensors[0].sizes, (uint32_t[]){ 1, s.out_channels, s.in_channels }, 3 * sizeof(uint32_t));
    memcpy(out->tensors[0].strides, (int64_t[]){ 0, s.w[0], s.w[1] }, 3 * sizeof(int64_t));
    if (!out->u.gemm.has_c)
        return true;
    out->tensors[2].rank = 3;
    memcpy(out->tensors[2].sizes, (uint32_t[]){ 1, s.out_channels, 1 }, 3 * sizeof(uint32_t));
    memcpy(out->tensors[2].strides, (int64_t[]){ 0, s.bias, 0 }, 3 * sizeof(int64_t));
    return true;
}

bool kern_conv_planes_f32_accepts(const struct kern_op *op)
{
    struct kern_op gemm;
    return planes_gemm(op, &gemm) && kern_gemm_plain_f32_accepts(&gemm);
}

void kern_conv_planes_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct kern_op gemm;
    planes_gemm(op, &gemm);
    kern_gemm_plain_f32_plan(&gemm, threads, out);
}

#define PLANES_RUN(isa)                                                                                                \
    void kern_conv_planes_f32_##isa##_run(const struct kern_call *call, uint64_t begin, uint64_t end)                  \
    {                                                                                                                  \
        struct kern_op gemm;                                                                                           \
        struct kern_call product = *call;                                                                              \
        void *data[KERN_TENSORS_MAX];                                                                                  \
        planes_gemm(call->op, &gemm);                                                                                  \
        memcpy(data, call->data, (gemm.input_count + 1) * sizeof(*data));                                              \
        data[0] = call->data[1];                                                                                       \
        data[1] = call->data[0];                                                                                       \
        product.op = &gemm;                                                                                            \
        product.data = data;                                                                                           \
        kern_gemm_plain_f32_##isa##_run(&product, begin, end);                                                         \
    }
KERN_EACH_ISA(PLANES_RUN)
