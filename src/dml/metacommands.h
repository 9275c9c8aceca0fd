/* SPDX-License-Identifier: Apache-2.0 */
/* Metacommands: vendor-specific kernels of shaders/meta, used if the device accepts them and their self-test passes. */
#ifndef DML_METACOMMANDS_H
#define DML_METACOMMANDS_H

#include "dml/dml.h"

/* Disables metacommands for the device. */
void dml_metacommands_off(struct dml_device *device);

#endif
