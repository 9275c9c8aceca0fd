/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs over whole tensors, block by block. */
#include "kernels/map/map.h"

enum { FILL_MIN = 64, DIRECT_MIN_ROW = 512, DIRECT_PIECE = 16384 /* elements of a row */ };

/* An input whose order to follow instead of output 0's: if it has long rows where the output's are short, such as
 * colours. */
static uint32_t find_leader(const struct kern_iterator *iterator, const struct kern_op *op)
{
    const uint32_t last = iterator->rank - 1, output = op->input_count;
    if (iterator->sizes[last] >= KERN_MAP_MIN_ROW || op->output_count != 1 ||
        !kern_type_bytes(op->tensors[output].type))
        return 0;
    for (uint32_t i = 0; i < op->input_count; i++)
        for (uint32_t d = 0; d < last; d++)
            if (iterator->strides[map_view_of_input(i)][d] == 1 && iterator->sizes[d] >= 8 * KERN_MAP_MIN_ROW)
                return map_view_of_input(i);
    return 0;
}

static void iterator_init(struct kern_iterator *iterator, const struct kern_op *op)
{
    uint32_t tensors[KERN_TENSORS_MAX];
    uint32_t count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < op->input_count; i++)
        tensors[map_view_of_input(i)] = i;
    for (uint32_t j = 0; j < op->output_count; j++)
        tensors[map_view_of_output(op, j)] = op->input_count + j;
    kern_iterator_init(iterator, op, tensors, count, UINT32_MAX, 0);
    const uint32_t leader = find_leader(iterator, op);
    if (leader)
        kern_iterator_init(iterator, op, tensors, count, UINT32_MAX, leader);
}

void map_load_repeated(struct map_run *run, uint32_t i, const void *element)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    char *staging = kern_map_block_staging(&run->block);
    void *buffer = kern_map_block_buffer(&run->block, i);
    uint32_t bytes = kern_type_bytes(run->block.type[i]);
    run->block.value[i] = buffer;
    run->block.same |= 1u << i;
    if (run->filled[i] == element && run->filled_count[i] == UINT32_MAX)
        return;
    run->filled[i] = element;
    run->filled_count[i] = UINT32_MAX;
    kern_convert(run->block.isa, run->block.type[i], staging, type, element, 1);
    kern_copy_row(bytes, buffer, 1, staging, 0, KERN_MAP_BLOCK);
}

/* `count` elements `stride` apart, in the input's load type. `raw` is a buffer for them in their own type. */
static void load_elements(const struct map_run *run, uint32_t i, int64_t offset, int64_t stride, uint32_t count,
                          void *raw, void *out)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    const uint32_t bytes = kern_type_bytes(type);
    const char *base = run->call->data[i];
    const void *from = raw;
    if (!bytes && stride == 1 && offset % 2 == 0 && count % 2 == 0 &&
        run->block.type[i] == DML_TENSOR_DATA_TYPE_FLOAT32) {
        run->block.isa->nibbles(out, (const uint8_t *)base + offset / 2, type == DML_TENSOR_DATA_TYPE_INT4, count / 2);
        return;
    }
    if (bytes && stride == 1)
        from = base + offset * bytes;
    else if (bytes)
        kern_copy_row(bytes, raw, 1, base + offset * bytes, stride, count);
    else
        kern_load_nibbles(type, (const uint8_t *)base, offset, stride, count, raw);
    kern_convert(run->block.isa, run->block.type[i], out, type, from, count);
}

bool map_repeats_in_rows(const struct kern_iterator *iterator, uint32_t view)
{
    const int64_t *strides = iterator->strides[view];
    uint32_t d = iterator->rank - 1;
    if (strides[d] != 0 || iterator->sizes[d] < KERN_MAP_MIN_ROW)
        return false;
    for (; d > 1; d--)
        if (strides[d - 2] != strides[d - 1] * (int64_t)iterator->sizes[d - 1])
            return false;
    return true;
}

