/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, bindings, graphs, feature queries and the enumerations that operators use. */
#ifndef ANYDML_DML_TYPES_H
#define ANYDML_DML_TYPES_H

#include "dml_base.h"
#include "dml_operator_type.h"

#ifdef __cplusplus
struct IDMLObject;
struct IDMLDevice;
struct IDMLDeviceChild;
struct IDMLPageable;
struct IDMLOperator;
struct IDMLDispatchable;
struct IDMLCompiledOperator;
struct IDMLOperatorInitializer;
struct IDMLBindingTable;
struct IDMLCommandRecorder;
struct IDMLDebugDevice;
struct IDMLDevice1;
#else
typedef struct IDMLObject IDMLObject;
typedef struct IDMLDevice IDMLDevice;
typedef struct IDMLDeviceChild IDMLDeviceChild;
typedef struct IDMLPageable IDMLPageable;
typedef struct IDMLOperator IDMLOperator;
typedef struct IDMLDispatchable IDMLDispatchable;
typedef struct IDMLCompiledOperator IDMLCompiledOperator;
typedef struct IDMLOperatorInitializer IDMLOperatorInitializer;
typedef struct IDMLBindingTable IDMLBindingTable;
typedef struct IDMLCommandRecorder IDMLCommandRecorder;
typedef struct IDMLDebugDevice IDMLDebugDevice;
typedef struct IDMLDevice1 IDMLDevice1;
#endif

/* ---- tensors ---- */

typedef enum DML_TENSOR_DATA_TYPE {
    DML_TENSOR_DATA_TYPE_UNKNOWN = 0,
    DML_TENSOR_DATA_TYPE_FLOAT32 = 1,
    DML_TENSOR_DATA_TYPE_FLOAT16 = 2,
    DML_TENSOR_DATA_TYPE_UINT32 = 3,
    DML_TENSOR_DATA_TYPE_UINT16 = 4,
    DML_TENSOR_DATA_TYPE_UINT8 = 5,
    DML_TENSOR_DATA_TYPE_INT32 = 6,
    DML_TENSOR_DATA_TYPE_INT16 = 7,
    DML_TENSOR_DATA_TYPE_INT8 = 8,
    DML_TENSOR_DATA_TYPE_FLOAT64 = 9,
    DML_TENSOR_DATA_TYPE_UINT64 = 10,
    DML_TENSOR_DATA_TYPE_INT64 = 11,
#if DML_TARGET_VERSION >= 0x6300
    DML_TENSOR_DATA_TYPE_UINT4 = 12,
    DML_TENSOR_DATA_TYPE_INT4 = 13,
#endif
} DML_TENSOR_DATA_TYPE;

typedef enum DML_TENSOR_TYPE {
    DML_TENSOR_TYPE_INVALID = 0,
    DML_TENSOR_TYPE_BUFFER = 1,
} DML_TENSOR_TYPE;

/* OWNED_BY_DML: the tensor is bound once, to the initializer, and may be rearranged and kept in the persistent buffer.
 */
typedef enum DML_TENSOR_FLAGS {
    DML_TENSOR_FLAG_NONE = 0,
    DML_TENSOR_FLAG_OWNED_BY_DML = 1,
} DML_TENSOR_FLAGS;

DEFINE_ENUM_FLAG_OPERATORS(DML_TENSOR_FLAGS)

/*
 * A tensor in a buffer. Sizes and Strides count elements and have DimensionCount entries, outermost first; Strides NULL
 * means packed, a stride of 0 repeats the element (inputs only). TotalTensorSizeInBytes covers the last element and is
 * a multiple of 4. GuaranteedBaseOffsetAlignment is the guaranteed alignment in bytes, a power of two, or 0 for none.
 */
typedef struct DML_BUFFER_TENSOR_DESC {
    DML_TENSOR_DATA_TYPE DataType;
    DML_TENSOR_FLAGS Flags;
    UINT DimensionCount;
    const UINT *Sizes, *Strides;
    UINT64 TotalTensorSizeInBytes;
    UINT GuaranteedBaseOffsetAlignment;
} DML_BUFFER_TENSOR_DESC;

