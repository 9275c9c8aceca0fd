/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's queues, command allocators, lists and fences. */
#include "standin_own.h"

/* ---- allocators ---- */

static void *const *allocator_slots(void);

static HRESULT STDMETHODCALLTYPE allocator_Reset(struct allocator *allocator)
{
    VkDevice device = allocator->base.device->device;
    check(vkResetCommandPool(device, allocator->pool, 0) == VK_SUCCESS);
    check(vkResetDescriptorPool(device, allocator->sets, 0) == VK_SUCCESS);
    allocator->used = 0;
    return S_OK;
}

static void allocator_destroy(struct object *object)
{
    struct allocator *allocator = (struct allocator *)object;
    vkDestroyCommandPool(object->device->device, allocator->pool, NULL);
    vkDestroyDescriptorPool(object->device->device, allocator->sets, NULL);
    free(allocator->buffers);
    free(allocator);
}

static void *const *allocator_slots(void)
{
    static const struct method methods[] = { METHOD(ID3D12CommandAllocator, Reset, allocator_Reset) };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    return slots;
}

static uint32_t family_of(D3D12_COMMAND_LIST_TYPE type)
{
    return type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
}

HRESULT standin_create_allocator(struct standin *device, D3D12_COMMAND_LIST_TYPE type, REFIID riid, void **out)
{
    struct allocator *allocator =
        object_new(device, sizeof(*allocator), allocator_slots(), &IID_ID3D12CommandAllocator, allocator_destroy);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = device->families[family_of(type)] };
    const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64 };
    VkDescriptorPoolCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 64, .poolSizeCount = 1, .pPoolSizes = &size
    };
    allocator->type = type;
    check(vkCreateCommandPool(device->device, &pool, NULL, &allocator->pool) == VK_SUCCESS);
    check(vkCreateDescriptorPool(device->device, &sets, NULL, &allocator->sets) == VK_SUCCESS);
    return object_return(allocator, riid, out);
}

/* ---- lists ---- */

static VkCommandBuffer current(struct list *list)
{
    check(list->open && !list->lent && list->count);
    return list->buffers[list->count - 1];
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags writes, VkPipelineStageFlags to,
                    VkAccessFlags uses)
{
    VkMemoryBarrier memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = writes,
                               .dstAccessMask = uses };
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void all_barrier(VkCommandBuffer commands)
{
    barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

/* Another VkCommandBuffer, begun: it may be executed again. */
static void extend(struct list *list)
{
    struct allocator *allocator = list->allocator;
    struct standin *device = list->base.device;
    if (list->count)
        check(vkEndCommandBuffer(list->buffers[list->count - 1]) == VK_SUCCESS);
    if (allocator->used == allocator->count) {
        VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = allocator->pool,
                                             .commandBufferCount = 1 };
        allocator->buffers = realloc(allocator->buffers, (allocator->count + 1) * sizeof(VkCommandBuffer));
        check(vkAllocateCommandBuffers(device->device, &info, &allocator->buffers[allocator->count++]) == VK_SUCCESS);
    }
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 8;
        list->buffers = realloc(list->buffers, list->capacity * sizeof(VkCommandBuffer));
    }
    VkCommandBuffer commands = list->buffers[list->count++] = allocator->buffers[allocator->used++];
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    check(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
    list->dirty = true;
}

static void open(struct list *list, struct allocator *allocator)
{
    check(!list->open);
    object_AddRef(&allocator->base);
    if (list->allocator)
        object_Release(&list->allocator->base);
    list->allocator = allocator;
    list->count = 0;
    list->open = true;
    list->set = VK_NULL_HANDLE;
    extend(list);
    all_barrier(current(list)); /* resources are in the state COMMON */
}

