/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that sorts: in shared memory, then by merges. */
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

const char *shader_sort_any_unsupported(const struct kern_op *op)
{
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
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

static struct sort_keys keys_of(const struct kern_op *op)
{
    struct sort_keys keys;
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    const enum kern_class class = kern_type_class(type);
    const uint32_t bits = kern_type_bits(type);
    const uint64_t mask = UINT64_MAX >> (64 - bits), sign = UINT64_C(1) << (bits - 1);
    const uint32_t mantissa = type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? 7 : bits == 16 ? 10 : bits == 32 ? 23 : 52;
    keys.is_float = class == KERN_CLASS_FLOAT;
    put64(mask, keys.mask);
    put64(sign, keys.sign);
    put64((sign - 1) >> mantissa << mantissa, keys.infinity);
    put64((op->u.sort.descending ? mask : 0) ^ (class == KERN_CLASS_SIGNED ? sign : 0), keys.flip);
    return keys;
}

static void write_chunks(const struct kern_op *op, const struct shader_runs *runs, const struct shader_place *places,
                         uint32_t *words)
{
    struct sort_params params = { .axis = op->u.sort.axis,
                                  .lines = (uint32_t)runs->lines,
                                  .size = runs->length,
                                  .kept = runs->kept,
                                  .segment = segment_of(runs),
                                  .parts = runs->parts,
                                  .keys = keys_of(op) };
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

/* ---- by digits, the lowest first, of lines that a workgroup has room for ---- */

#define LINE_LEAST (SORT_CHUNK + 1) /* elements: fewer need no merges either */
#define LINE_MOST  4096             /* as shared memory has room for */

static uint64_t lines_of(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[0]) / op->tensors[0].sizes[op->u.sort.axis];
}

const char *shader_sort_group_unsupported(const struct kern_op *op)
{
    const uint32_t length = op->tensors[0].sizes[op->u.sort.axis];
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
    if (is_wide(op) || !kern_type_bytes(op->tensors[0].type))
        return "no shader for this data type";
    return length > LINE_MOST || (!shader_much(1) && length < LINE_LEAST) ? "no shader for this size" : NULL;
}

void shader_sort_group_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool large = op->tensors[0].sizes[op->u.sort.axis] > 8 * SHADER_GROUP_SIZE;
    struct shader_dispatch *dispatch = shader_add(out, large ? SHADER_sort_group_large : SHADER_sort_group, op,
                                                  lines_of(op), 1, sizeof(struct sort_group_params));
    dispatch->constants[2] = kern_type_bits(op->tensors[0].type) <= 16;
    dispatch->constant_count = 3;
}

void shader_sort_group_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const uint32_t axis = op->u.sort.axis;
    const struct sort_group_params params = { .axis = axis,
                                              .size = op->tensors[0].sizes[axis],
                                              .kept = op->tensors[1].sizes[axis],
                                              .digits = kern_type_bytes(op->tensors[0].type),
                                              .keys = keys_of(op) };
    (void)index; /* there is one */
    shader_block_write(op, places, lines_of(op), &params, sizeof(params), words);
}

/* ---- by digits, the lowest first: each pass counts, adds up and places ---- */

#define RADIX_LEAST 16384 /* elements of a line; with fewer the other kernel is faster, */
#define RADIX_SHARE 4     /* as it is if a smaller part than this is needed */

/* Byte offsets in scratch memory. */
struct radix {
    uint64_t items, lines, area, counts, totals, end;
    uint32_t groups, passes;
};

static struct radix radix_of(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0];
    struct radix radix = { .items = kern_view_elements(x) };
    const uint32_t length = x->sizes[op->u.sort.axis];
    radix.lines = radix.items / length;
    radix.groups = length / RADIX_ITEMS + (length % RADIX_ITEMS > 0);
    radix.passes = (kern_type_bits(x->type) + RADIX_BITS - 1) / RADIX_BITS;
    radix.area = 8 * radix.items;
    radix.counts = 2 * radix.area;
    radix.totals = radix.counts + 4 * RADIX * radix.lines * radix.groups;
    radix.end = radix.totals + 4 * RADIX * radix.lines;
    return radix;
}

