/* SPDX-License-Identifier: Apache-2.0 */
/* The objects behind foreign.h. */
#ifndef FOREIGN_DEVICE_H
#define FOREIGN_DEVICE_H

#include "d3d12/interop/interop.h"
#include "d3d12/private.h"
#include "foreign/foreign.h"
#include "foreign/vkd3d.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- device.c: fields without a remark never change after creation ---- */

struct foreign_device {
    AnydmlDevice base;
    uint32_t refs; /* under the list's lock */
    struct foreign_device *next;
    ID3D12Device *parent; /* referenced, as the three below */
    IUnknown *identity;   /* the parent as an object */
    ID3D12DXVKInteropDevice2 *interop;
    ID3D12CommandQueue *queue; /* for the adapter's submissions alone */
    bool has_queue_lock;       /* `interop` is an ID3D12DXVKInteropDevice2 */
    bool has_descriptor_heap;  /* descriptors in heaps, whose binding our commands undo */
    struct adapter_device *adapter;
    struct adapter_info info;
    _Atomic(HRESULT) reason; /* S_OK, or why it is removed; the parent may be as well */
    struct {
        pthread_mutex_t lock;        /* guards the array */
        struct foreign_range **list; /* disjoint, in the order of their handles */
        uint32_t count, capacity;
        uint32_t step;      /* between two descriptors */
        atomic_uint doubts; /* ranges with one */
    } ranges;
};

extern const struct AnydmlDeviceVtbl foreign_device_vtbl;

static inline struct foreign_device *foreign_from(AnydmlDevice *self)
{
    return (struct foreign_device *)self;
}

void foreign_message(struct foreign_device *device, D3D12_MESSAGE_SEVERITY severity, const char *text);
/* Also whether the objects are one. */
bool foreign_is_same(IUnknown *object, IUnknown *identity);

/* ---- open.c ---- */

ULONG foreign_device_AddRef(AnydmlDevice *self);
ULONG foreign_device_Release(AnydmlDevice *self);

/* ---- resource.c ---- */

/* What was asked of a resource of the parent, which keeps it until it is destroyed. */
struct foreign_resource;

/* NULL: not a buffer of the device's parent. Else referenced. */
struct foreign_resource *foreign_resource_get(struct foreign_device *device, ID3D12Resource *resource);
const struct anydml_resource_info *foreign_resource_info(const struct foreign_resource *resource);
/* The buffer's bytes as a binding, which is valid until the result is unreferenced. NULL: it does not exist any more.
 */
struct foreign_resource *foreign_resource_bind(const struct anydml_buffer *buffer, struct adapter_binding *out);
void foreign_resource_unref(struct foreign_resource *resource);

/* ---- range.c ---- */

/* Commands of a foreign list need memory for as long as the application executes the list, which it does not tell. It
 * may not overwrite the descriptors meanwhile: what commands need belongs to the range of descriptors. */

/* One dispatch with its bindings, and its memory; recorded once or several times. */
struct foreign_record {
    struct foreign_record *next;
    const void *owner;                 /* NULL: it is not used again */
    bool late;                         /* bindings are those of the range, else `buffers` */
    struct adapter_dispatch *dispatch; /* referenced */
    struct adapter_recorded *recorded;
    uint32_t count;
    struct anydml_buffer buffers[];
};

struct foreign_range {
    uint32_t refs; /* under ranges.lock */
    uint64_t gpu;
    uint32_t count;       /* under ranges.lock */
    pthread_mutex_t lock; /* guards what is below */
    uint32_t slot_count;
    struct anydml_buffer *slots;    /* the descriptors */
    struct foreign_record *records; /* the last used first */
    char *doubt;                    /* with these bindings, commands would be wrong; more may be coming */
};

/* The range of these descriptors, referenced; others that overlap it are forgotten. NULL: no memory. */
struct foreign_range *foreign_range_get(struct foreign_device *device, const struct anydml_descriptors *range);
void foreign_range_unref(struct foreign_device *device, struct foreign_range *range);
void foreign_ranges_finish(struct foreign_device *device);
/* A whole list. Under no lock: it may have the last reference of an operator. */
void foreign_records_destroy(struct foreign_device *device, struct foreign_record *list);
/* Makes the record the range's first; returns those that are too many. */
struct foreign_record *foreign_range_add(struct foreign_range *range, struct foreign_record *record);
/* Tells of bindings that were not completed, except for those of `current`. */
void foreign_tell_doubts(struct foreign_device *device, const struct foreign_range *current);

AnydmlDeviceWriteDescriptors foreign_device_WriteDescriptors;
void foreign_device_ForgetOwner(AnydmlDevice *self, const void *owner);

/* ---- record.c ---- */

#define FOREIGN_STACK_SLOTS 64

/* Bindings of buffers, and the resources that they need. */
struct foreign_bindings {
    struct adapter_binding *list;
    struct foreign_resource **resources;
    uint32_t count;
    struct adapter_binding few[FOREIGN_STACK_SLOTS];
    struct foreign_resource *few_resources[FOREIGN_STACK_SLOTS];
};

/* E_INVALIDARG with a message: a resource does not exist any more. */
HRESULT foreign_bind(const struct anydml_buffer *buffers, uint32_t count, struct foreign_bindings *out, char *message);
void foreign_unbind(struct foreign_bindings *bindings);

AnydmlDeviceRecordDispatch foreign_device_RecordDispatch;

#endif
