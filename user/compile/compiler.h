/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of the compiler, in the order of their work:
 *
 *   rules.c     policies → rules with plain matchers (relations between
 *               namespaces are resolved) and the subjects they belong to
 *   prefixes.c  CIDRs → the regions of the address space that they tell apart
 *   members.c   endpoints and regions → which matchers they are listed by
 *   segments.c  equal lists → segments, their classes as subject and as peer
 *   domains.c   subjects × their domain names → the segments of subjects that have learned an
 *               address by a name
 *   spans.c     a rule's ports → spans of points
 *   ports.c     matching rules → one verdict a port
 *   audit.c     what policies that are only audited would deny
 *   reach.c     subjects × peers → the pairs that differ from the fallback
 *   tables.c    segments and pairs → the tables of struct policy, with the files *_put.c
 *   services.c  Services, EndpointSlices and endpoints → the Services' tables
 *   lineage.c   IDs: the base's for records that it had, new ones for others
 *   budget.c    what each policy and namespace brings (budget_accounts.c), the limits, and what is
 *               set aside beyond them (budget_aside.c)
 *
 * extend.c takes the same way to add segments to a compiled policy.
 *
 * No step goes through all pairs: a subject looks only at the peers that its rules name. For that,
 * a matcher *lists* an endpoint either if it matches or, if it is negative (one of its clauses
 * requires nothing, so that it matches nearly all), if it does not. An external region is listed
 * if an address clause matches it.
 */
#ifndef BULKHEAD_COMPILE_COMPILER_H
#define BULKHEAD_COMPILE_COMPILER_H

#include "compile/compile.h"
#include "model/bytes.h"
#include "model/intern.h"
#include "model/numbers.h"

struct clause {
	enum policy_clause_kind kind;
	const char *ns; /* NULL: `namespaces` selects them; CLAUSE_DOMAIN: the name */
	struct selector namespaces, pods;
	struct cidr cidr; /* CLAUSE_ADDRESSES */
	const struct cidr *except;
	size_t n_except;
};

struct matcher {
	struct policy_key key;
	/* the first policy that needs it; NULL: a namespace's isolation */
	const struct policy_object *owner;
	uint32_t clauses, n_clauses; /* in compiler.clauses */
	bool negative;
	bool subject; /* it selects subjects of a policy */
	bool own; /* it is a NetworkPolicy rule's peers, chosen by selectors */
	bool common; /* it is other peers: of admin tiers, CIDRs, negative ones */
	bool domains; /* a clause of it is a domain name */
	uint32_t units; /* 1 + the first in compiler.units; 0: none */
	uint32_t names; /* 1 + the first in compiler.name_uses: of its members; 0: none */
	uint64_t steps; /* what it takes to match an endpoint that no clause matches */
};

/* A rule with its relations resolved. Rules are numbered in the order in which they are asked. */
struct plain_rule {
	struct policy_key key;
	uint32_t id; /* ID in verdict words */
	const struct policy_object *policy;
	const struct rule *rule;
	enum direction direction;
	uint32_t own, common; /* 1 + matcher; 0: none */
	/* 1 + the rule as it is for a destination that was learned by a name of it; 0: it has no
	 * names */
	uint32_t by_name;
	bool any_peer, any_port;
	enum action action;
	const struct span *spans; /* of its ports (spans.h); of any_port: none */
	uint32_t n_spans;
	uint32_t n_names; /* ports that are names; of any_port: 0 */
};

/* Returns true if both are one rule of a policy, resolved in two contexts. Policies that are closed
 * share a rule, and so do the two directions of one. */
static inline bool plain_rules_are_one(const struct plain_rule *a, const struct plain_rule *b)
{
	return a->rule == b->rule && a->policy == b->policy && a->direction == b->direction;
}

/* A port name that egress rules use of a matcher's members, or of any peer. */
struct name_use {
	uint32_t next; /* 1 + the next of the same matcher; 0: none */
	uint32_t name; /* in compiler.port_names */
	const struct policy_object *policy; /* the first that uses it pays for it in each segment */
};

