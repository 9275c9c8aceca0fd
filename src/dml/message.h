/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by message.c and removal.c. */
#ifndef DML_MESSAGE_H
#define DML_MESSAGE_H

#include "dml/dml.h"

#include <stdarg.h>

#define DML_MESSAGE_BYTES 1024

/* "<name>: <text>". */
void dml_message_format(char out[DML_MESSAGE_BYTES], void *object, const char *format, va_list args);

#endif
