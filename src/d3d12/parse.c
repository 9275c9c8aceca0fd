/* SPDX-License-Identifier: Apache-2.0 */
/* Values of environment variables, for all libraries with an adapter. */
#include "d3d12/adapter.h"

#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>

/* "none" and the empty word name no capability. */
bool adapter_capabilities_parse(const char *names, uint32_t *out_capabilities, char *out, size_t size)
{
    static const char *const words[] = {
#define CAPABILITY(NAME, word) #word,
#include "shaders/capabilities.def"
#undef CAPABILITY
    };
    bool all_known = true;
    *out_capabilities = 0;
    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, ",");
        bool known = !length || (length == 4 && !strncmp(at, "none", 4));
        for (uint32_t i = 0; i < ARRAY_SIZE(words) && !known; i++) {
            known = strlen(words[i]) == length && !strncmp(at, words[i], length);
            *out_capabilities |= (uint32_t)known << i;
        }
        if (!known && all_known)
            snprintf(out, size, "%.*s", (int)BASE_MIN(length, size), at);
        all_known &= known;
        at += length + (at[length] == ',');
    }
    return all_known;
}

bool adapter_watchdog_parse(const char *text, uint64_t *out_ns)
{
    const size_t whole = strspn(text, "0123456789");
    const char *fraction = text + whole + (text[whole] == '.');
    const size_t digits = strspn(fraction, "0123456789");
    uint64_t ns = 0, unit = 1000000;
    *out_ns = 0;
    if (!whole || whole > 9 || fraction[digits])
        return false;
    for (size_t i = 0; i < whole; i++)
        ns = ns * 10 + (uint64_t)(text[i] - '0');
    ns *= unit;
    for (size_t i = 0; i < digits; i++)
        ns += (uint64_t)(fraction[i] - '0') * (unit /= 10);
    *out_ns = ns;
    return true;
}

uint32_t adapter_threads_parse(const char *text)
{
    char *end;
    long count = strtol(text, &end, 10);
    return !*end && count > 0 && count <= ADAPTER_THREADS_MAX ? (uint32_t)count : 0;
}

uint32_t adapter_thread_count(void)
{
    const char *wanted = getenv("ANYDML_THREADS");
    uint32_t count = wanted ? adapter_threads_parse(wanted) : 0;
    return count ? count : base_cpu_cores();
}
