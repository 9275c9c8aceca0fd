/* What integer convolutions and matrix products on oneDNN share: sums times scales, post-ops, and the way back to
 * bytes. Zero points and scales are tensors that the library reads at execution. */
#include "kernels/onednn/dnnl_op.h"

#include "kernels/gemm/gemm.h"
#include "kernels/map/map_run.h"

static bool same_everywhere(const struct kern_view *view)
{
    bool result = true;
    for (uint32_t d = 0; d < view->rank; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == 0);
    return result;
}

/* One scale, or scales side by side along `channel`. */
static bool scale_fits(const struct kern_view *view, uint32_t channel, bool *out_by_channel)
{
    bool result = view->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    *out_by_channel = !same_everywhere(view);
    for (uint32_t d = 0; d < view->rank && *out_by_channel; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == (d == channel ? 1 : 0));
    return result;
}

/* The program ends in clamp(rint(x [/ divisor]) [+ zero point]) to the whole range of the output's type: returns how
 * many instructions that takes, 0 for none. */
static uint32_t quantize_length(const struct kern_op *op, struct dnnl_epilogue *out)
{
    const struct kern_map *map = op->epilogue;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t inputs = 1 + op->input_count - op->epilogue_input, at = map->inst_count;
    bool is_signed = y->type == DML_TENSOR_DATA_TYPE_INT8;
    if (at < 2 || map->store[0] != inputs + at - 1)
        return 0;
    const struct kern_map_inst *inst = &map->inst[--at];
    if (inst->code != KERN_MAP_CLAMP || inst->imm[0].f32 != (is_signed ? -128 : 0) ||
        inst->imm[1].f32 != (is_signed ? 127 : 255) || inst->src[0] != inputs + at - 1)
        return 0;
    inst = &map->inst[--at];
    if (inst->code == KERN_MAP_ADD) {
        uint32_t zero = inst->src[1];
        if (!at || inst->src[0] != inputs + at - 1 || zero < 1 || zero >= inputs)
            return 0;
        out->zero = op->epilogue_input + zero - 1;
        inst = &map->inst[--at];
    }
    if (inst->code != KERN_MAP_RINT || inst->src[0] != (at ? inputs + at - 1 : 0))
        return 0;
    inst--;
    if (at && inst->code == KERN_MAP_DIV) {
        at--;
        if (inst->src[0] != (at ? inputs + at - 1 : 0) || inst->src[1] < 1 || inst->src[1] >= inputs)
            return 0;
        out->divisor = op->epilogue_input + inst->src[1] - 1u;
    }
    return map->inst_count - at;
}

static bool all_floats(const struct kern_map *map)
{
    bool result = true;
    for (uint32_t i = 0; i < map->inst_count; i++)
        result = result && map->inst[i].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
                 map->inst[i].to_type == DML_TENSOR_DATA_TYPE_FLOAT32;
    return result;
}

/* What is left between the scales and the quantisation, as a program of its own. */
static void take_rest(const struct kern_op *op, uint32_t first, uint32_t end, struct dnnl_epilogue *out)
{
    uint32_t inputs = 1 + op->input_count - op->epilogue_input;
    out->rest = *op;
    out->rest_map = *op->epilogue;
    out->rest_map.inst_count = end - first;
    for (uint32_t i = first; i < end; i++) {
        struct kern_map_inst *inst = &out->rest_map.inst[i - first];
        *inst = op->epilogue->inst[i];
        for (uint32_t s = 0; s < ARRAY_SIZE(inst->src); s++)
            if (inst->src[s] >= inputs) /* the scaled sum stands for the sum */
                inst->src[s] = inst->src[s] < inputs + first ? 0 : (uint8_t)(inst->src[s] - first);
    }
    out->rest_map.store[0] = (uint8_t)(end > first ? inputs + end - first - 1 : 0);
    out->rest.epilogue = &out->rest_map;
}

/* Behind the scales nobody sees the plain sum any more. */
static bool sum_seen(const struct kern_map *map, uint32_t first)
{
    bool result = false;
    for (uint32_t i = first; i < map->inst_count; i++) {
        result = result || map->inst[i].code == KERN_MAP_CONST; /* whose registers would not follow */
        for (uint32_t s = 0; s < map_arity(map->inst[i].code); s++)
            result = result || map->inst[i].src[s] == 0;
    }
    return result;
}

