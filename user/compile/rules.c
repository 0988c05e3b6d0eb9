// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies → plain rules. A rule that relates its peers to the subject's namespace (Self,
 * NotSelf, sameLabels, notSameLabels) becomes one rule for each context: a namespace, or the
 * namespaces with equal values of the labels concerned. In a context every relation is an
 * ordinary selector.
 */
#include "compile/budget.h"
#include "compile/spans.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* Namespaces for which the relations of one policy give the same result. */
struct context {
	const struct namespace *ns; /* the first of them; with `exact` the only one */
	bool exact;
	uint32_t unit; /* 1 + number of the unit; 0: none */
};

static void put_clause(bytes_t *bytes, const struct clause *clause)
{
	bytes_number(bytes, clause->kind);
	bytes_string(bytes, clause->ns);
	selector_put(bytes, &clause->namespaces);
	selector_put(bytes, &clause->pods);
	bytes_put(bytes, &clause->cidr, sizeof(clause->cidr));
	bytes_number(bytes, clause->n_except);
	bytes_put(bytes, clause->except, clause->n_except * sizeof(*clause->except));
}

/* Returns true if an endpoint needs nothing to match. */
static bool requires_nothing(const struct selector *selector)
{
	for (size_t i = 0; i < selector->n; i++)
		if (selector->at[i].op == SELECTOR_IN || selector->at[i].op == SELECTOR_EXISTS)
			return false;
	return true;
}

bool clause_is_negative(const struct clause *clause)
{
	return clause->kind == CLAUSE_ENDPOINTS && !clause->ns &&
	       requires_nothing(&clause->namespaces) && requires_nothing(&clause->pods);
}

uint64_t clause_steps(const struct clause *clause)
{
	const uint64_t n = clause->namespaces.n + clause->pods.n;

	return n ? n : 1;
}

struct keyed_clause {
	bytes_t bytes;
	struct clause clause;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed_clause *x = a, *y = b;
	size_t n = x->bytes.n < y->bytes.n ? x->bytes.n : y->bytes.n;
	int order = memcmp(x->bytes.at, y->bytes.at, n);

	return order ? order : x->bytes.n < y->bytes.n ? -1 : x->bytes.n > y->bytes.n;
}

/* Interns the matcher that holds if any of the clauses does. The clauses' order does not
 * count. */
static uint32_t add_matcher(struct compiler *c, const struct policy_object *owner,
			    const struct clause *clauses, size_t n)
{
	struct keyed_clause *keyed = grow_zeroed(n, sizeof(*keyed));
	bytes_t all = {0};
	uint32_t number;
	bool fresh;

	for (size_t i = 0; i < n; i++) {
		keyed[i].clause = clauses[i];
		put_clause(&keyed[i].bytes, &clauses[i]);
	}
	qsort(keyed, n, sizeof(*keyed), compare_keyed);
	for (size_t i = 0; i < n; i++)
		if (!i || compare_keyed(&keyed[i - 1], &keyed[i]))
			bytes_put(&all, keyed[i].bytes.at, keyed[i].bytes.n);
	number = intern_add(&c->matcher_bytes, all.at, all.n, &fresh);
	if (fresh) {
		struct matcher *matcher = array_add(&c->matchers);

		*matcher = (struct matcher){
			.key = bytes_key(&all), .owner = owner, .clauses = c->clauses.n};
		for (size_t i = 0; i < n; i++) {
			if (i && !compare_keyed(&keyed[i - 1], &keyed[i]))
				continue;
			array_push(&c->clauses, keyed[i].clause);
			matcher->n_clauses++;
			matcher->steps += clause_steps(&keyed[i].clause);
			matcher->negative |= clause_is_negative(&keyed[i].clause);
			matcher->domains |= keyed[i].clause.kind == CLAUSE_DOMAIN;
		}
	}
	for (size_t i = 0; i < n; i++)
		array_free(&keyed[i].bytes);
	array_free(&all);
	free(keyed);
	return number;
}

static struct selector with_requirement(struct compiler *c, struct selector selector,
					struct requirement requirement)
{
	struct requirement *at = obstack_alloc(&c->memory, (selector.n + 1) * sizeof(*at));
	size_t i = 0;

