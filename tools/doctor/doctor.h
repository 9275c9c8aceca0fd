/* SPDX-License-Identifier: Apache-2.0 */
/* anydml doctor: one report of a machine, its drivers and its devices for a bug report. Everything that a driver could
 * crash or block runs in children, which are commands of this program. */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include "tools/error.h"

#include "base/arena.h"

#include <jansson.h>

/* ---- the report ---- */

struct tools_doctor {
    bool json; /* the report is printed as JSON, at the end */
    bool no_speed;
    uint32_t seconds;     /* that a child may take */
    const char *adapters; /* "ANYDML_ADAPTERS=..." for children that use devices; NULL: as it is */
    json_t *report;
    json_t *problems; /* what does not work, in sentences; in the report */
};

/* Prints a line, or a part of one, of the text. */
void tools_doctor_say(const struct tools_doctor *d, const char *format, ...) BASE_PRINTF(2, 3);
/* Adds to what does not work. */
void tools_doctor_problem(struct tools_doctor *d, const char *format, ...) BASE_PRINTF(2, 3);
/* A string for the report: valid UTF-8, in one line. */
json_t *tools_doctor_text(const char *text);

/* ---- doctor_child.c ---- */

enum tools_doctor_end {
    TOOLS_DOCTOR_EXITED,  /* with `code` */
    TOOLS_DOCTOR_CRASHED, /* by signal `code` */
    TOOLS_DOCTOR_HANGS,   /* beyond the time limit; it was killed */
    TOOLS_DOCTOR_NONE,    /* it could not be started */
};

struct tools_doctor_child {
    /* Set by the caller. */
    const char *const *words;       /* after "anydml", ends with NULL */
    const char *const *environment; /* changes: "NAME=VALUE", or "NAME" to remove it; ends with NULL; or NULL */
    const char *input;              /* NULL: none */
    uint32_t seconds;
    /* Results. */
    enum tools_doctor_end end;
    int code;
    char *output, *messages; /* stdout and stderr, terminated; never NULL */
    char failure[400];       /* "crashed (signal 11)", "does not answer within 30 s", "failed: <message>"; "": code 0 */
};

void tools_doctor_run(struct tools_doctor_child *child);
void tools_doctor_finish(struct tools_doctor_child *child);

/* ---- doctor_system.c ---- */

/* Replaces, in place, the home folder by ~, and the names of the user and the machine. `size` is that of the buffer. */
void tools_doctor_scrub(char *text, size_t size);

void tools_doctor_system(struct tools_doctor *d);

/* ---- doctor_vulkan.c ---- */

/* The loader, the drivers' manifests and the devices of the drivers. */
void tools_doctor_vulkan(struct tools_doctor *d);
/* Compares with the list of devices: which one a driver's device is. */
void tools_doctor_vulkan_match(struct tools_doctor *d, const json_t *devices);

/* ---- doctor_manifests.c ---- */

#define TOOLS_DOCTOR_MANIFESTS_MAX 32

struct tools_doctor_manifests {
    char *paths[TOOLS_DOCTOR_MANIFESTS_MAX]; /* in the loader's order */
    uint32_t count;
};

/* Files that describe drivers, where the loader looks for them. */
void tools_doctor_manifests_find(struct tools_doctor_manifests *out);
void tools_doctor_manifests_finish(struct tools_doctor_manifests *manifests);
/* {"file", "library", "version"} or {"file", "problem"}. */
json_t *tools_doctor_manifest_read(const char *path);

/* Device nodes and PCI devices of GPUs: {"nodes": [...], "cards": [...]}. */
json_t *tools_doctor_hardware(void);

/* ---- doctor_cases.c ---- */

#define TOOLS_DOCTOR_RANK 4

struct tools_doctor_tensor {
    const char *name, *type; /* a field of the operator, a data type */
    uint32_t sizes[TOOLS_DOCTOR_RANK], count;
    bool strided;
    uint32_t strides[TOOLS_DOCTOR_RANK];
    double *values;  /* of an input: its elements; of an output: those expected, */
    double *allowed; /* and by how much each may differ */
};

