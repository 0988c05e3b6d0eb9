/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of input cases, selftests/cases/NAME.case. selftests/README.md says how one is written. */
#ifndef BULKHEAD_SELFTESTS_CASE_FILE_H
#define BULKHEAD_SELFTESTS_CASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "selftests/lib/read.h"

struct input_case {
	char *name;
	enum read_format format;
	/* The dump is of the compiled Services, not of the cluster. */
	bool services;
	/* With the text before it that all cases of the section have. */
	char *text;
	size_t size;
	/* The beginning of the only message; NULL: there is none. */
	char *message;
	/* NULL: the text is refused. */
	char *dump;
};

struct case_file {
	struct input_case *cases;
	size_t n;
};

/* Ends the process, with the file and the line, if the file is not as README.md says. */
struct case_file case_file_read(const char *path);
void case_file_free(struct case_file *file);

#endif
