/* Memory for data: zeroed, aligned to 256 bytes. Large runs come from the system itself, which has them back at once
 * when they are given back. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include "base/base.h"

/* NULL: memory is short. */
void *base_pages_take(uint64_t bytes);
/* `bytes` as they were taken; NULL is fine. */
void base_pages_give(void *data, uint64_t bytes);

#endif
