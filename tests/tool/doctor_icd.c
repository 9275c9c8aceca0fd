/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan driver that aborts, or never returns (DOCTOR_ICD=hang), when the loader first asks it for a function. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
void *vk_icdGetInstanceProcAddr(void *instance, const char *name);

int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    *version = *version < 5 ? *version : 5;
    return 0;
}

void *vk_icdGetInstanceProcAddr(void *instance, const char *name)
{
    const char *how = getenv("DOCTOR_ICD");
    (void)instance;
    (void)name;
    while (how && !strcmp(how, "hang"))
        pause();
    abort();
}
