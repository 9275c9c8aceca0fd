/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked products Y[m, n] = sum over k of A[m, k] * B[k, n], for matrices and convolutions, in FLOAT32, FLOAT64,
 * integers and BFLOAT16 with sums in FLOAT32. A is packed into rows, B into panels:
 * [packs along k][columns of a tile]; a pack holds `k_pack` neighbouring k (integers: four or eight bytes or two 16-bit
 * numbers, multiplied and added by one instruction; two or four BFLOAT16; otherwise one number), padded with zeros.
 * Only the tiles depend on the instruction set.
 *
 * Integers are not converted, except for packs of bytes whose left factor must be unsigned and right one signed (or,
 * if the CPU has only that, unsigned as well): 128 is added to a signed left, subtracted from an unsigned right or
 * added to a signed one. The effect of these shifts and of the zero points is removed from the sums:
 *   sum of (a - za)(b - zb) = sum of a b - za * sum of b - zb * (sum of a - K * za), in arithmetic that wraps. */
#ifndef KERNELS_BLOCKED_GEMM_H
#define KERNELS_BLOCKED_GEMM_H

#include "kernels/core/epilogue.h"
#include "kernels/core/isa.h"
#include "kernels/row/row.h"

#define BLOCKED_GEMM_ROWS_MAX    6
#define BLOCKED_GEMM_COLUMNS_MAX 64
#define BLOCKED_GEMM_PACK_MAX    8 /* k */

/* sums[r * step + c] = sum over packs of a[r] * b[c]; r < rows, c < columns, rounded up to whole vectors. */
struct blocked_gemm_tile {
    const void *a, *b;
    void *sums;
    uint64_t packs;
    uint32_t rows, columns, step;
    /* For tables with `deep`: */
    const int32_t *row_cross, *column_cross; /* of the rows and columns */
    uint64_t row_packs;                      /* packs between rows of A */
    bool add;                                /* to the sums, without crosses */
};

struct blocked_gemm_end;
struct blocked_gemm_shift;

typedef void blocked_gemm_end_fn(const struct blocked_gemm_end *end, const uint32_t *at, uint32_t count,
                                 const void *sums, const struct blocked_gemm_shift *shift);
struct blocked_gemm_isa {
    uint32_t rows, columns; /* of a tile, at most */
    uint32_t k_pack;
    uint32_t pack_bytes; /* bytes */
    void (*tile)(const struct blocked_gemm_tile *tile);
    const struct blocked_gemm_integers *integers;                  /* NULL: other types */
    void (*round)(const float *in, uint32_t count, uint16_t *out); /* converts to BFLOAT16; NULL: other factors */
    /* Applies the steps of the epilogue (struct blocked_gemm_end) to a row of sums; NULL: unsupported. */
    blocked_gemm_end_fn *finish;
    /* What `tile` subtracts from all sums of a row, and of each column of a panel (blocked_gemm_pairs_simd.c). */
    int32_t (*row_cross)(const void *row, uint64_t packs);
    void (*column_cross)(const void *panel, uint64_t packs, int32_t *out);
    /* Packs of a panel that stay in the first-level cache while all rows are multiplied with them, an even number;
     * 0: whole panels, one after another for each tile's rows, and no crosses. */
    uint32_t deep;
    bool unsigned_right; /* bytes: both factors are unsigned */
    bool tiles; /* `tile` reads whole tiles of AMX: rows and packs of A are rounded up to 16, packs of B as well */
};

/* Integers: corrections of a row of sums. columns[i] = sum of b; zero, zeros[i] (shift included) of a, b; row = sum of
 * a - K * zero. zeros == NULL: zero_all for all columns. */
struct blocked_gemm_shift {
    const int32_t *columns, *zeros;
    int32_t zero, zero_all, row;
    int32_t plus; /* to be added */
};

/* Clamp(round(x * scale / divisor) + zero) as a byte, step by step. scale_step: 0 or 1; |zero|, |low|, |high| < 512. */
struct blocked_gemm_requantize {
    const float *scale;
    uint32_t scale_step;
    float divisor, zero, low, high;
};

/* The functions for rows of integers and of their sums (blocked_gemm_simd.c). */
struct blocked_gemm_integers {
    /* Packs from k_pack lines of `count` elements. 4 or 8 bytes: `flip` changes the sign bit; 2 words: is_signed
     * widens. */
    void (*interleave)(uint32_t k_pack, const uint8_t *const *lines, uint64_t count, uint8_t flip, bool is_signed,
                       void *packs);
    void (*unshift)(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift, int32_t *out);
    void (*requantize)(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift,
                       const struct blocked_gemm_requantize *how, uint8_t *out);
    /* Packs of bytes: out = in ^ flip; returns their sum. */
    int32_t (*row)(const uint8_t *in, uint32_t count, uint8_t flip, uint8_t *out);
    /* Packs of words: widened; returns their sum. */
    int32_t (*words)(const uint8_t *in, uint32_t count, bool is_signed, int16_t *out);
};