/* Type names the struct behind Desc: DML_BUFFER_TENSOR_DESC. */
typedef struct DML_TENSOR_DESC {
    DML_TENSOR_TYPE Type;
    const void *Desc;
} DML_TENSOR_DESC;

/* ---- operator attributes ---- */

typedef enum DML_REDUCE_FUNCTION {
    DML_REDUCE_FUNCTION_ARGMAX = 0,
    DML_REDUCE_FUNCTION_ARGMIN = 1,
    DML_REDUCE_FUNCTION_AVERAGE = 2,
    DML_REDUCE_FUNCTION_L1 = 3,
    DML_REDUCE_FUNCTION_L2 = 4,
    DML_REDUCE_FUNCTION_LOG_SUM = 5,
    DML_REDUCE_FUNCTION_LOG_SUM_EXP = 6,
    DML_REDUCE_FUNCTION_MAX = 7,
    DML_REDUCE_FUNCTION_MIN = 8,
    DML_REDUCE_FUNCTION_MULTIPLY = 9,
    DML_REDUCE_FUNCTION_SUM = 10,
    DML_REDUCE_FUNCTION_SUM_SQUARE = 11,
} DML_REDUCE_FUNCTION;

typedef enum DML_MATRIX_TRANSFORM {
    DML_MATRIX_TRANSFORM_NONE = 0,
    DML_MATRIX_TRANSFORM_TRANSPOSE = 1,
} DML_MATRIX_TRANSFORM;

/* CONVOLUTION mirrors the filter, CROSS_CORRELATION (what frameworks call convolution) does not. */
typedef enum DML_CONVOLUTION_MODE {
    DML_CONVOLUTION_MODE_CONVOLUTION = 0,
    DML_CONVOLUTION_MODE_CROSS_CORRELATION = 1,
} DML_CONVOLUTION_MODE;

typedef enum DML_CONVOLUTION_DIRECTION {
    DML_CONVOLUTION_DIRECTION_FORWARD = 0,
    DML_CONVOLUTION_DIRECTION_BACKWARD = 1,
} DML_CONVOLUTION_DIRECTION;

typedef enum DML_PADDING_MODE {
    DML_PADDING_MODE_CONSTANT = 0,
    DML_PADDING_MODE_EDGE = 1,
    DML_PADDING_MODE_REFLECTION = 2,
#if DML_TARGET_VERSION >= 0x3000
    DML_PADDING_MODE_SYMMETRIC = 3,
#endif
#if DML_TARGET_VERSION >= 0x6400
    DML_PADDING_MODE_WRAP = 4,
#endif
} DML_PADDING_MODE;

typedef enum DML_INTERPOLATION_MODE {
    DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR = 0,
    DML_INTERPOLATION_MODE_LINEAR = 1,
} DML_INTERPOLATION_MODE;

typedef enum DML_RECURRENT_NETWORK_DIRECTION {
    DML_RECURRENT_NETWORK_DIRECTION_FORWARD = 0,
    DML_RECURRENT_NETWORK_DIRECTION_BACKWARD = 1,
    DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL = 2,
} DML_RECURRENT_NETWORK_DIRECTION;

typedef struct DML_SCALE_BIAS {
    FLOAT Scale, Bias;
} DML_SCALE_BIAS;

typedef struct DML_SIZE_2D {
    UINT Width, Height;
} DML_SIZE_2D;

#if DML_TARGET_VERSION >= 0x2100

typedef enum DML_ROUNDING_MODE {
    DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN = 0,
    DML_ROUNDING_MODE_TOWARD_ZERO = 1,
    DML_ROUNDING_MODE_TOWARD_INFINITY = 2,
} DML_ROUNDING_MODE;

typedef enum DML_IS_INFINITY_MODE {
    DML_IS_INFINITY_MODE_EITHER = 0,
    DML_IS_INFINITY_MODE_POSITIVE = 1,
    DML_IS_INFINITY_MODE_NEGATIVE = 2,
} DML_IS_INFINITY_MODE;

