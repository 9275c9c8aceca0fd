/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/core/shader_block.h"

/* Amount of work from which specialised pipelines pay off for an op that runs once. */
static uint64_t specialize_from = 16384;

void shader_specialize_from(uint64_t units)
{
    specialize_from = units;
}

bool shader_much(uint64_t work)
{
    return work >= specialize_from;
}

bool shader_specializes(const struct kern_op *op, uint64_t work)
{
    return op->specialized || shader_much(work);
}

_Static_assert(SHADER_TENSORS_MAX == KERN_TENSORS_MAX, "tensors of a block");

static uint32_t tensor_count(const struct kern_op *op)
{
    return op->input_count + op->output_count;
}

/* The largest distance of an element from element 0, ..., 0, in elements. */
static uint64_t reach(const struct kern_view *view)
{
    uint64_t sum = 0;
    for (uint32_t d = 0; d < view->rank; d++) {
        const int64_t stride = view->strides[d];
        const uint64_t step = (uint64_t)(stride < 0 ? -stride : stride);
        if (view->sizes[d] > 1 && step && __builtin_add_overflow(sum, step * (view->sizes[d] - 1), &sum))
            return UINT64_MAX;
    }
    return sum;
}

const char *shader_size_unsupported(const struct kern_op *op)
{
    for (uint32_t t = 0; t < tensor_count(op); t++)
        if (reach(&op->tensors[t]) > INT32_MAX || kern_view_elements(&op->tensors[t]) > INT32_MAX)
            return "the shaders do not count that many elements";
    return NULL;
}

const char *shader_block_unsupported(const struct kern_op *op)
{
    return op->epilogue ? "no shader with an epilogue" : shader_size_unsupported(op);
}

enum shader_code shader_variant(enum shader_code plain, const struct kern_op *op)
{
    uint32_t variant = 0;
    for (uint32_t t = 0; t < tensor_count(op); t++) {
        const DML_TENSOR_DATA_TYPE type = op->tensors[t].type;
        if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
            variant = 2;
        else if (type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64)
            variant = BASE_MAX(variant, 1);
    }
    return (enum shader_code)(plain + variant);
}

enum shader_code shader_real_variant(enum shader_code plain, const struct kern_op *op)
{
    return (enum shader_code)(plain + (shader_variant(plain, op) != plain));
}

void shader_specialize(const struct kern_op *op, uint64_t work, struct shader_dispatch *out)
{
    if (shader_specializes(op, work))
        for (uint32_t t = 0; t < tensor_count(op); t++)
            out->constants[t / 8] |= (uint32_t)op->tensors[t].type << 4 * (t % 8);
}

/* The byte of the block at which the epilogue's steps start. */
static uint32_t steps_at(const struct kern_op *op, size_t parameter_bytes)
{
    const size_t bytes = sizeof(struct shader_header) + parameter_bytes + tensor_count(op) * sizeof(struct shader_view);
    return (uint32_t)base_align_up(bytes, sizeof(struct shader_step));
}

struct shader_dispatch *shader_add(struct shader_work *work, enum shader_code code, const struct kern_op *op,
                                   uint64_t units, uint32_t group_size, size_t parameter_bytes)
{
    struct shader_dispatch *out = &work->dispatches[work->dispatch_count++];
    const uint64_t groups = (units + group_size - 1) / group_size;
    out->shader = shader_identity(code);
    out->groups[0] = (uint32_t)BASE_MAX(BASE_MIN(groups, SHADER_GROUPS_MAX), 1);
    out->groups[1] = out->groups[2] = 1;
    out->parameter_words = (steps_at(op, parameter_bytes) + shader_epilogue_bytes(op)) / 4;
    out->constant_count = 2;
    shader_specialize(op, group_size > 1 ? units : units * SHADER_GROUP_SIZE, out);
    return out;
}

static void write_view(const struct kern_view *view, const struct shader_place *place, struct shader_view *out)
{
    *out = (struct shader_view){ .type = (uint32_t)view->type,
                                 .rank = view->rank,
                                 .base = place->base,
                                 .offset_low = (uint32_t)place->offset,
                                 .offset_high = (uint32_t)(place->offset >> 32) };
    for (uint32_t d = 0; d < view->rank; d++) {
        out->sizes[d] = view->sizes[d];
        out->strides[d] = view->sizes[d] > 1 ? (int32_t)view->strides[d] : 0;
    }
}

void shader_block_write(const struct kern_op *op, const struct shader_place *places, uint64_t units,
                        const void *parameters, size_t parameter_bytes, uint32_t *words)
{
    const uint32_t tensors = tensor_count(op);
    const struct shader_place *scratch = &places[tensors];
    struct shader_header *header = (struct shader_header *)words;
    char *at = (char *)(header + 1);
    *header = (struct shader_header){ op->input_count, op->output_count,          (uint32_t)units,
                                      scratch->base,   (uint32_t)scratch->offset, (uint32_t)(scratch->offset >> 32) };
    header->steps = steps_at(op, parameter_bytes) / (uint32_t)sizeof(struct shader_step);
    if (parameter_bytes)
        memcpy(at, parameters, parameter_bytes);
    for (uint32_t t = 0; t < tensors; t++) {
        struct shader_view view;
        write_view(&op->tensors[t], &places[t], &view);
        memcpy(at + parameter_bytes + t * sizeof(view), &view, sizeof(view));
    }
    if (op->epilogue)
        shader_epilogue_write(op, (struct shader_step *)words + header->steps);
}

bool shader_wide(const struct kern_view *view, uint32_t along, uint32_t vector)
{
    if (view->strides[along] != 1 || view->sizes[along] % vector || view->offset % vector)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != along && view->sizes[d] > 1 && view->strides[d] % (int32_t)vector)
            return false;
    return true;
}
