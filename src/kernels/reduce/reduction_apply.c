/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of kernels over groups: what becomes of each element once the tile's statistics are known. */
#include "kernels/reduce/reduction.h"

/* The part of tensor `t` that belongs to the tile: one dimension of groups, then those within a group. */
static struct kern_view tile_view(const struct kern_reductions *groups, uint32_t t, uint32_t width)
{
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    struct kern_view view = { .type = groups->call->op->tensors[t].type, .rank = 1 + inner->rank };
    view.sizes[0] = width;
    view.strides[0] = outer->strides[t][outer->rank - 1];
    for (uint32_t d = 0; d < inner->rank; d++) {
        view.sizes[1 + d] = (uint32_t)inner->sizes[d];
        view.strides[1 + d] = inner->strides[t][d];
    }
    return view;
}

void kern_reductions_apply(const struct kern_reductions *groups, const struct kern_map *map, uint64_t first,
                           uint32_t width)
{
    const struct kern_op *op = groups->call->op;
    struct kern_op tile;
    void *data[KERN_TENSORS_MAX];
    tile.kind = KERN_MAP;
    tile.input_count = op->input_count + KERN_REDUCTION_EXTRA;
    tile.output_count = 1;
    tile.u.map = *map;
    for (uint32_t t = 0; t <= op->input_count; t++) {
        uint32_t to = t ? t + KERN_REDUCTION_EXTRA : 0;
        tile.tensors[to] = tile_view(groups, t, width);
        data[to] =
            (void *)kern_at(groups->call->data[t], op->tensors[t].type, kern_iterator_offset(&groups->outer, t, first));
    }
    float *extra[] = { groups->scratch->a, groups->scratch->b, groups->scratch->c };
    for (uint32_t s = 1; s <= KERN_REDUCTION_EXTRA; s++) {
        tile.tensors[s] = tile.tensors[0];
        tile.tensors[s].type = DML_TENSOR_DATA_TYPE_FLOAT32;
        memset(tile.tensors[s].strides, 0, sizeof(tile.tensors[s].strides));
        tile.tensors[s].strides[0] = 1;
        data[s] = extra[s - 1];
    }
    struct kern_call call = { .op = &tile, .data = data, .worker_scratch = groups->scratch->map };
    kern_map_run_all(&call, groups->isa->map);
}

uint32_t kern_reductions_step(struct kern_map *map, uint32_t inputs, uint8_t code, uint32_t x, uint32_t y, uint32_t z)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_map_inst *inst = &map->inst[map->inst_count++];
    *inst = (struct kern_map_inst){ code, f32, f32, { (uint8_t)x, (uint8_t)y, (uint8_t)z } };
    return inputs + map->inst_count - 1;
}

void kern_reductions_finish(struct kern_map *map, const struct kern_op *op, uint32_t inputs, uint32_t result)
{
    const struct kern_map *end = op->epilogue;
    for (uint32_t i = 0; i < inputs; i++)
        map->load_type[i] = DML_TENSOR_DATA_TYPE_FLOAT32;
    map->store[0] = (uint8_t)result;
    if (!end)
        return;
    uint32_t own = map->inst_count, end_inputs = 1 + op->input_count - op->epilogue_input;
    uint8_t renamed[KERN_MAP_REGISTERS] = { (uint8_t)result };
    for (uint32_t r = 1; r < end_inputs; r++) {
        renamed[r] = (uint8_t)(op->epilogue_input + r - 1 + KERN_REDUCTION_EXTRA);
        map->load_type[renamed[r]] = end->load_type[r];
    }
    for (uint32_t i = 0; i < end->inst_count; i++) {
        struct kern_map_inst *inst = &map->inst[map->inst_count++];
        *inst = end->inst[i];
        renamed[end_inputs + i] = (uint8_t)(inputs + own + i);
        for (uint32_t s = 0; s < 3; s++)
            inst->src[s] = renamed[inst->src[s]];
    }
    map->store[0] = renamed[end->store[0]];
}

static struct kern_reduction_parameter own(const struct kern_reductions *groups, const float *values, uint32_t group)
{
    if (groups->columns)
        return (struct kern_reduction_parameter){ values, KERN_REDUCTION_EACH };
    return (struct kern_reduction_parameter){ values + group, KERN_REDUCTION_ONE };
}

