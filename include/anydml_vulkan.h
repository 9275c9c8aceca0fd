/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyDML within programs that use Vulkan themselves: a Direct3D 12 device over the program's own VkDevice and queues,
 * buffers and timeline semaphores shared both ways, and operators recorded into the program's own command buffers.
 * docs/vulkan-interop.md shows how the parts work together, samples/vulkan_interop.c is a program of them.
 *
 * All functions are free-threaded unless they say otherwise, and return an HRESULT. A failure says on stderr (by
 * ANYDML_LOG), and to the debug layer where there is a device, which function and argument, its value and the rule:
 *   E_INVALIDARG                an argument is NULL or against a rule that its comment states
 *   DXGI_ERROR_UNSUPPORTED      the object is another runtime's or not on Vulkan, the build has no Vulkan, or the
 *                               device cannot do it
 *   DXGI_ERROR_DEVICE_REMOVED, E_OUTOFMEMORY, E_NOINTERFACE   as everywhere
 */
#ifndef ANYDML_VULKAN_H
#define ANYDML_VULKAN_H

#include "DirectML.h"

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the device (libd3d12) ---- */

/* Around each submission to a queue: vkQueueSubmit wants it externally synchronised. */
typedef void(STDMETHODCALLTYPE *anydml_vulkan_lock)(void *context, VkQueue queue);

/* What the application made and keeps: everything stays its own, and must live until the last reference on the device,
 * and on all that was made of the device, is gone.
 *
 * The instance: apiVersion 1.2 or newer, of the loader libvulkan.so.1 that the process uses elsewhere too.
 * The device: Vulkan 1.2 with the features bufferDeviceAddress, timelineSemaphore and uniformBufferStandardLayout
 * enabled, and the property shaderSignedZeroInfNanPreserveFloat32. These are used where they are enabled:
 *         shaderInt64                                            64-bit integers
 *         shaderFloat64, with shaderInt64                        FLOAT64
 *         storageBuffer8BitAccess and storageBuffer16BitAccess   8- and 16-bit data, without which they go through
 *                                                                32-bit words, more slowly
 *         VK_EXT_memory_budget                                   QueryVideoMemoryInfo
 *         VK_KHR_external_memory_fd                              memory of and for other processes and interfaces
 * The queues: all of one family with VK_QUEUE_COMPUTE_BIT, created with flags 0, 1 to 4 of them. Command queues of the
 *     Direct3D device share them in turn. */
struct anydml_vulkan_device {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    VkInstance Instance;
    UINT32 ApiVersion; /* VkApplicationInfo's, of the instance */
    VkPhysicalDevice PhysicalDevice;
    VkDevice Device;
    const VkDeviceCreateInfo *CreateInfo; /* what vkCreateDevice was given: it says what is enabled. Read during the
                                             call only */
    UINT32 QueueFamily;
    UINT32 QueueCount;
    const VkQueue *Queues;
    /* Called around each use of one of Queues, on the threads of AnydmlVulkanCreateDevice's command queues and of
     * whoever creates resources or compiles, which do not hold it for long. The application takes the same lock around
     * its own use of the queue. Both NULL: AnyDML alone uses these queues. They must not call AnyDML. */
    anydml_vulkan_lock Lock, Unlock;
    void *Context; /* of the two */
};

/* A Direct3D 12 device, for DMLCreateDevice as any other. Each call makes a new one, also for one VkDevice; objects of
 * one are not the other's. Its LUID is no listed adapter's. */
HRESULT WINAPI AnydmlVulkanCreateDevice(const struct anydml_vulkan_device *desc, REFIID riid, void **out);

/* ---- buffers (libd3d12): of devices on Vulkan, also those of D3D12CreateDevice ---- */

/* The usage of AnyDML's own buffers, and what it needs of others. */
#define ANYDML_VULKAN_BUFFER_USAGE                                                                                     \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |        \
     VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)

