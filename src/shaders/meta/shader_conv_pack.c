/* SPDX-License-Identifier: Apache-2.0 */
/* What the metacommands of conv_meta multiply: images of planes, and where X or W are no vectors of channels, copies
 * that are (conv_pack.cu). */
#include "shaders/meta/shader_conv_meta.h"

#include "base/parallel.h"

#define ALIGN 256

bool shader_conv_is_wide(const struct kern_view *view, int64_t vector)
{
    if (view->offset % vector)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != 1 && view->sizes[d] > 1 && view->strides[d] % vector)
            return false;
    return view->sizes[1] % vector == 0 && view->strides[1] == 1;
}

static bool wide_image(const struct kern_op *op, const struct conv_params *conv)
{
    return shader_conv_is_wide(&op->tensors[0], CONV_VECTOR) && conv->in_group % CONV_VECTOR == 0;
}

/* Elements of the depth are contiguous: taps outside, input channels inside. */
static bool wide_filter(const struct kern_op *op, const struct conv_params *conv)
{
    const int channels = (int)conv->in_group;
    return shader_conv_is_wide(&op->tensors[1], CONV_VECTOR) && (conv->kernel[2] == 1 || conv->w[4] == channels) &&
           (conv->kernel[1] == 1 || conv->w[3] == conv->kernel[2] * channels);
}

bool shader_conv_takes_wide(const struct kern_op *op, const struct conv_params *conv)
{
    return wide_image(op, conv) && wide_filter(op, conv);
}

/* ---- planes ---- */

/* Planes of Y and of X have a common distance each, and each plane of Y is of one of X. */
static bool has_volume(const struct conv_params *conv, uint32_t images)
{
    const int64_t depth = conv->out_sizes[0], x = (int64_t)conv->x[2] * conv->steps[0];
    return conv->kernel[0] > 1 || conv->pad[0] || (depth - 1) * conv->steps[0] >= conv->in_sizes[0] || x > INT32_MAX ||
           x < INT32_MIN || (images > 1 && depth > 1 && conv->x[0] != x * depth);
}

bool shader_conv_planes(const struct kern_op *op, struct conv_planes *out)
{
    *out = (struct conv_planes){ .conv = shader_conv_parameters(op), .images = op->tensors[op->input_count].sizes[0] };
    struct conv_params *conv = &out->conv;
    out->groups = conv->out_channels / conv->out_group;
    out->depth = (uint32_t)conv->out_sizes[0];
    out->taps = (uint32_t)conv->kernel[0];
    out->has_volume = has_volume(conv, out->images);
    if (out->depth == 1)
        return true;
    if (out->images > 1 && conv->y[0] != (int64_t)conv->y[2] * out->depth)
        return false;
    out->images *= out->depth;
    conv->y[0] = conv->y[2];
    if (!out->has_volume)
        conv->x[0] = conv->x[2] * conv->steps[0];
    return true;
}

static int64_t stride_of(const struct kern_view *view, uint32_t d)
{
    return view->sizes[d] > 1 ? view->strides[d] : 0;
}

bool shader_conv_strides(const struct kern_view *view, uint32_t depth, i32 *out)
{
    const uint32_t rank = view->rank;
    out[0] = (i32)stride_of(view, 0);
    out[1] = (i32)stride_of(view, 1);
    out[2] = rank > 3 ? (i32)stride_of(view, rank - 2) : 0;
    out[3] = (i32)stride_of(view, rank - 1);
    if (depth == 1)
        return true;
    const int64_t planes = stride_of(view, 2);
    out[0] = (i32)planes;
    return view->sizes[0] == 1 || stride_of(view, 0) == planes * depth;
}

/* ---- packed tensors ---- */

static uint64_t image_pixels(const struct conv_planes *planes)
{
    return (uint64_t)planes->images * (uint64_t)planes->conv.in_sizes[1] * (uint64_t)planes->conv.in_sizes[2];
}

static uint64_t image_elements(const struct conv_planes *planes)
{
    return image_pixels(planes) * planes->groups * planes->conv.in_group;
}

static uint64_t filter_elements(const struct conv_planes *planes)
{
    return (uint64_t)planes->conv.out_channels * planes->conv.by_plane.size * planes->conv.in_group;
}