const char *shader_sort_radix_unsupported(const struct kern_op *op)
{
    const uint32_t axis = op->u.sort.axis, length = op->tensors[0].sizes[axis];
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
    if (is_wide(op))
        return "no shader for this data type";
    if (length < (shader_much(1) ? RADIX_ITEMS / 16 : RADIX_LEAST) ||
        (uint64_t)op->tensors[1].sizes[axis] * RADIX_SHARE < length)
        return "no shader for this size";
    return radix_of(op).end > UINT32_MAX ? "the shaders do not sort that many elements" : NULL;
}

void shader_sort_radix_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct radix radix = radix_of(op);
    const uint64_t groups = radix.lines * radix.groups;
    out->scratch_bytes = radix.end;
    for (uint32_t pass = 0; pass < radix.passes; pass++) {
        shader_add(out, SHADER_radix_count, op, groups, 1, sizeof(struct radix_params));
        shader_add(out, SHADER_radix_offsets, op, radix.lines * RADIX, 1, sizeof(struct radix_params))->constant_count =
            0; /* it reads no tensor */
        shader_add(out, SHADER_radix_place, op, groups, 1, sizeof(struct radix_params));
    }
}

void shader_sort_radix_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct radix radix = radix_of(op);
    const uint32_t pass = index / 3, axis = op->u.sort.axis;
    const struct radix_params params = { .axis = axis,
                                         .lines = (uint32_t)radix.lines,
                                         .size = op->tensors[0].sizes[axis],
                                         .kept = op->tensors[1].sizes[axis],
                                         .groups = radix.groups,
                                         .shift = pass * RADIX_BITS,
                                         .first = pass == 0,
                                         .last = pass + 1 == radix.passes,
                                         .from = (uint32_t)(pass % 2 ? 0 : radix.area),
                                         .to = (uint32_t)(pass % 2 ? radix.area : 0),
                                         .counts = (uint32_t)radix.counts,
                                         .totals = (uint32_t)radix.totals,
                                         .keys = keys_of(op) };
    const uint64_t units = index % 3 == 1 ? radix.lines * RADIX : radix.lines * radix.groups;
    shader_block_write(op, places, units, &params, sizeof(params), words);
}

/* ---- few of many: up to the last one that is needed ---- */

#define SELECT_LEAST 256   /* elements of a line, */
#define SELECT_MOST  16384 /* and in one workgroup */
#define SELECT_LINES 64
#define SELECT_SHARE 4 /* of the elements; above this, sorting all is faster */

const char *shader_sort_select_unsupported(const struct kern_op *op)
{
    const uint32_t length = op->tensors[0].sizes[op->u.sort.axis], kept = op->tensors[1].sizes[op->u.sort.axis];
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
    if (is_wide(op) || !kern_type_bytes(op->tensors[0].type))
        return "no shader for this data type";
    if (kept > SORT_CHUNK || (uint64_t)kept * SELECT_SHARE > length || length > SELECT_MOST ||
        (!shader_much(1) && (length < SELECT_LEAST || lines_of(op) < SELECT_LINES)))
        return "no shader for this size";
    return NULL;
}

void shader_sort_select_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, SHADER_sort_select, op, lines_of(op), 1, sizeof(struct sort_select_params));
}

void shader_sort_select_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    const uint32_t axis = op->u.sort.axis;
    struct sort_select_params params = { .axis = axis,
                                         .size = op->tensors[0].sizes[axis],
                                         .kept = op->tensors[1].sizes[axis],
                                         .segment = 1,
                                         .key_digits = kern_type_bytes(op->tensors[0].type),
                                         .position_digits = 1,
                                         .keys = keys_of(op) };
    (void)index; /* there is one */
    while (params.segment < params.kept)
        params.segment *= 2;
    while ((params.size - 1) >> RADIX_BITS * params.position_digits)
        params.position_digits++;
    shader_block_write(op, places, lines_of(op), &params, sizeof(params), words);
}
