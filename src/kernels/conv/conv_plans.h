/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of the convolutions' kernels: how each cuts its work and where things lie in scratch, computed from the op
 * once for each call, with what its packing and its loops share. */
#ifndef KERNELS_CONV_PLANS_H
#define KERNELS_CONV_PLANS_H

#include "kernels/conv/conv.h"
#include "kernels/core/window.h"

/* ---- pointwise ---- */

/* Pointwise convolutions on pixels whose channels lie together (nhwc): a product of X [pixels, K] and W packed into
 * panels [K][columns], in tiles of pixels by columns that stay in registers. The epilogue is part of the tile. */

/* A tile: vectors of columns, and at most so many pixels. */
#define CONV_PW_VECS         2
#define CONV_PW_ROWS_avx512  14
#define CONV_PW_ROWS_avx2    6
#define CONV_PW_ROWS_neon    12
#define CONV_PW_LANES_avx512 16
#define CONV_PW_LANES_avx2   8
#define CONV_PW_LANES_neon   4

#define CONV_PW_ROWS_MAX  14
#define CONV_PW_LANES_MAX 16

/* The epilogue as steps on a tile. */
struct conv_pw_epilogue {
    struct kern_epilogue post;
    int64_t step[CONV_EPILOGUE_MAX]; /* of a tensor that is added, from pixel to pixel */
};

struct conv_pw {
    struct conv_shape s;
    uint64_t pixels, tiles, blocks; /* a block: tiles that use a panel before the next one comes, and stay in cache */
    uint32_t k, columns, vecs, panels;
    int64_t x_step, y_step;
    struct conv_pw_epilogue epilogue;
};

/* false: not such a convolution. `rows` and `lanes`: of the instruction set. */
bool conv_pw_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_pw *out);

/* false when the epilogue is anything else. */
bool conv_pw_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out);

/* W [columns, k] as panels [k][width], zeros behind the last column. */
void conv_pw_panels(const float *w, const int64_t *strides, uint32_t columns, uint32_t k, uint32_t width, float *out);

/* The distance between pixels when channels lie together and pixels are evenly spaced; conv_pw_pixels: of FLOAT32. */
bool conv_pixels(const struct kern_view *view, int64_t *out_step);
bool conv_pw_pixels(const struct kern_view *view, int64_t *out_step);

/* ---- depthwise ---- */

/* Depthwise convolution on rows that are contiguous in memory (nchw). A transposed one is one of stride 1 for each pair
 * of remainders that its results have by the strides (phases), each with the taps that fall on elements there. */

#define CONV_DW_STRIDE_MAX 16 /* of transposed ones */

