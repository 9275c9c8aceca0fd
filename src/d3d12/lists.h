/* SPDX-License-Identifier: Apache-2.0 */
/* Command lists, their recorded commands, and submissions. */
#ifndef D3D12_LISTS_H
#define D3D12_LISTS_H

#include "d3d12/objects.h"

/* ---- recording.c: the commands between two Resets. Shared by the list and the submissions that still run it ---- */

struct d3d_dispatch_slots {
    uint32_t command; /* index in commands */
    struct d3d_descriptor_heap *heap;
    uint32_t first, count;
    uint32_t captured; /* index in captured of the first one, UINT32_MAX: none */
};

/* For the debug layer: the state that a command requires of a buffer, or that a barrier sets (states.c). */
enum d3d_use_kind {
    D3D_USE_ACCESS,
    D3D_USE_TRANSITION,
    D3D_USE_BARRIER, /* of unordered access, or between resources that share memory */
    D3D_USE_LATE,    /* a dispatch with bindings that are known only at execution */
};

struct d3d_use {
    enum d3d_use_kind kind;
    bool writes, reported;
    uint32_t command;                   /* ACCESS: those of one command are unordered */
    uint32_t slot;                      /* ACCESS of a dispatch; LATE: index in dispatches */
    const char *what;                   /* static: the method */
    struct adapter_dispatch *dispatch;  /* kept by the recording; NULL: not a dispatch */
    uint64_t resource_id;               /* 0 of a BARRIER: all */
    uint64_t offset, bytes;             /* in the memory */
    D3D12_RESOURCE_STATES state, after; /* state: the one needed, or that before */
};

struct d3d_recording {
    atomic_uint refs;
    atomic_uint pending;         /* submissions not finished */
    _Atomic(void *) last_worker; /* of the newest submission, identity only */
    struct adapter_command *commands;
    uint32_t command_count, command_capacity;
    struct d3d_dispatch_slots *dispatches;
    uint32_t dispatch_count, dispatch_capacity;
    struct anydml_buffer *captured; /* bindings that were known when their dispatch was recorded */
    uint32_t captured_count, captured_capacity;
    uint32_t binding_count;   /* of all dispatches */
    struct com_object **kept; /* every object that the commands use */
    uint32_t kept_count, kept_capacity;
    struct d3d_use *uses; /* with the debug layer, in order */
    uint32_t use_count, use_capacity;
    bool late; /* there are LATE ones */
};

struct d3d_recording *d3d_recording_create(void);
void d3d_recording_ref(struct d3d_recording *recording);
void d3d_recording_unref(struct d3d_recording *recording);
/* Empties it; it must have one user. */
void d3d_recording_clear(struct d3d_recording *recording);
/* false: memory is short. */
bool d3d_recording_retain(struct d3d_recording *recording, struct com_object *object);
struct adapter_command *d3d_recording_append(struct d3d_recording *recording, enum adapter_command_type type);

/* ---- command_list.c ---- */

struct d3d_split {
    struct d3d_resource *resource;
    D3D12_RESOURCE_STATES before, after;
};

struct d3d_state {
    uint64_t resource_id;
    D3D12_RESOURCE_STATES state;
    bool promoted; /* by an access */
};

struct d3d_states {
    struct d3d_state *states; /* buffers that are not listed are COMMON */
    uint32_t count, capacity;
    struct d3d_use *pending; /* unordered accesses that no barrier has ended */
    uint32_t pending_count, pending_capacity;
    uint32_t commands; /* of the lists before this one */
};

struct d3d_command_list {
    struct com_object base; /* ID3D12GraphicsCommandList6 */
    D3D12_COMMAND_LIST_TYPE type;
    bool open;
    HRESULT error;                           /* the first one of this recording */
    struct d3d_command_allocator *allocator; /* kept; NULL before the first Reset of a list of CreateCommandList1 */
    unsigned allocator_generation;
    struct d3d_recording *recording;
    struct d3d_descriptor_heap *heap; /* current CBV_SRV_UAV heap; kept by the recording */
    struct d3d_split *splits;         /* barriers begun and not ended */
    uint32_t split_count, split_capacity;
    struct d3d_states states; /* with the debug layer */
};

extern const ID3D12GraphicsCommandList6Vtbl d3d_command_list_vtbl;

static inline struct d3d_command_list *d3d_command_list_from(void *iface)
{
    return iface;
}

/* For recording methods: true if the list is open and its device not removed; otherwise reports the error. */
bool d3d_list_recording(struct d3d_command_list *list, const char *method);
/* Notes the recording's first error. */
void d3d_list_fail(struct d3d_command_list *list, HRESULT hr, const char *format, ...) BASE_PRINTF(3, 4);
/* Likewise, with the number that Direct3D 12 has for it. */
void d3d_list_fail_as(struct d3d_command_list *list, HRESULT hr, D3D12_MESSAGE_ID id, const char *format, ...)
    BASE_PRINTF(4, 5);

/* A rule that arguments break, and the number of Direct3D 12's message about it. */
struct d3d_rule {
    D3D12_MESSAGE_ID id;
    const char *text;
};

/* Of an error; NULL: there is none, and *out is as it was. */
static inline bool d3d_broken(struct d3d_rule *out, D3D12_MESSAGE_ID id, const char *text)
{
    if (text)
        *out = (struct d3d_rule){ id, text };
    return text != NULL;
}

/* Appends a command that names these objects (NULL: none); NULL and an error of the list when memory is short. */
struct adapter_command *d3d_list_append(struct d3d_command_list *list, enum adapter_command_type type,
                                        struct com_object *first, struct com_object *second);

