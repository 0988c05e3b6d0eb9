/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells of a domain name who owns the names below it. */
#ifndef BULKHEAD_COMPILE_SUFFIX_H
#define BULKHEAD_COMPILE_SUFFIX_H

enum suffix_kind {
	SUFFIX_OWN, /* one owner, as far as is known */
	SUFFIX_PUBLIC, /* anybody registers names below it, as below co.uk */
	SUFFIX_SHARED, /* customers of one provider have names below it, as below amazonaws.com */
};

/*
 * Returns the kind of @name, a name as in struct peer. @list is the text of the Public Suffix List
 * (publicsuffix.org); NULL: only the suffixes that this program knows count.
 */
enum suffix_kind suffix_kind(const char *list, const char *name);

#endif
