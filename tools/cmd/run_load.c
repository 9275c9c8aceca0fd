/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/run.h"

#include "tools/files.h"
#include "tools/output.h"
#include "tools/text.h"

#include <stdlib.h>
#include <unistd.h>

/* All inputs, so that none is overwritten. */
static void run_note_inputs(const struct run *run)
{
    tools_files_read(run->labels);
    for (uint32_t i = 0; i < run->model->input_count; i++)
        tools_files_read(run->input_files[i]);
}

/* ---- assignment of files to tensors ---- */

static void run_names(const struct onnx_value_info *infos, uint32_t count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%s'", i ? ", " : "", infos[i].name);
}

/* The tensor that "NAME=FILE" names, or `count`. */
static uint32_t run_find(const struct onnx_value_info *infos, uint32_t count, const char *text, const char **file)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(infos[i].name);
        if (strncmp(text, infos[i].name, length) == 0 && text[length] == '=') {
            *file = text + length + 1;
            return i;
        }
    }
    *file = text;
    return count;
}

static bool run_unknown(const struct onnx_value_info *infos, uint32_t count, const char *kind, const char *text,
                        struct tools_error *error)
{
    char names[256];
    run_names(infos, count, names, sizeof(names));
    return tools_fail(error, TOOLS_USAGE, "--%s %s: unknown %s; the model has %s", kind, text, kind, names);
}

/* Named files first; the others are assigned to the remaining tensors in order. */
static bool run_assign(const struct onnx_value_info *infos, uint32_t count, const char *kind, const char *const *given,
                       uint32_t given_count, const char **files, struct tools_error *error)
{
    const char *file;
    for (uint32_t g = 0; g < given_count; g++) {
        uint32_t i = run_find(infos, count, given[g], &file);
        if (i == count)
            continue;
        if (files[i])
            return tools_fail(error, TOOLS_USAGE, "%s '%s' is given twice", kind, infos[i].name);
        files[i] = file;
    }
    uint32_t next = 0;
    for (uint32_t g = 0; g < given_count; g++) {
        if (run_find(infos, count, given[g], &file) < count)
            continue;
        /* "wrong=file.npy" is a wrong name, unless a file is called that. */
        if (strchr(file, '=') && access(file, F_OK) != 0)
            return run_unknown(infos, count, kind, file, error);
        while (next < count && files[next])
            next++;
        if (next == count)
            return tools_fail(error, TOOLS_USAGE, "--%s %s: the model has only %u %ss", kind, file, count, kind);
        files[next] = file;
    }
    return true;
}

static bool run_check_outputs(const struct run *run, struct tools_error *error)
{
    if (run->trace_path && !tools_output_check(run->trace_path, error))
        return false;
    for (uint32_t i = 0; i < run->model->output_count; i++) {
        const char *file = run->output_files[i];
        if (file && tools_video_is_name(file) && !run->folder.video.path)
            return tools_fail(error, TOOLS_USAGE, "--output %s: a video output requires a video input", file);
        if (file && !tools_ends_with(file, ".npy") && !tools_image_is_name(file) && !tools_video_is_name(file))
            return tools_fail(error, TOOLS_USAGE, "--output %s: the name must end in .npy, .png or .jpg", file);
        if (file && !tools_output_check(file, error)) /* before the work, not after it */
            return false;
    }
    return true;
}

/* ---- reading ---- */

static bool run_read_picture(struct run *run, uint32_t i, struct tools_error *error)
{
    const struct onnx_value_info *info = &run->model->inputs[i];
    struct onnx_value_info wanted = { run->input_files[i], info->type, .rank = 4, .dims = { -1, -1, -1, -1 } };
    struct tools_picture how = run->picture;
    struct tools_image image;
    if (!run->has_range && info->type == ONNX_UINT8)
        how.high = 255;
    if (run->folder.video.path && i == run->folder.input) {
        if (!tools_run_frame(run, &image, error) || run->folder.ended)
            return run->folder.ended;
    } else if (!tools_image_read(run->input_files[i], &image, error))
        return false;
    if (info->has_shape) {
        wanted.rank = info->rank;
        memcpy(wanted.dims, info->dims, sizeof(wanted.dims));
    }
    bool ok = tools_picture_load(&image, &how, &wanted, &run->arrays[i], error);
    tools_image_finish(&image);
    return ok;
}

/* "'" and NumPy's repr aside: the model's shape and the file's, in one line. */
static bool run_wrong_shape(const struct run *run, uint32_t i, struct tools_error *error)
{
    const struct onnx_value_info *info = &run->model->inputs[i];
    const struct tools_array *array = &run->arrays[i];
    char want[256], have[256];
    tools_shape_text(want, sizeof(want), info->type, info->rank, info->dims, (const char *const *)info->symbols);
    tools_shape_text(have, sizeof(have), array->type, array->rank, array->dims, NULL);
    return tools_fail(error, TOOLS_USAGE, "input '%s' is %s, but %s has %s", info->name, want, run->input_files[i],
                      have);
}

