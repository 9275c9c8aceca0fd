/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include "base/os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

/* The folder of this user alone. */
bool base_cache_path(const char *name, char out[BASE_CACHE_PATH_BYTES])
{
    const char *own = base_environment("ANYDML_CACHE_DIR"), *local = base_environment("LOCALAPPDATA");
    int n = -1;
    if (own && *own)
        n = snprintf(out, BASE_CACHE_PATH_BYTES, "%s\\%s", own, name);
    else if (local && *local)
        n = snprintf(out, BASE_CACHE_PATH_BYTES, "%s\\anydml\\%s", local, name);
    return n > 0 && n < BASE_CACHE_PATH_BYTES;
}

void *base_cache_read(const char *path, size_t limit, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    int error = 0;
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    if (size <= 0 || (size_t)size > limit)
        error = size > 0 ? EFBIG : ENODATA;
    else if ((data = malloc((size_t)size)) && fread(data, (size_t)size, 1, file) != 1)
        error = EIO;
    fclose(file);
    if (error) {
        free(data);
        errno = error;
        return NULL;
    }
    *out_size = (size_t)size;
    return data;
}

static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '\\' && *c != '/')
            continue;
        const char separator = *c;
        *c = '\0';
        CreateDirectoryA(path, NULL);
        *c = separator;
    }
}

const char *base_cache_write(const char *path, const void *data, size_t size)
{
    char other[BASE_CACHE_PATH_BYTES + 16];
    snprintf(other, sizeof(other), "%s.%08x", path, base_process_id());
    make_folders(other);
    FILE *file = fopen(other, "wb");
    if (!file)
        return strerror(errno);
    bool done = fwrite(data, size, 1, file) == 1;
    done = !fclose(file) && done && MoveFileExA(other, path, MOVEFILE_REPLACE_EXISTING);
    if (!done)
        DeleteFileA(other);
    return done ? NULL : "the file could not be written";
}
