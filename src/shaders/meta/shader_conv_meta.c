/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by metacommands: conv_mma.cu, conv_wgmma.cu and conv_halo.cu, among others. */
#include "shaders/meta/shader_conv_meta.h"
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/meta/shader_meta.h"

#include <math.h>

#define VECTOR       CONV_VECTOR
#define GATHER_DEPTH 256   /* DEPTH_MAX of conv_gather.cuh */
#define GATHER_REACH 16383 /* of its table */
/* Of a tile of conv_halo.cu. */
#define HALO_ROWS       16
#define HALO_COLUMNS    8
#define HALO_CHANNELS   64
#define NARROW_CHANNELS 8 /* of conv_narrow.cu */
/* Of a tile of conv_stem.cu. */
#define STEM_SIDE  16
#define STEM_COVER 4352 /* elements */

#define GRID_MAX         65535 /* groups of channels */
#define PACK_NS          2400  /* one more dispatch; and the bytes that it moves: */
#define PACK_BYTES_OF_NS 1700
#define SUM_BYTES_OF_NS  1500 /* written and read again, from the second-level cache */
#define PARTS_MAX        (256ull << 20)
#define FORCED_SPLITS    4             /* for tests */
#define SUM_GROUP_BYTES  (128 * 8 * 4) /* of a part, of a workgroup of conv_sum.cu */

enum form {
    FORM_WIDE,   /* conv_mma.cu */
    FORM_GATHER, /* the same, element by element */
    FORM_STEM32, /* maximum depth for conv_stem.cu */
    FORM_STEM160,
    FORM_WGMMA,  /* conv_wgmma.cu */
    FORM_LARGE,  /* conv_large.cu, of a W that is constant */
    FORM_NARROW, /* conv_narrow.cu */
    FORM_HALO32, /* maximum input channels for conv_halo.cu */
    FORM_HALO64,
};

/* conv_meta_kernels.def. */
static const struct kernel {
    enum shader_meta code;
    enum form form;
    uint32_t m, n, start, round, kilobyte;
} kernels[] = {
#define CONV_KERNEL(name, form, m, n, start, round, kilobyte)                                                          \
    { SHADER_META_##name, FORM_##form, m, n, start, round, kilobyte },
#include "shaders/meta/conv_meta_kernels.def"
#undef CONV_KERNEL
};

/* Its table has the distance of taps in 16 bits. */
static bool takes_gather(const struct conv_params *conv)
{
    for (uint32_t d = 1; d < 3; d++)
        if ((int64_t)(conv->kernel[d] - 1) * conv->dilations[d] > GATHER_REACH || conv->in_sizes[d] > GATHER_REACH ||
            conv->pad[d] > GATHER_REACH)
            return false;
    return (uint64_t)conv->in_group * conv->by_plane.size <= GATHER_DEPTH;
}

/* Vectors of results and biases. */
static bool takes_vectors(const struct kern_op *op, const struct conv_params *conv, uint32_t vector)
{
    return shader_conv_is_wide(&op->tensors[op->input_count], vector) && conv->out_group % vector == 0 &&
           (conv->bias < 0 || (conv->bias_step == 1 && op->tensors[2].offset % vector == 0));
}

/* Likewise an operand of the epilogue, of these strides. */
static bool is_vectors(const struct kern_view *view, const i32 *strides, int32_t vector)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT16 && view->offset % vector == 0 && strides[1] == 1 &&
           strides[0] % vector == 0 && strides[2] % vector == 0 && strides[3] % vector == 0;
}

static const char *epilogue_unsupported(const struct kern_op *op, uint32_t depth)
{
    struct kern_epilogue epilogue;
    i32 strides[4];
    const char *found = shader_meta_steps_unsupported(op, false);
    if (found || !op->epilogue)
        return found;
    shader_epilogue_match(op, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++)
        if (epilogue.step[i].tensor && !shader_conv_strides(&op->tensors[epilogue.step[i].tensor], depth, strides))
            return "no metacommand with this epilogue";
    return NULL;
}

