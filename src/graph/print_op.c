/* Kinds, parameters and element-wise programs as text. */
#include "graph/pass.h"

static const char *const kind_names[] = {
#define KIND(NAME, name) #name,
#include "kernels/kinds.def"
#undef KIND
};

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

static void print_immediate(struct graph_text *text, uint32_t type, const union kern_scalar *value)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        graph_text_add(text, "%.9g", value->f32);
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        graph_text_add(text, "%.17g", value->f64);
        break;
    case DML_TENSOR_DATA_TYPE_INT32:
        graph_text_add(text, "%d", value->i32);
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        graph_text_add(text, "%u", value->u32);
        break;
    case DML_TENSOR_DATA_TYPE_INT64:
        graph_text_add(text, "%lld", (long long)value->i64);
        break;
    default:
        graph_text_add(text, "%llu", (unsigned long long)value->u64);
        break;
    }
}

struct program_text {
    const struct kern_map *map;
    uint32_t inputs;
    uint8_t uses[KERN_TENSORS_MAX + KERN_MAP_INST_MAX];
};

static void print_register(struct graph_text *text, const struct program_text *program, uint32_t reg);

static void print_instruction(struct graph_text *text, const struct program_text *program, uint32_t index)
{
    const struct kern_map_inst *inst = &program->map->inst[index];
    uint32_t arity = graph_map_arity(inst->code);
    static const union kern_scalar zero;
    bool second = memcmp(&inst->imm[1], &zero, sizeof(zero)) != 0;
    bool first = second || memcmp(&inst->imm[0], &zero, sizeof(zero)) != 0 || inst->code == KERN_MAP_CONST;
    if (inst->code == KERN_MAP_CONVERT)
        graph_text_add(text, "%s_to_", graph_type_name(inst->type));
    graph_text_add(text, "%s",
                   inst->code == KERN_MAP_CONVERT ? graph_type_name(inst->to_type) : graph_map_name(inst->code));
    graph_text_add(text, "(");
    for (uint32_t s = 0; s < arity; s++) {
        graph_text_add(text, "%s", s ? ", " : "");
        print_register(text, program, inst->src[s]);
    }
    for (uint32_t p = 0; p < (first ? 1u : 0u) + (second ? 1u : 0u); p++) {
        graph_text_add(text, "%s", arity || p ? ", " : "");
        print_immediate(text, inst->type, &inst->imm[p]);
    }
    graph_text_add(text, ")");
}

/* A register used once stands for its expression, others have a name. */
static void print_register(struct graph_text *text, const struct program_text *program, uint32_t reg)
{
    if (reg < program->inputs)
        graph_text_add(text, "i%u", reg);
    else if (program->uses[reg] > 1)
        graph_text_add(text, "t%u", reg - program->inputs);
    else
        print_instruction(text, program, reg - program->inputs);
}

static void print_program(struct graph_text *text, const struct kern_map *map, uint32_t inputs, uint32_t outputs)
{
    struct program_text program = { map, inputs, { 0 } };
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < graph_map_arity(map->inst[i].code); s++)
            program.uses[map->inst[i].src[s]] += program.uses[map->inst[i].src[s]] < 2;
    for (uint32_t j = 0; j < outputs; j++)
        program.uses[map->store[j]] += program.uses[map->store[j]] < 2;
    for (uint32_t i = 0; i < inputs; i++)
        graph_text_add(text, "%si%u:%s", i ? " " : " {", i, graph_type_name(map->load_type[i]));
    graph_text_add(text, "%s", inputs ? ";" : " {");
    for (uint32_t i = 0; i < map->inst_count; i++) {
        if (program.uses[inputs + i] < 2)
            continue;
        graph_text_add(text, " t%u = ", i);
        print_instruction(text, &program, i);
        graph_text_add(text, ";");
    }
    for (uint32_t j = 0; j < outputs; j++) {
        graph_text_add(text, "%s", j ? ", " : " ");
        print_register(text, &program, map->store[j]);
    }
    graph_text_add(text, "}");
}

