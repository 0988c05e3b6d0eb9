/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy that a base and a delta give, put together as far as it is read: of a large policy,
 * that is little. */
#ifndef BULKHEAD_POLICY_DELTA_VIEW_H
#define BULKHEAD_POLICY_DELTA_VIEW_H

#include "policy/delta.h"

struct delta_view;

/*
 * @base as in delta_check_base(); it may have a source. @base, @delta and @diag must outlive the
 * view, and the view the policy. Faults are found when a part is read; they are reported, and
 * set policy->source->error. Returns 0, -EINVAL or -ENOMEM.
 */
int delta_view_open(const struct delta *delta, const struct lazy_policy *base,
		    const struct where *where, struct diag *diag, struct delta_view **view,
		    struct lazy_policy **policy);
void delta_view_close(struct delta_view *view);

#endif