static bool is_halo(enum form form)
{
    return form == FORM_NARROW || form == FORM_HALO32 || form == FORM_HALO64;
}

static bool is_stem(enum form form)
{
    return form == FORM_STEM32 || form == FORM_STEM160;
}

/* A tile's windows are in shared memory; the epilogue reads no tensors. */
static bool takes_stem(const struct kern_op *op, const struct conv_params *conv, uint32_t depth)
{
    struct kern_epilogue epilogue;
    uint64_t cover = conv->in_group;
    for (uint32_t d = 1; d < 3; d++)
        cover *=
            (uint64_t)((STEM_SIDE - 1) * conv->steps[d] + (conv->kernel[d] - 1) * (uint64_t)conv->dilations[d] + 1);
    if (conv->out_channels != conv->out_group || cover > STEM_COVER ||
        (uint64_t)conv->in_group * conv->by_plane.size > depth || !takes_gather(conv) ||
        !takes_vectors(op, conv, VECTOR) || !shader_epilogue_match(op, &epilogue))
        return false;
    for (uint32_t i = 0; i < epilogue.count; i++)
        if (epilogue.step[i].tensor)
            return false;
    return true;
}

/* Of conv_halo.cu: an addition of a tensor and a ReLU, or less. *out_residual: 1 + the step that adds. */
static bool matches_halo(const struct kern_op *op, uint32_t *out_residual)
{
    struct kern_epilogue epilogue;
    uint32_t step = 0;
    *out_residual = 0;
    if (!shader_epilogue_match(op, &epilogue))
        return false;
    if (epilogue.count && epilogue.step[0].code == KERN_MAP_ADD && epilogue.step[0].tensor &&
        op->tensors[epilogue.step[0].tensor].type == DML_TENSOR_DATA_TYPE_FLOAT16)
        *out_residual = ++step;
    if (step < epilogue.count && epilogue.step[step].code == KERN_MAP_RELU)
        step++;
    return step == epilogue.count;
}

static bool takes_halo(const struct kern_op *op, const struct conv_params *conv, uint32_t channels)
{
    uint32_t residual;
    for (uint32_t d = 1; d < 3; d++)
        if (conv->kernel[d] != 3 || conv->steps[d] != 1 || conv->dilations[d] != 1)
            return false;
    return op->tensors[0].rank == 4 && conv->out_channels == conv->out_group && conv->in_group <= channels &&
           shader_conv_takes_wide(op, conv) && matches_halo(op, &residual);
}

static bool takes(const struct kern_op *op, const struct conv_params *conv, enum form form)
{
    switch (form) {
    case FORM_WIDE: /* if packed */
    case FORM_WGMMA:
    case FORM_LARGE:
        break;
    case FORM_GATHER:
        return takes_gather(conv);
    case FORM_STEM32:
        return takes_stem(op, conv, 32);
    case FORM_STEM160:
        return takes_stem(op, conv, 160);
    case FORM_NARROW:
        return conv->out_group <= NARROW_CHANNELS && takes_halo(op, conv, 32);
    case FORM_HALO32:
        return takes_halo(op, conv, 32);
    case FORM_HALO64:
        return takes_halo(op, conv, 64);
    }
    return false;
}

static uint64_t depth_of(const struct conv_shape *s)
{
    return (uint64_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]) * s->in_group;
}

static uint64_t pixels_of(const struct conv_shape *s)
{
    return (uint64_t)(s->out[0] * s->out[1] * s->out[2]) * s->batch;
}

const char *shader_conv_meta_shape_unsupported(const struct conv_shape *s)
{
    if (s->transposed || s->flip)
        return "no metacommand for such windows";
    return depth_of(s) > INT32_MAX / 4 || pixels_of(s) > INT32_MAX / 4 ? "the convolution is large" : NULL;
}

static bool has_few_channels(const struct conv_shape *s)
{
    return depth_of(s) < TUNE_META_CONV_DEPTH_MIN || s->out_group < TUNE_META_CONV_CHANNELS_MIN || s->in_group < 2 ||
           (s->groups > 1 && BASE_MIN(s->in_group, s->out_group) < TUNE_META_CONV_GROUP_MIN);
}