/* The methods in command_record.c and command_barrier.c. */
#define D3D_LIST ID3D12GraphicsCommandList6 *iface
void d3d_command_list_CopyBufferRegion(D3D_LIST, ID3D12Resource *to, UINT64 to_offset, ID3D12Resource *from,
                                       UINT64 from_offset, UINT64 bytes);
void d3d_command_list_CopyResource(D3D_LIST, ID3D12Resource *to, ID3D12Resource *from);
void d3d_command_list_ResourceBarrier(D3D_LIST, UINT count, const D3D12_RESOURCE_BARRIER *barriers);
void d3d_command_list_SetDescriptorHeaps(D3D_LIST, UINT count, ID3D12DescriptorHeap *const *heaps);
void d3d_command_list_ClearUnorderedAccessViewUint(D3D_LIST, D3D12_GPU_DESCRIPTOR_HANDLE gpu,
                                                   D3D12_CPU_DESCRIPTOR_HANDLE cpu, ID3D12Resource *resource,
                                                   const UINT values[4], UINT rect_count, const D3D12_RECT *rects);
void d3d_command_list_BeginQuery(D3D_LIST, ID3D12QueryHeap *heap, D3D12_QUERY_TYPE type, UINT index);
void d3d_command_list_EndQuery(D3D_LIST, ID3D12QueryHeap *heap, D3D12_QUERY_TYPE type, UINT index);
void d3d_command_list_ResolveQueryData(D3D_LIST, ID3D12QueryHeap *heap, D3D12_QUERY_TYPE type, UINT start, UINT count,
                                       ID3D12Resource *to, UINT64 offset);
void d3d_command_list_DiscardResource(D3D_LIST, ID3D12Resource *resource, const D3D12_DISCARD_REGION *region);

/* Close's part of the barriers: every split barrier must have ended. */
void d3d_list_check_splits(struct d3d_command_list *list);

/* ---- states.c: no effect without the debug layer ---- */

void d3d_states_clear(struct d3d_states *states);
void d3d_states_finish(struct d3d_states *states);
/* Describes the command that is recorded next. `what` is static. */
void d3d_list_note_access(struct d3d_command_list *list, const char *what, const struct adapter_binding *range,
                          const struct d3d_resource *resource, D3D12_RESOURCE_STATES state);
void d3d_list_note_transition(struct d3d_command_list *list, const struct d3d_split *split);
/* resource NULL: all. */
void d3d_list_note_barrier(struct d3d_command_list *list, const struct d3d_resource *resource);
/* The dispatch that was recorded last. */
void d3d_list_note_dispatch(struct d3d_command_list *list);
struct d3d_submission;
/* Its bindings are resolved. */
void d3d_submission_check_states(struct d3d_device *device, const struct d3d_submission *submission);

/* ---- command_record.c ---- */

/* The bindings of a dispatch: buffers[i] if given and not empty, else the descriptor at the GPU handle. */
struct d3d_slots {
    uint64_t handle;
    uint32_t count;
    const struct anydml_buffer *buffers; /* may be NULL */
};
HRESULT d3d_list_record_dispatch(struct d3d_command_list *list, struct adapter_dispatch *dispatch,
                                 const struct d3d_slots *slots, BOOL *out_heap_in_force);

/* ---- submission.c: one ExecuteCommandLists call ---- */

struct d3d_submission {
    struct d3d_submission *next; /* among a worker's free or running ones */
    size_t capacity;             /* bytes after this struct */
    uint64_t ticket;
    bool more;                    /* among running ones: the next one is in the same batch */
    struct adapter_batch batch;   /* with its own commands */
    struct adapter_dispatch *run; /* kept: of AnydmlRunOperator; NULL: of command lists */
    struct d3d_recording **recordings;
    struct com_object **kept; /* resources found in descriptors, owners of memory */
    uint32_t kept_count;
    _Alignas(16) char data[];
};

/* Under tables_lock: the range of a binding; its resource gets a reference. Returns NULL, or an error message; an empty
 * binding has no range. */
const char *d3d_slot_resolve(struct d3d_device *device, const struct anydml_buffer *slot, struct adapter_binding *out,
                             struct com_object **out_kept);

/* Checks and resolves. NULL: nothing to run, the device was removed, or the call was dropped with a message. */
struct d3d_submission *d3d_submission_create(struct d3d_command_queue *queue, ID3D12CommandList *const *lists,
                                             uint32_t count);
/* A submission of one dispatch. The caller fills its command, bindings and `run`; it may keep as many objects as it has
 * bindings. NULL: out of memory. */
struct d3d_submission *d3d_submission_create_run(struct d3d_worker *worker, uint32_t binding_count,
                                                 struct adapter_command **out_command,
                                                 struct adapter_binding **out_bindings);
/* Whether running it takes less time than waking another thread. */
bool d3d_submission_short(const struct d3d_submission *submission);
/* Another thread borrows an idle queue (false: it is busy), runs a submission and releases it, or only starts it, and
 * returns the queue to its thread. */
bool d3d_worker_acquire(struct d3d_worker *worker);
HRESULT d3d_worker_run(struct d3d_worker *worker, struct d3d_submission *submission);
void d3d_worker_execute(struct d3d_worker *worker, struct d3d_submission *submission);
void d3d_worker_release(struct d3d_worker *worker);
/* Releases its references; the block is recycled by the worker. */
void d3d_submission_release(struct d3d_worker *worker, struct d3d_submission *submission);

#endif
