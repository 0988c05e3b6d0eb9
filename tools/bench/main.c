// SPDX-License-Identifier: GPL-2.0-only
/* bench PART BUILD: measures one part with what stands in the folder BUILD. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 7

static const struct {
	const char *name;
	int (*run)(struct bench *bench);
} parts[] = {
	{"compile", bench_compile},
};

int bench_workload(const struct bench *bench, const char *workload, const char *format,
		   char path[BENCH_PATH])
{
	char command[2 * BENCH_PATH + 128], *name;

	snprintf(path, BENCH_PATH, "%s/bench/%s.%s", bench->build, workload, format);
	for (name = path + strlen(bench->build) + 1; *name; name++)
		if (*name == ' ')
			*name = '-';
	snprintf(command, sizeof(command), "%s/workload %s %s >%s", bench->build, workload, format,
		 path);
	return system(command) ? -EIO : 0;
}

static unsigned int rounds_wanted(void)
{
	const char *text = getenv("ROUNDS");
	int rounds = text ? atoi(text) : ROUNDS;

	return rounds < 1 ? 1 : rounds > REPORT_ROUNDS ? REPORT_ROUNDS : rounds;
}

int main(int argc, char **argv)
{
	char folder[BENCH_PATH];

	if (argc != 3) {
		fprintf(stderr, "usage: bench PART BUILD\n");
		return 2;
	}
	snprintf(folder, sizeof(folder), "%s/bench", argv[2]);
	if (mkdir(folder, 0777) && errno != EEXIST) {
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct bench bench = {.build = argv[2],
				      .rounds = rounds_wanted(),
				      .report = {.part = parts[i].name, .folder = folder}};

		if (strcmp(argv[1], parts[i].name) == 0)
			return parts[i].run(&bench) || report_finish(&bench.report) ? 1 : 0;
	}
	fprintf(stderr, "bench: there is no part %s\n", argv[1]);
	return 2;
}
