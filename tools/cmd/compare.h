/* SPDX-License-Identifier: Apache-2.0 */
/* `anydml bench --compare`: the networks in other runtimes, through Python. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "tools/error.h"

struct tools_compare {
    const char *python;  /* NULL: ANYDML_PYTHON, or else python3 */
    const char *threads; /* NULL: 1 and 2 */
    double seconds;
    bool json;
    char *const *models;
    uint32_t model_count;
};

/* Replaces the process by the program that compares, bench/all.py; returns only on failure. */
bool tools_compare(const struct tools_compare *compare, struct tools_error *error);

#endif
