/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a kernel: struct kern_op, a kind with its parameters and the views of its tensors. */
#ifndef KERNELS_OPS_H
#define KERNELS_OPS_H

#include "base/base.h"

#include <anydml.h>

#define KERN_RANK_MAX     8
#define KERN_TENSORS_MAX  16 /* inputs + outputs of one op */
#define KERN_MAP_INST_MAX 64
#define KERN_SPATIAL_MAX  3

/* A tensor's layout in memory. Sizes and strides in elements, outermost first; stride 0 broadcasts; strides may be
 * negative. The data pointer that a kernel receives addresses the element at index 0,...,0 (view.offset is already
 * added). 4-bit types: strides and offset count nibbles from the pointer's byte, even element in the low nibble. */
struct kern_view {
    DML_TENSOR_DATA_TYPE type;
    uint32_t rank; /* 1 to KERN_RANK_MAX */
    uint32_t sizes[KERN_RANK_MAX];
    int64_t strides[KERN_RANK_MAX];
    int64_t offset; /* elements from the start of the value; used by the graph, not by kernels */
};

enum kern_kind {
#define KIND(NAME, name) KERN_##NAME,
#include "kernels/core/kinds.def"
#undef KIND
    KERN_KIND_COUNT
};

/* ---- KERN_MAP -------------------------------------------------------------------------------------------------- */

/* Registers are numbered: 0 .. input count - 1 are the inputs' elements, converted on load to `load_type` of the input;
 * instruction i writes register input count + i. Output j stores register store[j], converted from its type to the
 * output's type. Register types are the six compute types FLOAT32, FLOAT64, INT32, UINT32, INT64, UINT64. Conversions:
 * float to integer truncates toward zero and saturates (NaN becomes 0); integer to narrower integer keeps the low bits;
 * float to float rounds to nearest even. mapops.def lists the operations with their formulas. */
enum kern_map_code {
#define MAPOP(name, arity, types, formula) KERN_MAP_##name,
#include "kernels/core/mapops.def"
    KERN_MAP_CODE_COUNT
};

/* The operands of each operation (kernel.c). */
extern const uint8_t kern_map_arity[KERN_MAP_CODE_COUNT];

union kern_scalar {
    float f32;
    double f64;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
};

struct kern_map_inst {
    uint8_t code;             /* enum kern_map_code */
    uint8_t type;             /* compute type of the operands (DML_TENSOR_DATA_TYPE); CONVERT: of the source */
    uint8_t to_type;          /* type of the result: = type, except for CONVERT; comparisons give `type` 0 or 1 */
    uint8_t src[3];           /* registers */
    union kern_scalar imm[2]; /* constants of the formula (p, q), in `type` */
};

struct kern_map {
    uint32_t inst_count;
    uint8_t load_type[KERN_TENSORS_MAX]; /* per input */
    uint8_t store[KERN_TENSORS_MAX];     /* per output: register */
    struct kern_map_inst inst[KERN_MAP_INST_MAX];
};

/* ---- the other kinds; tensors in the order given ---- */

/* in: X; out: Y with the same rank, size 1 at reduced axes. ARGMIN/ARGMAX: Y holds UINT32, INT32, UINT64 or INT64
 * indices counted row-major over the reduced axes. */
struct kern_reduce {
    DML_REDUCE_FUNCTION function;
    uint32_t axes; /* bit i = dimension i is reduced */
    bool last;     /* argmin/argmax: of equal values take the last instead of the first */
    bool nan; /* minima, maxima and their positions: NaN wins, the first of them (see `last`); else a number wins */
};

/* Y[b..., m, n] = alpha * sum_k A[b..., m, k] * B[b..., k, n] + beta * C[b..., m, n]. All views have the same rank,
 * batch dimensions broadcast by stride 0; transposition is expressed by A's and B's strides. in: A, B, [C]; out: Y. */
struct kern_gemm {
    float alpha, beta;
    bool has_c;
    /* Exact integer GEMM: A, B INT8 or UINT8; in: A, B, [a_zero], [b_zero] of their types and Y's sizes, a_zero with
     * strides 0 except along m, b_zero except along n. Y[m, n] = sum of (A - a_zero[m]) * (B - b_zero[n]), INT32 that
     * wraps; alpha, beta and C are ignored. An epilogue sees it as FLOAT32 and may store any type. */
    bool integer, has_a_zero, has_b_zero;
};

