/* SPDX-License-Identifier: Apache-2.0 */
/* Maps GPU virtual addresses to memory: a list sorted by address. The owner locks. */
#include "d3d12/objects.h"

#include "base/arena.h"

#include <stdlib.h>

/* The first entry whose memory starts after the address. */
static uint32_t behind(const struct d3d_places *places, uint64_t address)
{
    uint32_t low = 0, high = places->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (places->list[middle].memory->address > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool d3d_places_insert(struct d3d_places *places, struct adapter_memory *memory, struct com_object *owner)
{
    if (!base_array_reserve((void **)&places->list, places->count, &places->capacity, sizeof(*places->list)))
        return false;
    const uint32_t at = behind(places, memory->address);
    memmove(&places->list[at + 1], &places->list[at], (places->count++ - at) * sizeof(*places->list));
    places->list[at] = (struct d3d_place){ memory, owner };
    return true;
}

void d3d_places_remove(struct d3d_places *places, const struct adapter_memory *memory)
{
    uint32_t at = behind(places, memory->address);
    while (at && places->list[at - 1].memory != memory)
        at--;
    if (at)
        memmove(&places->list[at - 1], &places->list[at], (places->count-- - at) * sizeof(*places->list));
}

/* The application's memory may have several entries: one that starts earlier may reach further. */
const struct d3d_place *d3d_places_find(const struct d3d_places *places, uint64_t address)
{
    uint32_t at = behind(places, address);
    while (at && address - places->list[at - 1].memory->address >= places->list[at - 1].memory->size)
        at--;
    return at ? &places->list[at - 1] : NULL;
}

void d3d_places_finish(struct d3d_places *places)
{
    free(places->list);
}
