/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of ops and their parameters as text: one function for each entry of kinds.def. */
#include "graph/ir/program.h"

#include "graph/ir/text.h"
#include "graph/ir/uses.h"

/* The names of each enumeration's values, in order. */
#define ENUM_BEGIN(NAME)   static const char *const names_of_##NAME[] __attribute__((unused)) = {
#define VALUE(NAME, LEVEL) #NAME,
/* clang-format off */
#define ENUM_END };
/* clang-format on */
#include "schema/enums.def"

/* The part of a value's name after the enumeration's. */
#define ENUM_NAME(NAME, value)                                                                                         \
    ((uint32_t)(value) < ARRAY_SIZE(names_of_##NAME) ? names_of_##NAME[value] + sizeof(#NAME) : "?")

static void print_array(struct graph_text *text, const char *name, const uint32_t *values, uint32_t count)
{
    graph_text_add(text, " %s=[", name);
    for (uint32_t i = 0; i < count; i++)
        graph_text_add(text, "%s%u", i ? "," : "", values[i]);
    graph_text_add(text, "]");
}

static void print_floats(struct graph_text *text, const char *name, const float *values, uint32_t count)
{
    graph_text_add(text, " %s=[", name);
    for (uint32_t i = 0; i < count; i++)
        graph_text_add(text, "%s%.9g", i ? "," : "", values[i]);
    graph_text_add(text, "]");
}

static void print_conv(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_conv *conv = &op->u.conv;
    graph_text_add(text, " groups=%u%s%s%s%s%s%s", conv->groups, conv->transposed ? " transposed" : "",
                   conv->flip ? " flip" : "", conv->has_bias ? " bias" : "", conv->integer ? " integer" : "",
                   conv->has_x_zero ? " x_zero" : "", conv->has_w_zero ? " w_zero" : "");
    print_array(text, "strides", conv->strides, conv->spatial);
    print_array(text, "dilations", conv->dilations, conv->spatial);
    print_array(text, "pad_start", conv->pad_start, conv->spatial);
}

static void print_bounds(struct graph_text *text, const struct kern_bounds *bounds)
{
    static const char *const names[] = { "none", "relu", "clamp", "clip", "clamp_nan" };
    graph_text_add(text, " %s", names[bounds->kind]);
    if (bounds->kind >= KERN_BOUNDS_CLAMP)
        graph_text_add(text, "(%.9g,%.9g)", bounds->low, bounds->high);
}

static void print_inverted_residual(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_inverted_residual *residual = &op->u.inverted_residual;
    graph_text_add(text, " middle=%u", residual->middle);
    print_bounds(text, &residual->bounds[0]);
    print_bounds(text, &residual->bounds[1]);
    if (residual->first[0] != 1 || residual->first[1] != 1) {
        print_array(text, "first", residual->first, 2);
        print_array(text, "first_strides", residual->first_strides, 2);
        print_array(text, "first_start", residual->first_start, 2);
    }
    print_array(text, "image", residual->image, 2);
    print_array(text, "window", residual->window, 2);
    print_array(text, "strides", residual->strides, 2);
    print_array(text, "pad_start", residual->pad_start, 2);
}

static void print_gemm(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_gemm *gemm = &op->u.gemm;
    graph_text_add(text, " alpha=%.9g beta=%.9g%s%s%s%s", gemm->alpha, gemm->beta, gemm->has_c ? " c" : "",
                   gemm->integer ? " integer" : "", gemm->has_a_zero ? " a_zero" : "",
                   gemm->has_b_zero ? " b_zero" : "");
}

static void print_qgemm(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " block=%u%s", op->u.qgemm.block, op->u.qgemm.has_zero ? " zero" : "");
}

static void print_pool(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_pool *pool = &op->u.pool;
    static const char *const modes[] = { "average", "lp", "max" };
    graph_text_add(text, " %s%s%s p=%u", modes[pool->mode], pool->include_padding ? " include_padding" : "",
                   pool->has_indices ? " indices" : "", pool->p);
    print_array(text, "window", pool->window, pool->spatial);
    print_array(text, "strides", pool->strides, pool->spatial);
    print_array(text, "dilations", pool->dilations, pool->spatial);
    print_array(text, "pad_start", pool->pad_start, pool->spatial);
}

static void print_norm(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_norm *norm = &op->u.norm;
    graph_text_add(text, " axes=0x%x epsilon=%.9g%s%s%s%s", norm->axes, norm->epsilon, norm->use_mean ? " mean" : "",
                   norm->use_variance ? " variance" : "", norm->has_scale ? " scale" : "",
                   norm->has_bias ? " bias" : "");
}

static void print_recurrent(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_recurrent *net = &op->u.recurrent;
    uint32_t directions = op->tensors[0].sizes[2];
    static const char *const cells[] = { "rnn", "gru", "lstm" };
    static const uint8_t activations[] = { 1, 2, 3 };
    graph_text_add(text, " %s%s%s%s%s", cells[net->cell], net->panels ? " panels" : "",
                   net->linear_before_reset ? " linear_before_reset" : "", net->couple ? " couple" : "",
                   net->has_clip ? " clip" : "");
    if (net->has_clip)
        graph_text_add(text, "=%.9g", net->clip.imm[1].f32);
    for (uint32_t i = 0; i < directions * activations[net->cell]; i++) {
        const struct kern_activation *a = &net->activations[i / activations[net->cell]][i % activations[net->cell]];
        const char *name = a->mode == KERN_ACTIVATION_MAP       ? graph_map_name(a->inst.code)
                           : a->mode == KERN_ACTIVATION_HARDMAX ? "hardmax"
                                                                : "identity";
        graph_text_add(text, "%s%s", i % activations[net->cell] ? "," : i ? " second=" : " first=", name);
        if (a->mode == KERN_ACTIVATION_MAP && (a->inst.imm[0].u64 || a->inst.imm[1].u64))
            graph_text_add(text, "(%.9g, %.9g)", a->inst.imm[0].f32, a->inst.imm[1].f32);
    }
    for (uint32_t d = 0; d < directions; d++)
        graph_text_add(text, "%s", net->reverse[d] ? " reverse" : " forward");
    const struct {
        const char *name;
        uint8_t at;
    } optional[] = { { "reset_bias", net->reset_bias },   { "hidden", net->hidden },
                     { "memory", net->memory },           { "lengths", net->lengths },
                     { "peepholes", net->peepholes },     { "sequence", net->sequence },
                     { "last_hidden", net->last_hidden }, { "last_memory", net->last_memory } };
    for (uint32_t i = 0; i < ARRAY_SIZE(optional); i++)
        if (optional[i].at)
            graph_text_add(text, " %s=%u", optional[i].name, optional[i].at);
}

static void print_resample(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_resample *resample = &op->u.resample;
    uint32_t rank = op->tensors[op->input_count].rank;
    graph_text_add(text, " mode=%s rounding=%s%s%s", ENUM_NAME(DML_INTERPOLATION_MODE, resample->mode),
                   ENUM_NAME(DML_AXIS_DIRECTION, resample->rounding), resample->antialiased ? " antialiased" : "",
                   resample->transposed ? " transposed" : "");
    print_floats(text, "scales", resample->scales, rank);
    print_floats(text, "input_offsets", resample->input_offsets, rank);
    print_floats(text, "output_offsets", resample->output_offsets, rank);
}

static void print_fold(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_fold *fold = &op->u.fold;
    graph_text_add(text, "%s", fold->unfold ? " unfold" : "");
    print_array(text, "window", fold->window, fold->spatial);
    print_array(text, "strides", fold->strides, fold->spatial);
    print_array(text, "dilations", fold->dilations, fold->spatial);
    print_array(text, "pad_start", fold->pad_start, fold->spatial);
    print_array(text, "positions", fold->positions, fold->spatial);
}

static void print_regions(struct graph_text *text, const struct kern_roi *roi)
{
    static const char *const modes[] = { "pool", "average", "max" };
    graph_text_add(text, " %s%s%s scale=[%.9g,%.9g] offsets=[%.9g,%.9g] outside=%.9g samples=%u..%u", modes[roi->mode],
                   roi->linear ? " linear" : "", roi->align_corners ? " align_corners" : "", roi->scale_x, roi->scale_y,
                   roi->in_offset, roi->out_offset, roi->outside, roi->least, roi->most);
}

static void print_attention(struct graph_text *text, const struct kern_op *op)
{
    const struct kern_attention *attention = &op->u.attention;
    graph_text_add(text, " scale=%.9g%s", attention->scale, attention->has_mask ? " mask" : "");
    if (attention->undefined)
        graph_text_add(text, " masked_rows=NaN");
    if (attention->has_keep || attention->has_end)
        graph_text_add(text, "%s%s%s filter=%.9g", attention->has_keep ? " keep" : "", attention->has_end ? " end" : "",
                       attention->has_start ? " start" : "", attention->filter);
    if (attention->has_past)
        graph_text_add(text, " past%s new_keys=%u", attention->causal ? " causal" : "", attention->new_keys);
}

static void print_map(struct graph_text *text, const struct kern_op *op)
{
    graph_text_program(text, &op->u.map, op->input_count, op->output_count);
}

static void print_reduce(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " function=%s axes=0x%x%s%s", ENUM_NAME(DML_REDUCE_FUNCTION, op->u.reduce.function),
                   op->u.reduce.axes, op->u.reduce.last ? " last" : "", op->u.reduce.nan ? " nan" : "");
}

