/* SPDX-License-Identifier: Apache-2.0 */
#include "com/com.h"

#include <stdlib.h>

static atomic_uint live_objects;

struct com_private_data {
    struct com_private_data *next;
    GUID guid;
    IUnknown *unknown; /* NULL: plain data */
    UINT size;
    char data[];
};

static const IID iid_unknown = { 0x00000000, 0x0000, 0x0000, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

bool com_iid_equal(const IID *a, const IID *b)
{
    return !memcmp(a, b, sizeof(*a));
}

uint32_t com_live_objects(void)
{
    return atomic_load(&live_objects);
}

void com_init(struct com_object *object, const void *vtbl, const struct com_class *class, struct com_object *parent)
{
    object->lpVtbl = vtbl;
    object->class = class;
    atomic_init(&object->refs, 1);
    atomic_init(&object->library_refs, 1);
    object->parent = parent;
    object->private_data = NULL;
    object->name = NULL;
    pthread_mutex_init(&object->lock, NULL);
    if (parent)
        com_ref(parent);
    atomic_fetch_add(&live_objects, 1);
}

static void private_data_destroy(struct com_private_data *entry)
{
    if (entry && entry->unknown)
        entry->unknown->lpVtbl->Release(entry->unknown);
    free(entry);
}

void com_finish(struct com_object *object)
{
    /* A private interface's destructor may AddRef and Release its dying owner: that must not destroy it again. */
    atomic_fetch_add(&object->library_refs, 1);
    for (struct com_private_data *entry = object->private_data, *next; entry; entry = next) {
        next = entry->next;
        private_data_destroy(entry);
    }
    free(object->name);
    pthread_mutex_destroy(&object->lock);
    struct com_object *parent = object->parent;
    atomic_fetch_sub(&live_objects, 1);
    if (parent)
        com_unref(parent);
}

void com_ref(struct com_object *object)
{
    atomic_fetch_add(&object->library_refs, 1);
}

void com_unref(struct com_object *object)
{
    if (atomic_fetch_sub(&object->library_refs, 1) == 1)
        object->class->destroy(object);
}

bool com_try_ref(struct com_object *object)
{
    unsigned seen = atomic_load(&object->library_refs);
    while (seen) {
        if (atomic_compare_exchange_weak(&object->library_refs, &seen, seen + 1))
            return true;
    }
    return false;
}

HRESULT com_return(struct com_object *object, REFIID riid, void **out)
{
    HRESULT hr = S_FALSE;
    if (out)
        hr = com_QueryInterface(object, riid, out);
    com_Release(object);
    return hr;
}

void com_object_name(struct com_object *object, char *out, size_t size)
{
    pthread_mutex_lock(&object->lock);
    const char *name = object->name ? object->name : "<unnamed>";
    size_t length = BASE_MIN(strlen(name), size - 1);
    memcpy(out, name, length);
    out[length] = '\0';
    pthread_mutex_unlock(&object->lock);
}

HRESULT com_QueryInterface(void *iface, REFIID riid, void **out)
{
    struct com_object *object = iface;
    if (!out)
        return E_POINTER;
    *out = NULL;
    bool known = com_iid_equal(riid, &iid_unknown);
    for (const IID *const *iid = object->class->iids; !known && *iid; iid++)
        known = com_iid_equal(*iid, riid);
    if (known) {
        com_AddRef(object);
        *out = object;
    } else if (object->class->query) {
        *out = object->class->query(object, riid);
    }
    return *out ? S_OK : E_NOINTERFACE;
}

ULONG com_AddRef(void *iface)
{
    struct com_object *object = iface;
    ULONG refs = atomic_fetch_add(&object->refs, 1) + 1;
    if (refs == 1)
        com_ref(object); /* handed out again while only the library held it */
    return refs;
}

ULONG com_Release(void *iface)
{
    struct com_object *object = iface;
    ULONG left = atomic_fetch_sub(&object->refs, 1) - 1;
    if (left)
        return left;
    if (object->class->released)
        object->class->released(object);
    com_unref(object);
    return 0;
}

static struct com_private_data **private_data_find(struct com_object *object, REFGUID guid)
{
    struct com_private_data **at = &object->private_data;
    while (*at && !com_iid_equal(&(*at)->guid, guid))
        at = &(*at)->next;
    return at;
}

HRESULT com_GetPrivateData(void *iface, REFGUID guid, UINT *size, void *data)
{
    struct com_object *object = iface;
    if (!size)
        return E_INVALIDARG;
    pthread_mutex_lock(&object->lock);
    const struct com_private_data *entry = *private_data_find(object, guid);
    UINT capacity = *size;
    HRESULT hr = S_OK;
    *size = entry ? entry->size : 0;
    if (!entry) {
        hr = DXGI_ERROR_NOT_FOUND;
    } else if (data && capacity < entry->size) {
        hr = DXGI_ERROR_MORE_DATA;
    } else if (data && entry->unknown) {
        entry->unknown->lpVtbl->AddRef(entry->unknown);
        memcpy(data, &entry->unknown, sizeof(entry->unknown));
    } else if (data) {
        memcpy(data, entry->data, entry->size);
    }
    pthread_mutex_unlock(&object->lock);
    return hr;
}

/* Replaces or (entry == NULL) erases. The old entry is released outside the lock: its destructor may call back. */
static void private_data_replace(struct com_object *object, REFGUID guid, struct com_private_data *entry)
{
    pthread_mutex_lock(&object->lock);
    struct com_private_data **at = private_data_find(object, guid);
    struct com_private_data *old = *at;
    struct com_private_data *next = old ? old->next : NULL;
    if (entry)
        entry->next = next;
    *at = entry ? entry : next;
    pthread_mutex_unlock(&object->lock);
    private_data_destroy(old);
}

HRESULT com_SetPrivateData(void *iface, REFGUID guid, UINT size, const void *data)
{
    struct com_private_data *entry = NULL;
    if (!data && size)
        return E_INVALIDARG;
    if (data) {
        entry = calloc(1, sizeof(*entry) + size);
        if (!entry)
            return E_OUTOFMEMORY;
        entry->guid = *guid;
        entry->size = size;
        memcpy(entry->data, data, size);
    }
    private_data_replace(iface, guid, entry);
    return S_OK;
}

HRESULT com_SetPrivateDataInterface(void *iface, REFGUID guid, const IUnknown *unknown)
{
    struct com_private_data *entry = NULL;
    if (unknown) {
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            return E_OUTOFMEMORY;
        entry->guid = *guid;
        entry->size = sizeof(unknown);
        entry->unknown = (IUnknown *)unknown; /* the interface type is const by an accident of the header */
        entry->unknown->lpVtbl->AddRef(entry->unknown);
    }
    private_data_replace(iface, guid, entry);
    return S_OK;
}

/* Returns the bytes written; values that are not code points become U+FFFD. */
static size_t utf8_encode(char *out, uint32_t code)
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = extra; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(lead[extra] | code);
    return extra + 1;
}

