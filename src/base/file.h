/* SPDX-License-Identifier: Apache-2.0 */
/* Files that others name: a model names its weights, a variable of the environment a file to write. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/base.h"

#include <stdio.h>

/* Opens `name` for reading, a path relative to the folder of the file `beside`. What it leads to, links followed, must
 * be a regular file in that folder, in one below it, or in the folder where `beside` itself lies once its links are
 * followed (stores of models keep both as links). Never waits, as opening a pipe would. Returns a descriptor for the
 * caller to close; -1 with errno: EXDEV it lies elsewhere, EINVAL `name` is empty, absolute or no regular file, or the
 * system's. */
int base_open_beside(const char *beside, const char *name);

/* The regular file behind a descriptor, mapped for reading. NULL with errno: EISDIR, EINVAL (no regular file), ENODATA
 * (it is empty), or the system's. munmap ends it. */
void *base_map_file(int file, size_t *out_size);

/* Opens a file for writing whose path came from the environment: no link is followed in its last part, and nothing but
 * a regular file is written to. `keep`: what it holds stays, else it is emptied. NULL with errno. */
FILE *base_open_named(const char *path, bool keep);

#endif
