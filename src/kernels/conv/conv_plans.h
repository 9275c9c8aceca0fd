/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of the convolutions' kernels: partition of the work and offsets in scratch, computed from the op once for
 * each call, and data shared by packing and loops. */
#ifndef KERNELS_CONV_PLANS_H
#define KERNELS_CONV_PLANS_H

#include "kernels/conv/conv.h"
#include "kernels/row/window.h"

/* ---- pointwise ---- */

/* Pointwise convolutions: a GEMM of X [pixels, K] and W packed into panels [K][columns], in tiles of pixels by columns
 * that stay in registers. The epilogue is part of the tile. X and Y are NHWC, or small planes: X's pixels of a tile are
 * copied next to each other, and results for Y's planes are transposed in scratch, some tiles at a time. */

/* A tile: vectors of columns, and the maximum number of pixels. */
#define CONV_PW_VECS         2
#define CONV_PW_ROWS_avx512  14
#define CONV_PW_ROWS_avx2    6
#define CONV_PW_ROWS_neon    12
#define CONV_PW_LANES_avx512 16
#define CONV_PW_LANES_avx2   8
#define CONV_PW_LANES_neon   4

#define CONV_PW_ROWS_MAX  14
#define CONV_PW_LANES_MAX 16

/* The epilogue as steps on a tile in registers, tensors in `post` being added or multiplied, then perhaps a curve
 * (row/curve.h) on the tile's rows in memory. */
struct conv_pw_epilogue {
    struct kern_epilogue post;
    int64_t step[CONV_EPILOGUE_MAX]; /* of a tensor, from pixel to pixel */
    bool curved;
    struct kern_epilogue_step curve;
};

#define CONV_PW_TURNED             8                                          /* tiles that are transposed at once */
#define CONV_PW_PITCH(rows, lanes) (((rows) + (lanes)-1) / (lanes) * (lanes)) /* pixels of a copied tile */

struct conv_pw {
    struct conv_shape s;
    uint64_t pixels, image_tiles; /* of an image; NHWC: of all images, as if they were one */
    uint64_t tiles, blocks;       /* a block: tiles that use a panel before the next one, and stay in the cache */
    uint32_t k, columns, vecs, panels;
    bool x_planes, y_planes;
    int64_t x_step, y_step; /* from pixel to pixel */
    /* X's copy, the tiles of a block, and results before they are transposed: in the worker's scratch, in floats */
    uint64_t copy, turned, floats;
    struct conv_pw_epilogue epilogue;
};

/* false: not such a convolution. `rows` and `lanes`: of the instruction set. */
bool conv_pw_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_pw *out);

/* false if the epilogue is anything else; tensors are FLOAT32 of Y's rank, their `step` is not set. */
bool conv_tile_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out);
/* Likewise, without tensors. */
bool conv_tile_epilogue_alone(const struct kern_op *op, struct conv_pw_epilogue *out);
/* Likewise; tensors are pixels, or one for all. */
bool conv_pw_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out);

/* W [columns, k] as panels [k][width], zeros behind the last column. */
void conv_pw_panels(const float *w, const int64_t *strides, uint32_t columns, uint32_t k, uint32_t width, float *out);

/* The distance between pixels if they are NHWC and evenly spaced; conv_pw_pixels: of FLOAT32. */
bool conv_pixels(const struct kern_view *view, int64_t *out_step);
bool conv_pw_pixels(const struct kern_view *view, int64_t *out_step);

/* ---- depthwise ---- */

/* Depthwise convolution in NCHW with contiguous rows. A transposed one is one of stride 1 for each pair of remainders
 * of its results modulo the strides (phases), each with the taps that read elements there. With three dimensions, the
 * results of a plane are sums over the planes under the window, which are held in memory for the next planes. */

#define CONV_DW_STRIDE_MAX 16 /* of transposed ones */
#define CONV_DW_DEPTH_MAX  64 /* of windows */

/* A window's elements at one depth that multiply a plane of X. */
struct conv_dw_slice {
    const float *weights;
    int64_t slot; /* floats from slot 0 to that of the plane */
};

