/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <windows.h>

/* Only models' weights are opened so, by what reads ONNX, which is not built here. */
int base_open_beside(const char *beside, const char *name)
{
    (void)beside, (void)name;
    errno = ENOSYS;
    return -1;
}

void *base_map_file(int file, size_t *out_size)
{
    (void)file, (void)out_size;
    errno = ENOSYS;
    return NULL;
}

FILE *base_open_named(const char *path, bool keep)
{
    const DWORD about = GetFileAttributesA(path);
    if (about != INVALID_FILE_ATTRIBUTES && (about & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT))) {
        errno = about & FILE_ATTRIBUTE_DIRECTORY ? EISDIR : EINVAL;
        return NULL;
    }
    return fopen(path, keep && about != INVALID_FILE_ATTRIBUTES ? "r+b" : "wb");
}
