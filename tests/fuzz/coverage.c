/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <stdlib.h>

/* One of each module that is built with -fsanitize=fuzzer-no-link: a counter for each edge, and whether it was ever
 * counted. */
struct module {
    uint8_t *counters, *reached;
    size_t count;
};

static struct module modules[16];
static size_t module_count;

/* Called as each module is loaded, instead of libFuzzer's. */
__attribute__((visibility("default"))) void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop)
{
    struct module *module = &modules[module_count];
    if (start == stop || module_count == sizeof(modules) / sizeof(modules[0]))
        return;
    *module = (struct module){ start, calloc((size_t)(stop - start), 1), (size_t)(stop - start) };
    if (module->reached)
        module_count++;
}

uint32_t fuzz_coverage_gain(void)
{
    uint32_t gain = 0;
    for (size_t m = 0; m < module_count; m++) {
        for (size_t i = 0; i < modules[m].count; i++) {
            gain += modules[m].counters[i] && !modules[m].reached[i];
            modules[m].reached[i] |= modules[m].counters[i];
            modules[m].counters[i] = 0;
        }
    }
    return gain;
}
