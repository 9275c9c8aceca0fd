/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches in command lists of the parent. The same code that records them for queues of libd3d12 records them into
 * the list's VkCommandBuffer. */
#include "foreign/device.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- bindings ---- */

HRESULT foreign_bind(const struct anydml_buffer *buffers, uint32_t count, struct foreign_bindings *out, char *message)
{
    const bool few = count <= FOREIGN_STACK_SLOTS;
    out->count = count;
    out->list = few ? out->few : calloc(count, sizeof(*out->list));
    out->resources = few ? out->few_resources : calloc(count, sizeof(struct foreign_resource *));
    HRESULT hr = out->list && out->resources ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count && out->list && out->resources; i++) {
        out->list[i] = (struct adapter_binding){ 0 };
        out->resources[i] = NULL;
        if (!buffers[i].resource_id || FAILED(hr))
            continue;
        out->resources[i] = foreign_resource_bind(&buffers[i], &out->list[i]);
        if (out->resources[i])
            continue;
        snprintf(message, ADAPTER_MESSAGE_BYTES, "the resource bound to descriptor %u was released", i);
        hr = E_INVALIDARG;
    }
    if (FAILED(hr))
        foreign_unbind(out);
    return hr;
}

void foreign_unbind(struct foreign_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count && bindings->list && bindings->resources; i++)
        foreign_resource_unref(bindings->resources[i]);
    if (bindings->list != bindings->few)
        free(bindings->list);
    if (bindings->resources != bindings->few_resources)
        free(bindings->resources);
}

/* ---- one dispatch ---- */

struct recording {
    struct foreign_device *device;
    ID3D12CommandList *list;
    struct adapter_dispatch *dispatch;
    const struct anydml_descriptors *descriptors;
    bool late;
    struct anydml_buffer *buffers; /* that count now */
    struct foreign_bindings bindings;
    struct foreign_record *record, *dead;
    char *message;
};

static HRESULT say(struct recording *recording, const char *text)
{
    snprintf(recording->message, ADAPTER_MESSAGE_BYTES, "%s", text);
    return E_INVALIDARG;
}

/* Whether it is open, nothing tells. */
static HRESULT check_list(struct recording *recording)
{
    ID3D12CommandList *list = recording->list;
    ID3D12Device *parent = NULL;
    if (FAILED(list->lpVtbl->GetDevice(list, &IID_ID3D12Device, (void **)&parent)) || !parent)
        return say(recording, "commandList has no device");
    const bool same = foreign_is_same((IUnknown *)parent, recording->device->identity);
    parent->lpVtbl->Release(parent);
    if (!same)
        return say(recording, "commandList is not one of the parent device");
    const D3D12_COMMAND_LIST_TYPE type = list->lpVtbl->GetType(list);
    if (type == D3D12_COMMAND_LIST_TYPE_DIRECT || type == D3D12_COMMAND_LIST_TYPE_COMPUTE)
        return S_OK;
    return say(recording,
               type == D3D12_COMMAND_LIST_TYPE_BUNDLE ? "commandList is a bundle, must be a DIRECT or COMPUTE list"
               : type == D3D12_COMMAND_LIST_TYPE_COPY ? "commandList is a COPY list, must be a DIRECT or COMPUTE list"
                                                      : "commandList is no DIRECT or COMPUTE list");
}

/* As captured; empty ones are those of the descriptors. */
static HRESULT choose_buffers(struct recording *recording, const struct foreign_range *range,
                              const struct anydml_buffer *captured)
{
    const uint32_t count = recording->descriptors->count;
    recording->buffers = calloc(count + 1u, sizeof(*recording->buffers));
    if (!recording->buffers)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++)
        if (captured && captured[i].resource_id)
            recording->buffers[i] = captured[i];
        else if (i < range->slot_count)
            recording->buffers[i] = range->slots[i];
    return S_OK;
}

static HRESULT check_with(const struct recording *recording, struct adapter_dispatch *dispatch,
                          enum adapter_moment moment)
{
    return dispatch->ops->check(dispatch, recording->bindings.list, recording->bindings.count, moment,
                                recording->message);
}

/* An earlier recording with the same memory: that of the same bindings, or one whose bindings change. */
static bool fits(const struct recording *recording, const struct foreign_record *record)
{
    const uint32_t count = recording->descriptors->count;
    if (!record->owner || record->owner != recording->descriptors->owner || record->late != recording->late ||
        record->count != count)
        return false;
    if (record->late)
        return SUCCEEDED(check_with(recording, record->dispatch, ADAPTER_MOMENT_REBOUND));
    return !memcmp(record->buffers, recording->buffers, count * sizeof(*record->buffers));
}