bool dnnl_epilogue_init(const struct kern_op *op, uint32_t channel, struct dnnl_epilogue *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    const struct kern_map *map = op->epilogue;
    *out = (struct dnnl_epilogue){ .quantizes = gemm_bytes(y->type) };
    if (!map || !map->inst_count || !all_floats(map) || (!out->quantizes && y->type != DML_TENSOR_DATA_TYPE_FLOAT32))
        return false;
    uint32_t inputs = 1 + op->input_count - op->epilogue_input, first = 0, length = 0;
    if (map->inst[0].code == KERN_MAP_MUL && (map->inst[0].src[0] == 0) != (map->inst[0].src[1] == 0)) {
        uint32_t reg = map->inst[0].src[0] ? map->inst[0].src[0] : map->inst[0].src[1];
        out->scale = op->epilogue_input + reg - 1;
        out->scales = reg < inputs && scale_fits(&op->tensors[out->scale], channel, &out->by_channel);
        first = out->scales;
    }
    if (first && sum_seen(map, first))
        return false;
    if (out->quantizes &&
        (!(length = quantize_length(op, out)) || length + first > map->inst_count ||
         (out->divisor && (op->tensors[out->divisor].type != DML_TENSOR_DATA_TYPE_FLOAT32 ||
                           !same_everywhere(&op->tensors[out->divisor]))) ||
         (out->zero && (!gemm_bytes(op->tensors[out->zero].type) || !same_everywhere(&op->tensors[out->zero])))))
        return false;
    if (!out->quantizes && map->store[0] != inputs + map->inst_count - 1)
        return false;
    take_rest(op, first, map->inst_count - length, out);
    return true;
}

/* A post-op: oneDNN 2.6 has no fast convolution whose output scales are known at execution only. */
static bool scale_post(struct dnnl_epilogue *ending, const dnnl_memory_desc_t *y, dnnl_post_ops_t ops,
                       struct dnnl_post *post)
{
    dnnl_dims_t dims, strides;
    for (int d = 0; d < y->ndims; d++) {
        dims[d] = d == 1 && ending->by_channel ? y->dims[d] : 1;
        strides[d] = d == 0 && ending->by_channel ? y->dims[1] : 1;
    }
    return dnnl_memory_desc_init_by_strides(&ending->scale_md, y->ndims, dims, dnnl_f32, strides) == dnnl_success &&
           dnnl_post_binary(ops, dnnl_binary_mul, ending->scale, &ending->scale_md, post);
}

static bool one_md(int rank, dnnl_memory_desc_t *out)
{
    dnnl_dims_t ones;
    for (int d = 0; d < rank; d++)
        ones[d] = 1;
    return dnnl_memory_desc_init_by_strides(out, rank, ones, dnnl_f32, ones) == dnnl_success;
}

bool dnnl_int_attr(struct dnnl_epilogue *ending, bool in_zero, const dnnl_memory_desc_t *y, dnnl_md_fn *md_of,
                   void *context, struct dnnl_post *post, dnnl_primitive_attr_t *out)
{
    const int32_t zero = DNNL_RUNTIME_S32_VAL;
    struct kern_op rest = ending->rest;
    dnnl_post_ops_t ops = NULL;
    rest.epilogue = &ending->rest_map;
    post->count = 0;
    bool ok = dnnl_attr_create(out) && dnnl_safe_post_ops_create(&ops) == dnnl_success;
    if (ok && ending->scales)
        ok = scale_post(ending, y, ops, post);
    if (ok && in_zero)
        ok = dnnl_safe_primitive_attr_set_zero_points(*out, DNNL_ARG_SRC, 1, 0, &zero) == dnnl_success;
    if (ok && ending->zero)
        ok = dnnl_safe_primitive_attr_set_zero_points(*out, DNNL_ARG_DST, 1, 0, &zero) == dnnl_success;
    if (ok && ending->rest_map.inst_count)
        ok = dnnl_post_epilogue(&rest, ops, md_of, context, post);
    if (ok && ending->divisor)
        ok = one_md(y->ndims, &ending->divisor_md) &&
             dnnl_post_binary(ops, dnnl_binary_div, ending->divisor, &ending->divisor_md, post);
    /* The library adds the zero point before it rounds, which turns halves the other way where it is odd. */
    if (ok && ending->zero)
        ok = dnnl_safe_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_round, 0, 0) == dnnl_success;
    ok = ok && dnnl_safe_primitive_attr_set_post_ops(*out, ops) == dnnl_success;
    dnnl_post_ops_destroy(ops);
    return ok;
}

bool dnnl_int_args(struct dnnl_state *state, const struct dnnl_epilogue *ending, uint32_t x_zero, dnnl_md_fn *md_of,
                   void *context, const struct dnnl_post *post, int *args, uint32_t *buffers, uint32_t *count)
{
    const struct kern_op *op = &ending->rest;
    dnnl_memory_desc_t md;
    if (x_zero) {
        args[*count] = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;
        buffers[(*count)++] = dnnl_buffer_zero(state, x_zero, op->tensors[x_zero].type);
    }
    if (ending->zero) {
        args[*count] = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST;
        buffers[(*count)++] = dnnl_buffer_zero(state, ending->zero, op->tensors[ending->zero].type);
    }
    for (uint32_t i = 0; i < post->count; i++) {
        bool scale = ending->scales && i == 0, divisor = ending->divisor && i + 1 == post->count;
        if (!scale && !divisor && !md_of(context, post->tensor[i], &md))
            return false;
        if (scale || divisor)
            md = scale ? ending->scale_md : ending->divisor_md;
        args[*count] = post->arg[i];
        buffers[(*count)++] = dnnl_buffer_tensor(state, &md, post->tensor[i]);
    }
    return true;
}
