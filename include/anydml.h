/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyDML's own interface: its version, the extensions of DirectML.h (docs/extensions.md describes what each is for),
 * and the environment variables that the libraries read once, on first use; docs/environment.md lists all of them.
 * anydml_d3d12.h and anydml_dxcore.h are Direct3D 12 and DXCore.
 *
 *   ANYDML_LOG=none|error|warn|info|debug|trace  what is written to stderr; default: warn
 *   ANYDML_THREADS=n                             worker threads of the cpu adapter; default: one per CPU
 *   ANYDML_CPU_FLAGS=name,name                   instruction sets that may be used, of avx2, avx_vnni, avx512,
 *                                                avx512_vnni, avx512_bf16, amx_int8, amx_bf16, neon, dotprod, i8mm
 *                                                and bf16 ("none": portable code only); unset or empty: all that
 *                                                the CPU has
 *   ANYDML_ADAPTERS=cpu,vulkan,null              which adapters are listed, and in which order; default: GPUs, cpu
 *   ANYDML_HALF_PRECISION=on|off                 on: everything is compiled with HALF_PRECISION_FLOAT32 (below)
 *   ANYDML_TRACE=file                            a timeline of what DirectML devices execute, in the JSON format of
 *                                                browsers' trace viewers; complete when the device is released
 */
#ifndef ANYDML_H
#define ANYDML_H

#define ANYDML_VERSION_MAJOR 0
#define ANYDML_VERSION_MINOR 1
#define ANYDML_VERSION_PATCH 0

/* The version as one number for comparisons: 0xMMmmpp. */
#define ANYDML_VERSION ((ANYDML_VERSION_MAJOR << 16) | (ANYDML_VERSION_MINOR << 8) | ANYDML_VERSION_PATCH)

#include "DirectML.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A data type beyond DirectML's: bfloat16, the upper half of a FLOAT32 (8 exponent bits, 7 fraction bits) in 2 bytes,
 * rounded to nearest, ties to even. In a DML_SCALAR_UNION its bits are stored in UInt16. The value 15 is the last one
 * that fits a 16-bit set and, in C++, the enumeration; it leaves room for DirectML's next types, from 14 on.
 *
 * Every tensor that accepts FLOAT32 and FLOAT16 at feature level 6.4 may also have this type or FLOAT64, if the device
 * supports it: query CheckFeatureSupport for the type and AnydmlEnumOperators for each operator.
 */
#define ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ((DML_TENSOR_DATA_TYPE)15)

/*
 * An execution flag beyond DirectML's, for CompileOperator, CompileGraph and AnydmlCompileGraph. On CPUs that multiply
 * BFLOAT16, matrix multiplications and convolutions of FLOAT32 tensors may round their factors to BFLOAT16, and graphs
 * may keep intermediate results in that type; sums are FLOAT32. It includes ALLOW_HALF_PRECISION_COMPUTATION, which
 * allows the same for 16-bit tensors and never lowers FLOAT32. In C++ the value is outside the enumeration's range:
 * pass it as an argument, and do not use it in constant expressions.
 */
#define ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 ((DML_EXECUTION_FLAGS)0x40000000)

/*
 * An execution flag beyond DirectML's: matrix multiplications whose weights are constant integers, dequantised by
 * DEQUANTIZE, DEQUANTIZE_LINEAR or a similar operator, may round the other factor to 8 bits, relative to the largest
 * element of each block along K. Sums within a block are exact, sums over blocks are FLOAT32. It corresponds to an
 * accuracy_level of 4 of ONNX's MatMulNBits. HALF_PRECISION_FLOAT32 does not include it: an element that is small
 * compared with the largest one of its block keeps its digits in BFLOAT16, but loses them with this flag.
 */
#define ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS ((DML_EXECUTION_FLAGS)0x20000000)

/*
 * An execution flag beyond DirectML's: NaN propagates where DirectML prefers numbers, as in ONNX and numpy. MIN, MAX,
 * THRESHOLD, CLIP and CLIP1 return NaN for a NaN element (a bound of CLIP that is NaN is ignored). For a group that
 * contains a NaN, REDUCE with MIN or MAX returns NaN, and ARGMIN and ARGMAX return the position of the first NaN. The
 * flag does not affect integers, pooling and SIGN.
 */
#define ANYDML_EXECUTION_FLAG_PROPAGATE_NAN ((DML_EXECUTION_FLAGS)0x10000000)

