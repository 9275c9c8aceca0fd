/* SPDX-License-Identifier: Apache-2.0 */
/* Paints a photograph in the style of an image, with a network as of "fast neural style" in ONNX Runtime on the
 * DirectML execution provider:
 *
 *   sample_style_transfer LIBONNXRUNTIME PROVIDER MODEL PHOTOGRAPH RESULT [bgr]
 *
 * The model takes and makes images [1, 3, height, width] with numbers from 0 to 255. Sizes that it fixes get the middle
 * of the photograph in their shape; open ones the photograph's own. bgr: the network was trained with blue first. */
#include "onnxruntime_sample.h"
#include "tools/media/image.h"

#include <math.h>

static void fail(struct tools_error *error)
{
    exit(tools_report("style_transfer", error));
}

/* ---- images ---- */

/* The largest part of the middle that has this shape. */
static struct tools_image crop(const struct tools_image *image, uint32_t width, uint32_t height)
{
    struct tools_image out;
    struct tools_error error;
    const double scale = fmin((double)image->width / width, (double)image->height / height);
    const uint32_t across = (uint32_t)fmax(1, round(scale * width)), down = (uint32_t)fmax(1, round(scale * height));
    const uint32_t left = (image->width - across) / 2, top = (image->height - down) / 2;
    if (!tools_image_init(&out, across, down, &error))
        fail(&error);
    for (uint32_t y = 0; y < down; y++)
        memcpy(out.pixels + (size_t)y * across * 3, image->pixels + ((size_t)(top + y) * image->width + left) * 3,
               (size_t)across * 3);
    return out;
}

/* The photograph in the size that the model requires. */
static struct tools_image load(const char *path, int64_t sizes[4])
{
    struct tools_image image, part, out;
    struct tools_error error;
    if (!tools_image_read(path, &image, &error))
        fail(&error);
    sizes[0] = sizes[0] < 0 ? 1 : sizes[0];
    sizes[1] = sizes[1] < 0 ? 3 : sizes[1];
    sizes[2] = sizes[2] < 0 ? image.height : sizes[2];
    sizes[3] = sizes[3] < 0 ? image.width : sizes[3];
    if (sizes[0] != 1 || sizes[1] != 3 || sizes[2] < 1 || sizes[3] < 1 || sizes[2] > UINT16_MAX ||
        sizes[3] > UINT16_MAX)
        errx(2, "the model's input is not an image [1, 3, height, width]");
    part = crop(&image, (uint32_t)sizes[3], (uint32_t)sizes[2]);
    if (!tools_image_resize(&part, (uint32_t)sizes[3], (uint32_t)sizes[2], &out, &error))
        fail(&error);
    tools_image_finish(&part);
    tools_image_finish(&image);
    return out;
}

/* The position of colour c of pixel i among `plane` pixels. */
static size_t place(size_t i, size_t c, size_t plane, int blue_first)
{
    return (blue_first ? 2 - c : c) * plane + i;
}

static OrtValue *to_tensor(const struct tools_image *image, const int64_t *sizes, int blue_first)
{
    const size_t plane = (size_t)image->width * image->height;
    OrtValue *value;
    float *data;
    CHECK(ort->CreateTensorAsOrtValue(allocator, sizes, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    CHECK(ort->GetTensorMutableData(value, (void **)&data));
    for (size_t i = 0; i < 3 * plane; i++)
        data[place(i / 3, i % 3, plane, blue_first)] = image->pixels[i];
    return value;
}

/* Styles exceed the range of a byte, so numbers are clamped. */
static struct tools_image to_image(const OrtValue *value, int blue_first)
{
    OrtTensorTypeAndShapeInfo *shape;
    ONNXTensorElementDataType type;
    struct tools_image image;
    struct tools_error error;
    int64_t sizes[4];
    size_t rank;
    const float *data;
    CHECK(ort->GetTensorTypeAndShape(value, &shape));
    CHECK(ort->GetTensorElementType(shape, &type));
    CHECK(ort->GetDimensionsCount(shape, &rank));
    if (rank != 4 || type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
        errx(2, "the model's output is not an image [1, 3, height, width] of floats");
    CHECK(ort->GetDimensions(shape, sizes, 4));
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    if (sizes[0] != 1 || sizes[1] != 3 || sizes[2] < 1 || sizes[3] < 1)
        errx(2, "the model's output is not an image [1, 3, height, width]");
    if (!tools_image_init(&image, (uint32_t)sizes[3], (uint32_t)sizes[2], &error))
        fail(&error);
    const size_t plane = (size_t)image.width * image.height;
    CHECK(ort->GetTensorData(value, (const void **)&data));
    for (size_t i = 0; i < 3 * plane; i++)
        image.pixels[i] = (uint8_t)fminf(fmaxf(rintf(data[place(i / 3, i % 3, plane, blue_first)]), 0), 255);
    return image;
}

int main(int argc, char **argv)
{
    const int blue_first = argc == 7 && !strcmp(argv[6], "bgr");
    struct tools_error error;
    int64_t sizes[5];
    OrtEnv *env;
    if (argc != 6 + blue_first)
        errx(2, "arguments: LIBONNXRUNTIME PROVIDER MODEL PHOTOGRAPH RESULT [bgr]");
    if (!tools_image_is_name(argv[5]))
        errx(2, "%s: names of images end with .png, .jpg or .jpeg", argv[5]);
    open_runtime(argv[1]);
    CHECK(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "style_transfer", &env));
    OrtSession *session = create_session(env, argv[3], register_provider(env, argv[2]));
    if (input_sizes(session, sizes, 5) != 4)
        errx(2, "the model's input is not an image [1, 3, height, width]");
    struct tools_image photograph = load(argv[4], sizes);
    OrtValue *input = to_tensor(&photograph, sizes, blue_first);
    const double begin = now_ms();
    OrtValue *output = run_session(session, input);
    const double first = now_ms();
    ort->ReleaseValue(output);
    output = run_session(session, input);
    const double second = now_ms();
    struct tools_image result = to_image(output, blue_first);
    if (!tools_image_write(argv[5], &result, &error))
        fail(&error);
    printf("%ux%u to %ux%u; first run %.1f ms, second %.1f ms\n", photograph.width, photograph.height, result.width,
           result.height, first - begin, second - first);
    tools_image_finish(&photograph);
    tools_image_finish(&result);
    ort->ReleaseValue(input);
    ort->ReleaseValue(output);
    ort->ReleaseSession(session);
    CHECK(ort->UnregisterExecutionProviderLibrary(env, "directml")); /* after its sessions, before the environment */
    ort->ReleaseEnv(env);
    return 0;
}
