// SPDX-License-Identifier: GPL-2.0-only
/* Says why a selector selects nothing: which label nothing has; and which label or port name was
 * probably meant. */
#include <stdio.h>
#include <string.h>

#include "compile/lint_part.h"
#include "model/nearest.h"
#include "model/protocol.h"

/* What a selector chooses from. */
struct choice {
	struct lint *lint;
	const char *what; /* "endpoint" */
	const char *ns; /* NULL: endpoints of every namespace */
	size_t n;
	const struct labels *(*labels)(const struct choice *choice,
				       size_t i); /* NULL: passed over */
};

/* Returns true if one more label or port name may be looked at. */
static bool may_look(struct lint *lint)
{
	return lint->looks && lint->looks--;
}

static const struct labels *endpoint_labels(const struct choice *choice, size_t i)
{
	const struct cluster *cluster = choice->lint->cluster;
	const struct endpoint *endpoint = &cluster->endpoints[choice->lint->kinds[i]];

	return choice->ns && strcmp(choice->ns, endpoint->ns_name) ? NULL : &endpoint->labels;
}

static const struct labels *namespace_labels(const struct choice *choice, size_t i)
{
	return &choice->lint->cluster->namespaces[i].labels;
}

static const struct labels *node_labels(const struct choice *choice, size_t i)
{
	return &choice->lint->cluster->nodes[i].labels;
}

/* Returns true if something has a label that the requirement wants, or nobody looks. */
static bool is_met(const struct choice *choice, const struct requirement *wanted)
{
	struct requirement one = *wanted;
	const struct selector selector = {.at = &one, .n = 1};

	for (size_t i = 0; i < choice->n; i++) {
		const struct labels *labels = choice->labels(choice, i);

		if (!may_look(choice->lint) || (labels && selector_matches(&selector, labels)))
			return true;
	}
	return false;
}

/* Tries the labels' keys, or the values of one key. */
static void try_labels(const struct choice *choice, const char *key, struct nearest *nearest)
{
	for (size_t i = 0; i < choice->n && choice->lint->looks; i++) {
		const struct labels *labels = choice->labels(choice, i);

		for (size_t k = 0; labels && k < labels->n && may_look(choice->lint); k++)
			if (!key)
				nearest_try(nearest, labels->at[k].key);
			else if (!strcmp(labels->at[k].key, key))
				nearest_try(nearest, labels->at[k].value);
	}
}

static void print_lack(const struct choice *choice, const struct requirement *wanted,
		       char text[LINT_LACKS])
{
	const bool value = wanted->op == SELECTOR_IN && wanted->n_values == 1;
	struct nearest nearest = {.word = value ? wanted->values[0] : wanted->key};
	char like[NEAREST_TEXT];

	if (value)
		try_labels(choice, wanted->key, &nearest);
	if (!nearest.found) {
		nearest.word = wanted->key;
		try_labels(choice, NULL, &nearest);
	}
	/* the key itself is there, with other values */
	if (nearest.found && !strcmp(nearest.found, wanted->key))
		nearest.found = NULL;
	snprintf(text, LINT_LACKS, ": no %s%s%s has %s%s%s%s", choice->what,
		 choice->ns ? " in " : "", choice->ns ? choice->ns : "", value ? "" : "a wanted ",
		 wanted->key, value ? "=" : "", value ? wanted->values[0] : "");
	snprintf(text + strlen(text), LINT_LACKS - strlen(text), "%s",
		 nearest_print(&nearest, like));
}

/* Returns true, and prints, if nothing has a label that the selector wants. */
static bool find_lack(const struct choice *choice, const struct selector *selector,
		      char text[LINT_LACKS])
{
	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *wanted = &selector->at[i];

		if ((wanted->op == SELECTOR_IN || wanted->op == SELECTOR_EXISTS) &&
		    !is_met(choice, wanted)) {
			print_lack(choice, wanted, text);
			return true;
		}
	}
	return false;
}

/* Returns true if the selector selects a hostNetwork pod by labels. */
static bool selects_host_pod(struct lint *lint, const char *ns, const struct selector *pods)
{
	const struct cluster *cluster = lint->cluster;

	for (size_t i = 0; pods->n && i < cluster->n_host_pods && may_look(lint); i++)
		if ((!ns || !strcmp(ns, cluster->host_pods[i].ns_name)) &&
		    selector_matches(pods, &cluster->host_pods[i].labels))
			return true;
	return false;
}

const char *lint_lacks(struct lint *lint, const char *ns, const struct selector *namespaces,
		       const struct selector *pods, char text[LINT_LACKS])
{
	const struct choice endpoints = {lint, "endpoint", ns, lint->n_kinds, endpoint_labels};
	const struct choice all = {lint, "namespace", NULL, lint->cluster->n_namespaces,
				   namespace_labels};

	*text = '\0';
	if (namespaces && find_lack(&all, namespaces, text))
		return text;
	if (selects_host_pod(lint, ns, pods))
		snprintf(text, LINT_LACKS,
			 ": only hostNetwork pods have these labels, and they are "
			 "their node");
	else
		find_lack(&endpoints, pods, text);
	return text;
}

const char *lint_lacks_node(struct lint *lint, const struct selector *nodes, char text[LINT_LACKS])
{
	const struct choice all = {lint, "node", NULL, lint->cluster->n_nodes, node_labels};

	*text = '\0';
	find_lack(&all, nodes, text);
	return text;
}

const char *lint_like_port(struct lint *lint, const struct port *port, char text[LINT_LACKS])
{
	const struct cluster *cluster = lint->cluster;
	struct nearest nearest = {.word = port->name};
	char like[NEAREST_TEXT];

	for (size_t i = 0; i < cluster->n_endpoints && lint->looks; i++)
		for (size_t k = 0; k < cluster->endpoints[i].n_ports && may_look(lint); k++) {
			const struct named_port *named = &cluster->endpoints[i].ports[k];

			nearest_try(&nearest, named->name);
			if (strcmp(named->name, port->name))
				continue;
			/* the rule's is of another protocol */
			snprintf(text, LINT_LACKS, " of %s, but one of %s",
				 protocol_by_number(port->protocol)->name,
				 protocol_by_number(named->protocol)->name);
			return text;
		}
	snprintf(text, LINT_LACKS, "%s", nearest_print(&nearest, like));
	return text;
}
