/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of info queue filters: which messages are stored, or returned. The owner locks. */
#ifndef D3D12_INFO_FILTER_H
#define D3D12_INFO_FILTER_H

#include "base/base.h"

#include <anydml_d3d12.h>

struct d3d_filter_list {
    int *values;
    uint32_t count, capacity;
};

enum { D3D_FILTER_CATEGORIES, D3D_FILTER_SEVERITIES, D3D_FILTER_IDS, D3D_FILTER_KINDS };

struct d3d_filter {
    struct d3d_filter_list allow[D3D_FILTER_KINDS], deny[D3D_FILTER_KINDS];
};

struct d3d_filter_stack {
    struct d3d_filter *filters; /* the last one is in force */
    uint32_t count, capacity;
};

void d3d_filter_stack_finish(struct d3d_filter_stack *stack);
/* Empties the filter in force. */
void d3d_filter_stack_clear(struct d3d_filter_stack *stack);
HRESULT d3d_filter_stack_push_empty(struct d3d_filter_stack *stack);
HRESULT d3d_filter_stack_push_copy(struct d3d_filter_stack *stack);
HRESULT d3d_filter_stack_push(struct d3d_filter_stack *stack, const D3D12_INFO_QUEUE_FILTER *filter);
void d3d_filter_stack_pop(struct d3d_filter_stack *stack);
HRESULT d3d_filter_stack_add(struct d3d_filter_stack *stack, const D3D12_INFO_QUEUE_FILTER *filter);
/* The two-call pattern: with out NULL, returns the size in *bytes. */
HRESULT d3d_filter_stack_get(const struct d3d_filter_stack *stack, D3D12_INFO_QUEUE_FILTER *out, SIZE_T *bytes);
bool d3d_filter_stack_passes(const struct d3d_filter_stack *stack, D3D12_MESSAGE_CATEGORY category,
                             D3D12_MESSAGE_SEVERITY severity, D3D12_MESSAGE_ID id);

#endif
