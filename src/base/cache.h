/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the user's cache folder: what can be made again. Whoever reads one checks that it is whole and meant. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "base/base.h"

#define BASE_CACHE_PATH_BYTES 4096

/* Where the file `name` is: in $ANYDML_CACHE_DIR, $XDG_CACHE_HOME/anydml or ~/.cache/anydml; false: nowhere. */
bool base_cache_path(const char *name, char out[BASE_CACHE_PATH_BYTES]);
/* The whole file, for the caller to free, and its size; NULL with errno when there is none, when others than this user
 * may write it, or when it is empty or has more than `limit` bytes. */
void *base_cache_read(const char *path, size_t limit, size_t *out_size);
/* Makes the folder, writes another file and renames it, so that readers find a whole one. NULL, or why not. */
const char *base_cache_write(const char *path, const void *data, size_t size);

#endif
