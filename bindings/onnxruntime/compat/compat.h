/* SPDX-License-Identifier: Apache-2.0 */
/* libonnxruntime_directml.so: makes an unmodified ONNX Runtime look like a build with DirectML, for programs that ask
 * for the Windows provider through the C interface. It exports OrtGetApiBase, whose tables answer the provider's names,
 * and the two functions of dml_provider_factory.h; all else is the real runtime's. A runtime that is older than 1.23,
 * or that has a DirectML provider of its own, is handed out as it is. Thread-safe. */
#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include <dml_provider_factory.h>

#include <stdbool.h>
#include <stddef.h>

#define COMPAT_NAME     "libonnxruntime_directml"
#define COMPAT_PROVIDER "DmlExecutionProvider"

/* The oldest runtime that takes plugins, by the minor version; its interface has the same number. */
#define COMPAT_OLDEST 23

/* ---- runtime.c: the real ONNX Runtime ---- */

/* NULL, after a line on stderr, when there is none. It is the first of: the file that ANYDML_ONNXRUNTIME names; the
 * next definition after this library (LD_PRELOAD); a library that the process has loaded; and where this library was
 * loaded in the runtime's place, the next file of that name where `caller`, an address in the calling library, has
 * libraries looked for. */
const OrtApiBase *compat_runtime(const void *caller);
/* The newest interface that both sides know, or NULL. */
const OrtApi *compat_ort(void);
/* The minor version of the runtime; 0: none, or not of the form 1.N. */
uint32_t compat_version(void);
/* How many bytes at an address lie in the same segment of a loaded library. */
size_t compat_readable(const void *address);
/* A library whose OrtGetApiBase a program asked for by dlsym. */
void compat_runtime_seen(const OrtApiBase *(*get)(void));

/* ---- provider.c: the execution provider ---- */

/* Its function table, or NULL with a status that says why there is none. */
OrtStatus *compat_provider(const OrtDmlApi **out);
/* Appends the provider with the options of the Windows provider, and others, which go to the provider as they are. */
OrtStatus *compat_append(OrtSessionOptions *options, const char *const *keys, const char *const *values, size_t count);
OrtStatus *compat_append_number(OrtSessionOptions *options, int device_id);
OrtStatus *compat_status(OrtErrorCode code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- session.c: sessions that are created ---- */

/* Puts the functions that create sessions into a table. */
void compat_session_functions(OrtApi *table);

/* ---- java.c: Java's native function for addDirectML ---- */

#define COMPAT_JAVA_ADD "Java_ai_onnxruntime_OrtSession_00024SessionOptions_addDirectML"
void compat_java_add(void *env, void *object, int64_t api, int64_t options, int32_t device_id);

/* ---- symbols.c: the C library's dlsym, which this library precedes ---- */

void *compat_symbol(void *handle, const char *name);

#endif
