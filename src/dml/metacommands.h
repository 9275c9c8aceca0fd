/* SPDX-License-Identifier: Apache-2.0 */
/* Metacommands: kernels of a vendor that rows of shaders/meta run where the device takes them and they are right. */
#ifndef DML_METACOMMANDS_H
#define DML_METACOMMANDS_H

#include "dml/dml.h"

#include "shaders/shader.h"

/* What the dispatch's pipeline is made of. */
void dml_spirv_describe(const struct shader_dispatch *dispatch, struct adapter_pipeline_desc *out);

/* From now on the device has none. */
void dml_metacommands_off(struct dml_device *device);

#endif