/* Elements are converted before they are broadcast. */
void map_load_rows(struct map_run *run, uint32_t i, uint64_t row, uint32_t phase, uint32_t length, uint32_t count)
{
    const struct kern_iterator *iterator = &run->iterator;
    const uint32_t last = iterator->rank - 1, wide = kern_type_bytes(run->block.type[i]);
    const int64_t step = last ? iterator->strides[map_view_of_input(i)][last - 1] : 0;
    const uint32_t rows = (phase + count - 1) / length + 1;
    char *raw = kern_map_block_staging(&run->block), *elements = raw + KERN_MAP_STAGING_BYTES / 2;
    if (phase == 0 && run->block.type[i] == DML_TENSOR_DATA_TYPE_FLOAT32) {
        float *kept = kern_map_block_rows(&run->block, i);
        load_elements(run, i, (int64_t)row * step, step, rows, raw, kept);
        run->block.value[i] = kept;
        run->block.rows |= 1u << i;
        run->block.length = length;
        return;
    }
    void *buffer = kern_map_block_buffer(&run->block, i);
    load_elements(run, i, (int64_t)row * step, step, rows, raw, elements);
    run->block.isa->repeat(wide, buffer, elements, phase, length, count);
    run->block.value[i] = buffer;
}

/* Whether the view's elements [begin, begin + count) are `step` apart; then *offset is the first one's. */
static bool is_line(const struct map_run *run, uint32_t view, uint64_t begin, uint64_t count, int64_t step,
                    int64_t *offset)
{
    int64_t stride;
    if (!kern_iterator_linear(&run->iterator, view, begin, count, &stride) || stride != step)
        return false;
    *offset = kern_iterator_offset(&run->iterator, view, begin);
    return true;
}

/* Whether every row of the view has the same position, so that the buffer may already contain it. */
static bool load_same_rows(struct map_run *run, uint32_t i, uint64_t begin, uint32_t count)
{
    const struct kern_iterator *iterator = &run->iterator;
    const int64_t *strides = iterator->strides[map_view_of_input(i)];
    const uint32_t last = iterator->rank - 1;
    bool same = last > 0 && iterator->sizes[last] <= KERN_MAP_BLOCK / 2;
    for (uint32_t d = 0; d < last; d++)
        same &= strides[d] == 0;
    if (!same) {
        run->filled[i] = NULL;
        return false;
    }
    const char *from = (const char *)run->call->data[i] + begin % iterator->sizes[last];
    if (run->filled[i] == from && run->filled_count[i] != UINT32_MAX && run->filled_count[i] >= count)
        return true;
    run->filled[i] = from;
    run->filled_count[i] = count;
    return false;
}

static void load_input(struct map_run *run, uint32_t i, uint64_t begin, uint32_t count)
{
    run->block.rows &= ~(1u << i);
    run->block.same &= ~(1u << i);
    const DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type, own = run->block.type[i];
    const uint32_t bytes = kern_type_bytes(type), view = map_view_of_input(i);
    const char *data = run->call->data[i];
    int64_t offset;
    if (bytes && is_line(run, view, begin, count, 0, &offset)) {
        map_load_repeated(run, i, data + offset * bytes);
        return;
    }
    void *buffer = kern_map_block_buffer(&run->block, i);
    void *raw = type == own ? buffer : kern_map_block_staging(&run->block);
    run->block.value[i] = buffer;
    if (is_line(run, view, begin, count, 1, &offset)) {
        run->filled[i] = NULL;
        if (type == own)
            run->block.value[i] = data + offset * bytes;
        else
            load_elements(run, i, offset, 1, count, raw, buffer);
        return;
    }
    if (map_repeats_in_rows(&run->iterator, view)) {
        run->filled[i] = NULL;
        const uint64_t row = run->iterator.sizes[run->iterator.rank - 1];
        map_load_rows(run, i, begin / row, (uint32_t)(begin % row), (uint32_t)row, count);
        return;
    }
    if (load_same_rows(run, i, begin, count))
        return;
    kern_iterator_load(&run->iterator, view, type, data, begin, count, raw);
    if (type != own)
        kern_convert(run->block.isa, own, buffer, type, raw, count);
}