/*
 * Operators beyond DirectML: scatter that combines. Output = Input, and then for each update, in element order, the
 * element that SCATTER_ELEMENTS or SCATTER_ND would replace becomes Function of itself and the update: SUM, MULTIPLY,
 * MIN or MAX (which ignore NaN if the other operand is a number). Integers wrap; FLOAT16 and bfloat16 are combined in
 * FLOAT32 and rounded once. All updates of an element are applied, always in the same order: results do not depend on
 * the number of threads.
 * Indices out of range are ignored. Tensors, types and errors are otherwise those of the DirectML operator.
 *
 * The operator types are numbered downwards from the last value that DirectML's enumeration can hold in C++. They may
 * be nodes of graphs; the cpu adapter executes them.
 */
#define ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS ((DML_OPERATOR_TYPE)254)
#define ANYDML_OPERATOR_SCATTER_REDUCE_ND       ((DML_OPERATOR_TYPE)255)

typedef struct ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    const DML_TENSOR_DESC *IndicesTensor;
    const DML_TENSOR_DESC *UpdatesTensor;
    const DML_TENSOR_DESC *OutputTensor;
    UINT Axis;
    DML_REDUCE_FUNCTION Function;
} ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC;

typedef struct ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    const DML_TENSOR_DESC *IndicesTensor;
    const DML_TENSOR_DESC *UpdatesTensor;
    const DML_TENSOR_DESC *OutputTensor;
    UINT InputDimensionCount;
    UINT IndicesDimensionCount;
    DML_REDUCE_FUNCTION Function;
} ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC;

/*
 * The gradient of maxima by their indices: Output = for each element the sum of InputGradient over the windows whose
 * index, of IndicesTensor, is the element's position in its channel, row-major; sums are computed in FLOAT32 (FLOAT64
 * for that type), always in the same order. Indices outside their window are ignored. The tensors are [N, C, [D], H,
 * W]; IndicesTensor (INT32, INT64, UINT32 or UINT64) has the sizes of InputGradientTensor. The windows are those of
 * DML_OPERATOR_MAX_POOLING2, whose indices also count the channels before.
 */
#define ANYDML_OPERATOR_INDEXED_MAX_POOLING_GRAD ((DML_OPERATOR_TYPE)253)

typedef struct ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputGradientTensor;
    const DML_TENSOR_DESC *IndicesTensor;
    const DML_TENSOR_DESC *OutputGradientTensor;
    UINT DimensionCount;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
} ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC;

/*
 * Samples of images at any positions: GridSample of ONNX, grid_sample of PyTorch, and the samples of deformable
 * convolutions. InputTensor is [N, C, [D], H, W], GridTensor [N, [d], h, w, 2 or 3], OutputTensor [N, C, [d], h, w].
 * The last dimension of GridTensor is a position (x, y[, z]); pixel i is at i. With PixelCoordinates, positions are in
 * pixels; otherwise -1 and 1 are the centres of the first and the last pixel (AlignCorners), or their outer edges.
 * A sample is the nearest pixel (halves to even), or the sum of the 4 or 8 pixels around it by distance (LINEAR).
 * PaddingMode defines pixels outside: CONSTANT: 0; EDGE: positions are limited to the image; REFLECTION and SYMMETRIC:
 * positions are reflected at the centres, or outer edges, of the first and last pixels, and then limited; WRAP is
 * invalid. A position that is NaN is outside, or with other modes than CONSTANT 0. Positions and sums are computed in
 * FLOAT32, in FLOAT64 if a tensor has that type. GridTensor may have any floating-point type.
 */
#define ANYDML_OPERATOR_GRID_SAMPLE ((DML_OPERATOR_TYPE)252)

typedef struct ANYDML_GRID_SAMPLE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    const DML_TENSOR_DESC *GridTensor;
    const DML_TENSOR_DESC *OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_PADDING_MODE PaddingMode;
    BOOL AlignCorners;
    BOOL PixelCoordinates;
} ANYDML_GRID_SAMPLE_OPERATOR_DESC;

/* Bit i of a set represents DML_TENSOR_DATA_TYPE i: some tensor of the operator may have that type. */
struct anydml_operator_info {
    DML_OPERATOR_TYPE Type;
    const char *Name;        /* "DML_OPERATOR_GEMM" */
    DML_FEATURE_LEVEL Level; /* the first level that has it */
    UINT64 SchemaTypes;      /* the types that DirectML's documentation lists */
    /* Those of SchemaTypes that this device executes: CompileOperator accepts a small description in which the tensors
     * of one type group have that type. Other combinations of types, shapes and attributes may still be unsupported. */
    UINT64 Types;
    UINT64 ExtensionTypes; /* likewise, types beyond SchemaTypes */
};