DENSE_INLINE void conv_dw_window(const struct kern_op *op, const struct conv_shape *s, struct window *w)
{
    *w = (struct window){ .x_row = s->x[3], .type = op->tensors[0].type };
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

/* Floats for a band of a transposed one's results, put together from those of the phases. */
DENSE_INLINE uint64_t conv_dw_up_floats(const struct conv_shape *s, const struct window *w)
{
    return s->transposed ? base_align_up((uint64_t)(w->rows * s->stride[1] * s->out[2]), WINDOW_STEP) : 0;
}

/* ---- depthwise, channels last ---- */

/* Depthwise convolution with the channels of a pixel together (nhwc), of 16 or 32 bits, also transposed: vectors of
 * channels, some pixels of a row at a time; of a transposed one those that have the same remainder by the stride, and
 * so the same taps. Weights are packed to [taps][channels], with room for a whole vector behind the last. */

#define CONV_DW_LAST_PIXELS 14 /* most of a tile */

struct conv_dw_last {
    struct conv_shape s;
    int64_t taps, pitch; /* pitch: floats of one tap's weights */
    bool post;           /* results end in another program than bounds, run over each row */
    struct kern_bounds bounds;
    DML_TENSOR_DATA_TYPE w_type, to; /* to: what tiles store */
    /* places in the worker's scratch, in floats; weights: when they are not packed once */
    uint64_t weights, bias, zeros, list, parts, line, epilogue, floats;
};

/* From the elements of a tile's first pixel: bytes of X, floats of the weights. */
struct conv_dw_last_tap {
    int64_t x, w;
};

/* false: not such a convolution. */
bool conv_dw_last_init(const struct kern_op *op, struct conv_dw_last *out);
void conv_dw_last_pack(const struct conv_dw_last *d, const void *source, float *packed);

/* The column of X, inside or not, that tap k2 of pixel `at` lies on; false: on none. */
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

/* Pixels [0], [1]) of the `count` of a phase whose first one is `first` that have all of its taps inside. */
void conv_dw_last_inner(const struct conv_shape *s, int64_t first, int64_t count, int64_t *out);

/* ---- few input channels ---- */

/* Convolutions of few input channels: the first ones of networks on images, and small ones. Tiles of output pixels by
 * output channels stay in registers while all taps pass by; the input comes from a padded copy of the rows that a band
 * of output rows needs. Weights are packed to [blocks of 16 output channels][taps][16], zeros where there are none. */

#define CONV_SMALL_CIN_LANES 16 /* output channels of a block */

struct conv_small_cin {
    struct conv_shape s;
    int64_t taps, blocks;
    int64_t rows, bands;    /* output rows of a band; bands of an image */
    int64_t pitch, in_rows; /* floats of one channel's row in the copy; rows there */
    bool direct;            /* results go to Y at once */
    bool post;              /* they end in another program than bounds */
    struct kern_bounds bounds;
    /* places in the worker's scratch, in floats; weights: when they are not packed once */
    uint64_t image, bias, offsets, results, weights, epilogue, floats;
};

/* false: not such a convolution. */
bool conv_small_cin_init(const struct kern_op *op, struct conv_small_cin *out);
void conv_small_cin_pack(const struct conv_small_cin *f, const float *source, float *packed);

/* ---- few output channels ---- */

/* Convolutions with few output channels, stride 1. Vectors are of neighbouring pixels: those of output channels would
 * be mostly empty. The work is cut in bands of rows and columns, whose inputs are copied with their padding. */

#define CONV_SMALL_COUT_CHANNELS 4  /* most output channels */
#define CONV_SMALL_COUT_LANES    16 /* the widest vectors: bands do not depend on the instruction set */
#define CONV_SMALL_COUT_VECS     8  /* most vectors of pixels for each output channel */

struct conv_small_cout {
    struct conv_shape s;
    int64_t rows, columns;        /* outputs of a band; columns are whole vectors of the widest */
    int64_t bands[2];             /* of an image */
    int64_t in_rows, pitch;       /* its inputs: [channel][in_rows][pitch] */
    uint64_t weights, bias, sums; /* where these start in worker scratch, floats; the inputs at 0 */
    uint64_t floats;
};

/* false when the op is not of this kind. */
bool conv_small_cout_init(const struct kern_op *op, struct conv_small_cout *out);

/* ---- channels last ---- */

/* Convolutions of any window as products without a matrix of windows (implicit GEMM). Rows of a tile are neighbouring
 * pixels of an output line, columns the output channels of a panel; each tap adds X's pixels, the same distance apart,
 * times its part of the panel. Of a transposed convolution the pixels of a tile have the same remainder by the stride:
 * they have the same taps. What has padding at the ends of lines, channels that lie apart or another type is brought
 * into pixels first, band by band. */

enum conv_last_end {
    CONV_LAST_REGISTERS, /* results go from registers to Y */
    CONV_LAST_LINE,      /* the epilogue reads nothing else: it runs over a line of a panel's results */
    CONV_LAST_ROWS,      /* channel by channel */
};

struct conv_last {
    struct conv_shape s;
    bool copies;
    enum conv_last_end end;
    struct conv_pw_epilogue epilogue;    /* in registers */
    int64_t phases;                      /* remainders that the pixels of a line have */
    int64_t pixel;                       /* floats from pixel to pixel of X, or of its copy */
    int64_t taps, run;                   /* elements of X that lie together and meet as many rows of a panel */
    int64_t width, panels, panel_floats; /* panels: of a group */
    int64_t size[3], bands[3];           /* output pixels of a band; bands of an image */
    int64_t most[3];                     /* input pixels that a band reads */
    /* places in the worker's scratch, in floats */
    uint64_t image, list, bias, results, line, finish, floats;
};

/* Offsets of a tap's first elements in X or its copy and in the panel. */
struct conv_last_tap {
    int64_t a, b;
};

/* false: not such a convolution. */
bool conv_last_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_last *out);
void conv_last_pack(const struct kern_op *op, const struct conv_last *p, const void *source, float *packed);

/* Extents, taps and input channels of a group are so few that products of them fit. */
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

/* Transposed convolutions whose windows lie side by side: strides equal the kernel's sizes, nothing is cut. Each input
 * pixel makes kernel[1] x kernel[2] output pixels of its own, so that this is one product, whose results are put in
 * place as they leave the registers or the first-level cache. Where channels lie innermost, results of a kernel row for
 * neighbouring pixels follow one another in Y: tiles of conv_pw_tile.h. Elsewhere vectors hold pixels, and the results
 * of a kernel row's elements are interleaved into output rows. */

