/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from process-wide unique numbers (never 0, never reused) to existing objects. The owner locks. */
#ifndef D3D12_TABLE_H
#define D3D12_TABLE_H

#include "base/base.h"

struct d3d_table {
    struct d3d_table_slot *slots;
    uint32_t count, capacity; /* capacity is 0 or a power of two */
};

/* A zeroed struct is an empty table. false: memory is short, the table is unchanged. */
bool d3d_table_insert(struct d3d_table *table, uint64_t id, void *object);
void *d3d_table_find(const struct d3d_table *table, uint64_t id);
void d3d_table_remove(struct d3d_table *table, uint64_t id);
void d3d_table_finish(struct d3d_table *table);

#endif
