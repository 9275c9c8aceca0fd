/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/media/image.h"
#include "tools/output.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h> /* before jpeglib.h, which needs FILE but does not include it */
#include <stdlib.h>

#define XMD_H /* keeps jmorecfg.h from defining INT16 and INT32, which the Direct3D headers have defined */
#include <jpeglib.h>
#include <jerror.h>

#define JPEG_WRITE_QUALITY 92

/* For a progressive image libjpeg stores all coefficients, two bytes each, and each scan processes them again. */
#define JPEG_MEMORY_MAX (1l << 30)
#define JPEG_SCANS_MAX  200

struct jpeg_job {
    struct jpeg_error_mgr errors; /* first: libjpeg hands out its address */
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    FILE *file;
    char message[JMSG_LENGTH_MAX];
};

static void jpeg_on_error(j_common_ptr jpeg)
{
    struct jpeg_job *job = (struct jpeg_job *)jpeg->err;
    if (jpeg->err->msg_code == JERR_NO_BACKING_STORE)
        snprintf(job->message, sizeof(job->message), "decoding it requires more than %ld MiB of memory",
                 JPEG_MEMORY_MAX >> 20);
    else
        jpeg->err->format_message(jpeg, job->message);
    longjmp(job->back, 1);
}

/* Cameras write files with small errors that do not matter; a truncated file does. */
static void jpeg_on_message(j_common_ptr jpeg, int level)
{
    if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF)
        jpeg_on_error(jpeg);
}

static void jpeg_on_progress(j_common_ptr jpeg)
{
    struct jpeg_job *job = (struct jpeg_job *)jpeg->err;
    if (((j_decompress_ptr)jpeg)->input_scan_number <= JPEG_SCANS_MAX)
        return;
    snprintf(job->message, sizeof(job->message), "more than %d scans", JPEG_SCANS_MAX);
    longjmp(job->back, 1);
}

static void jpeg_job_init(struct jpeg_job *job)
{
    jpeg_std_error(&job->errors);
    job->errors.error_exit = jpeg_on_error;
    job->errors.emit_message = jpeg_on_message;
    job->progress.progress_monitor = jpeg_on_progress;
}

/* Runs under setjmp: everything needed after an error is behind the pointers. */
static bool jpeg_read_pixels(struct jpeg_job *job, struct jpeg_decompress_struct *jpeg, struct tools_image *out,
                             struct tools_error *error)
{
    if (setjmp(job->back))
        return tools_fail(error, TOOLS_USAGE, "%s", job->message);
    jpeg_create_decompress(jpeg);
    jpeg->progress = &job->progress;
    jpeg->mem->max_memory_to_use = JPEG_MEMORY_MAX;
    jpeg_stdio_src(jpeg, job->file);
    jpeg_read_header(jpeg, TRUE);
    if (!tools_image_fits(jpeg->image_width, jpeg->image_height, error))
        return false;
    jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    if (!tools_image_init(out, jpeg->output_width, jpeg->output_height, error))
        return false;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = out->pixels + (size_t)jpeg->output_scanline * out->width * 3;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

bool tools_jpeg_read(const char *path, struct tools_image *out, struct tools_error *error)
{
    struct jpeg_job job = { .file = fopen(path, "rb") };
    if (!job.file)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, strerror(errno));
    jpeg_job_init(&job);
    struct jpeg_decompress_struct jpeg = { .err = &job.errors };
    struct tools_error inner;
    bool ok = jpeg_read_pixels(&job, &jpeg, out, &inner);
    jpeg_destroy_decompress(&jpeg);
    fclose(job.file);
    return ok || tools_fail(error, inner.code, "cannot read %s: %s", path, inner.text);
}

static bool jpeg_write_pixels(struct jpeg_job *job, struct jpeg_compress_struct *jpeg, const struct tools_image *image)
{
    if (setjmp(job->back))
        return false;
    jpeg_create_compress(jpeg);
    jpeg_stdio_dest(jpeg, job->file);
    jpeg->image_width = image->width;
    jpeg->image_height = image->height;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, JPEG_WRITE_QUALITY, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW row = image->pixels + (size_t)jpeg->next_scanline * image->width * 3;
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
    return true;
}

bool tools_jpeg_write(const char *path, const struct tools_image *image, struct tools_error *error)
{
    struct tools_output output;
    if (!tools_output_open(&output, path, error))
        return false;
    struct jpeg_job job = { .file = output.file };
    jpeg_job_init(&job);
    struct jpeg_compress_struct jpeg = { .err = &job.errors };
    bool ok = jpeg_write_pixels(&job, &jpeg, image);
    jpeg_destroy_compress(&jpeg);
    if (!ok)
        tools_fail(error, TOOLS_USAGE, "cannot write %s: %s", path, job.message);
    return tools_output_close(&output, ok, error);
}
