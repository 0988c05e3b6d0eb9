/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Budgets: how much of the compiled policy, and of the work to make it, one NetworkPolicy and one
 * namespace may bring. The steps of the compiler charge what they make to the policy that asks for
 * it, and leave out further work for a policy or namespace that is over a budget. compile_cluster()
 * then sets the policy aside, or all NetworkPolicies of the namespace, and compiles again: a policy
 * that is set aside has no rules and isolates the pods that it selects, in the directions that it
 * names. Budgets count, they do not measure time: equal inputs give equal results.
 *
 * Policies with equal peers share a matcher, and its work is done once: the first of them pays, in
 * the order of rules_build(). So a policy pays at most what it would pay alone, whoever copies its
 * peers or shares those of others: a copy costs its author its own size, rules and pairs, and the
 * one who is copied nothing. If the first is over its budget, what is left out of the matcher is
 * missing for all who share it in this pass alone: the next pass is without that policy, and the
 * next of them pays. A policy that is within its budget only since another pays is set aside when
 * that one goes: it asked for more than its budget by itself.
 *
 * Policies of the administrator have no budget, since a tenant cannot write them. What a tenant's
 * policies make of an administrator's rules is charged to the tenant's namespace.
 */
#ifndef BULKHEAD_COMPILE_BUDGET_H
#define BULKHEAD_COMPILE_BUDGET_H

#include "policy/asides.h"
#include "compile/compiler.h"

enum budget {
	BUDGET_PREFIXES,
	BUDGET_SEGMENTS,
	BUDGET_VARIATIONS,
	BUDGET_LISTS,
	BUDGET_INTERVALS,
	BUDGET_PAIRS,
	BUDGET_BYTES,
	BUDGET_STEPS,
	BUDGET_FRONTENDS,
	BUDGET_BACKENDS,
	BUDGETS,
};

/* The limits of a budget, in the order of enum budget. */
struct budget_limit {
	const char *what; /* "port intervals" */
	uint32_t object, ns; /* UINT32_MAX: there is no limit */
	uint32_t bytes; /* one unit is charged as so many bytes too */
	/* what all namespaces may need together, of what each needs beyond @own; 0: no limit */
	uint32_t cluster, own;
};

extern const struct budget_limit budget_limits[BUDGETS];

/* budget_again.c: sets aside what @before (NULL: nothing) has of namespaces with the same policies.
 * Returns asides.again of the compile; budget_note_keys() notes it for the next one. */
unsigned int budgets_begin(struct compiler *c, const struct cluster *given,
			   const struct asides *before);
void budget_note_keys(const struct cluster *cluster, struct asides *asides, unsigned int again);
void budget_set_aside(struct compiler *c, uint32_t policy, const char *why, bool nameless);
const char *budget_kind_of(const struct policy_object *policy);

/* Opens the accounts of a compile. While they are open, c->cluster is a copy of the cluster whose
 * policies budgets_apply() can replace. */
void budgets_open(struct compiler *c);
void budgets_close(struct budgets *budgets); /* NULL is fine */
/* Tells the accounts that each charge until the next call is for pods of these namespaces
 * (budget_strangers.h); 0: of none. @ns stays valid so long. */
void budget_strangers(struct compiler *c, const uint32_t *ns, size_t n);
/* Lets the NetworkPolicies of a namespace match no pods of the namespaces that @aside leaves out.
 */
void budget_leave_out(struct compiler *c, uint32_t ns, const struct aside *aside);
/* Returns how many rules of the policy were left out, since they are equal to others of it. */
uint64_t budget_repeats(const struct compiler *c, const struct policy_object *policy);

/* Charges @n units to the policy and its namespace. Returns false if one of them is over a budget:
 * the work is to be left out, since its result will not be used. The namespace does not pay for a
 * policy that is over its own. */
bool budget_charge(struct compiler *c, const struct policy_object *policy, enum budget budget,
		   uint64_t n);

/* Each policy has been charged its own size. From now on all namespaces together have a budget,
 * too: before, the one that has most of all was not known. */
