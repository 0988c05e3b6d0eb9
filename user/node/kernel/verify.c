// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/kernel/handle.h"
#include "node/kernel/verify.h"
#include "tc.skel.h"

#define VERIFY_PROGRAMS 8 /* of an object, at most */
#define VERIFY_LOG (1u << 24) /* bytes; only what the kernel writes takes memory */

/* A program as libbpf would load it. */
struct verify_job {
	struct bpf_program *program;
	struct bpf_prog_load_opts options;
	struct bpf_insn *code;
	size_t length;
	char *log;
	int fd; /* or -errno */
};

struct verify {
	struct verify_job jobs[VERIFY_PROGRAMS];
	size_t n, expected;
	atomic_size_t next; /* job that no thread has begun */
	__u32 log_level;
};

/* The load that this thread runs. libbpf's callbacks say neither the object nor the caller. */
static _Thread_local struct verify *running;

static void verify_free(struct verify *verify)
{
	for (size_t i = 0; i < verify->n; i++) {
		if (verify->jobs[i].fd >= 0)
			close(verify->jobs[i].fd);
		free(verify->jobs[i].code);
		free(verify->jobs[i].log);
	}
}

static int load_job(struct verify_job *job)
{
	const int fd =
		bpf_prog_load(bpf_program__type(job->program), bpf_program__name(job->program),
			      "GPL", job->code, job->length, &job->options);

	return fd < 0 ? -errno : fd;
}

/* With a log, a program that the kernel refuses is loaded once more, for the reason in full. */
static void run_job(struct verify_job *job)
{
	job->fd = load_job(job);
	if (job->fd >= 0 || !job->log)
		return;
	job->options.log_level = 1;
	job->fd = load_job(job);
}

static void *run_jobs(void *data)
{
	struct verify *verify = data;

	for (size_t i; (i = atomic_fetch_add(&verify->next, 1)) < verify->n;)
		run_job(&verify->jobs[i]);
	return NULL;
}

static int compare_length(const void *left, const void *right)
{
	const struct verify_job *a = left, *b = right;

	return a->length < b->length ? 1 : -(a->length > b->length);
}

/* Loads all programs, the longest ones first. If the kernel has no thread, this one does the work
 * of the other. */
static int run(struct verify *verify)
{
	pthread_t threads[VERIFY_THREADS - 1];
	size_t n = 0;
	int error = 0;

	qsort(verify->jobs, verify->n, sizeof(verify->jobs[0]), compare_length);
	while (n < VERIFY_THREADS - 1 && !pthread_create(&threads[n], NULL, run_jobs, verify))
		n++;
	run_jobs(verify);
	while (n)
		pthread_join(threads[--n], NULL);
	for (size_t i = 0; i < verify->n; i++) {
		const struct verify_job *job = &verify->jobs[i];

		if (job->log && *job->log)
			fprintf(stderr, "%s:\n%s", bpf_program__name(job->program), job->log);
		if (!error && job->fd < 0)
			error = job->fd;
	}
	return error;
}

/* Makes libbpf load a program that only returns 0. */
static int replace_by_stub(struct bpf_program *program, struct bpf_prog_load_opts *options)
{
	struct bpf_insn stub[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	options->func_info_cnt = 0;
	options->line_info_cnt = 0;
	return bpf_program__set_insns(program, stub, ARRAY_SIZE(stub));
}

static int add_job(struct verify *verify, struct bpf_program *program,
		   const struct bpf_prog_load_opts *options)
{
	struct verify_job *job = &verify->jobs[verify->n];
	const struct bpf_insn *code = bpf_program__insns(program);
	size_t size = options->sz;

	if (verify->n == ARRAY_SIZE(verify->jobs))
		return -E2BIG;
	/* libbpf may be of another version than its header. */
	if (size > sizeof(*options))
		size = sizeof(*options);
	memcpy(&job->options, options, size);
	job->options.sz = size;
	job->program = program;
	job->length = bpf_program__insn_cnt(program);
	job->fd = -ECANCELED;
	job->code = malloc(job->length * sizeof(*code));
	job->log = verify->log_level ? calloc(1, VERIFY_LOG) : NULL;
	verify->n++;
	if (!job->code || (verify->log_level && !job->log))
		return -ENOMEM;
	memcpy(job->code, code, job->length * sizeof(*code));
	job->options.log_level = verify->log_level;
	job->options.log_buf = job->log;
	job->options.log_size = job->log ? VERIFY_LOG : 0;
	return 0;
}

/* libbpf calls this right before it loads a program. At the last one all programs are known, and
 * libbpf still has the file descriptors that they name. */
static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options,
		   long cookie __attribute__((unused)))
{
	struct verify *verify = running;
	int error = verify ? add_job(verify, program, options) : 0;

	if (!verify || error)
		return error;
	error = replace_by_stub(program, options);
	return error || verify->n < verify->expected ? error : run(verify);
}

int verify_register(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = prepare);
	static bool registered;
	int id;

	if (registered)
		return 0;
	id = libbpf_register_prog_handler("tc", BPF_PROG_TYPE_SCHED_CLS, 0, &options);
	if (id >= 0)
		id = libbpf_register_prog_handler("sk_lookup", BPF_PROG_TYPE_SK_LOOKUP,
						  BPF_SK_LOOKUP, &options);
	registered = id >= 0;
	return id < 0 ? id : 0;
}

/* Puts each program at the stub's file descriptor. As libbpf does, binds the constants also to a
 * program that reads none of them. */
static int take_places(const struct verify *verify, const struct bh_tc *tc)
{
	for (size_t i = 0; i < verify->n; i++) {
		const struct verify_job *job = &verify->jobs[i];

		bpf_prog_bind_map(job->fd, bpf_map__fd(tc->maps.rodata), NULL);
		if (dup3(job->fd, bpf_program__fd(job->program), O_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

int verify_load(struct bh_tc *tc, __u32 log_level, bool *made)
{
	struct verify verify = {.log_level = log_level};
	struct bpf_program *program;
	int error;

	bpf_object__for_each_program(program, tc->obj)
		verify.expected++;
	running = &verify;
	error = bh_tc__load(tc);
	running = NULL;
	*made = verify.n;
	if (!error)
		error = take_places(&verify, tc);
	verify_free(&verify);
	return error;
}