/* Changes the planes to those that kernels for vectors can multiply; false: it is not worth it. */
static bool pack(const struct kern_op *op, struct conv_planes *planes)
{
    const uint64_t results = kern_view_elements(&op->tensors[op->input_count]);
    if (!planes->has_volume && shader_conv_takes_wide(op, &planes->conv))
        return true;
    if (!shader_conv_pack(op, planes))
        return false;
    return !shader_conv_pack_moves(planes) || shader_conv_takes_small() ||
           results * planes->conv.in_group * planes->conv.by_plane.size >= TUNE_META_CONV_PACK_MIN;
}

const char *shader_conv_meta_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    struct conv_planes planes;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT16))
        return "no metacommand for these data types";
    found = shader_conv_meta_shape_unsupported(&s);
    if (found)
        return found;
    if (s.groups > GRID_MAX || !shader_conv_planes(op, &planes))
        return "no metacommand for these strides";
    if (!planes.has_volume && takes_halo(op, &planes.conv, HALO_CHANNELS) && pixels_of(&s) >= TUNE_META_CONV_PIXELS_MIN)
        return NULL; /* also of few output channels */
    if (has_few_channels(&s))
        return "too few channels";
    if ((planes.has_volume || !takes_gather(&planes.conv)) && !pack(op, &planes))
        return "no metacommand for these strides";
    return epilogue_unsupported(op, planes.depth);
}

/* ---- selection ---- */

static uint32_t forced;

uint32_t shader_conv_meta_kernels(void)
{
    return ARRAY_SIZE(kernels);
}

void shader_conv_meta_force(uint32_t kernel)
{
    forced = kernel;
}

/* Of each group. */
static uint32_t tiles_of(const struct kernel *kernel, const struct conv_planes *planes)
{
    const struct conv_params *conv = &planes->conv;
    const uint64_t rows = (uint64_t)conv->out_sizes[1], columns = (uint64_t)conv->out_sizes[2];
    uint64_t pixels = shader_conv_tiles(rows * columns * planes->images, kernel->m);
    if (is_halo(kernel->form))
        pixels =
            (uint64_t)shader_conv_tiles(rows, HALO_ROWS) * shader_conv_tiles(columns, HALO_COLUMNS) * planes->images;
    else if (is_stem(kernel->form))
        pixels = (uint64_t)shader_conv_tiles(rows, STEM_SIDE) * shader_conv_tiles(columns, STEM_SIDE) * planes->images;
    return (uint32_t)(pixels * shader_conv_tiles(conv->out_group, kernel->n));
}

struct choice {
    const struct kernel *kernel;
    struct conv_planes planes; /* that it multiplies */
    struct conv_params conv;   /* the same, not packed */
    uint32_t splits;           /* of the depth: with several, a second dispatch adds their sums */
};

static uint32_t depth_of_sums(const struct conv_planes *planes)
{
    return planes->conv.in_group * planes->conv.by_plane.size;
}

static uint32_t split_depth(const struct conv_planes *planes, uint32_t splits)
{
    const uint32_t units = shader_conv_tiles(depth_of_sums(planes), GEMM_PACKED_K);
    return shader_conv_tiles(units, splits) * GEMM_PACKED_K;
}

static uint32_t part_line(const struct conv_planes *planes)
{
    return (uint32_t)base_align_up(planes->conv.out_group, VECTOR);
}

static uint64_t part_pixels(const struct conv_planes *planes)
{
    return (uint64_t)(planes->conv.out_sizes[1] * planes->conv.out_sizes[2]) * planes->images;
}

/* Of one split: FLOAT32 sums. */
static uint64_t part_bytes(const struct conv_planes *planes)
{
    return part_pixels(planes) * part_line(planes) * sizeof(float);
}

