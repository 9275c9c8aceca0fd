/* SPDX-License-Identifier: Apache-2.0 */
/* Finding non-zero elements, for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { NONZERO_CHUNK = 512, NONZERO_SLACK = 16 };

/* A walk over X in element order, in pieces of rows. */
struct nonzero_scan {
    const struct kern_view *x;
    const void *data;
    uint64_t left;
    uint32_t at[KERN_RANK_MAX];
};

static struct nonzero_scan nonzero_begin(const struct kern_call *call, uint64_t first, uint64_t count)
{
    struct nonzero_scan scan = { .x = &call->op->tensors[0], .data = call->data[0], .left = count };
    kern_unflatten(first, scan.x->rank, scan.x->sizes, scan.at);
    return scan;
}

#define NONZERO_FLAGS(bytes, type, mask)                                                                               \
    case bytes:                                                                                                        \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            out[i] = (((const type *)from)[(int64_t)i * stride] & (type)(mask)) != 0;                                  \
        break;

/* The sign of a floating-point zero is ignored. */
DENSE_INLINE void nonzero_find_flags(DML_TENSOR_DATA_TYPE type, const void *from, int64_t stride, uint32_t count,
                                     uint8_t *out)
{
    bool is_float = dense_is_float(type);
    switch (kern_type_bytes(type)) {
        NONZERO_FLAGS(1, uint8_t, UINT8_MAX)
        NONZERO_FLAGS(2, uint16_t, is_float ? INT16_MAX : UINT16_MAX)
        NONZERO_FLAGS(4, uint32_t, is_float ? INT32_MAX : UINT32_MAX)
        NONZERO_FLAGS(8, uint64_t, is_float ? INT64_MAX : UINT64_MAX)
    }
}

/* Flags of the next elements, all of one row, from index scan->at on; returns their number, 0 at the end. */
static uint32_t nonzero_flags(const struct nonzero_scan *scan, uint8_t *out)
{
    const struct kern_view *x = scan->x;
    uint32_t last = x->rank - 1;
    uint32_t count = (uint32_t)BASE_MIN(BASE_MIN(scan->left, NONZERO_CHUNK), x->sizes[last] - scan->at[last]);
    const void *from = kern_at(scan->data, x->type, kern_offset(x, scan->at));
    if (x->strides[last] == 1)
        nonzero_find_flags(x->type, from, 1, count, out);
    else
        nonzero_find_flags(x->type, from, x->strides[last], count, out);
    return count;
}

static void nonzero_next(struct nonzero_scan *scan, uint32_t count)
{
    const struct kern_view *x = scan->x;
    uint32_t last = x->rank - 1;
    scan->left -= count;
    scan->at[last] += count;
    if (scan->at[last] < x->sizes[last])
        return;
    scan->at[last] = 0;
    kern_advance(last, x->sizes, scan->at);
}

static uint32_t nonzero_count(const struct kern_call *call, uint64_t first, uint64_t count)
{
    struct nonzero_scan scan = nonzero_begin(call, first, count);
    uint8_t flags[NONZERO_CHUNK];
    uint32_t total = 0;
    for (uint32_t n; scan.left; nonzero_next(&scan, n)) {
        n = nonzero_flags(&scan, flags);
        for (uint32_t i = 0; i < n; i++)
            total += flags[i];
    }
    return total;
}

/* Writes first + i for every flag i that is set; returns their number. The positions of zeros are not predictable: no
 * branches. Whole vectors are written: `found` has capacity for NONZERO_SLACK more than flags. */
