/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a program does, from the device to an operator's result, up to the first failure. */
#ifndef TESTS_ALLOC_SCENARIO_H
#define TESTS_ALLOC_SCENARIO_H

#include <DirectML.h>
#include <stdbool.h>
#include <stdint.h>

enum { SCENARIOS = 6 };

struct scenario_results {
    unsigned char *want, *got; /* the operator's first output: `want` is the caller's to set */
    UINT64 bytes;
};
extern struct scenario_results scenario_results;

const char *scenario_name(uint32_t index);
/* For the runs until scenario_close. */
bool scenario_open(uint32_t index);
void scenario_close(void);
/* On the first adapter. Where the device was removed: why. */
HRESULT scenario_run(void);

#endif
