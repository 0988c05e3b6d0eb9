/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "cmd/inputs.h"
#include "cmd/view.h"
#include "compile/budget.h"

static int open_inputs(struct view *view, const struct call *call, struct diag *diag)
{
	int error = inputs_policy(call->operands, call->n_operands, NULL, diag, &view->compiled,
				  &view->cluster);

	if (error)
		return status_of(error);
	view->policy = view->compiled;
	if (view->cluster)
		budget_close_objects(view->cluster, view->compiled->asides);
	view->source = evaluate_policy(view->policy);
	return STATUS_OK;
}

static int open_live(struct view *view, const char *pin, struct diag *diag)
{
	int error = live_open(pin, diag, &view->live);

	if (error)
		return status_of(error);
	if (!view->live) {
		command_inactive(pin, "give INPUT, or load a policy first");
		return STATUS_INPUT;
	}
	view->policy = live_policy(view->live);
	view->source = live_evaluate(view->live);
	error = domain_names_read(&view->domains, view->live, view->policy);
	if (!error)
		return STATUS_OK;
	command_error("the key of domain names cannot be read, so names are left out: %s",
		      strerror(-error));
	domain_names_free(&view->domains);
	view->domains = (struct domain_names){0};
	return STATUS_OK;
}

size_t view_names(const struct view *view, const struct flow *flow,
		  struct view_name names[BH_LEARNED_NAMES])
{
	struct bh_learned learned;
	size_t n = 0;

	if (!view->live || !live_learned(view->live, live_ifindex(view->live, &flow->source),
					 &flow->destination, &learned))
		return 0;
	for (int i = 0; i < BH_LEARNED_NAMES; i++) {
		const char *text = learned.domain[i]
					   ? domain_names_find(&view->domains, learned.domain[i])
					   : NULL;

		if (text)
			names[n++] =
				(struct view_name){text, live_seconds((uint32_t)learned.until[i])};
	}
	return n;
}

int view_open(struct view *view, const struct call *call, const char *pin)
{
	struct diag diag = command_diag();
	int status;

	*view = (struct view){0};
	status = call->n_operands ? open_inputs(view, call, &diag) : open_live(view, pin, &diag);
	if (status)
		view_close(view);
	return status;
}

int view_select(struct view *view)
{
	return view->selection ? 0 : selection_open(view->policy, &view->selection);
}

void view_explain(const struct view *view, const struct flow *flow, enum direction direction,
		  struct explanation *explanation)
{
	if (view->selection)
		explain_selection(view->selection, flow, direction, explanation);
	else
		explain_flow(view->cluster, flow, direction, explanation);
}

void view_close(struct view *view)
{
	selection_close(view->selection);
	inputs_free_cluster(view->cluster);
	policy_free(view->compiled);
	domain_names_free(&view->domains);
	live_close(view->live);
}
