/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MODEL_NUMBERS_H
#define BULKHEAD_MODEL_NUMBERS_H

#include <stdint.h>

#include "model/grow.h"

/* A growing set of numbers. */
typedef ARRAY(uint32_t) numbers_t;
void numbers_sort(numbers_t *numbers); /* sorts ascending, keeps each once */

#endif
