/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/media/image.h"
#include "tools/text.h"

#include <math.h>

/* The positions of an image's dimensions. */
struct picture_axes {
    uint32_t channel, height, width;
};

static struct picture_axes picture_axes(uint32_t rank, bool nhwc)
{
    uint32_t last = rank - 1;
    return nhwc ? (struct picture_axes){ last, last - 2, last - 1 } : (struct picture_axes){ last - 2, last - 1, last };
}

static bool picture_dims(const struct tools_image *image, const struct tools_picture *how,
                         const struct onnx_value_info *wanted, int64_t *out, struct tools_error *error)
{
    const uint32_t rank = wanted->rank;
    if (rank != 3 && rank != 4)
        return tools_fail(error, TOOLS_USAGE, "%s: an image needs an input of 3 or 4 dimensions, not %u", wanted->name,
                          rank);
    struct picture_axes at = picture_axes(rank, how->nhwc);
    memcpy(out, wanted->dims, rank * sizeof(*out));
    if (out[at.channel] < 0)
        out[at.channel] = 3;
    if (rank == 4 && out[0] < 0)
        out[0] = 1;
    if ((out[at.channel] != 1 && out[at.channel] != 3) || (rank == 4 && out[0] != 1))
        return tools_fail(
            error, TOOLS_USAGE,
            "%s: an image needs 1 or 3 channels and a batch of 1 (--layout selects the dimension of the channels)",
            wanted->name);
    if (out[at.height] < 0)
        out[at.height] = image->height;
    if (out[at.width] < 0)
        out[at.width] = image->width;
    return true;
}

static void picture_fill(const struct tools_image *image, const struct tools_picture *how, struct tools_array *array)
{
    struct picture_axes at = picture_axes(array->rank, how->nhwc);
    size_t plane = (size_t)image->width * image->height;
    uint32_t channels = (uint32_t)array->dims[at.channel];
    float *data = array->data;
    for (size_t i = 0; i < plane; i++) {
        const uint8_t *pixel = image->pixels + i * 3;
        /* ITU-R 601 in 16-bit fixed point. */
        uint8_t luma = (uint8_t)((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16);
        for (uint32_t c = 0; c < channels; c++) {
            float value = how->low + (channels == 1 ? luma : pixel[c]) / 255.0f * (how->high - how->low);
            data[how->nhwc ? i * channels + c : c * plane + i] = (value - how->mean[c]) / how->std[c];
        }
    }
}

/* uint8 inputs use the pixels' own numbers. */
static bool picture_to_bytes(struct tools_array *array, struct tools_error *error)
{
    struct tools_array bytes;
    if (!tools_array_init(&bytes, ONNX_UINT8, array->rank, array->dims, error))
        return false;
    uint64_t count = tools_array_count(array);
    for (uint64_t i = 0; i < count; i++)
        ((uint8_t *)bytes.data)[i] = (uint8_t)fminf(fmaxf(rintf(((float *)array->data)[i]), 0.0f), 255.0f);
    tools_array_finish(array);
    *array = bytes;
    return true;
}

bool tools_picture_load(const struct tools_image *image, const struct tools_picture *how,
                        const struct onnx_value_info *wanted, struct tools_array *out, struct tools_error *error)
{
    const char *name = wanted->name;
    int64_t sizes[ONNX_RANK_MAX];
    *out = (struct tools_array){ 0 };
    if (!picture_dims(image, how, wanted, sizes, error))
        return false;
    struct picture_axes at = picture_axes(wanted->rank, how->nhwc);
    struct tools_image resized = { 0 };
    if (sizes[at.height] > INT32_MAX || sizes[at.width] > INT32_MAX)
        return tools_fail(error, TOOLS_USAGE, "%s: the model's image is too large", name);
    if (sizes[at.height] != image->height || sizes[at.width] != image->width) {
        if (!tools_image_resize(image, (uint32_t)sizes[at.width], (uint32_t)sizes[at.height], &resized, error))
            return false;
        image = &resized;
    }
    bool ok = tools_array_init(out, ONNX_FLOAT, wanted->rank, sizes, error);
    if (ok) {
        picture_fill(image, how, out);
        ok = wanted->type == ONNX_UINT8 ? picture_to_bytes(out, error)
                                        : tools_array_convert(out, wanted->type, name, error);
    }
    tools_image_finish(&resized);
    if (!ok)
        tools_array_finish(out);
    return ok;
}

bool tools_picture_store(const struct tools_array *array, const struct tools_picture *how, const char *name,
                         struct tools_image *out, struct tools_error *error)
{
    struct picture_axes at = picture_axes(BASE_MAX(array->rank, 3), how->nhwc);
    *out = (struct tools_image){ 0 };
    bool fits = (array->rank == 3 || (array->rank == 4 && array->dims[0] == 1)) &&
                (array->dims[at.channel] == 1 || array->dims[at.channel] == 3);
    bool is_float = array->type == ONNX_FLOAT;
    if (!fits || (!is_float && array->type != ONNX_UINT8)) {
        char shape[256];
        return tools_fail(error, TOOLS_USAGE, "output '%s' is %s: not an image of 1 or 3 channels", name,
                          tools_shape_text(shape, sizeof(shape), array->type, array->rank, array->dims, NULL));
    }
    if (array->dims[at.width] > INT32_MAX || array->dims[at.height] > INT32_MAX)
        return tools_fail(error, TOOLS_USAGE, "output '%s' is too large for an image", name);
    if (!tools_image_init(out, (uint32_t)array->dims[at.width], (uint32_t)array->dims[at.height], error))
        return false;
    size_t plane = (size_t)out->width * out->height;
    uint32_t channels = (uint32_t)array->dims[at.channel];
    for (size_t i = 0; i < plane * 3; i++) {
        size_t c = channels == 1 ? 0 : i % 3, pixel = i / 3;
        size_t from = how->nhwc ? pixel * channels + c : c * plane + pixel;
        float value = is_float ? (((const float *)array->data)[from] - how->low) / (how->high - how->low) * 255.0f
                               : ((const uint8_t *)array->data)[from];
        out->pixels[i] = (uint8_t)fminf(fmaxf(rintf(value), 0.0f), 255.0f);
    }
    return true;
}