/* libdirectml: enumerates the operators by rising type. Each call compiles the operator once for each type, which takes
 * milliseconds. DXGI_ERROR_NOT_FOUND past the last, E_INVALIDARG for NULL and for devices of another library.
 * Thread-safe. */
HRESULT STDMETHODCALLTYPE AnydmlEnumOperators(IDMLDevice *device, UINT index, struct anydml_operator_info *info);

/* libdirectml: enables or disables messages on stderr for calls of the calling thread, and returns the previous
 * setting. For callers that probe for support and expect failures; messages of the debug layer are stored in any
 * case. */
BOOL STDMETHODCALLTYPE AnydmlQuiet(BOOL quiet);

/* What a device compiles and executes, one event each, in the order in which it happened. Pointers are valid during the
 * call only. */
struct anydml_trace_event {
    /* "graph": Text is a compiled operator's graph, whose Name ends in "before passes" or "after passes"; values, then
     *     operators in the order of execution, each with its views as type[sizes]{strides}+offset.
     * "plan": Text is the plan of that graph: the temporary buffer's blocks with the steps that use them, and the
     * steps, one for each operator of the graph after passes, with kernels and addresses. "run": one execution on the
     * cpu adapter; "step": one step of it, after the run's own event. Texts are meant for people: their format may
     * change from version to version. */
    const char *Category;
    const char *Name;
    const char *Text; /* NULL for runs and steps */
    /* The event as one object of the trace viewers' format, as ANYDML_TRACE writes it. For a step: kernel, shapes,
     * threads, bytes read and written, floating-point operations (exact for GEMM, convolution, attention and recurrent
     * networks; elements times instructions for other kinds), both rates, and, if the peaks are known, the share of the
     * roofline: the time that the step would need at the peak rates, divided by its measured time. Caches are faster
     * than memory, so small steps may exceed 1. */
    const char *Json;
};

struct anydml_trace {
    void(STDMETHODCALLTYPE *Event)(void *Context, const struct anydml_trace_event *event);
    void *Context;
    double PeakFlops, PeakBytes; /* of the machine, per second; 0: unknown */
};

/* libdirectml: from now on Event is called for this device, on the threads that compile and execute, one call at a
 * time; it must not call DirectML or Direct3D. A NULL tracer ends that; when the call returns, no event is in progress.
 * Tracing costs about 10 microseconds a step, but between executions: steps are timed without it. Thread-safe. S_OK;
 * E_INVALIDARG (device NULL or of another library). */
HRESULT STDMETHODCALLTYPE AnydmlSetTrace(IDMLDevice *device, const struct anydml_trace *trace);

/* libdirectml: IDMLDevice1::CompileGraph with a callback: `done` is called after the last read of a constant node,
 * whose data may be freed then, long before the method returns. A node may never be reported; all data may be freed
 * after the call. With another library's device the call is that device's CompileGraph. `done` is called on the calling
 * thread and may be NULL. */
typedef void(STDMETHODCALLTYPE *anydml_constant_done)(void *context, UINT node);
HRESULT STDMETHODCALLTYPE AnydmlCompileGraph(IDMLDevice1 *device, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                                             anydml_constant_done done, void *context, REFIID riid, void **out);

/* libdirectml: the same with a callback for parts of large constants: `Part` is called after the last read of `bytes`
 * bytes at `offset` of a node's data, before `Done`, so that the data need not be in memory besides a whole copy. A
 * node's parts follow each other and may be fewer than all. `reads` and its members may be NULL. */
struct anydml_constant_reads {
    anydml_constant_done Done;
    void(STDMETHODCALLTYPE *Part)(void *context, UINT node, UINT64 offset, UINT64 bytes);
    void *Context;
};
HRESULT STDMETHODCALLTYPE AnydmlCompileGraphInParts(IDMLDevice1 *device, const DML_GRAPH_DESC *desc,
                                                    DML_EXECUTION_FLAGS flags,
                                                    const struct anydml_constant_reads *reads, REFIID riid, void **out);

