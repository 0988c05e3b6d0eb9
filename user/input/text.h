/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads text into memory, and checks that it is UTF-8 without NUL before any parser sees it. */
#ifndef BULKHEAD_INPUT_TEXT_H
#define BULKHEAD_INPUT_TEXT_H

#include <stddef.h>

#include "model/diag.h"

#define TEXT_BOM "\xef\xbb\xbf"

/* The most bytes of an input: a stream may have no end. */
#define TEXT_MAX ((size_t)4 << 30)

/* Reads @fd to its end into memory to free. Returns 0 or -errno: -EFBIG if there are more than
 * @most bytes. */
int text_load(int fd, size_t most, char **text, size_t *size);

/* Returns the message for an error of text_load() by TEXT_MAX, or of open(). */
const char *text_error(int error);

/* Skips a byte order mark and checks the text. Returns 0; or -EINVAL, with the line of the first
 * byte that is NUL or not UTF-8 reported. */
int text_check(const char **text, size_t *size, const struct where *where, struct diag *diag);

#endif
