/* SPDX-License-Identifier: Apache-2.0 */
/* Compute pipelines and metacommand kernels. A request creates the pipelines that do not exist yet, with threads that
 * end before it returns, and then waits for those that other threads are creating: threads that wait hold nothing that
 * others wait for. */
#include "adapter/vulkan/vulkan.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/os.h"
#include "shaders/shader.h"
#include "shaders/spirv/spirv.h"

#include <stdlib.h>

#define THREADS_MAX 8                   /* drivers lock more than they compile then */
#define SAVE_NS     UINT64_C(100000000) /* saves expensive pipelines before the device is destroyed */

/* The pipelines that one call creates. */
struct job {
    struct adapter_device *device;
    struct adapter_pipeline **pipelines;
    uint32_t count;
    atomic_uint next;
};

static struct base_hash hash_of(const struct adapter_pipeline_desc *desc)
{
    const struct base_hash code = base_hash(desc->packed, desc->packed_bytes);
    uint64_t all[4 + VULKAN_SPECIALIZATION_MAX] = { code.low, code.high };
    if (desc->code == ADAPTER_CODE_KERNEL)
        return code;
    all[2] = desc->u.spirv.constant_count;
    all[3] = desc->u.spirv.large_table;
    for (uint32_t i = 0; i < desc->u.spirv.constant_count; i++)
        all[4 + i] = desc->u.spirv.constants[i];
    return base_hash(all, sizeof(all));
}

static bool is_like(const struct adapter_pipeline *pipeline, const struct adapter_pipeline_desc *desc,
                    struct base_hash hash)
{
    const struct adapter_pipeline_desc *own = &pipeline->desc;
    if (pipeline->hash.low != hash.low || pipeline->hash.high != hash.high || own->code != desc->code)
        return false;
    if (desc->code == ADAPTER_CODE_KERNEL)
        return own->u.kernel.bytes == desc->u.kernel.bytes && own->u.kernel.threads == desc->u.kernel.threads &&
               own->u.kernel.shared_bytes == desc->u.kernel.shared_bytes;
    const uint32_t count = desc->u.spirv.constant_count;
    return own->u.spirv.words == desc->u.spirv.words && own->u.spirv.constant_count == count &&
           own->u.spirv.large_table == desc->u.spirv.large_table &&
           (!count || !memcmp(pipeline->constants, desc->u.spirv.constants, count * sizeof(*pipeline->constants)));
}

/* Whether the module has uniform buffers. */
static bool has_uniforms(const uint32_t *words, uint32_t count)
{
    enum { HEADER = 5, OP_DECORATE = 71, DESCRIPTOR_SET = 34 };
    for (uint32_t at = HEADER; at < count && words[at] >> 16; at += words[at] >> 16)
        if ((words[at] & 0xffff) == OP_DECORATE && words[at] >> 16 > 3 && words[at + 2] == DESCRIPTOR_SET)
            return true;
    return false;
}

/* For the caller to free; NULL: out of memory. */
static uint32_t *unpack(const struct adapter_pipeline_desc *desc)
{
    const uint32_t count = desc->u.spirv.words;
    uint32_t *words = malloc(count * sizeof(*words));
    const uint8_t *at = desc->packed;
    for (uint32_t i = 0; words && i < count; i++) {
        words[i] = *at & 127u;
        for (uint32_t shift = 7; *at++ & 128u; shift += 7)
            words[i] |= (*at & 127u) << shift;
    }
    return words;
}

static uint32_t values_of(const struct adapter_device *device, const struct adapter_pipeline *pipeline,
                          struct spirv_constant *out)
{
    const uint32_t count = pipeline->desc.u.spirv.constant_count;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (struct spirv_constant){ i, pipeline->constants[i] };
    const bool half = device->physical->capabilities & SHADER_CAPABILITY_HALF;
    out[count] = (struct spirv_constant){ VULKAN_SPECIALIZATION_HALF, half ? VK_TRUE : VK_FALSE };
    const bool large = pipeline->desc.u.spirv.large_table;
    out[count + 1] = (struct spirv_constant){ VULKAN_SPECIALIZATION_LARGE, large ? VK_TRUE : VK_FALSE };
    const bool unasked = device->physical->loads_unasked;
    out[count + 2] = (struct spirv_constant){ VULKAN_SPECIALIZATION_UNASKED, unasked ? VK_TRUE : VK_FALSE };
    return count + VULKAN_SPECIALIZATION_OWN;
}

