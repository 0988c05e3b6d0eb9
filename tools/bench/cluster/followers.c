// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many followers, each a thread of one of a few processes: follow_run() as on a node, its
 * connection, its watches and its reports, with a node that has no kernel (the functions of
 * own_node.h). A script gives commands by stdin, and gets a line for each:
 *
 *   fill NODES PODS          writes a cluster's objects into etcd
 *   start NODES GENERATION CHECKSUM
 *                            begins the followers of node-1 to node-NODES, which have that policy
 *                            (0 0: nothing); answers when all follow
 *   mark                     notes the time, and which generation each node's endpoints are in
 *   wait SECONDS             answers when all endpoints are in a newer one: milliseconds since the
 *                            mark, until the first and until the last node
 *   pod PODS NODES           adds one pod
 *   pods RATE SECONDS PODS NODES
 *                            adds so many pods a second, and removes those of 10 s before
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cluster/rollout.h"
#include "cluster/followed_node.h"
#include "cluster/followed_pods.h"
#include "node/observe/newcomers.h"
#include "tools/bench/cluster/cluster.h"

#define STACK (256 << 10)
/* between the starts of two followers: a node that joins costs the API server several requests,
 * and two cores serve some 100 nodes a second */
#define PAUSE_US 20000
#define THREADS 2000 /* followers of a process: each has some four open files */

struct simulated {
	char name[32];
	struct follow_options options;
	struct followed_node_state has;
	pthread_t thread;
};

/* Memory of all processes. */
struct shared {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint32_t marked; /* generation at the mark */
	unsigned int newer; /* nodes that are beyond it */
	uint64_t first, last; /* ns */
	struct simulated nodes[];
};

static struct shared *shared;
static unsigned int n_nodes;
static uint64_t mark; /* ns */
static _Thread_local struct simulated *own;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* The node without a kernel. */

void followed_node_free(struct followed_node *node)
{
	(void)node;
}

int followed_node_read(struct followed_node *node, struct diag *diag,
		       struct followed_node_state *state)
{
	(void)node;
	(void)diag;
	*state = own->has;
	return 0;
}

int followed_node_begin(struct followed_node *node, struct diag *diag)
{
	(void)node;
	(void)diag;
	return 0;
}

static void activate(uint32_t generation, uint64_t checksum)
{
	pthread_mutex_lock(&shared->lock);
	if (own->has.active <= shared->marked && generation > shared->marked) {
		shared->newer++;
		shared->last = now();
		if (shared->newer == 1)
			shared->first = shared->last;
		if (shared->newer == n_nodes)
			pthread_cond_signal(&shared->moved);
	}
	own->has.active = generation;
	own->has.active_checksum = checksum;
	pthread_mutex_unlock(&shared->lock);
}

static int install(const struct store_chain *chain)
{
	const struct store_item *begin = &chain->items[0], *end = &chain->items[chain->n - 1];

	if (begin->parent && begin->parent != own->has.active_checksum &&
	    begin->parent != own->has.installed_checksum)
		return -EBADMSG;
	own->has.installed = end->generation;
	own->has.installed_checksum = end->checksum;
	return 0;
}

int followed_node_load(struct followed_node *node, struct store_chain *chain, struct diag *diag,
		       struct followed_node_state *state)
{
	int error = install(chain);

	if (error)
		return error;
	activate(own->has.installed, own->has.installed_checksum);
	return followed_node_read(node, diag, state);
}

int followed_node_stage(struct followed_node *node, struct store_chain *chain, struct diag *diag,
			struct followed_node_state *state)
{
	int error = install(chain);

	return error ? error : followed_node_read(node, diag, state);
}

int followed_node_activate(struct followed_node *node, uint32_t generation, struct diag *diag,
			   struct followed_node_state *state)
{
	if (own->has.installed != generation)
		return -ENOENT;
	activate(generation, own->has.installed_checksum);
	return followed_node_read(node, diag, state);
}

int followed_node_newcomers(const struct followed_node *node, struct diag *diag,
			    struct newcomers *newcomers)
{
	(void)node;
	(void)diag;
	*newcomers = (struct newcomers){};
	return 0;
}

bool newcomers_moved(const struct newcomers *before, const struct newcomers *now)
{
	(void)before;
	(void)now;
	return false;
}

void newcomers_free(struct newcomers *newcomers)
{
	(void)newcomers;
}

int followed_node_load_again(struct followed_node *node, struct diag *diag,
			     struct followed_node_state *state)
{
	return followed_node_read(node, diag, state);
}

int followed_pods_place(const struct node_options *options, struct json_object *const *pods,
			size_t n, struct diag *diag, bool *waits)
{
	(void)options;
	(void)pods;
	(void)n;
	(void)diag;
	*waits = false;
	return 0;
}