typedef enum DML_AXIS_DIRECTION {
    DML_AXIS_DIRECTION_INCREASING = 0,
    DML_AXIS_DIRECTION_DECREASING = 1,
} DML_AXIS_DIRECTION;

typedef enum DML_DEPTH_SPACE_ORDER {
    DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW = 0,
    DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH = 1,
} DML_DEPTH_SPACE_ORDER;

/* One scalar of any tensor data type; a FLOAT16 is stored in the first two bytes. Unused bytes are ignored. */
typedef union DML_SCALAR_UNION {
    BYTE Bytes[8];
    INT8 Int8;
    UINT8 UInt8;
    INT16 Int16;
    UINT16 UInt16;
    INT32 Int32;
    UINT32 UInt32;
    INT64 Int64;
    UINT64 UInt64;
    FLOAT Float32;
    DOUBLE Float64;
} DML_SCALAR_UNION;

#endif /* DML_TARGET_VERSION >= 0x2100 */

#if DML_TARGET_VERSION >= 0x3000

typedef enum DML_RANDOM_GENERATOR_TYPE {
    DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10 = 0,
} DML_RANDOM_GENERATOR_TYPE;

#endif /* DML_TARGET_VERSION >= 0x3000 */

#if DML_TARGET_VERSION >= 0x6100

typedef enum DML_MULTIHEAD_ATTENTION_MASK_TYPE {
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE = 0,
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH = 1,
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START = 2,
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END = 3,
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN = 4,
} DML_MULTIHEAD_ATTENTION_MASK_TYPE;

#endif /* DML_TARGET_VERSION >= 0x6100 */

#if DML_TARGET_VERSION >= 0x6300

typedef enum DML_QUANTIZATION_TYPE {
    DML_QUANTIZATION_TYPE_NONE = 0,
    DML_QUANTIZATION_TYPE_SCALE = 1,
    DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT = 2,
} DML_QUANTIZATION_TYPE;

#endif /* DML_TARGET_VERSION >= 0x6300 */

/* Type names the struct behind Desc: DML_OPERATOR_X goes with DML_X_OPERATOR_DESC. */
typedef struct DML_OPERATOR_DESC {
    DML_OPERATOR_TYPE Type;
    const void *Desc;
} DML_OPERATOR_DESC;

/* ---- feature queries: IDMLDevice::CheckFeatureSupport ---- */

#if DML_TARGET_VERSION >= 0x2000

typedef enum DML_FEATURE_LEVEL {
    DML_FEATURE_LEVEL_1_0 = 0x1000,
    DML_FEATURE_LEVEL_2_0 = 0x2000,
#if DML_TARGET_VERSION >= 0x2100
    DML_FEATURE_LEVEL_2_1 = 0x2100,
#endif
#if DML_TARGET_VERSION >= 0x3000
    DML_FEATURE_LEVEL_3_0 = 0x3000,
#endif
#if DML_TARGET_VERSION >= 0x3100
    DML_FEATURE_LEVEL_3_1 = 0x3100,
#endif
#if DML_TARGET_VERSION >= 0x4000
    DML_FEATURE_LEVEL_4_0 = 0x4000,
#endif
#if DML_TARGET_VERSION >= 0x4100
    DML_FEATURE_LEVEL_4_1 = 0x4100,
#endif
#if DML_TARGET_VERSION >= 0x5000
    DML_FEATURE_LEVEL_5_0 = 0x5000,
#endif
#if DML_TARGET_VERSION >= 0x5100
    DML_FEATURE_LEVEL_5_1 = 0x5100,
#endif
#if DML_TARGET_VERSION >= 0x5200
    DML_FEATURE_LEVEL_5_2 = 0x5200,
#endif
#if DML_TARGET_VERSION >= 0x6000
    DML_FEATURE_LEVEL_6_0 = 0x6000,
#endif
#if DML_TARGET_VERSION >= 0x6100
    DML_FEATURE_LEVEL_6_1 = 0x6100,
#endif
#if DML_TARGET_VERSION >= 0x6200
    DML_FEATURE_LEVEL_6_2 = 0x6200,
#endif
#if DML_TARGET_VERSION >= 0x6300
    DML_FEATURE_LEVEL_6_3 = 0x6300,
#endif
#if DML_TARGET_VERSION >= 0x6400
    DML_FEATURE_LEVEL_6_4 = 0x6400,
#endif
} DML_FEATURE_LEVEL;

