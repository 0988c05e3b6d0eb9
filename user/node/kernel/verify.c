// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "node/kernel/handle.h"
#include "node/kernel/verify.h"
#include "tc.skel.h"

/* Three parts that take the verifier about as long; the last one has all other programs. */
static const char *const in_part[][VERIFY_PARTS - 1] = {
	{"tc_to_endpoint", "tc_from_endpoint"},
	{"sk_node", "tc_uplink"},
};

static size_t part_of(const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(in_part); i++)
		for (size_t part = 0; part < VERIFY_PARTS - 1; part++)
			if (!strcmp(in_part[i][part], program))
				return part;
	return VERIFY_PARTS - 1;
}

void verify_no_program(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, false);
}

/* Opens an object with one part of the programs and the maps of @maps. */
static int open_part(const struct bpf_object *maps, const struct bpf_object_open_opts *options,
		     size_t part, struct bh_tc **tc)
{
	struct bpf_program *program;
	struct bpf_map *map;
	int error = 0;

	*tc = bh_tc__open_opts(options);
	if (!*tc)
		return -errno;
	bpf_object__for_each_program(program, (*tc)->obj)
		bpf_program__set_autoload(program, part_of(bpf_program__name(program)) == part);
	bpf_object__for_each_map(map, (*tc)->obj) {
		const struct bpf_map *made = bpf_object__find_map_by_name(maps, bpf_map__name(map));

		if (!error)
			error = made ? bpf_map__reuse_fd(map, bpf_map__fd(made)) : -ENOENT;
	}
	return error;
}

struct verify_job {
	pthread_t thread;
	struct bpf_object *object;
	bool threaded;
	int error;
};

static void *load_part(void *data)
{
	struct verify_job *job = data;

	job->error = bpf_object__load(job->object);
	return NULL;
}

/* Loads all parts at once. If the kernel has no thread for a part, this one loads the part. */
static int load_parts(const struct verified *verified)
{
	struct verify_job jobs[VERIFY_PARTS] = {};
	int error = 0;

	for (size_t i = 0; i < VERIFY_PARTS; i++) {
		jobs[i].object = verified->parts[i]->obj;
		jobs[i].threaded = !pthread_create(&jobs[i].thread, NULL, load_part, &jobs[i]);
	}
	for (size_t i = 0; i < VERIFY_PARTS; i++) {
		if (jobs[i].threaded)
			pthread_join(jobs[i].thread, NULL);
		else
			load_part(&jobs[i]);
		if (!error)
			error = jobs[i].error;
	}
	return error;
}

int verify(const struct bpf_object *maps, const struct bpf_object_open_opts *options,
	   struct verified *verified)
{
	int error = 0;

	for (size_t i = 0; !error && i < VERIFY_PARTS; i++)
		error = open_part(maps, options, i, &verified->parts[i]);
	return error ? error : load_parts(verified);
}

void verified_free(struct verified *verified)
{
	for (size_t i = 0; i < VERIFY_PARTS; i++)
		bh_tc__destroy(verified->parts[i]);
}

int verified_program(const struct verified *verified, const char *name)
{
	const struct bh_tc *part = verified->parts[part_of(name)];
	const struct bpf_program *program =
		part ? bpf_object__find_program_by_name(part->obj, name) : NULL;

	return program ? bpf_program__fd(program) : -ENOENT;
}