/* libdirectml: executes a compiled operator on addresses with minimal overhead: no descriptors, resources, command
 * lists or fences; several threads may do so concurrently. Temporary memory and, from the first call on, the contents
 * of the persistent resource are managed by the library. On the cpu adapter, a call of a small operator costs about 0.2
 * microseconds beyond its work.
 *
 * OWNED_BY_DML inputs (weights; cpu adapter): a run that gives all of their addresses initialises the operator again
 * before it executes; a run that gives 0 for all of them uses the previous weights. The first run must give them, and
 * no other run may be in progress meanwhile.
 *
 * inputs, outputs: one address for each input and output of the operator or graph; 0 for absent optional tensors and
 * for inputs that a graph does not use. Each address must have the number of bytes that the tensor's description
 * states. An output may have the address of an input: data that is still needed is copied first. Outputs must not
 * overlap each other.
 *
 * cpu adapter: `queue` is ignored and may be NULL. Addresses are host addresses, aligned to the element size; DirectML
 * accesses elements only, never the padding that rounds TotalTensorSizeInBytes up. The operator runs on the calling
 * thread and its thread team and is complete when the call returns; the call does not wait for work that is pending on
 * queues.
 *
 * Vulkan adapters: the operator runs after all previous work of `queue`, a DIRECT or COMPUTE queue of its device; the
 * call does not wait for it, unless very many such runs are pending. Signal a fence to learn when it is complete.
 * Addresses are device addresses (GetGPUVirtualAddress plus an offset) in any of the device's heaps and resources,
 * including UPLOAD and READBACK. Multiples of 16 are fastest; otherwise the tensor is copied on the device before or
 * after the run. The library keeps the operator, the heaps and the resources alive until the run is complete, so they
 * may be released immediately. A run does not change the states of resources.
 *
 * S_OK; E_INVALIDARG (an operator of another library, wrong counts, address 0, addresses for some of the owned inputs
 * only, owned inputs on an adapter other than cpu, a queue of another device, an address outside the device's memory or
 * with too little of it; with a message); DXGI_ERROR_DEVICE_REMOVED; E_OUTOFMEMORY. */
HRESULT STDMETHODCALLTYPE AnydmlRunOperator(ID3D12CommandQueue *queue, IDMLCompiledOperator *op, UINT input_count,
                                            const D3D12_GPU_VIRTUAL_ADDRESS *inputs, UINT output_count,
                                            const D3D12_GPU_VIRTUAL_ADDRESS *outputs);

/* Two kernels that do the same work, compared on one shape. */
struct anydml_tuning_point {
    const char *Name;       /* heuristic and shape, "winograd_3_28_128_128" */
    const char *Kernels[2]; /* the same twice: only one kernel is available */
    double Seconds[2];
    double Predicted;  /* factor of the library's cost model for the first kernel's time relative to the second's */
    double Correction; /* the new factor */
};

struct anydml_tuning {
    void *Context;
    void(STDMETHODCALLTYPE *Point)(void *context, const struct anydml_tuning_point *point);
    void(STDMETHODCALLTYPE *Saved)(void *context, const char *path, const char *problem); /* problem NULL: saved */
};

/* libdirectml, cpu adapter: measures the kernels between which compilation selects by a cost model, on the device's
 * threads, which takes about two seconds on an idle machine, and writes the results to a file. Later processes read it
 * when they first compile for the same number of threads with this version on this CPU model. No other call
 * measures kernels or writes this file. It is in ANYDML_CACHE_DIR, XDG_CACHE_HOME/anydml or ~/.cache/anydml. The
 * running process is not affected. `listener` and its functions may be NULL. Thread-safe, but measure on an otherwise
 * idle machine. S_OK; E_INVALIDARG (not a device of this library); DXGI_ERROR_UNSUPPORTED (another adapter);
 * E_OUTOFMEMORY; E_ACCESSDENIED (the file cannot be written). */
HRESULT STDMETHODCALLTYPE AnydmlTune(IDMLDevice *device, const struct anydml_tuning *listener);

/* Selects the shader kernel for a class of operations; steps of a trace name both (docs/extensions.md). */
struct anydml_row {
    UINT64 Class;
    const char *Row;
};

/* libdirectml, Vulkan adapters: writes which kernel runs which class of operations to a file that later processes read
 * when they create a device with this driver and version; with count 0, the built-in order of the kernels applies
 * again. The file is next to AnydmlTune's. The running process is not affected. `listener` may be NULL. Thread-safe.
 * S_OK; E_INVALIDARG (not a device of this library, an unknown kernel, a class twice); DXGI_ERROR_UNSUPPORTED (another
 * adapter); E_OUTOFMEMORY; E_ACCESSDENIED (the file cannot be written). */
HRESULT STDMETHODCALLTYPE AnydmlKeepRows(IDMLDevice *device, const struct anydml_row *rows, UINT count,
                                         const struct anydml_tuning *listener);

/* libdirectml, libd3d12 and libdxcore each export `uint32_t AnydmlLiveObjects(void)`: the number of COM objects of that
 * library that exist in this process. It is not declared here because the three have the same name: tests look it up
 * with dlsym.
 */

#ifdef __cplusplus
}
#endif

#endif
