/* SPDX-License-Identifier: Apache-2.0 */
/* check_conv_meta [seed] [cases]: the parameters of metacommands for convolutions, with no device: kernels of conv_meta
 * are run by this model of them, as shader_conv_meta.c wants it, against the reference. */
#include "check.h"
#include "check_vulkan_map.h"

#include "kernels/core/number.h"
#include "shaders/conv/shader_conv.h"
#include "shaders/cuda/conv_pack_params.h"
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/meta/shader_meta.h"
#include "shaders/shader.h"
#include "unit/test.h"

#include <math.h>
#include <stdlib.h>

#define REQUIRE(cond)                                                                                                  \
    do {                                                                                                               \
        if (!(cond))                                                                                                   \
            abort();                                                                                                   \
    } while (0)

struct model {
    const struct kern_op *op;
    const struct check_set *set;
    const struct conv_meta_params *p;
    void *y;
    uint16_t *scratch, *packed_w; /* NULL: there is none */
    uint32_t vector;              /* channels that the kernel stores at once */
    bool gather, panels;          /* conv_large.cu's */
};

/* The tensor of an address as the model's places are encoded, or the scratch memory behind them. */
static uint32_t tensor_of(u64 address)
{
    return (uint32_t)(address >> SHADER_ADDRESS_BITS) - 1;
}

static uint64_t offset_of(u64 address)
{
    return address & ((UINT64_C(1) << SHADER_ADDRESS_BITS) - 1);
}

static bool is_scratch(const struct model *m, u64 address)
{
    return tensor_of(address) == m->op->input_count + 1;
}

/* Element k of the depth for an output channel, in panels of 256 channels: of 32 channels, 8t + 2j + e is column 2t + e
 * of the matrices j. */
static double load_panel(const struct model *m, int64_t channel, uint32_t k)
{
    const int64_t steps = (m->p->k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * (GEMM_PACKED_K / 16);
    const int64_t step = channel / GEMM_PACKED_N * steps + k / 32 * 2 + k % 8 / 4;
    const int64_t matrix = channel % GEMM_PACKED_N / 32 * 4 + channel % 8 / 2,
                  column = channel % 32 / 8 * 2 + channel % 2;
    const int64_t at =
        step * (GEMM_PACKED_BYTES / 2) + matrix * 128 + k % 4 / 2 * 64 + column * 8 + k % 32 / 8 * 2 + k % 2;
    return kern_read_double(DML_TENSOR_DATA_TYPE_FLOAT16, m->packed_w, at);
}

static double load(const struct model *m, u64 address, int64_t at)
{
    const uint32_t t = tensor_of(address);
    const DML_TENSOR_DATA_TYPE f16 = DML_TENSOR_DATA_TYPE_FLOAT16;
    if (is_scratch(m, address))
        return kern_read_double(f16, m->scratch, (int64_t)offset_of(address) / 2 + at);
    if (t == 1 && m->packed_w)
        return kern_read_double(f16, m->packed_w, at);
    return kern_read_double(m->op->tensors[t].type, m->set->buffers[t].data, at);
}

/* Element `at` of a tensor begins a vector of halves. */
static bool is_vector(const struct model *m, u64 address, int64_t at, uint32_t vector)
{
    const struct kern_view *view = &m->op->tensors[tensor_of(address)];
    if (is_scratch(m, address) || (tensor_of(address) == 1 && m->packed_w))
        return ((int64_t)offset_of(address) / 2 + at) % vector == 0;
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT16 && (view->offset + at) % vector == 0;
}

/* As conv_pack.cu does it. */
static void run_pack(const struct model *m, const struct conv_pack_params *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct conv_pack_tensor *t = &p->tensors[i];
        TEST_FOR(t->packed_channels % 8 == 0 && offset_of(p->to[i]) % 16 == 0, "vectors of packed tensor %u", i);
        for (uint32_t n = 0; t->tiles && n < t->pixels * t->packed_channels; n++) {
            const uint32_t pixel = n / t->packed_channels, channel = n % t->packed_channels;
            const uint32_t number = channel / t->by_block.size, within = channel % t->by_block.size;
            const uint32_t group = number / t->by_taps.size, tap = number % t->by_taps.size;
            const uint32_t image = pixel / t->by_pixels.size, in = pixel % t->by_pixels.size;
            const int64_t plane = (int64_t)(image % t->by_depth.size) * t->step - t->pad + (int64_t)tap * t->dilation;
            const int64_t at = (int64_t)(image / t->by_depth.size) * t->image + plane * t->plane +
                               (int64_t)(in / t->by_column.size) * t->row +
                               (int64_t)(in % t->by_column.size) * t->column +
                               (int64_t)(group * t->channels + within) * t->channel;
            kern_write_double(DML_TENSOR_DATA_TYPE_FLOAT16, m->scratch, (int64_t)offset_of(p->to[i]) / 2 + n,
                              within < t->channels && plane >= 0 && plane < t->in_depth ? load(m, p->from[i], at) : 0);
        }
    }
}

