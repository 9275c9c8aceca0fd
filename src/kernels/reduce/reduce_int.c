/* SPDX-License-Identifier: Apache-2.0 */
/* Integer reductions: rows of groups and tiles of columns, in words. */
#include "kernels/reduce/reduction.h"

enum { TILE = 256, RUN = 4096 };

struct scratch {
    uint64_t acc[TILE]; /* words of the groups of a tile */
    uint32_t position[TILE];
    uint64_t block[KERN_MAP_BLOCK], raw[KERN_MAP_BLOCK];
};

struct folding {
    const struct kern_call *call;
    const struct kern_total_isa *isa;
    struct kern_iterator outer, inner; /* over the groups, within one; views: X, Y */
    bool columns;                      /* neighbouring elements of X belong to neighbouring groups */
    bool wide, position;
    DML_TENSOR_DATA_TYPE type, word; /* of X; of the accumulators */
    enum kern_total fold;
    uint64_t flip;
    struct scratch *scratch;
};

bool kern_reduce_int_accepts(const struct kern_op *op)
{
    DML_REDUCE_FUNCTION function = op->u.reduce.function;
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    if (kern_type_class(x->type) == KERN_CLASS_FLOAT || !kern_type_bytes(x->type) || !kern_type_bytes(y->type) ||
        x->rank != y->rank || op->epilogue)
        return false;
    if (!kern_reduction_is_position(function) && y->type != x->type)
        return false;
    return function != DML_REDUCE_FUNCTION_AVERAGE && function != DML_REDUCE_FUNCTION_L2 &&
           function != DML_REDUCE_FUNCTION_LOG_SUM && function != DML_REDUCE_FUNCTION_LOG_SUM_EXP &&
           kern_view_elements(x) / kern_view_elements(y) <= UINT32_MAX; /* positions have 32 bits */
}

void kern_reduce_int_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct kern_iterator outer, inner;
    kern_reduction_iterators(op, kern_reduction_is_position(op->u.reduce.function), &outer, &inner);
    *out = (struct kern_work){ .units = outer.count, .grain = BASE_MAX(1, 65536 / inner.count) };
    if (kern_reduction_in_columns(&outer, &inner))
        out->grain = BASE_MAX(out->grain, 64);
    out->worker_scratch_bytes = sizeof(struct scratch);
}

static enum kern_total fold_of(DML_REDUCE_FUNCTION function, bool is_signed)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_L1:
        return is_signed ? KERN_TOTAL_SIZE : KERN_TOTAL_SUM;
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        return KERN_TOTAL_SQUARES;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return KERN_TOTAL_PRODUCT;
    case DML_REDUCE_FUNCTION_SUM:
        return KERN_TOTAL_SUM;
    default:
        return KERN_TOTAL_MAX;
    }
}

static void folding_init(struct folding *f, const struct kern_call *call, const struct kern_total_isa *isa)
{
    const DML_REDUCE_FUNCTION function = call->op->u.reduce.function;
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    const bool wide = kern_type_bytes(type) == 8, is_signed = kern_type_class(type) == KERN_CLASS_SIGNED;
    const bool least = function == DML_REDUCE_FUNCTION_MIN || function == DML_REDUCE_FUNCTION_ARGMIN;
    *f = (struct folding){ .call = call, .isa = isa, .type = type, .wide = wide, .scratch = call->worker_scratch };
    f->position = kern_reduction_is_position(function);
    kern_reduction_iterators(call->op, f->position, &f->outer, &f->inner);
    f->columns = kern_reduction_in_columns(&f->outer, &f->inner);
    f->word = wide        ? is_signed ? DML_TENSOR_DATA_TYPE_INT64 : DML_TENSOR_DATA_TYPE_UINT64
              : is_signed ? DML_TENSOR_DATA_TYPE_INT32
                          : DML_TENSOR_DATA_TYPE_UINT32;
    f->fold = fold_of(function, is_signed);
    if (f->fold == KERN_TOTAL_MAX)
        f->flip = (is_signed ? UINT64_C(1) << (wide ? 63 : 31) : 0) ^ (least ? UINT64_MAX : 0);
}

/* `count` dense elements as words. */
static const void *as_words(const struct folding *f, const void *elements, uint32_t count)
{
    if (kern_type_bytes(f->type) >= 4)
        return elements;
    kern_convert(f->isa->map, f->word, f->scratch->block, f->type, elements, count);
    return f->scratch->block;
}

/* Elements [at, at + *count) of a group as words; reduces *count. */
static const void *reduction_block(const struct folding *f, int64_t offset, uint64_t at, uint32_t *count)
{
    const uint32_t bytes = kern_type_bytes(f->type);
    const char *base = (const char *)f->call->data[0] + offset * bytes;
    int64_t stride;
    const bool dense = kern_iterator_linear(&f->inner, 0, at, *count, &stride) && stride == 1;
    if (!dense || bytes < 4)
        *count = BASE_MIN(*count, KERN_MAP_BLOCK);
    if (dense)
        return as_words(f, base + kern_iterator_offset(&f->inner, 0, at) * bytes, *count);
    kern_iterator_load(&f->inner, 0, f->type, base, at, *count, f->scratch->raw);
    return as_words(f, f->scratch->raw, *count);
}