	/* keeps the order by key; among equal keys the new one goes last */
	for (; i < selector.n && strcmp(selector.at[i].key, requirement.key) <= 0; i++)
		at[i] = selector.at[i];
	at[i] = requirement;
	for (; i < selector.n; i++)
		at[i + 1] = selector.at[i];
	return (struct selector){at, selector.n + 1};
}

static struct selector with_value(struct compiler *c, struct selector selector, const char *key,
				  enum selector_op op, const char *value)
{
	const char **values = NULL;

	if (value) {
		values = obstack_alloc(&c->memory, sizeof(*values));
		*values = value;
	}
	return with_requirement(c, selector, (struct requirement){key, op, values, value ? 1 : 0});
}

static bool is_relational(const struct peer *peer)
{
	return peer->scope == PEER_SELF || peer->scope == PEER_NOT_SELF ||
	       peer->scope == PEER_SAME_LABELS || peer->scope == PEER_NOT_SAME_LABELS;
}

static bool rule_is_relational(const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (is_relational(&rule->peers[i]))
			return true;
	return false;
}

/* Returns the cluster's interned key of the label that names a namespace. */
static const char *name_key(const struct namespace *ns)
{
	size_t i = 0;

	while (strcmp(ns->labels.at[i].key, NAME_LABEL))
		i++;
	return ns->labels.at[i].key;
}

/* Makes the peer's selector of namespaces in a context. Returns false if it matches nothing
 * there. */
static bool relate(struct compiler *c, const struct peer *peer, const struct context *context,
		   struct clause *clause)
{
	const struct namespace *ns = context->ns;

	switch (peer->scope) {
	case PEER_SELF:
		clause->ns = ns->name;
		return true;
	case PEER_NOT_SELF:
		clause->namespaces =
			with_value(c, clause->namespaces, name_key(ns), SELECTOR_NOT_IN, ns->name);
		return true;
	case PEER_SAME_LABELS:
	case PEER_NOT_SAME_LABELS:
		break;
	case PEER_NAMESPACE:
	case PEER_NAMESPACES:
	case PEER_NODES:
	case PEER_CIDR:
	case PEER_DOMAINS:
		return false; /* add_peer_clauses() has them */
	}
	for (size_t i = 0; i < peer->n_keys; i++) {
		const char *value = labels_get(&ns->labels, peer->keys[i]);
		bool same = peer->scope == PEER_SAME_LABELS;

		if (!value && same)
			return false;
		if (value)
			clause->namespaces =
				with_value(c, clause->namespaces, peer->keys[i],
					   same ? SELECTOR_IN : SELECTOR_NOT_IN, value);
	}
	return peer->n_keys > 0; /* KEP-2091: an empty list of labels selects nothing */
}

typedef ARRAY(struct clause) clauses_t;
typedef ARRAY(const char *) strings_t;

static void add_node_clauses(const struct compiler *c, const struct selector *selector,
			     clauses_t *clauses)
{
	for (size_t i = 0; i < c->cluster->n_nodes; i++) {
		const struct node *node = &c->cluster->nodes[i];

		if (!selector_matches(selector, &node->labels))
			continue;
		for (size_t j = 0; j < node->n_addresses; j++)
			array_push(clauses, ((struct clause){.kind = CLAUSE_ADDRESSES,
							     .cidr = {node->addresses[j], 128}}));
	}
}

static void add_domain_clauses(const struct peer *peer, clauses_t *clauses)
{
	for (size_t i = 0; i < peer->n_keys; i++)
		array_push(clauses, ((struct clause){.kind = CLAUSE_DOMAIN, .ns = peer->keys[i]}));
}

