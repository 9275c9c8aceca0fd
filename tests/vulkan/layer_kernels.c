/* SPDX-License-Identifier: Apache-2.0 */
/* VK_NVX_binary_import on devices without it, whose addresses are the host's, as those of Mesa's lavapipe: the kernel
 * by which libdirectml finds out whether metacommands work is computed here, while it is recorded. Others are made,
 * where they are complete binaries and do not fail, and never run. */
#include "layer_next.h"

#include "shaders/cuda/meta_test_params.h"

#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool kernels_made_up(void)
{
    const char *wanted = getenv("ANYDML_LAYER_KERNELS");
    return wanted && !strcmp(wanted, "1");
}

void kernels_take_extension(VkDeviceCreateInfo *info, const char **names)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], VK_NVX_BINARY_IMPORT_EXTENSION_NAME) != 0)
            names[count++] = info->ppEnabledExtensionNames[i];
    info->enabledExtensionCount = count;
    info->ppEnabledExtensionNames = names;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkPhysicalDevice physical, const char *layer, uint32_t *count,
                                                VkExtensionProperties *out)
{
    const uint32_t room = *count;
    VkResult result = next.extensions(physical, layer, count, out);
    if (out && result == VK_SUCCESS && *count == room)
        return VK_INCOMPLETE;
    if (out && result == VK_SUCCESS)
        out[*count] = (VkExtensionProperties){ VK_NVX_BINARY_IMPORT_EXTENSION_NAME, 1 };
    *count += result == VK_SUCCESS;
    return result;
}

/* Unpacked to the last byte: NVIDIA's tools place the program headers last. */
static bool is_cubin(const VkCuModuleCreateInfoNVX *info)
{
    const Elf64_Ehdr *header = info->pData;
    return info->dataSize > sizeof(*header) && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
           header->e_machine == EM_CUDA &&
           header->e_phoff + (uint64_t)header->e_phnum * header->e_phentsize == info->dataSize;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkCuModuleCreateInfoNVX *info,
                                                    const VkAllocationCallbacks *allocator, VkCuModuleNVX *out)
{
    (void)device, (void)allocator;
    *out = (VkCuModuleNVX)&control;
    return is_cubin(info) ? layer_enter(LAYER_KERNEL) : VK_ERROR_UNKNOWN;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_function(VkDevice device, const VkCuFunctionCreateInfoNVX *info,
                                                      const VkAllocationCallbacks *allocator, VkCuFunctionNVX *out)
{
    (void)device, (void)info, (void)allocator;
    *out = (VkCuFunctionNVX)&control;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_module(VkDevice device, VkCuModuleNVX module,
                                                 const VkAllocationCallbacks *allocator)
{
    (void)device, (void)module, (void)allocator;
}

static VKAPI_ATTR void VKAPI_CALL destroy_function(VkDevice device, VkCuFunctionNVX function,
                                                   const VkAllocationCallbacks *allocator)
{
    (void)device, (void)function, (void)allocator;
}

/* Of normal numbers and zeros. */
static float half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const float magnitude = exponent ? ldexpf((float)(1024 + (bits & 1023)), exponent - 25) : 0;
    return bits >> 15 ? -magnitude : magnitude;
}

static VKAPI_ATTR void VKAPI_CALL launch(VkCommandBuffer commands, const VkCuLaunchInfoNVX *info)
{
    const struct meta_test_params *p = info->pParams[0];
    const uint16_t *a = (const uint16_t *)(uintptr_t)p->a, *b = (const uint16_t *)(uintptr_t)p->b;
    float *y = (float *)(uintptr_t)p->y;
    (void)commands;
    if (control.calls[LAYER_KERNEL].count > 1)
        return;
    for (uint32_t i = 0; i < META_TEST_M * META_TEST_N; i++) {
        y[i] = p->add;
        for (uint32_t k = 0; k < META_TEST_K; k++)
            y[i] += half_value(a[i / META_TEST_N * META_TEST_K + k]) * half_value(b[i % META_TEST_N * META_TEST_K + k]);
    }
}

static const struct layer_entry made_up[] = {
    ENTRY("vkEnumerateDeviceExtensionProperties", enumerate), ENTRY("vkCreateCuModuleNVX", create_module),
    ENTRY("vkCreateCuFunctionNVX", create_function),          ENTRY("vkDestroyCuModuleNVX", destroy_module),
    ENTRY("vkDestroyCuFunctionNVX", destroy_function),        ENTRY("vkCmdCuLaunchKernelNVX", launch),
};

PFN_vkVoidFunction kernels_find(const char *name)
{
    return LAYER_FIND(made_up, name);
}