#define KERN_QGEMM_COLUMNS 16 /* of a panel */
#define KERN_QGEMM_DEPTH   8  /* rows of a group are rounded up to this */

/* Y[..., n] = sum over k of X[..., k] * (code[k, n] - zero[g, n]) * scale[g, n], where g = k / block. Column n is
 * column n % 16 of panel n / 16; row k is row k % block of group g; D = block rounded up to a multiple of 8; codes
 * after the last row of a group are zero, codes after the last column are ignored. in: X [..., K], codes, either INT8
 * [panels, groups, D / 4, 16, 4] or INT4 [panels, groups, D / 8, 16, 8]: words of 32 bits, each of consecutive rows of
 * one column; scales [panels, groups, 16] FLOAT32 or FLOAT16, [zeros INT8 of these sizes], all dense; out: Y [...,
 * N]. */
struct kern_qgemm {
    uint32_t block;
    bool has_zero;
};

/* in: X [N, C, S...], W [Cout, C / groups, K...] ([C, Cout / groups, K...] when transposed), [bias, rank of X with all
 * sizes 1 but the channel's]; out: Y [N, Cout, S'...]. Cross-correlation unless flip.
 * forward: Y[n, o, s] = sum over c, k of X[n, c, s * stride + k * dilation - pad_start] * W[o, c, k] + bias[o].
 * transposed: the gradient of that with respect to its input: Y gets X scattered through W.
 * S' is any size: elements outside X count as 0, and X may have elements that no window covers. */
struct kern_conv {
    uint32_t spatial; /* 1 to KERN_SPATIAL_MAX */
    uint32_t groups;
    bool transposed, flip, has_bias;
    /* Exact integer convolution: X, W INT8 or UINT8, bias INT32; in: X, W, [bias], [x_zero, all sizes 1], [w_zero,
     * shaped as bias]. Y = sum of (X - x_zero) * (W - w_zero[o]) + bias[o], INT32 that wraps; padding counts as x_zero.
     * An epilogue sees it as FLOAT32 (whether a sum that does not fit wraps is then unspecified) and may store any
     * type. */
    bool integer, has_x_zero, has_w_zero;
    uint32_t strides[KERN_SPATIAL_MAX], dilations[KERN_SPATIAL_MAX], pad_start[KERN_SPATIAL_MAX];
};

enum kern_bounds_kind {
    KERN_BOUNDS_NONE,
    KERN_BOUNDS_RELU,     /* at least 0, NaN stays */
    KERN_BOUNDS_CLAMP,    /* low to high, NaN becomes low */
    KERN_BOUNDS_CLIP,     /* low to high, NaN becomes high */
    KERN_BOUNDS_CLAMP_NAN /* low to high, NaN stays */
};

struct kern_bounds {
    enum kern_bounds_kind kind;
    float low, high; /* of CLAMP, CLIP and CLAMP_NAN; low <= high */
};

/* in: X [N, C, H, W], FLOAT32 parameters in sequence: W1 [M, C, first...], b1 [M], Wd [M, window...], bd [M], W2 [O,
 * M], b2 [O]; out: Y [N, O, H', W']. Y = W2 D + b2 for each pixel, D = bounds[1](Wd * E + bd) channel by channel over
 * windows of E, zero outside, E = bounds[0](W1 X + b1) for each pixel, or for windows `first` of X. H' and W' are any
 * sizes, as for kern_conv. */
struct kern_inverted_residual {
    uint32_t middle;                                     /* M */
    uint32_t first[2], first_strides[2], first_start[2]; /* start: padding */
    uint32_t image[2];                                   /* sizes of E, any */
    uint32_t window[2], strides[2], pad_start[2];
    struct kern_bounds bounds[2];
};

enum kern_pool_mode { KERN_POOL_AVERAGE, KERN_POOL_LP, KERN_POOL_MAX };

/* in: X [N, C, S...]; out: Y [N, C, S'...], [indices UINT32/UINT64: logical row-major position of
 * the selected element within the whole of X, strides ignored; the first maximum wins]. */
