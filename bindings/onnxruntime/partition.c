/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions claimed nodes. The level of a node is the longest path to it, counting changes of side: from claimed to
 * host nodes, or over an edge whose ends may not share a group. Claimed nodes of one level have no path between them
 * that leaves the level, so each level is one subgraph without cycles through the rest. */
#include "ep.h"

uint32_t ep_partition(struct ep_partition_node *nodes, uint32_t node_count, const struct ep_edge *edges,
                      uint32_t edge_count)
{
    uint32_t levels = 0, next = 0;
    for (uint32_t i = 0; i < node_count; i++) {
        struct ep_partition_node *node = &nodes[i];
        node->level = 0;
        for (; next < edge_count && edges[next].to == i; next++) {
            const struct ep_partition_node *from = &nodes[edges[next].from];
            /* Only the step from claimed to host raises the level, so that the following nodes are after the group. */
            bool step = from->claimed && (!node->claimed || edges[next].cut);
            node->level = BASE_MAX(node->level, from->level + step);
        }
        levels = BASE_MAX(levels, node->level + 1);
    }
    return levels;
}