/* The distance of adjacent planes under a window. */
DENSE_INLINE int64_t conv_dw_apart(const struct conv_shape *s)
{
    int64_t a = s->dilation[0], b = s->transposed ? s->stride[0] : 1;
    while (b) { /* the greatest common divisor */
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return s->dilation[0] / a;
}

DENSE_INLINE void conv_dw_window(const struct kern_op *op, const struct conv_shape *s, struct window *w)
{
    const int64_t apart = conv_dw_apart(s);
    *w = (struct window){ .x_row = s->x[3], .type = op->tensors[0].type };
    w->slots = BASE_MIN(s->kernel[0], (s->in[0] + apart - 1) / apart);
    for (int d = 0; d < 2; d++) {
        w->in[d] = s->in[d + 1];
        w->out[d] = s->out[d + 1];
        w->kernel[d] = s->kernel[d + 1];
        w->stride[d] = s->stride[d + 1];
        w->dilation[d] = s->dilation[d + 1];
        w->pad[d] = s->pad[d + 1];
        if (!s->transposed)
            continue;
        const int64_t stride = s->stride[d + 1], reach = (w->kernel[d] - 1) * w->dilation[d];
        const int64_t before = BASE_MAX(reach - w->pad[d] + stride - 1, 0) / stride; /* elements before the first */
        w->out[d] = (w->out[d] + stride - 1) / stride;
        w->kernel[d] = before + (stride - 1 + w->pad[d]) / stride + 1;
        w->stride[d] = w->dilation[d] = 1;
        w->pad[d] = before;
    }
    window_plan_init(w);
}

/* Floats for a band of results of a transposed convolution, interleaved from those of the phases. */
DENSE_INLINE uint64_t conv_dw_up_floats(const struct conv_shape *s, const struct window *w)
{
    return s->transposed ? base_align_up((uint64_t)(w->rows * s->stride[1] * s->out[2]), WINDOW_STEP) : 0;
}

/* ---- depthwise, channels last ---- */

/* Depthwise convolution in NHWC or NDHWC, of 16 or 32 bits, also transposed: vectors of channels, some pixels of a row
 * at a time; for transposed ones, pixels with the same remainder modulo the stride, which have the same taps. Weights
 * are packed to [taps][channels], padded by a whole vector. Also groups of 2 or 4 channels of FLOAT32: every tap has
 * that number of rows of weights, the i-th of which is multiplied with the i-th channel of each group. */

#define CONV_DW_LAST_PIXELS 14 /* most of a tile */

struct conv_dw_last {
    struct conv_shape s;
    int64_t taps, pitch;             /* pitch: floats of a row of weights */
    bool post;                       /* results end in another program, run over each row */
    struct conv_pw_epilogue ends;    /* otherwise */
    DML_TENSOR_DATA_TYPE w_type, to; /* to: destination of tiles, a line of FLOAT32 if Y is not */
    bool through_line;
    /* offsets in the worker's scratch, in floats; weights: if they are not packed once */
    uint64_t weights, bias, zeros, list, parts, line, epilogue, floats;
};

/* From the elements of a tile's first pixel: bytes of X, floats of the weights. */
struct conv_dw_last_tap {
    int64_t x, w;
};

/* false: not such a convolution. */
bool conv_dw_last_init(const struct kern_op *op, struct conv_dw_last *out);
void conv_dw_last_pack(const struct conv_dw_last *d, const void *source, float *packed);

/* The column of X, inside or not, that tap k2 of pixel `at` reads; false: none. */
DENSE_INLINE bool conv_dw_last_column(const struct conv_shape *s, int64_t at, int64_t k2, int64_t *out)
{
    const int64_t reach = k2 * s->dilation[2];
    if (!s->transposed) {
        *out = at * s->stride[2] - s->pad[2] + reach;
        return true;
    }
    const int64_t from = at + s->pad[2] - reach;
    *out = from / s->stride[2];
    return from % s->stride[2] == 0;
}

/* Pixels [0], [1]) of the `count` of a phase starting at `first` whose taps are all inside. */
void conv_dw_last_inner(const struct conv_shape *s, int64_t first, int64_t count, int64_t *out);

/* ---- few input channels ---- */

/* Convolutions of few input channels: the first ones of networks on images, and small ones. Tiles of output pixels by
 * output channels stay in registers over all taps; the input is read from a padded copy of the rows that a band of
 * output rows needs. Weights are packed to [blocks of 16 output channels][taps][16], padded with zeros. */

#define CONV_SMALL_CIN_LANES 16 /* output channels of a block */

struct conv_small_cin {
    struct conv_shape s;
    int64_t taps, blocks;
    int64_t rows, bands;          /* output rows of a band; bands of an image */
    int64_t pitch, in_rows;       /* floats of one channel's row in the copy; rows there */
    bool direct;                  /* results are written to Y directly */
    bool post;                    /* they end in another program */
    struct conv_pw_epilogue ends; /* otherwise */
    /* offsets in the worker's scratch, in floats; weights: if they are not packed once */
    uint64_t image, bias, offsets, results, weights, epilogue, floats;
};

/* false: not such a convolution. */
bool conv_small_cin_init(const struct kern_op *op, struct conv_small_cin *out);
void conv_small_cin_pack(const struct conv_small_cin *f, const float *source, float *packed);

/* ---- few output channels ---- */

/* Convolutions with few output channels, stride 1. Vectors are of adjacent pixels: vectors of output channels would be
 * mostly empty. The work is split into bands of rows and columns, whose inputs are copied with their padding. */

#define CONV_SMALL_COUT_CHANNELS 4  /* most output channels */
#define CONV_SMALL_COUT_LANES    16 /* the widest vectors: bands do not depend on the instruction set */
#define CONV_SMALL_COUT_VECS     8  /* most vectors of pixels for each output channel */

struct conv_small_cout {
    struct conv_shape s;
    int64_t rows, columns;        /* outputs of a band; columns are whole vectors of the widest */
    int64_t bands[2];             /* of an image */
    int64_t in_rows, pitch;       /* its inputs: [channel][in_rows][pitch] */
    uint64_t weights, bias, sums; /* their start in worker scratch, floats; the inputs at 0 */
    uint64_t floats;
};

/* false when the op is not of this kind. */
bool conv_small_cout_init(const struct kern_op *op, struct conv_small_cout *out);

/* ---- channels last ---- */

/* Convolutions of any window as implicit GEMM in NHWC. Rows of a tile are adjacent pixels of an output line, columns
 * the output channels of a panel; each tap adds X's pixels, at a constant distance, times its part of the panel. For a
 * transposed convolution the pixels of a tile have the same remainder modulo the stride, and so the same taps. Inputs
 * with padding at the ends of lines, another layout or another type are converted to pixels first, band by band. */

enum conv_last_end {
    CONV_LAST_REGISTERS, /* results go from registers to Y */
    CONV_LAST_LINE,      /* they are converted or transposed; the epilogue reads nothing else */
    CONV_LAST_ROWS,      /* channel by channel */
};

struct conv_last {
    struct conv_shape s;
    bool copies;
    enum conv_last_end end;
    bool in_tile; /* the epilogue is applied to tiles */
    struct conv_pw_epilogue epilogue;
    int64_t phases;    /* remainders that the pixels of a line have */
    int64_t pixel;     /* floats from pixel to pixel of X, or of its copy */
    int64_t taps, run; /* contiguous elements of X that are multiplied with the same number of rows of a panel */
    int64_t width, panels, panel_floats; /* panels: of a group */
    int64_t size[3], bands[3];           /* output pixels of a band; bands of an image */
    int64_t most[3];                     /* input pixels that a band reads */
    int64_t step; /* from line to line of a band: by dilation, the taps of these lines share input lines */
    /* offsets in the worker's scratch, in floats */
    uint64_t image, list, bias, results, line, finish, floats;
};

/* Offsets of a tap's first elements in X or its copy and in the panel. */
struct conv_last_tap {
    int64_t a, b;
};

/* false: not such a convolution. */
bool conv_last_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_last *out);

