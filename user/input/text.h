/* SPDX-License-Identifier: GPL-2.0-only */
/* Text as it comes in: whole in memory, and UTF-8 without NUL before any parser sees it. */
#ifndef BULKHEAD_INPUT_TEXT_H
#define BULKHEAD_INPUT_TEXT_H

#include <stddef.h>

#include "model/diag.h"

#define TEXT_BOM "\xef\xbb\xbf"

/* All that @fd gives, in memory to free. Returns 0 or -errno. */
int text_load(int fd, char **text, size_t *size);

/* Steps over a byte order mark. Returns 0, or -EINVAL with the line reported of the first byte
 * that is NUL or not UTF-8. */
int text_check(const char **text, size_t *size, const struct where *where, struct diag *diag);

#endif
