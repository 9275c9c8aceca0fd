/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/row/row.h"
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- conversion ---- */

/* Elements that are not contiguous are gathered or scattered this many at a time. */
enum { ROW_PART = 64 };

#if defined(__x86_64__)
/* Packing converts 16 to 64 halves at a time: selecting a conversion by type would cost more than the conversion. */
__attribute__((target("avx2,f16c"))) static void halves_to_floats(const uint16_t *in, uint32_t count, float *out)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < count; i++)
        out[i] = _cvtsh_ss(in[i]);
}
#endif

void dense_load_row(const void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                    float *out)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1) {
        memcpy(out, (const float *)data + index, count * sizeof(float));
        return;
    }
#if defined(__x86_64__)
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16 && step == 1 && (base_cpu_flags() & BASE_CPU_AVX2)) {
        halves_to_floats((const uint16_t *)data + index, count, out);
        return;
    }
#endif
    const uint32_t bytes = kern_type_bytes(type);
    const char *from = (const char *)data + index * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_copy_row(bytes, out, 1, from, step, count);
        return;
    }
    if (step == 1) {
        kern_map_isa()->convert(DML_TENSOR_DATA_TYPE_FLOAT32, out, type, from, count);
        return;
    }
    for (uint32_t first = 0, n; first < count; first += n) {
        uint64_t part[ROW_PART];
        n = BASE_MIN(count - first, ROW_PART);
        kern_copy_row(bytes, part, 1, from + first * step * bytes, step, n);
        kern_convert(kern_map_isa(), DML_TENSOR_DATA_TYPE_FLOAT32, out + first, type, part, n);
    }
}

/* At most ROW_PART elements to contiguous memory: kern_convert, but integers are rounded. */
static void store_part(void *out, DML_TENSOR_DATA_TYPE type, const float *in, uint32_t count)
{
    float rounded[ROW_PART];
    if (dense_is_float(type)) {
        kern_convert(kern_map_isa(), type, out, DML_TENSOR_DATA_TYPE_FLOAT32, in, count);
    } else if (kern_type_bytes(type) > 2) {
        for (uint32_t i = 0; i < count; i++)
            dense_store(out, i, type, in[i]);
    } else {
        for (uint32_t i = 0; i < count; i++) { /* beyond these bounds all is saturated */
            const float value = in[i] < -65536.0f ? -65536.0f : in[i] > 65536.0f ? 65536.0f : in[i];
            rounded[i] = value + 0x1.8p23f - 0x1.8p23f;
        }
        kern_convert(kern_map_isa(), type, out, DML_TENSOR_DATA_TYPE_FLOAT32, rounded, count);
    }
}

void dense_store_row(void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                     const float *in)
{
    const uint32_t bytes = kern_type_bytes(type);
    char *to = (char *)data + index * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_copy_row(bytes, to, step, in, 1, count);
        return;
    }
    if (step == 1 && dense_is_float(type)) {
        kern_convert(kern_map_isa(), type, to, DML_TENSOR_DATA_TYPE_FLOAT32, in, count);
        return;
    }
    for (uint32_t first = 0, n; first < count; first += n) {
        uint64_t part[ROW_PART];
        n = BASE_MIN(count - first, ROW_PART);
        store_part(step == 1 ? (void *)(to + (size_t)first * bytes) : part, type, in + first, n);
        if (step != 1)
            kern_copy_row(bytes, to + first * step * bytes, step, part, 1, n);
    }
}

/* ---- the epilogue by the interpreter ---- */

void kern_epilogue_store(const struct kern_call *call, const uint32_t *index, double value)
{
    const struct kern_op *op = call->op;
    const struct kern_map *map = op->epilogue;
    const struct kern_view *out = &op->tensors[op->input_count];
    struct kern_number registers[KERN_MAP_REGISTERS];
    struct kern_number result = kern_from_double(value);
    if (map) {
        uint32_t count = kern_epilogue_inputs(op);
        registers[0] = kern_number_to(DML_TENSOR_DATA_TYPE_FLOAT32, result);
        for (uint32_t r = 1; r < count; r++) {
            uint32_t t = op->epilogue_input + r - 1;
            registers[r] = kern_number_to(
                map->load_type[r], kern_read(op->tensors[t].type, call->data[t], kern_offset(&op->tensors[t], index)));
        }
        kern_map_eval_program(map, count, registers);
        result = registers[map->store[0]];
    }
    kern_write(out->type, call->data[op->input_count], kern_offset(out, index), result);
}

