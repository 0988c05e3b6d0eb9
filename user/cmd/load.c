// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead load`: puts an active policy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/inputs.h"
#include "cmd/emit.h"
#include "cmd/load_report.h"
#include "cmd/dry_run_print.h"
#include "cni/cni.h"
#include "policy/delta.h"
#include "node/change/saved.h"
#include "node/node.h"

struct request {
	struct node_options node;
	bool verbose, stage, restore, dry_run;
	const char *state; /* folder that keeps the load for the next boot; NULL: keep nothing */
	const char *attached; /* folder of the CNI plugin; NULL: its pods are left alone */
	/* generation of the staged policy to activate; NULL: load the operands */
	const char *activate;
	const char *const *audited; /* namespaces of --audit-namespace */
	size_t n_audited;
	const char *const *policies; /* of --audit-policy */
	size_t n_policies;
};

static void report(const struct call *call, const struct request *request,
		   const struct node_change *change)
{
	enum load_kind kind = request->activate ? LOAD_ACTIVATED : LOAD_WHOLE;

	load_report(call, request->stage ? LOAD_STAGED : kind, request->verbose, change);
}

static int staged_policy(struct node_handle *handle, const char *generation, struct policy **policy)
{
	int error = handle ? node_staged(handle, policy) : 0;
	char *end;

	if (error)
		return error;
	if (*policy && (*policy)->generation == strtoul(generation, &end, 10) && !*end)
		return 0;
	command_error("no policy of generation %s is staged here", generation);
	return -EINVAL;
}

static void report_audit(const struct request *request, struct diag *diag)
{
	diag_note(diag, NULL, NULL,
		  "policy denies nothing on this node, %suntil a load without --audit",
		  request->state ? "nor after its next start, " : "");
}

static void conclude(const struct call *call, const struct request *request,
		     const struct node_change *change, const struct policy *policy,
		     struct diag *diag)
{
	if (!request->stage)
		saved_save(request->state, &request->node, change, policy, diag);
	if (!request->stage && request->node.audit)
		report_audit(request, diag);
	report(call, request, change);
}

/* Reads the input as a delta of the active policy. *delta NULL: it is none, or the options ask for
 * a policy that is compiled anew. */
static int read_delta(const struct call *call, const struct request *request,
		      const struct node_handle *handle, struct diag *diag, struct delta **delta)
{
	const struct lazy_policy *base = handle ? node_policy_head(handle) : NULL;

	*delta = NULL;
	if (request->n_audited || request->n_policies || !base || request->dry_run ||
	    request->activate)
		return 0;
	return inputs_delta(call->operands, call->n_operands, base, diag, delta);
}

static int load_delta(const struct call *call, struct request *request, struct node_handle *handle,
		      const struct delta *delta, struct diag *diag)
{
	struct policy *whole = NULL;
	struct node_change change;
	int error = request->stage ? node_stage_delta(handle, delta, true, &change)
				   : node_load_delta(handle, delta, &change, &whole);

	if (!error && !request->stage)
		saved_save_delta(request->state, request->node.pin, &request->node, &change, delta,
				 whole, diag);
	policy_free(whole);
	if (!error && !request->stage && request->node.audit)
		report_audit(request, diag);
	if (!error)
		report(call, request, &change);
	return error;
}

static int load_whole(const struct call *call, struct request *request, struct node_handle *handle,
		      struct diag *diag, struct node_change *change, struct policy **policy)
{
	const struct inputs_audit audit = {.names = request->audited,
					   .n = request->n_audited,
					   .policies = request->policies,
					   .n_policies = request->n_policies};
	struct inputs_base base = {.name = "active"};
	struct cluster *cluster = NULL;
	int error;

	error = handle ? node_policy(handle, &base.policy) : 0;
	if (!error && request->activate) {
		error = staged_policy(handle, request->activate, policy);
	} else {
		if (!base.policy)
			base.name = "nothing is active";
		if (!error)
			error = inputs_audited(call->operands, call->n_operands, &base, &audit,
					       diag, policy, &cluster);
		if (!error)
			error = inputs_check(cluster, request->node.force, diag);
		inputs_free_cluster(cluster);
	}
	if (error)
		return error;
	return request->stage ? node_stage(handle, *policy, change)
			      : node_load(handle, *policy, change);
}

