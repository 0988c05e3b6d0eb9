// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns over what an endpoint has learned (bh_learned), as its DNS answers do when its share is
 * full: the oldest address goes, and the next one takes its place, and its memory.
 *
 *   churn PIN FROM TO SPARE TIMES   FROM and TO are IPv4 addresses that the endpoint has learned,
 *                                   SPARE one that it has not. TIMES: FROM goes, SPARE comes by
 *                                   the names of TO, and then the other way round.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/dns.h"

struct entry {
	struct bh_learned_key key;
	struct bh_learned value;
};

static int map;

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

static void replace(const struct entry *old, struct entry *new)
{
	new->value.place = old->value.place + BH_LEARNED_SHARE;
	if (bpf_map_delete_elem(map, &old->key) ||
	    bpf_map_update_elem(map, &new->key, &new->value, BPF_NOEXIST))
		die("replace");
}

int main(int argc, char **argv)
{
	struct entry from, spare;

	if (argc != 6)
		return 2;
	map = bpf_obj_get(argv[1]);
	if (map < 0)
		die(argv[1]);
	from = find(argv[2]);
	spare = find(argv[3]);
	spare.key.addr.word[3] = inet_addr(argv[4]);
	for (long i = atol(argv[5]); i; i--) {
		replace(&from, &spare);
		replace(&spare, &from);
	}
	return 0;
}
