/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's table of living objects against a plain array, with collisions and removals in every order. */
#include "d3d12/table.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS    4096
#define ROUNDS 200000

int main(void)
{
    static bool there[IDS];
    static char objects[IDS];
    struct d3d_table table = { 0 };
    uint32_t seed = 1, count = 0, wrong = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t id = (seed >> 8) % (IDS - 1) + 1;
        if (there[id]) {
            d3d_table_remove(&table, id);
            count--;
        } else {
            wrong += !d3d_table_insert(&table, id, &objects[id]);
            count++;
        }
        there[id] = !there[id];
        wrong += table.count != count;
        uint32_t other = (seed >> 4) % (IDS - 1) + 1;
        wrong += d3d_table_find(&table, id) != (there[id] ? &objects[id] : NULL);
        wrong += d3d_table_find(&table, other) != (there[other] ? &objects[other] : NULL);
    }
    for (uint32_t id = 1; id < IDS; id++)
        wrong += d3d_table_find(&table, id) != (there[id] ? &objects[id] : NULL);
    wrong += d3d_table_find(&table, 0) != NULL;
    d3d_table_remove(&table, IDS + 5); /* not there: no effect */
    wrong += table.count != count;
    d3d_table_finish(&table);
    if (wrong)
        fprintf(stderr, "%u answers are wrong\n", wrong);
    return wrong ? 1 : 0;
}
