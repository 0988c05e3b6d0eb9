// SPDX-License-Identifier: GPL-2.0-only
#include "verified.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "selftests/lib/packet_node.h"

#define BASELINE "selftests/verified.tsv"

/* A program may have this many percent more than its line says: compilers differ. */
#define GROWTH 10

struct check {
	/* As "6.1". */
	char kernel[16];
	FILE *baseline;
	int *number, compared, failed;
};

/* Returns 0 if the file has no line of the program for this kernel. */
static uint32_t look_up(const struct check *check, const char *program)
{
	char line[200], kernel[16], name[64];
	unsigned int count;

	rewind(check->baseline);
	while (fgets(line, sizeof(line), check->baseline))
		if (sscanf(line, "%15s %63s %u", kernel, name, &count) == 3 &&
		    !strcmp(kernel, check->kernel) && !strcmp(name, program))
			return count;
	return 0;
}

static void check_program(const char *program, int fd, void *arg)
{
	struct check *check = arg;
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info), usual;
	bool good;

	if (bpf_obj_get_info_by_fd(fd, &info, &size)) {
		printf("not ok %d - %s: the kernel tells about it\n", ++*check->number, program);
		check->failed++;
		return;
	}
	if (getenv("VERIFIED")) {
		printf("# %s\t%s\t%u\n", check->kernel, program, info.verified_insns);
		return;
	}
	usual = look_up(check, program);
	if (!usual)
		return;
	good = info.verified_insns <= (uint64_t)usual * (100 + GROWTH) / 100;
	printf("# %s: %u instructions verified; %s has %u\n", program, info.verified_insns,
	       BASELINE, usual);
	printf("%s %d - %s: the verifier's way has not grown\n", good ? "ok" : "not ok",
	       ++*check->number, program);
	check->failed += !good;
	check->compared++;
}

int verified_check(int *number)
{
	struct check check = {.number = number, .baseline = fopen(BASELINE, "r")};
	struct utsname names;

	if (!check.baseline) {
		printf("ok %d - the verifier's way # SKIP %s: run from the top of the tree\n",
		       ++*number, BASELINE);
		return 0;
	}
	uname(&names);
	snprintf(check.kernel, sizeof(check.kernel), "%.*s",
		 (int)(strcspn(names.release, ".") + 1 +
		       strcspn(strchr(names.release, '.') + 1, ".")),
		 names.release);
	packet_node_programs(check_program, &check);
	fclose(check.baseline);
	if (!check.compared && !getenv("VERIFIED"))
		printf("ok %d - the verifier's way # SKIP %s has no line of Linux %s\n", ++*number,
		       BASELINE, check.kernel);
	return check.failed;
}
