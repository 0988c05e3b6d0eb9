/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files that fill the tables of a new policy. */
#ifndef BULKHEAD_COMPILE_TABLES_H
#define BULKHEAD_COMPILE_TABLES_H

#include "compile/compiler.h"

#define TABLE_CAPACITY(type, name, moves) size_t capacity_##name;

struct tables {
	struct compiler *c;
	struct policy *policy;
	struct intern strings;
	numbers_t string_at; /* offset in `strings`, by number of the string */
	unsigned int sought; /* strings that were sought in the policy's */
	struct intern known; /* once many were: the strings that the policy has by then */
	numbers_t known_at; /* offset in `strings`, by number of the string */
	uint32_t *segment_index; /* index of the segment's record, by the compiler's number */
	uint32_t *segment_id;
	const struct policy_segment **old; /* record of the base, by the compiler's number */
	/* A policy whose records the tables had from the beginning: only others are put. NULL:
	 * none. */
	const struct policy *begun;
	const struct policy *before; /* as in struct extend */
	bool local; /* the new records are this node's extension */
	struct intern lists; /* `at` of the compiler's port lists that were put beside `begun` */
	numbers_t list_at; /* where, by number in `lists` */
	POLICY_TABLES(TABLE_CAPACITY)
};

/* Appends an unset record to a table and returns it. */
#define add_record(tables, name)                                                                 \
	((tables)->policy->name =                                                                \
		 grow_capacity((tables)->policy->name, &(tables)->capacity_##name,               \
			       (tables)->policy->n_##name + 1, sizeof(*(tables)->policy->name)), \
	 &(tables)->policy->name[(tables)->policy->n_##name++])

#define table_push(tables, name, value) ((void)(*add_record(tables, name) = (value)))

#define table_sort(tables, name, compare)                                \
	sort_records((tables)->policy->name, (tables)->policy->n_##name, \
		     sizeof(*(tables)->policy->name), compare)

/* Returns true if the tables had the record from the beginning. */
#define table_begun(t, table, compare, ...)                                               \
	((t)->begun &&                                                                    \
	 policy_search(&(__typeof__(*(t)->begun->table)){__VA_ARGS__}, (t)->begun->table, \
		       (t)->begun->n_##table, sizeof(*(t)->begun->table), compare))

/* Returns the offset of @string (NULL: the empty string) in `strings`. */
uint32_t tables_string(struct tables *t, const char *string);

/* Append the CIDRs, or the selector's requirements. */
struct policy_range tables_cidrs(struct tables *t, const struct cidr *cidrs, size_t n);
struct policy_range tables_selector(struct tables *t, const struct selector *selector);

/* Fill what the record has of the endpoint alone, and put an expected pod. */
void tables_endpoint(struct tables *t, const struct endpoint *from, struct policy_endpoint *record);
void tables_expected(struct tables *t, const struct endpoint *pod);

/* Puts the segments that `begun` lacks, with all that tells what they may reach. */
void tables_extend(struct tables *t);
/* Frees all but the policy. */
void tables_free(struct tables *t);

/* cluster_put.c: fill the cluster's tables. addresses_put() sets @index to each endpoint's
 * addresses' records, in the order of the endpoints; endpoints_put() reads it. */
void settings_put(struct tables *t);
void namespaces_put(struct tables *t);
void addresses_put(struct tables *t, const uint32_t *resolution_ids, uint32_t *index);
void endpoints_put(struct tables *t, const uint32_t *index);
void prefixes_put(struct tables *t);
void host_pods_put(struct tables *t);

/* segments_put.c: first finds the segments' IDs; then fills the tables of segments, variations and
 * resolutions. resolutions_put() returns the IDs of the compiler's resolutions, to be freed. */
void segments_find_ids(struct tables *t);
uint32_t *resolutions_put(struct tables *t);
void segments_put(struct tables *t, const uint32_t *resolution_ids);
void by_matchers_put(struct tables *t);

/* reach_put.c: fills the tables that say what the segments may reach. tables_ports() returns a port
 * list of the compiler's as a record refers to it. */
void reach_put(struct tables *t, const uint32_t *resolution_ids);
struct bh_ports_ref tables_ports(struct tables *t, struct bh_ports_ref ports);

/* audit.c: puts the audit records, and sorts the table. */
void audits_put(struct tables *t);

/* given_put.c: fills the tables of the policies as they were given. */
void given_put(struct tables *t);

/* services.c: fills the Services' tables, after `addresses`, `endpoints` and `nodes`. */
void services_put(struct tables *t);
/* Fills the empty tables of Services, their ports, frontends and backends, as those of @base with
 * the Services of @from. The tables have the nodes and the addresses. */
struct update_services;
void services_renew(struct tables *t, const struct policy *base,
		    const struct update_services *from);

#endif
