/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of shaders run what on a device: measured by `anydml tune --device`, kept in a file for each device,
 * driver, version and table of rows. Without a file, or with one that is not whole, the order of the table decides. */
#ifndef GRAPH_TUNING_ROWS_H
#define GRAPH_TUNING_ROWS_H

#include "base/cache.h"
#include "shaders/choices.h"

#define GRAPH_ROWS_MAX 4096 /* choices in a file */

/* The device as the file names it. */
struct graph_rows_device {
    const char *name;
    uint64_t driver_version;
    const uint8_t *driver_uuid; /* 16 bytes */
    uint32_t capabilities;
};

/* Where the file is; false: nowhere. */
bool graph_rows_path(const struct graph_rows_device *device, char out[BASE_CACHE_PATH_BYTES]);
/* What it says; no choices where there is none, or ANYDML_TUNING=off. False: memory is short. */
bool graph_rows_load(const struct graph_rows_device *device, struct shader_choices *out);
void graph_rows_free(struct shader_choices *choices);
/* NULL, or why it could not be written. */
const char *graph_rows_save(const struct graph_rows_device *device, const struct shader_choices *choices);

#endif