static bool run_read_npy(struct run *run, uint32_t i, struct tools_error *error)
{
    const struct onnx_value_info *info = &run->model->inputs[i];
    struct tools_array *array = &run->arrays[i];
    if (!tools_npy_read(run->input_files[i], array, error))
        return false;
    bool fits = !info->has_shape || info->rank == array->rank;
    for (uint32_t d = 0; fits && d < array->rank; d++)
        fits =
            array->dims[d] <= INT32_MAX && (!info->has_shape || info->dims[d] < 0 || info->dims[d] == array->dims[d]);
    return fits ? tools_array_convert(array, info->type, run->input_files[i], error) : run_wrong_shape(run, i, error);
}

bool tools_run_read(struct run *run, uint32_t i, struct tools_error *error)
{
    const struct onnx_value_info *info = &run->model->inputs[i];
    const char *file = run->input_files[i];
    char shape[256];
    if (!onnx_type_bytes(info->type))
        return tools_fail(error, TOOLS_USAGE, "input '%s' has the data type %s, which is not supported", info->name,
                          onnx_type_name(info->type));
    if (!file)
        return tools_fail(error, TOOLS_USAGE, "--input is missing for '%s', %s", info->name,
                          tools_shape_text(shape, sizeof(shape), info->type, info->rank, info->dims,
                                           (const char *const *)info->symbols));
    if (!tools_ends_with(file, ".npy") && !tools_image_is_name(file) && !tools_video_is_name(file))
        return tools_fail(error, TOOLS_USAGE, "--input %s: the name must end in .npy, .png, .jpg or that of a video",
                          file);
    return tools_ends_with(file, ".npy") ? run_read_npy(run, i, error) : run_read_picture(run, i, error);
}

/* ---- symbolic dimensions: one name, one size ---- */

static bool run_same_symbol(const struct run *run, uint32_t a, uint32_t da, struct tools_error *error)
{
    const struct onnx_value_info *infos = run->model->inputs;
    const char *symbol = infos[a].symbols[da];
    for (uint32_t b = 0; b <= a; b++) {
        for (uint32_t db = 0; infos[b].has_shape && db < infos[b].rank; db++) {
            const char *other = infos[b].dims[db] < 0 ? infos[b].symbols[db] : NULL;
            if (other && strcmp(symbol, other) == 0 && run->arrays[a].dims[da] != run->arrays[b].dims[db])
                return tools_fail(error, TOOLS_USAGE, "dimension '%s' is %lld in '%s' and %lld in '%s'", symbol,
                                  (long long)run->arrays[b].dims[db], infos[b].name, (long long)run->arrays[a].dims[da],
                                  infos[a].name);
        }
    }
    return true;
}

static bool run_check_symbols(const struct run *run, uint32_t i, struct tools_error *error)
{
    const struct onnx_value_info *info = &run->model->inputs[i];
    for (uint32_t d = 0; info->has_shape && d < info->rank; d++)
        if (info->dims[d] < 0 && info->symbols[d] && info->symbols[d][0] && !run_same_symbol(run, i, d, error))
            return false;
    return true;
}

bool tools_run_check_symbols(const struct run *run, struct tools_error *error)
{
    for (uint32_t i = 0; i < run->model->input_count; i++)
        if (!run_check_symbols(run, i, error))
            return false;
    return true;
}

static bool run_allocate(struct run *run)
{
    const struct onnx_model *model = run->model;
    run->input_files = calloc(model->input_count + 1, sizeof(*run->input_files));
    run->output_files = calloc(model->output_count + 1, sizeof(*run->output_files));
    run->arrays = calloc(model->input_count + 1, sizeof(*run->arrays));
    run->shapes = calloc(model->input_count + 1, sizeof(*run->shapes));
    return run->input_files && run->output_files && run->arrays && run->shapes;
}

bool tools_run_load(struct run *run, struct tools_error *error)
{
    if (!tools_model_load(run->path, &run->model, error))
        return false;
    const struct onnx_model *model = run->model;
    if (!run_allocate(run))
        return tools_fail_memory(error);
    if (!run_assign(model->inputs, model->input_count, "input", run->inputs, run->input_count, run->input_files,
                    error) ||
        !run_assign(model->outputs, model->output_count, "output", run->outputs, run->output_count, run->output_files,
                    error))
        return false;
    run_note_inputs(run);
    if (!tools_run_folder_find(run, error) || !run_check_outputs(run, error))
        return false;
    for (uint32_t i = 0; i < model->input_count; i++) {
        if (!tools_run_read(run, i, error))
            return false;
        if (run->folder.ended)
            return tools_fail(error, TOOLS_USAGE, "--input %s: it has no frames", run->input_files[i]);
        run->shapes[i].rank = run->arrays[i].rank;
        memcpy(run->shapes[i].dims, run->arrays[i].dims, sizeof(run->shapes[i].dims));
    }
    return tools_run_check_symbols(run, error);
}
