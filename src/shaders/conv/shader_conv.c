/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for convolutions. */
#include "shaders/conv/shader_conv.h"

static bool small_ones;

void shader_conv_force_small(bool small)
{
    small_ones = small;
}

bool shader_conv_takes_small(void)
{
    return small_ones;
}

static uint64_t result_elements(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[op->input_count]);
}

/* Shaders compute positions in and around the image in 32 bits. */
static bool positions_fit(const struct conv_shape *s)
{
    for (uint32_t d = 0; d < 3; d++) {
        if (s->stride[d] > INT32_MAX || s->dilation[d] > INT32_MAX || s->out[d] * s->stride[d] > INT32_MAX / 2 ||
            s->kernel[d] * s->dilation[d] > INT32_MAX / 4 || s->pad[d] > INT32_MAX / 4)
            return false;
    }
    return s->kernel[0] * s->kernel[1] <= INT32_MAX;
}

const char *shader_conv_unsupported(const struct kern_op *op, struct conv_shape *out)
{
    const char *found = shader_size_unsupported(op);
    if (found)
        return found;
    if (!kern_conv_any_ref_accepts(op) || !conv_shape_init(op, out))
        return "no shader for these data types";
    return positions_fit(out) ? NULL : "the shaders do not count that many elements";
}

struct conv_params shader_conv_parameters(const struct kern_op *op)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *views[] = { &op->tensors[0], &op->tensors[1], &op->tensors[op->input_count] };
    struct conv_params params = { .bias = conv->has_bias ? 2 : -1, .x_zero = -1, .w_zero = -1 };
    int *const strides[] = { params.x, params.w, params.y };
    const uint32_t zeros = 2 + conv->has_bias, missing = KERN_SPATIAL_MAX - conv->spatial;
    struct conv_shape s;
    conv_shape_init(op, &s);
    for (uint32_t d = 0; d < 3; d++) {
        params.in_sizes[d] = (int)s.in[d];
        params.out_sizes[d] = (int)s.out[d];
        params.kernel[d] = (int)s.kernel[d];
        params.steps[d] = (int)s.stride[d];
        params.dilations[d] = (int)s.dilation[d];
        params.pad[d] = (int)s.pad[d];
        params.by_out[d] = shader_divisor((uint32_t)s.out[d]);
    }
    params.by_channels = shader_divisor(s.out_channels);
    params.by_in_group = shader_divisor(s.in_group);
    params.by_line = shader_divisor((uint32_t)s.kernel[2]);
    params.by_plane = shader_divisor((uint32_t)(s.kernel[1] * s.kernel[2]));
    params.by_window = shader_divisor((uint32_t)(s.kernel[0] * s.kernel[1] * s.kernel[2]));
    for (uint32_t v = 0; v < 3; v++)
        for (uint32_t d = 0; d < views[v]->rank; d++)
            strides[v][d < 2 ? d : d + missing] = views[v]->sizes[d] > 1 ? (int)views[v]->strides[d] : 0;
    params.bias_step = (int)s.bias;
    params.in_group = s.in_group;
    params.out_group = s.out_group;
    params.out_channels = s.out_channels;
    params.transposed = s.transposed;
    params.flip = s.flip;
    if (conv->integer && conv->has_x_zero)
        params.x_zero = (int)zeros;
    if (conv->integer && conv->has_w_zero) {
        const struct kern_view *zero = &op->tensors[zeros + conv->has_x_zero];
        params.w_zero = (int)zeros + conv->has_x_zero;
        params.zero_step = zero->sizes[1] > 1 ? (int)zero->strides[1] : 0;
    }
    return params;
}

void shader_conv_finish(const struct kern_op *op, struct shader_dispatch *out)
{
    const uint32_t count = out->constant_count;
    shader_epilogue_add(op, out);
    out->constants[10] = shader_epilogue_tensors(op);
    out->constants[11] = op->u.conv.has_bias;
    out->constant_count = BASE_MAX(count, 12);
}

/* ---- any convolution ---- */

const char *shader_conv_any_unsupported(const struct kern_op *op)
{
    struct conv_shape shape;
    const char *found = shader_block_unsupported(op);
    return found ? found : shader_conv_unsupported(op, &shape);
}

void shader_conv_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool has_double = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64;
    struct shader_dispatch *dispatch = shader_add(out, has_double ? SHADER_conv_any_f64 : SHADER_conv_any, op,
                                                  result_elements(op), SHADER_GROUP_SIZE, sizeof(struct conv_params));
    dispatch->constants[dispatch->constant_count++] = op->u.conv.integer;
}

