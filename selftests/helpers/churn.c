// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns over what an endpoint has learned (bh_learned), as its DNS answers do when its share is
 * full: the oldest address goes, and the next one takes its place, and its memory.
 *
 *   churn PIN FROM TO TIMES   FROM and TO are IPv4 addresses that the endpoint has learned. TIMES:
 *                             FROM goes and TO comes, and then the other way round. Ends with 0
 *                             once a program has written one more name into FROM's entry, which
 *                             stays so; else with 1.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/dns.h"

struct entry {
	struct bh_learned_key key;
	struct bh_learned value;
};

static int map;
static volatile sig_atomic_t ends;

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct entry find(const char *address)
{
	struct bh_learned_key key, *at = NULL;
	struct entry entry;

	while (!bpf_map_get_next_key(map, at, &key)) {
		if (key.addr.word[3] == inet_addr(address) &&
		    !bpf_map_lookup_elem(map, &key, &entry.value)) {
			entry.key = key;
			return entry;
		}
		at = &key;
	}
	die(address);
}

/* An answer may have brought the one, or removed the other. */
static void replace(const struct entry *old, const struct entry *new)
{
	if ((bpf_map_delete_elem(map, &old->key) && errno != ENOENT) ||
	    bpf_map_update_elem(map, &new->key, &new->value, BPF_ANY))
		die("replace");
}

static bool is_written(const struct entry *entry)
{
	struct bh_learned now;

	return !bpf_map_lookup_elem(map, &entry->key, &now) &&
	       memcmp(now.domain, entry->value.domain, sizeof(now.domain));
}

static void on_signal(int number)
{
	(void)number;
	ends = true;
}

int main(int argc, char **argv)
{
	struct entry from, to;

	if (argc != 5)
		return 2;
	map = bpf_obj_get(argv[1]);
	if (map < 0)
		die(argv[1]);
	from = find(argv[2]);
	to = find(argv[3]);
	signal(SIGTERM, on_signal); /* not while an address is away */
	for (long i = atol(argv[4]); i && !ends; i--) {
		replace(&from, &to);
		replace(&to, &from);
		if (is_written(&from))
			return 0;
	}
	return 1;
}
