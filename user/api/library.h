/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Libraries that only engine and follow use. Linking these libraries would cost each start of the
 * command, thus each CNI call, 5 ms of processor time, so each is loaded when it is first needed.
 *
 * A user of a library lists its functions, without their common prefix, as a macro:
 *
 * 	#define CURL_FUNCTIONS(X) X(easy_init) X(easy_cleanup)
 * 	static struct { CURL_FUNCTIONS(CURL_POINTER) } curl;
 */
#ifndef BULKHEAD_API_LIBRARY_H
#define BULKHEAD_API_LIBRARY_H

#include <stddef.h>

#include "model/diag.h"

/* Loads @library ("libcurl.so.4") and stores the address of each of its @n functions @names in
 * @functions, a struct of @n function pointers in the same order. The library stays loaded.
 * Returns 0 or -ELIBACC, reported. */
int library_open(const char *library, const char *const names[], size_t n, void *functions,
		 struct diag *diag);

#endif