/* Tiles of FLOAT32, FLOAT64 and integers. The 8-bit tiles of VNNI are also used for the few remaining rows with AMX. */
extern const struct blocked_gemm_isa blocked_gemm_f32_portable, blocked_gemm_f32_avx2, blocked_gemm_f32_avx512,
    blocked_gemm_f32_neon, blocked_gemm_f64_portable, blocked_gemm_f64_avx2, blocked_gemm_f64_avx512,
    blocked_gemm_f64_neon, blocked_gemm_int_portable, blocked_gemm_int_avx2, blocked_gemm_vnni, blocked_gemm_int_dot,
    blocked_gemm_int_mmla, blocked_gemm_bf16_mmla;

extern const struct blocked_gemm_integers blocked_gemm_integers_portable, blocked_gemm_integers_avx2,
    blocked_gemm_integers_avx512, blocked_gemm_integers_neon;

/* ---- packing (blocked_gemm.c) ---- */

/* Elements of one type at data[index + i * step]. */
struct blocked_gemm_line {
    const void *data;
    int64_t index, step;
    DML_TENSOR_DATA_TYPE type;
};

/* Adjacent k of a right factor of bytes, `row` elements apart, `count` elements of each. */
struct blocked_gemm_rows {
    struct blocked_gemm_line line;
    int64_t row;
    uint64_t count;
};

DENSE_INLINE uint64_t blocked_gemm_packs(const struct blocked_gemm_isa *isa, uint64_t k)
{
    const uint64_t packs = (k + isa->k_pack - 1) / isa->k_pack;
    return isa->tiles ? base_align_up(packs, 16) : packs;
}

/* Packs are of bytes. */
DENSE_INLINE bool blocked_gemm_of_bytes(const struct blocked_gemm_isa *isa)
{
    return isa->integers && isa->k_pack >= 4;
}

DENSE_INLINE uint32_t blocked_gemm_sum_bytes(const struct blocked_gemm_isa *isa)
{
    return isa->integers || isa->round ? 4 : isa->pack_bytes;
}

/* The bit that changes in bytes of a factor. */
DENSE_INLINE uint8_t blocked_gemm_flip(const struct blocked_gemm_isa *isa, DML_TENSOR_DATA_TYPE type, bool right)
{
    const bool becomes_signed = right && !isa->unsigned_right;
    return blocked_gemm_of_bytes(isa) && (type == DML_TENSOR_DATA_TYPE_UINT8) == becomes_signed ? 0x80 : 0;
}

/* The resulting correction. */
DENSE_INLINE int32_t blocked_gemm_added(const struct blocked_gemm_isa *isa, DML_TENSOR_DATA_TYPE type, bool right)
{
    const int32_t flip = blocked_gemm_flip(isa, type, right);
    return right && !isa->unsigned_right ? -flip : flip;
}

/* A row of `width` packs from the first `lines` of them, padded with zeros; buffer: `width` bytes for each k of a
 * pack. */
DENSE_INLINE void blocked_gemm_interleave(const struct blocked_gemm_isa *isa, const struct blocked_gemm_rows *from,
                                          uint32_t lines, uint64_t width, uint8_t *buffer, void *packs)
{
    const struct blocked_gemm_line *line = &from->line;
    const uint8_t flip = blocked_gemm_flip(isa, line->type, true), *in = (const uint8_t *)line->data + line->index;
    const uint8_t *all[BLOCKED_GEMM_PACK_MAX];
    for (uint32_t i = 0; i < isa->k_pack; i++, buffer += width, in += from->row) {
        const uint64_t count = i < lines ? from->count : 0;
        all[i] = count == width && line->step == 1 ? in : buffer;
        for (uint64_t c = 0; all[i] == buffer && c < count; c++)
            buffer[c] = in[(int64_t)c * line->step];
        if (count < width)
            memset(buffer + count, flip, width - count); /* 0 once its sign bit is flipped */
    }
    isa->integers->interleave(isa->k_pack, all, width, flip, line->type == DML_TENSOR_DATA_TYPE_INT8, packs);
}

/* A row of `width` packs of BFLOAT16 from the first `lines` of them, padded with zeros. */
void blocked_gemm_halves(const struct blocked_gemm_isa *isa, const struct blocked_gemm_rows *from, uint32_t lines,
                         uint64_t width, void *packs);
/* A row of packs of a left or right factor; integers: returns the sum of its elements (after the shift). */
int32_t blocked_gemm_row(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint32_t count,
                         bool right, void *packs);
/* A pack of a right factor whose first `count` elements are `value`. */
uint64_t blocked_gemm_pack_of(const struct blocked_gemm_isa *isa, int32_t value, DML_TENSOR_DATA_TYPE type,
                              uint32_t count);