/* Nanoseconds. */
static uint64_t cost(const struct kernel *kernel, const struct kern_op *op, const struct conv_planes *planes,
                     uint32_t splits)
{
    const uint64_t depth = splits > 1 ? split_depth(planes, splits) : depth_of_sums(planes);
    const uint64_t tiles = (uint64_t)tiles_of(kernel, planes) * planes->groups * splits;
    const uint64_t rounds = shader_conv_tiles(tiles, shader_multiprocessors(op));
    const uint64_t sum = splits > 1 ? PACK_NS + splits * part_bytes(planes) / SUM_BYTES_OF_NS : 0;
    return kernel->start + sum +
           rounds * (kernel->round + (kernel->m + kernel->n) * depth * 2 * kernel->kilobyte / 1024);
}

static bool takes_splits(const struct kernel *kernel, const struct conv_planes *planes, uint32_t splits)
{
    const uint32_t depth = splits ? split_depth(planes, splits) : 0;
    return splits == 1 || (kernel->form == FORM_LARGE && splits * part_bytes(planes) <= PARTS_MAX &&
                           (uint64_t)(splits - 1) * depth < depth_of_sums(planes));
}

/* Splits of the depth pay while there are multiprocessors without a tile. */
static uint32_t find_splits(const struct kernel *kernel, const struct kern_op *op, const struct conv_planes *planes)
{
    const uint32_t most = shader_multiprocessors(op) / BASE_MAX(tiles_of(kernel, planes), 1u);
    uint32_t best = 1;
    for (uint32_t i = 2; i <= most; i++)
        if (takes_splits(kernel, planes, i) && cost(kernel, op, planes, i) < cost(kernel, op, planes, best))
            best = i;
    return best;
}

static uint64_t pack_cost(const struct conv_planes *planes)
{
    const uint64_t bytes = shader_conv_pack_moves(planes);
    return bytes ? PACK_NS + bytes / PACK_BYTES_OF_NS : 0;
}

static struct choice choose(const struct kern_op *op)
{
    struct conv_planes plain, packed;
    struct choice best = { 0 };
    uint64_t least = 0;
    shader_conv_planes(op, &plain);
    packed = plain;
    const bool packs = pack(op, &packed), any_form = !epilogue_unsupported(op, plain.depth);
    for (uint32_t i = 0; i < ARRAY_SIZE(kernels); i++) {
        const struct kernel *kernel = &kernels[(i + forced) % ARRAY_SIZE(kernels)];
        const bool vectors = kernel->form == FORM_WIDE || kernel->form == FORM_WGMMA || kernel->form == FORM_LARGE;
        const struct conv_planes *planes = vectors ? &packed : &plain;
        if (kernel->form == FORM_LARGE && (op->packed_input != 2 || plain.groups > 1))
            continue;
        if (!(vectors ? packs : !plain.has_volume && takes(op, &plain.conv, kernel->form)) ||
            (!is_halo(kernel->form) && !any_form))
            continue;
        uint32_t splits = find_splits(kernel, op, planes);
        if (forced) {
            splits = 1 + (uint32_t)(part_pixels(planes) % FORCED_SPLITS);
            splits = takes_splits(kernel, planes, splits) ? splits : 1;
        }
        const uint64_t ns = cost(kernel, op, planes, splits) + (vectors ? pack_cost(planes) : 0);
        if (!best.kernel || ns < least) {
            best = (struct choice){ kernel, *planes, plain.conv, splits };
            least = ns;
        }
        if (forced)
            break;
    }
    return best;
}

/* ---- parameters ---- */

struct conv_meta_divisor shader_conv_divisor(uint32_t size)
{
    const struct shader_divisor by = shader_divisor(size);
    return (struct conv_meta_divisor){ by.size, by.factor, by.shift };
}

