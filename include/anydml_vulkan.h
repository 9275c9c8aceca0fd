/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyDML for programs that use Vulkan themselves: a Direct3D 12 device over the program's own VkDevice and queues,
 * buffers and timeline semaphores shared both ways, and operators recorded into the program's own command buffers.
 * docs/vulkan-interop.md shows how the parts work together, samples/vulkan_interop.c uses all of them.
 *
 * All functions are thread-safe unless stated otherwise, and return an HRESULT. Failures are reported on stderr
 * (ANYDML_LOG) and, if there is a device, to its debug layer, with function, argument, value and rule:
 *   E_INVALIDARG                an argument is NULL or violates a rule of its comment
 *   DXGI_ERROR_UNSUPPORTED      the object belongs to another runtime or is not on Vulkan, the build has no Vulkan,
 *                               or the device does not support it
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

/* Called around each submission to a queue, because vkQueueSubmit requires external synchronisation. */
typedef void(STDMETHODCALLTYPE *anydml_vulkan_lock)(void *context, VkQueue queue);

/* The application's objects. The application owns them; they must outlive the last reference to the device and to
 * everything created from it.
 *
 * The instance: apiVersion 1.2 or newer, of the loader libvulkan.so.1 that the process uses elsewhere too.
 * The device: Vulkan 1.2 with the features bufferDeviceAddress, timelineSemaphore and uniformBufferStandardLayout
 * enabled, and the property shaderSignedZeroInfNanPreserveFloat32. These are used where they are enabled:
 *         shaderInt64                                            64-bit integers
 *         shaderFloat64, with shaderInt64                        FLOAT64
 *         storageBuffer8BitAccess and storageBuffer16BitAccess   8- and 16-bit data; without them they are accessed as
 *                                                                32-bit words, more slowly
 *         VK_EXT_memory_budget                                   QueryVideoMemoryInfo
 *         VK_KHR_external_memory_fd                              memory shared with other processes and interfaces
 * The queues: 1 to 4 queues of one family with VK_QUEUE_COMPUTE_BIT, created with flags 0. Command queues of the
 *     Direct3D device share them in turn. */
struct anydml_vulkan_device {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    VkInstance Instance;
    UINT32 ApiVersion; /* of VkApplicationInfo of the instance */
    VkPhysicalDevice PhysicalDevice;
    VkDevice Device;
    const VkDeviceCreateInfo *CreateInfo; /* as passed to vkCreateDevice: what is enabled; read during the call only */
    UINT32 QueueFamily;
    UINT32 QueueCount;
    const VkQueue *Queues;
    /* Called around each use of one of Queues, on the threads of AnydmlVulkanCreateDevice's command queues and on
     * threads that create resources or compile; they do not hold it for long. The application takes the same lock
     * around its own use of the queue. Both NULL: only AnyDML uses these queues. The functions must not call AnyDML. */
    anydml_vulkan_lock Lock, Unlock;
    void *Context; /* of the two */
};

/* Creates a Direct3D 12 device that DMLCreateDevice accepts like any other. Each call creates a new one, also for the
 * same VkDevice; their objects must not be mixed. Its LUID is not that of a listed adapter. */
HRESULT WINAPI AnydmlVulkanCreateDevice(const struct anydml_vulkan_device *desc, REFIID riid, void **out);

/* ---- buffers (libd3d12): of all devices on Vulkan, also those of D3D12CreateDevice ---- */

/* The usage flags of AnyDML's own buffers, also required of shared ones. */
#define ANYDML_VULKAN_BUFFER_USAGE                                                                                     \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |        \
     VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)

/* A range of a VkBuffer. */
struct anydml_vulkan_buffer {
    VkBuffer Buffer;
    VkDeviceSize Offset, Size;
    VkDeviceAddress Address; /* of byte Offset; ignored by AnydmlVulkanOpenBuffer */
};

/* Wraps [Offset, Offset + Size) of the application's VkBuffer as a resource of a DEFAULT heap with
 * ALLOW_UNORDERED_ACCESS, not mappable, for copies and DirectML bindings of any kind. The contents are preserved. The
 * buffer must have ANYDML_VULKAN_BUFFER_USAGE and sharing mode EXCLUSIVE (then owned by the family of the device's
 * queues while AnyDML uses it) or CONCURRENT, and its memory VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. Offset and Size are
 * multiples of 4, the device address a multiple of 16, and of 256 for temporary and persistent resources. The buffer
 * must outlive the resource and the work that uses it. Several resources may cover the same bytes: they share one
 * address space when overlaps are checked. */
HRESULT WINAPI AnydmlVulkanOpenBuffer(ID3D12Device *device, const struct anydml_vulkan_buffer *buffer, REFIID riid,
                                      void **out);

/* Returns the VkBuffer range of any buffer resource. Valid as long as the resource; S_OK, E_INVALIDARG or
 * DXGI_ERROR_UNSUPPORTED. The device address of AnyDML's own buffers is also that of GetGPUVirtualAddress. */
HRESULT WINAPI AnydmlVulkanGetBuffer(ID3D12Resource *resource, struct anydml_vulkan_buffer *out);

/* A range of device memory. */
struct anydml_vulkan_memory {
    VkDeviceMemory Memory; /* VK_NULL_HANDLE: the memory is Fd's */
    int Fd;                /* of VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT; ignored if Memory is set */
    VkDeviceSize AllocationSize;
    UINT32 MemoryType;
    VkExternalMemoryHandleTypeFlags HandleTypes; /* that the memory was allocated for; with Memory 0 if none */
    BOOL Dedicated;            /* a dedicated allocation for one buffer with ANYDML_VULKAN_BUFFER_USAGE */
    VkDeviceSize Offset, Size; /* the range; of a dedicated allocation its buffer, with Offset 0 */
};