/* sums[columns] of a panel of integers. */
void blocked_gemm_column_sums(const struct blocked_gemm_isa *isa, const void *panel, uint64_t packs, int32_t *sums);

/* Elements as packs where k_pack = 1. */
void blocked_gemm_load(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint64_t count,
                       void *packs);

/* All tiles of a block, for a table with `deep`. Panels are panel_bytes apart, their column_cross cross_bytes. */
void blocked_gemm_multiply(const struct blocked_gemm_isa *isa, const struct blocked_gemm_tile *block,
                           uint64_t panel_bytes, uint64_t cross_bytes);

/* ---- the epilogue (blocked_gemm.c) ---- */

/* The final step of results: requantised, or by the general epilogue in `scratch`. `floats`: memory for a row of
 * integers. */
struct blocked_gemm_end {
    const struct kern_call *call;
    bool requantizes;
    struct kern_requantize requantize;
    bool in_steps;  /* the epilogue is `steps`, for isa->finish */
    bool quantizes; /* and `requantize` after them, without its scale */
    struct kern_epilogue steps;
    void *scratch;
    float *floats;
};
void blocked_gemm_end_init(const struct kern_call *call, void *scratch, void *floats, struct blocked_gemm_end *out);
/* Operations before the epilogue; with quantised weights: none. */
static inline struct kern_gemm blocked_gemm_of(const struct kern_op *op)
{
    return op->kind == KERN_GEMM ? op->u.gemm : (struct kern_gemm){ .alpha = 1 };
}
/* A GEMM's final step, if its epilogue has that form. */
void blocked_gemm_end_in_steps(struct blocked_gemm_end *end);
/* Variants of isa->finish (blocked_gemm_end_simd.c): integers with a shift, or FLOAT32, which are multiplied by
 * alpha. */
blocked_gemm_end_fn blocked_gemm_end_row_portable, blocked_gemm_end_row_avx2, blocked_gemm_end_row_avx512,
    blocked_gemm_end_row_neon;
/* The same for FLOAT32 sums of other kernels: by `row`, one of these, or the general epilogue. */
static inline void blocked_gemm_end_floats(const struct blocked_gemm_end *end, const uint32_t *at, uint32_t count,
                                           const float *sums, blocked_gemm_end_fn *row)
{
    if (end->in_steps)
        row(end, at, count, sums, NULL);
    else
        dense_finish_f32(end->call, end->scratch, at, count, sums);
}
/* The divisor for coordinates `at`; 1 if there is none. */
float blocked_gemm_divisor(const struct kern_call *call, const struct kern_requantize *how, const uint32_t *at);

/* Stores a row of sums (INT32, FLOAT32 or FLOAT64) from coordinates `at` on. `shift`: of integers. */
void blocked_gemm_finish(const struct blocked_gemm_isa *isa, const struct blocked_gemm_end *end, const uint32_t *at,
                         uint32_t count, void *sums, const struct blocked_gemm_shift *shift);
void blocked_gemm_finish_integers(const struct blocked_gemm_integers *integers, const struct blocked_gemm_end *end,
                                  const uint32_t *at, uint32_t count, int32_t *sums,
                                  const struct blocked_gemm_shift *shift);

/* The types of A, B, (third: of a third input) and Y are supported. */
bool blocked_gemm_types_fit(const struct kern_op *op, bool integer, bool third);

/* ---- the kernels' functions (gemm_blocked.c) ---- */
const struct blocked_gemm_isa *blocked_gemm_isa_for(const struct kern_op *op, const struct blocked_gemm_isa *f32,
                                                    const struct blocked_gemm_isa *f64);
/* Sizes only: work is partitioned alike for all instruction sets, and scratch memory suffices for the largest tiles. */
const struct blocked_gemm_isa *blocked_gemm_widest(const struct kern_op *op);
/* Plans return the bytes that packing writes. */
uint64_t blocked_gemm_plan(const struct blocked_gemm_isa *isa, const struct kern_op *op, struct kern_work *out);
void blocked_gemm_run(const struct blocked_gemm_isa *isa, const struct kern_call *call, uint64_t begin, uint64_t end);
void blocked_gemm_pack(const struct blocked_gemm_isa *isa, const struct kern_op *op, const void *source, void *packed);
/* The functions of a PACKED_AS kernel with the tiles of one table; kind: gemm, or conv (conv_implicit_gemm.c). */
#define BLOCKED_ROW(name, kind, isa)                                                                                   \
    KERN_PACKED_ROW(name, const struct blocked_gemm_isa *, plan = &(isa), blocked_##kind##_plan(plan, op, out),        \
                    blocked_##kind##_pack(plan, op, source, packed))                                                   \
    void kern_##name##_run(const struct kern_call *call, uint64_t begin, uint64_t end)                                 \
    {                                                                                                                  \
        blocked_##kind##_run(&(isa), call, begin, end);                                                                \
    }

#endif