/* Puts the pods active again that the CNI plugin has attached and nothing else names: whose
 * addresses the policy does not know. Without --pin only, or with the plugin's folder. */
static int attach_again(const struct request *request, struct diag *diag)
{
	const struct cni_refresh options = {.pin = request->node.pin, .state = request->attached};
	int error = 0;

	/* a load needs no right to read each file of the machine */
	if (request->attached && access(request->attached, R_OK | X_OK) && errno == EACCES)
		diag_warn(diag, &(struct where){request->attached, 0}, NULL,
			  "cannot be read: pods that only the CNI plugin knows are not guarded");
	else if (request->attached)
		error = cni_again(&options, diag, NULL);
	return error;
}

static int load(const struct call *call, struct request *request)
{
	struct dry_run_print print;
	struct diag diag = command_diag();
	struct node_change change;
	struct node_handle *handle = NULL;
	struct policy *policy = NULL;
	struct delta *delta = NULL;
	int error;

	if (request->dry_run)
		dry_run_print_begin(&print, call, &request->node);
	error = node_open(&request->node, !request->activate, &diag, &handle);
	/* Reads the active policy under the lock, so that the new policy succeeds the policy that
	 * it replaces. */
	if (!error)
		error = read_delta(call, request, handle, &diag, &delta);
	if (!error && delta)
		error = load_delta(call, request, handle, delta, &diag);
	else if (!error)
		error = load_whole(call, request, handle, &diag, &change, &policy);
	if (request->dry_run)
		dry_run_print_end(&print, error);
	else if (!error && !delta)
		conclude(call, request, &change, policy, &diag);
	policy_free(policy);
	node_close(handle);
	if (!error && !delta && !request->dry_run)
		error = attach_again(request, &diag);
	delta_free(delta);
	return status_of(error);
}

static void report_no_restore(const struct call *call, const char *why)
{
	struct emit emit = emit_begin(call);

	emit_say(&emit, "nothing is restored: %s\n", why);
	emit_object(&emit, NULL);
	emit_bool(&emit, "restored", false);
	emit_text(&emit, "why", why);
	emit_end(&emit);
}

/* Loads the policy that the state folder keeps, if none is active: after a boot. */
static int restore(const struct call *call, const struct request *request)
{
	struct diag diag = command_diag();
	struct node_change change;
	struct node_handle *handle = NULL;
	const struct policy *active = NULL;
	struct policy *policy = NULL;
	struct saved kept;
	int error = saved_read(request->state, &diag, &kept);
	const bool nothing = error == -ENOENT;

	kept.options.pin = request->node.pin;
	kept.options.no_adopt = request->node.no_adopt;
	kept.options.attached = request->node.attached;
	kept.options.n_attached = request->node.n_attached;
	kept.options.boot = kept.options.force = true;
	if (!error)
		error = saved_policy(&kept, &diag, &policy);
	if (!error)
		error = node_open(&kept.options, true, &diag, &handle);
	if (!error)
		error = node_policy(handle, &active);
	if (!error && !active)
		error = node_load(handle, policy, &change);
	if (nothing)
		report_no_restore(call, "no load is kept");
	else if (!error && active)
		report_no_restore(call, "a policy is active");
	else if (!error)
		report(call, request, &change);
	policy_free(policy);
	node_close(handle);
	saved_free(&kept);
	if (!error)
		error = attach_again(request, &diag);
	return nothing ? STATUS_OK : status_of(error);
}

