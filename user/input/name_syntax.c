// SPDX-License-Identifier: GPL-2.0-only
#include "input/name_syntax.h"

#include <ctype.h>
#include <string.h>

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Returns true if the text has 1 to @max characters, the first and last of @ends, the others of
 * @inner. */
static bool is_word(const char *text, size_t length, size_t max, const char *ends,
		    const char *inner)
{
	if (!length || length > max || !strchr(ends, text[0]) || !strchr(ends, text[length - 1]))
		return false;
	return strspn(text, inner) >= length;
}

bool name_syntax_is_dns_label(const char *text)
{
	return is_word(text, strlen(text), 63, LOWER DIGITS, LOWER DIGITS "-");
}

static bool is_dns_subdomain(const char *text, size_t length)
{
	const char *end = text + length;

	if (length > 253)
		return false;
	for (;;) {
		const char *dot = memchr(text, '.', end - text);
		size_t part = (dot ? dot : end) - text;

		if (!is_word(text, part, 253, LOWER DIGITS, LOWER DIGITS "-"))
			return false;
		if (!dot)
			return true;
		text = dot + 1;
	}
}

bool name_syntax_is_dns_subdomain(const char *text)
{
	return is_dns_subdomain(text, strlen(text));
}

/* The APIs' pattern lets a label begin with _ and not end with it. */
static bool is_domain_label(const char *text, size_t length)
{
	static const char begin[] = UPPER LOWER DIGITS "_", inner[] = UPPER LOWER DIGITS "-_";

	if (!length || length > 63 || !strchr(begin, text[0]))
		return false;
	return strspn(text, inner) >= length &&
	       (length == 1 || strchr(UPPER LOWER DIGITS, text[length - 1]));
}

bool name_syntax_is_domain_name(const char *text)
{
	bool wildcard = !strncmp(text, "*.", 2);
	const char *name = text + (wildcard ? 2 : 0), *end = name + strlen(name);
	unsigned int labels = 0;

	if (end > name && end[-1] == '.')
		end--;
	if (end - text > 253)
		return false;
	for (;; labels++) {
		const char *dot = memchr(name, '.', end - name);

		if (!is_domain_label(name, (dot ? dot : end) - name))
			return false;
		if (!dot)
			return labels || wildcard;
		name = dot + 1;
	}
}

void name_syntax_fold_domain_name(const char *name, char folded[NAME_SYNTAX_DOMAIN_TEXT])
{
	size_t length = 0;

	for (; name[length] && length + 1 < NAME_SYNTAX_DOMAIN_TEXT; length++)
		folded[length] = tolower((unsigned char)name[length]);
	length -= length && folded[length - 1] == '.';
	folded[length] = '\0';
}

static bool is_label_name(const char *text)
{
	return is_word(text, strlen(text), 63, UPPER LOWER DIGITS, UPPER LOWER DIGITS "-_.");
}

bool name_syntax_is_label_key(const char *text)
{
	const char *slash = strchr(text, '/');

	if (!slash)
		return is_label_name(text);
	return is_dns_subdomain(text, slash - text) && is_label_name(slash + 1);
}

bool name_syntax_is_label_value(const char *text)
{
	return !*text || is_label_name(text);
}

bool name_syntax_is_port_name(const char *text)
{
	return is_word(text, strlen(text), 15, LOWER DIGITS, LOWER DIGITS "-") &&
	       strpbrk(text, LOWER) && !strstr(text, "--");
}
