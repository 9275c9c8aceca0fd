/* SPDX-License-Identifier: Apache-2.0 */
/* Chains are found when kernels are chosen (plan/plan_chains.c); here they only have a name, by which they are
 * disabled. */
#include "graph/passes/pass.h"

HRESULT graph_pass_chains(struct graph *graph, const struct graph_options *options, bool *changed)
{
    (void)graph, (void)options, (void)changed;
    return S_OK;
}
