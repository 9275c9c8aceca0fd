/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyDML itself: its version, what it offers beyond DirectML.h (docs/extensions.md tells what each thing is for), and
 * the environment variables that its libraries read once, when first used; docs/environment.md has all of them.
 * anydml_d3d12.h and anydml_dxcore.h are Direct3D 12 and DXCore.
 *
 *   ANYDML_LOG=none|error|warn|info|debug|trace  what is written to stderr; default: warn
 *   ANYDML_THREADS=n                             worker threads of the cpu adapter; default: one per CPU
 *   ANYDML_CPU_FLAGS=name,name                   instruction sets that may be used, of avx2, avx_vnni, avx512,
 *                                                avx512_vnni, avx512_bf16, amx_int8, amx_bf16, neon, dotprod, i8mm
 *                                                and bf16 ("none": portable code only); unset or empty: all that
 *                                                the CPU has
 *   ANYDML_ADAPTERS=cpu,vulkan,null              which adapters are listed, and in which order; default: cpu,vulkan
 *   ANYDML_HALF_PRECISION=on|off                 on: everything is compiled with HALF_PRECISION_FLOAT32 (below)
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

/*
 * A data type beyond DirectML: the upper half of a FLOAT32 (8 bits of exponent, 7 of fraction), 2 bytes, rounded to the
 * nearest, halves to even. In a DML_SCALAR_UNION its bits are UInt16. 15 is the last value that a set of 16 bits and,
 * in C++, the enumeration itself can hold, so that the next types of DirectML, from 14 on, do not meet it.
 *
 * Where a tensor may be FLOAT32 and FLOAT16 at feature level 6.4, it may also be this type and FLOAT64, if the device
 * says so: CheckFeatureSupport for the type, AnydmlEnumOperators for each operator.
 */
#define ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ((DML_TENSOR_DATA_TYPE)15)

/*
 * An execution flag beyond DirectML's, for CompileOperator, CompileGraph and AnydmlCompileGraph: products and
 * convolutions of FLOAT32 tensors may round their factors to BFLOAT16, and graphs may keep what lies between them so,
 * on CPUs that multiply it; sums are FLOAT32. It includes ALLOW_HALF_PRECISION_COMPUTATION, which allows the same for
 * tensors of 16 bits and never lowers FLOAT32. In C++ the value lies outside of the enumeration's own range: pass it as
 * an argument, keep it out of constant expressions.
 */
#define ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 ((DML_EXECUTION_FLAGS)0x40000000)

/*
 * Another: products with constant integers that DEQUANTIZE, DEQUANTIZE_LINEAR and similar make weights of may round
 * their other factor to 8 bits, relative to the largest element of each block of the weights along the depth of the
 * product; sums within a block are exact, those over blocks FLOAT32. It is ONNX's MatMulNBits with an accuracy_level of
 * 4. HALF_PRECISION_FLOAT32 does not include it: an element that is small beside the largest one of its block keeps its
 * digits in BFLOAT16, and loses them here.
 */
#define ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS ((DML_EXECUTION_FLAGS)0x20000000)

/*
 * Operators beyond DirectML: scatter that combines. Output = Input, and then for each update, in element order, the
 * element that SCATTER_ELEMENTS or SCATTER_ND would replace becomes Function of itself and the update: SUM, MULTIPLY,
 * MIN or MAX (a number wins over NaN). Integers wrap; FLOAT16 and bfloat16 are combined in FLOAT32 and rounded once. Of
 * several updates of one element all count, always in the same order: results do not depend on the number of threads.
 * Indices out of range are ignored. Tensors, types and errors are otherwise those of the DirectML operator.
 *
 * The types stand among DirectML's from the end of what its enumeration can hold in C++. They may be nodes of graphs;
 * the cpu adapter executes them.
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

/* Bit i of the sets is DML_TENSOR_DATA_TYPE i: some tensor of the operator may have that type. */
struct anydml_operator_info {
    DML_OPERATOR_TYPE Type;
    const char *Name;        /* "DML_OPERATOR_GEMM" */
    DML_FEATURE_LEVEL Level; /* the first that has it */
    UINT64 SchemaTypes;      /* what DirectML's documentation names */
    UINT64 Types;          /* those of SchemaTypes that this device executes: CompileOperator takes a small description
                              in which the tensors of one type group have that type. Other combinations of types,
                              shapes and attributes may still be refused */
    UINT64 ExtensionTypes; /* likewise, what it executes beyond SchemaTypes */
};

