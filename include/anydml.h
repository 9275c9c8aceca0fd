/*
 * AnyDML itself: its version, and the environment variables that its libraries read once, when first used.
 * Programs need this header only to know which AnyDML they are compiled with; everything else is DirectML.h,
 * anydml_d3d12.h and anydml_dxcore.h.
 *
 *   ANYDML_LOG=none|error|warn|info|debug|trace  what is written to stderr; default: warn
 *   ANYDML_THREADS=n                             worker threads of the cpu adapter; default: one per processor
 *   ANYDML_CPU_FLAGS=name,name                   instruction sets that may be used ("none": portable code only), as
 *                                                the anydml command lists them; default: all that the processor has
 *   ANYDML_ADAPTERS=cpu,vulkan,null              which adapters are listed, and in which order; default: cpu,vulkan
 *   ANYDML_TRACE=file                            a timeline of what DirectML devices execute, in the JSON form that
 *                                                browsers' trace viewers read; complete when the device is released
 */
#ifndef ANYDML_H
#define ANYDML_H

#define ANYDML_VERSION_MAJOR 0
#define ANYDML_VERSION_MINOR 1
#define ANYDML_VERSION_PATCH 0

/* One number to compare with, as 0xMMmmpp. */
#define ANYDML_VERSION ((ANYDML_VERSION_MAJOR << 16) | (ANYDML_VERSION_MINOR << 8) | ANYDML_VERSION_PATCH)

#include "DirectML.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bit i of the sets is DML_TENSOR_DATA_TYPE i, over all tensors of the operator. */
struct anydml_operator_info {
    DML_OPERATOR_TYPE Type;
    const char *Name;        /* "DML_OPERATOR_GEMM" */
    DML_FEATURE_LEVEL Level; /* the first that has it */
    UINT64 SchemaTypes;      /* what CreateOperator takes */
    UINT64 Types;            /* what this library can execute; 0 when CompileOperator does not know the operator. A
                                single combination of types, shapes and attributes may still be refused: CompileOperator
                                is the exact answer */
};

/* libdirectml: the operators one by one, by rising type; DXGI_ERROR_NOT_FOUND past the last, E_INVALIDARG for NULL and
 * for devices of another library. Thread-safe. */
HRESULT STDMETHODCALLTYPE AnydmlEnumOperators(IDMLDevice *device, UINT index, struct anydml_operator_info *info);

/* libdirectml, libd3d12 and libdxcore each export `uint32_t AnydmlLiveObjects(void)`: how many COM objects of that
 * library live in this process. It is no prototype here because the three have one name: tests look it up with dlsym.
 */

#ifdef __cplusplus
}
#endif

#endif