struct kern_pool {
    enum kern_pool_mode mode;
    uint32_t spatial;
    bool include_padding; /* average: divide by the whole window */
    bool has_indices, whole_indices;
    uint32_t p; /* Lp */
    uint32_t window[KERN_SPATIAL_MAX], strides[KERN_SPATIAL_MAX], dilations[KERN_SPATIAL_MAX];
    uint32_t pad_start[KERN_SPATIAL_MAX];
};

/* POOL_GRAD: struct kern_pool with mode average or max. in: [max: X [N, C, S...]], dY [N, C, S'...]; out: dX [N, C,
 * S...]: the gradient of the sum of dY * POOL(X) with respect to X. S' is any size: windows outside X are ignored.
 * With has_indices, max only, in: dY, the positions of the maxima in their channel, row-major, 32 or 64 bits, of dY's
 * sizes; positions outside of their window count for nothing. */

enum kern_softmax_mode { KERN_SOFTMAX_PLAIN, KERN_SOFTMAX_LOG, KERN_SOFTMAX_HARD };

/* in: X; out: Y of the same sizes. */
struct kern_softmax {
    enum kern_softmax_mode mode;
    uint32_t axes;
};

/* in: X, [scale], [bias] (same rank as X, broadcast by stride 0); out: Y.
 * Y = scale * (X - mean) / sqrt(variance + epsilon) + bias; mean and variance over `axes`. Without use_mean nothing is
 * subtracted (and the variance is the mean square); without use_variance nothing is divided. */
struct kern_norm {
    uint32_t axes;
    float epsilon;
    bool use_mean, use_variance, has_scale, has_bias;
};

/* in: X; out: mean, mean of (X - mean)^2 over `axes`: X's rank, size 1 at reduced axes. */
struct kern_moments {
    uint32_t axes;
};

/* in: X, G (X's sizes), C (X's sizes, repeated over `axes`); out: sums over `axes` of G, G * (X - C), X - C. */
struct kern_grad_sums {
    uint32_t axes;
};

struct kern_lp_norm {
    uint32_t axis;
    float epsilon;
    uint32_t p; /* 1 or 2 */
    bool nan;   /* a norm that is NaN stays, else it counts as less than epsilon */
};

/* Y = X / (bias + alpha / n * sum of squares)^beta over a window of local_size channels or (not cross_channel) of
 * local_size x local_size pixels. */
struct kern_lrn {
    bool cross_channel;
    uint32_t local_size;
    float alpha, beta, bias;
};

/* in: X; out: Y, sizes X + start + end per dimension. */
struct kern_pad {
    DML_PADDING_MODE mode;
    DML_SCALAR_UNION value; /* in X's type; CONSTANT only */
    uint32_t start[KERN_RANK_MAX];
    uint32_t gap[KERN_RANK_MAX]; /* number of `value` elements between neighbours; CONSTANT only */
};

/* in: X; out: Y of the same rank. The coordinate rule is that of DML_OPERATOR_RESAMPLE2 (resample/resample.c). */
struct kern_resample {
    DML_INTERPOLATION_MODE mode;
    DML_AXIS_DIRECTION rounding; /* nearest: ceil (INCREASING) or floor of the coordinate */
    bool
        antialiased; /* linear: a dimension shrunk more than twice uses all elements that it covers (triangle filter) */
    bool transposed; /* the gradient: X is dY of the forward op, Y its dX; floats only */
    float scales[KERN_RANK_MAX], input_offsets[KERN_RANK_MAX], output_offsets[KERN_RANK_MAX];
};

#define KERN_FOLD_MAX (KERN_RANK_MAX - 2)

/* image [N, C, S...] and columns [N, C * (product of window), product of positions]; element (k, b) of a column matrix
 * belongs to the pixel b * stride + k * dilation - pad_start. unfold: in: image; out: columns, 0 outside the image.
 * Otherwise in: columns; out: image, the sum of all elements that belong to a pixel. */
struct kern_fold {
    bool unfold;
    uint32_t spatial; /* 1 to KERN_FOLD_MAX */
    uint32_t window[KERN_FOLD_MAX], strides[KERN_FOLD_MAX], dilations[KERN_FOLD_MAX], pad_start[KERN_FOLD_MAX];
    uint32_t positions[KERN_FOLD_MAX]; /* of the window along each dimension */
};

enum kern_index_mode { KERN_INDEX_AXIS, KERN_INDEX_ELEMENTS, KERN_INDEX_ND };

