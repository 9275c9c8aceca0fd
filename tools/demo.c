/* SPDX-License-Identifier: Apache-2.0 */
/* The program behind `make demo`: halves a photograph, doubles it again with a small network on the default device, and
 * compares the result and a bicubic enlargement with the original.
 *
 *   anydml-demo IMAGE.jpg MODEL.onnx FOLDER
 *
 * Exit code 0 if the network is closer to the original than bicubic, 1 if not or the device failed, 2 if a file is
 * wrong. */
#include "tools/media/image.h"
#include "tools/program.h"
#include "tools/text.h"

#include <math.h>
#include <stdlib.h>

#define DEMO_RUNS 5
#define DEMO_ZOOM 4 /* of the details in side_by_side.png */
#define DEMO_GAP  8 /* pixels between the four parts of side_by_side.png */

struct demo {
    struct tools_image original, small, bicubic, network;
    struct onnx_model *model;
    struct tools_session *session;
    struct tools_program *program;
    struct tools_array picture, upscaled;
    double milliseconds;
};

/* Over all pixels and the three colours. */
static double demo_psnr(const struct tools_image *a, const struct tools_image *b)
{
    double sum = 0;
    size_t count = (size_t)a->width * a->height * 3;
    for (size_t i = 0; i < count; i++) {
        double difference = (double)a->pixels[i] - b->pixels[i];
        sum += difference * difference;
    }
    return 10 * log10(255.0 * 255.0 / fmax(sum / (double)count, 1e-12));
}

static bool demo_cut(const struct tools_image *from, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                     struct tools_image *out, struct tools_error *error)
{
    if (!tools_image_init(out, width, height, error))
        return false;
    for (uint32_t row = 0; row < height; row++)
        memcpy(out->pixels + (size_t)row * width * 3, from->pixels + ((size_t)(y + row) * from->width + x) * 3,
               (size_t)width * 3);
    return true;
}

/* The original without an odd last column and row, its half, and the half enlarged by the bicubic filter. */
static bool demo_pictures(struct demo *d, const char *path, struct tools_error *error)
{
    struct tools_image whole;
    if (!tools_image_read(path, &whole, error))
        return false;
    bool ok = demo_cut(&whole, 0, 0, whole.width & ~1u, whole.height & ~1u, &d->original, error);
    tools_image_finish(&whole);
    return ok && tools_image_resize(&d->original, d->original.width / 2, d->original.height / 2, &d->small, error) &&
           tools_image_resize(&d->small, d->original.width, d->original.height, &d->bicubic, error);
}

static bool demo_load(struct demo *d, const char *path, struct tools_error *error)
{
    if (!tools_model_load(path, &d->model, error))
        return false;
    return (d->model->input_count == 1 && d->model->output_count == 1) ||
           tools_fail(error, TOOLS_USAGE, "%s is not a network with one input and one output", path);
}

/* On the default device; where that cannot be used after all, on the next: the CPU is the last. */
static bool demo_open(struct demo *d, struct tools_error *error)
{
    uint32_t count;
    if (!tools_device_count(&count, error))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (tools_session_create(i, &d->session, error))
            return true;
        if (i + 1 < count)
            fprintf(stderr, "anydml-demo: device %u: %s; the next one is used\n", i, error->text);
    }
    return false;
}

static bool demo_compile(struct demo *d, struct tools_error *error)
{
    static const struct tools_picture how = { .high = 1, .std = { 1, 1, 1 } };
    struct onnx_value_info input = d->model->inputs[0];
    struct onnx_input shape = { 0 };
    struct onnx_program *compiled;
    double ms;
    input.type = ONNX_FLOAT;
    if (!tools_picture_load(&d->small, &how, &input, &d->picture, error))
        return false;
    shape.rank = d->picture.rank;
    memcpy(shape.dims, d->picture.dims, sizeof(shape.dims));
    return demo_open(d, error) &&
           tools_compile(d->session, d->model, &shape, DML_EXECUTION_FLAG_NONE, &compiled, &ms, error) &&
           tools_program_create(d->session, compiled, &d->program, error) &&
           tools_program_set_input(d->program, 0, &d->picture, error);
}

static bool demo_run(struct demo *d, struct tools_error *error)
{
    static const struct tools_picture how = { .high = 1, .std = { 1, 1, 1 } };
    double runs[DEMO_RUNS];
    for (uint32_t i = 0; i < DEMO_RUNS; i++)
        if (!tools_program_run(d->program, &runs[i], error))
            return false;
    d->milliseconds = tools_percentile(runs, DEMO_RUNS, 0.5);
    if (!tools_program_get_output(d->program, 0, &d->upscaled, error) ||
        !tools_picture_store(&d->upscaled, &how, "upscaled", &d->network, error))
        return false;
    return (d->network.width == d->original.width && d->network.height == d->original.height) ||
           tools_fail(error, TOOLS_USAGE, "the network does not double the size of the image");
}

/* ---- side_by_side.png: both images, and below them the same detail of both, enlarged ---- */

