/* SPDX-License-Identifier: Apache-2.0 */
/* A Direct3D 12 device on libvulkan, written for these tests, which behaves as vkd3d-proton does where DirectML meets
 * it, and stricter:
 * - any method that is not expected ends the program; objects of others are not looked at before they are used;
 * - buffers are parts of large VkBuffers, at offsets that are multiples of 256 alone;
 * - BeginVkCommandBufferInterop gives a fresh VkCommandBuffer each time, and what is set for dispatches is set again
 *   only after it;
 * - barriers for unordered access order shaders alone;
 * - methods that return structs take their address, on Linux as well. */
#ifndef TESTS_FOREIGN_STANDIN_H
#define TESTS_FOREIGN_STANDIN_H

#include <anydml_d3d12.h>
#include <stdbool.h>
#include <stdint.h>

struct standin_options {
    uint32_t interop;       /* the newest ID3D12DXVKInteropDevice: 0, 1, 2; ~0: none */
    bool no_uniform_layout; /* uniformBufferStandardLayout is not enabled */
    bool no_vulkan;         /* GetVulkanHandles gives nothing */
    bool descriptor_heap;   /* names VK_EXT_descriptor_heap */
    bool begin_fails;
    bool same_buffer; /* Begin gives the list's VkCommandBuffer: synchronisation validation compares only within one */
};

struct standin_counts {
    uint32_t begins, ends, locks, unlocks, queues, app_locks; /* app_locks: of queues that executed lists */
};

/* NULL: no Vulkan device on this machine. */
ID3D12Device *standin_create(const struct standin_options *options);
/* The device is lost from now on. */
void standin_remove(ID3D12Device *device, HRESULT reason);
struct standin_counts standin_counts(ID3D12Device *device);
const char *standin_name(ID3D12Device *device); /* of its Vulkan device */
/* Of the next calls. */
void standin_set_begin_fails(ID3D12Device *device, bool fails);
/* A dispatch of the application: adds `value` to the buffer's first `count` words. Its pipeline, buffers and constants
 * are set by standin_state once, and again only if Begin said so. */
void standin_state(ID3D12GraphicsCommandList *list, ID3D12Resource *buffer, uint32_t value);
void standin_dispatch(ID3D12GraphicsCommandList *list, uint32_t count);

#endif