/* in: X, indices (UINT32, INT32, UINT64, INT64; negative counts from the end; out of range is clamped); out: Y.
 * AXIS: Y[outer, i..., inner] = X[outer, indices[i...], inner]: X is [outer..., axis, inner...], and Y's dimensions are
 * outer_rank + index_rank + inner_rank = Y.rank, where outer_rank = axis of X; i = the indices' last dimensions.
 * ELEMENTS: Y[o] = X[o with o[axis] = indices[o]]; the indices have Y's sizes.
 * ND: Y[b..., i..., inner] = X[b..., t..., inner], where t = the tuple indices[b..., i...] along the indices' last
 * dimension; `axis` = number of dimensions b, index_rank = number of dimensions i.
 * Y has one dimension of size 1 if none is left. */
struct kern_gather {
    uint32_t axis; /* of X */
    uint32_t index_rank;
    enum kern_index_mode mode;
};

enum kern_scatter_reduction {
    KERN_SCATTER_LAST, /* replaces: the last update of an element wins */
    KERN_SCATTER_ADD,  /* integers wrap */
    KERN_SCATTER_MULTIPLY,
    KERN_SCATTER_MIN, /* a number wins over NaN */
    KERN_SCATTER_MAX,
};

/* in: X, indices as for gather (but out of range: not written), updates; out: Y = X, and then in element order of the
 * updates, in sequence, Y[...] = Y[...] + update (or another `reduction`), rounded each time
 * ELEMENTS: Y[u with u[axis] = indices[u]] = updates[u]; indices and updates have the same sizes.
 * ND: Y[t..., inner] = updates[i..., inner], where t = the tuple indices[i...]; `axis` is 0.
 * All have one type; but with a reduction, FLOAT16 and bfloat16 are those of updates only, X and Y being FLOAT32. */
struct kern_scatter {
    uint32_t axis;
    enum kern_index_mode mode; /* not AXIS */
    enum kern_scatter_reduction reduction;
};

/* Elements are counted in `block`s of X, in element order; UINT32 everywhere.
 * not write: in: X; out: counts [blocks], the non-zero elements of each block.
 * write: in: X, counts; out: their sum (one element), coordinates [M, N]: row r has the last N coordinates of the r-th
 * non-zero element; rows after the sum do not change. */
struct kern_nonzero {
    bool write;
    uint32_t block;
};

/* out: Y[k-th element] = start + k * delta. Scalars are f64 for floating-point Y, u64 for integers, which wrap. */
struct kern_sequence {
    union kern_scalar start, delta;
};

enum kern_cell { KERN_CELL_RNN, KERN_CELL_GRU, KERN_CELL_LSTM };

enum kern_activation_mode { KERN_ACTIVATION_MAP, KERN_ACTIVATION_IDENTITY, KERN_ACTIVATION_HARDMAX };

/* HARDMAX is over the hidden values of one batch row and one gate. */
struct kern_activation {
    enum kern_activation_mode mode;
    struct kern_map_inst inst; /* MAP: one operand, FLOAT32 */
};

#define KERN_RECURRENT_PANEL 32

/* T steps of B independent rows with H hidden values, in D directions at once; G gates: 1 (RNN), 3 (GRU: z, r, h),
 * 4 (LSTM: i, o, f, c).
 * in: X [T, B, D, G, H] FLOAT32: the GEMM of the inputs with their weights plus all biases that are only added;
 *     R, either [D, G, H, K = H], or when `panels` [D, G, ceil(H / 32), K, 32] FLOAT32, where row n of a gate is column
 *     n % 32 of panel n / 32 and columns after H are ignored;
 *     or [D, G, H, K] INT8 or UINT8 with `scale`, which represents (R - zero) * scale: then the vector that R is
 *     multiplied with may be rounded to 8 bits, relative to its largest element in each row of the batch;
 *     the others are optional, at the indices of their fields (into op->tensors, 0 = absent).
 * out: at least one of the outputs.
 * Row b runs min(lengths[b], T) steps, forward from step 0 or in reverse down to step 0; later steps of `sequence` are
 * zero, and so are the last states of rows of length 0. */
