/* SPDX-License-Identifier: Apache-2.0 */
/* IDXCoreAdapterList: the selected adapters, enumerated lazily; Sort orders them in place. */
#include "dxcore/dxcore.h"

#include "base/arena.h"
#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>

struct dxcore_list {
    struct com_object base; /* IDXCoreAdapterList; its parent is the factory */
    dxcore_choose_fn *choose;
    void *context;
    pthread_mutex_t lock; /* the following members */
    const struct adapter_info **infos;
    uint32_t count, capacity;
    uint32_t next; /* next adapter to test */
};

static struct dxcore_list *list_from(IDXCoreAdapterList *iface)
{
    return (struct dxcore_list *)iface;
}

static void list_destroy(struct com_object *object)
{
    struct dxcore_list *list = (struct dxcore_list *)object;
    free(list->infos);
    free(list->context);
    pthread_mutex_destroy(&list->lock);
    com_finish(object);
    free(object);
}

/* Enumerates adapters until there are more than `index`; under the lock. Returns their number. */
static uint32_t list_fill(struct dxcore_list *list, uint32_t index)
{
    const struct adapter_info *info;
    while (list->count <= index && (info = adapter_at(list->next)) != NULL) {
        if (!base_array_reserve((void **)&list->infos, list->count, &list->capacity, sizeof(*list->infos)))
            break;
        list->next++;
        if (list->choose(info, list->context))
            list->infos[list->count++] = info;
    }
    return list->count;
}

#define LIST IDXCoreAdapterList *iface

static HRESULT dxcore_list_GetAdapter(LIST, uint32_t index, REFIID riid, void **out)
{
    struct dxcore_list *list = list_from(iface);
    struct dxcore_adapter *adapter;
    if (!out)
        return E_POINTER;
    *out = NULL;
    pthread_mutex_lock(&list->lock);
    uint32_t count = list_fill(list, index);
    const struct adapter_info *info = index < count ? list->infos[index] : NULL;
    pthread_mutex_unlock(&list->lock);
    if (!info) {
        base_log(BASE_LOG_ERROR, "IDXCoreAdapterList::GetAdapter: index %u, the list has %u", index, count);
        return E_INVALIDARG;
    }
    HRESULT hr = dxcore_adapter_open(info, list->base.parent, &adapter);
    return SUCCEEDED(hr) ? com_return(&adapter->base, riid, out) : hr;
}

static uint32_t dxcore_list_GetAdapterCount(LIST)
{
    struct dxcore_list *list = list_from(iface);
    pthread_mutex_lock(&list->lock);
    uint32_t count = list_fill(list, UINT32_MAX);
    pthread_mutex_unlock(&list->lock);
    return count;
}

static bool dxcore_list_IsStale(LIST)
{
    (void)iface;
    return false;
}

static HRESULT dxcore_list_GetFactory(LIST, REFIID riid, void **out)
{
    return com_QueryInterface(list_from(iface)->base.parent, riid, out);
}

/* Greater is preferred. */
static int preference_of(const struct adapter_info *info, DXCoreAdapterPreference preference)
{
    switch ((int)preference) {
    case DXCoreAdapterPreference_Hardware:
        return info->hardware;
    case DXCoreAdapterPreference_MinimumPower:
        return (int)adapter_economy(info);
    case DXCoreAdapterPreference_HighPerformance:
        return (int)adapter_performance(info);
    default:
        return 0;
    }
}

static bool comes_before(const struct adapter_info *a, const struct adapter_info *b,
                         const DXCoreAdapterPreference *preferences, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int of_a = preference_of(a, preferences[i]), of_b = preference_of(b, preferences[i]);
        if (of_a != of_b)
            return of_a > of_b;
    }
    return false;
}

static HRESULT dxcore_list_Sort(LIST, uint32_t count, const DXCoreAdapterPreference *preferences)
{
    struct dxcore_list *list = list_from(iface);
    if (!count || !preferences) {
        base_log(BASE_LOG_ERROR, "IDXCoreAdapterList::Sort: needs at least one preference");
        return E_INVALIDARG;
    }
    pthread_mutex_lock(&list->lock);
    list_fill(list, UINT32_MAX);
    for (uint32_t i = 1; i < list->count; i++) { /* insertion sort: stable, and lists are short */
        const struct adapter_info *moving = list->infos[i];
        uint32_t at = i;
        for (; at > 0 && comes_before(moving, list->infos[at - 1], preferences, count); at--)
            list->infos[at] = list->infos[at - 1];
        list->infos[at] = moving;
    }
    pthread_mutex_unlock(&list->lock);
    return S_OK;
}

static bool dxcore_list_IsAdapterPreferenceSupported(LIST, DXCoreAdapterPreference preference)
{
    (void)iface;
    return (unsigned)preference <= DXCoreAdapterPreference_HighPerformance;
}

static const IDXCoreAdapterListVtbl list_vtbl = {
    COM_UNKNOWN_METHODS,
    .GetAdapter = dxcore_list_GetAdapter,
    .GetAdapterCount = dxcore_list_GetAdapterCount,
    .IsStale = dxcore_list_IsStale,
    .GetFactory = dxcore_list_GetFactory,
    .Sort = dxcore_list_Sort,
    .IsAdapterPreferenceSupported = dxcore_list_IsAdapterPreferenceSupported,
};

static const IID *const list_iids[] = { &IID_IDXCoreAdapterList, NULL };

static const struct com_class list_class = { "IDXCoreAdapterList", list_iids, list_destroy, NULL };

HRESULT dxcore_list_create(struct com_object *factory, dxcore_choose_fn *choose, void *context, REFIID riid, void **out)
{
    struct dxcore_list *list = calloc(1, sizeof(*list));
    if (!list) {
        free(context);
        return E_OUTOFMEMORY;
    }
    com_init(&list->base, &list_vtbl, &list_class, factory);
    pthread_mutex_init(&list->lock, NULL);
    list->choose = choose;
    list->context = context;
    return com_return(&list->base, riid, out);
}