/* The rules that a subject matcher brings to the endpoints that it selects. */
struct unit {
	uint32_t next; /* 1 + the next unit of the same matcher; 0: none */
	uint32_t matcher;
	/* NULL: the namespace isolates its pods, without a policy */
	const struct policy_object *policy;
	bool isolates[2];
	numbers_t rules[2]; /* ascending */
};

/* A region of the address space: a prefix without the smaller prefixes inside it. */
struct region {
	struct cidr cidr;
	uint32_t parent; /* the region around it; of ::/0: itself */
	uint32_t listed; /* set of matchers that list it */
	uint32_t edges; /* set of matchers that have its CIDR; INTERN_NONE: nobody pays for it */
	uint32_t segment;
};

struct segment {
	struct policy_key key;
	uint32_t listed; /* set of matchers that list it */
	bool external; /* of no endpoint */
	uint32_t names; /* set of port names */
	uint32_t peer_own, peer_common; /* in compiler.peers; INTERN_NONE: no rule lists it */
	uint32_t subject[2]; /* in compiler.subjects; INTERN_NONE: no policy selects it */
	numbers_t resolutions; /* ascending, without 0 */
};

#define PEER_NAMESPACES_MAX 4

struct peer_class {
	struct policy_key key;
	uint32_t ns[PEER_NAMESPACES_MAX]; /* namespaces of its endpoints: the first ones */
	uint32_t n_ns;
	uint32_t common; /* of an `own` class: the common class that it refines, or INTERN_NONE */
	bool external;
	uint32_t edges; /* of the first region of the class; INTERN_NONE: it has none */
	uint32_t resolutions; /* set */
	uint32_t id;
};

/*
 * The rules that apply to a subject in one direction. They have two parts. The common part has
 * the rules that tell peers apart by what many subjects ask (admin tiers, CIDRs, any peer); all
 * subjects with the same such rules share it. The whole adds the rules with `own` matchers.
 */
struct subject {
	struct policy_key key;
	enum direction direction;
	bool enforced; /* a policy that is not only audited selects it */
	uint32_t isolation; /* as isolation_of() returns it */
	uint32_t common; /* number of the common part; of a common part: its own number */
	/* set of rule numbers: the common rules; of a whole, the rules with `own` matchers */
	uint32_t rules;
	uint32_t resolutions; /* set */
	/* common part: verdict list for unlisted peers, [0] endpoints, [1] external */
	uint32_t fallback[2];
	uint32_t pairs, n_pairs; /* common part: range of compiler.common_pairs, sorted by peer */
	bool domains; /* common part: egress rules of it use domain names */
	uint32_t id; /* 0: none of its rules lists peers */
	bool left_out; /* a policy of it is over a budget: its pairs are not complete */
};

/* An audit record (struct policy_audit). */
struct audit {
	uint32_t id;
	uint32_t decides; /* verdict word without them */
	uint32_t denies; /* ID of the audited rule that would deny; 0: they would isolate */
	uint32_t policies; /* set of audited policies, as indexes of the cluster's */
};

/* The verdict at each point of the number line, if a certain list of rules matches. */
struct verdict_list {
	struct bh_ports_ref ports; /* BH_PORTS_NAMED: `at` is the ID */
	uint32_t rules; /* number of the bytes in compiler.rule_lists */
};

struct common_pair {
	uint32_t peer, verdicts;
};

/* For a destination that it has learned by the name, the subject is evaluated as `segment`. */
struct domain {
	const char *name;
	uint32_t subject; /* a common part, or a whole where that counts, too (domains.c) */
	uint32_t segment;
};

struct endpoint_address {
	struct address address;
	uint32_t endpoint, segment, resolution;
};

struct pair {
	uint32_t subject, peer; /* IDs */
	uint32_t verdicts;
};

/* A named list, and a resolution that a destination of it may have. */
struct need {
	uint32_t verdicts, resolution;
};

struct compiler {
	const struct cluster *cluster;
	const struct policy *base;
	uint32_t first; /* generation of a policy without a base */
	struct diag *diag;
	struct obstack memory;
	bool too_big;

