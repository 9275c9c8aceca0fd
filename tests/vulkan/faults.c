/* SPDX-License-Identifier: Apache-2.0 */
/* Everything from the device to the result, again and again, with one call of the driver after the other returning each
 * error that Vulkan documents for it: an HRESULT that fits says so or the result is right, nothing stays alive, and the
 * next run is right.
 *
 * usage: vulkan_faults LAYER [--every N]
 * By default every N-th call, so that it takes seconds. Calls that only a process's first run makes fail in processes
 * of their own. */
#include "api/api_test.h"

#include "alloc/scenario.h"
#include "layer.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vulkan/vulkan_core.h>

static struct layer_control *layer;
static uint32_t wrong, runs;

static bool fits(HRESULT hr, VkResult result)
{
    switch (result) {
    case VK_ERROR_DEVICE_LOST:
        return hr == DXGI_ERROR_DEVICE_HUNG || hr == DXGI_ERROR_DEVICE_REMOVED;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
        return hr == E_OUTOFMEMORY;
    default:
        return FAILED(hr);
    }
}

static bool same(void)
{
    return !memcmp(scenario_results.got, scenario_results.want, scenario_results.bytes);
}

/* The call of this number; false: it has no such variant. */
static bool fail(uint32_t scenario, uint32_t number, uint32_t variant)
{
    const int32_t alive = layer->alive;
    layer->any.count = 0;
    layer->any.result = 0;
    layer->any.variant = variant;
    layer->any.fail_at = number;
    HRESULT hr = scenario_run();
    const VkResult result = (VkResult)layer->any.result;
    layer->any.fail_at = 0;
    if (result == VK_SUCCESS)
        return false;
    const char *what = hr == S_OK ? same() ? "" : "a wrong result" : fits(hr, result) ? "" : "another HRESULT";
    if (layer->alive != alive)
        what = "objects stay";
    HRESULT again = scenario_run();
    if (!*what && (again != S_OK || !same()))
        what = "the second run";
    runs++;
    wrong += *what != 0;
    if (*what)
        fprintf(stderr, "%s, call %u (of kind %u) returns %d: %s; 0x%08x, then 0x%08x, %d objects\n",
                scenario_name(scenario), number, (unsigned)layer->any.call, (int)result, what, (unsigned)hr,
                (unsigned)again, (int)(layer->alive - alive));
    return true;
}

static void sweep(uint32_t scenario, uint32_t every)
{
    ok(scenario_open(scenario) && scenario_run() == S_OK, "%s does not run", scenario_name(scenario));
    memcpy(scenario_results.want, scenario_results.got, scenario_results.bytes);
    layer->any.count = 0;
    ok(scenario_run() == S_OK && same(), "%s: two results", scenario_name(scenario));
    const uint32_t count = layer->any.count, before = runs;
    for (uint32_t number = 1 + scenario % every; number <= count; number += every)
        for (uint32_t variant = 0; fail(scenario, number, variant);)
            variant++;
    printf("%s: %u failures of %u calls\n", scenario_name(scenario), runs - before, count);
    scenario_close();
}

/* The first run of a process: what Vulkan answers then may decide for it that there is no device. */
static int fail_first(uint32_t number, uint32_t variant)
{
    if (!scenario_open(0))
        return 1;
    layer->any.variant = variant;
    layer->any.fail_at = number;
    HRESULT hr = scenario_run();
    const VkResult result = (VkResult)layer->any.result;
    const uint32_t call = layer->any.call;
    layer->any.fail_at = 0;
    HRESULT again = scenario_run();
    const bool listing = call == LAYER_LIST || call == LAYER_INSTANCE, none = again == DXGI_ERROR_UNSUPPORTED;
    if (result == VK_SUCCESS)
        return 2;
    if ((hr == S_OK || fits(hr, result) || (listing && FAILED(hr))) && (again == S_OK || (listing && none)))
        return 0;
    fprintf(stderr, "first run, call %u (of kind %u) returns %d: 0x%08x, then 0x%08x\n", number, (unsigned)call,
            (int)result, (unsigned)hr, (unsigned)again);
    return 1;
}

static void sweep_first(uint32_t first, uint32_t last, uint32_t every)
{
    for (uint32_t number = first; number <= last; number += every) {
        int status = 0;
        for (uint32_t variant = 0; !status; variant++) {
            fflush(NULL);
            pid_t child = fork();
            if (!child) {
                alarm(60);
                _exit(fail_first(number, variant));
            }
            need(child > 0 && waitpid(child, &status, 0) == child);
            runs++;
        }
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 2, "first run, call %u: status 0x%x", number, (unsigned)status);
    }
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    need(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

int main(int count, char **arguments)
{
    enum { FIRST_CALLS = 60, EVERY = 27 };
    const bool all = count == 4;
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    struct layer_control *(*control)(void);
    uint32_t every = EVERY;
    api_begin();
    need(library);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    char cache[] = "/tmp/anydml-faults-XXXXXX"; /* compiling would take most of the time */
    need(mkdtemp(cache));
    setenv("ANYDML_CACHE_DIR", cache, 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (all)
        every = (uint32_t)strtoul(arguments[3], NULL, 10);
    sweep_first(1, FIRST_CALLS, every);
    api_release(api_device()); /* or the test is skipped */
    for (uint32_t i = 0; i < (all ? SCENARIOS : 1); i++)
        sweep(i, every);
    printf("%u failures, %u wrong\n", runs, wrong);
    ok(!wrong && runs, "%u wrong", wrong);
    remove_folder(cache);
    return api_end();
}