/* wchar_t is UTF-32 on Linux and UTF-16 on Windows. */
static uint32_t next_code(const WCHAR *name, size_t *at)
{
    const uint32_t first = (uint32_t)name[(*at)++];
    if (sizeof(WCHAR) > 2 || first < 0xd800 || first >= 0xdc00)
        return first;
    const uint32_t second = (uint32_t)name[*at]; /* at the end 0 */
    if (second < 0xdc00 || second >= 0xe000)
        return first;
    (*at)++;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

HRESULT com_SetName(void *iface, const WCHAR *name)
{
    struct com_object *object = iface;
    char *copy = NULL;
    if (name) {
        size_t length = 0;
        while (name[length])
            length++;
        copy = malloc(length * 4 + 1);
        if (!copy)
            return E_OUTOFMEMORY;
        size_t used = 0;
        for (size_t i = 0; i < length;)
            used += utf8_encode(copy + used, next_code(name, &i));
        copy[used] = '\0';
    }
    pthread_mutex_lock(&object->lock);
    char *old = object->name;
    object->name = copy;
    pthread_mutex_unlock(&object->lock);
    free(old);
    return S_OK;
}

HRESULT com_GetDevice(void *iface, REFIID riid, void **out)
{
    struct com_object *object = iface;
    if (!out)
        return E_INVALIDARG;
    return com_QueryInterface(object->parent, riid, out);
}