/* Input t along the line that begins at `offset`; `buffer` takes a single FLOAT16. */
static struct kern_reduction_parameter further(const struct kern_reductions *groups, uint32_t t, int64_t offset,
                                               float *buffer)
{
    const struct kern_iterator *line = groups->columns ? &groups->outer : &groups->inner;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    bool half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
    if (line->strides[t][line->rank - 1])
        return (struct kern_reduction_parameter){ kern_at(groups->call->data[t], type, offset),
                                                  half ? KERN_REDUCTION_EACH_HALF : KERN_REDUCTION_EACH };
    *buffer = (float)kern_read_double(type, groups->call->data[t], offset);
    return (struct kern_reduction_parameter){ buffer, KERN_REDUCTION_ONE };
}

#define ROWS_AHEAD 4

/* The row some rows after this one; `offset` and `element`: those of this one. */
static const void *row_ahead(const struct kern_reductions *groups, int64_t offset, uint64_t element)
{
    const struct kern_iterator *inner = &groups->inner;
    if (element + ROWS_AHEAD >= inner->count)
        return NULL;
    offset += kern_iterator_offset(inner, 0, element + ROWS_AHEAD) - kern_iterator_offset(inner, 0, element);
    return kern_at(groups->call->data[0], groups->call->op->tensors[0].type, offset);
}

/* Where there is an epilogue, f->y says where the line goes. */
static void finish_line(const struct kern_reductions *groups, struct kern_reduction_finish *f, bool scale, bool shift,
                        uint64_t group, uint64_t element, uint32_t count)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_view *views = op->tensors;
    const uint32_t y = op->input_count;
    float buffer[2];
    int64_t at[KERN_TENSORS_MAX];
    for (uint32_t t = 0; t <= y; t++)
        at[t] = kern_iterator_offset(&groups->outer, t, group) + kern_iterator_offset(&groups->inner, t, element);
    f->x = kern_at(groups->call->data[0], views[0].type, at[0]);
    f->ahead = groups->columns ? row_ahead(groups, at[0], element)
                               : kern_reductions_ahead(groups, group + groups->tile, element);
    if (!op->epilogue)
        f->y = (void *)kern_at(groups->call->data[y], views[y].type, at[y]);
    if (scale)
        f->scale = further(groups, 1, at[1], &buffer[0]);
    if (shift)
        f->shift = further(groups, 1 + scale, at[1 + scale], &buffer[1]);
    groups->isa->finish(f, count);
}

/* Lines that are not dense in X or Y, or of other types in Y: block by block through buffers. */
static void finish_rows(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint64_t group)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const uint32_t t = groups->call->op->input_count;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    int64_t offset = kern_iterator_offset(&groups->outer, 0, group);
    void *y = (void *)kern_at(groups->call->data[t], type, kern_iterator_offset(&groups->outer, t, group));
    f->y = scratch->block2;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_MAP_BLOCK);
        f->x = kern_reductions_block(groups, 0, offset, at, &count, scratch->block, &f->x_half);
        groups->isa->finish(f, count);
        kern_convert(groups->isa->map, type, scratch->raw, DML_TENSOR_DATA_TYPE_FLOAT32, scratch->block2, count);
        kern_iterator_store(&groups->inner, t, type, y, at, count, scratch->raw);
        at += count;
    }
}

static void finish_columns(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint64_t first,
                           uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const uint32_t t = groups->call->op->input_count;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    int64_t x = kern_iterator_offset(&groups->outer, 0, first), y = kern_iterator_offset(&groups->outer, t, first);
    f->y = scratch->block2;
    f->x_half = false;
    for (uint64_t i = 0; i < groups->inner.count; i++) {
        f->x = kern_reductions_column(groups, 0, x + kern_iterator_offset(&groups->inner, 0, i), width, scratch->block);
        groups->isa->finish(f, width);
        kern_convert(groups->isa->map, type, scratch->raw, DML_TENSOR_DATA_TYPE_FLOAT32, scratch->block2, width);
        kern_copy_row(kern_type_bytes(type),
                      (void *)kern_at(groups->call->data[t], type, y + kern_iterator_offset(&groups->inner, t, i)),
                      groups->outer.strides[t][groups->outer.rank - 1], scratch->raw, 1, width);
    }
}

