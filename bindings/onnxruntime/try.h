/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORT_TRY_H
#define ORT_TRY_H

/* Returns a failed call's status from a function that returns a status. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        OrtStatus *status_ = (call);                                                                                   \
        if (status_)                                                                                                   \
            return status_;                                                                                            \
    } while (0)

#endif