	struct intern matcher_bytes;
	ARRAY(struct matcher) matchers;
	ARRAY(struct clause) clauses;
	ARRAY(struct plain_rule) rules;
	struct intern rule_keys; /* keys of rules, by number in rules */
	ARRAY(struct unit) units;
	numbers_t negative_subjects; /* matchers */
	numbers_t negative_names; /* matchers that are negative and have port names */
	/* matcher (UINT32_MAX: any peer) and name, by number in name_uses */
	struct intern name_use_keys;
	ARRAY(struct name_use) name_uses;
	uint32_t any_names; /* 1 + the first in name_uses: of any peer; 0: none */

	ARRAY(struct region) regions; /* sorted by address and length */
	ARRAY(struct domain) domains;

	struct intern sets; /* sets of numbers, sorted */
	struct intern names; /* sets of port names, as sorted indexes of port_names */
	struct intern port_names; /* strings */
	struct intern resolutions; /* numbered from 1; 0 gives no name a number */

	struct intern segment_bytes;
	ARRAY(struct segment) segments;
	ARRAY(struct endpoint_address) addresses; /* by endpoint */

	struct intern peer_bytes;
	ARRAY(struct peer_class) peers;
	struct intern subject_bytes;
	ARRAY(struct subject) subjects;

	struct intern audit_bytes;
	ARRAY(struct audit) audits;
	struct intern rule_lists; /* isolation_of(), then rules */
	ARRAY(struct verdict_list) verdicts;
	ARRAY(struct common_pair) common_pairs;
	struct intern interval_lists; /* one after another, without gaps: ports_intervals() */

	struct lineage *lineage;
	ARRAY(struct pair) pairs;
	struct intern needs; /* struct need */

	struct budgets *budgets; /* budget.h; NULL: nothing is counted */
};

/* keys.c */
/* Returns 128 bits of BLAKE2b. Keys outlive the process, so no input may make two of them
 * collide. */
struct policy_key bytes_key(const bytes_t *bytes);

/* Appends "namespace/name" or "name", with its NUL. */
void policy_name_put(bytes_t *bytes, const struct policy_object *policy);
/* Add what selectors, the ports of rules, and rules without regard to their place, are equal by. */
void selector_put(bytes_t *bytes, const struct selector *selector);
void rule_ports_put(bytes_t *bytes, const struct rule *rule);
void rule_put(bytes_t *bytes, const struct rule *rule);

/* compiler.c */
void compiler_name_rules(struct compiler *c); /* gives the rules their IDs */
void compiler_free(struct compiler *c);
/* Half of the slots, so that the maps hold a policy and its successor together until the commit. */
#define SEGMENTS_MAX (BH_SLOT_MAX / 2)
/* The expected pods of a namespace get at most so many new segments in advance: whoever may make
 * pods that never get an address must not multiply what the policies of others need. A pod without
 * its segment gets it when it has its address. */
#define EXPECTED_SEGMENTS 256

/* rules.c */
void rules_build(struct compiler *c);
/* Returns true if the clause requires nothing of an endpoint, so that the list of excluded
 * endpoints is shorter. */
bool clause_is_negative(const struct clause *clause);
uint64_t clause_steps(const struct clause *clause); /* what it takes to match an endpoint */

/* prefixes.c */
void regions_build(struct compiler *c);
uint32_t regions_find(const struct compiler *c, const struct address *address);

/* members.c */
struct members;
struct members *members_open(struct compiler *c);
/* Appends the matchers whose endpoint clauses list @endpoint, sorted. */
void members_list(struct members *members, const struct endpoint *endpoint, numbers_t *listed);
void members_close(struct members *members);

/* segments.c */
/* Begin, place the cluster's endpoints, expected pods and regions. Between them, extend.c adds the
 * policy's segments by their sets of matchers. segments_add() returns the number of the segment,
 * new or not. */
void segments_begin(struct compiler *c);
uint32_t segments_add(struct compiler *c, uint32_t set, bool external);
void segments_place(struct compiler *c);
/* Adds the segment as which a subject is evaluated for destinations that it has learned by a name.
 * @common, @own: its rules then. Returns the number of the segment, new or not. */
uint32_t segments_add_by_name(struct compiler *c, uint32_t subject, const numbers_t *common,
			      const numbers_t *own);

/* domains.c: adds the segments of subjects that have learned an address by a name, after all
 * others. */