/* The same parameters as pooling. */
static void print_pool_grad(struct graph_text *text, const struct kern_op *op)
{
    print_pool(text, op);
}

static void print_softmax(struct graph_text *text, const struct kern_op *op)
{
    static const char *const modes[] = { "plain", "log", "hard" };
    graph_text_add(text, " mode=%s axes=0x%x", modes[op->u.softmax.mode], op->u.softmax.axes);
}

static void print_moments(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " axes=0x%x", op->u.moments.axes);
}

static void print_grad_sums(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " axes=0x%x", op->u.grad_sums.axes);
}

static void print_lp_norm(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " axis=%u epsilon=%.9g p=%u%s", op->u.lp_norm.axis, op->u.lp_norm.epsilon, op->u.lp_norm.p,
                   op->u.lp_norm.nan ? " nan" : "");
}

static void print_lrn(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " %s size=%u alpha=%.9g beta=%.9g bias=%.9g", op->u.lrn.cross_channel ? "channels" : "pixels",
                   op->u.lrn.local_size, op->u.lrn.alpha, op->u.lrn.beta, op->u.lrn.bias);
}

static void print_move(struct graph_text *text, const struct kern_op *op)
{
    (void)text;
    (void)op;
}

static void print_append(struct graph_text *text, const struct kern_op *op)
{
    print_move(text, op);
}