#endif /* DML_TARGET_VERSION >= 0x2000 */

typedef enum DML_FEATURE {
    DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT = 0,
#if DML_TARGET_VERSION >= 0x2000
    DML_FEATURE_FEATURE_LEVELS = 1,
#endif
} DML_FEATURE;

typedef struct DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT {
    DML_TENSOR_DATA_TYPE DataType;
} DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT;

typedef struct DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT {
    BOOL IsSupported;
} DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT;

#if DML_TARGET_VERSION >= 0x2000

/* The result is the highest of the requested levels that the device supports. */
typedef struct DML_FEATURE_QUERY_FEATURE_LEVELS {
    UINT RequestedFeatureLevelCount;
    const DML_FEATURE_LEVEL *RequestedFeatureLevels;
} DML_FEATURE_QUERY_FEATURE_LEVELS;

typedef struct DML_FEATURE_DATA_FEATURE_LEVELS {
    DML_FEATURE_LEVEL MaxSupportedFeatureLevel;
} DML_FEATURE_DATA_FEATURE_LEVELS;

#endif /* DML_TARGET_VERSION >= 0x2000 */

/* ---- devices ---- */

/* DEBUG: reports wrong use; IDMLDebugDevice can mute the messages. */
typedef enum DML_CREATE_DEVICE_FLAGS {
    DML_CREATE_DEVICE_FLAG_NONE = 0,
    DML_CREATE_DEVICE_FLAG_DEBUG = 1,
} DML_CREATE_DEVICE_FLAGS;

DEFINE_ENUM_FLAG_OPERATORS(DML_CREATE_DEVICE_FLAGS)

/*
 * ALLOW_HALF_PRECISION_COMPUTATION: matrix multiplications of 16-bit tensors may round factors to another 16-bit type;
 * FLOAT32 tensors stay FLOAT32 (anydml.h has a flag for those). DISABLE_META_COMMANDS: portable
 * kernels only; DESCRIPTORS_VOLATILE: bindings are read at submission instead of when the dispatch is recorded.
 */
typedef enum DML_EXECUTION_FLAGS {
    DML_EXECUTION_FLAG_NONE = 0,
    DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION = 1,
    DML_EXECUTION_FLAG_DISABLE_META_COMMANDS = 2,
    DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE = 4,
} DML_EXECUTION_FLAGS;

DEFINE_ENUM_FLAG_OPERATORS(DML_EXECUTION_FLAGS)

/* ---- bindings ---- */

/*
 * What a dispatch needs: the number of descriptors, and bytes of temporary buffer (undefined contents between
 * dispatches) and of persistent buffer (written by the initializer, valid as long as the operator is dispatched). 0
 * bytes: not needed.
 */
typedef struct DML_BINDING_PROPERTIES {
    UINT RequiredDescriptorCount;
    UINT64 TemporaryResourceSize, PersistentResourceSize;
} DML_BINDING_PROPERTIES;

/* A range of descriptors in a shader-visible heap, reserved for the bindings of one dispatchable. */
typedef struct DML_BINDING_TABLE_DESC {
    IDMLDispatchable *Dispatchable;
    D3D12_CPU_DESCRIPTOR_HANDLE CPUDescriptorHandle;
    D3D12_GPU_DESCRIPTOR_HANDLE GPUDescriptorHandle;
    UINT SizeInDescriptors;
} DML_BINDING_TABLE_DESC;

typedef enum DML_BINDING_TYPE {
    DML_BINDING_TYPE_NONE = 0,
    DML_BINDING_TYPE_BUFFER = 1,
    DML_BINDING_TYPE_BUFFER_ARRAY = 2,
} DML_BINDING_TYPE;

