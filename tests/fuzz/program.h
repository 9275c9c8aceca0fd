/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of calls from bytes: a byte names an instruction, the next ones its operands. */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "mutate.h"

#include <DirectML.h>
#include <anydml_d3d12.h>

enum program_kind {
    PROGRAM_DEVICE,
    PROGRAM_QUEUE,
    PROGRAM_ALLOCATOR,
    PROGRAM_LIST,
    PROGRAM_FENCE,
    PROGRAM_MEMORY, /* ID3D12Heap */
    PROGRAM_BUFFER,
    PROGRAM_VIEWS, /* ID3D12DescriptorHeap */
    PROGRAM_DML,
    PROGRAM_RECORDER,
    PROGRAM_OPERATOR,
    PROGRAM_COMPILED,
    PROGRAM_INITIALIZER,
    PROGRAM_TABLE,
    PROGRAM_KINDS
};

enum { PROGRAM_SLOTS = 3 };

struct program_object {
    IUnknown *it;             /* NULL: none */
    struct schema_desc *desc; /* of operators, and compiled ones */
    uint64_t bytes;           /* of buffers */
};

/* ---- fuzz_program.c ---- */

/* Whether a queue waits for a fence: all fences then stay until the end. */
extern bool program_waits;

struct program_object *program_at(enum program_kind kind, uint8_t byte);
/* The same; fails where it is not one that a method may return. */
HRESULT program_call(HRESULT hr);
void program_release(struct program_object *object);
/* What a call made, which is read after the call: a pointer to it. */
void program_keep(struct program_object *slot, HRESULT hr, void **made);
/* Until all queues have done everything: no fence is waited for any more. */
void program_drain(void);

/* ---- program.c ---- */

/* Once in a process. */
void program_begin(void);
void program_end(void);
/* What most programs begin with; `what` chooses the operator. */
void program_prepare(uint8_t what);
void program_step(struct fuzz_bytes *bytes);
uint64_t program_dispatches(void);

#endif