#define CONV_UP_ROWS 4 /* results of a pixel that a tile holds */

struct conv_up {
    struct conv_shape s;
    bool last;           /* channels innermost in Y */
    bool copies;         /* X is brought into pixels or planes first */
    int64_t rows, bands; /* input rows of a band; bands of an image */
    int64_t pitch;       /* pixels of a band, whole vectors */
    /* Planes: output rows (of a channel, of a kernel row) made at once, tiles of their results, such groups. */
    int64_t lines, tiles, groups;
    int64_t width, panels; /* last: columns of a panel; panels of a kernel row */
    int64_t columns;       /* all results of a pixel, whole tiles or panels */
    struct conv_pw_epilogue tile_epilogue;
    /* places in the worker's scratch, in floats; weights: when they are not packed once */
    uint64_t image, bias, sums, line, weights, epilogue, floats;
};

/* false: not such a convolution. `lanes`: of a vector. */
bool conv_up_init(const struct kern_op *op, uint32_t lanes, struct conv_up *out);
void conv_up_pack(const struct kern_op *op, const struct conv_up *u, const void *source, float *packed);

/* Output channel, kernel row and kernel column of a result, as column `i` of the packed weights; false: of none. */
bool conv_up_column(const struct conv_up *u, int64_t i, int64_t *out_place);

/* ---- Winograd ---- */

/* Winograd's convolutions, stride 1, also transposed ones: the output is cut in tiles of outs x outs, each from size x
 * size inputs with size
 * * size multiplications for a pair of channels instead of (outs * taps)^2. Inputs, weights and products are taken to
 * and from values of polynomials at `size` points: the last is infinity, the others 0 and pairs of either sign. */

#define WINO_SIZE_MAX 8
#define WINO_OUTS     4

/* Pairs of points. Rounding errors depend on them: these were searched for among eighths and sixteenths. */
DENSE_INLINE double wino_point(uint32_t size, uint32_t pair)
{
    if (size == 6)
        return pair == 0 ? 0.6875 : 1.5;
    return pair == 0 ? 0.5 : pair == 1 ? 1.0 : 2.0;
}

/* What one call of the product computes: rows (tiles) and vectors of output channels, by lanes of a vector. */
#define WINO_ROWS(lanes) ((lanes) == 16 ? 14 : 6)
#define WINO_VECS(lanes) ((lanes) == 4 ? 4 : 2)

/* The gradient of a 3x3 convolution's weights, with the channels of images and of the result's gradient innermost:
 * tiles of the latter are the filters, and the sums over all tiles are made at the points. */
struct wino_grad {
    struct conv_shape s; /* whose batch are X's channels, whose channels are images, whose filter is the gradient */
    uint32_t ins, outs, images; /* channels of X and of the gradient */
    uint32_t rows, columns, tiles;
    uint32_t panel, panels, cut;          /* output channels of a product; of a run at once: that many panels */
    uint32_t depth;                       /* X's channels in whole vectors */
    uint32_t block;                       /* tiles at once */
    uint64_t in_step, out_step, sum_step; /* floats from one point to the next */
    uint64_t out, sum, patch;             /* where these start in worker scratch, floats; transformed X at 0 */
    uint64_t floats;
};

struct wino {
    bool gradient; /* which `g` describes, and nothing else is set */
    struct wino_grad g;
    struct conv_shape s;
    struct kern_epilogue post;
    uint32_t size, points;         /* points = size * size */
    uint32_t rows, columns, tiles; /* tiles of an image; of all */
    uint32_t lanes, panel, panels; /* panel: output channels of a product */
    uint32_t depth;                /* input channels in whole vectors */
    uint32_t block, blocks;        /* tiles at once */
    uint32_t cuts;                 /* parts of the panels: units of work are blocks * cuts */
    uint64_t in_step, out_step;    /* floats from one point to the next */
    uint64_t out, patch, bias;     /* where these start in worker scratch, floats; transformed inputs at 0 */
    uint64_t floats;
};

/* Of the inputs that `tiles` neighbours have. */
DENSE_INLINE uint32_t wino_strip_columns(const struct wino *w, uint32_t tiles)
{
    return tiles * WINO_OUTS + w->size - WINO_OUTS;
}