static double run_code(const struct meta_step *s, double a, double b)
{
    switch (s->code) {
    case META_ADD:
        return a + b;
    case META_SUB:
        return a - b;
    case META_MUL:
        return a * b;
    case META_MIN:
        return fmin(a, b);
    case META_MAX:
        return fmax(a, b);
    case META_CLAMP:
        return fmin(fmax(a, s->p), s->q);
    case META_ABS:
        return fabs(a);
    case META_RELU:
        return fmax(a, 0);
    case META_LEAKY_RELU:
        return a < 0 ? s->p * a : a;
    case META_MULADD:
        return a * s->p + s->q;
    case META_SIGMOID:
        return 1 / (1 + exp(-a));
    case META_GELU:
        return a * erfc(-a * sqrt(0.5)) / 2;
    case META_SWISH:
        return a / (1 + exp(-a * (s->p + s->q * a * a)));
    case META_HARD_SWISH:
        return a * fmax(0, fmin(a * s->p + s->q, 1));
    default:
        return NAN;
    }
}

static double run_epilogue(const struct model *m, double value, const int64_t *at, int64_t y_at, int64_t channel)
{
    const struct conv_meta_params *p = m->p;
    for (uint32_t i = 0; i < p->epilogue.count; i++) {
        const struct meta_step *s = &p->epilogue.steps[i];
        double b = s->p;
        if (s->type) {
            int64_t from =
                at[0] * s->strides[0] + channel * s->strides[1] + at[1] * s->strides[2] + at[2] * s->strides[3];
            if (p->vectors >> i & 1)
                TEST_FOR(p->wide_y && s->strides[1] == 1 &&
                             is_vector(m, p->epilogue.operands[i], from - channel % m->vector, m->vector),
                         "step %u: vectors", i);
            if (s->place == META_PLACE_RESULT)
                TEST_FOR(from == y_at, "step %u: place", i);
            b = load(m, p->epilogue.operands[i], from);
        }
        value = run_code(s, value, b);
    }
    return value;
}

/* As the kernels sum it: elements of the depth in W's order. */
static double sum_of(const struct model *m, const int64_t *at, uint32_t group, int64_t channel)
{
    const struct conv_meta_params *p = m->p;
    const int64_t top = at[1] * p->step_y - p->pad_y, left = at[2] * p->step_x - p->pad_x;
    double sum = 0;
    for (uint32_t k = 0; k < p->k; k++) {
        const uint32_t tap = k / p->by_channels.size, c = k % p->by_channels.size;
        const int64_t line = tap / p->by_line.size, column = tap % p->by_line.size;
        const int64_t y = top + line * p->dilation_y, x = left + column * p->dilation_x;
        if (y < 0 || y >= p->in_height || x < 0 || x >= p->in_width)
            continue;
        const int64_t from = (int64_t)group * p->x_group + at[0] * p->x_image + y * p->x_row + x * p->x_column;
        const int64_t w = m->gather ? c * p->w_channel + line * p->w_row + column * p->w_column : k;
        if (!m->gather && k % 8 == 0)
            TEST_FOR(is_vector(m, p->x, from + c, 8) && (m->panels || is_vector(m, p->w, channel * p->w_out + w, 8)) &&
                         p->x_channel == 1,
                     "vectors of X and W");
        sum += load(m, p->x, from + c * p->x_channel) *
               (m->panels ? load_panel(m, channel, k) : load(m, p->w, channel * p->w_out + w));
    }
    return sum;
}