void kern_reductions_finish_tile(const struct kern_reductions *groups, enum kern_reduction_end end, bool scale,
                                 bool shift, uint64_t first, uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const struct kern_op *op = groups->call->op;
    const uint64_t line = groups->inner.sizes[groups->inner.rank - 1];
    struct kern_reduction_finish f = { .end = end,
                                       .x_half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16,
                                       .y_half = groups->direct &&
                                                 op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT16,
                                       .stream = groups->direct && groups->stream };
    for (uint32_t i = 0; i < (groups->columns ? 1 : width); i++) {
        f.a = own(groups, scratch->a, i);
        f.b = own(groups, scratch->b, i);
        f.c = own(groups, scratch->c, i);
        if (groups->columns && !groups->direct)
            finish_columns(groups, &f, first, width);
        for (uint64_t at = 0; groups->columns && groups->direct && at < groups->inner.count; at++)
            finish_line(groups, &f, scale, shift, first, at, width);
        if (!groups->columns && !groups->direct)
            finish_rows(groups, &f, first + i);
        for (uint64_t at = 0; !groups->columns && groups->direct && at < groups->inner.count; at += line)
            finish_line(groups, &f, scale, shift, first + i, at, (uint32_t)line);
    }
}

/* The epilogue over elements [at, at + count) of `rows` groups, whose results lie in scratch->block. */
static void apply_epilogue(const struct kern_reductions *groups, uint64_t first, uint32_t rows, uint64_t at,
                           uint32_t count)
{
    const struct kern_op *op = groups->call->op;
    struct kern_op map = { .kind = KERN_MAP, .input_count = 1 + op->input_count - op->epilogue_input };
    void *data[KERN_TENSORS_MAX] = { groups->scratch->block };
    map.output_count = 1;
    map.u.map = *op->epilogue;
    kern_view_set_packed(&map.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 2, (const uint32_t[]){ rows, count });
    for (uint32_t i = 1; i <= map.input_count; i++) {
        const uint32_t t = op->epilogue_input + i - 1;
        const DML_TENSOR_DATA_TYPE type = op->tensors[t].type;
        int64_t offset = kern_iterator_offset(&groups->outer, t, first) + kern_iterator_offset(&groups->inner, t, at);
        map.tensors[i] = (struct kern_view){ .type = type, .rank = 2, .sizes = { rows, count } };
        map.tensors[i].strides[0] = groups->outer.strides[t][groups->outer.rank - 1];
        map.tensors[i].strides[1] = groups->inner.strides[t][0];
        data[i] = (void *)kern_at(groups->call->data[t], type, offset);
    }
    struct kern_call call = { .op = &map, .data = data, .worker_scratch = groups->scratch->map };
    kern_map_run_all(&call, groups->isa->map);
}

void kern_reductions_finish_epilogue(const struct kern_reductions *groups, bool scale, bool shift, uint64_t first,
                                     uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const uint64_t line = groups->inner.count;
    const uint32_t count = (uint32_t)BASE_MIN(line, KERN_REDUCTION_BLOCK), most = KERN_REDUCTION_BLOCK / count;
    struct kern_reduction_finish f = { .end = KERN_REDUCTION_AFFINE,
                                       .x_half = groups->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16 };
    for (uint32_t i = 0, rows; i < width; i += rows) {
        rows = BASE_MIN(most, width - i);
        for (uint64_t at = 0, part; at < line; at += part) {
            part = BASE_MIN(count, line - at);
            for (uint32_t r = 0; r < rows; r++) {
                f.a = own(groups, scratch->a, i + r);
                f.b = own(groups, scratch->b, i + r);
                f.c = own(groups, scratch->c, i + r);
                f.y = groups->scratch->block + r * part;
                finish_line(groups, &f, scale, shift, first + i + r, at, (uint32_t)part);
            }
            apply_epilogue(groups, first + i, rows, at, (uint32_t)part);
        }
    }
}
