// SPDX-License-Identifier: GPL-2.0-only
#include "api/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_open(const char *library, const char *const names[], size_t n, void *functions,
		 struct diag *diag)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

	for (size_t i = 0; handle && i < n; i++) {
		void *function = dlsym(handle, names[i]);

		if (!function)
			handle = NULL;
		else
			memcpy((char *)functions + i * sizeof(function), &function,
			       sizeof(function));
	}
	if (handle)
		return 0;
	diag_error(diag, NULL, NULL, "cannot load a library: %s. Install the package that has %s",
		   dlerror(), library);
	return -ELIBACC;
}