static void run_model(const struct model *m)
{
    const struct conv_meta_params *p = m->p;
    const struct kern_view *y = &m->op->tensors[m->op->input_count];
    for (uint32_t group = 0; group < p->groups; group++)
        for (uint32_t pixel = 0; pixel < p->m; pixel++) {
            const uint32_t within = pixel % p->by_pixels.size;
            const int64_t at[3] = { pixel / p->by_pixels.size, within / p->by_column.size, within % p->by_column.size };
            for (uint32_t n = 0; n < p->n; n++) {
                const int64_t channel = (int64_t)group * p->n + n;
                const int64_t to = at[0] * p->y_image + channel * p->y_channel + at[1] * p->y_row + at[2] * p->y_column;
                double value = sum_of(m, at, group, channel);
                if (p->wide_y && n % m->vector == 0)
                    TEST_FOR(p->y_channel == 1 && is_vector(m, p->y, to, m->vector) && p->n % m->vector == 0,
                             "vectors of Y");
                if (p->wide_y && p->bias)
                    TEST_FOR(p->bias_step == 1 && (n % m->vector || is_vector(m, p->bias, channel, m->vector)),
                             "vectors of the bias");
                if (p->bias)
                    value += load(m, p->bias, channel * p->bias_step);
                kern_write_double(y->type, m->y, to, run_epilogue(m, value, at, to, channel));
            }
        }
}

static void run_reference(const struct kern_op *op, const struct check_set *set, void *y)
{
    const struct kern_row *row = check_reference(KERN_CONV);
    void *data[KERN_TENSORS_MAX];
    struct kern_op portable = *op;
    struct kern_work work;
    for (uint32_t t = 0; t < op->input_count; t++)
        data[t] = set->buffers[t].data;
    data[op->input_count] = y;
    row->plan(&portable, 1, &work);
    void *scratch = calloc(1, work.scratch_bytes + work.worker_scratch_bytes + 64);
    REQUIRE(scratch);
    struct kern_call call = { &portable, data, scratch, (char *)scratch + work.scratch_bytes };
    row->run(&call, 0, work.units);
    free(scratch);
}

/* What the model knows of the kernel; false: it is of another kind. */
static bool describe(const struct shader_work *work, struct model *m)
{
    const uint32_t number = work->dispatches[work->dispatch_count - 1].shader.number;
    m->gather = number == SHADER_META_conv_gather;
    m->panels = work->dispatches[work->dispatch_count - 1].shader.number == SHADER_META_conv_sum ||
                (number >= SHADER_META_conv_large_64x128 && number <= SHADER_META_conv_large_256x64);
    m->vector = m->panels || number == SHADER_META_conv_wgmma_64 || number == SHADER_META_conv_wgmma_128 ? 8 : 4;
    return m->vector == 8 || m->gather ||
           (number >= SHADER_META_conv_mma_128x64 && number <= SHADER_META_conv_mma_16x16);
}

/* Parts are in the scratch memory, and none is empty. */
static void check_splits(const struct model *m, const struct shader_work *work)
{
    const struct conv_meta_params *p = m->p;
    const uint64_t bytes = (uint64_t)p->splits * p->m * p->part_line * 4;
    TEST_FOR(is_scratch(m, p->parts) && offset_of(p->parts) % 16 == 0 &&
                 offset_of(p->parts) + bytes <= work->scratch_bytes,
             "%u parts in %llu bytes", p->splits, (unsigned long long)work->scratch_bytes);
    TEST_FOR(p->split_depth % GEMM_PACKED_K == 0 && (uint64_t)p->splits * p->split_depth >= p->k &&
                 (uint64_t)(p->splits - 1) * p->split_depth < p->k && p->part_line % 8 == 0 && p->part_line >= p->n,
             "%u parts of a depth of %u", p->splits, p->split_depth);
    TEST_FOR(p->tiles % p->splits == 0 && p->tiles / p->splits % p->tiles_m == 0, "%u tiles", p->tiles);
}

