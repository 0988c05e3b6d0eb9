/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fuzzes blob_read(). The header's magic, versions, length and checksum are corrected first, since
 * a fuzzer would never pass them. For an input too short for a header, the first mutation is the
 * blob of the policy below. A blob that blob_read() accepts must withstand every query, and must be
 * written as the same bytes again.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "compile/explain.h"
#include "compile/extend.h"
#include "compile/selection.h"
#include "policy/service_flow.h"
#include "input/input.h"
#include "maps/abi.h"

#define MUST(true_thing)           \
	do {                       \
		if (!(true_thing)) \
			abort();   \
	} while (0)

static void put_right(struct blob_header *header, size_t size)
{
	memcpy(header->magic, BLOB_MAGIC, sizeof(header->magic));
	header->version = BLOB_VERSION;
	header->abi = BH_ABI;
	header->length = size;
	header->checksum = blob_checksum(header, size);
}

static const struct address nowhere = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 9}};

static void evaluate(const struct policy *policy, const struct address *from,
		     const struct address *to)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP, IPPROTO_ICMP};
	struct evaluate_source source = evaluate_policy(policy);
	char text[DECISION_TEXT];

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct flow flow = {*from, *to, protocols[i], 6379, NULL};
		struct decision egress, ingress;

		evaluate_flow(&source, policy, &flow, &egress, &ingress);
		MUST(*decision_print(policy, &egress, text, sizeof(text)));
		MUST(*decision_print(policy, &ingress, text, sizeof(text)));
	}
}

static void use_verdict(const struct policy *policy, struct service_verdict *verdict)
{
	char text[SERVICE_NAME_TEXT];

	for (size_t i = 0; i < verdict->n_backends; i++) {
		struct service_place place = backend_place(policy, verdict->backends[i].backend);

		MUST(place.segment && (!place.node || *place.node));
		MUST(*service_name(policy, verdict->backends[i].service, text));
	}
	service_verdict_free(verdict);
}

/* Queries a Service from an endpoint and from an unknown address. */
static void ask_service(const struct policy *policy, const struct policy_frontend *frontend)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow flow = {.destination = frontend->address,
			    .protocol = frontend->protocol,
			    .port = frontend->port};
	struct service_verdict verdict;

	for (size_t i = 0; i <= policy->n_addresses && i < 4; i++) {
		flow.source = i < policy->n_addresses ? policy->addresses[i].address : nowhere;
		evaluate_service(&source, policy, &flow, &verdict);
		MUST(frontend_is_node_port(frontend) || verdict.answer == SERVICE_FOUND);
		use_verdict(policy, &verdict);
	}
}

static void ask_headless(const struct policy *policy, const struct policy_service *service)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct flow flow = {.source = nowhere, .protocol = 6, .port = 80};
	struct service_verdict verdict;

	MUST(service_by_name(policy, policy_string(policy, service->ns),
			     policy_string(policy, service->name)) == service);
	evaluate_headless(&source, policy, service, &flow, &verdict);
	use_verdict(policy, &verdict);
}

/* Explains flows by the policies that the blob keeps as they were given. */
static void explain(const struct policy *policy)
{
	struct selection *selection;

	if (selection_open(policy, &selection))
		return;
	for (size_t i = 0; i < policy->n_addresses && i < 16; i++) {
		const struct address *address = &policy->addresses[i].address;
		const struct flow flows[] = {
			{*address, nowhere, IPPROTO_TCP, 6379, NULL},
			{*address, policy->addresses[0].address, IPPROTO_UDP, 7000, NULL},
		};

		for (int k = 0; k < 4; k++) {
			struct explanation said;

			explain_selection(selection, &flows[k / 2], k % 2, &said);
			explanation_free(&said);
		}
	}
	selection_close(selection);
}

/* Adds an endpoint that fits no segment of the blob. */
static void extend(const struct policy *policy)
{
	static struct label label = {"novel", "a"};
	struct address address = nowhere;
	struct named_port port = {"redis", IPPROTO_TCP, 6381};
	const struct endpoint endpoint = {.ns_name = "default",
					  .name = "novel",
					  .labels = {&label, 1},
					  .addresses = &address,
					  .n_addresses = 1,
					  .ports = &port,
					  .n_ports = 1};
	const struct extend job = {.policy = policy, .endpoints = &endpoint, .n = 1};
	struct policy *extended;

	if (!extend_can(policy_lazy(policy), &endpoint) || policy_extend(&job, &extended))
		return;
	policy_free(extended);
}

