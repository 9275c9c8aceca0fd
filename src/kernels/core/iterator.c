/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/iterator.h"
#include "kernels/core/copy_body.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

struct dim {
    uint64_t size;
    int64_t strides[KERN_TENSORS_MAX];
};

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint32_t collect(struct dim *out, const struct kern_op *op, const uint32_t *tensors, uint32_t count,
                        uint32_t dims)
{
    const struct kern_view *first = &op->tensors[tensors[0]];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < first->rank; d++) {
        if (!(dims >> d & 1) || first->sizes[d] == 1)
            continue;
        out[rank].size = first->sizes[d];
        for (uint32_t t = 0; t < count; t++)
            out[rank].strides[t] = op->tensors[tensors[t]].strides[d];
        rank++;
    }
    return rank;
}

/* Insertion sort: stable, and at most eight elements. */
static void sort(struct dim *dims, uint32_t rank, uint32_t leader)
{
    for (uint32_t i = 1; i < rank; i++) {
        struct dim moving = dims[i];
        uint32_t j = i;
        for (; j > 0 && magnitude(dims[j - 1].strides[leader]) < magnitude(moving.strides[leader]); j--)
            dims[j] = dims[j - 1];
        dims[j] = moving;
    }
}

static bool mergeable(const struct kern_iterator *iterator, uint32_t outer, const struct dim *inner)
{
    for (uint32_t t = 0; t < iterator->views; t++)
        if (iterator->strides[t][outer] != inner->strides[t] * (int64_t)inner->size)
            return false;
    return true;
}

void kern_iterator_init(struct kern_iterator *iterator, const struct kern_op *op, const uint32_t *tensors,
                        uint32_t count, uint32_t dims, uint32_t leader)
{
    struct dim list[KERN_RANK_MAX] = { { 0 } };
    uint32_t rank = collect(list, op, tensors, count, dims);
    if (leader != KERN_ITERATOR_ROW_MAJOR)
        sort(list, rank, leader);
    iterator->rank = 0;
    iterator->views = count;
    iterator->count = 1;
    for (uint32_t d = 0; d < rank; d++) {
        bool merge = iterator->rank > 0 && mergeable(iterator, iterator->rank - 1, &list[d]);
        uint32_t at = merge ? iterator->rank - 1 : iterator->rank++;
        iterator->sizes[at] = merge ? iterator->sizes[at] * list[d].size : list[d].size;
        for (uint32_t t = 0; t < count; t++)
            iterator->strides[t][at] = list[d].strides[t];
        iterator->count *= list[d].size;
    }
    if (iterator->rank)
        return;
    iterator->rank = 1;
    iterator->sizes[0] = 1;
    for (uint32_t t = 0; t < count; t++)
        iterator->strides[t][0] = 1;
}

int64_t kern_iterator_offset(const struct kern_iterator *iterator, uint32_t view, uint64_t flat)
{
    int64_t offset = 0;
    for (uint32_t d = iterator->rank; d-- > 1;) {
        offset += (int64_t)(flat % iterator->sizes[d]) * iterator->strides[view][d];
        flat /= iterator->sizes[d];
    }
    return offset + (int64_t)flat * iterator->strides[view][0];
}

uint64_t kern_iterator_row_left(const struct kern_iterator *iterator, uint64_t flat)
{
    uint64_t row = iterator->sizes[iterator->rank - 1];
    return row - flat % row;
}

/* Rows may be mergeable for one view only: look outwards as long as this view stays linear. */
bool kern_iterator_linear(const struct kern_iterator *iterator, uint32_t view, uint64_t begin, uint64_t count,
                          int64_t *out_stride)
{
    const int64_t *strides = iterator->strides[view];
    uint32_t d = iterator->rank - 1;
    uint64_t run = iterator->sizes[d];
    *out_stride = strides[d];
    while (d > 0 && strides[d - 1] == strides[d] * (int64_t)iterator->sizes[d])
        run *= iterator->sizes[--d];
    return d == 0 || begin % run + count <= run;
}

