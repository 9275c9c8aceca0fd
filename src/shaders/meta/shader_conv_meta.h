/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels for convolutions by metacommands. */
#ifndef SHADERS_META_SHADER_CONV_META_H
#define SHADERS_META_SHADER_CONV_META_H

#include "shaders/conv/shader_conv.h"
#include "shaders/cuda/conv_pack_params.h"
#include "shaders/meta/shader_meta.h"

/* Of this number of images in one group: everything except for addresses, tiles, and the epilogue. */
struct conv_meta_params shader_conv_meta_parameters(const struct conv_params *conv, uint32_t images);

/* NULL, or the reason why the kernels cannot compute it. */
const char *shader_conv_meta_shape_unsupported(const struct conv_shape *s);

#define CONV_VECTOR 8 /* elements that are loaded at once */

/* What the kernels multiply: planes of a volume are images. If windows visit several of X, packed channels are those of
 * all planes of the window. */
struct conv_planes {
    struct conv_params conv;
    uint32_t images, groups;
    bool has_volume;       /* X is to be packed, since planes of X are not those of Y, one by one */
    uint32_t taps;         /* planes of a window */
    uint32_t depth;        /* planes of each of the op's images */
    bool packs_x, packs_w; /* a dispatch before puts their channels innermost */
    bool has_packed_w;     /* W was packed when the op was compiled */
};

static inline uint32_t shader_conv_tiles(uint64_t size, uint64_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

struct conv_meta_divisor shader_conv_divisor(uint32_t size);

/* false: planes of different images of Y have no common distance. */
bool shader_conv_planes(const struct kern_op *op, struct conv_planes *out);
/* The strides of a tensor that is as large as the result, or repeated, as META_PLACE_STRIDED has them; false: planes
 * have no common distance in it. */
bool shader_conv_strides(const struct kern_view *view, uint32_t depth, i32 *out);

/* Vectors of this many elements along dimension 1 start at multiples of their size. */
bool shader_conv_is_wide(const struct kern_view *view, int64_t vector);
/* Kernels can load vectors of X's channels and of W's elements in the order of sums. */
bool shader_conv_takes_wide(const struct kern_op *op, const struct conv_params *conv);

/* Makes it the convolution of packed tensors, as far as those of the op are no vectors; false: they would be too large.
 */
bool shader_conv_pack(const struct kern_op *op, struct conv_planes *planes);
/* Of W in its packed form. */
uint64_t shader_conv_filter_bytes(const struct conv_planes *planes);
/* Of planes that are packed: bytes of the scratch memory, of what the dispatch moves, and its workgroups. */
uint64_t shader_conv_pack_bytes(const struct conv_planes *planes);
uint64_t shader_conv_pack_moves(const struct conv_planes *planes);
uint32_t shader_conv_pack_groups(const struct conv_planes *planes);
/* original: before it was packed. */
void shader_conv_pack_write(const struct kern_op *op, const struct conv_planes *planes,
                            const struct conv_params *original, const struct shader_place *places,
                            struct conv_pack_params *out);
/* Where the kernels find X and W then. */
u64 shader_conv_pack_place(const struct kern_op *op, const struct conv_planes *planes, uint32_t tensor,
                           const struct shader_place *places);

/* Whether the kernel for the op reads W as panels. */
bool shader_conv_meta_has_panels(const struct kern_op *op);

#endif