/* The first element of tensor t in the row at `index`. */
static char *row_data(const struct kern_call *call, uint32_t t, const uint32_t *index)
{
    const struct kern_view *view = &call->op->tensors[t];
    return (char *)call->data[t] + kern_offset(view, index) * kern_type_bytes(view->type);
}

/* The same columns of Y's next row. */
static void next_row(const struct kern_view *y, uint32_t *at)
{
    uint32_t d = y->rank - 1;
    while (d-- > 0 && ++at[d] == y->sizes[d])
        at[d] = 0;
}

/* `count` results of each of some rows from `index` on; at most a block of them. */
struct epilogue_rows {
    const uint32_t *index;
    uint32_t rows, count, pitch; /* elements from one row's values to the next's */
    const float *values;
};

static void load_rows(const struct kern_call *call, struct kern_map_block *block, const struct epilogue_rows *r,
                      uint32_t t, uint32_t reg)
{
    const struct kern_view *view = &call->op->tensors[t], *y = &call->op->tensors[call->op->input_count];
    const uint32_t bytes = kern_type_bytes(view->type);
    char *raw = kern_map_block_staging(block);
    void *buffer = kern_map_block_buffer(block, reg);
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, r->index, sizeof(*at) * y->rank);
    for (uint32_t i = 0; i < r->rows; i++, next_row(y, at))
        kern_copy_row(bytes, raw + (size_t)i * r->count * bytes, 1, row_data(call, t, at),
                      view->strides[view->rank - 1], r->count);
    kern_convert(block->isa, block->type[reg], buffer, view->type, raw, r->rows * r->count);
    block->value[reg] = buffer;
}

static void store_rows(const struct kern_call *call, const struct kern_map_block *block, const struct epilogue_rows *r,
                       void *raw)
{
    const struct kern_op *op = call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    const uint32_t last = op->epilogue->store[0], bytes = kern_type_bytes(y->type);
    const int64_t stride = y->strides[y->rank - 1];
    const bool together = stride == 1 || r->count == 1;
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, r->index, sizeof(*at) * y->rank);
    if (!together)
        kern_convert(block->isa, y->type, raw, block->type[last], block->value[last], r->rows * r->count);
    for (uint32_t i = 0, from = 0; i < r->rows; i++, from += r->count, next_row(y, at)) {
        char *to = row_data(call, op->input_count, at);
        if (together)
            kern_convert(block->isa, y->type, to, block->type[last],
                         (const char *)block->value[last] + (size_t)from * kern_type_bytes(block->type[last]),
                         r->count);
        else
            kern_copy_row(bytes, to, stride, (char *)raw + (size_t)from * bytes, 1, r->count);
    }
}

static void epilogue_block(const struct kern_call *call, struct kern_map_block *block, const struct epilogue_rows *r,
                           void *raw)
{
    float *first = kern_map_block_buffer(block, 0);
    block->value[0] = first;
    const bool whole = r->count == r->pitch; /* one copy: each takes longer than the few elements of a row */
    for (uint32_t i = 0; i < (whole ? 1 : r->rows); i++)
        memcpy(first + (size_t)i * r->count, r->values + (size_t)i * r->pitch,
               (size_t)r->count * (whole ? r->rows : 1) * sizeof(float));
    for (uint32_t reg = 1, t = call->op->epilogue_input; reg < block->input_count; reg++, t++)
        load_rows(call, block, r, t, reg);
    kern_map_run_block(block, NULL, r->rows * r->count);
    store_rows(call, block, r, raw);
}

/* Through the epilogue, some rows at a time; needs dense_epilogue_bytes(op) of `scratch`. */
static void kern_epilogue_rows(const struct kern_call *call, void *scratch, const struct epilogue_rows *r)
{
    const struct kern_op *op = call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    const uint32_t together = BASE_MAX(KERN_MAP_BLOCK / r->count, 1), last = y->rank - 1;
    uint32_t at[KERN_RANK_MAX];
    struct kern_map_block block;
    memcpy(at, r->index, sizeof(*at) * y->rank);
    kern_map_block_init(&block, op->epilogue, kern_epilogue_inputs(op), 1, kern_map_isa(),
                        (char *)scratch + KERN_MAP_BLOCK * 8);
    for (uint32_t row = 0, rows; row < r->rows; row += rows) {
        rows = BASE_MIN(r->rows - row, together);
        for (uint32_t done = 0; done < r->count; done += KERN_MAP_BLOCK) {
            const uint32_t count = BASE_MIN(r->count - done, KERN_MAP_BLOCK);
            at[last] = r->index[last] + done;
            epilogue_block(
                call, &block,
                &(struct epilogue_rows){ at, rows, count, r->pitch, r->values + (size_t)row * r->pitch + done },
                scratch);
        }
        for (uint32_t i = 0; i < rows; i++)
            next_row(y, at);
    }
}

