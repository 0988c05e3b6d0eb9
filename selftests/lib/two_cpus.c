// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/two_cpus.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SKEW 64 /* the most turns of an empty loop that one CPU is late */

static cpu_set_t cpus; /* that the process may use */
static sem_t wakes; /* the other thread, which sleeps between two runs */
static atomic_uint arrived, done;
static unsigned int rounds, skew[2];
static void (*both_do)(unsigned int which);

/* Waits in a loop, so that both CPUs go on together; gives way to other processes now and then. */
static void await(atomic_uint *value, unsigned int is)
{
	for (unsigned int i = 1; atomic_load(value) != is; i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void meet(unsigned int which, unsigned int round)
{
	atomic_fetch_add(&arrived, 1);
	await(&arrived, 2 * round);
	for (volatile unsigned int i = 0; i < skew[which]; i++)
		;
	both_do(which);
}

void two_cpus_pin(int nth)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && !nth--)
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		perror("sched_setaffinity");
}

static void *other_cpu(void *unused)
{
	(void)unused;
	two_cpus_pin(1);
	for (unsigned int round = 1;; round++) {
		while (sem_wait(&wakes))
			continue;
		meet(1, round);
		atomic_store(&done, round);
	}
	return NULL;
}

bool two_cpus_begin(void)
{
	return !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) > 1;
}

void two_cpus_run(void (*function)(unsigned int which))
{
	pthread_t thread;

	if (!rounds && (sem_init(&wakes, 0, 0) || pthread_create(&thread, NULL, other_cpu, NULL))) {
		perror("pthread_create");
		exit(1);
	}
	two_cpus_pin(0);
	both_do = function;
	skew[0] = rand() % SKEW;
	skew[1] = rand() % SKEW;
	rounds++;
	sem_post(&wakes);
	meet(0, rounds);
	await(&done, rounds);
}