static void add_peer_clauses(struct compiler *c, const struct policy_object *policy,
			     const struct peer *peer, const struct context *context,
			     clauses_t *clauses)
{
	struct clause clause = {.kind = CLAUSE_ENDPOINTS, .pods = peer->pods};

	switch (peer->scope) {
	case PEER_NODES:
		add_node_clauses(c, &peer->nodes, clauses);
		return;
	case PEER_DOMAINS:
		add_domain_clauses(peer, clauses);
		return;
	case PEER_CIDR:
		clause = (struct clause){.kind = CLAUSE_ADDRESSES,
					 .cidr = peer->cidr,
					 .except = peer->except,
					 .n_except = peer->n_except};
		break;
	case PEER_NAMESPACE:
		clause.ns = policy->ns_name;
		break;
	case PEER_NAMESPACES:
		clause.namespaces = peer->namespaces;
		break;
	case PEER_SELF:
	case PEER_NOT_SELF:
	case PEER_SAME_LABELS:
	case PEER_NOT_SAME_LABELS:
		if (!relate(c, peer, context, &clause))
			return;
	}
	array_push(clauses, clause);
}

/* Returns a key of all inputs of the rule's decisions and name. */
static struct policy_key rule_key(struct compiler *c, const struct plain_rule *plain)
{
	const struct policy_object *policy = plain->policy;
	bytes_t bytes = {0};
	struct policy_key key;

	bytes_number(&bytes, policy->kind);
	bytes_number(&bytes, policy->tier);
	bytes_number(&bytes, policy->priority);
	bytes_string(&bytes, policy->ns_name);
	bytes_string(&bytes, policy->name);
	bytes_number(&bytes, plain->direction);
	bytes_number(&bytes, plain->rule->index);
	bytes_string(&bytes, plain->rule->name);
	bytes_number(&bytes, plain->action);
	bytes_number(&bytes, plain->any_peer);
	if (plain->own)
		bytes_put(&bytes, &c->matchers.at[plain->own - 1].key, sizeof(key));
	bytes_number(&bytes, plain->own != 0);
	if (plain->common)
		bytes_put(&bytes, &c->matchers.at[plain->common - 1].key, sizeof(key));
	bytes_number(&bytes, plain->common != 0);
	rule_ports_put(&bytes, plain->rule);
	if (policy->audit)
		bytes_string(&bytes, "audit");
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key;
}

static uint32_t count_names(const struct rule *rule)
{
	uint32_t n = 0;

	for (size_t i = 0; i < rule->n_ports; i++)
		n += rule->ports[i].kind == PORT_NAME;
	return n;
}

/* Notes the port names that an egress rule uses of a matcher's members; UINT32_MAX: of any peer.
 * @first: the list of these. */
static void add_names(struct compiler *c, const struct plain_rule *plain, uint32_t matcher,
		      uint32_t *first)
{
	const struct rule *rule = plain->rule;

	for (size_t i = 0; i < rule->n_ports; i++) {
		uint32_t use[2] = {matcher};
		bool fresh;

		if (rule->ports[i].kind != PORT_NAME)
			continue;
		use[1] = intern_add(&c->port_names, rule->ports[i].name,
				    strlen(rule->ports[i].name) + 1, NULL);
		intern_add(&c->name_use_keys, use, sizeof(use), &fresh);
		if (!fresh)
			continue;
		array_push(&c->name_uses, ((struct name_use){*first, use[1], plain->policy}));
		*first = c->name_uses.n;
	}
}

/* Notes the port names that an egress rule uses of its peers. */
static void add_peer_names(struct compiler *c, const struct plain_rule *plain)
{
	const uint32_t matchers[] = {plain->own, plain->common};

	if (plain->any_peer)
		add_names(c, plain, UINT32_MAX, &c->any_names);
	for (int i = 0; i < 2; i++)
		if (matchers[i])
			add_names(c, plain, matchers[i] - 1,
				  &c->matchers.at[matchers[i] - 1].names);
}