static void print_conv(struct graph_text *text, const struct kern_conv *conv)
{
    graph_text_add(text, " groups=%u%s%s%s%s%s%s", conv->groups, conv->transposed ? " transposed" : "",
                   conv->flip ? " flip" : "", conv->has_bias ? " bias" : "", conv->integer ? " integer" : "",
                   conv->has_x_zero ? " x_zero" : "", conv->has_w_zero ? " w_zero" : "");
    print_array(text, "strides", conv->strides, conv->spatial);
    print_array(text, "dilations", conv->dilations, conv->spatial);
    print_array(text, "pad_start", conv->pad_start, conv->spatial);
    print_array(text, "pad_end", conv->pad_end, conv->spatial);
}

static void print_gemm(struct graph_text *text, const struct kern_gemm *gemm)
{
    graph_text_add(text, " alpha=%.9g beta=%.9g%s%s%s%s", gemm->alpha, gemm->beta, gemm->has_c ? " c" : "",
                   gemm->integer ? " integer" : "", gemm->has_a_zero ? " a_zero" : "",
                   gemm->has_b_zero ? " b_zero" : "");
}

static void print_pool(struct graph_text *text, const struct kern_pool *pool)
{
    static const char *const modes[] = { "average", "lp", "max" };
    graph_text_add(text, " %s%s%s p=%u", modes[pool->mode], pool->include_padding ? " include_padding" : "",
                   pool->has_indices ? " indices" : "", pool->p);
    print_array(text, "window", pool->window, pool->spatial);
    print_array(text, "strides", pool->strides, pool->spatial);
    print_array(text, "dilations", pool->dilations, pool->spatial);
    print_array(text, "pad_start", pool->pad_start, pool->spatial);
    print_array(text, "pad_end", pool->pad_end, pool->spatial);
}

static void print_norm(struct graph_text *text, const struct kern_norm *norm)
{
    graph_text_add(text, " axes=0x%x epsilon=%.9g%s%s%s%s", norm->axes, norm->epsilon, norm->use_mean ? " mean" : "",
                   norm->use_variance ? " variance" : "", norm->has_scale ? " scale" : "",
                   norm->has_bias ? " bias" : "");
}

