/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlRunOperator on devices: dispatches on addresses, in queue order, without command lists and descriptors. Their
 * objects are kept until they are complete; several pending ones are submitted together. */
#include "d3d12/lists.h"

#include <stdlib.h>

/* ---- temporary memory of a queue: shared by its runs in sequence ---- */

static HRESULT temp_create(struct d3d_command_queue *queue, uint64_t bytes)
{
    static const D3D12_HEAP_PROPERTIES properties = { .Type = D3D12_HEAP_TYPE_DEFAULT };
    const uint64_t before = queue->temp ? queue->temp->desc.Width : 0;
    const D3D12_RESOURCE_DESC desc = { .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                       .Width = base_align_up(BASE_MAX(bytes, before * 2), D3D_PLACEMENT_ALIGNMENT),
                                       .Height = 1,
                                       .DepthOrArraySize = 1,
                                       .MipLevels = 1,
                                       .SampleDesc = { 1, 0 },
                                       .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                                       .Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS };
    struct d3d_resource *temp = NULL;
    HRESULT hr = ID3D12Device_CreateCommittedResource((ID3D12Device *)d3d_parent(queue), &properties,
                                                      D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
                                                      &IID_ID3D12Resource, (void **)&temp);
    if (FAILED(hr))
        return hr;
    if (queue->temp)
        com_Release(queue->temp); /* kept by the runs that use it */
    queue->temp = temp;
    return S_OK;
}

static HRESULT bind_temp(struct d3d_command_queue *queue, uint64_t bytes, struct d3d_submission *submission,
                         struct adapter_binding *out)
{
    HRESULT hr = S_OK;
    *out = (struct adapter_binding){ 0 };
    if (!bytes)
        return S_OK;
    pthread_mutex_lock(&queue->temp_lock);
    if (!queue->temp || queue->temp->desc.Width < bytes)
        hr = temp_create(queue, bytes);
    if (SUCCEEDED(hr)) {
        *out = d3d_resource_range(queue->temp, 0, bytes);
        com_ref(&queue->temp->pageable.base);
        submission->kept[submission->kept_count++] = &queue->temp->pageable.base;
    }
    pthread_mutex_unlock(&queue->temp_lock);
    return hr;
}

/* ---- addresses ---- */

/* Under tables_lock. false: the range is not in memory of the device, or exceeds it. */
static bool resolve(struct d3d_device *device, const struct anydml_range *range, struct d3d_submission *submission,
                    struct adapter_binding *out)
{
    *out = (struct adapter_binding){ 0 };
    if (!range->address)
        return true;
    const struct d3d_place *place = d3d_places_find(&device->places, range->address);
    const uint64_t offset = place ? range->address - place->memory->address : 0;
    if (!place || range->bytes > place->memory->size - offset || !com_try_ref(place->owner))
        return false;
    submission->kept[submission->kept_count++] = place->owner;
    *out = (struct adapter_binding){ place->memory, offset, range->bytes, 0 };
    return true;
}

static bool resolve_all(struct d3d_device *device, struct anydml_run *run, struct d3d_submission *submission,
                        struct adapter_binding *bindings)
{
    uint32_t i = 0;
    pthread_mutex_lock(&device->tables_lock);
    while (i < run->count && resolve(device, &run->ranges[i], submission, &bindings[i]))
        i++;
    pthread_mutex_unlock(&device->tables_lock);
    run->wrong = i;
    return i == run->count;
}

/* ---- the whole ---- */

static HRESULT push(struct d3d_command_queue *queue, struct d3d_submission *submission)
{
    const struct d3d_work work = { .type = D3D_WORK_EXECUTE, .submission = submission };
    return d3d_worker_push(queue->worker, &work) ? S_OK : E_OUTOFMEMORY;
}

HRESULT d3d_command_queue_run(struct d3d_command_queue *queue, struct anydml_run *run)
{
    struct adapter_command *command;
    struct adapter_binding *bindings;
    struct d3d_submission *submission = d3d_submission_create_run(queue->worker, run->count + 1, &command, &bindings);
    if (!submission)
        return E_OUTOFMEMORY;
    run->dispatch->ops->ref(run->dispatch);
    submission->run = run->dispatch;
    *command = (struct adapter_command){ .type = ADAPTER_DISPATCH };
    command->u.dispatch.dispatch = run->dispatch;
    command->u.dispatch.bindings = bindings;
    command->u.dispatch.binding_count = run->count + 1;
    HRESULT hr = resolve_all(d3d_parent(queue), run, submission, bindings) ? S_OK : E_INVALIDARG;
    if (SUCCEEDED(hr))
        hr = bind_temp(queue, run->temp_bytes, submission, &bindings[run->count]);
    if (SUCCEEDED(hr))
        hr = push(queue, submission);
    if (FAILED(hr))
        d3d_submission_release(queue->worker, submission);
    return hr;
}
