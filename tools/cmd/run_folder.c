/* SPDX-License-Identifier: Apache-2.0 */
/* `anydml run` with a folder or a video for one of the inputs: the model runs once for each image and .npy file, or for
 * each frame. */
#include "tools/cmd/run.h"

#include "tools/files.h"
#include "tools/progress.h"
#include "tools/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool run_is_folder(const char *path)
{
    struct stat about;
    return path && !stat(path, &about) && S_ISDIR(about.st_mode);
}

static bool run_is_input(const char *name)
{
    return name[0] != '.' && (tools_ends_with(name, ".npy") || tools_image_is_name(name));
}

static int run_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *run_join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static bool run_add_name(struct run_folder *folder, const char *name)
{
    char **names = realloc(folder->names, (folder->count + 1) * sizeof(*names));
    if (names)
        folder->names = names;
    if (!names || !(names[folder->count] = strdup(name)))
        return false;
    folder->count++;
    return true;
}

static bool run_list(struct run_folder *folder, struct tools_error *error)
{
    DIR *directory = opendir(folder->path);
    bool ok = true;
    if (!directory)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", folder->path, strerror(errno));
    for (struct dirent *entry; ok && (entry = readdir(directory));)
        ok = !run_is_input(entry->d_name) || run_add_name(folder, entry->d_name);
    closedir(directory);
    if (!ok)
        return tools_fail_memory(error);
    if (!folder->count)
        return tools_fail(error, TOOLS_USAGE, "--input %s: no .npy, .png or .jpg file is in it", folder->path);
    qsort(folder->names, folder->count, sizeof(*folder->names), run_compare_names);
    return true;
}

/* Inputs must be regular files, and no result may replace one of them. */
static bool run_check_files(struct run *run, struct tools_error *error)
{
    struct run_folder *folder = &run->folder;
    bool ok = true;
    for (uint32_t i = 0; ok && i < folder->count; i++) {
        struct stat about;
        char *path = run_join(folder->path, folder->names[i]);
        ok = path || tools_fail_memory(error);
        if (ok && (stat(path, &about) || !S_ISREG(about.st_mode)))
            ok = tools_fail(error, TOOLS_USAGE, "--input %s: it is not a regular file", path);
        if (ok)
            tools_files_read(path);
        free(path);
    }
    for (uint32_t i = 0; ok && i < folder->count * run->model->output_count; i++) {
        const char *where = folder->outputs[i / folder->count];
        char *path = where ? run_join(where, folder->names[i % folder->count]) : NULL;
        ok = path || !where || tools_fail_memory(error);
        if (ok && path && tools_files_is_read(path))
            ok = tools_fail(error, TOOLS_USAGE, "--output %s: %s is an input", where, path);
        free(path);
    }
    return ok;
}

/* The paths of file number `number`; frames of a video that go to a folder are numbered from 1 on. */
static bool run_select(struct run *run, uint32_t number, struct tools_error *error)
{
    struct run_folder *folder = &run->folder;
    char frame[32];
    snprintf(frame, sizeof(frame), "%06u.png", number + 1);
    bool ok = true;
    if (!folder->video.path) {
        free(folder->file);
        folder->file = run_join(folder->path, folder->names[number]);
        run->input_files[folder->input] = folder->file;
        ok = folder->file != NULL;
    }
    for (uint32_t i = 0; ok && i < run->model->output_count; i++)
        if (folder->outputs[i]) {
            free((char *)run->output_files[i]);
            run->output_files[i] = run_join(folder->outputs[i], folder->video.path ? frame : folder->names[number]);
            ok = run->output_files[i] != NULL;
        }
    return ok || tools_fail_memory(error);
}

/* ---- videos ---- */

bool tools_run_frame(struct run *run, struct tools_image *out, struct tools_error *error)
{
    if (!tools_video_read(&run->folder.video, out, error))
        return false;
    run->folder.ended = !out->pixels;
    return true;
}

bool tools_run_keep_frame(struct run *run, uint32_t i, const struct tools_image *image, struct tools_error *error)
{
    struct tools_video *made = &run->folder.made[i];
    return (made->path || tools_video_create(run->output_files[i], run->folder.video.rate, made, error)) &&
           tools_video_write(made, image, error);
}

static bool run_open_video(struct run *run, struct tools_error *error)
{
    struct run_folder *folder = &run->folder;
    folder->made = calloc(run->model->output_count + 1, sizeof(*folder->made));
    if (!folder->made)
        return tools_fail_memory(error);
    return tools_video_open(folder->path, &folder->video, error);
}

/* Whether all of them are complete; those of a failed run are removed. */
static bool run_close_videos(struct run *run, bool done, struct tools_error *error)
{
    bool ok = true;
    for (uint32_t i = 0; run->folder.made && i < run->model->output_count; i++) {
        struct tools_error late;
        const bool whole = tools_video_close(&run->folder.made[i], done, &late);
        if (ok && !whole)
            *error = late;
        ok = ok && whole;
    }
    return ok;
}

/* ---- the input ---- */

