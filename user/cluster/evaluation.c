// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/evaluation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/claims.h"
#include "compile/compile.h"
#include "input/input.h"

/* The engine compiles the same objects, but for the large policies of one namespace: the process
 * may take as much memory as the engine has taken at most, and so much more. */
#define ROOM_MB 256
#define PROCESSOR_SECONDS 60
#define ANSWER_MS 180000 /* the process yields to others, so it may take longer */
#define NICE 10
#define NO_PROGRAM 8u /* MFD_NOEXEC_SEAL */

/* The process */

bool evaluation_is_called(int argc, char **argv)
{
	return argc == 3 && !strcmp(argv[0], EVALUATION_NAME);
}

/* Bytes of its own memory that this process has now. */
static rlim_t memory_taken(void)
{
	FILE *from = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (from) {
		if (fscanf(from, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
			pages = 0;
		fclose(from);
	}
	return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

/* Makes the kernel end this process, rather than the engine, when memory or time runs out, and when
 * the engine ends. */
static int set_limits(const char *mb)
{
	const rlim_t bytes = memory_taken() + ((rlim_t)strtoul(mb, NULL, 10) << 20);
	const struct rlimit memory = {bytes, bytes};
	const struct rlimit seconds = {PROCESSOR_SECONDS, PROCESSOR_SECONDS};
	FILE *score = fopen("/proc/self/oom_score_adj", "w");

	if (score) {
		fputs("1000", score);
		fclose(score);
	}
	errno = 0;
	if (nice(NICE) < 0 && errno)
		return -errno;
	return prctl(PR_SET_PDEATHSIG, SIGKILL) || setrlimit(RLIMIT_DATA, &memory) ||
			       setrlimit(RLIMIT_CPU, &seconds)
		       ? -errno
		       : 0;
}

/* Which object gets an address does not count: the verdict is about policies. */
static void ignore(void *data, const struct contested *contested)
{
	(void)data;
	(void)contested;
}

static int read_objects(struct cluster *cluster, const char *text, size_t size, struct diag *diag)
{
	const char *end = text + size;
	int error = 0;

	for (size_t n; !error && text < end; text += n + 1) {
		n = strlen(text);
		error = input_parse_json(cluster, text, n, "objects", diag);
	}
	return error;
}

/* Writes a line for each NetworkPolicy of the namespace that is set aside: 1 if its namespace's
 * port names have no numbers either, else 0; its name; why. */
static void put_asides(const struct asides *asides, const char *ns, FILE *to)
{
	for (size_t i = 0; asides && i < asides->n; i++) {
		const struct aside *aside = &asides->at[i];

		if (!strcmp(aside->ns, ns) && !strcmp(aside->kind, "NetworkPolicy"))
			fprintf(to, "%d %s %s\n", aside->nameless, aside->name, aside->why);
	}
}

static int evaluate(const char *objects, size_t size, const char *ns, FILE *answer)
{
	struct diag quiet = {0};
	struct policy *policy = NULL;
	struct cluster cluster;
	int error;

	cluster_init(&cluster);
	error = read_objects(&cluster, objects, size, &quiet);
	if (!error) {
		claims_resolve(&cluster, NULL, ignore, NULL);
		error = cluster_finish(&cluster, &quiet);
	}
	if (!error)
		error = compile_cluster(&cluster, NULL, &quiet, &policy);
	if (!error)
		put_asides(policy->asides, ns, answer);
	policy_free(policy);
	cluster_free(&cluster);
	return error;
}

/* Evaluates the objects in a file. Returns 0 or -errno. */
static int evaluate_file(int fd, const char *ns, FILE *answer)
{
	struct stat is;
	char *objects;
	int error;

	if (fstat(fd, &is))
		return -errno;
	objects = mmap(NULL, is.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (objects == MAP_FAILED)
		return -errno;
	error = evaluate(objects, is.st_size, ns, answer);
	munmap(objects, is.st_size);
	return error;
}

int evaluation_main(char **argv)
{
	int error = set_limits(argv[2]);

	if (!error)
		error = evaluate_file(STDIN_FILENO, argv[1], stdout);
	return error || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The engine */

struct evaluation {
	struct api *api;
	struct evaluation_ops ops;
	void *data;
	FILE *objects; /* a file in memory, which keeps its pages */
	char *ns; /* that is evaluated; NULL: none is */
	pid_t process; /* 0: none runs */
	struct api_reader reader; /* of the process's answer */
	struct api_timer limit;
	FILE *answer;
	char *text; /* of `answer`, once it is closed */
	size_t size;
};

static void on_answer(void *data);
static void on_limit(void *data);

/* Opens a file in memory that is no program: a node may forbid others. Linux knows the flag since
 * 6.3. */
static int open_memory(void)
{
	const int fd = memfd_create("objects", MFD_CLOEXEC | NO_PROGRAM);

	return fd < 0 && errno == EINVAL ? memfd_create("objects", MFD_CLOEXEC) : fd;
}

struct evaluation *evaluation_open(struct api *api, const struct evaluation_ops *ops, void *data)
{
	struct evaluation *evaluation = calloc(1, sizeof(*evaluation));
	const int fd = open_memory();

	if (evaluation && fd >= 0)
		*evaluation = (struct evaluation){.api = api,
						  .ops = *ops,
						  .data = data,
						  .objects = fdopen(fd, "w"),
						  .reader = {-1, on_answer, evaluation, NULL},
						  .limit = {.run = on_limit, .data = evaluation}};
	if (!evaluation || !evaluation->objects) {
		if (fd >= 0)
			close(fd);
		free(evaluation);
		return NULL;
	}
	if (api)
		api_reader_add(api, &evaluation->reader);
	return evaluation;
}

/* Frees what belongs to one evaluation. */
static void forget(struct evaluation *evaluation)
{
	if (evaluation->api)
		api_timer_stop(evaluation->api, &evaluation->limit);
	if (evaluation->reader.fd >= 0)
		close(evaluation->reader.fd);
	evaluation->reader.fd = -1;
	if (evaluation->answer)
		fclose(evaluation->answer);
	evaluation->answer = NULL;
	free(evaluation->text);
	evaluation->text = NULL;
	free(evaluation->ns);
	evaluation->ns = NULL;
}

bool evaluation_runs(const struct evaluation *evaluation)
{
	return evaluation->ns;
}

void evaluation_stop(struct evaluation *evaluation)
{
	if (evaluation->process) {
		kill(evaluation->process, SIGKILL);
		waitpid(evaluation->process, NULL, 0);
	}
	evaluation->process = 0;
	forget(evaluation);
}

void evaluation_close(struct evaluation *evaluation)
{
	if (!evaluation)
		return;
	evaluation_stop(evaluation);
	fclose(evaluation->objects);
	free(evaluation);
}

/* Returns the policies that the answer's lines name, in memory of these lines. NULL: no memory. */
static struct asides *read_answer(const char *ns, char *lines)
{
	struct asides *over = calloc(1, sizeof(*over));
	size_t most = 0;
	char *line;

	for (const char *at = lines; *at; at++)
		most += *at == '\n';
	if (over)
		over->at = calloc(most + 1, sizeof(*over->at));
	if (!over || !over->at) {
		free(over);
		return NULL;
	}
	while ((line = strsep(&lines, "\n")) && *line) {
		char *flag = strsep(&line, " "), *name = strsep(&line, " ");

		over->at[over->n++] = (struct aside){.ns = (char *)ns,
						     .name = name,
						     .why = line,
						     .effect = "isolates what it selects",
						     .kind = "NetworkPolicy",
						     .nameless = *flag == '1'};
	}
	return over;
}

/* Gives the answer to the owner, who may begin the next evaluation then. */
static void tell(struct evaluation *evaluation, const char *why, uint64_t ms)
{
	char *ns = evaluation->ns, *text;
	struct asides *over = NULL;

	if (evaluation->answer && (ferror(evaluation->answer) | fclose(evaluation->answer)))
		why = strerror(ENOMEM);
	text = evaluation->text;
	evaluation->answer = NULL;
	evaluation->text = evaluation->ns = NULL;
	forget(evaluation);
	if (!why) {
		over = read_answer(ns, text);
		why = over ? NULL : strerror(ENOMEM);
	}
	evaluation->ops.done(evaluation->data, over, why, ms);
	if (over)
		free(over->at);
	free(over);
	free(text);
	free(ns);
}

static uint64_t ms_of(const struct timeval *time)
{
	return time->tv_sec * 1000 + time->tv_usec / 1000;
}

/* The process has ended, or ends now. @why NULL: its status says if there is an answer. */
static void end_process(struct evaluation *evaluation, const char *why)
{
	struct rusage usage = {0};
	char text[100];
	int status = -1;

	if (why)
		kill(evaluation->process, SIGKILL);
	while (wait4(evaluation->process, &status, 0, &usage) < 0 && errno == EINTR)
		;
	evaluation->process = 0;
	if (!why && status) {
		if (WIFSIGNALED(status))
			snprintf(text, sizeof(text), "the process that does so ended by signal %d",
				 WTERMSIG(status));
		else
			snprintf(text, sizeof(text), "the process that does so failed");
		why = text;
	}
	tell(evaluation, why, ms_of(&usage.ru_utime) + ms_of(&usage.ru_stime));
}

static void on_limit(void *data)
{
	end_process(data, "the process that does so took too long");
}

static void on_answer(void *data)
{
	struct evaluation *evaluation = data;
	char part[4096];
	const ssize_t n = read(evaluation->reader.fd, part, sizeof(part));

	if (n > 0)
		fwrite(part, n, 1, evaluation->answer);
	else if (n == 0)
		end_process(evaluation, NULL);
	else if (errno != EINTR)
		end_process(evaluation, strerror(errno));
}

/* MB that the process may have. */
static unsigned long room(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return ROOM_MB + usage.ru_maxrss / 1024;
}

/* Starts the process. It has the objects as standard input, and the engine's standard error. */
static int start(struct evaluation *evaluation, int answer)
{
	char mb[24], *argv[] = {EVALUATION_NAME, evaluation->ns, mb, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int error;

	snprintf(mb, sizeof(mb), "%lu", room());
	sigemptyset(&none);
	error = posix_spawnattr_init(&attributes);
	if (error)
		return -error;
	error = posix_spawn_file_actions_init(&actions);
	if (error) {
		posix_spawnattr_destroy(&attributes);
		return -error;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	error = posix_spawn_file_actions_adddup2(&actions, fileno(evaluation->objects),
						 STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, answer, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (!error)
		error = posix_spawn(&evaluation->process, "/proc/self/exe", &actions, &attributes,
				    argv, environ);
	if (error)
		evaluation->process = 0;
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -error;
}

static int begin_process(struct evaluation *evaluation)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	error = start(evaluation, ends[1]);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return error;
	}
	evaluation->reader.fd = ends[0];
	api_timer_set(evaluation->api, &evaluation->limit, ANSWER_MS);
	return 0;
}

static int write_objects(struct evaluation *evaluation)
{
	FILE *to = evaluation->objects;
	int error;

	rewind(to);
	error = evaluation->ops.write(evaluation->data, to);
	if (!error && (fflush(to) || ftruncate(fileno(to), ftell(to))))
		error = -errno;
	return error;
}

void evaluation_begin(struct evaluation *evaluation, const char *ns)
{
	int error = 0;

	evaluation->ns = strdup(ns);
	evaluation->answer = open_memstream(&evaluation->text, &evaluation->size);
	if (!evaluation->ns || !evaluation->answer)
		error = -ENOMEM;
	if (!error)
		error = write_objects(evaluation);
	if (!error && evaluation->api) {
		error = begin_process(evaluation);
		if (!error)
			return;
	} else if (!error) {
		error = evaluate_file(fileno(evaluation->objects), ns, evaluation->answer);
	}
	tell(evaluation, error ? strerror(-error) : NULL, 0);
}