/* The module for these values; the driver gets them as well, for modules that stay as they are. */
static VkResult create_module(struct adapter_device *device, struct adapter_pipeline *pipeline,
                              const struct spirv_constant *values, uint32_t count, VkShaderModule *out)
{
    uint32_t *words = unpack(&pipeline->desc);
    if (!words)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    size_t word_count = pipeline->desc.u.spirv.words;
    uint32_t *special =
        device->pipelines.specializes ? spirv_specialize(words, word_count, values, count, &word_count) : NULL;
    if (special) {
        free(words);
        words = special;
    }
    base_log(BASE_LOG_DEBUG, "vulkan: %s: %u words of code, %zu when specialised", pipeline->desc.name,
             pipeline->desc.u.spirv.words, word_count);
    size_t bytes = word_count * sizeof(*words);
    pipeline->uniforms = has_uniforms(words, (uint32_t)word_count);
    uint32_t *changed = vulkan_floats_keep(words, &bytes, device->physical->floats);
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = bytes,
                                      .pCode = changed };
    free(words);
    if (!changed)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkResult result = vk.vkCreateShaderModule(device->handle, &info, NULL, out);
    free(changed);
    return result;
}

static void name_pipeline(struct adapter_device *device, const struct adapter_pipeline *pipeline)
{
    const VkDebugUtilsObjectNameInfoEXT name = { .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                                 .objectType = VK_OBJECT_TYPE_PIPELINE,
                                                 .objectHandle = (uint64_t)pipeline->handle,
                                                 .pObjectName = pipeline->desc.name };
    if (device->set_name)
        device->set_name(device->handle, &name);
}

static VkResult build(struct adapter_device *device, struct adapter_pipeline *pipeline)
{
    if (pipeline->desc.code == ADAPTER_CODE_KERNEL)
        return vulkan_kernel_build(device, pipeline);
    struct spirv_constant values[VULKAN_SPECIALIZATION_MAX + VULKAN_SPECIALIZATION_OWN];
    VkSpecializationMapEntry entries[ARRAY_SIZE(values)];
    const uint32_t count = values_of(device, pipeline, values);
    VkShaderModule module = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < count; i++)
        entries[i] =
            (VkSpecializationMapEntry){ values[i].id,
                                        (uint32_t)(i * sizeof(*values) + offsetof(struct spirv_constant, value)), 4 };
    VkSpecializationInfo constants = { count, entries, count * sizeof(*values), values };
    VkResult result = create_module(device, pipeline, values, count, &module);
    if (result != VK_SUCCESS)
        return result;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT, /* watchdog.c */
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main",
                   .pSpecializationInfo = &constants },
        .layout = device->layout,
    };
    result = vk.vkCreateComputePipelines(device->handle, device->pipelines.cache, 1, &info, NULL, &pipeline->handle);
    vk.vkDestroyShaderModule(device->handle, module, NULL);
    if (result == VK_SUCCESS)
        name_pipeline(device, pipeline);
    return result;
}

static void *make_pipelines(void *context)
{
    struct job *job = context;
    struct adapter_device *device = job->device;
    for (uint32_t i; (i = atomic_fetch_add(&job->next, 1)) < job->count;) {
        struct adapter_pipeline *pipeline = job->pipelines[i];
        const uint64_t begin = base_now_ns();
        VkResult result = build(device, pipeline);
        base_log(BASE_LOG_DEBUG, "pipeline %s: %.1f ms", pipeline->desc.name, (double)(base_now_ns() - begin) * 1e-6);
        pthread_mutex_lock(&device->pipelines.lock);
        pipeline->result = result;
        pipeline->state = result == VK_SUCCESS ? VULKAN_PIPELINE_READY : VULKAN_PIPELINE_NEW;
        base_condition_broadcast(&device->pipelines.built);
        pthread_mutex_unlock(&device->pipelines.lock);
    }
    return NULL;
}