static void *output_in_place(struct map_run *run, uint32_t j, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    const uint32_t t = op->input_count + j, bytes = kern_type_bytes(op->tensors[t].type);
    int64_t offset;
    if (!bytes || !is_line(run, map_view_of_output(op, j), begin, count, 1, &offset))
        return NULL;
    return (char *)run->call->data[t] + offset * bytes;
}

static void store_output(struct map_run *run, uint32_t j, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count + j].type;
    uint32_t reg = op->u.map.store[j];
    const void *value = run->block.value[reg];
    void *out = output_in_place(run, j, begin, count);
    /* An input of another type may share memory with the output. */
    if (out == value && type == run->block.type[reg])
        return;
    if (out && !run->non_temporal) {
        kern_convert(run->block.isa, type, out, run->block.type[reg], value, count);
        return;
    }
    if (out && run->block.isa->stream(type, out, run->block.type[reg], value, count))
        return;
    void *raw = kern_map_block_staging(&run->block);
    if (type != run->block.type[reg]) {
        kern_convert(run->block.isa, type, raw, run->block.type[reg], value, count);
        value = raw;
    }
    if (out) {
        kern_stream(out, value, (uint64_t)count * kern_type_bytes(type));
        return;
    }
    kern_iterator_store(&run->iterator, map_view_of_output(op, j), type, run->call->data[op->input_count + j], begin,
                        count, value);
}

/* The last instruction may write directly to the only output: nothing reads an input after it. */
static void *last_output(struct map_run *run, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    uint32_t last = op->input_count + op->u.map.inst_count - 1;
    if (run->non_temporal || op->output_count != 1 || !op->u.map.inst_count || op->u.map.store[0] != last ||
        op->tensors[op->input_count].type != run->block.type[last])
        return NULL;
    if (op->u.map.inst[op->u.map.inst_count - 1].code == KERN_MAP_CONVERT)
        return NULL;
    return output_in_place(run, 0, begin, count);
}

/* Elements of one unit of work. If 4-bit elements are dense, blocks of them begin and end with whole bytes, so that
 * several threads may write them. */
static uint32_t unit_elements(const struct kern_op *op)
{
    bool nibbles = false;
    for (uint32_t t = op->input_count; t < op->input_count + op->output_count; t++) {
        bool narrow = !kern_type_bytes(op->tensors[t].type);
        if (narrow && !kern_view_packed(&op->tensors[t]))
            return 1;
        nibbles |= narrow;
    }
    return nibbles && kern_view_packed(&op->tensors[op->input_count]) ? KERN_MAP_BLOCK : 1;
}

/* Prefetches the next block while this one is computed: the hardware prefetcher works within pages, which are no longer
 * than blocks. */
static void prefetch_next(const struct map_run *run, uint64_t begin, uint32_t count)
{
    for (uint32_t i = 0; i < run->op->input_count; i++) {
        const uint32_t view = map_view_of_input(i), bytes = kern_type_bytes(run->op->tensors[i].type);
        int64_t offset;
        if (begin + 2 * count > run->iterator.count || !is_line(run, view, begin, 2 * (uint64_t)count, 1, &offset))
            continue;
        offset += count;
        map_prefetch((const char *)run->call->data[i] + (bytes ? offset * bytes : offset / 2),
                     bytes ? (uint64_t)count * bytes : count / 2);
    }
}

/* Blocks end with long rows, so that rows are read and written in place, and begin at the same position of short
 * ones. */
static uint32_t block_at(const struct kern_iterator *iterator, uint64_t begin, uint64_t end)
{
    const uint64_t row = iterator->sizes[iterator->rank - 1], count = BASE_MIN(end - begin, KERN_MAP_BLOCK);
    if (row >= KERN_MAP_BLOCK)
        return (uint32_t)BASE_MIN(count, kern_iterator_row_left(iterator, begin));
    return (uint32_t)BASE_MIN(count, KERN_MAP_BLOCK / row * row);
}

