/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/media/image.h"

#include "tools/output.h"
#include "tools/text.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

bool tools_image_fits(uint32_t width, uint32_t height, struct tools_error *error)
{
    /* 2^28 pixels are 768 MiB; more is a broken file or a mistake. */
    return (width && height && (uint64_t)width * height <= TOOLS_IMAGE_PIXELS_MAX) ||
           tools_fail(error, TOOLS_USAGE, "an image of %ux%u is not supported", width, height);
}

bool tools_image_init(struct tools_image *image, uint32_t width, uint32_t height, struct tools_error *error)
{
    *image = (struct tools_image){ width, height, NULL };
    if (!tools_image_fits(width, height, error))
        return false;
    image->pixels = calloc((size_t)width * height, 3);
    return image->pixels ? true : tools_fail_memory(error);
}

void tools_image_finish(struct tools_image *image)
{
    free(image->pixels);
    image->pixels = NULL;
}

bool tools_image_is_name(const char *path)
{
    return tools_ends_with(path, ".png") || tools_ends_with(path, ".jpg") || tools_ends_with(path, ".jpeg");
}

bool tools_image_read(const char *path, struct tools_image *out, struct tools_error *error)
{
    *out = (struct tools_image){ 0 };
    bool ok = tools_ends_with(path, ".png") ? tools_png_read(path, out, error) : tools_jpeg_read(path, out, error);
    if (!ok)
        tools_image_finish(out);
    return ok;
}

bool tools_image_write(const char *path, const struct tools_image *image, struct tools_error *error)
{
    return tools_ends_with(path, ".png") ? tools_png_write(path, image, error) : tools_jpeg_write(path, image, error);
}

/* Shared by libpng's error handlers and the code around setjmp; outside of the frame that longjmp returns to. */
struct png_job {
    FILE *file;
    png_structp png;
    png_infop info;
    png_bytep *rows;
    char message[200];
};

static void png_on_error(png_structp png, png_const_charp message)
{
    struct png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof(job->message), "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void png_on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* Everything is converted to 8-bit RGB. */
static void png_ask_for_rgb(struct png_job *job)
{
    png_set_expand(job->png);
    png_set_scale_16(job->png);
    png_set_strip_alpha(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
}

/* Runs under setjmp: local variables are not used after an error. */
static bool png_read_pixels(struct png_job *job, struct tools_image *out, struct tools_error *error)
{
    if (setjmp(png_jmpbuf(job->png)))
        return tools_fail(error, TOOLS_USAGE, "%s", job->message);
    png_init_io(job->png, job->file);
    png_read_info(job->png, job->info);
    if (!tools_image_fits(png_get_image_width(job->png, job->info), png_get_image_height(job->png, job->info), error))
        return false;
    png_ask_for_rgb(job);
    if (!tools_image_init(out, png_get_image_width(job->png, job->info), png_get_image_height(job->png, job->info),
                          error))
        return false;
    if (png_get_rowbytes(job->png, job->info) != (size_t)out->width * 3)
        return tools_fail(error, TOOLS_USAGE, "unknown colour model");
    job->rows = calloc(out->height, sizeof(*job->rows));
    if (!job->rows)
        return tools_fail_memory(error);
    for (uint32_t y = 0; y < out->height; y++)
        job->rows[y] = out->pixels + (size_t)y * out->width * 3;
    png_read_image(job->png, job->rows);
    png_read_end(job->png, NULL);
    return true;
}

bool tools_png_read(const char *path, struct tools_image *out, struct tools_error *error)
{
    struct png_job job = { .file = fopen(path, "rb") };
    if (!job.file)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, strerror(errno));
    job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, png_on_error, png_on_warning);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    struct tools_error inner = { TOOLS_RUNTIME, "out of memory" };
    bool ok = job.info && png_read_pixels(&job, out, &inner);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    free(job.rows);
    fclose(job.file);
    return ok || tools_fail(error, inner.code, "cannot read %s: %s", path, inner.text);
}

static bool png_write_pixels(struct png_job *job, const struct tools_image *image)
{
    if (setjmp(png_jmpbuf(job->png)))
        return false;
    png_init_io(job->png, job->file);
    png_set_IHDR(job->png, job->info, image->width, image->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(job->png, job->info);
    for (uint32_t y = 0; y < image->height; y++)
        png_write_row(job->png, image->pixels + (size_t)y * image->width * 3);
    png_write_end(job->png, NULL);
    return true;
}

bool tools_png_write(const char *path, const struct tools_image *image, struct tools_error *error)
{
    struct png_job job = { .message = "out of memory" };
    struct tools_output output;
    if (!tools_output_open(&output, path, error))
        return false;
    job.file = output.file;
    job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, png_on_error, png_on_warning);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    bool ok = job.info && png_write_pixels(&job, image);
    png_destroy_write_struct(&job.png, &job.info);
    if (!ok)
        tools_fail(error, TOOLS_USAGE, "cannot write %s: %s", path, job.message);
    return tools_output_close(&output, ok, error);
}