/* Bytes of a VkBuffer. */
struct anydml_vulkan_buffer {
    VkBuffer Buffer;
    VkDeviceSize Offset, Size;
    VkDeviceAddress Address; /* of byte Offset; AnydmlVulkanOpenBuffer does not read it */
};

/* [Offset, Offset + Size) of the application's VkBuffer as a resource: one of a DEFAULT heap with
 * ALLOW_UNORDERED_ACCESS, not mappable, for copies and DirectML bindings of any kind. Its contents stay. The buffer was
 * made with ANYDML_VULKAN_BUFFER_USAGE and sharing mode EXCLUSIVE (then used by the family of the device's queues while
 * it is in AnyDML's hands) or CONCURRENT, and its memory with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. Offset and Size
 * are multiples of 4, the device address one of 16, and for temporary and persistent resources of 256. The buffer must
 * outlive the resource and the work that uses it.
 * Several resources may lie over the same bytes: they are in one space of addresses when overlaps are looked for. */
HRESULT WINAPI AnydmlVulkanOpenBuffer(ID3D12Device *device, const struct anydml_vulkan_buffer *buffer, REFIID riid,
                                      void **out);

/* Where a buffer resource lies, whoever made it. Good as long as the resource is; S_OK or E_INVALIDARG, and
 * DXGI_ERROR_UNSUPPORTED. Device addresses of AnyDML's own buffers are GetGPUVirtualAddress's. */
HRESULT WINAPI AnydmlVulkanGetBuffer(ID3D12Resource *resource, struct anydml_vulkan_buffer *out);

/* A range of device memory. */
struct anydml_vulkan_memory {
    VkDeviceMemory Memory; /* VK_NULL_HANDLE: the memory is Fd's */
    int Fd;                /* of VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT; not read with Memory */
    VkDeviceSize AllocationSize;
    UINT32 MemoryType;
    VkExternalMemoryHandleTypeFlags HandleTypes; /* that the memory was allocated for; 0 for Memory: none */
    BOOL Dedicated;                              /* allocated for one buffer, of ANYDML_VULKAN_BUFFER_USAGE */
    VkDeviceSize Offset, Size;                   /* the range; of a dedicated allocation its buffer: Offset is 0 */
};

/* The range as a resource, as AnydmlVulkanOpenBuffer makes it. AllocationSize, MemoryType, HandleTypes and Dedicated
 * are what the memory was allocated with. Offset is a multiple of what the device asks of buffers (at most 64 KiB),
 * Size of 4. Memory: the application's, allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT; it must outlive the
 * resource. Fd: memory that this or another process, through this or another interface, exported on the same device and
 * driver (VkPhysicalDeviceIDProperties tells). S_OK takes the descriptor, a failure leaves it to the caller. Needs
 * VK_KHR_external_memory_fd, which devices of D3D12CreateDevice enable where there is one. The contents stay; who may
 * use them when is between the two sides: semaphores, or as simple as a pipe. */
HRESULT WINAPI AnydmlVulkanOpenMemory(ID3D12Device *device, const struct anydml_vulkan_memory *memory, REFIID riid,
                                      void **out);

/* A zeroed buffer of `size` bytes, a multiple of 4, in memory of its own that AnydmlVulkanExportMemory can give away.
 */
HRESULT WINAPI AnydmlVulkanCreateSharedBuffer(ID3D12Device *device, UINT64 size, REFIID riid, void **out);

/* All that the other side needs to import the memory of such a buffer, with a new descriptor in Fd that is the caller's
 * to close or to give away. Memory is VK_NULL_HANDLE, so that the struct as it is, with the descriptor's number over
 * there, opens it. */
HRESULT WINAPI AnydmlVulkanExportMemory(ID3D12Resource *resource, struct anydml_vulkan_memory *out);

/* ---- fences (libd3d12) ---- */