static HRESULT STDMETHODCALLTYPE list_Reset(struct list *list, struct allocator *allocator, void *state)
{
    (void)state;
    open(list, allocator);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE list_Close(struct list *list)
{
    all_barrier(current(list));
    check(vkEndCommandBuffer(current(list)) == VK_SUCCESS);
    list->open = false;
    return S_OK;
}

static D3D12_COMMAND_LIST_TYPE STDMETHODCALLTYPE list_GetType(struct list *list)
{
    return list->type;
}

static void STDMETHODCALLTYPE list_CopyBufferRegion(struct list *list, struct resource *to, UINT64 to_offset,
                                                    struct resource *from, UINT64 from_offset, UINT64 bytes)
{
    VkBufferCopy region = { from->offset + from_offset, to->offset + to_offset, bytes };
    check(from_offset + bytes <= from->desc.Width && to_offset + bytes <= to->desc.Width);
    vkCmdCopyBuffer(current(list), from->chunk->buffer, to->chunk->buffer, 1, &region);
}

#define SHADERS VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
#define SHADER  (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT)

static void state_scope(D3D12_RESOURCE_STATES state, VkPipelineStageFlags *out_stages, VkAccessFlags *out_accesses)
{
    switch ((int)state) {
    case D3D12_RESOURCE_STATE_COPY_DEST:
    case D3D12_RESOURCE_STATE_COPY_SOURCE:
        *out_stages = VK_PIPELINE_STAGE_TRANSFER_BIT;
        *out_accesses = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        break;
    case D3D12_RESOURCE_STATE_UNORDERED_ACCESS:
        *out_stages = SHADERS;
        *out_accesses = SHADER;
        break;
    default:
        check(state == D3D12_RESOURCE_STATE_COMMON);
        *out_stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        *out_accesses = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    }
}

static void STDMETHODCALLTYPE list_ResourceBarrier(struct list *list, UINT count,
                                                   const D3D12_RESOURCE_BARRIER *barriers)
{
    for (UINT i = 0; i < count; i++) {
        VkPipelineStageFlags from = SHADERS, to = SHADERS;
        VkAccessFlags writes = SHADER, uses = SHADER;
        if (barriers[i].Type == D3D12_RESOURCE_BARRIER_TYPE_TRANSITION) {
            state_scope(barriers[i].Transition.StateBefore, &from, &writes);
            state_scope(barriers[i].Transition.StateAfter, &to, &uses);
        }
        barrier(current(list), from, writes, to, uses);
    }
}

static void STDMETHODCALLTYPE list_SetDescriptorHeaps(struct list *list, UINT count, ID3D12DescriptorHeap *const *heaps)
{
    (void)count, (void)heaps;
    current(list);
}

static void list_destroy(struct object *object)
{
    struct list *list = (struct list *)object;
    if (list->open)
        vkEndCommandBuffer(list->buffers[list->count - 1]);
    if (list->allocator)
        object_Release(&list->allocator->base);
    free(list->buffers);
    free(list);
}

static void *const *list_slots(void)
{
    static const struct method methods[] = {
        METHOD(ID3D12GraphicsCommandList, GetType, list_GetType),
        METHOD(ID3D12GraphicsCommandList, Reset, list_Reset),
        METHOD(ID3D12GraphicsCommandList, Close, list_Close),
        METHOD(ID3D12GraphicsCommandList, CopyBufferRegion, list_CopyBufferRegion),
        METHOD(ID3D12GraphicsCommandList, ResourceBarrier, list_ResourceBarrier),
        METHOD(ID3D12GraphicsCommandList, SetDescriptorHeaps, list_SetDescriptorHeaps),
    };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    return slots;
}

bool standin_is_list(const void *object)
{
    return ((const struct object *)object)->slots == list_slots();
}

HRESULT standin_create_list(struct standin *device, UINT nodes, D3D12_COMMAND_LIST_TYPE type,
                            struct allocator *allocator, void *state, REFIID riid, void **out)
{
    (void)nodes, (void)state;
    struct list *list = object_new(device, sizeof(*list), list_slots(), &IID_ID3D12GraphicsCommandList, list_destroy);
    list->base.iids[1] = &IID_ID3D12CommandList;
    list->type = type;
    open(list, allocator);
    return object_return(list, riid, out);
}

/* ---- what others record ---- */

HRESULT list_begin_interop(struct list *list, VkCommandBuffer *out)
{
    if (!standin_is_list(list) || list->type == D3D12_COMMAND_LIST_TYPE_BUNDLE)
        return E_INVALIDARG;
    check(list->open && !list->lent);
    if (!list->base.device->options.same_buffer)
        extend(list);
    *out = list->buffers[list->count - 1];
    list->lent = true;
    return S_OK;
}

HRESULT list_end_interop(struct list *list)
{
    check(list->lent);
    list->lent = false;
    list->dirty = true;
    if (!list->base.device->options.same_buffer)
        extend(list);
    return S_OK;
}

/* ---- the application's dispatches ---- */

void standin_state(ID3D12GraphicsCommandList *iface, ID3D12Resource *buffer_iface, uint32_t value)
{
    struct list *list = (struct list *)iface;
    const struct resource *buffer = (const struct resource *)buffer_iface;
    struct standin *device = list->base.device;
    VkDescriptorSetAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = list->allocator->sets,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &device->set_layout };
    check(vkAllocateDescriptorSets(device->device, &allocate, &list->set) == VK_SUCCESS);
    const VkDescriptorBufferInfo info = { buffer->chunk->buffer, buffer->offset, buffer->desc.Width };
    VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = list->set,
                                   .descriptorCount = 1,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                   .pBufferInfo = &info };
    vkUpdateDescriptorSets(device->device, 1, &write, 0, NULL);
    list->value = value;
    list->dirty = true;
}

void standin_dispatch(ID3D12GraphicsCommandList *iface, uint32_t count)
{
    struct list *list = (struct list *)iface;
    const struct standin *device = list->base.device;
    const VkCommandBuffer commands = current(list);
    const uint32_t push[] = { count, list->value };
    check(list->set);
    if (list->dirty) {
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1, &list->set, 0, NULL);
        vkCmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
    }
    list->dirty = false;
    vkCmdDispatch(commands, (count + 63) / 64, 1, 1);
}

/* ---- queues ---- */

