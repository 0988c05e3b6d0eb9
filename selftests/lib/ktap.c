// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/ktap.h"

#include <stdio.h>

int ktap_row(int number, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, what);
	return !good;
}
