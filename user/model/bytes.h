/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes that are put one after another. When memory runs out, the guarded work ends (memory.h). */
#ifndef BULKHEAD_MODEL_BYTES_H
#define BULKHEAD_MODEL_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "model/grow.h"

typedef ARRAY(unsigned char) bytes_t;

void bytes_put(bytes_t *bytes, const void *what, size_t size);
void bytes_number(bytes_t *bytes, uint32_t number);
void bytes_string(bytes_t *bytes, const char *string); /* NULL differs from "" */

#endif
