/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled shaders and metacommands of this build. */
#ifndef DML_SHADER_BINARIES_H
#define DML_SHADER_BINARIES_H

#include "d3d12/private.h"
#include "shaders/shader.h"

/* The code of a dispatch's pipeline; out's constants are the dispatch's. large_table: of the sequence that it is for
 * (adapter.h); metacommands do not depend on it. */
void dml_spirv_describe(const struct shader_dispatch *dispatch, bool large_table, struct adapter_pipeline_desc *out);

/* False: the build is without (-Dmetacommands=disabled). */
extern const bool dml_binaries_have_metacommands;

#endif
