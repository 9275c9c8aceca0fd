/* SPDX-License-Identifier: Apache-2.0 */
/* Selects shader kernels on a device: measured by `anydml tune --device`, stored in a file for each device, driver,
 * version and kernel table. Without a file, or with an incomplete one, the order of the table applies. */
#ifndef GRAPH_TUNING_ROWS_H
#define GRAPH_TUNING_ROWS_H

#include "base/cache.h"
#include "shaders/choices.h"

#define GRAPH_ROWS_MAX 4096 /* selections in a file */

/* The device as the file names it. */
struct graph_rows_device {
    const char *name;
    uint64_t driver_version;
    const uint8_t *driver_uuid; /* 16 bytes */
    uint32_t capabilities;
};

/* The path; false: none. */
bool graph_rows_path(const struct graph_rows_device *device, char out[BASE_CACHE_PATH_BYTES]);
/* Reads it; no selections if there is no file, or with ANYDML_TUNING=off. False: out of memory. */
bool graph_rows_load(const struct graph_rows_device *device, struct shader_choices *out);
void graph_rows_free(struct shader_choices *choices);
/* NULL, or why it could not be written. */
const char *graph_rows_save(const struct graph_rows_device *device, const struct shader_choices *choices);

#endif