uint64_t shader_conv_filter_bytes(const struct conv_planes *planes)
{
    return filter_elements(planes) * 2;
}

bool shader_conv_pack(const struct kern_op *op, struct conv_planes *planes)
{
    struct conv_params *conv = &planes->conv;
    const bool wide_w = planes->taps == 1 && wide_filter(op, conv);
    const uint64_t channels = base_align_up(conv->in_group, CONV_VECTOR) * planes->taps;
    planes->packs_x = planes->has_volume || !wide_image(op, conv);
    planes->has_packed_w = !wide_w && op->packed_input == 2;
    planes->packs_w = !wide_w && !planes->has_packed_w;
    if (channels > INT32_MAX)
        return false;
    conv->in_group = (uint32_t)channels;
    if (image_elements(planes) > INT32_MAX || filter_elements(planes) > INT32_MAX)
        return false;
    if (planes->packs_x) {
        conv->x[1] = 1;
        conv->x[4] = (int)(planes->groups * conv->in_group);
        conv->x[3] = conv->x[4] * conv->in_sizes[2];
        conv->x[0] = conv->x[3] * conv->in_sizes[1];
    }
    if (planes->packs_w || planes->has_packed_w) {
        conv->w[1] = 1;
        conv->w[4] = (int)conv->in_group;
        conv->w[3] = conv->w[4] * conv->kernel[2];
        conv->w[0] = conv->w[3] * conv->kernel[1];
    }
    return true;
}

static uint64_t filter_place(const struct conv_planes *planes)
{
    return planes->packs_x ? base_align_up(image_elements(planes) * 2, ALIGN) : 0;
}

uint64_t shader_conv_pack_bytes(const struct conv_planes *planes)
{
    return filter_place(planes) + (planes->packs_w ? shader_conv_filter_bytes(planes) : 0);
}

uint64_t shader_conv_pack_moves(const struct conv_planes *planes)
{
    return (planes->packs_x ? image_elements(planes) * 4 : 0) + (planes->packs_w ? filter_elements(planes) * 4 : 0);
}

/* Of X and of W, except for their strides. */
static void set_tensor(uint64_t images, uint32_t rows, uint32_t columns, uint32_t groups,
                       const struct conv_planes *planes, struct conv_pack_tensor *out)
{
    const uint32_t pixels = rows * columns;
    out->pixels = (u32)(images * pixels);
    out->packed_channels = groups * planes->conv.in_group;
    out->by_pixels = shader_conv_divisor(pixels);
    out->by_column = shader_conv_divisor(columns);
    out->by_block = shader_conv_divisor(planes->conv.in_group / planes->taps);
    out->by_taps = shader_conv_divisor(planes->taps);
    out->by_depth = shader_conv_divisor(1);
    out->dilation = 1;
    out->tiles_n = shader_conv_tiles(out->packed_channels, CONV_PACK_CHANNELS);
    out->tiles = shader_conv_tiles(out->pixels, CONV_PACK_PIXELS) * out->tiles_n;
}

static void set_tensors(const struct conv_planes *planes, struct conv_pack_tensor *out)
{
    const struct conv_params *conv = &planes->conv;
    if (planes->packs_x)
        set_tensor(planes->images, (uint32_t)conv->in_sizes[1], (uint32_t)conv->in_sizes[2], planes->groups, planes,
                   &out[0]);
    if (planes->packs_w)
        set_tensor(conv->out_channels, (uint32_t)conv->kernel[1], (uint32_t)conv->kernel[2], 1, planes, &out[1]);
}

uint32_t shader_conv_pack_groups(const struct conv_planes *planes)
{
    struct conv_pack_tensor tensors[2] = { 0 };
    set_tensors(planes, tensors);
    return tensors[0].tiles + tensors[1].tiles;
}

static void set_strides(const int *strides, uint32_t channels, struct conv_pack_tensor *out)
{
    out->channels = channels;
    out->image = strides[0];
    out->channel = strides[1];
    out->row = strides[3];
    out->column = strides[4];
    out->plane = strides[2];
    out->along_pixels = shader_tile_closer(strides[4], strides[1]);
}