static const struct command_option options[] = {
	{'n', "node", "NODE", "this node's name; else the input's, the last load's, or the host's",
	 OPTION_TEXT(struct request, node.name)},
	{'u', "uplink", "IFACE",
	 "an uplink (repeatable); else the input's, else those of the default routes",
	 OPTION_LIST(struct request, node.uplinks, node.n_uplinks)},
	{0, "resolver", "ADDRESS",
	 "a DNS server whose answers teach domain names (repeatable); else the input's, else the "
	 "Service kube-system/kube-dns, else those of the node's resolv.conf",
	 OPTION_LIST(struct request, node.resolvers, node.n_resolvers)},
	PIN_OPTION(struct request, node.pin),
	{0, "stage", NULL,
	 "install the policy's segments beside the active policy, and put no endpoint into them "
	 "yet",
	 OPTION_FLAG(struct request, stage)},
	{0, "activate", "GEN", "activate the staged policy of this generation; takes no INPUT",
	 OPTION_TEXT(struct request, activate)},
	{0, "audit", NULL, "drop nothing: count and report packets that policy would drop",
	 OPTION_FLAG(struct request, node.audit)},
	{0, "audit-namespace", "NS",
	 "as --audit, for this namespace only (repeatable), in this load only",
	 OPTION_LIST(struct request, audited, n_audited)},
	{0, "audit-policy", "NAME",
	 "this policy (repeatable) has no effect, in this load only: flows that it would deny are "
	 "counted and reported; a NetworkPolicy is NAMESPACE/NAME",
	 OPTION_LIST(struct request, policies, n_policies)},
	{0, "no-adopt", NULL, "first load: do not take over the connections that are open",
	 OPTION_FLAG(struct request, node.no_adopt)},
	SET_OPTION(struct request, node),
	{0, "force", NULL,
	 "load although the input looks wrong: no objects, most policies gone, policies of unknown "
	 "kinds, another node's name, endpoints missing",
	 OPTION_FLAG(struct request, node.force)},
	{0, "rollback", NULL, "allow a policy of an older generation than the active one",
	 OPTION_FLAG(struct request, node.rollback)},
	STATE_OPTION(struct request, state),
	{0, "restore", NULL,
	 "load the policy that the last load kept, unless one is active; takes no INPUT",
	 OPTION_FLAG(struct request, restore)},
	{0, "attached", "DIR",
	 "put the pods active again that the CNI plugin has attached by the records in DIR, its "
	 "`state`; else by those in " CNI_STATE ", unless --pin is given",
	 OPTION_TEXT(struct request, attached)},
	DRY_RUN_OPTION(struct request, dry_run),
	{'v', "verbose", NULL,
	 "print each policy and endpoint that changes, and the number of map writes",
	 OPTION_FLAG(struct request, verbose)},
	{0},
};

static void check_request(const struct call *call, const struct request *request)
{
	const struct node_options *node = &request->node;

	if (request->restore &&
	    (call->n_operands || request->stage || request->activate || node->name ||
	     node->n_uplinks || node->n_resolvers || node->n_settings || node->audit ||
	     request->n_audited || request->n_policies))
		call_usage_error(call,
				 "--restore loads the policy that was kept, and takes no INPUT");
	if (request->restore && !request->state)
		call_usage_error(call, "--restore with --pin needs --state FOLDER");
	if (request->activate &&
	    (call->n_operands || request->stage || request->n_audited || request->n_policies))
		call_usage_error(call,
				 "--activate takes neither INPUT nor --stage, --audit-namespace "
				 "and --audit-policy: it activates the staged policy");
	if (!call->n_operands && !request->activate && !request->restore)
		call_usage_error(call, "needs an INPUT to load");
}

static int run(struct call *call)
{
	struct request request = {.node.command = "load"};
	struct node_attached *attached = NULL;
	int status;

	call_options(call, &request);
	request.state = saved_dir(request.node.pin, request.state);
	if (!request.attached && saved_dir(request.node.pin, NULL))
		request.attached = CNI_STATE;
	if (request.attached)
		request.node.attached = attached =
			cni_attached(request.attached, &request.node.n_attached);
	check_request(call, &request);
	status = request.restore ? restore(call, &request) : load(call, &request);
	free(attached);
	return status;
}

const struct command command_load = {
	.name = "load",
	.operands = "INPUT...",
	.help = "activate a policy on this node, in one step, and exit",
	.options = options,
	.run = run,
};
