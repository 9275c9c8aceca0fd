/* SPDX-License-Identifier: Apache-2.0 */
#include "d3d12/debug/info_filter.h"

#include "base/arena.h"

#include <stdlib.h>

static void filter_clear(struct d3d_filter *filter)
{
    for (int i = 0; i < D3D_FILTER_KINDS; i++) {
        free(filter->allow[i].values);
        free(filter->deny[i].values);
    }
    memset(filter, 0, sizeof(*filter));
}

void d3d_filter_stack_finish(struct d3d_filter_stack *stack)
{
    while (stack->count)
        d3d_filter_stack_pop(stack);
    free(stack->filters);
}

void d3d_filter_stack_pop(struct d3d_filter_stack *stack)
{
    if (stack->count)
        filter_clear(&stack->filters[--stack->count]);
}

void d3d_filter_stack_clear(struct d3d_filter_stack *stack)
{
    if (stack->count)
        filter_clear(&stack->filters[stack->count - 1]);
}

HRESULT d3d_filter_stack_push_empty(struct d3d_filter_stack *stack)
{
    if (!base_array_reserve((void **)&stack->filters, stack->count, &stack->capacity, sizeof(*stack->filters)))
        return E_OUTOFMEMORY;
    memset(&stack->filters[stack->count++], 0, sizeof(*stack->filters));
    return S_OK;
}

static bool list_append(struct d3d_filter_list *list, const void *values, uint32_t count)
{
    const int *numbers = values; /* the three enums are ints */
    for (uint32_t i = 0; i < count; i++) {
        if (!base_array_reserve((void **)&list->values, list->count, &list->capacity, sizeof(*list->values)))
            return false;
        list->values[list->count++] = numbers[i];
    }
    return true;
}

static bool lists_append(struct d3d_filter_list *lists, const D3D12_INFO_QUEUE_FILTER_DESC *desc)
{
    return list_append(&lists[D3D_FILTER_CATEGORIES], desc->pCategoryList, desc->NumCategories) &&
           list_append(&lists[D3D_FILTER_SEVERITIES], desc->pSeverityList, desc->NumSeverities) &&
           list_append(&lists[D3D_FILTER_IDS], desc->pIDList, desc->NumIDs);
}

static bool desc_is_valid(const D3D12_INFO_QUEUE_FILTER_DESC *desc)
{
    return (!desc->NumCategories || desc->pCategoryList) && (!desc->NumSeverities || desc->pSeverityList) &&
           (!desc->NumIDs || desc->pIDList);
}

HRESULT d3d_filter_stack_add(struct d3d_filter_stack *stack, const D3D12_INFO_QUEUE_FILTER *filter)
{
    if (!filter || !desc_is_valid(&filter->AllowList) || !desc_is_valid(&filter->DenyList))
        return E_INVALIDARG;
    if (!stack->count && FAILED(d3d_filter_stack_push_empty(stack)))
        return E_OUTOFMEMORY;
    struct d3d_filter *top = &stack->filters[stack->count - 1];
    bool done = lists_append(top->allow, &filter->AllowList) && lists_append(top->deny, &filter->DenyList);
    return done ? S_OK : E_OUTOFMEMORY;
}

static void desc_view(const struct d3d_filter_list *lists, D3D12_INFO_QUEUE_FILTER_DESC *out)
{
    *out = (D3D12_INFO_QUEUE_FILTER_DESC){
        lists[D3D_FILTER_CATEGORIES].count, (void *)lists[D3D_FILTER_CATEGORIES].values,
        lists[D3D_FILTER_SEVERITIES].count, (void *)lists[D3D_FILTER_SEVERITIES].values,
        lists[D3D_FILTER_IDS].count,        (void *)lists[D3D_FILTER_IDS].values,
    };
}

HRESULT d3d_filter_stack_push(struct d3d_filter_stack *stack, const D3D12_INFO_QUEUE_FILTER *filter)
{
    HRESULT hr = d3d_filter_stack_push_empty(stack);
    if (FAILED(hr))
        return hr;
    hr = d3d_filter_stack_add(stack, filter);
    if (FAILED(hr))
        d3d_filter_stack_pop(stack);
    return hr;
}

HRESULT d3d_filter_stack_push_copy(struct d3d_filter_stack *stack)
{
    D3D12_INFO_QUEUE_FILTER top = { 0 };
    if (stack->count) { /* the lists' memory does not move when the stack grows */
        desc_view(stack->filters[stack->count - 1].allow, &top.AllowList);
        desc_view(stack->filters[stack->count - 1].deny, &top.DenyList);
    }
    return d3d_filter_stack_push(stack, &top);
}

static void *list_write(const struct d3d_filter_list *list, char **at)
{
    void *start = *at;
    if (!list->count)
        return NULL;
    memcpy(start, list->values, list->count * sizeof(*list->values));
    *at += list->count * sizeof(*list->values);
    return start;
}

static void desc_write(const struct d3d_filter_list *lists, D3D12_INFO_QUEUE_FILTER_DESC *out, char **at)
{
    desc_view(lists, out);
    out->pCategoryList = list_write(&lists[D3D_FILTER_CATEGORIES], at);
    out->pSeverityList = list_write(&lists[D3D_FILTER_SEVERITIES], at);
    out->pIDList = list_write(&lists[D3D_FILTER_IDS], at);
}

HRESULT d3d_filter_stack_get(const struct d3d_filter_stack *stack, D3D12_INFO_QUEUE_FILTER *out, SIZE_T *bytes)
{
    static const struct d3d_filter none;
    if (!bytes)
        return E_INVALIDARG;
    const struct d3d_filter *top = stack->count ? &stack->filters[stack->count - 1] : &none;
    SIZE_T need = sizeof(*out);
    for (int i = 0; i < D3D_FILTER_KINDS; i++)
        need += ((SIZE_T)top->allow[i].count + top->deny[i].count) * sizeof(int);
    SIZE_T capacity = *bytes;
    *bytes = need;
    if (!out)
        return S_OK;
    if (capacity < need)
        return E_INVALIDARG;
    char *at = (char *)(out + 1);
    desc_write(top->allow, &out->AllowList, &at);
    desc_write(top->deny, &out->DenyList, &at);
    return S_OK;
}

static bool list_has(const struct d3d_filter_list *list, int value)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->values[i] == value)
            return true;
    }
    return false;
}

bool d3d_filter_stack_passes(const struct d3d_filter_stack *stack, D3D12_MESSAGE_CATEGORY category,
                             D3D12_MESSAGE_SEVERITY severity, D3D12_MESSAGE_ID id)
{
    const int values[D3D_FILTER_KINDS] = { (int)category, (int)severity, (int)id };
    if (!stack->count)
        return true;
    const struct d3d_filter *top = &stack->filters[stack->count - 1];
    for (int i = 0; i < D3D_FILTER_KINDS; i++) {
        if ((top->allow[i].count && !list_has(&top->allow[i], values[i])) || list_has(&top->deny[i], values[i]))
            return false;
    }
    return true;
}