/* libdirectml: the operators one by one (each call compiles it once for each type, which takes milliseconds), by rising
 * type; DXGI_ERROR_NOT_FOUND past the last, E_INVALIDARG for NULL and for devices of another library. Thread-safe. */
HRESULT STDMETHODCALLTYPE AnydmlEnumOperators(IDMLDevice *device, UINT index, struct anydml_operator_info *info);

/* libdirectml: what the calling thread's calls have to say is not written to stderr until it is told otherwise; returns
 * what held before. For callers that try what a device can do; messages of the debug layer are stored all the same. */
BOOL STDMETHODCALLTYPE AnydmlQuiet(BOOL quiet);

/* What a device compiles and executes, one event each, in the order in which it happened. Pointers are good during the
 * call only. */
struct anydml_trace_event {
    /* "graph": Text is a compiled operator's graph, whose Name ends in "before passes" or "after passes"; values, then
     *     operators in the order of execution, each with its views as type[sizes]{strides}+offset.
     * "plan": Text is what became of it: the temporary buffer's blocks with the steps during which they are in use, and
     *     the steps, one for each operator of the graph after passes, with kernels and addresses.
     * "run": one execution on the cpu adapter; "step": one step of it, after the run's own event.
     * Texts are for people: they may change from version to version. */
    const char *Category;
    const char *Name;
    const char *Text; /* NULL for runs and steps */
    /* The event as ANYDML_TRACE's file has it, one object of the format of trace viewers. Of a step: kernel, shapes,
     * threads, bytes read and written, floating-point operations (of matrix products, convolutions, attention and
     * recurrent networks exactly, of other kinds elements times instructions), both per second, and with the peaks
     * known the share of the roofline: how long the step would take if it computed and moved at the peaks, divided by
     * how long it took. Copies between caches are faster than the memory, so small steps may have more than 1. */
    const char *Json;
};

struct anydml_trace {
    void(STDMETHODCALLTYPE *Event)(void *Context, const struct anydml_trace_event *event);
    void *Context;
    double PeakFlops, PeakBytes; /* of the machine, per second; 0: not known */
};

/* libdirectml: from now on Event is called for this device, on the threads that compile and execute, one at a time; it
 * must not call DirectML or Direct3D. NULL ends that, and when the call returns no event is on its way. Tracing costs
 * about 10 microseconds a step, but between executions: steps are timed without it. Thread-safe.
 * S_OK; E_INVALIDARG (device NULL or of another library). */
HRESULT STDMETHODCALLTYPE AnydmlSetTrace(IDMLDevice *device, const struct anydml_trace *trace);

/* libdirectml: IDMLDevice1::CompileGraph, which says as soon as it has read a constant node for the last time: its data
 * is then free to go, long before the method returns. A node may never be named: all data is free afterwards. With
 * another library's device it is that device's CompileGraph. `done` is called by the same thread; NULL is fine. */
typedef void(STDMETHODCALLTYPE *anydml_constant_done)(void *context, UINT node);
HRESULT STDMETHODCALLTYPE AnydmlCompileGraph(IDMLDevice1 *device, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                                             anydml_constant_done done, void *context, REFIID riid, void **out);