/* Splits the peers into `own` ones, which only this subject tells apart, and common ones. */
static void match_peers(struct compiler *c, struct plain_rule *plain, const struct context *context)
{
	clauses_t own = {0}, common = {0}, all = {0};

	for (size_t i = 0; i < plain->rule->n_peers; i++)
		add_peer_clauses(c, plain->policy, &plain->rule->peers[i], context, &all);
	for (size_t i = 0; i < all.n; i++) {
		bool narrow = plain->policy->tier == TIER_NETWORK_POLICY &&
			      all.at[i].kind == CLAUSE_ENDPOINTS && !clause_is_negative(&all.at[i]);
		clauses_t *to = narrow ? &own : &common;

		array_push(to, all.at[i]);
	}
	if (own.n) {
		plain->own = 1 + add_matcher(c, plain->policy, own.at, own.n);
		c->matchers.at[plain->own - 1].own = true;
	}
	if (common.n) {
		plain->common = 1 + add_matcher(c, plain->policy, common.at, common.n);
		c->matchers.at[plain->common - 1].common = true;
	}
	array_free(&own);
	array_free(&common);
	array_free(&all);
}

/* Adds the rule as it is for a destination that the subject has learned by a name of it: it matches
 * every peer then. It has the same place in the order. */
static void add_rule_by_name(struct compiler *c, uint32_t number)
{
	struct plain_rule plain = c->rules.at[number];
	bool fresh;

	plain.own = plain.common = 0;
	plain.any_peer = true;
	plain.key = rule_key(c, &plain);
	c->rules.at[number].by_name =
		1 + intern_add(&c->rule_keys, &plain.key, sizeof(plain.key), &fresh);
	if (fresh)
		array_push(&c->rules, plain);
}

/* Returns the number of the new rule; INTERN_NONE if it can match nothing. */
static uint32_t add_rule(struct compiler *c, const struct policy_object *policy,
			 enum direction direction, const struct rule *rule,
			 const struct context *context)
{
	struct plain_rule plain = {.policy = policy,
				   .rule = rule,
				   .direction = direction,
				   .action = rule->action,
				   .any_peer = rule->any_peer,
				   .any_port = rule->any_port};
	uint32_t number;
	bool fresh;

	if (rule->unknown) {
		/* The API requires to fail closed: an Allow rule matches nothing, the others
		 * match all. */
		if (rule->action == ACTION_ALLOW)
			return INTERN_NONE;
		plain.action = ACTION_DENY;
		plain.any_peer = plain.any_port = true;
	}
	if (!plain.any_peer)
		match_peers(c, &plain, context);
	if (!plain.any_peer && !plain.own && !plain.common)
		return INTERN_NONE;
	plain.n_names = plain.any_port ? 0 : count_names(rule);
	plain.key = rule_key(c, &plain);
	/* if the relations give the same result in several contexts, there is one rule */
	number = intern_add(&c->rule_keys, &plain.key, sizeof(plain.key), &fresh);
	if (!fresh)
		return number;
	if (plain.n_names && direction == EGRESS)
		add_peer_names(c, &plain);
	spans_of_rule(c, &plain);
	array_push(&c->rules, plain);
	if (plain.common && c->matchers.at[plain.common - 1].domains)
		add_rule_by_name(c, number);
	return number;
}

static uint32_t add_unit(struct compiler *c, const struct policy_object *policy,
			 const struct clause *subject)
{
	uint32_t number = add_matcher(c, policy, subject, 1);
	struct matcher *matcher = &c->matchers.at[number];

	if (matcher->negative && !matcher->units)
		array_push(&c->negative_subjects, number);
	matcher->subject = true;
	array_push(&c->units,
		   ((struct unit){.next = matcher->units, .matcher = number, .policy = policy}));
	matcher->units = c->units.n;
	return c->units.n - 1;
}

static struct clause subject_of(const struct policy_object *policy)
{
	return (struct clause){.kind = CLAUSE_ENDPOINTS,
			       .ns = policy->ns_name,
			       .namespaces = policy->namespaces,
			       .pods = policy->pods};
}

/* Finds the labels whose values tell contexts apart. *@exact: each namespace is a context of its
 * own. */
static void relation_keys(const struct policy_object *policy, bool *exact, strings_t *keys)
{
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		for (size_t i = 0; i < policy->n_rules[direction]; i++) {
			const struct rule *rule = &policy->rules[direction][i];

			for (size_t j = 0; j < rule->n_peers; j++) {
				const struct peer *peer = &rule->peers[j];

				*exact |= peer->scope == PEER_SELF || peer->scope == PEER_NOT_SELF;
				if (!is_relational(peer))
					continue;
				for (size_t k = 0; k < peer->n_keys; k++)
					array_push(keys, peer->keys[k]);
			}
		}
	}
}