void shader_conv_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct conv_params params = shader_conv_parameters(op);
    shader_block_write(op, places, result_elements(op), &params, sizeof(params), words);
}

/* ---- small windows or few output channels ---- */

static bool by_tiles(const struct conv_shape *s)
{
    const int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    return s->out_group >= TUNE_CONV_CHANNELS_MIN && taps * s->in_group >= TUNE_TILE_DEPTH_MIN &&
           (s->in_group > 1 || taps > TUNE_CONV_DIRECT_TAPS_MAX);
}

const char *shader_conv_direct_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return "no shader for this data type";
    if (s.transposed || s.flip)
        return "no shader for such windows";
    return by_tiles(&s) ? "not for many channels" : shader_epilogue_unsupported(op);
}

/* Number of result elements per invocation. */
static uint32_t direct_results(const struct kern_op *op)
{
    const struct conv_params conv = shader_conv_parameters(op);
    const bool channels_last = shader_tile_closer(conv.y[1], conv.y[4]);
    const int64_t line = (int64_t)conv.steps[2] * (CONV_DIRECT_RESULTS - 1) + conv.kernel[2];
    if (channels_last || !shader_much(result_elements(op) / TUNE_CONV_DIRECT_SHARE) ||
        conv.out_sizes[2] < CONV_DIRECT_RESULTS || conv.dilations[2] != 1 || line > CONV_DIRECT_LINE)
        return 1;
    return CONV_DIRECT_RESULTS;
}

static uint64_t direct_units(const struct kern_op *op, struct conv_direct_params *params)
{
    const uint32_t results = direct_results(op), line = (uint32_t)params->conv.out_sizes[2];
    params->by_units = shader_divisor((line + results - 1) / results);
    return result_elements(op) / line * params->by_units.size;
}

static struct conv_direct_params direct_parameters(const struct kern_op *op)
{
    struct conv_direct_params params = { .conv = shader_conv_parameters(op) };
    params.channels_last = shader_tile_closer(params.conv.y[1], params.conv.y[4]);
    return params;
}

void shader_conv_direct_plan(const struct kern_op *op, struct shader_work *out)
{
    struct conv_direct_params params = direct_parameters(op);
    struct shader_dispatch *dispatch = shader_add(out, op->u.conv.integer ? SHADER_conv_direct_int : SHADER_conv_direct,
                                                  op, direct_units(op, &params), SHADER_GROUP_SIZE, sizeof(params));
    shader_specialize(op, result_elements(op), dispatch);
    if (dispatch->constants[0]) { /* a pipeline for this window as well */
        dispatch->constants[2] = (uint32_t)params.conv.kernel[1];
        dispatch->constants[3] = (uint32_t)params.conv.kernel[2];
    }
    dispatch->constants[4] = direct_results(op);
    dispatch->constants[5] = (uint32_t)params.conv.steps[2];
    dispatch->constant_count = 6;
    shader_epilogue_add(op, dispatch);
}

void shader_conv_direct_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    struct conv_direct_params params = direct_parameters(op);
    const uint64_t units = direct_units(op, &params);
    (void)index; /* there is one */
    shader_block_write(op, places, units, &params, sizeof(params), words);
}

/* ---- by tiles ---- */

const char *shader_conv_tile_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return "no shader for this data type";
    if (s.out_group < TUNE_CONV_CHANNELS_MIN ||
        s.kernel[0] * s.kernel[1] * s.kernel[2] * s.in_group < TUNE_TILE_DEPTH_MIN)
        return "too few channels";
    if (s.kernel[0] * s.kernel[1] * s.kernel[2] * s.in_group > INT32_MAX)
        return "the window is too large";
    return shader_epilogue_unsupported(op);
}

static struct conv_tile_params conv_tiles(const struct kern_op *op, enum shader_tile_class class)
{
    struct conv_tile_params params = { .conv = shader_conv_parameters(op) };
    const struct conv_params *conv = &params.conv;
    const int inner = conv->transposed ? conv->w[0] : conv->w[1], outer = conv->transposed ? conv->w[1] : conv->w[0];
    struct conv_shape s;
    conv_shape_init(op, &s);
    params.channels_first = shader_tile_closer(conv->x[1], conv->x[4]);
    params.tile = (struct tile_params){ .m = s.out_group,
                                        .n = (uint32_t)(s.out[0] * s.out[1] * s.out[2]),
                                        .k = (uint32_t)(s.in_group * s.kernel[0] * s.kernel[1] * s.kernel[2]),
                                        .batches = s.batch * s.groups,
                                        .b_along_k = params.channels_first,
                                        .y_along_m = shader_tile_closer(conv->y[1], conv->y[4]),
                                        .alpha = 1,
                                        .beta = 1,
                                        .c = conv->bias,
                                        .a_zero = conv->w_zero,
                                        .b_zero = conv->x_zero };
    const bool one_tap = s.kernel[0] * s.kernel[1] * s.kernel[2] == 1;
    params.tile.a_along_k = shader_tile_closer(params.channels_first || one_tap ? inner : conv->w[4], outer);
    shader_tile_cut(op, class, &params.tile);
    return params;
}

