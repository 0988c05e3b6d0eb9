// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/ip_batch.h"

#include <errno.h>
#include <stdarg.h>

FILE *ip_batch_begin(void)
{
	return popen("ip -batch - >/dev/null", "w");
}

void ip_batch_add(FILE *batch, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(batch, format, list);
	va_end(list);
	fputc('\n', batch);
}

int ip_batch_end(FILE *batch)
{
	return pclose(batch) ? -ENODEV : 0;
}
