/* SPDX-License-Identifier: Apache-2.0 */
/* Images as 8-bit RGB: PNG and JPEG files, resizing, and their way into tensors and back. */
#ifndef TOOLS_IMAGE_H
#define TOOLS_IMAGE_H

#include "tools/error.h"
#include "tools/npy.h"

struct tools_image {
    uint32_t width, height;
    uint8_t *pixels; /* R, G, B, row by row, without padding */
};

/* Called before a file is decoded. */
#define TOOLS_IMAGE_PIXELS_MAX (1u << 28)
bool tools_image_fits(uint32_t width, uint32_t height, struct tools_error *error);

bool tools_image_init(struct tools_image *image, uint32_t width, uint32_t height, struct tools_error *error);
void tools_image_finish(struct tools_image *image); /* a zeroed image is allowed */

/* .png, .jpg and .jpeg, by the name's ending. */
bool tools_image_is_name(const char *path);

/* Any bit depth and colour model of PNG, grey and colour JPEG; alpha is dropped, colour profiles are ignored. */
bool tools_image_read(const char *path, struct tools_image *out, struct tools_error *error);
bool tools_image_write(const char *path, const struct tools_image *image, struct tools_error *error);

/* Halves of the two above, for image.c. */
bool tools_png_read(const char *path, struct tools_image *out, struct tools_error *error);
bool tools_png_write(const char *path, const struct tools_image *image, struct tools_error *error);
bool tools_jpeg_read(const char *path, struct tools_image *out, struct tools_error *error);
bool tools_jpeg_write(const char *path, const struct tools_image *image, struct tools_error *error);

/* Bicubic (a = -0.5); for reduction, the filter is stretched by the factor. Rows first, rounded to 8 bits, then
 * columns: the same pixels as Image.resize(size, BICUBIC) of Pillow. */
bool tools_image_resize(const struct tools_image *from, uint32_t width, uint32_t height, struct tools_image *out,
                        struct tools_error *error);

/* The conversion from pixels to numbers: value = (low + pixel / 255 * (high - low) - mean) / std. */
struct tools_picture {
    float low, high, mean[3], std[3];
    bool nhwc;
};

/* The tensor for a model input of this type and these dims (-1 = free): [N, C, H, W], [C, H, W] or, with nhwc, channels
 * last; N is 1, C is 1 (luma) or 3. Free H and W get the image's size, otherwise the image is resized. Messages use the
 * name in `wanted`. */
bool tools_picture_load(const struct tools_image *image, const struct tools_picture *how,
                        const struct onnx_value_info *wanted, struct tools_array *out, struct tools_error *error);

/* The inverse for one image of 1 or 3 channels: low..high to 0..255, rounded and clamped; mean and std are not
 * inverted. */
bool tools_picture_store(const struct tools_array *array, const struct tools_picture *how, const char *name,
                         struct tools_image *out, struct tools_error *error);

#endif
