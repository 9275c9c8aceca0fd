/* SPDX-License-Identifier: Apache-2.0 */
/* Metacommand kernels by VK_NVX_binary_import: binaries for NVIDIA's GPUs, launched in command buffers between
 * dispatches. The header is the only specification; parameters are passed as an array of pointers, here one pointer to
 * the block.
 */
#include "adapter/vulkan/vulkan.h"

#include "base/log.h"

#include <stdlib.h>

#define ENTRY        "meta_kernel"
#define TENSOR_ALIGN 256u

void vulkan_kernels_open(struct adapter_device *device)
{
    struct vulkan_kernels *kernels = &device->kernels;
    kernels->create_module = (PFN_vkCreateCuModuleNVX)vk.vkGetDeviceProcAddr(device->handle, "vkCreateCuModuleNVX");
    kernels->create_function =
        (PFN_vkCreateCuFunctionNVX)vk.vkGetDeviceProcAddr(device->handle, "vkCreateCuFunctionNVX");
    kernels->destroy_module = (PFN_vkDestroyCuModuleNVX)vk.vkGetDeviceProcAddr(device->handle, "vkDestroyCuModuleNVX");
    kernels->destroy_function =
        (PFN_vkDestroyCuFunctionNVX)vk.vkGetDeviceProcAddr(device->handle, "vkDestroyCuFunctionNVX");
    kernels->launch = (PFN_vkCmdCuLaunchKernelNVX)vk.vkGetDeviceProcAddr(device->handle, "vkCmdCuLaunchKernelNVX");
    if (!kernels->create_module || !kernels->create_function || !kernels->destroy_module || !kernels->destroy_function)
        kernels->launch = NULL;
}

static uint32_t next_number(const uint8_t **at)
{
    uint32_t number = **at & 127u;
    for (uint32_t shift = 7; *(*at)++ & 128u; shift += 7)
        number |= (**at & 127u) << shift;
    return number;
}

/* As encoded by put_bytes() of shaders/pack.c. */
static char *unpack(const uint8_t *at, uint32_t bytes)
{
    char *code = malloc(bytes), *to = code;
    while (code) {
        const uint32_t run = next_number(&at);
        memcpy(to, at, run);
        to += run;
        at += run;
        const uint32_t length = next_number(&at);
        if (!length)
            break;
        const char *from = to - next_number(&at);
        for (uint32_t i = 0; i < length; i++) /* it may run into itself */
            *to++ = *from++;
    }
    return code;
}

VkResult vulkan_kernel_build(struct adapter_device *device, struct adapter_pipeline *pipeline)
{
    const struct vulkan_kernels *kernels = &device->kernels;
    if (!kernels->launch)
        return VK_ERROR_FEATURE_NOT_PRESENT;
    char *code = unpack(pipeline->desc.packed, pipeline->desc.u.kernel.bytes);
    if (!code)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    const VkCuModuleCreateInfoNVX module = { .sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX,
                                             .dataSize = pipeline->desc.u.kernel.bytes,
                                             .pData = code };
    VkResult result = kernels->create_module(device->handle, &module, NULL, &pipeline->module);
    free(code);
    if (result != VK_SUCCESS) {
        pipeline->module = VK_NULL_HANDLE;
        return result;
    }
    const VkCuFunctionCreateInfoNVX function = { .sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX,
                                                 .module = pipeline->module,
                                                 .pName = ENTRY };
    result = kernels->create_function(device->handle, &function, NULL, &pipeline->function);
    if (result != VK_SUCCESS) {
        pipeline->function = VK_NULL_HANDLE;
        vulkan_kernel_destroy(device, pipeline);
    }
    return result;
}

void vulkan_kernel_destroy(struct adapter_device *device, struct adapter_pipeline *pipeline)
{
    if (pipeline->function)
        device->kernels.destroy_function(device->handle, pipeline->function, NULL);
    if (pipeline->module)
        device->kernels.destroy_module(device->handle, pipeline->module, NULL);
    pipeline->function = VK_NULL_HANDLE;
    pipeline->module = VK_NULL_HANDLE;
}

void vulkan_kernel_resolve(const struct adapter_step *step, const uint64_t *table, void *out)
{
    uint64_t *addresses = out;
    memcpy(out, step->block, step->block_bytes);
    for (uint32_t i = 0; i < step->addresses; i++)
        if (addresses[i])
            addresses[i] = table[(addresses[i] >> ADAPTER_ADDRESS_BITS) - 1] +
                           (addresses[i] & ((UINT64_C(1) << ADAPTER_ADDRESS_BITS) - 1));
}

void vulkan_kernel_launch(const struct adapter_device *device, VkCommandBuffer commands,
                          const struct adapter_pipeline *pipeline, const uint32_t *groups, const void *block)
{
    const void *parameters[] = { block };
    const VkCuLaunchInfoNVX info = { .sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                     .function = pipeline->function,
                                     .gridDimX = groups[0],
                                     .gridDimY = groups[1],
                                     .gridDimZ = groups[2],
                                     .blockDimX = pipeline->desc.u.kernel.threads,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .sharedMemBytes = pipeline->desc.u.kernel.shared_bytes,
                                     .paramCount = 1,
                                     .pParams = parameters };
    device->kernels.launch(commands, &info);
}

/* ---- whether they work ---- */

/* Inputs, followed by space for the result, which is initialised with a wrong value. */
static HRESULT write_test(struct adapter_device *device, const struct adapter_kernel_test *test,
                          struct adapter_memory **out, uint64_t *out_offset)
{
    uint64_t *addresses = test->block, bytes = 0;
    for (uint32_t i = 0; i < test->count; i++)
        bytes += base_align_up(test->inputs[i].bytes, TENSOR_ALIGN);
    *out_offset = bytes;
    HRESULT hr = vulkan_memory_create(device, ADAPTER_MEMORY_READBACK,
                                      base_align_up(bytes + test->bytes, VULKAN_ALIGNMENT), out);
    if (FAILED(hr))
        return hr;
    bytes = 0;
    for (uint32_t i = 0; i < test->count; i++) {
        memcpy((char *)(*out)->host + bytes, test->inputs[i].data, test->inputs[i].bytes);
        addresses[i] = (*out)->address + bytes;
        bytes += base_align_up(test->inputs[i].bytes, TENSOR_ALIGN);
    }
    addresses[test->count] = (*out)->address + bytes;
    memset((char *)(*out)->host + bytes, 0xff, test->bytes);
    return S_OK;
}

HRESULT vulkan_kernel_test(struct adapter_device *device, const struct adapter_kernel_test *test)
{
    static const uint32_t groups[3] = { 1, 1, 1 };
    struct adapter_memory *memory = NULL;
    VkCommandBuffer commands;
    uint64_t offset;
    HRESULT hr = write_test(device, test, &memory, &offset);
    if (FAILED(hr))
        return hr;
    hr = vulkan_own_open(device, &commands);
    if (SUCCEEDED(hr)) {
        vulkan_kernel_launch(device, commands, test->pipeline, groups, test->block);
        vulkan_barrier(commands, VULKAN_SCOPE_DISPATCHES, VULKAN_SCOPE_HOST);
        hr = vulkan_own_close(device);
    }
    if (SUCCEEDED(hr) && memcmp((char *)memory->host + offset, test->expected, test->bytes) != 0)
        hr = S_FALSE;
    vulkan_memory_destroy(device, memory);
    return hr;
}
