// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "selftests/lib/segments_text.h"

static void print_ports(FILE *to, const struct policy *policy, struct bh_ports_ref ports)
{
	if (!ports.count || ports.count == BH_PORTS_NAMED) {
		fprintf(to, " %s %x", ports.count ? "list" : "all", ports.at);
		return;
	}
	for (uint32_t i = 0; i < ports.count; i++)
		fprintf(to, " %x:%x", policy->intervals[ports.at + i].start,
			policy->intervals[ports.at + i].verdict);
}

static void print_segment(FILE *to, const struct policy *policy,
			  const struct policy_segment *segment)
{
	fprintf(to, "segment %u %x since %u until %u, peer %u %u, own %u %u, common %u %u\n",
		segment->id, segment->flags, segment->create_generation, segment->delete_generation,
		segment->peer_own, segment->peer_common, segment->own[0], segment->own[1],
		segment->common[0], segment->common[1]);
	for (int i = 0; i < 4; i++) {
		fputs(" else", to);
		print_ports(to, policy, segment->fallback[i / 2][i % 2]);
		fputc('\n', to);
	}
	for (uint32_t i = 0; i < segment->names.n; i++)
		fprintf(to, " name %s\n",
			policy_string(policy, policy->texts[segment->names.at + i]));
	for (uint32_t i = 0; i < segment->variations.n; i++) {
		const struct policy_variation *one =
			&policy->variations[segment->variations.at + i];

		fprintf(to, " variation %u is resolution %u\n", one->id, one->resolution);
	}
}

static void print_resolution(FILE *to, const struct policy *policy,
			     const struct policy_resolution *resolution)
{
	fprintf(to, "resolution %u", resolution->id);
	for (uint32_t i = 0; i < resolution->ports.n; i++) {
		const struct policy_named_port *port =
			&policy->named_ports[resolution->ports.at + i];

		fprintf(to, " %s %u/%u", policy_string(policy, port->name), port->protocol,
			port->port);
	}
	fputc('\n', to);
}

static void print_addresses(FILE *to, const struct policy *policy)
{
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < policy->n_prefixes; i++)
		fprintf(to, "prefix %s/%u in %u\n",
			address_print(&policy->prefixes[i].address, text),
			policy->prefixes[i].length,
			policy->segments[policy->prefixes[i].segment].id);
	for (size_t i = 0; i < policy->n_domains; i++)
		fprintf(to, "domain %s of %u in %u\n",
			policy_string(policy, policy->domains[i].name), policy->domains[i].class,
			policy->segments[policy->domains[i].segment].id);
}

static void print_verdicts(FILE *to, const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++)
		fprintf(to, "rule %u %s %u\n", policy->rules[i].id,
			policy_string(policy, policy->rules[i].policy), policy->rules[i].index);
	for (size_t i = 0; i < policy->n_audits; i++)
		fprintf(to, "audit %u %x %u\n", policy->audits[i].id, policy->audits[i].decides,
			policy->audits[i].denies);
	for (size_t i = 0; i < policy->n_pairs; i++) {
		fprintf(to, "pair %u %u", policy->pairs[i].subject, policy->pairs[i].peer);
		print_ports(to, policy, policy->pairs[i].ports);
		fputc('\n', to);
	}
	for (size_t i = 0; i < policy->n_named; i++) {
		fprintf(to, "list %u by %u", policy->named[i].list, policy->named[i].resolution);
		print_ports(to, policy, policy->named[i].ports);
		fputc('\n', to);
	}
}

char *segments_text(const struct policy *policy)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t i = 0; i < policy->n_segments; i++)
		print_segment(to, policy, &policy->segments[i]);
	for (size_t i = 0; i < policy->n_resolutions; i++)
		print_resolution(to, policy, &policy->resolutions[i]);
	print_addresses(to, policy);
	print_verdicts(to, policy);
	fclose(to);
	return text;
}