void domains_build(struct compiler *c);

/*
 * Who isolates a subject in a direction, in one number: bit 0 if a policy or the namespace does,
 * and above it 1 + the set of the audited policies that would, as indexes of the cluster's
 * policies; 0: none would. @audited: these indexes, which are sorted.
 */
uint32_t isolation_of(struct compiler *c, bool isolated, numbers_t *audited);

static inline bool isolation_enforced(uint32_t isolation)
{
	return isolation & 1;
}

static inline bool isolation_audited(uint32_t isolation)
{
	return isolation >> 1;
}

/* Appends the names of the audited policies to a key; nothing if there are none. */
void isolation_put(struct compiler *c, bytes_t *bytes, uint32_t isolation);

/* Returns @verdict, of the enforced policies, with an audit record if @would denies for want of
 * enforcement only. @would: the verdict of all policies; @rule: the rule that decides it, or
 * UINT32_MAX. */
uint32_t audit_verdict(struct compiler *c, uint32_t isolation, uint32_t verdict, uint32_t would,
		       uint32_t rule);

/* Returns the verdict list if exactly @rules (numbers, ascending) match a subject; INTERN_NONE:
 * a policy of the rules is over a budget. @isolation: as isolation_of() returns it. */
uint32_t ports_collapse(struct compiler *c, uint32_t isolation, const uint32_t *rules, size_t n);
/* Returns the rules of a verdict list that can decide. */
const uint32_t *ports_rules(const struct compiler *c, uint32_t verdicts, size_t *n);
struct policy_key ports_list_key(struct compiler *c, uint32_t rule_list);
struct bh_ports_ref ports_resolve(struct compiler *c, uint32_t rule_list, uint32_t resolution);

/* Returns the intervals of all lists, to which bh_ports_ref refers. Valid until the next
 * ports_resolve(). */
const struct bh_interval *ports_intervals(const struct compiler *c, size_t *n);

/* Reads the next {name, protocol, port} of a resolution from *@offset on. Returns false at its
 * end. */
bool resolution_next(const struct compiler *c, uint32_t resolution, size_t *offset,
		     const char **name, uint8_t *protocol, uint16_t *port);

/* reach.c */
void reach_build(struct compiler *c);

/* lineage.c: a record's ID is the base's if the base has its key, else the next free one. */
struct lineage;
struct lineage *lineage_open(const struct policy *base);
/* Returns true if a successor might give IDs that nodes have for their own segments (BH_IDS_LOCAL,
 * maps/blob.h): it begins a new lineage in place of that. */
bool lineage_is_used_up(const struct policy *base);
/* Makes new IDs, but those of rules, begin at @from. */
void lineage_begin_at(struct lineage *lineage, uint32_t from);
uint32_t lineage_class(struct lineage *lineage, const struct policy_key *key);
uint32_t lineage_list(struct lineage *lineage, const struct policy_key *key);
uint32_t lineage_resolution(struct lineage *lineage, const struct policy_key *key);
uint32_t lineage_rule(struct lineage *lineage, const struct plain_rule *rule);
/* @names: of the audited policies, one after another, each with its NUL. */
uint32_t lineage_audit(struct lineage *lineage, const struct audit *audit, const bytes_t *names);
/* Makes new IDs of audit records begin in the range of a node's own, behind those of @before (NULL:
 * none). */
void lineage_extends(struct lineage *lineage, const struct policy *before);
uint32_t lineage_segment(struct lineage *lineage, const struct policy_key *key,
			 const struct policy_segment **old); /* NULL: the segment is new */
/* Returns an ID for a segment that replaces the base's of the same key. */
uint32_t lineage_new_segment(struct lineage *lineage);
/* Sets the policy's next_* IDs. */
void lineage_numbers(const struct lineage *lineage, struct policy *policy);
void lineage_close(struct lineage *lineage);

/* Adds a pair, and notes the resolutions for which its verdict list needs a form. */
void tables_pair(struct compiler *c, uint32_t subject, uint32_t peer, uint32_t verdicts);
void tables_need(struct compiler *c, uint32_t verdicts, uint32_t resolution_set);
struct policy *tables_build(struct compiler *c);

#endif
