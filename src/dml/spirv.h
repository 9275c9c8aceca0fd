/* Shared by spirv_program.c and spirv_params.c. */
#ifndef DML_SPIRV_H
#define DML_SPIRV_H

#include "dml/dispatch_spirv.h"

enum dml_spirv_shader {
#define SHADER(name, source, adds) DML_SPIRV_##name,
#include "shaders/shaders.def"
#undef SHADER
    DML_SPIRV_SHADER_COUNT
};

/* Push constants: the parameter block's address and these. 128 bytes are what every device has. */
#define DML_SPIRV_BASES_MAX 15

/* A buffer that a step uses. */
struct dml_spirv_base {
    enum graph_buffer buffer;
    uint32_t index; /* input or output slot */
};

struct dml_spirv_step {
    struct adapter_pipeline *pipeline;
    uint64_t params; /* offset of its parameter block */
    uint32_t groups;
    uint32_t base_count;
    struct dml_spirv_base bases[DML_SPIRV_BASES_MAX];
};

/* What spirv_params.c finds out about a step: steps of one shape share a pipeline. The constants are map.comp's; moves
 * have none. */
#define DML_SPIRV_CONSTANTS 6
struct dml_spirv_shape {
    enum dml_spirv_shader shader;
    uint32_t constant_count;
    uint32_t constants[DML_SPIRV_CONSTANTS];
};

/* Words of a step's parameter block. */
uint32_t dml_spirv_params_words(const struct graph_step *step);
/* Fills words[], step's groups and bases, and the shape. DXGI_ERROR_UNSUPPORTED with `error` filled. */
HRESULT dml_spirv_params_write(const struct graph_step *step, uint32_t *words, struct dml_spirv_step *out,
                               struct dml_spirv_shape *out_shape, char *error);

#endif
