/* SPDX-License-Identifier: Apache-2.0 */
/* Weights inside the model's file. ONNX Runtime has copied them to its own memory, which it frees between the
 * provider's Compile and the creation of kernels: a subgraph that reads them from the file is compiled then, so that a
 * model's weights are never in memory twice. */
#include "ep.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shorter ones are copied: finding them costs more than they take. */
#define FOUND_MIN (64u << 10)

struct ep_file {
    struct onnx_model *model; /* keeps the file mapped */
    struct base_names names;  /* of its initializers */
    int number;               /* stays open: the file may be replaced by another of its name */
    struct stat about;        /* before its bytes were compared */
    uint32_t users;
};

void ep_file_release(struct ep_file *file)
{
    if (!file || --file->users)
        return;
    onnx_model_destroy(file->model);
    base_names_finish(&file->names);
    if (file->number >= 0)
        close(file->number);
    free(file);
}

struct ep_file *ep_file_share(struct ep_file *file)
{
    file->users++;
    return file;
}

/* NULL: the file cannot be read, or is no ONNX model. */
static struct ep_file *file_open(const char *path)
{
    struct onnx_error error;
    struct ep_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->users = 1;
    file->number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = file->number >= 0 && !fstat(file->number, &file->about) &&
              SUCCEEDED(onnx_model_load(path, &file->model, &error));
    for (uint32_t i = 0; ok && i < file->model->initializer_count; i++)
        ok = base_names_add(&file->names, file->model->initializers[i].name, i);
    if (ok)
        return file;
    ep_file_release(file);
    return NULL;
}

bool ep_file_unchanged(const struct ep_file *file)
{
    struct stat now;
    return !fstat(file->number, &now) && now.st_size == file->about.st_size &&
           now.st_mtim.tv_sec == file->about.st_mtim.tv_sec && now.st_mtim.tv_nsec == file->about.st_mtim.tv_nsec;
}

/* In parts, whose pages of the file leave memory again. */
static bool same_bytes(const char *a, const char *in_file, uint64_t bytes)
{
    const uint64_t part = 4u << 20;
    bool same = true;
    for (uint64_t at = 0; same && at < bytes; at += part) {
        const size_t count = (size_t)BASE_MIN(part, bytes - at);
        same = !memcmp(a + at, in_file + at, count);
        base_forget_pages(in_file + at, count);
    }
    return same;
}

/* NULL: ONNX Runtime has made it, or has changed it. */
static const struct onnx_tensor *find(const struct ep_file *file, const struct onnx_tensor *t)
{
    const struct base_name *known = base_names_find(&file->names, t->name);
    const struct onnx_tensor *found = known ? &file->model->initializers[known->number] : NULL;
    return found && found->mapped && found->type == t->type && found->bytes == t->bytes &&
                   same_bytes(t->data, found->data, t->bytes)
               ? found
               : NULL;
}

bool ep_model_use_file(struct onnx_model *model, const char *path, struct ep_file **file)
{
    uint64_t all = 0, rest = 0;
    for (uint32_t i = 0; i < model->initializer_count; i++)
        all += model->initializers[i].borrowed ? model->initializers[i].bytes : 0;
    if (all < EP_LARGE || !path || !path[0])
        return false;
    if (!*file && !(*file = file_open(path)))
        return false;
    for (uint32_t i = 0; i < model->initializer_count; i++) {
        struct onnx_tensor *t = &model->initializers[i];
        if (!t->borrowed)
            continue;
        const struct onnx_tensor *found = t->bytes < FOUND_MIN ? NULL : find(*file, t);
        if (found) {
            t->data = found->data;
            t->mapped = true;
        } else {
            rest += t->bytes;
        }
    }
    return rest <= all / 2 && ep_model_own_data(model, false);
}
