/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports what a load changed: in one line, with -v in one more for each name, or as JSON. */
#ifndef BULKHEAD_CMD_LOAD_REPORT_H
#define BULKHEAD_CMD_LOAD_REPORT_H

#include "cmd/command.h"
#include "node/node.h"

enum load_kind { LOAD_WHOLE, LOAD_STAGED, LOAD_ACTIVATED };

void load_report(const struct call *call, enum load_kind kind, bool verbose,
		 const struct node_change *change);

#endif
