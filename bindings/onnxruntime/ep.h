/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the execution provider. All functions that ONNX Runtime calls return an OrtStatus; none throws, prints
 * or aborts. Only the C interface of ONNX Runtime is used, by version: functions newer than the host are not called. */
#ifndef EP_EP_H
#define EP_EP_H

#include "context.h"
#include "try.h"
#include "base/names.h"
#include "onnx/run/exec.h"

#include <anydml.h>
#include <onnxruntime_c_api.h>
#include <pthread.h>
#include <stdatomic.h>

/* The provider has two names, with a factory for each. ONNX Runtime and libraries over it treat the Windows provider's
 * name as a built-in or missing one, so that it is only found among the devices; the other works wherever names do. */
struct ep_provider {
    const char *name;
    const char *options; /* prefix that the host adds to the keys of its options */
};
extern const struct ep_provider ep_provider_own, ep_provider_windows;

#define EP_NAME         "AnyDMLExecutionProvider"
#define EP_NAME_WINDOWS "DmlExecutionProvider"

#define EP_VERSION_DEFAULT_MEMORY 27 /* of hosts that ask in which of its memories a provider works */

struct ep_memory;

#define EP_STRING2(x) #x
#define EP_STRING(x)  EP_STRING2(x)
#define EP_VERSION                                                                                                     \
    EP_STRING(ANYDML_VERSION_MAJOR) "." EP_STRING(ANYDML_VERSION_MINOR) "." EP_STRING(ANYDML_VERSION_PATCH)

#define EP_IDENTITY_MAX 512

/* One per adapter of the process that has sessions; shared by them, independent of their factory, closed with the last.
 */
struct ep_device {
    struct ep_device *next;
    struct onnx_device *onnx;
    IDMLDevice *wrapped; /* the caller's that it is over; NULL: opened here */
    uint32_t users;
};

struct ep_factory {
    OrtEpFactory base;
    const struct ep_provider *provider;
    const OrtApi *ort;
    const OrtEpApi *ep;
    uint32_t version; /* of the host, at most that of the header */
    const OrtLogger *logger;
    OrtMemoryInfo *plain;     /* uses host memory */
    struct ep_memory *memory; /* per adapter; written by ep_find_devices only */
    uint32_t memory_count;
};

/* The configuration of the session. */
struct ep_options {
    uint32_t adapter;
    uint32_t given;            /* the adapter of the OrtEpDevice that the session has */
    uint32_t handle;           /* the caller's own device and queue (host.h); 0: none */
    bool disable_metacommands; /* on GPUs: DML_EXECUTION_FLAG_DISABLE_META_COMMANDS */
    bool disable_graph_fusion; /* one DirectML graph per node */
    bool device_tensors;       /* inputs and outputs are in the adapter's memory, if it has its own */
    bool resident_caches;      /* onnx_pool_keep_caches */
    bool no_fallback;          /* no node may be left to the host */
    bool half_precision;       /* ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 */
    uint32_t shapes_max;       /* maximum number of compiled graphs per subgraph */
    uint64_t arena_max;        /* bytes of temporary memory kept between runs */
    bool context_enable;       /* write EPContext nodes */
    bool context_embed;
    char context_path[4096];
};

struct ep {
    OrtEp base;
    struct ep_factory *factory;
    const OrtLogger *logger;
    struct ep_options options;
    struct ep_device *device;
    struct onnx_pool *pool;
    const struct ep_memory *tensors; /* the device's, for inputs and outputs; NULL: they are in host memory */
    struct ep_profile *profile;
    char made_for[EP_IDENTITY_MAX]; /* target of its compiled models */
    uint32_t contexts_written;      /* to the file in the folder of the compiled model */
    struct base_names left;         /* first outputs of nodes that compute lengths: executed by the host */
    struct base_names initializers; /* those that were checked; 1: the session's options replace it (replaced.c) */
    struct base_arena names;        /* of both tables */
    bool replaces;                  /* there is one that is replaced */
    OrtSessionOptions *asked;       /* about initializers; NULL: none is replaced */
    OrtValue *asked_with;
};

#define EP_ARENA_LIMIT ((uint64_t)4 << 30)

/* One fused subgraph. */
struct ep_subgraph;

/* ---- status.c ---- */
OrtStatus *ep_status(const struct ep_factory *factory, OrtErrorCode code, const char *format, ...) BASE_PRINTF(3, 4);
OrtStatus *ep_status_hr(const struct ep_factory *factory, HRESULT hr, const struct onnx_error *error);
void ep_log(const struct ep *ep, OrtLoggingLevel level, const char *format, ...) BASE_PRINTF(3, 4);