static void question(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		const char *ns = policy_string(policy, policy->namespaces[endpoint->ns].name);

		MUST(policy_endpoint_by_name(policy, ns, policy_string(policy, endpoint->name)) ==
		     endpoint);
	}
	for (size_t i = 0; i < policy->n_rules; i++)
		MUST(policy_rule_by_id(policy, policy->rules[i].id) == &policy->rules[i]);
	for (size_t i = 0; i < policy->n_addresses && i < 16; i++) {
		const struct address *address = &policy->addresses[i].address;

		MUST(policy_address_find(policy, address) == &policy->addresses[i]);
		evaluate(policy, address, &nowhere);
		evaluate(policy, &nowhere, address);
		evaluate(policy, address, &policy->addresses[0].address);
	}
	for (size_t i = 0; i < policy->n_prefixes && i < 16; i++)
		evaluate(policy, &policy->prefixes[i].address, &nowhere);
	for (size_t i = 0; i < policy->n_frontends && i < 16; i++)
		ask_service(policy, &policy->frontends[i]);
	for (size_t i = 0; i < policy->n_services && i < 16; i++)
		ask_headless(policy, &policy->services[i]);
	explain(policy);
	extend(policy);
}

static const char policy_text[] =
	"[namespace shop]\nlabels = project=a\n"
	"[node worker]\nip = 192.168.7.1\n"
	"[endpoint default/db]\nnode = worker\nip = 10.1.0.5, fd00::5\nlabels = role=db\n"
	"mac = 02:00:00:00:00:05\nport = redis TCP/6379\n"
	"[endpoint shop/cart]\nip = 10.1.0.6\nport = redis TCP/6380\n"
	"[service default/s]\naddress = 10.96.0.1, fd96::1\nexternal-address = 203.0.113.1\n"
	"port = TCP/80 to redis node 30080\nbackends = endpoints(role=db)\n"
	"[service default/h]\nbackends = endpoints(role=db)\n"
	"[network-policy default/p]\nendpoints = role=db\n"
	"ingress = from namespaces(project=a), cidr(172.17.0.0/16 except 172.17.1.0/24) "
	"ports TCP/6379, UDP/7000-7010\n"
	"egress = to namespaces(), cidr(10.0.0.0/24) ports redis\n"
	"[admin-network-policy guard]\npriority = 10\nsubject = namespaces()\n"
	"ingress = keep-out: Deny from namespaces(project=b)\n"
	"ingress = Pass from notSelf\n"
	"egress = Allow to sameLabels(project) ports redis\n"
	"[cluster-network-policy names]\npriority = 11\ntier = Admin\nsubject = namespaces()\n"
	"egress = Accept to names(*.example.com), nodes()\n";

static void *make_blob(size_t *size)
{
	struct diag diag = {0};
	struct cluster cluster;
	struct policy *policy;
	void *bytes;

	cluster_init(&cluster);
	MUST(!input_parse_ini(&cluster, policy_text, strlen(policy_text), "policy", &diag));
	MUST(!cluster_finish(&cluster, &diag));
	MUST(!compile_cluster(&cluster, NULL, &diag, &policy));
	MUST(!blob_write(policy, &bytes, size));
	policy_free(policy);
	cluster_free(&cluster);
	return bytes;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static void *blob;
	static size_t blob_size;

	(void)seed;
	if (!blob)
		blob = make_blob(&blob_size);
	if (size >= sizeof(struct blob_header) || max_size < blob_size)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(data, blob, blob_size);
	return blob_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag diag = {0};
	struct policy *policy;
	size_t again_size;
	void *bytes, *again;

	if (size < sizeof(struct blob_header))
		return 0;
	bytes = malloc(size);
	MUST(bytes);
	memcpy(bytes, data, size);
	put_right(bytes, size);
	if (blob_read(bytes, size, NULL, &diag, &policy)) {
		MUST(diag.errors == 1);
		free(bytes);
		return 0;
	}
	question(policy);
	MUST(!blob_write(policy, &again, &again_size));
	MUST(again_size == size && !memcmp(again, bytes, size));
	free(again);
	policy_free(policy);
	return 0;
}