struct kern_recurrent {
    enum kern_cell cell;
    bool panels;
    bool reverse[2];                          /* per direction */
    bool linear_before_reset;                 /* GRU */
    bool couple;                              /* LSTM: f = 1 - i */
    bool has_clip;                            /* LSTM: every activation's argument is clamped to +-`clip` */
    uint8_t scale, zero;                      /* [D, G, H] of R's integers: FLOAT32, and R's type if not all are zero */
    uint8_t reset_bias;                       /* [D, H], linear_before_reset: bias of h inside the product with r */
    uint8_t hidden, memory;                   /* [D, B, H]: states before the first step, else zero */
    uint8_t lengths;                          /* [B] UINT32 */
    uint8_t peepholes;                        /* [D, 3, H]: i, o, f */
    uint8_t sequence;                         /* out [T, D, B, H]: hidden states */
    uint8_t last_hidden, last_memory;         /* out [D, B, H] */
    struct kern_activation activations[2][3]; /* per direction: f, g, h */
    struct kern_map_inst clip;
};

/* in: Q [B, H, M, D], K [B, G, N, D], V [B, G, N, Dv], then those that are present, in this order:
 *   mask    [B, H, M, N], added to the scores
 *   keep    INT32 [B, H, M, N], 0 = masked
 *   end     INT32 [B]: keys from there on are masked
 *   start   INT32 [B]: keys before it are masked
 *   past    INT32 or UINT32 [B]: only keys before past + new_keys exist; causal: for query m before past + m + 1
 * out: Y [B, H, M, Dv] = softmax over n of (scale * Q K^T + mask, + filter where masked) x V; query head h uses head
 * h / (H / G) of K and V. Keys that do not exist are not read. If all scores are -infinity, the result is zero (unless
 * `undefined`). */
struct kern_attention {
    float scale, filter;
    uint32_t new_keys;
    bool has_mask, has_keep, has_end, has_start, has_past, causal;
    bool undefined; /* if all scores are -infinity, the result is NaN, as softmax defines */
};

/* in: X; out: values (X's type), positions in the line (UINT32, UINT64), of the same sizes: along `axis` the first K of
 * X's elements in order. Equal elements are ordered by position in both directions; NaN is greater than every number
 * and equal to NaN, -0 equals 0. */
struct kern_sort {
    uint32_t axis;
    bool descending;
};

/* in: X, [init, size 1 along the axis]; out: Y. Along `axis`, with + or *:
 * Y[i] = init + X[0] + ... + X[i], exclusive: without X[i]. total: Y has size 1 along the axis and is the whole sum.
 * Floating-point sums are accumulated in FLOAT64 (init and totals may be of that type); integers wrap. */
struct kern_scan {
    uint32_t axis;
    bool product, exclusive, total, has_init;
};

/* RANDOM. in: state, 6 UINT32 along the last dimension: 128-bit counter, lowest word first, and 64-bit key; out: Y
 * UINT32, [state]. Element 4 * g + j of Y, row-major, is word j of Philox 4x32-10 at counter + g. The second output is
 * the state with the counter after the last one used. */

enum kern_roi_mode { KERN_ROI_POOL, KERN_ROI_AVERAGE, KERN_ROI_MAX };

/* Regions of interest. in: corners [R, 4] (x1, y1, x2, y2), image of each region [R] (any number; a region of an image
 * that does not exist is all outside), X [N, C, H, W]; out: Y [R, C, h, w]: each region is split into h x w cells, and
 * the result of a cell is pool     the maximum of the whole pixels it covers, corners rounded; without any: `outside`
 *   average, max  of samples: per axis ceil(extent / cells), limited to `least` to `most`; sample s of all of an axis
 * is at (s - out_offset) * extent / (samples [- 1 with align_corners]) + corner * scale - in_offset and is inside from
 * -1 to the size, repeating the edge pixels; elsewhere it reads `outside`. resample/roi_ref.c has the exact rule. */
struct kern_roi {
    enum kern_roi_mode mode;
    bool linear, align_corners; /* not linear: nearest, halves up */
    float scale_x, scale_y, in_offset, out_offset, outside;
    uint32_t least, most;
};

/* in: corners, image of each region, gradient of Y, [X]; out: [gradient of X], [gradient of the corners]. Samples
 * outside contribute nothing; for a maximum only the first of the largest samples gets the gradient. */
struct kern_roi_grad {
    struct kern_roi roi;
    bool has_image, has_image_gradient, has_corner_gradient;
};