/* An ID3D12Fence whose value is that of a timeline semaphore, so that both sides wait for each other by the same
 * numbers. semaphore: of the application's device; it must outlive the fence and the work that waits for it or signals
 * it. VK_NULL_HANDLE: a new one of `value`, which lives as long as the fence. With a semaphore `value` is not read.
 *
 * GetCompletedValue, SetEventOnCompletion and the waits of queues see what anyone has signalled. ID3D12Fence::Signal is
 * vkSignalSemaphore. ID3D12CommandQueue::Signal goes into the queue behind the work that it follows, and nothing waits
 * on the host. ID3D12CommandQueue::Wait holds the queue's work back on the host until the value is reached: the VkQueue
 * stays free meanwhile for what will signal it. On one VkQueue a program must not submit a wait for a value that AnyDML
 * has yet to submit the signal of: that would never end.
 * Values only grow, other than those of fences otherwise: a signal that is not greater than the semaphore's value and
 * than those that this fence was signalled with before is refused (E_INVALIDARG; by queues with a message). After
 * removal of the device the fence's value is UINT64_MAX and its waits end, but the semaphore is left as it is. */
HRESULT WINAPI AnydmlVulkanCreateFence(ID3D12Device *device, VkSemaphore semaphore, UINT64 value, REFIID riid,
                                       void **out);

/* The semaphore of a fence that AnydmlVulkanCreateFence made; E_INVALIDARG for others, whose values live on the host.
 */
HRESULT WINAPI AnydmlVulkanGetSemaphore(ID3D12Fence *fence, VkSemaphore *out);

/* ---- dispatches in the application's command buffers (libdirectml) ---- */

/* What recorded dispatches do, for the barriers around them. */
#define ANYDML_VULKAN_STAGES (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)
#define ANYDML_VULKAN_READS  (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT)
#define ANYDML_VULKAN_WRITES (VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT)

/* IDMLCommandRecorder::RecordDispatch into a VkCommandBuffer of the application instead of a command list: a compiled
 * operator, graph or operator initializer of a device over AnydmlVulkanCreateDevice's. Nothing is submitted.
 *
 * commands: recording, outside of a render pass, primary or secondary, of a pool of QueueFamily. Afterwards its compute
 *     pipeline, push constants and compute descriptor sets are undefined; nothing else of its state changes.
 * Barriers: within the dispatch they are set. Around it they are the caller's: before it, whatever wrote a bound buffer
 *     to ANYDML_VULKAN_STAGES with READS | WRITES (outputs, temporary and persistent resources are written; what only
 *     read them, needs an execution dependency); after it, ANYDML_VULKAN_STAGES with WRITES to whatever uses an output.
 *     Dispatches that share a resource, be it the temporary one, need one between them, as does an initializer before
 *     its operator.
 * Bindings are taken now, those of DESCRIPTORS_VOLATILE operators from the descriptor heap. No descriptor heap needs to
 *     be set, and the command buffer may be executed again, with the same buffers.
 * Life: until the command buffer was executed for the last time (or is reset) the dispatchable and the bound resources
 *     must live, and the binding table must live and not be Reset: it keeps what the commands need of memory. It keeps
 *     it once for the same bindings, however often they are recorded.
 * Order: an initializer counts as run once it is recorded; what needs one is refused before.
 * Threads: as for RecordDispatch, with `commands` and its pool externally synchronised as Vulkan asks.
 *
 * E_INVALIDARG (an argument is NULL, of another device or table; a binding is missing, released or overlaps another):
 * unlike RecordDispatch it leaves the device as it is. After another failure `commands` may have a part of the
 * dispatch: do not submit it. */
HRESULT STDMETHODCALLTYPE AnydmlVulkanRecordDispatch(IDMLCommandRecorder *recorder, VkCommandBuffer commands,
                                                     IDMLDispatchable *dispatchable, IDMLBindingTable *bindings);

#ifdef __cplusplus
}
#endif

#endif