static void print_random(struct graph_text *text, const struct kern_op *op)
{
    print_move(text, op);
}

static void print_pad(struct graph_text *text, const struct kern_op *op)
{
    uint32_t rank = op->tensors[op->input_count].rank, gaps = 0;
    graph_text_add(text, " mode=%s", ENUM_NAME(DML_PADDING_MODE, op->u.pad.mode));
    print_array(text, "start", op->u.pad.start, rank);
    for (uint32_t d = 0; d < rank; d++)
        gaps |= op->u.pad.gap[d];
    if (gaps)
        print_array(text, "gap", op->u.pad.gap, rank);
}

static const char *const index_modes[] = { "", " elements", " nd" };

static void print_gather(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, "%s axis=%u index_rank=%u", index_modes[op->u.gather.mode], op->u.gather.axis,
                   op->u.gather.index_rank);
}

static void print_scatter(struct graph_text *text, const struct kern_op *op)
{
    static const char *const reductions[] = { "", " add", " multiply", " min", " max" };
    graph_text_add(text, "%s axis=%u%s", index_modes[op->u.scatter.mode], op->u.scatter.axis,
                   reductions[op->u.scatter.reduction]);
}

static void print_nonzero(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " %s block=%u", op->u.nonzero.write ? "write" : "count", op->u.nonzero.block);
}

static void print_sequence(struct graph_text *text, const struct kern_op *op)
{
    if (graph_is_float(op->tensors[0].type))
        graph_text_add(text, " start=%.17g delta=%.17g", op->u.sequence.start.f64, op->u.sequence.delta.f64);
    else
        graph_text_add(text, " start=%lld delta=%lld", (long long)op->u.sequence.start.i64,
                       (long long)op->u.sequence.delta.i64);
}

static void print_sort(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " axis=%u%s", op->u.sort.axis, op->u.sort.descending ? " descending" : "");
}

static void print_scan(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, " axis=%u %s%s%s%s", op->u.scan.axis, op->u.scan.product ? "product" : "sum",
                   op->u.scan.exclusive ? " exclusive" : "", op->u.scan.total ? " total" : "",
                   op->u.scan.has_init ? " init" : "");
}

static void print_roi(struct graph_text *text, const struct kern_op *op)
{
    print_regions(text, &op->u.roi);
}

static void print_roi_grad(struct graph_text *text, const struct kern_op *op)
{
    print_regions(text, &op->u.roi_grad.roi);
}

static void print_sample(struct graph_text *text, const struct kern_op *op)
{
    static const char *const paddings[] = { "zeros", "edge", "reflect", "mirror" };
    static const char *const units[] = { "edges", "centres", "pixels" };
    const struct kern_sample *sample = &op->u.sample;
    graph_text_add(text, "%s padding=%s positions=%s", sample->linear ? " linear" : "", paddings[sample->padding],
                   units[sample->unit]);
}

static const struct {
    const char *name;
    void (*print)(struct graph_text *, const struct kern_op *);
} kinds[] = {
#define KIND(NAME, name) { #name, print_##name },
#include "kernels/core/kinds.def"
#undef KIND
};

void graph_text_op(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, "%s", kinds[op->kind].name);
    kinds[op->kind].print(text, op);
    if (op->epilogue) {
        graph_text_add(text, " epilogue");
        graph_text_program(text, op->epilogue, 1 + op->input_count - op->epilogue_input, 1);
    }
}