/* ---- devices.c ---- */
OrtStatus *ep_find_devices(struct ep_factory *factory, const OrtHardwareDevice *const *hardware, size_t count,
                           OrtEpDevice **out, size_t capacity, size_t *out_count);
/* The best adapter for device_filter, "gpu", "npu" or "any", and performance_preference; by default the first one.
 * UINT32_MAX: there is none. */
enum ep_preference { EP_DEFAULT, EP_HIGH_PERFORMANCE, EP_MINIMUM_POWER };
uint32_t ep_choose_adapter(const char *filter, enum ep_preference preference);
uint32_t ep_adapter_count(void);
const char *ep_adapter_kind(uint32_t adapter); /* "cpu", "gpu" or "npu" */
uint32_t ep_adapter_of(ID3D12Device *d3d);     /* 0 if it is not in the list */
OrtStatus *ep_device_open(const struct ep_factory *factory, uint32_t adapter, struct ep_device **out);
OrtStatus *ep_device_wrap(const struct ep_factory *factory, IDMLDevice *dml, struct ep_device **out);
void ep_device_close(struct ep_device *device);
/* The device in the words of ep_context_fit. */
void ep_device_identity(uint32_t adapter, char out[EP_IDENTITY_MAX]);
/* How well that fits the best of the adapters that are this hardware. */
enum ep_context_fit ep_hardware_fit(const struct ep_factory *factory, const OrtHardwareDevice *const *hardware,
                                    size_t count, const char *made_for);

/* ---- options.c ---- */
/* The value of arena_limit; NULL leaves *out. */
OrtStatus *ep_read_limit(const struct ep_factory *factory, const char *text, uint64_t *out);
OrtStatus *ep_read_options(struct ep_factory *factory, const OrtSessionOptions *session,
                           const OrtKeyValuePairs *metadata, struct ep_options *out);

/* ---- model.c ---- */
/* A model's weights of up to this many bytes together are copied from files, so that who cuts a file short does not end
 * the process when they are read. */
#define EP_COPIED_MAX (64u << 20)

/* The mapping from a fused node's inputs to its model's; the arrays belong to the model. */
struct ep_replaced {
    const char *name;
    uint32_t port;
};
struct ep_ports {
    uint32_t *of;                 /* per input of the model: index of the node's input; NULL: the same */
    struct ep_replaced *replaced; /* initializers whose values are passed with the first run */
    uint32_t replaced_count, taken;
};
/* Bytes of weights below which their memory does not matter. */
#define EP_LARGE (8u << 20)
/* The graph as the converter sees it. keep: strings are copied, and the model outlives the graph once it owns its data.
 * Ports are those of `fused` if it is given (with `ports`), nodes those of `graph`. names[] of nodes are never NULL.
 */
OrtStatus *ep_model_create(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, bool keep,
                           struct ep_ports *ports, struct onnx_model **out);
void ep_model_destroy(struct onnx_model *model);
/* Copies the weights that are still the graph's, and with in_file those that are the model file's. false when memory is
 * short. */
bool ep_model_own_data(struct onnx_model *model, bool in_file);
/* Frees the block with the model's data: a mapping of that size, or (0) memory. false when memory is short. */
bool ep_model_keep(struct onnx_model *model, void *address, size_t mapped_bytes);
void ep_model_drop_data(struct onnx_model *model); /* the weights: when it will not be compiled again */

/* ---- weights.c ---- */
/* The file of the session's model, shared by its subgraphs. */
struct ep_file;
/* Moves the model's weights from ONNX Runtime's memory to the same bytes in the file at `path`, and copies those that
 * are not there. false: too many are not, or they are too few to matter; some may have been moved. *file NULL: it is
 * opened if it is needed; the caller's to release, and must outlive the data. */
bool ep_model_use_file(struct onnx_model *model, const char *path, struct ep_file **file);
bool ep_file_unchanged(const struct ep_file *file); /* since then */
struct ep_file *ep_file_share(struct ep_file *file);
void ep_file_release(struct ep_file *file);