/* Wraps the range as a resource like that of AnydmlVulkanOpenBuffer. AllocationSize, MemoryType, HandleTypes and
 * Dedicated are those of the allocation. Offset is a multiple of the device's buffer alignment (at most 64 KiB), Size
 * of 4. Memory: owned by the application, allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT; it must outlive the
 * resource. Fd: memory that this or another process exported through any interface on the same device and driver
 * (compare VkPhysicalDeviceIDProperties). S_OK transfers ownership of the descriptor, a failure does not. Requires
 * VK_KHR_external_memory_fd, which devices of D3D12CreateDevice enable if it is available. The contents are preserved;
 * the two sides must synchronise their accesses, by semaphores or something as simple as a pipe. */
HRESULT WINAPI AnydmlVulkanOpenMemory(ID3D12Device *device, const struct anydml_vulkan_memory *memory, REFIID riid,
                                      void **out);

/* Creates a zeroed buffer of `size` bytes, a multiple of 4, in a memory allocation of its own that
 * AnydmlVulkanExportMemory can export.
 */
HRESULT WINAPI AnydmlVulkanCreateSharedBuffer(ID3D12Device *device, UINT64 size, REFIID riid, void **out);

/* Returns what another process needs to import the memory of such a buffer; Fd is a new descriptor, which the caller
 * must close or pass on. Memory is VK_NULL_HANDLE, so that the receiver can open the struct as it is after replacing Fd
 * by its own number of the descriptor. */
HRESULT WINAPI AnydmlVulkanExportMemory(ID3D12Resource *resource, struct anydml_vulkan_memory *out);

/* ---- fences (libd3d12) ---- */

/* Creates an ID3D12Fence whose value is that of a timeline semaphore, so that both sides wait for each other by the
 * same numbers. semaphore: of the application's device; it must outlive the fence and the work that waits for it or
 * signals it. VK_NULL_HANDLE: a new semaphore with `value`, owned by the fence. With a semaphore, `value` is ignored.
 *
 * GetCompletedValue, SetEventOnCompletion and waits of queues see signals from all sides. ID3D12Fence::Signal is
 * vkSignalSemaphore. ID3D12CommandQueue::Signal is submitted to the queue after the work that it follows, without a
 * wait on the host. ID3D12CommandQueue::Wait holds the queue's work back on the host until the value is reached: the
 * VkQueue stays free meanwhile for the work that signals it. A program must not submit a wait on the same VkQueue for a
 * value that AnyDML has not submitted the signal of yet: that would deadlock.
 *
 * Unlike those of other fences, values only increase: a signal that is not larger than the semaphore's value and all
 * earlier signals of this fence is rejected (E_INVALIDARG; on queues with a message). After removal of the device the
 * fence's value is UINT64_MAX and its waits end; the semaphore keeps its value. */
HRESULT WINAPI AnydmlVulkanCreateFence(ID3D12Device *device, VkSemaphore semaphore, UINT64 value, REFIID riid,
                                       void **out);

/* Returns the semaphore of a fence of AnydmlVulkanCreateFence; E_INVALIDARG for others, whose values are stored on the
 * host.
 */
HRESULT WINAPI AnydmlVulkanGetSemaphore(ID3D12Fence *fence, VkSemaphore *out);

/* ---- dispatches in the application's command buffers (libdirectml) ---- */

/* Pipeline stages and accesses of recorded dispatches, for the barriers around them. */
#define ANYDML_VULKAN_STAGES (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)
#define ANYDML_VULKAN_READS  (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT)
#define ANYDML_VULKAN_WRITES (VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT)

/* IDMLCommandRecorder::RecordDispatch into a VkCommandBuffer of the application instead of a command list: a compiled
 * operator, graph or operator initializer of a device over AnydmlVulkanCreateDevice's. Nothing is submitted.
 *
 * commands: recording, outside of a render pass, primary or secondary, of a pool of QueueFamily. Afterwards its compute
 *     pipeline, push constants and compute descriptor sets are undefined; the rest of its state is unchanged.
 * Barriers: those within the dispatch are recorded. The caller records those around it: before it, from whatever wrote
 * a bound buffer to ANYDML_VULKAN_STAGES with READS | WRITES (outputs, temporary and persistent resources are written;
 *     earlier reads of them need an execution dependency); after it, from ANYDML_VULKAN_STAGES with WRITES to whatever
 *     uses an output. Dispatches that share a resource, including the temporary one, need a barrier between them, as do
 * an initializer and its operator. Bindings are read now, those of DESCRIPTORS_VOLATILE operators from the descriptor
 * heap. No descriptor heap needs to be set, and the command buffer may be executed several times, with the same
 * buffers. Lifetime: until the last execution of the command buffer (or its reset) the dispatchable and the bound
 * resources must live, and the binding table must live and not be Reset: it holds the memory that the commands need. It
 * holds it once for equal bindings, however often they are recorded. Order: an initializer counts as executed once it
 * is recorded; dispatches that need it are rejected before. Threads: as for RecordDispatch, with `commands` and its
 * pool externally synchronised as Vulkan requires.
 *
 * E_INVALIDARG (an argument is NULL, of another device or table; a binding is missing, released or overlaps another):
 * unlike RecordDispatch it does not remove the device. After any other failure `commands` may contain a part of the
 * dispatch: do not submit it. */
HRESULT STDMETHODCALLTYPE AnydmlVulkanRecordDispatch(IDMLCommandRecorder *recorder, VkCommandBuffer commands,
                                                     IDMLDispatchable *dispatchable, IDMLBindingTable *bindings);

#ifdef __cplusplus
}
#endif

#endif
