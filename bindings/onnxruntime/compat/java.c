/* SPDX-License-Identifier: Apache-2.0 */
/* addDirectML of ONNX Runtime's Java package, whose library for Linux has a function of that name that only throws. */
#include "compat.h"

#include <stdlib.h>

/* Of the table of functions that Java hands to native code; the numbers are those of the Java Native Interface. */
enum { FIND_CLASS = 6, THROW_NEW = 14 };

typedef void *(*find_class_function)(void *env, const char *name);
typedef int (*throw_new_function)(void *env, void *class, const char *message);

static void throw_error(void *env, const char *message)
{
    void **functions = *(void ***)env;
    find_class_function find_class;
    throw_new_function throw_new;
    *(void **)&find_class = functions[FIND_CLASS];
    *(void **)&throw_new = functions[THROW_NEW];
    void *class = find_class(env, "ai/onnxruntime/OrtException");
    if (class)
        throw_new(env, class, message);
}

void compat_java_add(void *env, void *object, int64_t api, int64_t options, int32_t device_id)
{
    (void)object;
    (void)api; /* of the runtime that compat_ort() is of */
    OrtStatus *status = compat_append_number((OrtSessionOptions *)(intptr_t)options, device_id);
    if (!status)
        return;
    throw_error(env, compat_ort()->GetErrorMessage(status));
    compat_ort()->ReleaseStatus(status);
}