void budget_sizes_known(struct compiler *c);

/* Charges @each units for every rule to the policies of the rules, and the sum to the namespace of
 * these that has any. Returns as budget_charge(). */
bool budget_charge_rules(struct compiler *c, const uint32_t *rules, size_t n, enum budget budget,
			 uint64_t each);

/* Charges one unit to each policy that has one of the rules, and one to the namespace. Returns as
 * budget_charge(). */
bool budget_charge_once(struct compiler *c, const uint32_t *rules, size_t n, enum budget budget);

/* Charges a pair with a class of addresses that a region with these edges has brought about: as
 * budget_charge_once() if one of the rules has an edge of it. Else the namespace pays whose CIDR it
 * is: a wide CIDR of one namespace is a pair with each CIDR of others. */
bool budget_charge_pair(struct compiler *c, const uint32_t *rules, size_t n, uint32_t edges);
/* Returns false if that namespace is over a budget. */
bool budget_keeps_edges(const struct compiler *c, uint32_t edges);

/* Charges each policy of the rules for the intervals that its @spans (by rule) may begin, but at
 * most @most, and the namespace for all, but at most @most. Returns as budget_charge(). */
bool budget_charge_spans(struct compiler *c, const uint32_t *rules, const uint32_t *spans, size_t n,
			 enum budget budget, uint64_t most);

/* Charges @each units for every matcher to the policy that brought it, and its namespace. */
void budget_charge_matchers(struct compiler *c, const uint32_t *matchers, size_t n,
			    enum budget budget, uint64_t each);

/* Charges the namespace of the first rule that is a NetworkPolicy's. Returns as budget_charge(). */
bool budget_charge_namespace(struct compiler *c, const uint32_t *rules, size_t n,
			     enum budget budget, uint64_t units);

/* Returns false if the policy or its namespace is over a budget. */
bool budget_is_kept(const struct compiler *c, const struct policy_object *policy);

/* Returns true if work has been left out: the compile has to begin again. */
bool budget_any_over(const struct compiler *c);

/*
 * A region of addresses begins with the clauses @edges; @clauses, ascending, hold in it.
 * @matcher_of: the matchers of clauses. Charges the owner of each edge the prefix, and a segment
 * if no region before has the same matchers of this owner.
 */
void budget_charge_region(struct compiler *c, const numbers_t *clauses, const uint32_t *matcher_of,
			  const uint32_t *edges, size_t n);

/* Charges the namespaces of a segment's endpoints the variations of its port names. */
void budget_charge_variations(struct compiler *c);

/* A list of port intervals is longer than any may be: puts the policies with most ports in it over
 * their budget, until the rest fits. @spans: how many ports each of the list's @rules has. Returns
 * false if none is left to be put over. */
bool budget_shorten_list(struct compiler *c, const uint32_t *rules, const uint32_t *spans, size_t n,
			 size_t n_intervals);

/* The policy needs too many segments: puts the namespaces with most prefixes over their budget,
 * until the rest fits. Returns false if no namespace has any. */
bool budget_fewer_segments(struct compiler *c);

/* Returns false if the namespace has used up its variations: its pods' port names have no
 * numbers. */
bool budget_numbers_ports(const struct compiler *c, uint32_t ns);

/* Sets aside what is over a budget, and opens new accounts. */
void budgets_apply(struct compiler *c);

/* Sets aside each BaselineAdminNetworkPolicy but the first: the API knows one. */
void budget_check_baseline(struct compiler *c);

/* budget_services.c: sets Services aside that are over a budget: their addresses stand for no
 * backend. */
void budget_check_services(struct compiler *c);
void budget_close_service(struct compiler *c, size_t service, const char *why);

/* Makes the objects say what a compile that has set @asides aside (NULL: nothing) took them for, to
 * explain its verdicts by them. */
void budget_close_objects(struct cluster *cluster, const struct asides *asides);

/* Returns what has been set aside, to be freed by asides_free(). NULL: nothing. */
struct asides *budgets_asides(const struct compiler *c);

#endif