static void run_dispatches(const struct shader_work *work, struct model *m)
{
    struct shader_place places[KERN_TENSORS_MAX + 1];
    memset(places, 0, sizeof(places));
    for (uint32_t t = 0; t < ARRAY_SIZE(places); t++)
        places[t].base = t;
    for (uint32_t i = 0; i < work->dispatch_count; i++) {
        uint64_t words[META_PARAMETERS_MAX / 8] = { 0 };
        shader_conv_meta_write(m->op, i, places, (uint32_t *)words);
        if (work->dispatches[i].shader.number == SHADER_META_conv_pack) {
            run_pack(m, (const struct conv_pack_params *)words);
            continue;
        }
        m->p = (const struct conv_meta_params *)words;
        if (m->p->parts && i + 1 < work->dispatch_count)
            check_splits(m, work);
        else
            run_model(m);
    }
}

/* With the kernel that is chosen; whether the model ran. */
static bool run_case(const struct check_case *c, const struct check_set *set, struct check_buffer *got,
                     const struct check_buffer *want)
{
    const struct kern_view *y = &c->op.tensors[c->op.input_count];
    struct shader_work work = { .dispatch_count = 0 };
    struct check_error error;
    struct model model = { .op = &c->op, .set = set, .y = got->data };
    shader_conv_meta_plan(&c->op, &work);
    if (!describe(&work, &model))
        return false;
    if (work.scratch_bytes)
        REQUIRE(model.scratch = malloc(work.scratch_bytes));
    if (work.packed_bytes) {
        REQUIRE(model.packed_w = calloc(1, work.packed_bytes));
        shader_conv_meta_pack(&c->op, set->buffers[1].data, model.packed_w);
    }
    check_buffer_poison(got);
    run_dispatches(&work, &model);
    const bool same = check_compare(c, y, got, want, 1, &error);
    TEST_FOR(same, "kernel %u: got %g, want %g at %u %u %u %u", work.dispatches[work.dispatch_count - 1].shader.number,
             error.got, error.want, error.index[0], error.index[1], error.index[2], error.index[3]);
    TEST_FOR(check_buffer_guarded(got, y), "bytes beside the output");
    free(model.scratch);
    free(model.packed_w);
    return true;
}

static void make_case(struct check_rng *rng, uint32_t i, struct check_case *c, struct check_set *out)
{
    static const uint32_t pasts[] = { 16, 16, 16, 8, 16, 16, 20 };
    check_buffer_past(pasts[i % ARRAY_SIZE(pasts)]);
    check_conv_views(rng, c);
    REQUIRE(check_set_create(out, c, rng));
    for (uint32_t t = 0; t <= c->op.input_count; t++) {
        struct kern_view *view = &c->op.tensors[t];
        view->offset = (out->buffers[t].data - out->buffers[t].block) * 8 / kern_type_bits(view->type);
    }
}

/* The model's runs: with the best kernel, with the first one for vectors, with the first one that stores eight, with
 * the one for single elements, and with one for W in panels. */
static uint32_t run_kernels(struct check_case *c, struct check_set *set, uint32_t i)
{
    static const uint32_t kernels[] = { 0, 1, 10, 7, 16 };
    struct check_buffer want, *got = &set->buffers[c->op.input_count];
    uint32_t ran = 0;
    REQUIRE(check_buffer_create(&want, &c->op.tensors[c->op.input_count]));
    check_buffer_poison(&want);
    run_reference(&c->op, set, want.data);
    for (uint32_t k = 0; k < ARRAY_SIZE(kernels); k++) {
        shader_conv_meta_force(kernels[k]);
        c->op.packed_input = (i + k) % 2 || kernels[k] == 16 ? 2 : 0;
        ran += run_case(c, set, got, &want);
    }
    check_buffer_destroy(&want);
    return ran;
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint32_t cases = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 100;
    struct check_rng rng = { seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
    uint32_t taken = 0, ran = 0;
    shader_conv_force_small(true);
    for (uint32_t i = 0; i < cases; i++) {
        struct check_set set;
        struct check_case c;
        make_case(&rng, i, &c, &set);
        if (!shader_conv_meta_unsupported(&c.op)) {
            taken++;
            ran += run_kernels(&c, &set, i);
        }
        check_set_destroy(&set);
    }
    printf("%u of %u cases are for metacommands, %u runs\n", taken, cases, ran);
    TEST_FOR(taken > cases * 3 / 4 && ran >= taken * 3, "metacommands refuse %u of %u", cases - taken, cases);
    return test_result();
}