/* Extents, taps and input channels of a group are small enough for their products not to overflow. */
bool conv_last_fits(const struct conv_shape *s);

/* Input positions along dimension d that `size` outputs from `low` on read, whether they are there or not. */
DENSE_INLINE void conv_last_range(const struct conv_shape *s, uint32_t d, int64_t low, int64_t size, int64_t *out_low,
                                  int64_t *out_size)
{
    const int64_t reach = (s->kernel[d] - 1) * s->dilation[d], step = s->stride[d];
    int64_t first = low * step - s->pad[d], last = (low + size - 1) * step - s->pad[d] + reach;
    if (s->transposed) {
        first = low + s->pad[d] - reach;
        last = low + size - 1 + s->pad[d];
        first = first >= 0 ? first / step : -((step - 1 - first) / step);
        last = last >= 0 ? last / step : -((step - 1 - last) / step);
    }
    *out_low = first;
    *out_size = last - first + 1;
}

/* ---- transposed, windows side by side ---- */

/* Transposed convolutions with disjoint windows: strides equal the kernel's sizes, without cropping. Each input pixel
 * makes kernel[1] x kernel[2] output pixels of its own, so this is one GEMM, whose results are written to their
 * positions from registers or the first-level cache. In NHWC, results of a kernel row for adjacent pixels are
 * consecutive in Y: tiles of conv_pw_tile.h. Otherwise vectors hold pixels, and the results of a kernel row's elements
 * are interleaved into output rows. */

