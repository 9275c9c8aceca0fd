/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of environment variables: without it, a misspelt value would have no effect and no message. */
#include "d3d12/adapter.h"

#include "base/cpu.h"
#include "base/log.h"
#include "base/os.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void tell(const char *name, const char *value, const char *rule, ...) BASE_PRINTF(3, 4);

/* Reported once, regardless of ANYDML_LOG. */
static void tell(const char *name, const char *value, const char *rule, ...)
{
    char line[512];
    va_list args;
    va_start(args, rule);
    int used = snprintf(line, sizeof(line), "anydml: %s=%.100s: ", name, value);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, rule, args);
    va_end(args);
    size_t length = BASE_MIN((size_t)used + (size_t)(more > 0 ? more : 0), sizeof(line) - 2);
    line[length++] = '\n';
    base_write_error(line, length);
}

static void check(void)
{
    const char *log = getenv("ANYDML_LOG"), *cpu = getenv("ANYDML_CPU_FLAGS"), *threads = getenv("ANYDML_THREADS");
    const char *adapters = getenv("ANYDML_ADAPTERS"), *tuning = getenv("ANYDML_TUNING");
    const char *vulkan = getenv("ANYDML_VULKAN_CAPS"), *pipelines = getenv("ANYDML_PIPELINE_CACHE");
    const char *watchdog = getenv("ANYDML_VULKAN_WATCHDOG"), *metacommands = getenv("ANYDML_METACOMMANDS");
    const char *hardware = getenv("ANYDML_VULKAN_HARDWARE"), *specialize = getenv("ANYDML_VULKAN_SPECIALIZE");
    uint32_t capabilities;
    uint64_t ns;
    char word[64];
    if (log && *log && !base_log_is_level(log))
        tell("ANYDML_LOG", log, "must be none, error, warn, info, debug or trace");
    if (cpu && !base_cpu_names_known(cpu, word, sizeof(word)))
        tell("ANYDML_CPU_FLAGS", cpu, "unknown instruction set \"%s\"", word);
    if (threads && *threads && !adapter_threads_parse(threads))
        tell("ANYDML_THREADS", threads, "must be a number from 1 to %d", ADAPTER_THREADS_MAX);
    if (adapters && !adapter_names_known(adapters, word, sizeof(word)))
        tell("ANYDML_ADAPTERS", adapters, "unknown adapter \"%s\"", word);
    if (vulkan && !adapter_capabilities_parse(vulkan, &capabilities, word, sizeof(word)))
        tell("ANYDML_VULKAN_CAPS", vulkan, "unknown capability \"%s\"", word);
    if (watchdog && *watchdog && !adapter_watchdog_parse(watchdog, &ns))
        tell("ANYDML_VULKAN_WATCHDOG", watchdog, "must be milliseconds, such as 100 or 0.5, or 0 for no limit");
    if (metacommands && *metacommands && strcmp(metacommands, "0") && strcmp(metacommands, "1"))
        tell("ANYDML_METACOMMANDS", metacommands, "must be 0 or 1");
    if (hardware && *hardware && strcmp(hardware, "0") && strcmp(hardware, "1"))
        tell("ANYDML_VULKAN_HARDWARE", hardware, "must be 0 or 1");
    if (specialize && *specialize && strcmp(specialize, "0") && strcmp(specialize, "1"))
        tell("ANYDML_VULKAN_SPECIALIZE", specialize, "must be 0 or 1");
    if (tuning && *tuning && strcmp(tuning, "off") && strcmp(tuning, "on"))
        tell("ANYDML_TUNING", tuning, "must be on or off");
    if (pipelines && *pipelines && strcmp(pipelines, "off") && strcmp(pipelines, "on"))
        tell("ANYDML_PIPELINE_CACHE", pipelines, "must be on or off");
}

void adapter_check_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, check);
}
