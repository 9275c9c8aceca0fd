/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/run.h"

#include "tools/text.h"

#include <errno.h>
#include <stdlib.h>

#define RUN_TOP 5

/* Writes pixels of float or uint8 outputs; other floating-point types are converted first. */
static bool run_write_picture(struct run *run, uint32_t i, const struct tools_array *array, struct tools_error *error)
{
    const char *file = run->output_files[i], *name = run->program->onnx->outputs[i].name;
    struct tools_picture how = run->picture;
    struct tools_array copy;
    struct tools_image image = { 0 };
    if (!tools_array_init(&copy, array->type, array->rank, array->dims, error))
        return false;
    memcpy(copy.data, array->data, array->bytes);
    bool ok = (array->type != ONNX_FLOAT16 && array->type != ONNX_DOUBLE) ||
              tools_array_convert(&copy, ONNX_FLOAT, name, error);
    ok = ok && tools_picture_store(&copy, &how, name, &image, error) &&
         (tools_video_is_name(file) ? tools_run_keep_frame(run, i, &image, error)
                                    : tools_image_write(file, &image, error));
    tools_image_finish(&image);
    tools_array_finish(&copy);
    return ok;
}

static bool run_store_output(struct run *run, uint32_t i, const struct tools_array *array, struct tools_error *error)
{
    const char *file = run->output_files[i], *name = run->program->onnx->outputs[i].name;
    char shape[256];
    if (!run->folder.frame) /* not for each frame of a video */
        printf("output  %s  %s%s%s\n", name,
               tools_shape_text(shape, sizeof(shape), array->type, array->rank, array->dims, NULL), file ? " -> " : "",
               file ? file : "");
    if (!file)
        return true;
    if (tools_ends_with(file, ".npy"))
        return tools_npy_write(file, array, error);
    return run_write_picture(run, i, array, error);
}

/* ---- labels ---- */

struct run_labels {
    char *text; /* the targets of lines[i] */
    char **lines;
    uint64_t count;
};

static bool run_read_labels(const char *path, uint64_t count, struct run_labels *out, struct tools_error *error)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0;
    ssize_t length = file ? getdelim(&out->text, &size, 0, file) : -1;
    if (file)
        fclose(file);
    if (length < 0)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, file ? "it is empty" : strerror(errno));
    out->lines = calloc(count, sizeof(*out->lines));
    if (!out->lines)
        return tools_fail_memory(error);
    char *rest = out->text;
    for (char *line; out->count < count && (line = strsep(&rest, "\n")); out->count++) {
        line[strcspn(line, "\r")] = 0;
        out->lines[out->count] = line;
    }
    return true;
}

static void run_print_top(const double *scores, uint64_t count, const struct run_labels *labels)
{
    uint64_t best[RUN_TOP];
    uint32_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t at = found;
        while (at > 0 && scores[i] > scores[best[at - 1]])
            at--;
        if (at == RUN_TOP)
            continue;
        found = BASE_MIN(found + 1, RUN_TOP);
        memmove(best + at + 1, best + at, (found - at - 1) * sizeof(*best));
        best[at] = i;
    }
    for (uint32_t t = 0; t < found; t++)
        printf("  %-10.6g %llu %s\n", scores[best[t]], (unsigned long long)best[t],
               best[t] < labels->count ? labels->lines[best[t]] : "");
}

static bool run_top(const struct run *run, struct tools_array *array, struct tools_error *error)
{
    struct run_labels labels = { 0 };
    uint64_t count = tools_array_count(array);
    bool ok = tools_array_convert(array, ONNX_DOUBLE, "--labels: the first output", error) &&
              run_read_labels(run->labels, count, &labels, error);
    if (ok)
        run_print_top(array->data, count, &labels);
    free(labels.lines);
    free(labels.text);
    return ok;
}

bool tools_run_store(struct run *run, struct tools_error *error)
{
    for (uint32_t i = 0; i < run->program->onnx->output_count; i++) {
        struct tools_array array;
        if (!tools_program_get_output(run->program, i, &array, error))
            return false;
        bool ok = run_store_output(run, i, &array, error) && (i || !run->labels || run_top(run, &array, error));
        tools_array_finish(&array);
        if (!ok)
            return false;
    }
    return true;
}