void shader_conv_pack_write(const struct kern_op *op, const struct conv_planes *planes,
                            const struct conv_params *original, const struct shader_place *places,
                            struct conv_pack_params *out)
{
    const struct shader_place *scratch = &places[op->input_count + op->output_count];
    struct conv_pack_tensor *x = &out->tensors[0];
    set_tensors(planes, out->tensors);
    x->in_depth = 1;
    if (planes->has_volume) {
        x->by_depth = shader_conv_divisor(planes->depth);
        x->step = original->steps[0];
        x->pad = original->pad[0];
        x->dilation = original->dilations[0];
        x->in_depth = original->in_sizes[0];
    }
    out->tensors[1].in_depth = (i32)planes->taps;
    set_strides(original->x, original->in_group, &out->tensors[0]);
    set_strides(original->w, original->in_group, &out->tensors[1]);
    if (planes->packs_x) {
        out->from[0] = shader_meta_place(&places[0]);
        out->to[0] = shader_meta_place(scratch);
    }
    if (planes->packs_w) {
        out->from[1] = shader_meta_place(&places[1]);
        out->to[1] = shader_meta_place_at(scratch, filter_place(planes));
    }
}

u64 shader_conv_pack_place(const struct kern_op *op, const struct conv_planes *planes, uint32_t tensor,
                           const struct shader_place *places)
{
    const struct shader_place *scratch = &places[op->input_count + op->output_count];
    if (tensor == 0 && planes->packs_x)
        return shader_meta_place(scratch);
    return tensor == 1 && planes->packs_w ? shader_meta_place_at(scratch, filter_place(planes))
                                          : shader_meta_place(&places[tensor]);
}

/* W, of FLOAT16 elements. */
struct packing {
    const uint16_t *from;
    uint16_t *to;
    struct conv_params conv, packed;
    int plane; /* input channels of a plane of the window */
};

/* Of output channels, in vectors of input channels. */
static void pack_filters(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct packing *packing = context;
    const struct conv_params *conv = &packing->conv, *packed = &packing->packed;
    (void)worker;
    for (size_t out = begin; out < end; out++)
        for (uint32_t i = 0; i < conv->by_window.size; i++) {
            const int tap = (int)i / (int)conv->by_plane.size, row = (int)i / conv->kernel[2] % conv->kernel[1],
                      column = (int)i % conv->kernel[2];
            uint16_t *to = packing->to + (int64_t)out * packed->w[0] + row * packed->w[3] + column * packed->w[4] +
                           tap * packing->plane;
            const uint16_t *from = packing->from + (int64_t)out * conv->w[0] + (int64_t)tap * conv->w[2] +
                                   (int64_t)row * conv->w[3] + (int64_t)column * conv->w[4];
            for (uint32_t c = 0; c < conv->in_group; c++)
                to[c] = from[(int64_t)c * conv->w[1]];
        }
}

/* Where an element of the depth is for the first output channel; < 0: packed channels behind the last one are zeros. */
static int64_t row_of(const void *context, uint32_t k)
{
    const struct packing *packing = context;
    const struct conv_params *conv = &packing->conv;
    const uint32_t tap = k / packing->packed.in_group, within = k % packing->packed.in_group;
    const uint32_t plane = within / (uint32_t)packing->plane, channel = within % (uint32_t)packing->plane;
    if (channel >= conv->in_group)
        return -1;
    return (int64_t)plane * conv->w[2] + (int64_t)(tap / (uint32_t)conv->kernel[2]) * conv->w[3] +
           (int64_t)(tap % (uint32_t)conv->kernel[2]) * conv->w[4] + (int64_t)channel * conv->w[1];
}

void shader_conv_meta_pack(const struct kern_op *op, const void *source, void *packed)
{
    struct conv_planes planes;
    shader_conv_planes(op, &planes);
    struct packing packing = { .from = source, .to = packed, .conv = planes.conv };
    shader_conv_pack(op, &planes);
    packing.packed = planes.conv;
    packing.plane = (int)(planes.conv.in_group / planes.taps);
    if (shader_conv_meta_has_panels(op)) {
        struct shader_panels panels = { .from = source,
                                        .to = packed,
                                        .k = planes.conv.in_group * planes.conv.by_plane.size,
                                        .n = planes.conv.out_group,
                                        .along_n = packing.conv.w[0],
                                        .row = row_of,
                                        .context = &packing };
        shader_pack_panels(&panels);
        return;
    }
    base_parallel_for(packing.conv.out_channels, 1, pack_filters, &packing);
}
