// SPDX-License-Identifier: GPL-2.0-only
/* What the node's files report when something fails. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/kernel/handle.h"

static int fail(const struct node_handle *handle, int error, const char *hint, const char *format,
		va_list args)
{
	char message[512];

	vsnprintf(message, sizeof(message), format, args);
	if ((error == -EACCES || error == -EPERM) && geteuid())
		hint = "; run it as root";
	diag_error(handle->diag, NULL, NULL, "%s: %s%s", message, strerror(-error), hint);
	return error == -EINVAL || error == -E2BIG ? -EIO : error;
}

int node_fail(const struct node_handle *handle, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error = fail(handle, error, "", format, args);
	va_end(args);
	return error;
}

int node_fail_pinned(const struct node_handle *handle, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error = fail(handle, error, "; " NODE_ANEW, format, args);
	va_end(args);
	return error;
}