bool followed_pod_has_interface(const struct node_options *options, struct json_object *pod,
				struct diag *diag)
{
	(void)options;
	(void)pod;
	(void)diag;
	return true;
}

int followed_pod_delete(const struct node_options *options, struct json_object *pod,
			struct diag *diag)
{
	(void)options;
	(void)pod;
	(void)diag;
	return 0;
}

/* Commands */

static void *follow(void *data)
{
	struct diag diag = {.to = stderr};

	own = data;
	follow_run(&own->options, &diag, -1);
	return NULL;
}

static void wait_newer(unsigned int seconds)
{
	struct timespec until = {.tv_sec = time(NULL) + seconds};
	int error = 0;

	pthread_mutex_lock(&shared->lock);
	while (shared->newer < n_nodes && !error)
		error = pthread_cond_timedwait(&shared->moved, &shared->lock, &until);
	if (error)
		printf("late %u of %u\n", shared->newer, n_nodes);
	else
		printf("%.1f %.1f\n", (shared->first - mark) / 1e6, (shared->last - mark) / 1e6);
	pthread_mutex_unlock(&shared->lock);
}

static void set_mark(void)
{
	pthread_mutex_lock(&shared->lock);
	shared->marked = shared->newer = 0;
	for (unsigned int i = 0; i < n_nodes; i++)
		if (shared->nodes[i].has.active > shared->marked)
			shared->marked = shared->nodes[i].has.active;
	mark = now();
	pthread_mutex_unlock(&shared->lock);
}

static void share(unsigned int n)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	n_nodes = n;
	shared = mmap(NULL, sizeof(*shared) + n * sizeof(*shared->nodes), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		fprintf(stderr, "cluster: no memory\n");
		exit(1);
	}
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->moved, &cond);
}

/* Follows as nodes from @first to before @end. */
static void run_some(unsigned int first, unsigned int end)
{
	pthread_attr_t attributes;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (unsigned int i = first; i < end; i++) {
		struct simulated *node = &shared->nodes[i];

		if (pthread_create(&node->thread, &attributes, follow, node)) {
			fprintf(stderr, "cluster: cannot begin follower %u\n", i);
			_exit(1);
		}
		usleep((n_nodes + THREADS - 1) / THREADS * PAUSE_US);
	}
	for (;;)
		pause();
}

static void start(unsigned int n, uint32_t generation, uint64_t checksum)
{
	share(n);
	for (unsigned int i = 0; i < n; i++) {
		struct simulated *node = &shared->nodes[i];

		snprintf(node->name, sizeof(node->name), "node-%u", i + 1);
		node->options.node = node->name;
		node->options.load.pin = node->name;
		node->options.listen = i ? NULL : "127.0.0.1:9470";
		node->has =
			(struct followed_node_state){generation, generation, checksum, checksum};
	}
	for (unsigned int first = 0; first < n; first += THREADS)
		switch (fork()) {
		case -1:
			fprintf(stderr, "cluster: cannot begin a process\n");
			exit(1);
		case 0:
			run_some(first, first + THREADS < n ? first + THREADS : n);
		}
	printf("begun\n");
}

static void churn(unsigned int rate, unsigned int seconds, unsigned int pods, unsigned int n)
{
	const unsigned int stay = 10 * rate;
	uint64_t began = now();

	for (unsigned int i = 0; i < rate * seconds; i++) {
		const uint64_t due = began + i * 1000000000ull / rate;

		fill_pod(pods + i, n);
		if (i >= stay)
			fill_no_pod(pods + i - stay);
		fill_flush();
		if (due > now())
			usleep((due - now()) / 1000);
	}
	printf("%.1f\n", (now() - began) / 1e6);
}

static void command(const char *line)
{
	unsigned int a, b, c, d;
	uint64_t checksum;

	if (sscanf(line, "fill %u %u", &a, &b) == 2) {
		fill_cluster(a, b);
		printf("filled\n");
	} else if (sscanf(line, "start %u %u %" SCNx64, &a, &b, &checksum) == 3) {
		start(a, b, checksum);
	} else if (!strncmp(line, "mark", 4)) {
		set_mark();
		printf("marked %u\n", shared->marked);
	} else if (sscanf(line, "wait %u", &a) == 1) {
		wait_newer(a);
	} else if (sscanf(line, "pods %u %u %u %u", &a, &b, &c, &d) == 4) {
		churn(a, b, c, d);
	} else if (sscanf(line, "pod %u %u", &a, &b) == 2) {
		fill_pod(a, b);
		fill_flush();
		printf("added\n");
	} else {
		printf("unknown\n");
	}
	fflush(stdout);
}

int main(void)
{
	struct rlimit files;
	char line[200];

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	while (fgets(line, sizeof(line), stdin))
		command(line);
	_exit(0);
}
