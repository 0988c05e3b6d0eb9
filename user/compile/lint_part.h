/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of lint(): the objects, the policy that they compile to, and the findings. */
#ifndef BULKHEAD_COMPILE_LINT_PART_H
#define BULKHEAD_COMPILE_LINT_PART_H

#include "compile/lint.h"

struct lint {
	const struct cluster *cluster;
	const struct policy *policy;
	const char *suffixes; /* suffix.h */
	bool *decides; /* by index in policy->rules: the rule decides some verdict */
	uint32_t *rules; /* indexes in policy->rules, by the policies' names */
	/* indexes of endpoints: of neighbours with the same namespace and labels, the first */
	uint32_t *kinds;
	size_t n_kinds;
	/* labels and port names that may yet be looked at to say what was meant: findings may be
	 * many */
	size_t looks;
	struct lint_findings *findings;
};

/* Adds a finding of @check about @object, at @where. */
void lint_find(struct lint *lint, const char *check, const struct where *where, const char *object,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns the first endpoint from @i on that a policy selects; the number of endpoints: there is
 * none. */
size_t lint_next_subject(const struct lint *lint, const struct policy_object *object, size_t i);

/* lint_names.c: returns true if a peer of the rule is domain names. */
bool lint_has_names(const struct rule *rule);
/* Finds wildcards of names that have many owners, and names that are allowed to pods that may call
 * every address. @name: the rule's. */
void lint_names(struct lint *lint, const struct policy_object *object, const struct rule *rule,
		const char *name);

/* lint_lacks.c: says which wanted label nothing has, and what was probably meant: ": no endpoint in
 * shop has app=wbe; did you mean `web`?"; "" if each wanted label is something's, or after
 * LINT_LOOKS. @ns: of the endpoints; NULL: any. @namespaces: NULL: all. Returns @text. */
#define LINT_LACKS 1200
#define LINT_LOOKS 10000000 /* a second, or so */
const char *lint_lacks(struct lint *lint, const char *ns, const struct selector *namespaces,
		       const struct selector *pods, char text[LINT_LACKS]);
const char *lint_lacks_node(struct lint *lint, const struct selector *nodes, char text[LINT_LACKS]);

/* Says what the name of a port was meant to be: "; did you mean `sql`?", " of UDP, but one of TCP",
 * or "". No endpoint has @port. Returns @text. */
const char *lint_like_port(struct lint *lint, const struct port *port, char text[LINT_LACKS]);

/* lint_service.c: finds a CIDR of the rule @name that seems meant for addresses of Services. */
void lint_service_block(struct lint *lint, const struct peer *peer, const struct where *where,
			const char *name);

/* lint_backends.c: finds Services of which callers reach one backend and not another. */
void lint_services(struct lint *lint);

/* lint_room.c: finds namespaces whose objects take more memory than an engine has for them, or for
 * those of all namespaces. */
void lint_room(struct lint *lint);

#endif
