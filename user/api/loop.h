/* SPDX-License-Identifier: GPL-2.0-only */
/* The loop's interface for the other files of api/. */
#ifndef BULKHEAD_API_LOOP_H
#define BULKHEAD_API_LOOP_H

#include "api/internal.h"

const struct api_config *loop_config(const struct api *api);
/* Start a transfer, or end one. */
int loop_add(struct api *api, struct api_transfer *transfer); /* 0 or -ENOMEM */
void loop_remove(struct api *api, struct api_transfer *transfer);
void api_transfer_free(struct api_transfer *transfer);

#endif