/* Programs without inputs have one result everywhere. false: not one for long rows */
static bool run_fill(struct map_run *run, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = run->op;
    const struct kern_iterator *iterator = &run->iterator;
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    const uint32_t bytes = kern_type_bytes(type), reg = op->u.map.store[0];
    const int64_t stride = iterator->strides[0][iterator->rank - 1];
    uint64_t element, count;
    if (op->input_count || op->output_count != 1 || !bytes || iterator->sizes[iterator->rank - 1] < FILL_MIN)
        return false;
    kern_map_run_block(&run->block, NULL, 1);
    kern_convert(run->block.isa, type, &element, run->block.type[reg], run->block.value[reg], 1);
    for (; begin < end; begin += count) {
        char *out = (char *)run->call->data[0] + kern_iterator_offset(iterator, 0, begin) * bytes;
        count = BASE_MIN(end - begin, kern_iterator_row_left(iterator, begin));
        if (run->non_temporal && stride == 1)
            kern_stream_row(bytes, out, &element, 0, count);
        else
            kern_copy_row(bytes, out, stride, &element, 0, count);
    }
    return true;
}

bool map_direct_init(struct map_direct *direct, const struct map_run *run)
{
    const struct kern_op *op = run->op;
    const struct kern_map *map = &op->u.map;
    const struct kern_map_inst *inst = &map->inst[0];
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    const uint64_t row = run->iterator.sizes[run->iterator.rank - 1];
    direct->inputs = kern_map_arity[inst->code];
    direct->half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
    if (!run->block.isa->direct || op->output_count != 1 || map->inst_count != 1 || map->store[0] != op->input_count ||
        inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->code == KERN_MAP_CONVERT || row < DIRECT_MIN_ROW)
        return false;
    if (!direct->half && type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    direct->bytes = inst->code == KERN_MAP_SELECT && op->tensors[inst->src[0]].type == DML_TENSOR_DATA_TYPE_UINT8;
    for (uint32_t s = 0; s < direct->inputs; s++) {
        const uint32_t input = inst->src[s];
        const DML_TENSOR_DATA_TYPE own = op->tensors[input].type;
        const bool repeats = run->iterator.strides[map_view_of_input(input)][run->iterator.rank - 1] == 0;
        if ((own != type && !(repeats && kern_type_bytes(own)) && (s || !direct->bytes)) ||
            map->load_type[input] != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    }
    return direct->inputs > 0;
}

/* Returns the number of elements from `begin` on, before `end`, that it has computed; 0: left to the caller. */
static uint32_t direct_run(const struct map_run *run, const struct map_direct *direct, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = run->op;
    const struct kern_iterator *iterator = &run->iterator;
    const uint32_t bytes = direct->half ? 2 : 4,
                   left = (uint32_t)BASE_MIN(kern_iterator_row_left(iterator, begin), DIRECT_PIECE);
    const uint32_t count = (uint32_t)BASE_MIN(end - begin, left);
    struct kern_map_direct piece = {
        .inst = &op->u.map.inst[0], .half = direct->half, .bytes = direct->bytes, .stream = run->non_temporal
    };
    if (iterator->strides[0][iterator->rank - 1] != 1)
        return 0;
    piece.out = (char *)run->call->data[op->input_count] + kern_iterator_offset(iterator, 0, begin) * bytes;
    for (uint32_t s = 0; s < direct->inputs; s++) {
        const uint32_t input = piece.inst->src[s], view = map_view_of_input(input);
        const int64_t stride = iterator->strides[view][iterator->rank - 1];
        const DML_TENSOR_DATA_TYPE own = op->tensors[input].type;
        const char *from =
            (const char *)run->call->data[input] + kern_iterator_offset(iterator, view, begin) * kern_type_bytes(own);
        if (stride == 1)
            piece.src[s] = from;
        else if (stride == 0)
            kern_convert(run->block.isa, DML_TENSOR_DATA_TYPE_FLOAT32, &piece.one[s], own, from, 1);
        else
            return 0;
    }
    return run->block.isa->direct(&piece, count) ? count : 0;
}

static void run_blocks(struct map_run *run, uint64_t begin, uint64_t end)
{
    uint32_t unit = unit_elements(run->op), done = 1;
    struct map_direct direct;
    begin *= unit;
    end = BASE_MIN(end * unit, run->iterator.count);
    if (run_fill(run, begin, end))
        return;
    if (map_direct_init(&direct, run))
        for (; begin < end && done; begin += done)
            done = direct_run(run, &direct, begin, end);
    while (begin < end) {
        uint32_t count = block_at(&run->iterator, begin, end);
        for (uint32_t i = 0; i < run->op->input_count; i++)
            load_input(run, i, begin, count);
        if (run->non_temporal)
            prefetch_next(run, begin, count);
        kern_map_run_block(&run->block, last_output(run, begin, count), count);
        for (uint32_t j = 0; j < run->op->output_count; j++)
            store_output(run, j, begin, count);
        begin += count;
    }
}

static void run_init(struct map_run *run, const struct kern_call *call, const struct kern_map_isa *isa)
{
    run->call = call;
    run->op = call->op;
    run->non_temporal = kern_streams(&call->op->tensors[call->op->input_count]);
    memset(run->filled, 0, sizeof(run->filled));
    iterator_init(&run->iterator, call->op);
    kern_map_block_init(&run->block, &call->op->u.map, call->op->input_count, call->op->output_count, isa,
                        call->worker_scratch);
}

void kern_map_run(const struct kern_call *call, const struct kern_map_isa *isa, uint64_t begin, uint64_t end)
{
    struct map_run run;
    struct map_tiles tiles;
    struct map_table table;
    struct map_bytes bytes;
    run_init(&run, call, isa);
    if (map_bytes_init(&bytes, call->op, &run.iterator)) {
        if (!map_bytes_run(&run, &bytes, begin, end))
            run_blocks(&run, begin * KERN_MAP_BLOCK, BASE_MIN(end * KERN_MAP_BLOCK, run.iterator.count));
    } else if (map_tiles_init(&tiles, call->op, &run.iterator))
        map_tiles_run(&run, &tiles, begin, end);
    else if (map_table_init(&table, call->op, &run.iterator))
        map_table_run(&run, &table, begin, end);
    else
        run_blocks(&run, begin, end);
    if (run.non_temporal)
        kern_stream_end();
}

void kern_map_run_all(const struct kern_call *call, const struct kern_map_isa *isa)
{
    struct map_run run;
    run_init(&run, call, isa);
    run_blocks(&run, 0, run.iterator.count);
    if (run.non_temporal)
        kern_stream_end();
}

void kern_map_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    kern_elements_plan(op, threads, out);
    uint64_t weight = BASE_MIN(1 + op->u.map.inst_count / 2, 8);
    uint32_t unit = unit_elements(op);
    struct kern_iterator iterator;
    struct map_tiles tiles;
    struct map_table table;
    struct map_bytes bytes;
    out->worker_scratch_bytes = kern_map_block_bytes(&op->u.map, op->input_count);
    iterator_init(&iterator, op);
    if (map_bytes_init(&bytes, op, &iterator)) {
        out->units = bytes.units;
        out->grain = 32;
        return;
    }
    if (map_tiles_init(&tiles, op, &iterator)) {
        out->grain = BASE_MAX(1, KERN_GRAIN / weight / (iterator.count / tiles.units));
        out->units = tiles.units;
        out->worker_scratch_bytes += map_tiles_bytes(&tiles, op);
        return;
    }
    if (map_table_init(&table, op, &iterator)) {
        out->units = table.units;
        out->grain = BASE_MAX(1, KERN_GRAIN / BASE_MIN(table.row, KERN_MAP_BLOCK));
        return;
    }
    out->grain = BASE_MAX(out->grain == out->units && unit == 1 ? out->units : 0, KERN_GRAIN / weight / unit);
    out->units = (out->units + unit - 1) / unit;
}
