/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for ops that gather, count and scatter elements by index. */
#include "shaders/core/shader_block.h"
#include "shaders/gemm/shader_tile.h"
#include "shaders/index/index_params.h"

#include "kernels/core/number.h"

_Static_assert(KERN_INDEX_AXIS == 0 && KERN_INDEX_ELEMENTS == 1, "gather.comp has these numbers");

static uint64_t result_elements(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[op->input_count]);
}

/* ---- SEQUENCE ---- */

static bool sequence_is_float(const struct kern_op *op)
{
    return kern_type_class(op->tensors[0].type) == KERN_CLASS_FLOAT;
}

const char *shader_sequence_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

/* Floating-point elements are computed in FLOAT64, to be rounded once. */
void shader_sequence_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, sequence_is_float(op) ? SHADER_sequence_f64 : shader_variant(SHADER_sequence, op), op,
               result_elements(op), SHADER_GROUP_SIZE, sizeof(struct sequence_params));
}

void shader_sequence_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    struct sequence_params params;
    memcpy(params.start, &op->u.sequence.start, 8);
    memcpy(params.delta, &op->u.sequence.delta, 8);
    shader_block_write(op, places, result_elements(op), &params, sizeof(params), words);
}

/* For devices without FLOAT64. */
const char *shader_sequence_single_unsupported(const struct kern_op *op)
{
    if (!sequence_is_float(op) || op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return "no shader for this data type";
    return shader_block_unsupported(op);
}

void shader_sequence_single_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, SHADER_sequence, op, result_elements(op), SHADER_GROUP_SIZE, sizeof(struct sequence_params));
}

static void split(double value, uint *out)
{
    const float pair[2] = { (float)value, (float)(value - (float)value) };
    memcpy(out, pair, sizeof(pair));
}

void shader_sequence_single_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    struct sequence_params params;
    split(op->u.sequence.start.f64, params.start);
    split(op->u.sequence.delta.f64, params.delta);
    shader_block_write(op, places, result_elements(op), &params, sizeof(params), words);
}

/* ---- GATHER ---- */

const char *shader_gather_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

/* Elements at a time: for contiguous rows, those of 16 bytes. */
static uint32_t gather_vector(const struct kern_op *op)
{
    const struct kern_gather *gather = &op->u.gather;
    const struct kern_view *x = &op->tensors[0], *indices = &op->tensors[1], *y = &op->tensors[2];
    const uint32_t picked = gather->mode == KERN_INDEX_ND ? indices->sizes[indices->rank - 1] : 1;
    const uint32_t bytes = kern_type_bytes(y->type);
    if (gather->mode == KERN_INDEX_ELEMENTS || gather->axis + picked >= x->rank || !bytes ||
        !shader_specializes(op, result_elements(op)) || x->strides[x->rank - 1] != 1 || y->strides[y->rank - 1] != 1 ||
        y->sizes[y->rank - 1] * bytes < 16)
        return 1;
    return 16 / bytes;
}

/* Invocations of a row. */
static uint32_t gather_parts(const struct kern_op *op)
{
    const uint32_t last = op->tensors[2].sizes[op->tensors[2].rank - 1];
    const uint32_t together = gather_vector(op) > 1 ? gather_vector(op) * GATHER_VECTORS : 1;
    return last / together + (last % together > 0);
}

static uint64_t gather_units(const struct kern_op *op)
{
    return result_elements(op) / op->tensors[2].sizes[op->tensors[2].rank - 1] * gather_parts(op);
}

void shader_gather_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_gather, op, gather_units(op), SHADER_GROUP_SIZE, sizeof(struct gather_params));
    const uint32_t vector = gather_vector(op);
    if (vector == 1)
        return;
    shader_specialize(op, result_elements(op), dispatch);
    dispatch->constants[dispatch->constant_count++] = vector;
}

void shader_gather_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct kern_gather *gather = &op->u.gather;
    const struct gather_params params = { gather->axis, gather->index_rank, (uint32_t)gather->mode,
                                          shader_divisor(gather_parts(op)) };
    shader_block_write(op, places, gather_units(op), &params, sizeof(params), words);
}

/* ---- PAD ---- */

_Static_assert(DML_PADDING_MODE_EDGE == 1 && DML_PADDING_MODE_REFLECTION == 2 && DML_PADDING_MODE_SYMMETRIC == 3 &&
                   DML_PADDING_MODE_WRAP == 4,
               "pad.comp has these numbers");

