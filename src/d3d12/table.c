/* SPDX-License-Identifier: Apache-2.0 */
#include "d3d12/table.h"

#include <stdlib.h>

struct d3d_table_slot {
    uint64_t id; /* 0 = free */
    void *object;
};

static uint32_t home_of(const struct d3d_table *table, uint64_t id)
{
    return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (table->capacity - 1);
}

static struct d3d_table_slot *slot_of(const struct d3d_table *table, uint64_t id)
{
    uint32_t at = home_of(table, id);
    while (table->slots[at].id && table->slots[at].id != id)
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

static bool table_grow(struct d3d_table *table)
{
    struct d3d_table bigger = { .count = table->count, .capacity = table->capacity ? table->capacity * 2 : 64 };
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].id)
            *slot_of(&bigger, table->slots[i].id) = table->slots[i];
    }
    free(table->slots);
    *table = bigger;
    return true;
}

bool d3d_table_insert(struct d3d_table *table, uint64_t id, void *object)
{
    if (table->count >= table->capacity / 2 && !table_grow(table))
        return false;
    *slot_of(table, id) = (struct d3d_table_slot){ id, object };
    table->count++;
    return true;
}

void *d3d_table_find(const struct d3d_table *table, uint64_t id)
{
    return table->capacity && id ? slot_of(table, id)->object : NULL;
}

void d3d_table_remove(struct d3d_table *table, uint64_t id)
{
    if (!d3d_table_find(table, id))
        return;
    uint32_t mask = table->capacity - 1;
    uint32_t hole = (uint32_t)(slot_of(table, id) - table->slots);
    /* Moves back entries that would not be found after the hole. */
    for (uint32_t at = (hole + 1) & mask; table->slots[at].id; at = (at + 1) & mask) {
        uint32_t home = home_of(table, table->slots[at].id);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (struct d3d_table_slot){ 0 };
    table->count--;
}

void d3d_table_finish(struct d3d_table *table)
{
    free(table->slots);
    *table = (struct d3d_table){ 0 };
}