static void set_tiles(const struct kernel *kernel, const struct conv_planes *planes, uint32_t splits,
                      struct conv_meta_params *p)
{
    const uint32_t tiles = tiles_of(kernel, planes);
    p->tiles_m = tiles / shader_conv_tiles(planes->conv.out_group, kernel->n);
    p->tiles = tiles * planes->groups * splits;
    if (is_halo(kernel->form) || is_stem(kernel->form)) {
        const uint32_t columns = shader_conv_tiles(p->out_width, is_stem(kernel->form) ? STEM_SIDE : HALO_COLUMNS);
        p->by_column = shader_conv_divisor(columns);
        p->by_pixels = shader_conv_divisor(
            columns * shader_conv_tiles(p->out_height, is_stem(kernel->form) ? STEM_SIDE : HALO_ROWS));
        p->tiles = p->tiles_m;
    }
}

struct conv_meta_params shader_conv_meta_parameters(const struct conv_params *conv, uint32_t images)
{
    const uint32_t pixels = (uint32_t)(conv->out_sizes[1] * conv->out_sizes[2]);
    return (struct conv_meta_params){
        .m = pixels * images,
        .n = conv->out_group,
        .k = conv->in_group * conv->by_plane.size,
        .in_height = conv->in_sizes[1],
        .in_width = conv->in_sizes[2],
        .step_y = conv->steps[1],
        .step_x = conv->steps[2],
        .pad_y = conv->pad[1],
        .pad_x = conv->pad[2],
        .dilation_y = conv->dilations[1],
        .dilation_x = conv->dilations[2],
        .x_image = conv->x[0],
        .x_channel = conv->x[1],
        .x_row = conv->x[3],
        .x_column = conv->x[4],
        .w_out = conv->w[0],
        .w_channel = conv->w[1],
        .w_row = conv->w[3],
        .w_column = conv->w[4],
        .y_image = conv->y[0],
        .y_channel = conv->y[1],
        .y_row = conv->y[3],
        .y_column = conv->y[4],
        .bias_step = conv->bias_step,
        .by_pixels = shader_conv_divisor(pixels),
        .by_column = shader_conv_divisor((uint32_t)conv->out_sizes[2]),
        .by_channels = shader_conv_divisor(conv->in_group),
        .by_line = shader_conv_divisor((uint32_t)conv->kernel[2]),
        .out_height = (u32)conv->out_sizes[1],
        .out_width = (u32)conv->out_sizes[2],
        .groups = 1,
    };
}

static void set_halo(const struct kern_op *op, struct conv_meta_params *p)
{
    struct kern_epilogue epilogue;
    matches_halo(op, &p->residual);
    shader_epilogue_match(op, &epilogue);
    p->low = epilogue.count > (p->residual ? 1u : 0u) ? 0.0f : -INFINITY;
    p->wide_y = shader_conv_is_wide(&op->tensors[op->input_count], VECTOR);
    if (!p->residual)
        return;
    i32 strides[4];
    shader_conv_strides(&op->tensors[epilogue.step[0].tensor], 1, strides);
    p->r_image = strides[0];
    p->r_channel = strides[1];
    p->r_row = strides[2];
    p->r_column = strides[3];
}

/* Vectors of operands are loaded ahead of the sums, of two steps at most. */
static void set_epilogue(const struct kern_op *op, const struct conv_planes *planes, const struct kernel *kernel,
                         struct conv_meta_params *p)
{
    struct kern_epilogue epilogue;
    const uint32_t vector = kernel->form == FORM_WGMMA || kernel->form == FORM_LARGE ? VECTOR : VECTOR / 2;
    p->wide_y = takes_vectors(op, &planes->conv, vector);
    if (!op->epilogue)
        return;
    shader_epilogue_match(op, &epilogue);
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_view *view = &op->tensors[epilogue.step[i].tensor];
        i32 *strides = p->epilogue.steps[i].strides;
        if (!epilogue.step[i].tensor)
            continue;
        shader_conv_strides(view, planes->depth, strides);
        if (!p->wide_y || !is_vectors(view, strides, (int32_t)vector))
            continue;
        p->vectors |= 1u << i;
        if (!p->residual)
            p->residual = i + 1;
        else if (!p->second)
            p->second = i + 1;
    }
}

/* In the scratch memory, behind what is packed. */
static uint64_t parts_place(const struct conv_planes *planes)
{
    return base_align_up(shader_conv_pack_bytes(planes), 256);
}