static void print_recurrent(struct graph_text *text, const struct kern_recurrent *net, uint32_t directions)
{
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

static void print_resample(struct graph_text *text, const struct kern_resample *resample, uint32_t rank)
{
    graph_text_add(text, " mode=%u rounding=%u%s%s", (unsigned)resample->mode, (unsigned)resample->rounding,
                   resample->antialiased ? " antialiased" : "", resample->transposed ? " transposed" : "");
    print_floats(text, "scales", resample->scales, rank);
    print_floats(text, "input_offsets", resample->input_offsets, rank);
    print_floats(text, "output_offsets", resample->output_offsets, rank);
}

static void print_fold(struct graph_text *text, const struct kern_fold *fold)
{
    graph_text_add(text, "%s", fold->unfold ? " unfold" : "");
    print_array(text, "window", fold->window, fold->spatial);
    print_array(text, "strides", fold->strides, fold->spatial);
    print_array(text, "dilations", fold->dilations, fold->spatial);
    print_array(text, "pad_start", fold->pad_start, fold->spatial);
    print_array(text, "positions", fold->positions, fold->spatial);
}

static void print_roi(struct graph_text *text, const struct kern_roi *roi)
{
    static const char *const modes[] = { "pool", "average", "max" };
    graph_text_add(text, " %s%s%s scale=[%.9g,%.9g] offsets=[%.9g,%.9g] outside=%.9g samples=%u..%u", modes[roi->mode],
                   roi->linear ? " linear" : "", roi->align_corners ? " align_corners" : "", roi->scale_x, roi->scale_y,
                   roi->in_offset, roi->out_offset, roi->outside, roi->least, roi->most);
}

static void print_attention(struct graph_text *text, const struct kern_attention *attention)
{
    graph_text_add(text, " scale=%.9g%s", attention->scale, attention->has_mask ? " mask" : "");
    if (attention->has_keep || attention->has_end)
        graph_text_add(text, "%s%s%s filter=%.9g", attention->has_keep ? " keep" : "", attention->has_end ? " end" : "",
                       attention->has_start ? " start" : "", attention->filter);
    if (attention->has_past)
        graph_text_add(text, " past%s new_keys=%u", attention->causal ? " causal" : "", attention->new_keys);
}

static void print_parameters(struct graph_text *text, const struct kern_op *op)
{
    uint32_t rank = op->tensors[op->input_count].rank;
    switch (op->kind) {
    case KERN_MAP:
        print_program(text, &op->u.map, op->input_count, op->output_count);
        break;
    case KERN_REDUCE:
        graph_text_add(text, " function=%u axes=0x%x%s", (unsigned)op->u.reduce.function, op->u.reduce.axes,
                       op->u.reduce.last ? " last" : "");
        break;
    case KERN_GEMM:
        print_gemm(text, &op->u.gemm);
        break;
    case KERN_CONV:
        print_conv(text, &op->u.conv);
        break;
    case KERN_POOL:
    case KERN_POOL_GRAD: /* the same parameters */
        print_pool(text, &op->u.pool);
        break;
    case KERN_SOFTMAX:
        graph_text_add(text, " mode=%u axes=0x%x", (unsigned)op->u.softmax.mode, op->u.softmax.axes);
        break;
    case KERN_NORM:
        print_norm(text, &op->u.norm);
        break;
    case KERN_MOMENTS:
        graph_text_add(text, " axes=0x%x", op->u.moments.axes);
        break;
    case KERN_GRAD_SUMS:
        graph_text_add(text, " axes=0x%x", op->u.grad_sums.axes);
        break;
    case KERN_LP_NORM:
        graph_text_add(text, " axis=%u epsilon=%.9g p=%u", op->u.lp_norm.axis, op->u.lp_norm.epsilon, op->u.lp_norm.p);
        break;
    case KERN_LRN:
        graph_text_add(text, " %s size=%u alpha=%.9g beta=%.9g bias=%.9g",
                       op->u.lrn.cross_channel ? "channels" : "pixels", op->u.lrn.local_size, op->u.lrn.alpha,
                       op->u.lrn.beta, op->u.lrn.bias);
        break;
    case KERN_MOVE:
        break;
    case KERN_RECURRENT:
        print_recurrent(text, &op->u.recurrent, op->tensors[0].sizes[2]);
        break;
    case KERN_PAD:
        graph_text_add(text, " mode=%u", (unsigned)op->u.pad.mode);
        print_array(text, "start", op->u.pad.start, rank);
        break;
    case KERN_RESAMPLE:
        print_resample(text, &op->u.resample, rank);
        break;
    case KERN_FOLD:
        print_fold(text, &op->u.fold);
        break;
    case KERN_GATHER:
        graph_text_add(text, " axis=%u index_rank=%u", op->u.gather.axis, op->u.gather.index_rank);
        break;
    case KERN_ATTENTION:
        print_attention(text, &op->u.attention);
        break;
    case KERN_APPEND:
        break;
    case KERN_SORT:
        graph_text_add(text, " axis=%u%s", op->u.sort.axis, op->u.sort.descending ? " descending" : "");
        break;
    case KERN_SCAN:
        graph_text_add(text, " axis=%u %s%s%s%s", op->u.scan.axis, op->u.scan.product ? "product" : "sum",
                       op->u.scan.exclusive ? " exclusive" : "", op->u.scan.total ? " total" : "",
                       op->u.scan.has_init ? " init" : "");
        break;
    case KERN_RANDOM:
    case KERN_ROI:
        print_roi(text, &op->u.roi);
        break;
    case KERN_ROI_GRAD:
        print_roi(text, &op->u.roi_grad.roi);
        break;
    case KERN_KIND_COUNT:
        break;
    }
}

void graph_text_op(struct graph_text *text, const struct kern_op *op)
{
    graph_text_add(text, "%s", (unsigned)op->kind < ARRAY_SIZE(kind_names) ? kind_names[op->kind] : "?");
    print_parameters(text, op);
    if (op->epilogue) {
        graph_text_add(text, " epilogue");
        print_program(text, op->epilogue, 1 + op->input_count - op->epilogue_input, 1);
    }
}