/* Type names the struct behind Desc: NULL, DML_BUFFER_BINDING or DML_BUFFER_ARRAY_BINDING. */
typedef struct DML_BINDING_DESC {
    DML_BINDING_TYPE Type;
    const void *Desc;
} DML_BINDING_DESC;

/* Offset: a multiple of DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT. SizeInBytes 0: to the end. Buffer NULL: no binding. */
typedef struct DML_BUFFER_BINDING {
    ID3D12Resource *Buffer;
    UINT64 Offset, SizeInBytes;
} DML_BUFFER_BINDING;

typedef struct DML_BUFFER_ARRAY_BINDING {
    UINT BindingCount;
    const DML_BUFFER_BINDING *Bindings;
} DML_BUFFER_ARRAY_BINDING;

#if DML_TARGET_VERSION >= 0x2100

/* ---- graphs: IDMLDevice1::CompileGraph. Names are for messages only and may be NULL. ---- */

typedef enum DML_GRAPH_EDGE_TYPE {
    DML_GRAPH_EDGE_TYPE_INVALID = 0,
    DML_GRAPH_EDGE_TYPE_INPUT = 1,
    DML_GRAPH_EDGE_TYPE_OUTPUT = 2,
    DML_GRAPH_EDGE_TYPE_INTERMEDIATE = 3,
} DML_GRAPH_EDGE_TYPE;

/* Type names the struct behind Desc, one of the next three. */
typedef struct DML_GRAPH_EDGE_DESC {
    DML_GRAPH_EDGE_TYPE Type;
    const void *Desc;
} DML_GRAPH_EDGE_DESC;

typedef struct DML_INPUT_GRAPH_EDGE_DESC {
    UINT GraphInputIndex, ToNodeIndex, ToNodeInputIndex;
    const char *Name;
} DML_INPUT_GRAPH_EDGE_DESC;

typedef struct DML_OUTPUT_GRAPH_EDGE_DESC {
    UINT FromNodeIndex, FromNodeOutputIndex, GraphOutputIndex;
    const char *Name;
} DML_OUTPUT_GRAPH_EDGE_DESC;

typedef struct DML_INTERMEDIATE_GRAPH_EDGE_DESC {
    UINT FromNodeIndex, FromNodeOutputIndex, ToNodeIndex, ToNodeInputIndex;
    const char *Name;
} DML_INTERMEDIATE_GRAPH_EDGE_DESC;

typedef enum DML_GRAPH_NODE_TYPE {
    DML_GRAPH_NODE_TYPE_INVALID = 0,
    DML_GRAPH_NODE_TYPE_OPERATOR = 1,
#if DML_TARGET_VERSION >= 0x6200
    DML_GRAPH_NODE_TYPE_CONSTANT = 2,
#endif
} DML_GRAPH_NODE_TYPE;

/* Type names the struct behind Desc, one of the next two. */
typedef struct DML_GRAPH_NODE_DESC {
    DML_GRAPH_NODE_TYPE Type;
    const void *Desc;
} DML_GRAPH_NODE_DESC;

typedef struct DML_OPERATOR_GRAPH_NODE_DESC {
    IDMLOperator *Operator;
    const char *Name;
} DML_OPERATOR_GRAPH_NODE_DESC;

#if DML_TARGET_VERSION >= 0x6200
/* Bytes that the graph copies while it is compiled. */
typedef struct DML_CONSTANT_DATA_GRAPH_NODE_DESC {
    const void *Data;
    SIZE_T DataSize;
    const char *Name;
} DML_CONSTANT_DATA_GRAPH_NODE_DESC;
#endif

typedef struct DML_GRAPH_DESC {
    UINT InputCount, OutputCount, NodeCount;
    const DML_GRAPH_NODE_DESC *Nodes;
    UINT InputEdgeCount;
    const DML_GRAPH_EDGE_DESC *InputEdges;
    UINT OutputEdgeCount;
    const DML_GRAPH_EDGE_DESC *OutputEdges;
    UINT IntermediateEdgeCount;
    const DML_GRAPH_EDGE_DESC *IntermediateEdges;
} DML_GRAPH_DESC;

#endif /* DML_TARGET_VERSION >= 0x2100 */

#endif