static HRESULT new_record(struct recording *recording)
{
    const uint32_t count = recording->descriptors->count;
    *recording->message = 0;
    HRESULT hr = check_with(recording, recording->dispatch, ADAPTER_MOMENT_RECORDED);
    if (FAILED(hr))
        return hr;
    struct foreign_record *record = calloc(1, sizeof(*record) + count * sizeof(*record->buffers));
    if (!record)
        return E_OUTOFMEMORY;
    record->owner = recording->descriptors->owner;
    record->late = recording->late;
    record->dispatch = recording->dispatch;
    record->dispatch->ops->ref(record->dispatch);
    record->count = count;
    memcpy(record->buffers, recording->buffers, count * sizeof(*record->buffers));
    recording->record = record;
    return S_OK;
}

static HRESULT find_or_make(struct recording *recording, const struct foreign_range *range)
{
    for (struct foreign_record *record = range->records; record && !recording->record; record = record->next)
        if (fits(recording, record))
            recording->record = record;
    return recording->record ? S_OK : new_record(recording);
}

/* Begin ends what the list has begun in Vulkan, and makes it set its state again. */
static HRESULT record_commands(struct recording *recording)
{
    ID3D12DXVKInteropDevice2 *interop = recording->device->interop;
    struct foreign_record *record = recording->record;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    HRESULT hr = interop->lpVtbl->BeginVkCommandBufferInterop(interop, recording->list, &commands);
    if (FAILED(hr) || !commands) {
        snprintf(recording->message, ADAPTER_MESSAGE_BYTES,
                 "vkd3d-proton does not give the Vulkan commands of commandList (0x%08x): another library may have put "
                 "an object of its own around it",
                 (unsigned)hr);
        return E_INVALIDARG;
    }
    hr = adapter_vulkan_interop.record(recording->device->adapter, commands, true, record->dispatch,
                                       recording->bindings.list, recording->bindings.count, &record->recorded);
    interop->lpVtbl->EndVkCommandBufferInterop(interop, recording->list);
    if (FAILED(hr)) {
        record->owner = NULL; /* some commands may be there, and need their memory */
        if (hr != E_OUTOFMEMORY)
            snprintf(recording->message, ADAPTER_MESSAGE_BYTES, "the dispatch cannot be recorded (0x%08x)",
                     (unsigned)hr);
    }
    return hr;
}

/* Under the range's lock. */
static HRESULT record_in(struct recording *recording, struct foreign_range *range, const struct anydml_buffer *captured)
{
    HRESULT hr = choose_buffers(recording, range, captured);
    if (SUCCEEDED(hr))
        hr = foreign_bind(recording->buffers, recording->descriptors->count, &recording->bindings, recording->message);
    if (FAILED(hr))
        return hr;
    hr = find_or_make(recording, range);
    if (SUCCEEDED(hr)) {
        const bool fresh = !recording->record->recorded;
        hr = record_commands(recording);
        if (recording->record->recorded)
            recording->dead = foreign_range_add(range, recording->record);
        else if (fresh)
            recording->dead = recording->record;
    }
    foreign_unbind(&recording->bindings);
    return hr;
}

HRESULT foreign_device_RecordDispatch(AnydmlDevice *self, ID3D12CommandList *list, struct adapter_dispatch *dispatch,
                                      const struct anydml_descriptors *descriptors,
                                      const struct anydml_buffer *captured, struct anydml_recording *out)
{
    struct recording recording = { .device = foreign_from(self),
                                   .list = list,
                                   .dispatch = dispatch,
                                   .descriptors = descriptors,
                                   .late = !captured,
                                   .message = out->message };
    HRESULT hr = check_list(&recording);
    if (FAILED(hr))
        return hr;
    struct foreign_range *range = foreign_range_get(recording.device, descriptors);
    if (!range)
        return E_OUTOFMEMORY;
    foreign_tell_doubts(recording.device, NULL);
    pthread_mutex_lock(&range->lock);
    hr = record_in(&recording, range, captured);
    pthread_mutex_unlock(&range->lock);
    foreign_records_destroy(recording.device, recording.dead);
    foreign_range_unref(recording.device, range);
    free(recording.buffers);
    return hr;
}