/* ---- results ---- */

uint64_t dense_epilogue_bytes(const struct kern_op *op)
{
    return op->epilogue
               ? base_align_up(kern_map_block_bytes(op->epilogue, kern_epilogue_inputs(op)) + KERN_MAP_BLOCK * 8, 64)
               : 0;
}

void dense_finish_f32(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t count,
                      const float *values)
{
    uint32_t out = call->op->input_count;
    const struct kern_view *y = &call->op->tensors[out];
    if (call->op->epilogue)
        kern_epilogue_rows(call, scratch, &(struct epilogue_rows){ at, 1, count, count, values });
    else
        dense_store_row(call->data[out], dense_offset(y, at, y->rank), y->strides[y->rank - 1], y->type, count, values);
}

void dense_finish_rows(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t rows, uint32_t count,
                       const float *values, uint32_t pitch)
{
    kern_epilogue_rows(call, scratch, &(struct epilogue_rows){ at, rows, count, pitch, values });
}

void dense_finish_line(const struct kern_call *call, void *scratch, float *y, int64_t count)
{
    static const uint32_t start[KERN_RANK_MAX];
    const uint32_t out = call->op->input_count;
    void *data[KERN_TENSORS_MAX];
    struct kern_op line = *call->op;
    struct kern_call part = *call;
    kern_view_set_packed(&line.tensors[out], DML_TENSOR_DATA_TYPE_FLOAT32, 1, (uint32_t[]){ (uint32_t)count });
    data[out] = y;
    part.op = &line;
    part.data = data;
    dense_finish_f32(&part, scratch, start, (uint32_t)count, y);
}

/* A line of NHWC as one of pixels * channels elements; false if its elements are not at constant distances. */
static bool merge_line(const struct kern_view *view, int64_t *out_step)
{
    *out_step = view->strides[1];
    return view->sizes[0] == 1 || view->strides[0] == view->strides[1] * (int64_t)view->sizes[1];
}

void dense_finish_pixels(const struct kern_call *call, void *scratch, const uint32_t *at, const float *values)
{
    static const uint32_t start[KERN_RANK_MAX];
    const uint32_t out = call->op->input_count, first = call->op->epilogue_input;
    const uint32_t channels = call->op->tensors[out].sizes[1], last = call->op->tensors[out].rank - 1;
    const uint32_t pixels = call->op->tensors[out].sizes[last], both[] = { pixels, channels };
    void *data[KERN_TENSORS_MAX];
    struct kern_op line = *call->op;
    struct kern_call part = *call;
    bool merged = true;
    int64_t step;
    part.op = &line;
    part.data = data;
    for (uint32_t t = first; t <= out; t++) {
        const struct kern_view *view = &call->op->tensors[t];
        data[t] = (char *)call->data[t] + dense_offset(view, at, view->rank) * kern_type_bytes(view->type);
        kern_view_set_packed(&line.tensors[t], view->type, 2, both);
        line.tensors[t].strides[0] = view->sizes[last] > 1 ? view->strides[last] : 0;
        line.tensors[t].strides[1] = view->sizes[1] > 1 ? view->strides[1] : 0;
        merged = merged && merge_line(&line.tensors[t], &step);
    }
    for (uint32_t t = first; merged && t <= out; t++) {
        merge_line(&line.tensors[t], &step);
        kern_view_set_packed(&line.tensors[t], line.tensors[t].type, 1, (uint32_t[]){ pixels * channels });
        line.tensors[t].strides[0] = step;
    }
    for (uint32_t i = 0; i < (merged ? 1 : pixels); i++)
        dense_finish_f32(&part, scratch, merged ? start : (uint32_t[]){ i, 0 }, merged ? pixels * channels : channels,
                         values + (size_t)i * channels);
}

void dense_finish(const struct kern_call *call, const uint32_t *at, uint32_t count, const double *values)
{
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    uint32_t last = y->rank - 1, index[KERN_RANK_MAX];
    if (!call->op->epilogue) {
        int64_t offset = dense_offset(y, at, y->rank);
        for (uint32_t i = 0; i < count; i++)
            dense_store(call->data[call->op->input_count], offset + i * y->strides[last], y->type, values[i]);
        return;
    }
    memcpy(index, at, y->rank * sizeof(*index));
    for (uint32_t i = 0; i < count; i++) {
        index[last] = at[last] + i;
        kern_epilogue_store(call, index, values[i]);
    }
}
