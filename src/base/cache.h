/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the user's cache folder, which can be regenerated. Readers must validate their contents. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "base/base.h"

#define BASE_CACHE_PATH_BYTES 4096

/* The path of the file `name`: in $ANYDML_CACHE_DIR, $XDG_CACHE_HOME/anydml or ~/.cache/anydml; false: none of them is
 * set. */
bool base_cache_path(const char *name, char out[BASE_CACHE_PATH_BYTES]);
/* The whole file, freed by the caller, and its size; NULL with errno if it does not exist, if other users may write it,
 * or if it is empty or larger than `limit` bytes. */
void *base_cache_read(const char *path, size_t limit, size_t *out_size);
/* Creates the folder, writes a temporary file and renames it, so that readers always find a complete file. NULL, or an
 * error message. */
const char *base_cache_write(const char *path, const void *data, size_t size);

#endif
