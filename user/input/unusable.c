// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that an API server accepts and Bulkhead cannot use. The reader has read such an object as
 * far as it can, and has warned of the faults. Here the object is set aside: a policy isolates what
 * it selects, in the directions that it names; a Namespace isolates its pods; a Service keeps its
 * addresses without backends; an EndpointSlice is left out.
 */
#include <string.h>

#include "input/object.h"

const char *aside_meaning(enum aside_way way)
{
	switch (way) {
	case ASIDE_POLICY:
		return "is set aside, and isolates what it selects";
	case ASIDE_NAMESPACE:
		return "isolates its pods";
	case ASIDE_SERVICE:
		return "keeps its addresses, without backends";
	case ASIDE_LEFT_OUT:
		return "is left out";
	case ASIDE_NEVER:
		break;
	}
	return "is refused";
}

/* The members of a policy's spec that say what it selects. */
#define MEMBERS 4

static void put_member(struct tree *to, const struct tree *from, const char *key,
		       struct tree *member)
{
	const struct tree *found = tree_get(from, key);

	if (!found)
		return;
	*member = *found;
	member->next = NULL;
	tree_append(to, member);
}

/* Silences the reader while what has been reported already is read again. */
struct silence {
	struct diag silent, *diag;
	unsigned int faults;
};

static void silence_begin(struct reader *reader, struct silence *silence)
{
	*silence = (struct silence){.diag = reader->diag, .faults = reader->faults};
	reader->aside = "";
	reader->diag = &silence->silent;
}

static void silence_end(struct reader *reader, const struct silence *silence)
{
	reader->diag = silence->diag;
	reader->aside = NULL;
	reader->faults = silence->faults;
}

/* Reads only the members of the spec in @keys. Returns false if they have a fault, which is not
 * reported again. */
static bool read_part(struct reader *reader, const struct tree *spec, const char *const *keys,
		      struct policy_object *policy)
{
	struct tree members[MEMBERS], part = {.type = TREE_MAP};
	struct silence silence;
	bool right;

	for (size_t i = 0; i < MEMBERS && keys[i]; i++)
		put_member(&part, spec, keys[i], &members[i]);
	silence_begin(reader, &silence);
	if (policy_kind_is_network(policy->kind))
		network_policy_read(reader, &part, policy);
	else
		admin_policy_read(reader, &part, policy);
	right = reader->faults == silence.faults;
	silence_end(reader, &silence);
	return right;
}

/* Returns true if the list of types has the word. */
static bool names(const struct tree *types, const char *word)
{
	const struct tree *item = types && types->type == TREE_LIST ? types->first : NULL;

	for (; item; item = item->next)
		if (item->type == TREE_SCALAR && !strcmp(item->text, word))
			return true;
	return false;
}

static void isolate_network(struct reader *reader, const struct tree *spec,
			    struct policy_object *policy)
{
	static const char *const selector[] = {"podSelector", NULL};
	const struct tree *types = tree_get(spec, "policyTypes");
	const bool ingress = names(types, "Ingress"), egress = names(types, "Egress");

	if (!read_part(reader, spec, selector, policy))
		policy->pods = (struct selector){0};
	if (policy->kind == POLICY_NETWORK_V1BETA1)
		return;
	policy->isolates[INGRESS] = ingress || !egress;
	policy->isolates[EGRESS] = egress || (!ingress && tree_get(spec, "egress"));
	memcpy(policy->applies, policy->isolates, sizeof(policy->applies));
}

/* What an admin policy must tell, so that it can be set aside: whom it is about, and where it
 * stands among others. */
static const char *const admin_subject[] = {"tier", "priority", "subject", NULL};

/* Denies the policy's subject everything in the directions in which the policy has rules. */
static void isolate_admin(struct reader *reader, const struct tree *spec,
			  struct policy_object *policy)
{
	static const char *const directions[] = {[INGRESS] = "ingress", [EGRESS] = "egress"};

	read_part(reader, spec, admin_subject, policy);
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		if (!tree_get(spec, directions[direction]))
			continue;
		reader_array(reader, policy->rules[direction], 1);
		policy->n_rules[direction] = 1;
		*policy->rules[direction] = (struct rule){.name = "refused",
							  .action = ACTION_DENY,
							  .any_peer = true,
							  .any_port = true,
							  .where = policy->where};
	}
}

bool aside_is_possible(struct reader *reader, const struct object *object, enum aside_way way)
{
	struct policy_object policy = {.kind = object->policy};

	return way != ASIDE_POLICY || policy_kind_is_network(policy.kind) ||
	       read_part(reader, tree_get(object->root, "spec"), admin_subject, &policy);
}

/* Returns what object_audit() does. A policy that asks for audit in another word is enforced. */
static bool audit_silently(struct reader *reader, const struct object *object)
{
	struct silence silence;
	bool audit;

	silence_begin(reader, &silence);
	audit = object_audit(reader, object);
	silence_end(reader, &silence);
	return audit;
}

static void set_service_aside(struct reader *reader, const struct object *object)
{
	struct silence silence;

	silence_begin(reader, &silence);
	service_read_closed(reader, object);
	silence_end(reader, &silence);
}

static void set_policy_aside(struct reader *reader, const struct object *object)
{
	const struct tree *spec = tree_get(object->root, "spec");
	struct policy_object *policy = object_add_policy(reader, object);

	policy->accepted = true;
	policy->audit = audit_silently(reader, object);
	policy->tier = TIER_NETWORK_POLICY;
	if (policy_kind_is_network(policy->kind))
		isolate_network(reader, spec, policy);
	else
		isolate_admin(reader, spec, policy);
}

struct aside_mark aside_mark(const struct cluster *cluster)
{
	return (struct aside_mark){cluster->n_policies, cluster->n_services, cluster->n_slices};
}

void aside_object(struct reader *reader, const struct object *object,
		  const struct aside_mark *before)
{
	struct cluster *cluster = reader->cluster;

	switch (object->aside) {
	case ASIDE_POLICY:
		cluster->n_policies = before->n_policies;
		set_policy_aside(reader, object);
		return;
	case ASIDE_NAMESPACE:
		cluster->namespaces[cluster->n_namespaces - 1].isolated = true;
		cluster->namespaces[cluster->n_namespaces - 1].audit = false;
		return;
	case ASIDE_SERVICE:
		cluster->n_services = before->n_services;
		set_service_aside(reader, object);
		return;
	case ASIDE_LEFT_OUT:
		cluster->n_slices = before->n_slices;
		return;
	case ASIDE_NEVER:
		return;
	}
}
