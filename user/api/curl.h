/* SPDX-License-Identifier: GPL-2.0-only */
/* libcurl's functions, after curl_open(): curl.easy_init() is curl_easy_init(). */
#ifndef BULKHEAD_API_CURL_H
#define BULKHEAD_API_CURL_H

#include <curl/curl.h>

#include "model/diag.h"

#define CURL_FUNCTIONS(X)      \
	X(easy_cleanup)        \
	X(easy_escape)         \
	X(easy_getinfo)        \
	X(easy_init)           \
	X(easy_setopt)         \
	X(free)                \
	X(global_init)         \
	X(multi_add_handle)    \
	X(multi_cleanup)       \
	X(multi_info_read)     \
	X(multi_init)          \
	X(multi_perform)       \
	X(multi_poll)          \
	X(multi_remove_handle) \
	X(multi_setopt)        \
	X(slist_append)        \
	X(slist_free_all)

#define CURL_POINTER(name) __typeof__(curl_##name) *name;
extern struct curl {
	CURL_FUNCTIONS(CURL_POINTER)
} curl;

/* Loads libcurl. Returns 0 or -ELIBACC, reported. */
int curl_open(struct diag *diag);

#endif