void shader_conv_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { SHADER_conv_tile, SHADER_conv_tile_large, SHADER_conv_tile_wide,
                                             SHADER_conv_tile_int, SHADER_conv_tile_int_wide };
    const struct conv_tile_params params = conv_tiles(op, shader_tile_class(op));
    shader_tile_add(op, &codes, &params.tile, sizeof(params), out);
}

void shader_conv_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct conv_tile_params params = conv_tiles(op, shader_tile_class(op));
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}

/* ---- 8-bit, by integer dot products ---- */

const char *shader_conv_dot_unsupported(const struct kern_op *op)
{
    return op->u.conv.integer ? shader_conv_tile_unsupported(op) : "no shader for these data types";
}

void shader_conv_dot_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { .integer = SHADER_conv_dot, .integer_wide = SHADER_conv_dot_wide };
    const struct conv_tile_params params = conv_tiles(op, SHADER_TILES_INTEGER);
    shader_tile_add(op, &codes, &params.tile, sizeof(params), out);
}

void shader_conv_dot_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    shader_conv_tile_write(op, index, places, words);
}

/* ---- with cooperative matrices ---- */

const char *shader_conv_coop_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_tile_unsupported(op);
    if (found)
        return found;
    conv_shape_init(op, &s);
    return shader_coop_unsupported(op, s.out_group, (uint64_t)(s.out[0] * s.out[1] * s.out[2]),
                                   (uint64_t)(s.kernel[0] * s.kernel[1] * s.kernel[2] * s.in_group));
}

/* Dimensions from `first` to the last are contiguous. */
static bool is_packed(const struct kern_view *view, uint32_t first)
{
    int64_t stride = 1;
    for (uint32_t d = view->rank; d-- > first; stride *= view->sizes[d])
        if (view->sizes[d] > 1 && view->strides[d] != stride)
            return false;
    return true;
}

/* All dimensions except for the first two, or those and the second, are one dimension of this many elements. */
static struct kern_view joined(const struct kern_view *view, uint32_t first)
{
    struct kern_view out = *view;
    out.rank = first + 1;
    out.strides[first] = 1;
    for (uint32_t d = first + 1; d < view->rank; d++)
        out.sizes[first] *= view->sizes[d];
    return out;
}

static bool wide_weights(const struct kern_op *op, const struct conv_tile_params *params)
{
    const struct kern_view *w = &op->tensors[1];
    const bool one_tap = params->conv.by_window.size == 1;
    if (params->conv.transposed || params->conv.flip || !params->tile.a_along_k)
        return false;
    if (params->channels_first && !one_tap)
        return shader_coop_wide(w, 1);
    const struct kern_view lines = joined(w, 1);
    return is_packed(w, 1) && shader_coop_wide(&lines, 1);
}

/* Vectors along channels, or along the pixels of a window of one that visits them all. */
static bool wide_image(const struct kern_op *op, const struct conv_tile_params *params)
{
    const struct kern_view *x = &op->tensors[0];
    const struct conv_params *conv = &params->conv;
    if (params->channels_first)
        return conv->in_group % 8 == 0 && shader_coop_wide(x, 1);
    for (uint32_t d = 0; d < 3; d++)
        if (conv->kernel[d] != 1 || conv->steps[d] != 1 || conv->pad[d] || conv->in_sizes[d] != conv->out_sizes[d])
            return false;
    const struct kern_view planes = joined(x, 2);
    return !conv->transposed && is_packed(x, 2) && shader_coop_wide(&planes, 2);
}

void shader_conv_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct coop_codes codes = { SHADER_conv_coop, SHADER_conv_coop_bfloat16, SHADER_conv_coop_plain };
    const struct conv_tile_params params = conv_tiles(op, SHADER_TILES_COOP);
    const struct kern_view *y = &op->tensors[op->input_count], planes = joined(y, 2);
    const struct coop_wide wide = { wide_weights(op, &params), wide_image(op, &params),
                                    is_packed(y, 2) && shader_coop_wide(&planes, 2) };
    shader_coop_add(op, &codes, &params.tile, wide, sizeof(params), out);
}

void shader_conv_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct conv_tile_params params = conv_tiles(op, SHADER_TILES_COOP);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}