static void set_word(const struct folding *f, uint32_t i, uint64_t word)
{
    if (f->wide)
        f->scratch->acc[i] = word;
    else
        ((uint32_t *)f->scratch->acc)[i] = (uint32_t)word;
}

/* The extreme of a group of bytes in one run, as one of words. */
static uint64_t bytes_fold(const struct folding *f, int64_t offset)
{
    const uint8_t flip = (uint8_t)(f->flip >> 24); /* the sign's bit is the highest of both */
    const uint8_t most = f->isa->bytes((const uint8_t *)f->call->data[0] + offset, f->inner.count, flip) ^ flip;
    const bool is_signed = f->type == DML_TENSOR_DATA_TYPE_INT8;
    return (uint32_t)(is_signed ? (uint32_t)(int8_t)most : most) ^ (uint32_t)f->flip;
}

static uint32_t find(const struct folding *f, const void *x, uint32_t count, uint64_t value, bool last)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = last ? count - 1 - i : i;
        const uint64_t element =
            f->wide ? ((const uint64_t *)x)[at] ^ f->flip : (uint32_t)(((const uint32_t *)x)[at] ^ f->flip);
        if (element == value)
            return at;
    }
    return 0;
}

/* All of a group, or the position of its extreme. */
static uint64_t row_fold(const struct folding *f, uint64_t group, bool last)
{
    const int64_t offset = kern_iterator_offset(&f->outer, 0, group);
    uint64_t total = f->fold == KERN_TOTAL_PRODUCT, position = 0;
    int64_t stride;
    if (f->fold == KERN_TOTAL_MAX && !f->position && kern_type_bytes(f->type) == 1 &&
        kern_iterator_linear(&f->inner, 0, 0, f->inner.count, &stride) && stride == 1)
        return bytes_fold(f, offset);
    for (uint64_t at = 0; at < f->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(f->inner.count - at, RUN);
        const void *x = reduction_block(f, offset, at, &count);
        const uint64_t part = f->isa->row[f->wide](f->fold, x, count, f->flip);
        if (f->position && (!at || part > total || (last && part == total)))
            position = at + find(f, x, count, part, last);
        total = f->fold == KERN_TOTAL_PRODUCT ? total * part
                : f->fold == KERN_TOTAL_MAX   ? BASE_MAX(total, part)
                                              : total + part;
        at += count;
    }
    return f->position ? position : total;
}

/* Both kinds of columns: element by element of the groups, a whole tile at once. */
static void column_fold(const struct folding *f, uint64_t first, uint32_t width)
{
    const bool last = f->call->op->u.reduce.last;
    const int64_t offset = kern_iterator_offset(&f->outer, 0, first);
    const uint32_t row = f->inner.rank - 1, bytes = kern_type_bytes(f->type);
    struct kern_cursor cursor;
    kern_cursor_seek(&f->inner, 0, &cursor);
    memset(f->scratch->acc, 0, sizeof(f->scratch->acc));
    memset(f->scratch->position, 0, sizeof(f->scratch->position));
    for (uint32_t i = 0; i < width && f->fold == KERN_TOTAL_PRODUCT; i++)
        set_word(f, i, 1);
    for (uint64_t at = 0; at < f->inner.count; at += f->inner.sizes[row]) {
        for (uint64_t i = 0; i < f->inner.sizes[row]; i++) {
            const int64_t element = offset + cursor.offset[0] + (int64_t)i * f->inner.strides[0][row];
            const void *x = as_words(f, (const char *)f->call->data[0] + element * bytes, width);
            if (f->position)
                f->isa->position[f->wide](f->scratch->acc, f->scratch->position, x, (uint32_t)(at + i), last, width,
                                          f->flip);
            else
                f->isa->column[f->wide](f->fold, f->scratch->acc, x, width, f->flip);
        }
        kern_cursor_next_row(&f->inner, &cursor);
    }
}

/* Stores the words or positions of the tile in sequence to Y. */
static void store(const struct folding *f, uint64_t first, uint32_t width)
{
    for (uint32_t i = 0; i < width && f->flip && !f->position; i++)
        set_word(f, i, (f->wide ? f->scratch->acc[i] : ((const uint32_t *)f->scratch->acc)[i]) ^ f->flip);
    kern_reduction_store(f->call, &f->outer, 1, first, width, f->position ? DML_TENSOR_DATA_TYPE_UINT32 : f->word,
                         f->position ? (const void *)f->scratch->position : f->scratch->acc);
}

void kern_reduce_int_on(const struct kern_call *call, const struct kern_total_isa *isa, uint64_t begin, uint64_t end)
{
    struct folding f;
    folding_init(&f, call, isa);
    for (uint32_t width; begin < end; begin += width) {
        width = (uint32_t)BASE_MIN(BASE_MIN(end - begin, kern_iterator_row_left(&f.outer, begin)), TILE);
        if (f.columns)
            column_fold(&f, begin, width);
        for (uint32_t i = 0; i < width && !f.columns; i++) {
            const uint64_t total = row_fold(&f, begin + i, call->op->u.reduce.last);
            if (f.position)
                f.scratch->position[i] = (uint32_t)total;
            else
                set_word(&f, i, total);
        }
        store(&f, begin, width);
    }
}
