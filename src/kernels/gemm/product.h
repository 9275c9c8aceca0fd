/* Blocked products Y[m, n] = sum over k of A[m, k] * B[k, n], for matrices and convolutions, in FLOAT32, FLOAT64 and
 * integers. A is brought into rows of words, B into panels: [words along k][columns of a tile]; a word holds `group`
 * neighbouring k (integers: four bytes or two 16-bit numbers, multiplied and added by one instruction; otherwise one
 * number), zeros behind the last. What multiplies is a tile per instruction set; all else is common.
 *
 * Integers enter as they are, but for words of bytes whose left factor must be unsigned and right one signed: 128 is
 * added to a signed left, subtracted from an unsigned right. Those shifts and the zero points come out of the sums:
 *   sum of (a - za)(b - zb) = sum of a b - za * sum of b - zb * (sum of a - K * za), in arithmetic that wraps. */
#ifndef KERNELS_PRODUCT_H
#define KERNELS_PRODUCT_H

#include "kernels/conv/conv.h"

#define PRODUCT_ROWS_MAX    8
#define PRODUCT_COLUMNS_MAX 64

struct product_isa {
    uint32_t rows, columns; /* of a tile */
    uint32_t group;
    uint32_t word; /* bytes */
    /* sums[r * step + c] = sum over words of a[r] * b[c]; r < count <= rows; c < used, or a little further up to what
     * is a whole vector. */
    void (*tile)(const void *a, const void *b, uint64_t words, uint32_t count, uint32_t used, void *sums,
                 uint32_t step);
    const struct product_integers *integers; /* NULL: FLOAT32 or FLOAT64 */
};

/* Integers: what has to come out of a row of sums. columns[i] = sum of b; zero, zeros[i] (shift included) of a, b;
 * row = sum of a - K * zero. zeros == NULL: zero_all for all columns. */
struct product_shift {
    const int32_t *columns, *zeros;
    int32_t zero, zero_all, row;
    int32_t plus; /* to be added */
};

/* Clamp(round(x * scale / divisor) + zero) as a byte, each step rounded. scale_step: 0 or 1; |zero|, |low|, |high| <
 * 512. */
struct product_requantize {
    const float *scale;
    uint32_t scale_step;
    float divisor, zero, low, high;
};

/* What else depends on the instruction set. */
struct product_integers {
    /* Words from `group` lines of `count` elements; `flip` changes the sign bit, is_signed widens. */
    void (*weave)(const uint8_t *const *lines, uint64_t count, uint8_t flip, bool is_signed, void *words);
    void (*unshift)(const int32_t *sums, uint32_t count, const struct product_shift *shift, int32_t *out);
    void (*requantize)(const int32_t *sums, uint32_t count, const struct product_shift *shift,
                       const struct product_requantize *how, uint8_t *out);
    /* Words of bytes: out = in ^ flip; returns their sum. */
    int32_t (*row)(const uint8_t *in, uint32_t count, uint8_t flip, uint8_t *out);
};

extern const struct product_isa product_f32_portable, product_f32_avx2, product_f32_avx512, product_f32_neon;
extern const struct product_isa product_f64_portable, product_f64_avx2, product_f64_avx512, product_f64_neon;
extern const struct product_isa product_int_portable, product_int_avx2, product_int_vnni;

/* ---- packing (product.c) ---- */

/* Elements of one type at data[index + i * step]. */
struct product_line {
    const void *data;
    int64_t index, step;
    DML_TENSOR_DATA_TYPE type;
};

DENSE_INLINE uint64_t product_words(const struct product_isa *isa, uint64_t k)
{
    return (k + isa->group - 1) / isa->group;
}

/* What is added to elements of a left and taken from those of a right factor. */
DENSE_INLINE uint8_t product_flip(const struct product_isa *isa, DML_TENSOR_DATA_TYPE type, bool right)
{
    return isa->integers && isa->group == 4 && (type == DML_TENSOR_DATA_TYPE_UINT8) == right ? 0x80 : 0;
}

/* A row of words of a left or right factor; integers: returns the sum of its elements (after the shift). */
int32_t product_row(const struct product_isa *isa, const struct product_line *from, uint32_t count, bool right,
                    void *words);
/* A word of a right factor that holds `value` in its first `count` places. */
uint64_t product_word(const struct product_isa *isa, int32_t value, DML_TENSOR_DATA_TYPE type, uint32_t count);
/* sums[columns] of a panel of integers. */
void product_column_sums(const struct product_isa *isa, const void *panel, uint64_t words, int32_t *sums);

/* Elements as words where group = 1. */
void product_load(const struct product_isa *isa, const struct product_line *from, uint64_t count, void *words);

/* ---- the way out (product.c) ---- */

/* The op's epilogue is a requantisation: of which tensors (0 = none). */
struct product_way_out {
    bool requantizes;
    uint32_t scale, divisor, zero;
    float low, high;
};
void product_way_out_init(const struct kern_op *op, struct product_way_out *out);
/* The divisor for coordinates `at`; 1 where there is none. */
float product_divisor(const struct kern_call *call, const struct product_way_out *way, const uint32_t *at);

/* Stores a row of sums (INT32, FLOAT32 or FLOAT64) from coordinates `at` on. `shift`: of integers. `floats`: room for
 * as many. */
void product_finish(const struct product_isa *isa, const struct kern_call *call, const struct product_way_out *way,
                    void *epilogue, const uint32_t *at, uint32_t count, void *sums, const struct product_shift *shift,
                    float *floats);

/* The types of A, B, (third: of a third input) and Y are ones that products are made of. */
bool product_types_fit(const struct kern_op *op, bool integer, bool third);

/* ---- the rows' functions (product_gemm.c, product_conv.c) ---- */
const struct product_isa *product_isa_for(const struct kern_op *op, const struct product_isa *f32,
                                          const struct product_isa *f64);
void product_gemm_plan(const struct product_isa *isa, const struct kern_op *op, struct kern_work *out);
void product_gemm_run(const struct product_isa *isa, const struct kern_call *call, uint64_t begin, uint64_t end);
bool product_gemm_pack_plan(const struct product_isa *isa, const struct kern_op *op, uint32_t *out_input,
                            uint64_t *out_bytes);
void product_gemm_pack(const struct product_isa *isa, const struct kern_op *op, const void *source, void *packed);
void product_conv_plan(const struct product_isa *isa, const struct kern_op *op, struct kern_work *out);
void product_conv_run(const struct product_isa *isa, const struct kern_call *call, uint64_t begin, uint64_t end);
bool product_conv_pack_plan(const struct product_isa *isa, const struct kern_op *op, uint32_t *out_input,
                            uint64_t *out_bytes);
void product_conv_pack(const struct product_isa *isa, const struct kern_op *op, const void *source, void *packed);

#endif
