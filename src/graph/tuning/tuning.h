/* SPDX-License-Identifier: Apache-2.0 */
/* Corrections of the cost models for this machine's kernels: measured by `anydml tune`, stored in a file for each CPU,
 * version and number of threads. Without a file, or with one that is not exactly what this library would write, the
 * models are not corrected. */
#ifndef GRAPH_TUNING_H
#define GRAPH_TUNING_H

#include "base/cache.h"
#include "graph/options.h"
#include "kernels/core/choice.h"

#define GRAPH_TUNING_BYTES BASE_CACHE_PATH_BYTES /* of a file at most, and of its path */

/* A file's text, for these threads here; its length without the final zero. */
size_t graph_tuning_print(const struct kern_tuning *tuning, uint32_t threads, char out[GRAPH_TUNING_BYTES]);
/* NULL, or the error in it. */
const char *graph_tuning_parse(const char *text, size_t length, uint32_t threads, struct kern_tuning *out);

/* The path: $ANYDML_CACHE_DIR, $XDG_CACHE_HOME/anydml or ~/.cache/anydml; false: none of them is set. */
bool graph_tuning_path(uint32_t threads, char out[GRAPH_TUNING_BYTES]);

/* Reads the file; false with a line in the log at level debug. */
bool graph_tuning_load(uint32_t threads, struct kern_tuning *out);
/* Writes another file and renames it, so that readers find a whole one. NULL, or why not. */
const char *graph_tuning_save(const struct kern_tuning *tuning, uint32_t threads);

/* The same, cached for the lifetime of the process, read once for each number of threads; NULL: none, or
 * ANYDML_TUNING=off. Thread-safe. */
const struct kern_tuning *graph_tuning_get(uint32_t threads);

/* ---- tuning_measure.c ---- */

struct graph_tuning_result {
    const char *rows[2]; /* the same twice: only one kernel is available */
    double seconds[2], cost;
};

/* Times both kernels of a point on `threads` threads, in a few milliseconds. False: out of memory. */
bool graph_tuning_measure(uint32_t point, uint32_t cpu, uint32_t threads, struct graph_tuning_result *out);

/* The resulting corrections. */
float graph_tuning_correction(const struct graph_tuning_result *result);

#endif