/* libdirectml: executes a compiled operator on addresses, with the least that a call can cost: no descriptors,
 * resources, lists or fences, and several threads may do it at once. Temporary memory and, from the first call on, what
 * would be the persistent resource are the library's. On the cpu adapter, a call of a small operator costs about 0.2
 * microseconds beyond its work.
 *
 * Inputs that are OWNED_BY_DML (weights; cpu adapter) are read by the runs that give their addresses, all of them,
 * which initialise the operator again before it runs; with 0 for all they are as they were then. The first run gives
 * them, and while a run does no other may be under way.
 *
 * inputs, outputs: one address for each of the operator's or graph's, 0 where it has none (absent optional tensors,
 * inputs that a graph does not use). As much as the tensor's description says must lie there. An output may be an
 * input's address: what is needed longer is copied first; but outputs must not overlap one another.
 *
 * cpu adapter: `queue` is not used, NULL is fine. Addresses are the host's, and need be multiples of the element's size
 * only; DirectML reads and writes elements alone, never the bytes that round TotalTensorSizeInBytes up. The operator
 * runs on the calling thread and its team and is done when the call returns; what queues have to do yet is not waited
 * for.
 *
 * Vulkan adapters: the operator runs after all that `queue`, a DIRECT or COMPUTE queue of its device, was given before;
 * the call does not wait for it, unless very many such runs wait already. Signal a fence to know when it is done.
 * Addresses are those of the device (GetGPUVirtualAddress and what lies behind it) in any of its heaps and resources,
 * UPLOAD and READBACK ones too. Multiples of 16 serve best; at others the tensor is copied on the device before the
 * run, or after it. The library keeps the operator, the heaps and the resources until the run is done, so they may be
 * released at once. A run does not change the states of resources.
 *
 * S_OK; E_INVALIDARG (an operator of another library, the wrong counts, address 0, some of the owned inputs
 * and others not, owned inputs on another adapter than cpu, a queue that is none
 * of the operator's device, an address where the device has no memory or too little, with a message);
 * DXGI_ERROR_DEVICE_REMOVED; E_OUTOFMEMORY. */
HRESULT STDMETHODCALLTYPE AnydmlRunOperator(ID3D12CommandQueue *queue, IDMLCompiledOperator *op, UINT input_count,
                                            const D3D12_GPU_VIRTUAL_ADDRESS *inputs, UINT output_count,
                                            const D3D12_GPU_VIRTUAL_ADDRESS *outputs);

/* Two kernels that do the same work, on one shape. */
struct anydml_tuning_point {
    const char *Name;       /* choice and shape, "winograd_3_28_128_128" */
    const char *Kernels[2]; /* the same twice: there is nothing to choose */
    double Seconds[2];
    double Predicted;  /* what the library's model has for the first time over the second */
    double Correction; /* by what it is multiplied from now on */
};

struct anydml_tuning {
    void *Context;
    void(STDMETHODCALLTYPE *Point)(void *context, const struct anydml_tuning_point *point);
    void(STDMETHODCALLTYPE *Saved)(void *context, const char *path, const char *problem); /* problem NULL: it is */
};

/* libdirectml, cpu adapter: measures the kernels between which compilation chooses by a model, on the device's threads,
 * which takes about two seconds on an idle machine, and writes what it found to a file that later processes read when
 * they first compile for as many threads with this version on this CPU. Nothing else ever measures or writes. The file
 * lies in ANYDML_CACHE_DIR, or in XDG_CACHE_HOME/anydml, or in ~/.cache/anydml. This process goes on as it began.
 * `listener` and its functions may be NULL. Thread-safe, but times are those of a machine that does nothing else. S_OK;
 * E_INVALIDARG (no device of this library); DXGI_ERROR_UNSUPPORTED (another adapter); E_OUTOFMEMORY; E_ACCESSDENIED
 * (the file cannot be written). */
HRESULT STDMETHODCALLTYPE AnydmlTune(IDMLDevice *device, const struct anydml_tuning *listener);

/* For ops of a class, a row of shaders, as steps of a trace name both (docs/extensions.md). */
struct anydml_row {
    UINT64 Class;
    const char *Row;
};

/* libdirectml, Vulkan adapters: writes which rows run what to a file that later processes read when they create a
 * device with this driver and version; with count 0, the order of the library's table decides again. The file lies
 * where AnydmlTune's does. This process goes on as it began. `listener` may be NULL. Thread-safe. S_OK; E_INVALIDARG
 * (no device of this library, a row that there is not, a class twice); DXGI_ERROR_UNSUPPORTED (another adapter);
 * E_OUTOFMEMORY; E_ACCESSDENIED (the file cannot be written). */
HRESULT STDMETHODCALLTYPE AnydmlKeepRows(IDMLDevice *device, const struct anydml_row *rows, UINT count,
                                         const struct anydml_tuning *listener);

/* libdirectml, libd3d12 and libdxcore each export `uint32_t AnydmlLiveObjects(void)`: how many COM objects of that
 * library live in this process. It is no prototype here because the three have one name: tests look it up with dlsym.
 */

#ifdef __cplusplus
}
#endif

#endif