/* The sum of differences of neighbouring pixels inside a rectangle of the original. */
static uint64_t demo_detail(const struct tools_image *image, uint32_t x0, uint32_t y0, uint32_t width, uint32_t height)
{
    uint64_t sum = 0;
    for (uint32_t y = y0; y + 1 < y0 + height; y++) {
        for (uint32_t x = x0; x + 1 < x0 + width; x++) {
            const uint8_t *pixel = image->pixels + ((size_t)y * image->width + x) * 3;
            int across = pixel[1] - pixel[4], down = pixel[1] - pixel[(size_t)image->width * 3 + 1];
            sum += (uint64_t)(across * across + down * down);
        }
    }
    return sum;
}

/* The part of the original with the strongest edges, to show the difference. */
static void demo_choose(const struct tools_image *image, uint32_t width, uint32_t height, uint32_t *out_x,
                        uint32_t *out_y)
{
    uint64_t best = 0;
    *out_x = *out_y = 0;
    for (uint32_t y = 0; y + height <= image->height; y += BASE_MAX(height / 4, 1)) {
        for (uint32_t x = 0; x + width <= image->width; x += BASE_MAX(width / 4, 1)) {
            uint64_t detail = demo_detail(image, x, y, width, height);
            if (detail <= best)
                continue;
            best = detail;
            *out_x = x;
            *out_y = y;
        }
    }
}

/* Copies the part of `from` that starts at (x, y), every pixel `zoom` times, to fill width x height at (to_x, to_y). */
static void demo_paste(const struct tools_image *from, uint32_t x, uint32_t y, uint32_t zoom, struct tools_image *to,
                       uint32_t to_x, uint32_t to_y)
{
    for (uint32_t row = 0; row < from->height; row++) {
        for (uint32_t column = 0; column < from->width; column++) {
            const uint8_t *pixel = from->pixels + ((size_t)(y + row / zoom) * from->width + x + column / zoom) * 3;
            memcpy(to->pixels + ((size_t)(to_y + row) * to->width + to_x + column) * 3, pixel, 3);
        }
    }
}

static bool demo_side_by_side(const struct demo *d, const char *path, struct tools_error *error)
{
    uint32_t width = d->original.width, height = d->original.height, x, y;
    struct tools_image sheet;
    if (!tools_image_init(&sheet, 2 * width + DEMO_GAP, 2 * height + DEMO_GAP, error))
        return false;
    memset(sheet.pixels, 255, (size_t)sheet.width * sheet.height * 3);
    demo_choose(&d->original, width / DEMO_ZOOM, height / DEMO_ZOOM, &x, &y);
    demo_paste(&d->bicubic, 0, 0, 1, &sheet, 0, 0);
    demo_paste(&d->network, 0, 0, 1, &sheet, width + DEMO_GAP, 0);
    demo_paste(&d->bicubic, x, y, DEMO_ZOOM, &sheet, 0, height + DEMO_GAP);
    demo_paste(&d->network, x, y, DEMO_ZOOM, &sheet, width + DEMO_GAP, height + DEMO_GAP);
    bool ok = tools_image_write(path, &sheet, error);
    tools_image_finish(&sheet);
    return ok;
}

static bool demo_report(const struct demo *d, const char *folder, struct tools_error *error)
{
    char upscaled[1024], sheet[1024];
    snprintf(upscaled, sizeof(upscaled), "%s/upscaled.png", folder);
    snprintf(sheet, sizeof(sheet), "%s/side_by_side.png", folder);
    if (!tools_image_write(upscaled, &d->network, error) || !demo_side_by_side(d, sheet, error))
        return false;
    double bicubic = demo_psnr(&d->original, &d->bicubic), network = demo_psnr(&d->original, &d->network);
    double pixels = (double)d->network.width * d->network.height;
    printf("device      %s (%s)\n", d->session->info.name, d->session->info.kind);
    printf("image       %ux%u -> %ux%u\n", d->small.width, d->small.height, d->network.width, d->network.height);
    printf("time        %.1f ms (median of %d runs), %.2f megapixels per second\n", d->milliseconds, DEMO_RUNS,
           pixels / d->milliseconds / 1e3);
    printf("bicubic     %.2f dB PSNR against the original\n", bicubic);
    printf("network     %.2f dB PSNR against the original (%+.2f dB)\n", network, network - bicubic);
    return network > bicubic || tools_fail(error, TOOLS_RUNTIME, "the network is not better than bicubic");
}

static void demo_finish(struct demo *d)
{
    tools_array_finish(&d->upscaled);
    tools_array_finish(&d->picture);
    tools_program_destroy(d->program);
    tools_session_destroy(d->session);
    if (d->model)
        onnx_model_destroy(d->model);
    tools_image_finish(&d->original);
    tools_image_finish(&d->small);
    tools_image_finish(&d->bicubic);
    tools_image_finish(&d->network);
}

int main(int argc, char **argv)
{
    struct demo d = { 0 };
    struct tools_error error;
    if (argc != 4) {
        fprintf(stderr, "usage: anydml-demo IMAGE.jpg MODEL.onnx FOLDER\n");
        return TOOLS_USAGE;
    }
    bool ok = demo_pictures(&d, argv[1], &error) && demo_load(&d, argv[2], &error) && demo_compile(&d, &error) &&
              demo_run(&d, &error) && demo_report(&d, argv[3], &error);
    demo_finish(&d);
    return ok ? 0 : tools_report("anydml-demo", &error);
}
