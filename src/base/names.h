/* SPDX-License-Identifier: Apache-2.0 */
/* A table from names to numbers. Not thread-safe. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/base.h"

struct base_name {
    const char *text; /* owned by the caller, must outlive the table; NULL: a free slot */
    uint32_t number;
};

/* A zeroed struct is empty. */
struct base_names {
    struct base_name *slots;
    uint32_t size, count; /* size: a power of two, or 0 */
};

/* Stores the text with its number; an existing entry is kept. False if out of memory. */
bool base_names_add(struct base_names *names, const char *text, uint32_t number);
/* NULL: not found. Valid until the next insertion. */
const struct base_name *base_names_find(const struct base_names *names, const char *text);
void base_names_finish(struct base_names *names);

#endif