enum kern_sample_padding {
    KERN_SAMPLE_ZEROS,   /* pixels outside are 0 */
    KERN_SAMPLE_EDGE,    /* positions are limited to the image, */
    KERN_SAMPLE_REFLECT, /* after they are reflected at the centres of the first and last pixels, */
    KERN_SAMPLE_MIRROR,  /* or at their outer edges */
};

enum kern_sample_unit {
    KERN_SAMPLE_EDGES,   /* -1 and 1 are the outer edges of the first and the last pixel */
    KERN_SAMPLE_CENTRES, /* ... their centres */
    KERN_SAMPLE_PIXELS,  /* positions are in pixels */
};

/* SAMPLE. in: X [N, C, [D], H, W], positions [N, [d], h, w, 2 or 3] (x, y[, z]) of any floating-point type; out: Y [N,
 * C, [d], h, w]. resample/sample.h has the exact rule. */
struct kern_sample {
    bool linear; /* not: the nearest pixel, halves to even */
    enum kern_sample_padding padding;
    enum kern_sample_unit unit;
};

/* APPEND. in: X [B, H, L, D], lengths (INT32 or UINT32) [B]; out: Y [B, H, M, D] of X's type. Y[b, h, lengths[b] + l,
 * d] = X[b, h, l, d] (lengths below 0 count as 0); rows beyond Y are dropped, all other elements of Y do not change. No
 * parameters. */

struct kern_tuning; /* choice.h */

struct kern_op {
    enum kern_kind kind;
    uint32_t input_count, output_count;
    uint32_t flags;                             /* enum kern_flag */
    struct kern_view tensors[KERN_TENSORS_MAX]; /* inputs, then outputs */
    union {
        struct kern_map map;
        struct kern_reduce reduce;
        struct kern_gemm gemm;
        struct kern_qgemm qgemm;
        struct kern_conv conv;
        struct kern_inverted_residual inverted_residual;
        struct kern_pool pool;
        struct kern_pool pool_grad;
        struct kern_softmax softmax;
        struct kern_norm norm;
        struct kern_moments moments;
        struct kern_grad_sums grad_sums;
        struct kern_lp_norm lp_norm;
        struct kern_lrn lrn;
        struct kern_pad pad;
        struct kern_resample resample;
        struct kern_fold fold;
        struct kern_gather gather;
        struct kern_recurrent recurrent;
        struct kern_scatter scatter;
        struct kern_nonzero nonzero;
        struct kern_sequence sequence;
        struct kern_attention attention;
        struct kern_sort sort;
        struct kern_scan scan;
        struct kern_roi roi;
        struct kern_roi_grad roi_grad;
        struct kern_sample sample;
    } u;
    /* CONV, GEMM, QGEMM, NORM ... may end in an element-wise program: its register 0 is the kernel's result (FLOAT32),
     * registers 1.. are the inputs from epilogue_input on (e.g. the residual). NULL = none. */
    const struct kern_map *epilogue;
    uint32_t epilogue_input;
    uint32_t packed_input;            /* index + 1 of the input that row->pack prepares; 0 = none */
    const struct kern_tuning *tuning; /* for accepts() only; NULL: costs as fitted */
    uint8_t tile; /* on SPIR-V adapters: number of the kernel's tile, from 1 on; 0: selected by heuristics */
    uint16_t multiprocessors; /* on SPIR-V adapters: of the device; 0: not known */
    bool specialized;         /* likewise: small ops have pipelines of their own, too */
    uint16_t threads; /* on the host: threads that share the step, for kernels that partition by it; 0 means 1 */
    uint32_t cut;     /* the partition of plan(), so that run() need not recompute it; 0: the best for the threads */
};

enum kern_flag {
    KERN_FLAG_HALF_PRECISION = 1 << 0, /* GEMMs of 16-bit factors may round them to another 16-bit type */
    KERN_FLAG_REFERENCE = 1 << 1,      /* use portable kernels only (DISABLE_META_COMMANDS; tests) */
    KERN_FLAG_HALF_FLOAT32 = 1 << 3,   /* FLOAT32 factors may be rounded to 16 bits, too */
    KERN_FLAG_BYTES = 1 << 5, /* X of QGEMM, and states that recurrent bytes multiply, may be rounded to 8 bits */
};

#endif