/* With as many threads as can be started; the calling one is sufficient. */
static void run_job(struct job *job)
{
    pthread_t threads[THREADS_MAX];
    uint32_t helpers = 0, wanted = BASE_MIN(BASE_MIN(job->count, base_cpu_count()), THREADS_MAX);
    while (helpers + 1 < wanted && base_thread_start(&threads[helpers], "anydml-pipeline", 0, 0, make_pipelines, job))
        helpers++;
    make_pipelines(job);
    for (uint32_t i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
}

/* Under the lock. */
static struct adapter_pipeline *find_or_add(struct adapter_device *device, const struct adapter_pipeline_desc *desc,
                                            struct base_hash hash)
{
    for (struct adapter_pipeline *pipeline = device->pipelines.list; pipeline; pipeline = pipeline->next)
        if (is_like(pipeline, desc, hash))
            return pipeline;
    struct adapter_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    if (!pipeline)
        return NULL;
    pipeline->hash = hash;
    pipeline->desc = *desc;
    if (desc->code == ADAPTER_CODE_SPIRV)
        for (uint32_t i = 0; i < desc->u.spirv.constant_count; i++)
            pipeline->constants[i] = desc->u.spirv.constants[i];
    pipeline->next = device->pipelines.list;
    return device->pipelines.list = pipeline;
}

/* Finds all, and claims those that no thread creates. Out of memory for one: *out NULL, and none is claimed. */
static bool take_job(struct job *job, const struct adapter_pipeline_desc *descs, uint32_t count,
                     struct adapter_pipeline **out)
{
    struct adapter_device *device = job->device;
    bool complete = true;
    for (uint32_t i = 0; i < count; i++) {
        struct base_hash hash = hash_of(&descs[i]);
        pthread_mutex_lock(&device->pipelines.lock);
        out[i] = find_or_add(device, &descs[i], hash);
        pthread_mutex_unlock(&device->pipelines.lock);
        complete &= out[i] != NULL;
    }
    pthread_mutex_lock(&device->pipelines.lock);
    for (uint32_t i = 0; complete && i < count; i++) {
        if (out[i]->state != VULKAN_PIPELINE_NEW)
            continue;
        out[i]->state = VULKAN_PIPELINE_BUILDING;
        out[i]->desc = descs[i];
        job->pipelines[job->count++] = out[i];
    }
    pthread_mutex_unlock(&device->pipelines.lock);
    return complete;
}

static HRESULT result_of(const struct adapter_pipeline *pipeline)
{
    const VkResult result = pipeline->result;
    if (pipeline->desc.code != ADAPTER_CODE_KERNEL || result == VK_SUCCESS || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
        result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_DEVICE_LOST)
        return vulkan_hresult(result);
    base_log(BASE_LOG_INFO,
             "vulkan: no metacommands: the driver rejects %s (%d); they need driver 580 and a Hopper GPU",
             pipeline->desc.name, (int)result);
    return DXGI_ERROR_UNSUPPORTED;
}

/* Waits until no other thread creates one of these; returns the first failure. */
static HRESULT wait_for_all(struct adapter_device *device, struct adapter_pipeline *const *pipelines, uint32_t count)
{
    HRESULT result = S_OK;
    pthread_mutex_lock(&device->pipelines.lock);
    for (uint32_t i = 0; i < count; i++) {
        while (pipelines[i]->state == VULKAN_PIPELINE_BUILDING)
            base_condition_wait(&device->pipelines.built, &device->pipelines.lock);
        if (pipelines[i]->state != VULKAN_PIPELINE_READY && result == S_OK)
            result = result_of(pipelines[i]);
    }
    pthread_mutex_unlock(&device->pipelines.lock);
    return result;
}

static void note_time(struct adapter_device *device, uint64_t ns)
{
    pthread_mutex_lock(&device->pipelines.lock);
    device->pipelines.unsaved_ns += ns;
    bool save = device->pipelines.unsaved_ns >= SAVE_NS;
    if (save)
        device->pipelines.unsaved_ns = 0;
    pthread_mutex_unlock(&device->pipelines.lock);
    if (save)
        vulkan_cache_save(device);
}

HRESULT vulkan_pipelines_create(struct adapter_device *device, const struct adapter_pipeline_desc *descs,
                                uint32_t count, struct adapter_pipeline **out)
{
    struct job job = { .device = device, .pipelines = calloc(count + 1u, sizeof(*job.pipelines)) };
    uint64_t start = base_now_ns();
    HRESULT hr = job.pipelines ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++)
        if (descs[i].code == ADAPTER_CODE_SPIRV && descs[i].u.spirv.constant_count > VULKAN_SPECIALIZATION_MAX)
            hr = E_INVALIDARG;
    if (SUCCEEDED(hr) && !take_job(&job, descs, count, out))
        hr = E_OUTOFMEMORY;
    if (SUCCEEDED(hr)) {
        if (job.count) {
            run_job(&job);
            note_time(device, base_now_ns() - start);
        }
        hr = wait_for_all(device, out, count);
        base_log(BASE_LOG_DEBUG, "vulkan: %u pipelines, %u of them made, in %.1f ms", count, job.count,
                 (double)(base_now_ns() - start) / 1e6);
    }
    free(job.pipelines);
    return hr;
}

void vulkan_pipelines_start(struct adapter_device *device)
{
    const char *wanted = getenv("ANYDML_VULKAN_SPECIALIZE"); /* d3d12/environment.c reports errors in it */
    device->pipelines.specializes = !wanted || strcmp(wanted, "0") != 0;
    pthread_mutex_init(&device->pipelines.lock, NULL);
    pthread_mutex_init(&device->pipelines.saving, NULL);
    base_condition_init(&device->pipelines.built);
}

void vulkan_pipelines_finish(struct adapter_device *device)
{
    if (device->pipelines.unsaved_ns)
        vulkan_cache_save(device);
    while (device->pipelines.list) {
        struct adapter_pipeline *pipeline = device->pipelines.list;
        device->pipelines.list = pipeline->next;
        vk.vkDestroyPipeline(device->handle, pipeline->handle, NULL);
        vulkan_kernel_destroy(device, pipeline);
        free(pipeline);
    }
    vk.vkDestroyPipelineCache(device->handle, device->pipelines.cache, NULL);
}