/* ---- replaced.c ---- */
OrtStatus *ep_replaced_start(struct ep *ep, const OrtSessionOptions *options);
void ep_replaced_finish(struct ep *ep);
/* Whether the session's options replace the initializer of this name. */
OrtStatus *ep_replaced_look(struct ep *ep, const char *name, bool *out);
/* Whether the node has an input that was found to be replaced. */
bool ep_replaced_in(const struct ep *ep, const struct onnx_node *node);
/* Reads the values of all initializers that are not read yet into the model: they stay in place, as long as the
 * session. */
OrtStatus *ep_replaced_take(struct ep *ep, struct onnx_model *model, struct ep_ports *ports, OrtKernelContext *context);

/* ---- capability.c ---- */
OrtStatus *ep_get_capability(struct ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info);

/* ---- partition.c ---- */
struct ep_partition_node {
    bool claimed;
    uint32_t level; /* out: claimed nodes of one level form a group */
};
/* deps[i] lists node i's predecessors; cut[] marks those that may not share a group with it. */
struct ep_edge {
    uint32_t from, to;
    bool cut;
};
/* Nodes and edges in topological order (edges sorted by `to`). Returns the number of levels. */
uint32_t ep_partition(struct ep_partition_node *nodes, uint32_t node_count, const struct ep_edge *edges,
                      uint32_t edge_count);

/* ---- lengths.c ---- */
/* The named sizes of a subgraph's inputs. */
struct ep_lengths {
    const struct onnx_model *model;
    const char *names[ONNX_LENGTHS_MAX];
    uint32_t count;
    pthread_mutex_t lock;            /* the following */
    bool refused[ONNX_LENGTHS_MAX];  /* some operators do not support partial lengths */
    int64_t first[ONNX_LENGTHS_MAX]; /* the first size seen, above those that are always exact; 0: none yet */
};
void ep_lengths_init(struct ep_lengths *l, const struct onnx_model *model);
void ep_lengths_finish(struct ep_lengths *l);
/* The inputs as passed by the host. `lengths` are those of the last call of ep_lengths_round_up. */
void ep_lengths_exact(struct ep_lengths *l, struct onnx_input *inputs, uint32_t *lengths);
/* The inputs with sizes rounded up to the most that there can be; false: all stay as they are. */
bool ep_lengths_round_up(struct ep_lengths *l, struct onnx_input *inputs, uint32_t *lengths);
/* These lengths will not be rounded up again. */
void ep_lengths_give_up(struct ep_lengths *l, uint32_t mask);
/* Whether that was set for some that are rounded up now. */
bool ep_lengths_refused(struct ep_lengths *l, const uint32_t *lengths);
/* The size of a dimension in this run. */
int64_t ep_lengths_size(const uint32_t *lengths, const struct onnx_input *in, uint32_t dim);
/* The maximum for a length of this size; the size itself if it is not a length. */
int64_t ep_lengths_most(const struct ep_lengths *l, const struct onnx_input *inputs, uint32_t count,
                        const uint32_t *lengths, int64_t size);

/* ---- subgraph.c ---- */
/* Takes ownership of the model, and shares `file` (NULL: none), from which its weights are read. Without one, subgraphs
 * whose shapes are all known are compiled immediately. */
OrtStatus *ep_subgraph_create(struct ep *ep, struct onnx_model *model, const struct ep_ports *ports, const char *name,
                              struct ep_file *file, struct ep_subgraph **out);
/* The host has freed the weights: with a file, subgraphs are compiled now. */
OrtStatus *ep_subgraph_start(struct ep_subgraph *subgraph);
void ep_subgraph_destroy(struct ep_subgraph *subgraph);
OrtStatus *ep_subgraph_run(struct ep_subgraph *subgraph, OrtKernelContext *context);
OrtStatus *ep_read_shape(const OrtApi *ort, const OrtValue *value, int32_t *type, size_t *rank, int64_t *dims);

/* ---- context_node.c ---- */
bool ep_context_is_operator(const char *domain, const char *op);
/* An EPContext node that this provider wrote. */
OrtStatus *ep_context_is_ours(struct ep *ep, const OrtNode *node, bool *out);
/* The EPContext node for a subgraph; its bytes are written to a file if the session's options request it. */
OrtStatus *ep_context_make(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, const char *name,
                           const struct onnx_model *model, OrtNode **out);
/* *out NULL: the graph is not an EPContext node. */
OrtStatus *ep_context_load(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, struct onnx_model **out);

/* ---- compile.c ---- */
OrtStatus *ep_compile(struct ep *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                      OrtNodeComputeInfo **infos, OrtNode **contexts);
void ep_release_infos(OrtNodeComputeInfo **infos, size_t count);

#endif
