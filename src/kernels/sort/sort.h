/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting lines. Every element is mapped to an unsigned key in the requested order; an item is a key above the
 * element's position, so that all items differ and equal elements are ordered by position. 64-bit types make 128-bit
 * items, all others 64-bit ones (sort_line.c, compiled for each). */
#ifndef KERNELS_SORT_H
#define KERNELS_SORT_H

#include "kernels/map/map.h"

#define KERN_SORT_BLOCK 256 /* elements that are mapped to keys at once */

/* The mapping of elements of a type to keys. */
struct kern_sort_code {
    uint32_t bytes;
    bool is_float;
    uint64_t mask;     /* all bits of a key */
    uint64_t sign;     /* the sign bit of a float */
    uint64_t infinity; /* magnitude above which a float is NaN */
    uint64_t flip;     /* bits of every key to invert: descending order, signed integers */
};

/* Loops of one instruction set. Keys are uint64_t for 64-bit types, else uint32_t. */
struct kern_sort_isa {
    /* By bytes of an element: dense elements to keys. */
    void (*encode[9])(const struct kern_sort_code *code, const void *elements, uint32_t count, void *keys);
    /* The inverse; NaNs and -0 are canonicalised. Both arrays have 8 bytes per element. */
    void (*decode[9])(const struct kern_sort_code *code, const void *keys, uint32_t count, void *elements);
    /* Is any key at most `bound`? */
    bool (*any_within)(const struct kern_sort_code *code, const void *keys, uint32_t count, uint64_t bound);
};

/* One line of a SORT op. Strides in elements. */
struct kern_sort_line {
    const struct kern_sort_isa *isa;
    const struct kern_sort_code *code;
    const char *x;
    char *values, *positions;
    int64_t x_stride, value_stride, position_stride;
    uint32_t position_bytes;
    uint32_t length, k;
    void *scratch;
};

/* `length` elements of a line, of which the first k are needed. */
uint64_t kern_sort_narrow_bytes(uint32_t length, uint32_t k);
uint64_t kern_sort_wide_bytes(uint32_t length, uint32_t k);
void kern_sort_narrow_line(const struct kern_sort_line *line);
void kern_sort_wide_line(const struct kern_sort_line *line);

void kern_sort_run(const struct kern_call *call, const struct kern_sort_isa *isa, uint64_t begin, uint64_t end);

/* ---- running sums and products ---- */

/* Elements are computed as one of three kinds of number; integers do not care for the sign. */
#define KERN_SCAN_BLOCK 512 /* elements of a line at once */
#define KERN_SCAN_TILE  128 /* lines at once */

enum kern_scan_number { KERN_SCAN_F64, KERN_SCAN_U32, KERN_SCAN_U64 };

struct kern_scan_isa {
    const struct kern_map_isa *map;
    /* By type and whether products are requested: x[] becomes its running sums from *carry, which becomes the last. */
    void (*row[3][2])(void *x, uint32_t count, void *carry);
    /* Combines *carry with all of x[]. */
    void (*fold[3][2])(const void *x, uint32_t count, void *carry);
    /* Combines sum[i] with x[i]. */
    void (*column[3][2])(void *sum, const void *x, uint32_t count);
    /* y[] = the running sums of x[], both FLOAT32 or both FLOAT16 (`half`), that start with *carry, which becomes the
     * last of them. `stream`: y is stored non-temporally. */
    void (*line)(const void *x, void *y, bool half, bool exclusive, bool stream, uint32_t count, double *carry);
};

void kern_scan_run(const struct kern_call *call, const struct kern_scan_isa *isa, uint64_t begin, uint64_t end);

#endif
