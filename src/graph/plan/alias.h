/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs bound to the bytes of inputs. */
#ifndef GRAPH_ALIAS_H
#define GRAPH_ALIAS_H

#include "graph/plan/plan.h"

struct graph_aliases;

/* The inputs that the plan's steps read and the outputs that they write; does not need the plan afterwards. */
HRESULT graph_aliases_create(const struct graph_plan *plan, struct graph_aliases **out);
void graph_aliases_destroy(struct graph_aliases *aliases);
/* Whether the output may have exactly the memory of the input: each element of the input is read before it is
 * overwritten. Holds for any number of such pairs at once, as long as outputs do not overlap. */
bool graph_aliases_allow(const struct graph_aliases *aliases, uint32_t input, uint32_t output);
/* The number of leading bytes of the input that a run may read. */
uint64_t graph_aliases_bytes_read(const struct graph_aliases *aliases, uint32_t input);
/* Likewise, bytes of the output that it may write. */
uint64_t graph_aliases_bytes_written(const struct graph_aliases *aliases, uint32_t output);

#endif