typedef ARRAY(struct context) contexts_t;

static struct clause context_subject(struct compiler *c, const struct policy_object *policy,
				     const struct context *context, const strings_t *keys)
{
	struct clause subject = subject_of(policy);

	if (context->exact) {
		subject.ns = context->ns->name;
		subject.namespaces = (struct selector){0};
		return subject;
	}
	for (size_t i = 0; i < keys->n; i++) {
		const char *value = labels_get(&context->ns->labels, keys->at[i]);

		subject.namespaces =
			with_value(c, subject.namespaces, keys->at[i],
				   value ? SELECTOR_IN : SELECTOR_DOES_NOT_EXIST, value);
	}
	return subject;
}

/* Makes a context for each result that the relations have among the policy's namespaces. */
static void find_contexts(struct compiler *c, const struct policy_object *policy,
			  contexts_t *contexts)
{
	struct intern seen = {0};
	strings_t keys = {0};
	bytes_t bytes = {0};
	bool exact = false, fresh;

	relation_keys(policy, &exact, &keys);
	for (size_t i = 0; i < c->cluster->n_namespaces; i++) {
		struct context context = {.ns = &c->cluster->namespaces[i], .exact = exact};
		struct clause subject;

		if (!selector_matches(&policy->namespaces, &context.ns->labels))
			continue;
		bytes.n = 0;
		if (exact)
			bytes_string(&bytes, context.ns->name);
		for (size_t k = 0; !exact && k < keys.n; k++)
			bytes_string(&bytes, labels_get(&context.ns->labels, keys.at[k]));
		intern_add(&seen, bytes.at, bytes.n, &fresh);
		if (!fresh)
			continue;
		subject = context_subject(c, policy, &context, &keys);
		context.unit = add_unit(c, policy, &subject);
		array_push(contexts, context);
	}
	intern_free(&seen);
	array_free(&keys);
	array_free(&bytes);
}

static void add_to_unit(struct compiler *c, uint32_t unit, const struct policy_object *policy,
			enum direction direction, const struct rule *rule,
			const struct context *context)
{
	uint32_t number = add_rule(c, policy, direction, rule, context);

	if (number != INTERN_NONE)
		array_push(&c->units.at[unit].rules[direction], number);
}

/* A selector's requirements stand in a clause, and in the policy as it was given; so do its words.
 */
static size_t selector_bytes(const struct selector *selector)
{
	size_t bytes = selector->n * sizeof(struct policy_requirement);

	for (size_t i = 0; i < selector->n; i++) {
		bytes += strlen(selector->at[i].key) + 1;
		for (size_t k = 0; k < selector->at[i].n_values; k++)
			bytes += sizeof(uint32_t) + strlen(selector->at[i].values[k]) + 1;
	}
	return 2 * bytes;
}

static size_t peer_bytes(const struct peer *peer)
{
	size_t bytes = sizeof(struct policy_given_peer) + sizeof(struct policy_clause) +
		       2 * peer->n_except * sizeof(struct policy_cidr);

	for (size_t i = 0; i < peer->n_keys; i++)
		bytes += sizeof(uint32_t) + strlen(peer->keys[i]) + 1;
	return bytes + selector_bytes(&peer->namespaces) + selector_bytes(&peer->pods) +
	       selector_bytes(&peer->nodes);
}

static size_t port_bytes(const struct port *port)
{
	return sizeof(struct policy_given_port) + (port->name ? strlen(port->name) + 1 : 0);
}

/* Steps that a policy, and each of these in it, takes beside what other files charge: 1.3 us for a
 * policy, rule or peer, 0.6 us for a port, 0.1 us for a rule that is equal to another, measured, a
 * step being 10 ns. */
#define POLICY_STEPS 128
#define RULE_STEPS 128
#define REPEAT_STEPS 12
#define PEER_STEPS 128
#define PORT_STEPS 64

