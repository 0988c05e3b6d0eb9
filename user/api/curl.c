// SPDX-License-Identifier: GPL-2.0-only
#include "api/curl.h"

#include "api/library.h"

struct curl curl;

int curl_open(struct diag *diag)
{
#define CURL_NAME(name) "curl_" #name,
	static const char *const names[] = {CURL_FUNCTIONS(CURL_NAME)};

	if (curl.easy_init)
		return 0;
	return library_open("libcurl.so.4", names, sizeof(names) / sizeof(*names), &curl, diag);
}
