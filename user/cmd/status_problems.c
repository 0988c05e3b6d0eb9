// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/status_problems.h"
#include "cni/cni.h"
#include "maps/iface.h"
#include "node/change/saved.h"

static void print_problem(struct problems *problems, const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, args);
	problems->n++;
	emit_say(problems->emit, "%s\n", line);
	emit_text(problems->emit, NULL, line);
}

void problem_add(struct problems *problems, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_problem(problems, format, args);
	va_end(args);
}

/* Reports a problem of which a node may have as many as it has endpoints. end_like() ends the
 * kind. */
static void __attribute__((format(printf, 2, 3)))
like_problem(struct problems *problems, const char *format, ...)
{
	va_list args;

	if (problems->like++ >= problems->like_max)
		return;
	va_start(args, format);
	print_problem(problems, format, args);
	va_end(args);
}

/* @kind: what the problems are of. */
static void end_like(struct problems *problems, const char *kind)
{
	if (problems->like > problems->like_max)
		problem_add(problems, "and %zu more %s (-v)", problems->like - problems->like_max,
			    kind);
	problems->like = 0;
}

/* Says why an interface is not guarded, if that is known. */
static const char *unguarded_print(const struct node_iface *iface)
{
	if (iface->late)
		return ", which has come up since the last load: load again";
	if (iface->overtaken)
		return ", where others' programs run before Bulkhead's, and may let packets pass: "
		       "load puts Bulkhead's first";
	return "";
}

static void find_unguarded(const struct node_status *status, struct problems *problems)
{
	const struct policy *policy = status->policy;

	/* the interfaces are another network namespace's */
	if (status->elsewhere)
		return;
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (!status->ifaces[i].guarded && *status->ifaces[i].name)
			like_problem(problems, "NOT GUARDED: interface %s%s",
				     status->ifaces[i].name, unguarded_print(&status->ifaces[i]));
	end_like(problems, "interfaces that are not guarded");
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (*status->ifaces[i].before)
			like_problem(problems,
				     "interface %s: %s runs before Bulkhead's, and may let packets "
				     "pass: load puts Bulkhead's first",
				     status_iface_name(&status->ifaces[i]),
				     status->ifaces[i].before);
	end_like(problems, "interfaces with another program before Bulkhead's");
	if (!status->own_sockets)
		problem_add(problems, "NOT GUARDED: the node's sockets: load again");
	for (size_t i = 0; i < status->n_unguarded; i++)
		like_problem(problems, "NOT GUARDED: endpoint %s/%s",
			     status_endpoint_ns(policy, status->unguarded[i]),
			     policy_string(policy, policy->endpoints[status->unguarded[i]].name));
	end_like(problems, "endpoints that are not guarded");
}

static bool is_endpoints(const struct node_status *status, uint32_t ifindex)
{
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (status->ifaces[i].ifindex == ifindex)
			return status->ifaces[i].flags & BH_IFACE_ENDPOINT;
	return false;
}

/* Names interfaces of pods that the CNI plugin attached and that `endpoint del` took off, or an
 * unload. */
static void find_attached(const struct node_status *status, const char *folder,
			  struct problems *problems)
{
	char name[IF_NAMESIZE];
	size_t n = 0;
	struct node_attached *attached =
		folder && !status->elsewhere ? cni_attached(folder, &n) : NULL;

	for (size_t i = 0; i < n; i++)
		if (!is_endpoints(status, attached[i].ifindex) &&
		    !(i && attached[i].ifindex == attached[i - 1].ifindex) &&
		    if_indextoname(attached[i].ifindex, name))
			like_problem(problems,
				     "NOT GUARDED: interface %s of a pod that the CNI plugin "
				     "attached: load, or `cni refresh`",
				     name);
	end_like(problems, "interfaces of pods that the CNI plugin attached");
	free(attached);
}

/* Names shares whose count is not that of the table's connections. The garbage collector corrects
 * them. */
static void find_miscounted(const struct node_status *status, struct problems *problems)
{
	for (size_t i = 0; status->connections.counted && i < status->n_shares; i++)
		if (status->shares[i].differs)
			like_problem(problems,
				     "%s counts %d connections and the table has %u: the next "
				     "sweep corrects it",
				     status->shares[i].name, status->shares[i].used,
				     status->shares[i].found);
	end_like(problems, "counts of connections that the next sweep corrects");
}

/* Checks that the load which is kept for the next boot is the active policy. */
static void find_saved(const struct node_status *status, const char *state,
		       struct problems *problems)
{
	struct diag silent = {};
	struct policy *policy = NULL;
	struct saved kept;
	int error = saved_read(state, &silent, &kept);

	if (!error)
		error = saved_policy(&kept, &silent, &policy);
	if (error == -ENOENT)
		problem_add(problems, "no load is kept in %s for the node's next start: load again",
			    state);
	else if (error)
		problem_add(problems, "%s cannot be read at the node's next start: load again",
			    kept.path);
	else if (policy->checksum != status->policy->checksum)
		problem_add(problems, "%s is not the active policy: load again", kept.path);
	else if (kept.options.audit != status->all_audited ||
		 (kept.options.name && strcmp(kept.options.name, status->node)))
		problem_add(problems,
			    "%s was loaded with other options than the active policy: load again",
			    kept.path);
	policy_free(policy);
	saved_free(&kept);
}

/* Finds what a load has left undone. */
static void find_undone(const struct node_status *status, struct problems *problems)
{
	const struct node_generations *policy = &status->policy_generation;
	const struct node_generations *endpoint = &status->endpoint_generation;

	/* another command does it now */
	if (status->changing)
		return;
	if (policy->desired != policy->installed)
		problem_add(problems, "policy %u: failed to load; load it again", policy->desired);
	else if (endpoint->desired != endpoint->active)
		problem_add(problems, "policy %u: loaded, but not active; load it again",
			    endpoint->desired);
	if (policy->oldest != policy->active)
		problem_add(problems, "policy %u: not collected yet; the next load does it",
			    policy->oldest);
	if (status->killed)
		problem_add(problems, "last change: interrupted; the next command that changes "
				      "anything repairs it");
}

void problems_find(const struct node_status *status, const struct status_folders *folders,
		   struct problems *problems)
{
	for (size_t i = 0; i < status->n_ifaces; i++)
		if (status->ifaces[i].orphan)
			like_problem(problems,
				     "interface %s: a program of Bulkhead whose pins are gone "
				     "still evaluates packets; load or unload removes it",
				     status_iface_name(&status->ifaces[i]));
	end_like(problems, "interfaces with a program of Bulkhead whose pins are gone");
	if (!status->policy) {
		problem_add(problems,
			    status->no_bpffs
				    ? "nothing is loaded, and the pin folder is on no bpffs "
				      "in this mount namespace"
				    : "nothing is loaded");
		return;
	}
	find_undone(status, problems);
	if (!status->own_programs)
		problem_add(problems, "the programs are of another build: load replaces them");
	if (!policy_knows_node(status->policy, status->node))
		problem_add(problems,
			    "no object of the policy is on a node named \"%s\": load -n NODE",
			    status->node);
	if (status->elsewhere)
		problem_add(problems,
			    "the policy is active in another network namespace than this, "
			    "and so are its interfaces");
	if (status->own_mount)
		problem_add(
			problems,
			"the pins are on a bpffs of this mount namespace alone, and go with it");
	find_unguarded(status, problems);
	find_attached(status, folders->attached, problems);
	find_miscounted(status, problems);
	if (folders->state)
		find_saved(status, folders->state, problems);
}