#define CONV_UP_ROWS 4 /* results of a pixel that a tile holds */

struct conv_up {
    struct conv_shape s;
    bool last;           /* channels innermost in Y */
    bool copies;         /* X is brought into pixels or planes first */
    int64_t rows, bands; /* input rows of a band; bands of an image */
    int64_t pitch;       /* pixels of a band, whole vectors */
    /* Planes: output rows (of a channel, of a kernel row) computed at once, tiles of their results, number of such
     * groups. */
    int64_t lines, tiles, groups;
    int64_t width, panels; /* last: columns of a panel; panels of a kernel row */
    int64_t columns;       /* all results of a pixel, whole tiles or panels */
    struct conv_pw_epilogue tile_epilogue;
    /* offsets in the worker's scratch, in floats; weights: if they are not packed once */
    uint64_t image, bias, sums, line, weights, epilogue, floats;
};

/* false: not such a convolution. `lanes`: of a vector. */
bool conv_up_init(const struct kern_op *op, uint32_t lanes, struct conv_up *out);
void conv_up_pack(const struct kern_op *op, const struct conv_up *u, const void *source, float *packed);

/* Output channel, kernel row and kernel column of a result, as column `i` of the packed weights; false: none. */
bool conv_up_column(const struct conv_up *u, int64_t i, int64_t *out_place);

/* ---- Winograd ---- */

/* Winograd's convolutions, stride 1, also transposed ones: the output is split into tiles of outs x outs, each from
 * size x size inputs with size
 * * size multiplications for a pair of channels instead of (outs * taps)^2. Inputs, weights and products are
 * transformed to and from values of polynomials at `size` points: the last is infinity, the others 0 and pairs of
 * either sign. */

#define WINO_SIZE_MAX 8
#define WINO_OUTS     4

/* Pairs of points. Rounding errors depend on them: these were selected by a search over eighths and sixteenths. */
DENSE_INLINE double wino_point(uint32_t size, uint32_t pair)
{
    if (size == 6)
        return pair == 0 ? 0.6875 : 1.5;
    return pair == 0 ? 0.5 : pair == 1 ? 1.0 : 2.0;
}

/* The part computed by one call of the GEMM: rows (tiles) and vectors of output channels, by lanes of a vector. */
#define WINO_ROWS(lanes) ((lanes) == 16 ? 14 : 6)
#define WINO_VECS(lanes) ((lanes) == 4 ? 4 : 2)

/* The gradient of a 3x3 convolution's weights, with images and the result's gradient in NHWC: tiles of the latter are
 * the filters, and the sums over all tiles are computed at the points. */
struct wino_grad {
    struct conv_shape s; /* whose batch is X's channels, whose channels are images, whose filter is the gradient */
    uint32_t ins, outs, images; /* channels of X and of the gradient */
    uint32_t rows, columns, tiles;
    uint32_t panel, panels, cut;          /* output channels of a GEMM; of a run at once: that many panels */
    uint32_t depth;                       /* X's channels in whole vectors */
    uint32_t block;                       /* tiles at once */
    uint64_t in_step, out_step, sum_step; /* floats from one point to the next */
    uint64_t out, sum, patch;             /* their start in worker scratch, floats; transformed X at 0 */
    uint64_t floats;
};

