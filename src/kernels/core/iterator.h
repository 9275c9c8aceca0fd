/* SPDX-License-Identifier: Apache-2.0 */
/* Walking several views of the same sizes together: dimensions are ordered by one view's strides and merged if all
 * views allow it, so that dense tensors become one long row. Also copying rows, optionally with non-temporal stores. */
#ifndef KERNELS_ITERATOR_H
#define KERNELS_ITERATOR_H

#include "kernels/core/kernel.h"

struct kern_iterator {
    uint32_t rank; /* at least 1 */
    uint32_t views;
    uint64_t count; /* elements */
    uint64_t sizes[KERN_RANK_MAX];
    int64_t strides[KERN_TENSORS_MAX][KERN_RANK_MAX];
};

#define KERN_ITERATOR_ROW_MAJOR UINT32_MAX

/* Dimensions in `dims` (bit mask) of op->tensors[tensors[i]]; sizes are those of tensors[0]. `leader` indexes
 * `tensors`: dimensions are sorted by its strides, the smallest last; KERN_ITERATOR_ROW_MAJOR keeps their order. */
void kern_iterator_init(struct kern_iterator *iterator, const struct kern_op *op, const uint32_t *tensors,
                        uint32_t count, uint32_t dims, uint32_t leader);

/* Offset in elements of the flat-th element of a view. */
int64_t kern_iterator_offset(const struct kern_iterator *iterator, uint32_t view, uint64_t flat);

/* Elements from `flat` to the end of its innermost row. */
uint64_t kern_iterator_row_left(const struct kern_iterator *iterator, uint64_t flat);

/* Whether every element's address is base + flat * stride over [begin, begin + count); then *out_stride is that
 * stride. */
bool kern_iterator_linear(const struct kern_iterator *iterator, uint32_t view, uint64_t begin, uint64_t count,
                          int64_t *out_stride);

/* A position in the iterator, moved row by row without divisions. */
struct kern_cursor {
    uint64_t index[KERN_RANK_MAX];
    int64_t offset[KERN_TENSORS_MAX];
};
void kern_cursor_seek(const struct kern_iterator *iterator, uint64_t flat, struct kern_cursor *out);
/* Elements from here to the end of the innermost row. */
static inline uint64_t kern_cursor_row_left(const struct kern_iterator *iterator, const struct kern_cursor *cursor)
{
    return iterator->sizes[iterator->rank - 1] - cursor->index[iterator->rank - 1];
}
/* Advances by at most that many. */
void kern_cursor_skip(const struct kern_iterator *iterator, struct kern_cursor *cursor, uint64_t count);
/* To the start of the next innermost row. */
void kern_cursor_next_row(const struct kern_iterator *iterator, struct kern_cursor *cursor);

/* `count` 4-bit elements to bytes; INT4 elements become their sign-extended bytes. */
void kern_load_nibbles(DML_TENSOR_DATA_TYPE type, const uint8_t *base, int64_t offset, int64_t stride, uint64_t count,
                       uint8_t *restrict out);

/* Copies elements [begin, begin + count) of a view to a dense buffer, or back. 4-bit elements take one byte each in the
 * buffer (sign-extended for INT4). */
void kern_iterator_load(const struct kern_iterator *iterator, uint32_t view, DML_TENSOR_DATA_TYPE type,
                        const void *base, uint64_t begin, uint64_t count, void *out);
void kern_iterator_store(const struct kern_iterator *iterator, uint32_t view, DML_TENSOR_DATA_TYPE type, void *base,
                         uint64_t begin, uint64_t count, const void *in);

/* Copies `count` elements of `bytes` bytes between strided rows; strides in elements. */
void kern_copy_row(uint32_t bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride, uint64_t count);

/* Whether this output exceeds the caches, so that it will be evicted before it is read. Non-temporal stores then write
 * memory without reading it first, and the inputs stay cached. */
bool kern_streams(const struct kern_view *view);

/* The threshold in bytes; 0 restores the default (tests only, while nothing runs). */
void kern_stream_least(uint64_t bytes);

/* memcpy past the caches; for runs of whole cache lines, or long ones. */
void kern_stream(void *out, const void *in, uint64_t bytes);

/* kern_copy_row of many elements to a contiguous row. */
void kern_stream_row(uint32_t bytes, void *out, const void *in, int64_t in_stride, uint64_t count);

/* After the last store of a run: makes non-temporal stores visible to other threads. */
void kern_stream_end(void);

#endif