/* The cursor's functions, for views `first` to `end` - 1. */
static inline void seek(const struct kern_iterator *iterator, uint64_t flat, uint32_t first, uint32_t end,
                        struct kern_cursor *out)
{
    for (uint32_t d = iterator->rank; d-- > 0;) {
        out->index[d] = flat % iterator->sizes[d];
        flat /= iterator->sizes[d];
    }
    for (uint32_t v = first; v < end; v++) {
        out->offset[v] = 0;
        for (uint32_t d = 0; d < iterator->rank; d++)
            out->offset[v] += (int64_t)out->index[d] * iterator->strides[v][d];
    }
}

static inline void next_row(const struct kern_iterator *iterator, uint32_t first, uint32_t end,
                            struct kern_cursor *cursor)
{
    uint32_t d = iterator->rank - 1;
    for (uint32_t v = first; v < end; v++)
        cursor->offset[v] -= (int64_t)cursor->index[d] * iterator->strides[v][d];
    cursor->index[d] = 0;
    while (d-- > 0) {
        bool wraps = ++cursor->index[d] == iterator->sizes[d];
        for (uint32_t v = first; v < end; v++)
            cursor->offset[v] += iterator->strides[v][d] * (wraps ? 1 - (int64_t)iterator->sizes[d] : 1);
        if (!wraps)
            return;
        cursor->index[d] = 0;
    }
}

void kern_cursor_seek(const struct kern_iterator *iterator, uint64_t flat, struct kern_cursor *out)
{
    seek(iterator, flat, 0, iterator->views, out);
}

void kern_cursor_skip(const struct kern_iterator *iterator, struct kern_cursor *cursor, uint64_t count)
{
    uint32_t d = iterator->rank - 1;
    cursor->index[d] += count;
    for (uint32_t v = 0; v < iterator->views; v++)
        cursor->offset[v] += (int64_t)count * iterator->strides[v][d];
    if (cursor->index[d] == iterator->sizes[d])
        kern_cursor_next_row(iterator, cursor);
}

void kern_cursor_next_row(const struct kern_iterator *iterator, struct kern_cursor *cursor)
{
    next_row(iterator, 0, iterator->views, cursor);
}

void kern_copy_row(uint32_t bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride, uint64_t count)
{
    copy_row(bytes, out, out_stride, in, in_stride, count);
}

/* As a byte, of which `sign` is the sign's bit: 8, or 0. */
static uint8_t nibble(const uint8_t *base, int64_t offset, uint8_t sign)
{
    return (uint8_t)(((base[offset >> 1] >> (offset & 1 ? 4 : 0) & 15) ^ sign) - sign);
}

void kern_load_nibbles(DML_TENSOR_DATA_TYPE type, const uint8_t *base, int64_t offset, int64_t stride, uint64_t count,
                       uint8_t *restrict out)
{
    const uint8_t sign = type == DML_TENSOR_DATA_TYPE_INT4 ? 8 : 0;
    uint64_t i = 0;
    if (stride == 0) {
        memset(out, nibble(base, offset, sign), count);
        return;
    }
    if (stride == 1) {
        if (offset & 1 && count)
            out[i++] = nibble(base, offset, sign);
        const uint8_t *in = base + ((offset + (int64_t)i) >> 1);
        for (; i + 2 <= count; i += 2, in++) {
            out[i] = (uint8_t)(((*in & 15) ^ sign) - sign);
            out[i + 1] = (uint8_t)((*in >> 4 ^ sign) - sign);
        }
    }
    for (; i < count; i++)
        out[i] = nibble(base, offset + (int64_t)i * stride, sign);
}

static void set_nibble(uint8_t *base, int64_t offset, uint8_t value)
{
    uint8_t *byte = base + (offset >> 1);
    *byte = (uint8_t)(offset & 1 ? (*byte & 15) | value << 4 : (*byte & 0xf0) | (value & 15));
}

static void store_nibbles(uint8_t *base, int64_t offset, int64_t stride, uint64_t count, const uint8_t *in)
{
    uint64_t i = 0;
    if (stride == 1) {
        if (offset & 1 && count)
            set_nibble(base, offset, in[i++]);
        uint8_t *out = base + ((offset + (int64_t)i) >> 1);
        for (; i + 2 <= count; i += 2)
            *out++ = (uint8_t)((in[i] & 15) | in[i + 1] << 4);
    }
    for (; i < count; i++)
        set_nibble(base, offset + (int64_t)i * stride, in[i]);
}

