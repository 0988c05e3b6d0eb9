// SPDX-License-Identifier: GPL-2.0-only
#include "input/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if it is known, before it is read, that the file has more than @most bytes. */
static bool is_larger(int fd, size_t most)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISREG(status.st_mode) && (size_t)status.st_size > most;
}

/* Reads what there is into a buffer that grows. Returns 0 or -errno. */
static int read_all(int fd, size_t most, char **buffer, size_t *used)
{
	size_t capacity = 0;
	ssize_t n = 1;

	while (n) {
		if (*used > most)
			return -EFBIG;
		if (*used == capacity) {
			char *grown;

			capacity = capacity ? 2 * capacity : 1 << 16;
			grown = realloc(*buffer, capacity);
			if (!grown)
				return -ENOMEM;
			*buffer = grown;
		}
		n = read(fd, *buffer + *used, capacity - *used);
		if (n < 0 && errno != EINTR)
			return -errno;
		*used += n > 0 ? n : 0;
	}
	return 0;
}

int text_load(int fd, size_t most, char **text, size_t *size)
{
	char *buffer = NULL;
	size_t used = 0;
	int error = is_larger(fd, most) ? -EFBIG : read_all(fd, most, &buffer, &used);

	if (error) {
		free(buffer);
		return error;
	}
	*text = buffer;
	*size = used;
	return 0;
}

const char *text_error(int error)
{
	return error == -EFBIG ? "has more than 4 GiB, the most of an input" : strerror(-error);
}

/* Returns the length of the UTF-8 sequence that begins at @at. 0: none does, or it is overlong,
 * a surrogate, or beyond U+10FFFF. */
static size_t sequence(const unsigned char *at, size_t left)
{
	static const struct {
		unsigned char first, last, low, high; /* ranges of the first and second byte */
		unsigned char length;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (left < forms[i].length || at[1] < forms[i].low || at[1] > forms[i].high)
			return 0;
		for (size_t j = 2; j < forms[i].length; j++)
			if ((at[j] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

int text_check(const char **text, size_t *size, const struct where *where, struct diag *diag)
{
	struct where here = {where->file, 1};
	const unsigned char *at, *end;

	if (*size >= 3 && !memcmp(*text, TEXT_BOM, 3)) {
		*text += 3;
		*size -= 3;
	}
	at = (const unsigned char *)*text;
	end = at + *size;
	while (at < end) {
		size_t n = *at && *at < 0x80 ? 1 : sequence(at, end - at);

		if (!n) {
			diag_error(diag, &here, NULL, "%s",
				   *at ? "this line is not UTF-8" : "this line holds a NUL byte");
			return -EINVAL;
		}
		here.line += *at == '\n';
		at += n;
	}
	return 0;
}
