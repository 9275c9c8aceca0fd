/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/core/shader_block.h"

#define UNARY  KERN_EPILOGUE_VALUE
#define BINARY (KERN_EPILOGUE_NUMBER | KERN_EPILOGUE_TENSOR)
#define GATED  (KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE)
#define CUBIC  (GATED | KERN_EPILOGUE_CUBIC)

/* Steps that core/epilogue.glsl supports. */
static const struct kern_epilogue_support support = {
    SHADER_STEPS_MAX,
    { [KERN_MAP_ADD] = BINARY,         [KERN_MAP_SUB] = BINARY,       [KERN_MAP_MUL] = BINARY,
      [KERN_MAP_DIV] = BINARY,         [KERN_MAP_MIN] = BINARY,       [KERN_MAP_MAX] = BINARY,
      [KERN_MAP_CLAMP] = UNARY,        [KERN_MAP_ABS] = UNARY,        [KERN_MAP_NEG] = UNARY,
      [KERN_MAP_RECIP] = UNARY,        [KERN_MAP_RELU] = UNARY,       [KERN_MAP_LEAKY_RELU] = UNARY,
      [KERN_MAP_HARD_SIGMOID] = UNARY, [KERN_MAP_HARD_SWISH] = GATED, [KERN_MAP_MULADD] = UNARY,
      [KERN_MAP_SQRT] = UNARY,         [KERN_MAP_RINT] = UNARY,       [KERN_MAP_ELU] = UNARY,
      [KERN_MAP_SIGMOID] = UNARY,      [KERN_MAP_SOFTPLUS] = UNARY,   [KERN_MAP_TANH] = UNARY,
      [KERN_MAP_GELU] = UNARY,         [KERN_MAP_SWISH] = CUBIC,      [KERN_MAP_MIN_NAN] = BINARY,
      [KERN_MAP_MAX_NAN] = BINARY,     [KERN_MAP_CLAMP_NAN] = UNARY },
};

bool shader_epilogue_match(const struct kern_op *op, struct kern_epilogue *out)
{
    return kern_epilogue_match(op, &support, out);
}

const char *shader_epilogue_unsupported(const struct kern_op *op)
{
    struct kern_epilogue epilogue;
    for (uint32_t t = 0; op->epilogue && t <= op->input_count; t++)
        if (op->tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT64)
            return "no shader with an epilogue for this data type";
    return kern_epilogue_match(op, &support, &epilogue) ? NULL : "no shader with this epilogue";
}

uint32_t shader_epilogue_bytes(const struct kern_op *op)
{
    return op->epilogue ? SHADER_STEPS_MAX * sizeof(struct shader_step) : 0;
}

/* There is a less accurate function (map_short.glsl), and no later step amplifies its error more than a product
 * does. */
static bool is_short(const struct kern_op *op, const struct kern_epilogue *epilogue, uint32_t step)
{
    const enum kern_map_code code = (enum kern_map_code)epilogue->step[step].code;
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    for (uint32_t i = step + 1; i < epilogue->count; i++)
        if (epilogue->step[i].code != KERN_MAP_MUL)
            return false;
    return (type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16) &&
           (code == KERN_MAP_SIGMOID || code == KERN_MAP_SWISH || code == KERN_MAP_TANH || code == KERN_MAP_GELU);
}

void shader_epilogue_add(const struct kern_op *op, struct shader_dispatch *out)
{
    struct kern_epilogue epilogue;
    kern_epilogue_match(op, &support, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const uint32_t code = epilogue.step[i].code | (is_short(op, &epilogue, i) ? STEP_SHORT : 0);
        out->constants[SHADER_STEPS_CONSTANT + i / 4] |= code << 8 * (i % 4);
    }
    if (epilogue.count)
        out->constant_count = SHADER_STEPS_CONSTANT + 2;
}

uint32_t shader_epilogue_tensors(const struct kern_op *op)
{
    struct kern_epilogue epilogue;
    uint32_t tensors = 0;
    kern_epilogue_match(op, &support, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++)
        tensors |= (uint32_t)(epilogue.step[i].tensor != 0) << i;
    return tensors;
}

/* An operand with the result's layout needs no position computation, nor does a single number; a line that is repeated
 * for all lines needs a short one. */
static uint32_t place_of(const struct kern_view *view, const struct kern_view *result)
{
    bool alike = true, single = true, line = true;
    for (uint32_t d = 0; d < result->rank; d++) {
        if (result->sizes[d] == 1)
            continue;
        alike = alike && view->strides[d] == result->strides[d];
        const bool fixed = view->strides[d] == 0 || view->sizes[d] == 1;
        single = single && fixed;
        line = line && (fixed || d == result->rank - 1);
    }
    return single ? STEP_AT_FIRST : alike ? STEP_AT_RESULT : line ? STEP_ALONG_LAST : STEP_BY_NUMBER;
}

void shader_epilogue_write(const struct kern_op *op, struct shader_step *out)
{
    struct kern_epilogue epilogue;
    kern_epilogue_match(op, &support, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_epilogue_step *step = &epilogue.step[i];
        out[i] = (struct shader_step){ step->p, step->q, -1, STEP_AT_FIRST };
        if (!step->tensor)
            continue;
        out[i].tensor = (int)step->tensor;
        out[i].place = place_of(&op->tensors[step->tensor], &op->tensors[op->input_count]);
    }
}
