/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; the hash is FNV-1a's. */
#include "base/names.h"

#include <stdlib.h>

/* The slot that has `text`, or the free slot for it; there is always a free one. */
static struct base_name *slot_find(const struct base_names *names, const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    uint32_t i = hash & (names->size - 1);
    while (names->slots[i].text && strcmp(names->slots[i].text, text))
        i = (i + 1) & (names->size - 1);
    return &names->slots[i];
}

static bool grow(struct base_names *names)
{
    struct base_names larger = { .size = names->size ? names->size * 2 : 32, .count = names->count };
    larger.slots = calloc(larger.size, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < names->size; i++) {
        if (names->slots[i].text)
            *slot_find(&larger, names->slots[i].text) = names->slots[i];
    }
    free(names->slots);
    *names = larger;
    return true;
}

bool base_names_add(struct base_names *names, const char *text, uint32_t number)
{
    if (names->count * 2 >= names->size && !grow(names))
        return false;
    struct base_name *slot = slot_find(names, text);
    if (!slot->text) {
        *slot = (struct base_name){ text, number };
        names->count++;
    }
    return true;
}

const struct base_name *base_names_find(const struct base_names *names, const char *text)
{
    const struct base_name *slot = names->size ? slot_find(names, text) : NULL;
    return slot && slot->text ? slot : NULL;
}

void base_names_finish(struct base_names *names)
{
    free(names->slots);
    memset(names, 0, sizeof(*names));
}
