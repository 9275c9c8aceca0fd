/* SPDX-License-Identifier: Apache-2.0 */
/* A table from names to numbers. Not thread-safe. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/base.h"

struct base_name {
    const char *text; /* the caller's, for as long as the table is used; NULL: a free place */
    uint32_t number;
};

/* A zeroed struct is empty. */
struct base_names {
    struct base_name *slots;
    uint32_t size, count; /* size: a power of two, or 0 */
};

/* Keeps the text and the number of a name that is there. False when memory is short. */
bool base_names_add(struct base_names *names, const char *text, uint32_t number);
/* NULL: there is no such name. Valid until the next one is added. */
const struct base_name *base_names_find(const struct base_names *names, const char *text);
void base_names_finish(struct base_names *names);

#endif