/* One operator with its data and its results in double precision. */
struct tools_doctor_case {
    struct base_arena *arena;
    const char *name; /* "gemm FLOAT16" */
    const char *type; /* of its data */
    const char *operator;
    json_t *desc; /* all fields but the tensors */
    struct tools_doctor_tensor inputs[4], outputs[2];
    uint32_t input_count, output_count;
    uint64_t random;
};

#define TOOLS_DOCTOR_CASES_MAX 32

struct tools_doctor_cases {
    struct base_arena arena;
    struct tools_doctor_case list[TOOLS_DOCTOR_CASES_MAX];
    uint32_t count;
};

bool tools_doctor_cases_make(struct tools_doctor_cases *out);
void tools_doctor_cases_finish(struct tools_doctor_cases *cases);

/* The input of `anydml dispatch`: a graph of independent operators; to be freed. NULL: out of memory. */
char *tools_doctor_cases_write(const struct tools_doctor_case *list, uint32_t count);

/* For the functions that make cases. Tensors of the case; NULL: out of memory. */
struct tools_doctor_tensor *tools_doctor_input(struct tools_doctor_case *c, const char *name, const char *type,
                                               const uint32_t sizes[TOOLS_DOCTOR_RANK]);
struct tools_doctor_tensor *tools_doctor_output(struct tools_doctor_case *c, const char *name, const char *type,
                                                const uint32_t sizes[TOOLS_DOCTOR_RANK]);
/* Random numbers from -1 to 1 that the type represents; whole numbers from `low` to `high`. */
void tools_doctor_fill(struct tools_doctor_case *c, struct tools_doctor_tensor *tensor);
void tools_doctor_fill_whole(struct tools_doctor_case *c, struct tools_doctor_tensor *tensor, int low, int high);

/* An expected element that a device computes in FLOAT32, in `roundings` steps on numbers of `magnitude`, and rounds to
 * the type of the tensor. */
void tools_doctor_expect(struct tools_doctor_tensor *tensor, uint32_t index, double value, double roundings,
                         double magnitude);

/* ---- doctor_operators.c, doctor_operators_dense.c ---- */

struct tools_doctor_operator {
    const char *name, *type;
    bool (*make)(struct tools_doctor_case *c); /* false: out of memory */
};

extern const struct tools_doctor_operator tools_doctor_operators[];
extern const uint32_t tools_doctor_operator_count;

bool tools_doctor_make_gemm(struct tools_doctor_case *c);
bool tools_doctor_make_convolution(struct tools_doctor_case *c);
bool tools_doctor_make_gemm_integer(struct tools_doctor_case *c);

/* ---- doctor_check.c ---- */

enum tools_doctor_result {
    TOOLS_DOCTOR_RIGHT,
    TOOLS_DOCTOR_WRONG,
    TOOLS_DOCTOR_UNSUPPORTED,
    TOOLS_DOCTOR_FAILED,
    TOOLS_DOCTOR_UNTRIED, /* too many before it did not answer */
};

struct tools_doctor_verdict {
    enum tools_doctor_result result;
    double error;   /* the greatest, as a share of what is allowed */
    char text[480]; /* "right (error 0.3 of what is allowed)" */
};

/* Compares the outputs of case `index` of a graph, from the JSON object that `anydml dispatch --json` prints. */
void tools_doctor_check(const struct tools_doctor_case *c, uint32_t index, const json_t *printed,
                        struct tools_doctor_verdict *out);
/* The word of a result in the report. */
const char *tools_doctor_result_word(enum tools_doctor_result result);

/* ---- doctor_test.c, doctor_speed.c ---- */

/* Both add to the device's part of the report. */
void tools_doctor_test(struct tools_doctor *d, const struct tools_doctor_cases *cases, uint32_t device, json_t *about);
void tools_doctor_speed(struct tools_doctor *d, uint32_t device, json_t *about);

#endif