#if defined(__AVX512F__)
static uint32_t nonzero_list(const uint8_t *flags, uint32_t count, uint32_t first, uint32_t *found)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t hits = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        __mmask16 inside = (__mmask16)(count - i < 16 ? (1u << (count - i)) - 1 : UINT16_MAX);
        __m128i bytes = _mm_loadu_si128((const __m128i *)(flags + i));
        __mmask16 set = _mm_mask_test_epi8_mask(inside, bytes, bytes);
        __m512i index = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)(first + i)));
        _mm512_storeu_si512(found + hits, _mm512_maskz_compress_epi32(set, index));
        hits += (uint32_t)__builtin_popcount(set);
    }
    return hits;
}
#else
static uint32_t nonzero_list(const uint8_t *flags, uint32_t count, uint32_t first, uint32_t *found)
{
    /* The positions of the set bits. */
    static const uint32_t places[16][4] = { { 0 },    { 0 },       { 1 },       { 0, 1 },      { 2 },    { 0, 2 },
                                            { 1, 2 }, { 0, 1, 2 }, { 3 },       { 0, 3 },      { 1, 3 }, { 0, 1, 3 },
                                            { 2, 3 }, { 0, 2, 3 }, { 1, 2, 3 }, { 0, 1, 2, 3 } };
    uint32_t hits = 0, i = 0;
    for (; i + 4 <= count; i += 4) {
        uint32_t four;
        memcpy(&four, flags + i, sizeof(four));
        const uint32_t *place = places[four * UINT32_C(0x01020408) >> 24 & 15];
        for (uint32_t lane = 0; lane < 4; lane++)
            found[hits + lane] = first + i + place[lane];
        hits += four * UINT32_C(0x01010101) >> 24;
    }
    for (; i < count; i++) {
        found[hits] = first + i;
        hits += flags[i];
    }
    return hits;
}
#endif

/* Coordinates [x.rank - N, x.rank) of the found elements of one row, into rows from `row` on of the list. */
static void nonzero_store(const struct kern_call *call, const struct nonzero_scan *scan, const uint32_t *found,
                          uint32_t count, uint64_t row)
{
    const struct kern_view *list = &call->op->tensors[3];
    const uint32_t columns = list->sizes[1];
    const uint32_t *outer = scan->at + scan->x->rank - columns;
    const int64_t down = list->strides[0], across = columns > 1 ? list->strides[1] : 0;
    uint32_t *restrict to = (uint32_t *)call->data[3] + (int64_t)row * down;
    if (columns == 2 && down == 2 && across == 1) {
        for (uint32_t i = 0; i < count; i++) {
            to[2 * i] = outer[0];
            to[2 * i + 1] = found[i];
        }
        return;
    }
    for (uint32_t c = 0; c + 1 < columns; c++)
        for (uint32_t i = 0; i < count; i++) {
            to[(int64_t)i * down + c * across] = outer[c];
            COPY_ONE_BY_ONE;
        }
    copy_row(sizeof(*to), to + (columns - 1) * across, down, found, 1, count);
}

static uint64_t nonzero_write(const struct kern_call *call, uint64_t first, uint64_t count, uint64_t row)
{
    struct nonzero_scan scan = nonzero_begin(call, first, count);
    const uint32_t last = scan.x->rank - 1;
    uint8_t flags[NONZERO_CHUNK];
    uint32_t found[NONZERO_CHUNK + NONZERO_SLACK];
    for (uint32_t n; scan.left; nonzero_next(&scan, n)) {
        n = nonzero_flags(&scan, flags);
        uint32_t hits = nonzero_list(flags, n, scan.at[last], found);
        nonzero_store(call, &scan, found, hits, row);
        row += hits;
    }
    return row;
}

static void nonzero_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_nonzero *nonzero = &call->op->u.nonzero;
    const struct kern_view *counts = &call->op->tensors[1];
    uint64_t elements = kern_view_elements(&call->op->tensors[0]), first = begin * nonzero->block, row = 0;
    uint64_t count = BASE_MIN(end * nonzero->block, elements) - first;
    uint32_t *blocks = call->data[1];
    if (!nonzero->write) {
        for (uint64_t b = begin; b < end; b++)
            blocks[(int64_t)b * counts->strides[0]] =
                nonzero_count(call, b * nonzero->block, BASE_MIN(elements - b * nonzero->block, nonzero->block));
        return;
    }
    for (uint64_t b = 0; b < begin; b++)
        row += blocks[(int64_t)b * counts->strides[0]];
    row = nonzero_write(call, first, count, row);
    if (first + count == elements)
        *(uint32_t *)call->data[2] = (uint32_t)row;
}

KERN_ISA_RUN(nonzero_any, nonzero_run)