void shader_conv_meta_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct choice choice = choose(op);
    const struct kernel *kernel = choice.kernel;
    const struct conv_planes *planes = &choice.planes;
    const uint32_t channels = planes->conv.out_group, processors = shader_multiprocessors(op);
    uint32_t groups[3] = { tiles_of(kernel, planes), planes->groups, 1 };
    if (is_halo(kernel->form)) /* each processes one tile after another, all of the same channels */
        groups[0] = BASE_MAX(processors, shader_conv_tiles(channels, HALO_CHANNELS));
    else if (is_stem(kernel->form))
        groups[0] = BASE_MIN(groups[0], BASE_MAX(processors, shader_conv_tiles(channels, kernel->n)));
    else if (kernel->form == FORM_WGMMA || kernel->form == FORM_LARGE) {
        groups[0] = BASE_MIN(groups[0] * planes->groups * choice.splits, processors);
        groups[1] = 1;
    }
    out->packed_bytes = planes->has_packed_w ? shader_conv_filter_bytes(planes) : 0;
    if (kernel->form == FORM_LARGE)
        out->packed_bytes = shader_panels_bytes(depth_of_sums(planes), channels);
    out->scratch_bytes = parts_place(planes) + (choice.splits > 1 ? choice.splits * part_bytes(planes) : 0);
    if (shader_conv_pack_bytes(planes))
        shader_meta_add(out, SHADER_META_conv_pack, (uint32_t[3]){ shader_conv_pack_groups(planes), 1, 1 }, 4,
                        sizeof(struct conv_pack_params));
    shader_meta_add(out, kernel->code, groups, CONV_META_ADDRESSES, sizeof(struct conv_meta_params));
    if (choice.splits > 1)
        shader_meta_add(out, SHADER_META_conv_sum,
                        (uint32_t[3]){ shader_conv_tiles(part_bytes(planes), SUM_GROUP_BYTES), 1, 1 },
                        CONV_META_ADDRESSES, sizeof(struct conv_meta_params));
}

void shader_conv_meta_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct choice choice = choose(op);
    const struct conv_planes *planes = &choice.planes;
    const struct conv_params *conv = &planes->conv;
    struct conv_meta_params *p = (struct conv_meta_params *)words;
    if (index == 0 && shader_conv_pack_bytes(planes)) {
        shader_conv_pack_write(op, planes, &choice.conv, places, (struct conv_pack_params *)words);
        return;
    }
    *p = shader_conv_meta_parameters(conv, planes->images);
    p->groups = planes->groups;
    p->x_group = (i32)conv->in_group * conv->x[1];
    set_tiles(choice.kernel, planes, choice.splits, p);
    if (choice.kernel->form == FORM_LARGE) {
        const struct shader_place *scratch = &places[op->input_count + op->output_count];
        p->splits = choice.splits;
        p->split_depth = split_depth(planes, choice.splits);
        p->part_line = part_line(planes);
        p->parts = choice.splits > 1 ? shader_meta_place_at(scratch, parts_place(planes)) : 0;
    }
    p->x = shader_conv_pack_place(op, planes, 0, places);
    p->w = shader_conv_pack_place(op, planes, 1, places);
    p->y = shader_meta_place(&places[op->input_count]);
    if (conv->bias >= 0)
        p->bias = shader_meta_place(&places[conv->bias]);
    shader_meta_epilogue_write(op, 1, places, &p->epilogue);
    if (is_halo(choice.kernel->form))
        set_halo(op, p);
    else
        set_epilogue(op, planes, choice.kernel, p);
}

bool shader_conv_meta_has_panels(const struct kern_op *op)
{
    return choose(op).kernel->form == FORM_LARGE;
}

bool shader_conv_meta_waits(const struct kern_op *op)
{
    const enum form form = choose(op).kernel->form;
    return (form == FORM_WIDE || form == FORM_GATHER || form == FORM_WGMMA || form == FORM_LARGE) &&
           shader_meta_may_wait(op);
}
