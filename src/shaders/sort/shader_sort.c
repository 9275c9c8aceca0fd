/* SPDX-License-Identifier: Apache-2.0 */
/* The row that sorts: in shared memory, then by merges. */
#include "shaders/sort/shader_sort_runs.h"

#include "kernels/core/number.h"

static bool is_wide(const struct kern_op *op)
{
    return kern_type_bytes(op->tensors[0].type) == 8;
}

static struct shader_runs runs_of(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0];
    const uint32_t axis = op->u.sort.axis;
    return shader_runs(kern_view_elements(x) / x->sizes[axis], x->sizes[axis], op->tensors[1].sizes[axis], is_wide(op));
}

const char *shader_sort_any_obstacle(const struct kern_op *op)
{
    const char *obstacle = shader_block_obstacle(op);
    if (obstacle)
        return obstacle;
    return runs_of(op).capacity > INT32_MAX ? "the shaders do not sort that many elements" : NULL;
}

/* Elements of a line that are sorted together. */
static uint32_t segment_of(const struct shader_runs *runs)
{
    uint32_t segment = 1;
    while (segment < SORT_CHUNK && segment < runs->length)
        segment *= 2;
    return segment;
}

static uint64_t chunks_of(const struct shader_runs *runs)
{
    const uint32_t in_chunk = SORT_CHUNK / segment_of(runs);
    return (runs->lines * runs->parts + in_chunk - 1) / in_chunk;
}

static uint64_t results_of(const struct shader_runs *runs)
{
    return runs->lines * runs->kept;
}

void shader_sort_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct shader_runs runs = runs_of(op);
    shader_add(out, runs.wide ? SHADER_sort_chunk_wide : SHADER_sort_chunk, op, chunks_of(&runs), 1,
               sizeof(struct sort_params));
    if (runs.parts == 1)
        return;
    out->scratch_bytes = shader_runs_scratch_bytes(&runs);
    shader_runs_plan(&runs, op, out);
    shader_add(out, runs.wide ? SHADER_sort_finish_wide : SHADER_sort_finish, op, results_of(&runs), SHADER_GROUP_SIZE,
               sizeof(struct sort_merge_params));
}

static void put64(uint64_t value, uint *out)
{
    memcpy(out, &value, sizeof(value));
}

static void set_keys(const struct kern_op *op, struct sort_params *params)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    const enum kern_class class = kern_type_class(type);
    const uint32_t bits = kern_type_bits(type);
    const uint64_t mask = UINT64_MAX >> (64 - bits), sign = UINT64_C(1) << (bits - 1);
    const uint32_t mantissa = type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? 7 : bits == 16 ? 10 : bits == 32 ? 23 : 52;
    params->is_float = class == KERN_CLASS_FLOAT;
    put64(mask, params->mask);
    put64(sign, params->sign);
    put64((sign - 1) >> mantissa << mantissa, params->infinity);
    put64((op->u.sort.descending ? mask : 0) ^ (class == KERN_CLASS_SIGNED ? sign : 0), params->flip);
}

static void write_chunks(const struct kern_op *op, const struct shader_runs *runs, const struct shader_place *places,
                         uint32_t *words)
{
    struct sort_params params = { .axis = op->u.sort.axis,
                                  .lines = (uint32_t)runs->lines,
                                  .size = runs->length,
                                  .kept = runs->kept,
                                  .segment = segment_of(runs),
                                  .parts = runs->parts };
    set_keys(op, &params);
    shader_block_write(op, places, chunks_of(runs), &params, sizeof(params), words);
}

static void write_results(const struct kern_op *op, const struct shader_runs *runs, const struct shader_place *places,
                          uint32_t *words)
{
    struct sort_merge_params params = shader_runs_merge(runs, runs->merges);
    params.axis = op->u.sort.axis;
    shader_block_write(op, places, results_of(runs), &params, sizeof(params), words);
}

void shader_sort_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct shader_runs runs = runs_of(op);
    if (index == 0)
        write_chunks(op, &runs, places, words);
    else if (index <= runs.merges)
        shader_runs_write(&runs, op, index - 1, places, words);
    else
        write_results(op, &runs, places, words);
}