struct wino {
    bool gradient; /* described by `g`; the other members are unset */
    struct wino_grad g;
    struct conv_shape s;
    struct kern_epilogue post;
    uint32_t size, points;         /* points = size * size */
    uint32_t rows, columns, tiles; /* tiles of an image; of all */
    uint32_t lanes, panel, panels; /* panel: output channels of a GEMM */
    uint32_t depth;                /* input channels in whole vectors */
    uint32_t block, blocks;        /* tiles at once */
    uint32_t cuts;                 /* parts of the panels: units of work are blocks * cuts */
    uint64_t in_step, out_step;    /* floats from one point to the next */
    uint64_t out, patch, bias;     /* their start in worker scratch, floats; transformed inputs at 0 */
    uint64_t floats;
};

/* Of the inputs that `tiles` neighbours have. */
DENSE_INLINE uint32_t wino_strip_columns(const struct wino *w, uint32_t tiles)
{
    return tiles * WINO_OUTS + w->size - WINO_OUTS;
}

/* false when the op is not of this kind. */
bool wino_init(const struct kern_op *op, uint32_t lanes, struct wino *out);
void wino_grad_avx512(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_grad_avx2(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_grad_neon(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_pack_avx512(const struct wino *w, const float *source, float *packed);
void wino_pack_avx2(const struct wino *w, const float *source, float *packed);
void wino_pack_neon(const struct wino *w, const float *source, float *packed);

/* ---- bands for threads ---- */

/* An image's lines are split into bands, each of which is one unit of work for each panel of output channels. Times are
 * approximate cycles. */
struct conv_cut {
    uint32_t threads, known; /* known: lines, from the plan, or 0 */
    int64_t lines, most;     /* of an image; maximum of a band, limited by memory */
    int64_t others;          /* partitions of the same image in other directions, images, groups */
    int64_t panels;
    int64_t width, tile;    /* pixels of a line; that a band's are rounded up to */
    double pixel, unit;     /* of a panel; overhead of each unit */
    double copied, overlap; /* of a line that a band copies for each of its own; additional lines that it copies */
};

/* Derived from the op and its bands of `size` output pixels; the caller adds the times. */
struct conv_cut conv_cut_of(const struct kern_op *op, const struct conv_shape *s, const int64_t *size, uint32_t panels);
/* The number of lines of a band that minimises the time of all threads; `most` for one thread. */
int64_t conv_cut_lines(const struct conv_cut *cut);

/* ---- bytes ---- */

/* 8-bit NHWC convolutions with 8-bit results: each sum times a scale [by a divisor], rounded, plus a zero point and
 * clamped, all in registers. Weights are INT8 without zero points and packed once; one instruction multiplies packs of
 * four bytes. Sums are initialised with the terms of zero points and biases. */

#define CONV_BYTES_PACK  4  /* bytes that one instruction adds up */
#define CONV_BYTES_LANES 16 /* sums of a vector */
#define CONV_BYTES_WIDTH 64 /* results of a vector of bytes */

/* A tile of the pointwise one: maximum vectors of channels. */
#define CONV_PW_BYTES_VECS 4
#define CONV_PW_BYTES_ROWS 14 /* at most */

#define CONV_DW_BYTES_WINDOW 8 /* the largest */

struct conv_bytes {
    struct conv_shape s;
    struct kern_requantize how;
    int64_t scale_step;
    uint8_t flip;                  /* changes X's signs, so that it is unsigned */
    uint32_t block, block_columns; /* output channels per set of columns; 0: all */
    uint32_t columns;              /* output channels in whole vectors */
};

struct conv_pw_bytes {
    struct conv_bytes c;
    uint64_t pixels, blocks;
    uint32_t block; /* pixels that are multiplied with all weights before the next ones */
    uint32_t k, vecs, panels;
    int64_t x_step, y_step;
    uint64_t tile_scratch; /* of a tile's X and Y in the worker's scratch for incomplete tiles */
};

/* The channels of a block in the order in which interleaving puts four bytes of four vectors: conv_dw_bytes_channel. */
struct conv_dw_bytes {
    struct conv_bytes c;
    uint32_t packs, blocks; /* of four taps; of 64 channels */
    uint64_t line, lines;   /* bytes of a padded row; start of rows in the worker's scratch */
    uint64_t scratch;
};

/* Any window: tiles of pixels of a band by channels of a panel. X is converted to pixels of whole packs first,
 * including padding, so that every pixel has all taps at constant distances from its first element. Several groups that
 * are smaller than a vector are one GEMM with zeros as the other weights. */
struct conv_last_bytes {
    struct conv_bytes c;
    int64_t element;                           /* bytes of one: words where no instruction multiplies bytes exactly */
    int64_t blocks, in, out;                   /* adjacent groups that are one GEMM; channels of a block */
    int64_t pixel;                             /* bytes of one in the copy */
    int64_t taps, run;                         /* contiguous runs of bytes, and their length */
    uint32_t vecs, panels;                     /* of output channels of a block */
    uint64_t panel_bytes;                      /* for each vector of channels */
    int64_t size[3], bands[3];                 /* output pixels of a band; bands of an image */
    int64_t most[3];                           /* input pixels that a band reads */
    int64_t pixels;                            /* of a band */
    uint64_t image, list, x_at, y_at, scratch; /* offsets in the worker's scratch, after the parameters */
};

/* 3 x 3 windows in NHWC by Winograd's algorithm in 16 bits, which is exact: tiles of 2 x 2 results from 4 x 4 inputs,
 * with 16 multiplications for a pair of channels instead of 36. The transformed weights are multiplied by 4, the
 * results' sums divided by it. Blocks of tiles are transformed, multiplied by panels of weights, and transformed back.
 */
#define CONV_WINO_WORDS_POINTS 16

struct conv_wino_words {
    struct conv_bytes c;
    uint32_t rows, columns, tiles; /* of an image; of all images */
    uint32_t block, blocks;        /* tiles of a block */
    uint32_t vecs;                 /* panels of CONV_BYTES_LANES output channels */
    uint32_t cuts;                 /* parts of the panels that are units of work: all of them, or 1 */
    uint64_t panel_bytes;
    uint64_t in_step, sum_step;          /* bytes from point to point of transformed inputs and of sums */
    uint64_t in, sums, outside, scratch; /* offsets in the worker's scratch, after start and scale */
};

/* ---- by tiles of AMX ---- */

/* Convolutions of any window whose rows of A (gemm/amx.h) are pixels at a constant distance: X's own without padding
 * and strides, or a copy of the lines that a band of output pixels needs. In the copy, rows are input pixels, as many
 * along a line as the band's input has, so that few sums at the ends of lines belong to no output; or, if that saves
 * packs or pixels are skipped, all taps of a line for an output pixel (`windows`). Lines that a stride skips are stored
 * apart from those that it does not. The weights are packed for 32 channels at a time. */

#define CONV_TILES_COLUMNS 32
#define CONV_TILES_SUMS    (36 * CONV_TILES_COLUMNS * 4) /* bytes: 32 rows, and the bytes read after them */

struct conv_tiles {
    struct conv_shape s;
    struct conv_bytes c;        /* bytes to bytes; else BFLOAT16 factors */
    struct kern_epilogue steps; /* BFLOAT16 */
    bool direct, windows;       /* X is read in place */
    int64_t element, entry;     /* bytes of a number; from row to row of A */
    int64_t taps, run;          /* runs of bytes of a row, and their length */
    uint32_t panels;            /* of output channels */
    uint32_t together;          /* panels by which some rows are multiplied in sequence */
    uint32_t units;             /* of a band, each of that number of panels */
    uint64_t panel_bytes;
    int64_t size[3], bands[3];                 /* output pixels of a band; bands of an image */
    uint64_t image, line, list, sums, scratch; /* offsets in the worker's scratch, after start and scale */
};

/* false: not such a convolution. `element`: 1 or 2. */
bool conv_tiles_init(const struct kern_op *op, int64_t element, struct conv_tiles *out);

/* Rows of A for output lines of `size` pixels. */
DENSE_INLINE int64_t conv_tiles_line(const struct conv_tiles *p, int64_t size)
{
    return p->direct || p->windows ? size : size + (p->s.kernel[2] - 1) * p->s.dilation[2];
}

/* Lines of the copy for this many output lines: steps of the stride times the lines between them. */
DENSE_INLINE int64_t conv_tiles_lines(const struct conv_tiles *p, int64_t size)
{
    const struct conv_shape *s = &p->s;
    const int64_t lines = (size - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
    return (lines + s->stride[1] - 1) / s->stride[1];
}

bool conv_bytes_init(const struct kern_op *op, struct conv_bytes *c);
bool conv_last_bytes_init(const struct kern_op *op, struct conv_last_bytes *out);
bool conv_last_words_init(const struct kern_op *op, struct conv_last_bytes *out);
bool conv_wino_words_init(const struct kern_op *op, struct conv_wino_words *out);
bool conv_pw_bytes_init(const struct kern_op *op, struct conv_pw_bytes *out);
bool conv_dw_bytes_init(const struct kern_op *op, struct conv_dw_bytes *out);
/* The same for pairs of taps in 16 bits: sixteen channels after another, in their order. */
bool conv_dw_words_init(const struct kern_op *op, struct conv_dw_bytes *out);

/* Of the packed weights, which their sums follow. */
DENSE_INLINE uint64_t conv_dw_words_bytes(const struct conv_dw_bytes *p)
{
    return (uint64_t)p->c.columns * (uint64_t)((p->c.s.kernel[1] * p->c.s.kernel[2] + 1) / 2) * CONV_BYTES_PACK;
}

DENSE_INLINE uint32_t conv_dw_bytes_channel(uint32_t place)
{
    uint32_t lane = place % 16;
    return place / 64 * 64 + lane / 4 * 16 + place % 64 / 16 * 4 + lane % 4;
}

/* Initial values of sums, and scales; returns the largest magnitude of a scale, NaN if one is. sums: of the weights, as
 * packed; `interleaved`: in the order of conv_dw_bytes_channel. */
float conv_bytes_parameters(const struct kern_call *call, const struct conv_bytes *c, const int32_t *sums,
                            bool interleaved, int32_t *start, float *scale);

/* ---- inverted residuals ---- */

/* Pointwise, depthwise and pointwise convolution in one (KERN_INVERTED_RESIDUAL), in NHWC. The expanded tensors are
 * never stored whole: a worker processes bands of output rows, and in a band panel by panel of the middle channels. Of
 * a panel only the expanded rows under one window are kept, including padding, in a ring buffer in the first-level
 * cache; rings continue from band to band, so no row is expanded twice. The depthwise results of the band are in the
 * second-level cache, where the last GEMM reads them. The first convolution may also be one of few input channels with
 * a window (struct conv_small_cin), as at the start of networks. */

struct inverted_residual {
    uint32_t batch, c, h, w, m, o, oh, ow; /* h, w: of the expanded image */
    uint32_t depth;                        /* weights for one expanded element */
    bool wide;                             /* the first convolution has windows: */
    struct conv_small_cin few;
    uint64_t image, offsets, floats; /* the copy of X under a window and few.offsets in worker scratch; all of it */
    const struct kern_inverted_residual *p;
    int64_t x_step, y_step; /* from pixel to pixel */
    uint32_t middle, out;   /* m and o in whole panels */
    uint32_t line;          /* pixels of an expanded row, including padding */
    uint32_t pitch;         /* floats from result to result of a pixel */
    uint32_t band;          /* output rows whose depthwise results are stored at once */
    uint32_t taps;
    uint64_t b1, wd, w2, b2, packed; /* offsets among packed parameters, and their number */
    uint64_t held;                   /* floats of all rings: [panels][rows of a window][line][panel] */
    struct conv_pw_epilogue epilogue;
};

/* false: inconsistent shapes, or an op that the fast kernels do not accept. `lanes`: of a vector. */
bool residual_init(const struct kern_op *op, uint32_t lanes, struct inverted_residual *out);

/* Sizes agree, and the number of parameters is correct. */
bool residual_shape(const struct kern_op *op, struct inverted_residual *out);

#endif