void standin_lock(struct standin *device, uint32_t index)
{
    pthread_mutex_lock(&device->queue_locks[index]);
    check(!device->locked[index]);
    device->locked[index] = true;
    device->lock_owner[index] = pthread_self();
}

void standin_unlock(struct standin *device, uint32_t index)
{
    check(device->locked[index] && pthread_equal(device->lock_owner[index], pthread_self()));
    device->locked[index] = false;
    pthread_mutex_unlock(&device->queue_locks[index]);
}

static void submit(struct queue *queue, const VkCommandBuffer *buffers, uint32_t count, VkSemaphore wait,
                   VkSemaphore signal, uint64_t value)
{
    struct standin *device = queue->base.device;
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                             .waitSemaphoreValueCount = wait != NULL,
                                             .pWaitSemaphoreValues = &value,
                                             .signalSemaphoreValueCount = signal != NULL,
                                             .pSignalSemaphoreValues = &value };
    VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &values,
                          .waitSemaphoreCount = wait != NULL,
                          .pWaitSemaphores = &wait,
                          .pWaitDstStageMask = &stages,
                          .commandBufferCount = count,
                          .pCommandBuffers = buffers,
                          .signalSemaphoreCount = signal != NULL,
                          .pSignalSemaphores = &signal };
    standin_lock(device, queue->index);
    check(vkQueueSubmit(device->queues[queue->index], 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    standin_unlock(device, queue->index);
}

static void STDMETHODCALLTYPE queue_ExecuteCommandLists(struct queue *queue, UINT count, struct list *const *lists)
{
    queue->executed = true;
    for (UINT i = 0; i < count; i++) {
        const struct standin *device = queue->base.device;
        check(!lists[i]->open && device->families[family_of(lists[i]->type)] == device->families[queue->index]);
        submit(queue, lists[i]->buffers, lists[i]->count, NULL, NULL, 0);
    }
}

static HRESULT STDMETHODCALLTYPE queue_Signal(struct queue *queue, struct fence *fence, UINT64 value)
{
    submit(queue, NULL, 0, NULL, fence->timeline, value);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE queue_Wait(struct queue *queue, struct fence *fence, UINT64 value)
{
    submit(queue, NULL, 0, fence->timeline, NULL, value);
    return S_OK;
}

static void plain_destroy(struct object *object)
{
    free(object);
}

static void *const *queue_slots(void)
{
    static const struct method methods[] = {
        METHOD(ID3D12CommandQueue, ExecuteCommandLists, queue_ExecuteCommandLists),
        METHOD(ID3D12CommandQueue, Signal, queue_Signal),
        METHOD(ID3D12CommandQueue, Wait, queue_Wait),
    };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    return slots;
}

bool standin_is_queue(const void *object)
{
    return ((const struct object *)object)->slots == queue_slots();
}

HRESULT standin_create_queue(struct standin *device, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID riid, void **out)
{
    struct queue *queue = object_new(device, sizeof(*queue), queue_slots(), &IID_ID3D12CommandQueue, plain_destroy);
    queue->index = family_of(desc->Type);
    if (device->family_count == 1)
        queue->index = 0;
    return object_return(queue, riid, out);
}

/* ---- fences ---- */

static UINT64 STDMETHODCALLTYPE fence_GetCompletedValue(struct fence *fence)
{
    uint64_t value = 0;
    check(vkGetSemaphoreCounterValue(fence->base.device->device, fence->timeline, &value) == VK_SUCCESS);
    return value;
}

static HRESULT STDMETHODCALLTYPE fence_SetEventOnCompletion(struct fence *fence, UINT64 value, HANDLE event)
{
    VkSemaphoreWaitInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &fence->timeline,
                                 .pValues = &value };
    check(!event);
    check(vkWaitSemaphores(fence->base.device->device, &info, UINT64_MAX) == VK_SUCCESS);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE fence_Signal(struct fence *fence, UINT64 value)
{
    VkSemaphoreSignalInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                   .semaphore = fence->timeline,
                                   .value = value };
    check(vkSignalSemaphore(fence->base.device->device, &info) == VK_SUCCESS);
    return S_OK;
}

static void fence_destroy(struct object *object)
{
    vkDestroySemaphore(object->device->device, ((struct fence *)object)->timeline, NULL);
    free(object);
}

HRESULT standin_create_fence(struct standin *device, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID riid, void **out)
{
    static const struct method methods[] = {
        METHOD(ID3D12Fence, GetCompletedValue, fence_GetCompletedValue),
        METHOD(ID3D12Fence, SetEventOnCompletion, fence_SetEventOnCompletion),
        METHOD(ID3D12Fence, Signal, fence_Signal),
    };
    static void *const *slots;
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = value };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type };
    (void)flags;
    if (!slots)
        slots = TABLE(methods);
    struct fence *fence = object_new(device, sizeof(*fence), slots, &IID_ID3D12Fence, fence_destroy);
    check(vkCreateSemaphore(device->device, &info, NULL, &fence->timeline) == VK_SUCCESS);
    return object_return(fence, riid, out);
}