/* Charges the policy its own size. */
static void charge_size(struct compiler *c, const struct policy_object *policy)
{
	size_t bytes = sizeof(struct policy_given) + 2 * (strlen(policy->name) + 1) +
		       selector_bytes(&policy->namespaces) + selector_bytes(&policy->pods);
	size_t steps = POLICY_STEPS + REPEAT_STEPS * budget_repeats(c, policy);

	for (int direction = INGRESS; direction <= EGRESS; direction++)
		for (size_t i = 0; i < policy->n_rules[direction]; i++) {
			const struct rule *rule = &policy->rules[direction][i];

			bytes += sizeof(struct policy_rule) + sizeof(struct policy_given_rule);
			steps += RULE_STEPS + PEER_STEPS * rule->n_peers +
				 PORT_STEPS * rule->n_ports;
			for (size_t k = 0; k < rule->n_peers; k++)
				bytes += peer_bytes(&rule->peers[k]);
			for (size_t k = 0; k < rule->n_ports; k++)
				bytes += port_bytes(&rule->ports[k]);
		}
	budget_charge(c, policy, BUDGET_BYTES, bytes);
	budget_charge(c, policy, BUDGET_STEPS, steps);
}

static void build_policy(struct compiler *c, const struct policy_object *policy)
{
	struct clause subject = subject_of(policy);
	uint32_t unit = add_unit(c, policy, &subject);
	contexts_t contexts = {0};
	bool contexts_known = false;

	if (!budget_is_kept(c, policy))
		return;
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		c->units.at[unit].isolates[direction] = policy->isolates[direction];
		if (!policy->applies[direction])
			continue;
		for (size_t i = 0; i < policy->n_rules[direction]; i++) {
			const struct rule *rule = &policy->rules[direction][i];

			if (!rule_is_relational(rule)) {
				add_to_unit(c, unit, policy, direction, rule, NULL);
				continue;
			}
			if (!contexts_known)
				find_contexts(c, policy, &contexts);
			contexts_known = true;
			for (size_t j = 0; j < contexts.n; j++)
				add_to_unit(c, contexts.at[j].unit, policy, direction, rule,
					    &contexts.at[j]);
		}
	}
	array_free(&contexts);
}

/* extensions/v1beta1: the namespace isolates its pods, whatever policies it has. */
static void build_isolation(struct compiler *c, const struct namespace *ns)
{
	struct clause subject = {.kind = CLAUSE_ENDPOINTS, .ns = ns->name};
	uint32_t unit = add_unit(c, NULL, &subject);

	c->units.at[unit].isolates[INGRESS] = true;
}

static int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Orders policies as the cluster does, but NetworkPolicies of both versions by name: of several
 * that allow a flow, the first by name counts as the one that decides. */
static int compare_policies(const void *a, const void *b)
{
	const struct policy_object *x = *(const struct policy_object *const *)a;
	const struct policy_object *y = *(const struct policy_object *const *)b;
	int order;

	if (x->tier != y->tier)
		return x->tier < y->tier ? -1 : 1;
	if (x->tier != TIER_NETWORK_POLICY)
		return x < y ? -1 : x > y;
	order = compare_names(x->ns_name, y->ns_name);
	if (!order)
		order = compare_names(x->name, y->name);
	return order ? order : x->kind < y->kind ? -1 : x->kind > y->kind;
}

void rules_build(struct compiler *c)
{
	const struct cluster *cluster = c->cluster;
	const struct policy_object **policies = grow_zeroed(cluster->n_policies, sizeof(*policies));

	for (size_t i = 0; i < cluster->n_policies; i++)
		policies[i] = &cluster->policies[i];
	qsort(policies, cluster->n_policies, sizeof(*policies), compare_policies);
	for (size_t i = 0; i < cluster->n_policies; i++)
		charge_size(c, policies[i]);
	budget_sizes_known(c);
	for (size_t i = 0; i < cluster->n_policies; i++)
		build_policy(c, policies[i]);
	for (size_t i = 0; i < cluster->n_namespaces; i++)
		if (cluster->namespaces[i].isolated)
			build_isolation(c, &cluster->namespaces[i]);
	free(policies);
}