bool tools_run_folder_find(struct run *run, struct tools_error *error)
{
    struct run_folder *folder = &run->folder;
    for (uint32_t i = 0; i < run->model->input_count; i++) {
        const char *file = run->input_files[i];
        if (!run_is_folder(file) && !(file && tools_video_is_name(file)))
            continue;
        if (folder->path)
            return tools_fail(error, TOOLS_USAGE, "--input %s: only one input may be a folder or a video", file);
        folder->path = run->input_files[i];
        folder->input = i;
    }
    if (!folder->path)
        return true;
    if (run->repeat > 1 || run->trace_path)
        return tools_fail(error, TOOLS_USAGE, "--repeat and --trace require one image or .npy file for each input");
    folder->outputs = calloc(run->model->output_count + 1, sizeof(*folder->outputs));
    if (!folder->outputs)
        return tools_fail_memory(error);
    const bool is_video = !run_is_folder(folder->path);
    for (uint32_t i = 0; i < run->model->output_count; i++) {
        const char *file = run->output_files[i];
        if (is_video && file && tools_video_is_name(file))
            continue;
        if (file && !run_is_folder(file))
            return tools_fail(error, TOOLS_USAGE, "--output %s: inputs from a %s for outputs", file,
                              is_video ? "video need a video or a folder" : "folder need a folder");
        folder->outputs[i] = file;
        run->output_files[i] = NULL;
    }
    return (is_video ? run_open_video(run, error) : run_list(folder, error) && run_check_files(run, error)) &&
           run_select(run, 0, error);
}

void tools_run_folder_finish(struct run *run)
{
    struct run_folder *folder = &run->folder;
    struct tools_error ignored;
    for (uint32_t i = 0; folder->outputs && i < run->model->output_count; i++)
        if (folder->outputs[i])
            free((char *)run->output_files[i]);
    run_close_videos(run, false, &ignored);
    tools_video_close(&folder->video, true, &ignored);
    free(folder->made);
    for (uint32_t i = 0; i < folder->count; i++)
        free(folder->names[i]);
    free(folder->names);
    free(folder->outputs);
    free(folder->file);
}

/* The program serves files of one shape; another shape, and values on which shapes depend, need another program. */
static bool run_next(struct run *run, uint32_t number, struct tools_error *error)
{
    const uint32_t i = run->folder.input;
    struct onnx_input *shape = &run->shapes[i];
    tools_array_finish(&run->arrays[i]);
    run->arrays[i] = (struct tools_array){ 0 };
    if (!run_select(run, number, error) || !tools_run_read(run, i, error) || run->folder.ended)
        return run->folder.ended;
    if (!tools_run_check_symbols(run, error))
        return false;
    const struct tools_array *array = &run->arrays[i];
    if (!shape->data && shape->rank == array->rank &&
        !memcmp(shape->dims, array->dims, array->rank * sizeof(*array->dims)))
        return tools_program_set_input(run->program, i, array, error);
    *shape = (struct onnx_input){ .rank = array->rank };
    memcpy(shape->dims, array->dims, sizeof(shape->dims));
    tools_program_destroy(run->program);
    run->program = NULL;
    return tools_run_compile(run, error);
}

static bool run_file(struct run *run, double *out_host_ms, struct tools_error *error)
{
    char shape[256];
    const uint32_t i = run->folder.input;
    const struct tools_array *array = &run->arrays[i];
    if (!tools_program_run(run->program, out_host_ms, error))
        return false;
    if (!run->folder.frame || run->labels)
        tools_progress_stop();
    if (!run->folder.frame)
        printf("input   %s  %s <- %s\n", run->model->inputs[i].name,
               tools_shape_text(shape, sizeof(shape), array->type, array->rank, array->dims, NULL),
               run->input_files[i]);
    else if (run->labels)
        printf("frame   %u\n", run->folder.frame + 1);
    return tools_run_store(run, error);
}

bool tools_run_folder(struct run *run, struct tools_error *error)
{
    struct run_folder *folder = &run->folder;
    uint32_t done = 0;
    double sum = 0, ms = 0;
    const double begin = tools_now_ms();
    tools_progress_stop();
    printf("device  %u  %s\n", run->device, run->session->info.name);
    while (!folder->ended && (folder->video.path || done < folder->count)) {
        if (!run_file(run, &ms, error))
            return false;
        fflush(stdout); /* so that waiting programs see each file when it is complete */
        sum += ms;
        done++;
        if (folder->video.path) {
            folder->frame = done;
            tools_progress("running: frame");
            tools_progress_count(done, 0);
        }
        if ((folder->video.path || done < folder->count) && !run_next(run, done, error))
            return false;
    }
    tools_progress_stop();
    if (!run_close_videos(run, true, error))
        return false;
    const double seconds = (tools_now_ms() - begin) / 1e3;
    printf("time    %u %s in %.3f s, %.2f per second; running the model %.3f ms each\n", done,
           folder->video.path ? "frames" : "files", seconds, done / seconds, sum / done);
    return true;
}
