// SPDX-License-Identifier: GPL-2.0-only
#include "model/memory.h"

#include <errno.h>
#include <obstack.h>
#include <setjmp.h>
#include <stdlib.h>

struct guard {
	jmp_buf back;
	struct guard *outer;
};

static _Thread_local struct guard *guards;

void memory_exhausted(void)
{
	if (!guards)
		abort();
	longjmp(guards->back, 1);
}

int memory_guarded(int (*work)(void *data), void *data)
{
	struct guard guard = {.outer = guards};
	int error = -ENOMEM;

	obstack_alloc_failed_handler = memory_exhausted;
	guards = &guard;
	if (!setjmp(guard.back))
		error = work(data);
	guards = guard.outer;
	return error;
}
