/* SPDX-License-Identifier: Apache-2.0 */
/* bench --profile: the steps with the largest times in a run, and what bounds each. */
#ifndef TOOLS_PROFILE_H
#define TOOLS_PROFILE_H

#include "tools/program.h"

struct tools_profile_step {
    char *kernel, *names; /* of the nodes that it implements */
    double ms, flops, bytes;
};

/* The steps of one run, each as fast as it was in a few runs; dearest first after tools_profile_measure. */
struct tools_profile {
    struct tools_profile_step *steps;
    uint32_t count, capacity;
    double peak_flops, peak_bytes, total_ms;
};

bool tools_profile_measure(struct tools_program *program, struct tools_profile *out, struct tools_error *error);
void tools_profile_print(const struct tools_profile *profile);
void tools_profile_finish(struct tools_profile *profile); /* a zeroed one is fine */

#endif
