/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "policy/verdicts.h"
#include "model/protocol.h"

struct verdicts verdicts_of_list(const struct policy *policy, struct bh_ports_ref ports)
{
	struct verdicts verdicts = {.n = 1, .all.verdict = ports.at};

	if (ports.count) {
		verdicts.at = &policy->intervals[ports.at];
		verdicts.n = ports.count;
	}
	return verdicts;
}

struct verdicts verdicts_of(const struct policy *policy, const struct policy_segment *subject,
			    const struct policy_segment *peer, enum direction direction,
			    uint32_t resolution)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct bh_ports_ref ports;

	if (!evaluate_ports(&source, subject, peer, direction, &ports))
		ports = (struct bh_ports_ref){bh_verdict(true, BH_TIER_DEFAULT, 0), 0};
	if (ports.count == BH_PORTS_NAMED &&
	    !source.named(source.data, ports.at, resolution, &ports))
		ports = (struct bh_ports_ref){bh_verdict(false, BH_TIER_DEFAULT, 0), 0};
	return verdicts_of_list(policy, ports);
}

bool verdicts_allow_any(const struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->n; i++)
		if (bh_verdict_allow(verdicts_at(verdicts, i)->verdict))
			return true;
	return false;
}

bool verdicts_allow(const struct verdicts *verdicts, uint32_t point)
{
	size_t i = verdicts->n;

	while (i && verdicts_at(verdicts, i - 1)->start > point)
		i--;
	return i && bh_verdict_allow(verdicts_at(verdicts, i - 1)->verdict);
}

void points_each(uint32_t first, uint32_t end, void (*visit)(void *data, const char *text),
		 void *data)
{
	char text[32];

	while (first < end && first < BH_POINT_OTHER) {
		uint32_t protocol = first >> 16, from = first & 0xffff;
		uint32_t rest = end - (protocol << 16), last = rest > 65536 ? 65535 : rest - 1;

		if (!from && last == 65535)
			snprintf(text, sizeof(text), "%s", protocols[protocol].name);
		else if (from == last)
			snprintf(text, sizeof(text), "%s/%u", protocols[protocol].name, from);
		else
			snprintf(text, sizeof(text), "%s/%u-%u", protocols[protocol].name, from,
				 last);
		visit(data, text);
		first = (protocol + 1) << 16;
	}
	if (end > BH_POINT_OTHER)
		visit(data, "other");
}

void verdicts_each_allowed(const struct verdicts *verdicts,
			   void (*visit)(void *data, const char *text), void *data)
{
	size_t i = 0;

	while (i < verdicts->n) {
		uint32_t first = verdicts_at(verdicts, i)->start, end;
		bool allow = bh_verdict_allow(verdicts_at(verdicts, i)->verdict);

		/* consecutive intervals that are allowed by different rules are one range */
		while (++i < verdicts->n &&
		       bh_verdict_allow(verdicts_at(verdicts, i)->verdict) == allow)
			;
		end = i < verdicts->n ? verdicts_at(verdicts, i)->start : VERDICTS_END;
		if (allow && !first && end == VERDICTS_END)
			visit(data, "all");
		else if (allow)
			points_each(first, end, visit, data);
	}
}
