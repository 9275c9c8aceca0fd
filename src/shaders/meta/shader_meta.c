/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/meta/shader_meta.h"

#include "shaders/gemm/shader_tile.h"

_Static_assert(META_EPILOGUE_STEPS == SHADER_STEPS_MAX, "epilogues that shaders take");
_Static_assert((int)META_UINT8 == (int)DML_TENSOR_DATA_TYPE_UINT8, "numbers of types");
_Static_assert((int)META_INT8 == (int)DML_TENSOR_DATA_TYPE_INT8, "numbers of types");
_Static_assert((int)META_BFLOAT16 == (int)ANYDML_TENSOR_DATA_TYPE_BFLOAT16, "numbers of types");

/* Of operations that shader_epilogue.c supports. */
static const uint8_t codes[KERN_MAP_CODE_COUNT] = {
    [KERN_MAP_ADD] = META_ADD,
    [KERN_MAP_SUB] = META_SUB,
    [KERN_MAP_MUL] = META_MUL,
    [KERN_MAP_DIV] = META_DIV,
    [KERN_MAP_MIN] = META_MIN,
    [KERN_MAP_MAX] = META_MAX,
    [KERN_MAP_CLAMP] = META_CLAMP,
    /* A number wins over NaN in all of these. */
    [KERN_MAP_MIN_NAN] = META_MIN,
    [KERN_MAP_MAX_NAN] = META_MAX,
    [KERN_MAP_CLAMP_NAN] = META_CLAMP,
    [KERN_MAP_ABS] = META_ABS,
    [KERN_MAP_NEG] = META_NEG,
    [KERN_MAP_RECIP] = META_RECIP,
    [KERN_MAP_RELU] = META_RELU,
    [KERN_MAP_LEAKY_RELU] = META_LEAKY_RELU,
    [KERN_MAP_HARD_SIGMOID] = META_HARD_SIGMOID,
    [KERN_MAP_HARD_SWISH] = META_HARD_SWISH,
    [KERN_MAP_MULADD] = META_MULADD,
    [KERN_MAP_SQRT] = META_SQRT,
    [KERN_MAP_RINT] = META_RINT,
    [KERN_MAP_ELU] = META_ELU,
    [KERN_MAP_SIGMOID] = META_SIGMOID,
    [KERN_MAP_SOFTPLUS] = META_SOFTPLUS,
    [KERN_MAP_TANH] = META_TANH,
    [KERN_MAP_GELU] = META_GELU,
    [KERN_MAP_SWISH] = META_SWISH,
};

bool shader_meta_may_wait(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return kern_view_elements(y) * kern_type_bytes(y->type) <= TUNE_META_CHAIN_BYTES_MAX;
}

void shader_meta_add(struct shader_work *work, enum shader_meta meta, const uint32_t *groups, uint32_t addresses,
                     size_t parameter_bytes)
{
    struct shader_dispatch *out = &work->dispatches[work->dispatch_count++];
    out->shader = (struct shader_identity){ SHADER_METACOMMAND, meta };
    memcpy(out->groups, groups, sizeof(out->groups));
    out->parameter_words = (uint32_t)(parameter_bytes / 4);
    out->addresses = addresses;
}

u64 shader_meta_place_at(const struct shader_place *place, uint64_t bytes)
{
    return ((u64)place->base + 1) << SHADER_ADDRESS_BITS | (place->offset + bytes);
}

u64 shader_meta_place(const struct shader_place *place)
{
    return shader_meta_place_at(place, 0);
}

/* One number, the result's layout, per channel, or anything else. */
static enum meta_place find_place(const struct kern_view *view, const struct kern_view *result, uint32_t channel)
{
    bool alike = true, single = true, channels = true;
    for (uint32_t d = 0; d < result->rank; d++) {
        if (result->sizes[d] == 1)
            continue;
        const bool fixed = view->strides[d] == 0 || view->sizes[d] == 1;
        alike = alike && view->strides[d] == result->strides[d] && view->sizes[d] == result->sizes[d];
        single = single && fixed;
        channels = channels && (fixed || d == channel);
    }
    return single ? META_PLACE_FIRST : alike ? META_PLACE_RESULT : channels ? META_PLACE_CHANNEL : META_PLACE_STRIDED;
}

bool shader_meta_is_strided(const struct kern_op *op, uint32_t channel, uint32_t tensor)
{
    return find_place(&op->tensors[tensor], &op->tensors[op->input_count], channel) == META_PLACE_STRIDED;
}

static bool type_fits(DML_TENSOR_DATA_TYPE type, bool bytes)
{
    return (bytes && (type == DML_TENSOR_DATA_TYPE_UINT8 || type == DML_TENSOR_DATA_TYPE_INT8)) ||
           type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

const char *shader_meta_steps_unsupported(const struct kern_op *op, bool bytes)
{
    struct kern_epilogue epilogue;
    const char *reason = shader_epilogue_unsupported(op);
    if (reason || !op->epilogue)
        return reason;
    shader_epilogue_match(op, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++)
        if (!codes[epilogue.step[i].code] ||
            (epilogue.step[i].tensor && !type_fits(op->tensors[epilogue.step[i].tensor].type, bytes)))
            return "no metacommand with this epilogue";
    return NULL;
}

const char *shader_meta_bytes_unsupported(const struct kern_op *op, uint32_t channel)
{
    struct kern_epilogue epilogue;
    const char *reason = shader_meta_steps_unsupported(op, true);
    if (reason || !op->epilogue)
        return reason;
    shader_epilogue_match(op, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++)
        if (epilogue.step[i].tensor && shader_meta_is_strided(op, channel, epilogue.step[i].tensor))
            return "no metacommand with this epilogue";
    return NULL;
}

void shader_meta_epilogue_write(const struct kern_op *op, uint32_t channel, const struct shader_place *places,
                                struct meta_epilogue *out)
{
    struct kern_epilogue epilogue;
    if (!op->epilogue)
        return;
    shader_epilogue_match(op, &epilogue);
    out->count = epilogue.count;
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_epilogue_step *step = &epilogue.step[i];
        const struct kern_view *view = &op->tensors[step->tensor];
        out->steps[i].code = codes[step->code];
        out->steps[i].p = step->p;
        out->steps[i].q = step->q;
        if (!step->tensor)
            continue;
        out->operands[i] = shader_meta_place(&places[step->tensor]);
        out->steps[i].type = (u32)view->type;
        out->steps[i].place = find_place(view, &op->tensors[op->input_count], channel);
        out->steps[i].stride = view->sizes[channel] > 1 ? (i32)view->strides[channel] : 0;
    }
}