/* false when the op is not of this kind. */
bool wino_init(const struct kern_op *op, uint32_t lanes, struct wino *out);
bool wino_grad_init(const struct kern_op *op, uint32_t lanes, struct wino_grad *out);
void wino_grad_avx512(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_grad_avx2(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_grad_neon(const struct kern_call *call, const struct wino_grad *g, uint64_t begin, uint64_t end);
void wino_pack_avx512(const struct wino *w, const float *source, float *packed);
void wino_pack_avx2(const struct wino *w, const float *source, float *packed);
void wino_pack_neon(const struct wino *w, const float *source, float *packed);

/* ---- bands for threads ---- */

/* An image's lines are cut in bands, each of which is one unit of work for each panel of output channels. Times are
 * cycles, about. */
struct conv_cut {
    uint32_t threads, known; /* known: lines, from the plan, or 0 */
    int64_t lines, most;     /* of an image; of a band, which memory allows */
    int64_t others;          /* cuts of the same image in other directions, images, groups */
    int64_t panels;
    int64_t width, tile;    /* pixels of a line; that a band's are rounded up to */
    double pixel, unit;     /* of a panel; what each unit adds */
    double copied, overlap; /* of a line that a band copies for each of its own; lines that it copies beside */
};

/* What follows of the op and its bands of `size` output pixels; the caller adds the times. */
struct conv_cut conv_cut_of(const struct kern_op *op, const struct conv_shape *s, const int64_t *size, uint32_t panels);
/* Lines of a band with which the threads are done soonest; `most` for one thread. */
int64_t conv_cut_lines(const struct conv_cut *cut);

/* ---- bytes ---- */

/* Convolutions of bytes to bytes on pixels whose channels lie together: each sum times a scale [by a divisor], rounded,
 * plus a zero point and clamped, all in registers. Weights are INT8 without zero points and packed once, one
 * instruction multiplies packs of four bytes. Sums start with what zero points and biases add to them. */

#define CONV_BYTES_PACK  4  /* bytes that one instruction adds up */
#define CONV_BYTES_LANES 16 /* sums of a vector */
#define CONV_BYTES_WIDTH 64 /* results of a vector of bytes */

/* A tile of the pointwise one: at most so many vectors of channels. */
#define CONV_PW_BYTES_VECS 4
#define CONV_PW_BYTES_ROWS 14 /* at most */

#define CONV_DW_BYTES_WINDOW 8 /* the largest */

struct conv_bytes {
    struct conv_shape s;
    struct kern_requantize how;
    int64_t scale_step;
    uint8_t flip;                  /* changes X's signs, so that it is unsigned */
    uint32_t block, block_columns; /* output channels that columns of their own follow; 0: all */
    uint32_t columns;              /* output channels in whole vectors */
};

struct conv_pw_bytes {
    struct conv_bytes c;
    uint64_t pixels, blocks;
    uint32_t block; /* pixels that meet all weights before others come */
    uint32_t k, vecs, panels;
    int64_t x_step, y_step;
    uint64_t tile_scratch; /* where a tile's X and Y are in the worker's scratch when it is not full */
};

/* The channels of a block are where four bytes of four vectors get when they are interleaved: conv_dw_bytes_channel. */
struct conv_dw_bytes {
    struct conv_bytes c;
    uint32_t packs, blocks; /* of four taps; of 64 channels */
    uint64_t line, lines;   /* bytes of a padded row; where rows begin in the worker's scratch */
    uint64_t scratch;
};

/* Any window: tiles of pixels of a band by channels of a panel. X is brought into pixels of whole packs first, padding
 * included, so that every pixel has all taps, each the same distance from its first element. Of groups that are smaller
 * than a vector several are one product, whose other weights are zeros. */
struct conv_last_bytes {
    struct conv_bytes c;
    int64_t blocks, in, out;                   /* neighbouring groups that are one product; channels of a block */
    int64_t pixel;                             /* bytes of one in the copy */
    int64_t taps, run;                         /* runs of bytes that lie together, and their length */
    uint32_t vecs, panels;                     /* of output channels of a block */
    uint64_t panel_bytes;                      /* for each vector of channels */
    int64_t size[3], bands[3];                 /* output pixels of a band; bands of an image */
    int64_t most[3];                           /* input pixels that a band reads */
    int64_t pixels;                            /* of a band */
    uint64_t image, list, x_at, y_at, scratch; /* places in the worker's scratch, behind the parameters */
};

/* ---- by tiles of AMX ---- */

/* Convolutions of any window whose rows of A (gemm/amx.h) are pixels the same distance apart: X's own where it has no
 * padding and steps, or a copy of the lines that a band of output pixels needs. In the copy, rows are input pixels,
 * which along a line are as many as the band's input has, so that few sums at the ends of lines belong to no output;
 * or, where that saves packs or pixels are skipped, all taps of a line for an output pixel (`windows`). Lines that a
 * step skips lie apart from those that it does not. The weights are packed for 32 channels at a time. */

#define CONV_TILES_COLUMNS 32
#define CONV_TILES_SUMS    (36 * CONV_TILES_COLUMNS * 4) /* bytes: 32 rows, and what is read behind them */

struct conv_tiles {
    struct conv_shape s;
    struct conv_bytes c;        /* bytes to bytes; else BFLOAT16 factors */
    struct kern_epilogue steps; /* BFLOAT16 */
    bool direct, windows;       /* X is read where it lies */
    int64_t element, entry;     /* bytes of a number; from row to row of A */
    int64_t taps, run;          /* runs of bytes of a row, and their length */
    uint32_t panels;            /* of output channels */
    uint32_t together, units;   /* panels that some rows meet one after the other; such units of a band */
    uint64_t panel_bytes;
    int64_t size[3], bands[3];                 /* output pixels of a band; bands of an image */
    uint64_t image, line, list, sums, scratch; /* places in the worker's scratch, behind start and scale */
};

/* false: not such a convolution. `element`: 1 or 2. */
bool conv_tiles_init(const struct kern_op *op, int64_t element, struct conv_tiles *out);

/* Rows of A for output lines of `size` pixels. */
DENSE_INLINE int64_t conv_tiles_line(const struct conv_tiles *p, int64_t size)
{
    return p->direct || p->windows ? size : size + (p->s.kernel[2] - 1) * p->s.dilation[2];
}

/* Lines of the copy for so many output lines: steps of the stride, times what lies between two of a step. */
DENSE_INLINE int64_t conv_tiles_lines(const struct conv_tiles *p, int64_t size)
{
    const struct conv_shape *s = &p->s;
    const int64_t lines = (size - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
    return (lines + s->stride[1] - 1) / s->stride[1];
}

bool conv_bytes_init(const struct kern_op *op, struct conv_bytes *c);
bool conv_last_bytes_init(const struct kern_op *op, struct conv_last_bytes *out);
bool conv_pw_bytes_init(const struct kern_op *op, struct conv_pw_bytes *out);
bool conv_dw_bytes_init(const struct kern_op *op, struct conv_dw_bytes *out);

DENSE_INLINE uint32_t conv_dw_bytes_channel(uint32_t place)
{
    uint32_t lane = place % 16;
    return place / 64 * 64 + lane / 4 * 16 + place % 64 / 16 * 4 + lane % 4;
}

/* Where sums start, and scales; returns the largest size of a scale, NaN if one is. sums: of the weights, as packed;
 * `interleaved`: in the order of conv_dw_bytes_channel. */
float conv_bytes_parameters(const struct kern_call *call, const struct conv_bytes *c, const int32_t *sums,
                            bool interleaved, int32_t *start, float *scale);

/* ---- inverted residuals ---- */

/* Pointwise, depthwise and pointwise convolution in one (KERN_INVERTED_RESIDUAL), on pixels whose channels lie
 * together. The wide tensors between are never whole in memory: a worker takes bands of output rows, and in a band
 * panel by panel of the middle channels. Of a panel only the expanded rows under one window are held, padding included,
 * in a ring that stays in the first-level cache; rings go on from band to band, so no row is expanded twice. The
 * depthwise results of the band lie in the second-level cache, where the last product reads them. The first
 * convolution may also be one of few input channels with a window (struct conv_small_cin), as networks begin. */

struct inverted_residual {
    uint32_t batch, c, h, w, m, o, oh, ow; /* h, w: of the expanded image */
    uint32_t depth;                        /* weights that make an expanded element */
    bool wide;                             /* the first convolution has windows: */
    struct conv_small_cin few;
    uint64_t image, offsets, floats; /* the copy of X under a window and few.offsets in worker scratch; all of it */
    const struct kern_inverted_residual *p;
    int64_t x_step, y_step; /* from pixel to pixel */
    uint32_t middle, out;   /* m and o in whole panels */
    uint32_t line;          /* pixels of an expanded row, padding included */
    uint32_t pitch;         /* floats from result to result of a pixel */
    uint32_t band;          /* output rows whose depthwise results are held at once */
    uint32_t taps;
    uint64_t b1, wd, w2, b2, packed; /* offsets among packed parameters, and their number */
    uint64_t held;                   /* floats of all rings: [panels][rows of a window][line][panel] */
    struct conv_pw_epilogue epilogue;
};

/* false: shapes that do not fit together, or an op that the fast rows do not take. `lanes`: of a vector. */
bool residual_init(const struct kern_op *op, uint32_t lanes, struct inverted_residual *out);

/* Sizes agree, and the parameters are as many as they must be. */
bool residual_shape(const struct kern_op *op, struct inverted_residual *out);

#endif
