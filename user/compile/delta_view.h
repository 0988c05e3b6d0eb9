/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy that a delta leads to, read as far as it is asked for: of a large one, little is. */
#ifndef BULKHEAD_COMPILE_DELTA_VIEW_H
#define BULKHEAD_COMPILE_DELTA_VIEW_H

#include "compile/delta.h"

struct delta_view;

/*
 * @base is as delta_check_base() has it, and may itself be read as far as it is asked for. It,
 * @delta and @diag have to outlive the view, and the view the policy. What does not fit together is
 * reported when it is read, and in policy->source->error. Returns 0, -EINVAL or -ENOMEM.
 */
int delta_view_open(const struct delta *delta, const struct policy *base, const struct where *where,
		    struct diag *diag, struct delta_view **view, struct policy **policy);
void delta_view_close(struct delta_view *view);

#endif
