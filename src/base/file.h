/* SPDX-License-Identifier: Apache-2.0 */
/* Files that others name: a model names its weights, a variable of the environment a file to write. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/base.h"

#include <stdio.h>

/* The file, mapped for reading; base_unmap_file ends it. Never waits, as opening a pipe would. NULL with errno: EISDIR,
 * EINVAL (no regular file), ENODATA (it is empty), or the system's. */
void *base_map_file(const char *path, size_t *out_size);

/* The same of `name`, a path relative to the folder of the file `beside`. What it leads to, links followed, must be a
 * regular file in that folder, in one below it, or in the folder where `beside` itself lies once its links are followed
 * (stores of models keep both as links). errno is also EXDEV, it lies elsewhere, and EINVAL for a `name` that is empty
 * or absolute. */
void *base_map_beside(const char *beside, const char *name, size_t *out_size);

/* The same file, open for reading from its beginning, and its length, which may be 0. For the command: not on Windows.
 */
FILE *base_open_beside(const char *beside, const char *name, uint64_t *out_size);

void base_unmap_file(void *address, size_t size);

/* Data in a mapped file is not needed soon: gives its memory back. It can still be read, from the file again. */
void base_forget_pages(const void *data, uint64_t bytes);

/* Opens a file for writing whose path came from the environment: no link is followed in its last part, and nothing but
 * a regular file is written to. `keep`: what it holds stays, else it is emptied. NULL with errno. */
FILE *base_open_named(const char *path, bool keep);

#endif
