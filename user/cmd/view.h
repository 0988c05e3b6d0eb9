/* SPDX-License-Identifier: GPL-2.0-only */
/* A view: the source that trace, matrix and show read. It is a policy compiled from inputs, or the
 * active maps. */
#ifndef BULKHEAD_CMD_VIEW_H
#define BULKHEAD_CMD_VIEW_H

#include "cmd/command.h"
#include "cmd/domain_names.h"
#include "compile/explain.h"
#include "policy/evaluate.h"
#include "compile/selection.h"
#include "node/observe/live.h"

struct view {
	const struct policy *policy; /* has the names */
	struct evaluate_source source; /* has the verdicts */
	struct policy *compiled; /* owned; NULL: the view is of the maps */
	/* owned; NULL: the view is of the maps or of a compiled file, which lack the objects */
	struct cluster *cluster;
	struct live *live; /* owned; NULL: the view is of inputs */
	struct domain_names domains; /* of the maps' names; empty: the view is of inputs */
	/* owned; after view_select() it takes the place of the objects */
	struct selection *selection;
};

/*
 * Opens a view of the call's operands, or without operands of the maps pinned under @pin (NULL:
 * the default folder). Returns STATUS_OK, and the view is to be closed; or another exit status,
 * reported.
 */
int view_open(struct view *view, const struct call *call, const char *pin);
void view_close(struct view *view);

/* A domain name by which an endpoint has learned an address. */
struct view_name {
	const char *text; /* of the policy */
	int32_t seconds; /* how long new connections may open still; negative: not any more */
};

/* Lists the names of rules by which the flow's source has learned the destination, as the maps have
 * them. Returns their number. */
size_t view_names(const struct view *view, const struct flow *flow,
		  struct view_name names[BH_LEARNED_NAMES]);

/* Explains the decision at one end of a flow, by the objects, or after view_select() by the
 * compiled policy. */
void view_explain(const struct view *view, const struct flow *flow, enum direction direction,
		  struct explanation *explanation);
/* Prepares to explain by the compiled policy. Returns 0, or -errno where that policy cannot
 * explain. */
int view_select(struct view *view);

/* The option --pin of the commands that open a view. */
#define VIEW_PIN_OPTION(type, field)                                                    \
	{                                                                               \
		0, "pin", "DIR", "the folder of the active maps, if there is no INPUT", \
			OPTION_TEXT(type, field)                                        \
	}

#endif