const char *shader_pad_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

/* Elements at a time: those of 16 bytes if the result's lines are contiguous and long enough. */
static uint32_t pad_vector(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[1];
    const uint32_t bytes = kern_type_bytes(y->type);
    int64_t pitch = 1;
    for (uint32_t d = y->rank; d-- > 0; pitch *= y->sizes[d])
        if (y->sizes[d] > 1 && y->strides[d] != pitch)
            return 1;
    if (!bytes || y->sizes[y->rank - 1] < 16 / bytes || !shader_specializes(op, kern_view_elements(y)))
        return 1;
    return 16 / bytes;
}

/* Invocations of a line of the result, or the elements. */
static uint32_t pad_parts(const struct kern_op *op)
{
    const uint32_t last = op->tensors[1].sizes[op->tensors[1].rank - 1];
    return pad_vector(op) > 1 ? last : last / PAD_TOGETHER + (last % PAD_TOGETHER > 0);
}

static uint64_t pad_units(const struct kern_op *op)
{
    const uint32_t vector = pad_vector(op);
    return vector > 1 ? (result_elements(op) + vector - 1) / vector
                      : result_elements(op) / op->tensors[1].sizes[op->tensors[1].rank - 1] * pad_parts(op);
}

void shader_pad_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_pad, op, pad_units(op), SHADER_GROUP_SIZE, sizeof(struct pad_params));
    const uint32_t vector = pad_vector(op);
    if (vector == 1)
        return;
    shader_specialize(op, result_elements(op), dispatch);
    dispatch->constants[dispatch->constant_count++] = vector;
    dispatch->constants[dispatch->constant_count++] = (uint32_t)op->u.pad.mode;
}

void shader_pad_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct kern_pad *pad = &op->u.pad;
    struct pad_params params = { .mode = (uint32_t)pad->mode,
                                 .elements = (uint32_t)result_elements(op),
                                 .by_parts = shader_divisor(pad_parts(op)) };
    (void)index; /* there is one */
    memcpy(params.value, &pad->value, sizeof(params.value));
    memcpy(params.start, pad->start, op->tensors[0].rank * sizeof(*params.start));
    memcpy(params.gap, pad->gap, op->tensors[0].rank * sizeof(*params.gap));
    for (uint32_t d = 0; d + 1 < op->tensors[1].rank; d++)
        params.by_sizes[d] = shader_divisor(op->tensors[1].sizes[d]);
    shader_block_write(op, places, pad_units(op), &params, sizeof(params), words);
}

/* ---- APPEND ---- */

const char *shader_append_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

/* Elements at a time: those of 16 bytes if they are contiguous in both. */
static uint32_t append_vector(const struct kern_op *op)
{
    const uint32_t bytes = kern_type_bytes(op->tensors[0].type), vector = bytes ? 16 / bytes : 1;
    return shader_wide(&op->tensors[0], 3, vector) && shader_wide(&op->tensors[2], 3, vector) ? vector : 1;
}

static uint64_t append_units(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[0]) / append_vector(op);
}

void shader_append_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_append, op, append_units(op), SHADER_GROUP_SIZE, sizeof(struct append_params));
    dispatch->constants[dispatch->constant_count++] = append_vector(op);
}

void shader_append_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct append_params params = { 0 };
    (void)index; /* there is one */
    shader_block_write(op, places, append_units(op), &params, sizeof(params), words);
}

/* ---- NONZERO ---- */

static uint64_t nonzero_blocks(const struct kern_op *op)
{
    return (kern_view_elements(&op->tensors[0]) + op->u.nonzero.block - 1) / op->u.nonzero.block;
}

const char *shader_nonzero_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_nonzero_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, op->u.nonzero.write ? SHADER_nonzero_write : SHADER_nonzero_count, op, nonzero_blocks(op), 1,
               sizeof(struct nonzero_params));
}

void shader_nonzero_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    struct nonzero_params params = { op->u.nonzero.block,
                                     (uint32_t)kern_view_elements(&op->tensors[0]),
                                     { UINT32_MAX, UINT32_MAX } };
    if (kern_type_class(type) == KERN_CLASS_FLOAT) { /* without the sign */
        const uint64_t mask = (UINT64_C(1) << (kern_type_bits(type) - 1)) - 1;
        memcpy(params.mask, &mask, sizeof(params.mask));
    }
    shader_block_write(op, places, nonzero_blocks(op), &params, sizeof(params), words);
}
