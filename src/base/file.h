/* SPDX-License-Identifier: Apache-2.0 */
/* Files with paths from outside: a model names its weights, an environment variable an output file. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/base.h"

#include <stdio.h>

/* Maps the file for reading; base_unmap_file unmaps it. Never blocks, as opening a pipe would. NULL with errno: EISDIR,
 * EINVAL (not a regular file), ENODATA (empty), or the system's error. */
void *base_map_file(const char *path, size_t *out_size);

/* The same for `name`, a path relative to the folder of the file `beside`. Its target, after following links, must be a
 * regular file in that folder, in a folder below it, or in the folder of `beside` after following its links (model
 * stores keep both as links). Additional errno values: EXDEV if it is elsewhere, and EINVAL for a `name` that is empty
 * or absolute. */
void *base_map_beside(const char *beside, const char *name, size_t *out_size);

/* The same file, opened for reading at its start, and its length, which may be 0. For the command: not on Windows.
 */
FILE *base_open_beside(const char *beside, const char *name, uint64_t *out_size);

void base_unmap_file(void *address, size_t size);

/* Marks data in a mapped file as not needed soon: releases its memory. It can still be read, and is then loaded from
 * the file again. */
void base_forget_pages(const void *data, uint64_t bytes);

/* Opens a file for writing whose path is from the environment: a link as its last component is not followed, and only
 * regular files are written. `keep`: keeps its contents, otherwise the file is truncated. NULL with errno. */
FILE *base_open_named(const char *path, bool keep);

#endif
