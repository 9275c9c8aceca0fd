/* SPDX-License-Identifier: Apache-2.0 */
/* COM for the stand-in's objects. A slot that is not filled ends the program. */
#include "standin_own.h"

static void unexpected(unsigned slot)
{
    fprintf(stderr, "stand-in: an unexpected method was called: slot %u\n", slot);
    abort();
}

#define ONE(n)                                                                                                         \
    static void STDMETHODCALLTYPE unexpected_##n(void)                                                                 \
    {                                                                                                                  \
        unexpected(n);                                                                                                 \
    }
#define TEN(x, a) x(a##0) x(a##1) x(a##2) x(a##3) x(a##4) x(a##5) x(a##6) x(a##7) x(a##8) x(a##9)
#define ALL(x)                                                                                                         \
    x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) TEN(x, 1) TEN(x, 2) TEN(x, 3) TEN(x, 4) TEN(x, 5) TEN(x, 6)      \
        TEN(x, 7) TEN(x, 8) x(90) x(91) x(92) x(93) x(94) x(95)
ALL(ONE)
#define NAME(n) (void *)unexpected_##n,
void *const standin_unexpected[SLOTS] = { ALL(NAME) };

static bool same(const GUID *a, const GUID *b)
{
    return !memcmp(a, b, sizeof(*a));
}

HRESULT STDMETHODCALLTYPE object_QueryInterface(struct object *object, REFIID riid, void **out)
{
    bool known = same(riid, &IID_IUnknown) || same(riid, &IID_ID3D12Object) || same(riid, object->iid);
    for (uint32_t i = 0; i < 3 && object->iids[i]; i++)
        known |= same(riid, object->iids[i]);
    *out = NULL;
    if (!known)
        return E_NOINTERFACE;
    object_AddRef(object);
    *out = object;
    return S_OK;
}

ULONG STDMETHODCALLTYPE object_AddRef(struct object *object)
{
    return atomic_fetch_add(&object->refs, 1) + 1;
}

static void set_private(struct object *object, uint32_t i, IUnknown *unknown)
{
    IUnknown *old = object->privates[i].unknown;
    object->privates[i].unknown = unknown;
    if (old)
        old->lpVtbl->Release(old);
}

ULONG STDMETHODCALLTYPE object_Release(struct object *object)
{
    const uint32_t refs = atomic_fetch_sub(&object->refs, 1) - 1;
    check(refs != UINT32_MAX);
    if (refs)
        return refs;
    for (uint32_t i = 0; i < PRIVATES; i++)
        set_private(object, i, NULL);
    struct standin *device = object->device;
    object->destroy(object);
    if (device && (void *)device != (void *)object)
        object_Release(&device->base);
    return 0;
}

HRESULT STDMETHODCALLTYPE object_GetPrivateData(struct object *object, REFGUID guid, UINT *bytes, void *data)
{
    HRESULT hr = DXGI_ERROR_NOT_FOUND;
    pthread_mutex_lock(&object->device->lock);
    for (uint32_t i = 0; i < PRIVATES; i++)
        if (object->privates[i].unknown && same(&object->privates[i].guid, guid)) {
            check(*bytes == sizeof(void *));
            object->privates[i].unknown->lpVtbl->AddRef(object->privates[i].unknown);
            *(IUnknown **)data = object->privates[i].unknown;
            hr = S_OK;
        }
    pthread_mutex_unlock(&object->device->lock);
    return hr;
}

HRESULT STDMETHODCALLTYPE object_SetPrivateDataInterface(struct object *object, REFGUID guid, const IUnknown *unknown)
{
    pthread_mutex_lock(&object->device->lock);
    uint32_t at = 0;
    while (at < PRIVATES && object->privates[at].unknown && !same(&object->privates[at].guid, guid))
        at++;
    check(at < PRIVATES);
    IUnknown *kept = (IUnknown *)(uintptr_t)unknown;
    kept->lpVtbl->AddRef(kept);
    object->privates[at].guid = *guid;
    IUnknown *old = object->privates[at].unknown;
    object->privates[at].unknown = kept;
    pthread_mutex_unlock(&object->device->lock);
    if (old)
        old->lpVtbl->Release(old);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE object_SetName(struct object *object, const WCHAR *name)
{
    (void)object, (void)name;
    return S_OK;
}

HRESULT STDMETHODCALLTYPE object_GetDevice(struct object *object, REFIID riid, void **out)
{
    return object_QueryInterface(&object->device->base, riid, out);
}

void *object_new(struct standin *device, size_t bytes, void *const *slots, const IID *iid,
                 void (*destroy)(struct object *object))
{
    struct object *object = calloc(1, bytes);
    check(object);
    object->slots = slots;
    atomic_init(&object->refs, 1);
    object->device = device;
    object->iid = iid;
    object->iids[0] = &IID_ID3D12DeviceChild;
    object->destroy = destroy;
    object_AddRef(&device->base);
    return object;
}

HRESULT object_return(void *object, REFIID riid, void **out)
{
    HRESULT hr = object_QueryInterface(object, riid, out);
    object_Release(object);
    return hr;
}

void *const *object_table(const struct method *methods, uint32_t count)
{
    void **slots = malloc(SLOTS * sizeof(*slots));
    check(slots);
    memcpy(slots, standin_unexpected, SLOTS * sizeof(*slots));
    slots[0] = (void *)object_QueryInterface;
    slots[1] = (void *)object_AddRef;
    slots[2] = (void *)object_Release;
    slots[3] = (void *)object_GetPrivateData;
    slots[5] = (void *)object_SetPrivateDataInterface;
    slots[6] = (void *)object_SetName;
    slots[7] = (void *)object_GetDevice;
    for (uint32_t i = 0; i < count; i++)
        slots[methods[i].slot] = methods[i].function;
    return slots;
}
