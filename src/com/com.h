/* SPDX-License-Identifier: Apache-2.0 */
/* COM in C, implemented once. ID3D12Object and IDMLObject have the same first slots (QueryInterface, AddRef, Release,
 * GetPrivateData, SetPrivateData, SetPrivateDataInterface, SetName, and for children GetDevice), so one set of
 * functions serves every object of the three libraries.
 *
 * Two counters: `refs` belongs to the application, `library_refs` to the library (plus one while refs > 0). The object
 * is destroyed when library_refs falls to 0. All functions here are thread-safe. */
#ifndef COM_COM_H
#define COM_COM_H

#include "base/base.h"

#include <anydml_d3d12.h>
#include <pthread.h>
#include <stdatomic.h>

struct com_object;
struct com_private_data;

/* Methods that return structs. On Windows the struct's address is a parameter after the object, and is returned:
 *     static COM_STRUCT(LUID) d3d_device_GetAdapterLuid(ID3D12Device9 *iface COM_RESULT(LUID))
 *     {
 *         COM_RETURN(luid);
 *     } */
#ifdef _WIN32
#define COM_STRUCT(type) type *
#define COM_RESULT(type) , type *result
#define COM_RETURN(...)  return *result = (__VA_ARGS__), result
#else
#define COM_STRUCT(type) type
#define COM_RESULT(type)
#define COM_RETURN(...) return (__VA_ARGS__)
#endif

struct com_class {
    const char *name;                           /* for messages: "ID3D12Fence" */
    const IID *const *iids;                     /* interfaces with the same pointer as the object, NULL-terminated */
    void (*destroy)(struct com_object *object); /* destroys the object's members, calls com_finish, frees the memory */
    /* Optional: interfaces served by another pointer (tear-offs). Returns a referenced pointer or NULL. */
    void *(*query)(struct com_object *object, const IID *iid);
    /* Optional: the application has released its last reference. */
    void (*released)(struct com_object *object);
};

/* First member of every object. */
struct com_object {
    const void *lpVtbl;
    const struct com_class *class;
    atomic_uint refs;
    atomic_uint library_refs;
    struct com_object *parent; /* the device; kept while this object lives. NULL for devices */
    pthread_mutex_t lock;      /* guards the two fields below */
    struct com_private_data *private_data;
    char *name; /* UTF-8, NULL = unnamed */
};

/* refs = library_refs = 1. `parent` may be NULL; otherwise it is kept until com_finish. */
void com_init(struct com_object *object, const void *vtbl, const struct com_class *class, struct com_object *parent);

/* Releases private data, name and parent. Called by `destroy` right before it frees the memory. */
void com_finish(struct com_object *object);

/* References held by the library, not visible in the application's counts. */
void com_ref(struct com_object *object);
void com_unref(struct com_object *object);

/* com_ref unless the object is already being destroyed (for tables of weak pointers, under the table's lock). */
bool com_try_ref(struct com_object *object);

/* Hands `object` (with its first reference) to the caller under `riid`: E_NOINTERFACE destroys it and sets *out NULL.
 * out == NULL: the object is destroyed and S_FALSE returned (validation-only calls). */
HRESULT com_return(struct com_object *object, REFIID riid, void **out);

/* `iface` as the child of `parent` (one of this library's objects) with this method table; NULL for NULL, foreign
 * objects and children of others. */
static inline void *com_child(const void *parent, const void *iface, const void *vtbl)
{
    const struct com_object *object = iface;
    return object && object->lpVtbl == vtbl && object->parent == parent ? (void *)object : NULL;
}

/* "name" or "<unnamed>", copied into `out` (always terminated). */
void com_object_name(struct com_object *object, char *out, size_t size);

/* The number of objects of this library in the process: tests check that it returns to its initial value. Each library
 * counts its own. */
uint32_t com_live_objects(void);

bool com_iid_equal(const IID *a, const IID *b);

/* The shared methods. Assign them to vtable slots with a (void *) cast: `.AddRef = (void *)com_AddRef`. */
HRESULT com_QueryInterface(void *iface, REFIID riid, void **out);
ULONG com_AddRef(void *iface);
ULONG com_Release(void *iface);
HRESULT com_GetPrivateData(void *iface, REFGUID guid, UINT *size, void *data);
HRESULT com_SetPrivateData(void *iface, REFGUID guid, UINT size, const void *data);
HRESULT com_SetPrivateDataInterface(void *iface, REFGUID guid, const IUnknown *unknown);
HRESULT com_SetName(void *iface, const WCHAR *name);
/* GetDevice of ID3D12DeviceChild and IDMLDeviceChild: QueryInterface on the parent. out NULL: E_INVALIDARG. */
HRESULT com_GetDevice(void *iface, REFIID riid, void **out);

/* The first seven and the first eight slots as designated initialisers. */
#define COM_UNKNOWN_METHODS                                                                                            \
    .QueryInterface = (void *)com_QueryInterface, .AddRef = (void *)com_AddRef, .Release = (void *)com_Release
#define COM_OBJECT_METHODS                                                                                             \
    COM_UNKNOWN_METHODS, .GetPrivateData = (void *)com_GetPrivateData, .SetPrivateData = (void *)com_SetPrivateData,   \
                         .SetPrivateDataInterface = (void *)com_SetPrivateDataInterface,                               \
                         .SetName = (void *)com_SetName
#define COM_CHILD_METHODS COM_OBJECT_METHODS, .GetDevice = (void *)com_GetDevice

#endif