/* Copies runs of one view's elements, each with one stride, to a dense buffer or from there. */
static inline __attribute__((always_inline)) void copy_elements(const struct kern_iterator *iterator, uint32_t view,
                                                                DML_TENSOR_DATA_TYPE type, char *base, uint64_t begin,
                                                                uint64_t count, char *dense, bool store)
{
    const uint32_t bytes = kern_type_bytes(type), last = iterator->rank - 1;
    struct kern_cursor cursor = { 0 };
    int64_t stride = iterator->strides[view][last], linear;
    uint64_t n = count;
    seek(iterator, begin, view, view + 1, &cursor);
    if (!kern_iterator_linear(iterator, view, begin, count, &linear))
        n = BASE_MIN(count, iterator->sizes[last] - cursor.index[last]);
    for (;; n = BASE_MIN(count, iterator->sizes[last])) {
        if (bytes && store)
            kern_copy_row(bytes, base + cursor.offset[view] * bytes, stride, dense, 1, n);
        else if (bytes)
            kern_copy_row(bytes, dense, 1, base + cursor.offset[view] * bytes, stride, n);
        else if (store)
            store_nibbles((uint8_t *)base, cursor.offset[view], stride, n, (const uint8_t *)dense);
        else
            kern_load_nibbles(type, (const uint8_t *)base, cursor.offset[view], stride, n, (uint8_t *)dense);
        dense += n * BASE_MAX(bytes, 1);
        count -= n;
        if (!count)
            return;
        next_row(iterator, view, view + 1, &cursor);
    }
}

void kern_iterator_load(const struct kern_iterator *iterator, uint32_t view, DML_TENSOR_DATA_TYPE type,
                        const void *base, uint64_t begin, uint64_t count, void *out)
{
    copy_elements(iterator, view, type, (char *)base, begin, count, out, false);
}

void kern_iterator_store(const struct kern_iterator *iterator, uint32_t view, DML_TENSOR_DATA_TYPE type, void *base,
                         uint64_t begin, uint64_t count, const void *in)
{
    copy_elements(iterator, view, type, base, begin, count, (char *)in, true);
}

/* ---- stores past the caches ---- */

enum { MIN_BYTES = 16 << 20, LINE = 64, PIECE_BYTES = 4096 };

static uint64_t min_bytes = MIN_BYTES;

void kern_stream_least(uint64_t bytes)
{
    min_bytes = bytes ? bytes : MIN_BYTES;
}

bool kern_streams(const struct kern_view *view)
{
    return kern_view_elements(view) * kern_type_bytes(view->type) >= min_bytes;
}

void kern_stream(void *out, const void *in, uint64_t bytes)
{
    uint64_t at = 0;
#if defined(__SSE2__)
    /* Lines that are not whole are left to the caches. */
    at = BASE_MIN((LINE - (uintptr_t)out % LINE) % LINE, bytes);
    if (at)
        memcpy(out, in, at);
    for (; at + LINE <= bytes; at += LINE) {
        const __m128i *from = (const __m128i *)((const char *)in + at);
        __m128i *to = (__m128i *)((char *)out + at);
        __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
        __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
#endif
    if (at < bytes)
        memcpy((char *)out + at, (const char *)in + at, bytes - at);
}

void kern_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void kern_stream_row(uint32_t bytes, void *out, const void *in, int64_t in_stride, uint64_t count)
{
    _Alignas(LINE) char piece[PIECE_BYTES];
    if (in_stride == 1) {
        kern_stream(out, in, count * bytes);
        return;
    }
    for (uint64_t at = 0, n; at < count; at += n) {
        n = BASE_MIN(count - at, PIECE_BYTES / bytes);
        if (!at || in_stride)
            kern_copy_row(bytes, piece, 1, (const char *)in + (int64_t)at * in_stride * bytes, in_stride, n);
        kern_stream((char *)out + at * bytes, piece, n * bytes);
    }
}
