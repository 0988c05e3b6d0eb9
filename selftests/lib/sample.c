/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "maps/segment.h"
#include "selftests/lib/sample.h"

/* Does not use the command's own parser, which other tests are about. */
struct address sample_address(const char *text)
{
	struct address address = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, address.bytes + 12) != 1 &&
	    inet_pton(AF_INET6, text, address.bytes) != 1)
		abort();
	return address;
}

static char strings[512];
static size_t n_strings;

static uint32_t string(const char *text)
{
	uint32_t at = n_strings;

	strcpy(strings + at, text);
	n_strings += strlen(text) + 1;
	return at;
}

/* bh_verdict() as a constant. */
#define DENY(tier, rule) ((__u32)(tier) << BH_TIER_SHIFT | (rule))
#define ALLOW(tier, rule) (BH_VERDICT_ALLOW | DENY(tier, rule))
#define NP BH_TIER_NETWORK_POLICY

/*
 * Two namespaces on one node, worker (192.168.7.1, fd00:7::1):
 *   default/client  10.1.0.4            no policy
 *   default/db      10.1.0.5 fd00:1::5  policies both ways
 *   other/web       10.1.0.6            no policy, names a port: redis is TCP 6380
 * 172.17.0.0/16 without 172.17.1.0/24 is a segment of its own.
 * The Service default/redis is 10.96.0.1 TCP 6379 and node port 30379, db and the node behind it;
 * the headless one, default/web, has no ports.
 */
static struct policy_namespace namespaces[2];
static struct policy_node nodes[1];
static struct address node_addresses[2];
static struct policy_endpoint endpoints[3];
static struct policy_address addresses[4];
static struct policy_prefix prefixes[3];
static struct policy_segment segments[7];
static struct policy_rule rules[4];
static struct policy_audit audits[2];
static uint32_t texts[12], numbers[2], endpoint_addresses[4];
static struct policy_cidr cidrs[2];
static struct policy_requirement requirements[2];
static struct policy_clause clauses[2];
static struct policy_matcher matchers[2];
static struct policy_variation variations[1];
static struct policy_resolution resolutions[1];
static struct policy_named_port named_ports[1];
static struct policy_class classes[4], lists[2];
static struct policy_service services[2];
static struct policy_service_port service_ports[2];
static struct policy_backend backends[3];
static struct policy_frontend frontends[2];
static struct policy_cidr service_cidrs[1], resolvers[1];
static struct policy_domain domains[2];

enum { WORLD, DB, CLIENT, OUTSIDE, GONE, WEB, DB_BY_NAME };
/* Classes: db as a subject, then everyone as a peer. */
enum { DB_IN = 1, DB_OUT, DB_IN_COMMON, PEER_OWN = 10, PEER_COMMON = 20, NEXT_CLASS = 30 };

/* default/db/ingress[0] (1) lets the client in at TCP 6379; guard/"keep\tout" (3) denies world. */
static struct policy_given given[2];
static struct policy_given_rule given_rules[3];
static struct policy_given_peer given_peers[2];
static struct policy_given_port given_ports[2];
static struct policy_isolation isolations[2];
static struct policy_host_pod host_pods[2];
static struct policy_expected expected[2];
static struct bh_interval intervals[] = {
	{0, DENY(NP, 0)},
	{BH_POINT_TCP + 6379, ALLOW(NP, 1)},
	{BH_POINT_TCP + 6380, DENY(NP, 0)},
	/* list 2: default/db/egress[0], where redis is TCP 6380 */
	{0, DENY(NP, 0)},
	{BH_POINT_TCP + 6380, ALLOW(NP, 2)},
	{BH_POINT_TCP + 6381, DENY(NP, 0)},
	/* UDP 53 and the protocols without ports */
	{0, DENY(NP, 0)},
	{BH_POINT_UDP + 53, ALLOW(NP, 1)},
	{BH_POINT_UDP + 54, DENY(NP, 0)},
	{BH_POINT_OTHER, ALLOW(NP, 1)},
};
static struct policy_pair pairs[] = {
	{DB_IN, PEER_OWN + CLIENT, {0, 3}},
	{DB_IN, PEER_OWN + OUTSIDE, {6, 4}},
	{DB_OUT, PEER_OWN + OUTSIDE, {ALLOW(NP, 2), 0}},
	{DB_IN_COMMON, PEER_COMMON + WORLD, {DENY(BH_TIER_ADMIN, 3), 0}},
};
/* Matcher 0 is for one namespace; the lists are {}, {0} and {1}. */
static uint32_t by_namespace[] = {1, 0}, by_matchers[] = {CLIENT, DB, WEB};
static struct policy_named named[] = {
	{1, 0, {DENY(NP, 0), 0}},
	{2, 0, {DENY(NP, 0), 0}},
	{2, 1, {3, 3}},
};

static void make_endpoints(void)
{
	uint32_t worker = string("worker");

	namespaces[0] = (struct policy_namespace){string("default"), 0, {8, 2}};
	namespaces[1] = (struct policy_namespace){string("other"), POLICY_AUDIT, {10, 2}};
	nodes[0] = (struct policy_node){worker, 0, {0, 2}, {0, 2}};
	node_addresses[0] = sample_address("192.168.7.1");
	node_addresses[1] = sample_address("fd00:7::1");
	endpoints[0] = (struct policy_endpoint){
		0, string("client"), worker, string("veth-c"), 0, {0}, {0}, {0, 1}, {0, 0}, {0}};
	endpoints[1] = (struct policy_endpoint){.ns = 0,
						.name = string("db"),
						.node = worker,
						.flags = POLICY_MAC,
						.mac = {2, 0, 0, 0, 0, 5},
						.addresses = {1, 2},
						.allow_source = {0, 1}};
	endpoints[2] =
		(struct policy_endpoint){.ns = 1, .name = string("web"), .addresses = {3, 1}};
	memcpy(numbers, (uint32_t[]){0, 1}, sizeof(numbers));
	memcpy(endpoint_addresses, (uint32_t[]){0, 1, 3, 2}, sizeof(endpoint_addresses));
	addresses[0] = (struct policy_address){sample_address("10.1.0.4"), 0, CLIENT, 0, 0};
	addresses[1] = (struct policy_address){sample_address("10.1.0.5"), 1, DB, 0, 0};
	addresses[2] = (struct policy_address){sample_address("10.1.0.6"), 2, WEB, 1, 0};
	addresses[3] = (struct policy_address){sample_address("fd00:1::5"), 1, DB, 0, 0};
	prefixes[0] = (struct policy_prefix){.length = 0, .segment = WORLD};
	prefixes[1] = (struct policy_prefix){sample_address("172.17.0.0"), 112, OUTSIDE};
	prefixes[2] = (struct policy_prefix){sample_address("172.17.1.0"), 120, WORLD};
}

static void make_matchers(void)
{
	texts[0] = string("role");
	texts[1] = string("db");
	texts[2] = string("redis");
	texts[8] = texts[10] = string(NAME_LABEL);
	texts[9] = namespaces[0].name;
	texts[11] = namespaces[1].name;
	cidrs[0] = (struct policy_cidr){sample_address("10.9.0.0"), 112};
	cidrs[1] = (struct policy_cidr){sample_address("172.17.1.0"), 120};
	requirements[0] = (struct policy_requirement){texts[0], SELECTOR_IN, {1, 1}};
	requirements[1] = (struct policy_requirement){texts[0], SELECTOR_EXISTS, {0, 0}};
	clauses[0] = (struct policy_clause){
		.kind = CLAUSE_ENDPOINTS, .ns = namespaces[0].name, .pods = {0, 1}};
	clauses[1] = (struct policy_clause){.kind = CLAUSE_ADDRESSES,
					    .address = sample_address("172.17.0.0"),
					    .length = 112,
					    .except = {1, 1}};
	matchers[0] = (struct policy_matcher){{{1, 1}}, {0, 1}, 0, 0};
	matchers[1] = (struct policy_matcher){{{2, 2}}, {1, 1}, 0, 0};
}

static void make_ports(void)
{
	variations[0] = (struct policy_variation){1, 1};
	resolutions[0] = (struct policy_resolution){{{5, 5}}, 1, 0, {0, 1}};
	named_ports[0] = (struct policy_named_port){texts[2], 6380, 6, 0};
	for (uint32_t i = 0; i < 4; i++)
		classes[i] = (struct policy_class){{{i, i}}, 1 + i, 0};
	for (uint32_t i = 0; i < 2; i++)
		lists[i] = (struct policy_class){{{i, i}}, 1 + i, 0};
	rules[0] = (struct policy_rule){
		1, string("default/db"), 0, 0, INGRESS, NP, ACTION_ALLOW, POLICY_NETWORK, 0};
	rules[1] = (struct policy_rule){
		2, rules[0].policy, 0, 0, EGRESS, NP, ACTION_ALLOW, POLICY_NETWORK, 0};
	rules[2] =
		(struct policy_rule){3,		 string("guard"), string("keep\tout"), 0, INGRESS,
				     TIER_ADMIN, ACTION_DENY,	  POLICY_ADMIN,	       0};
	rules[3] = (struct policy_rule){7,	     rules[2].policy, 0, 1, INGRESS, TIER_ADMIN,
					ACTION_PASS, POLICY_ADMIN,    0};
	audits[0] = (struct policy_audit){5, ALLOW(NP, 1), 3, {0, 1}};
	audits[1] = (struct policy_audit){6, DENY(NP, 0), 0, {0, 2}};
	host_pods[0] = (struct policy_host_pod){string("default/proxy"), string("worker")};
	host_pods[1] = (struct policy_host_pod){string("other/agent"), host_pods[0].node};
	expected[0] = (struct policy_expected){.ns = namespaces[0].name,
					       .name = string("late"),
					       .uid = string("c0ffee1"),
					       .labels = {0, 2}};
	expected[1] = (struct policy_expected){.ns = namespaces[0].name, .name = string("later")};
	isolations[0] =
		(struct policy_isolation){rules[0].policy, 0, 1 << INGRESS | 1 << EGRESS, 0};
	isolations[1] = (struct policy_isolation){string("namespace other"), 1, 1 << INGRESS, 0};
}

/* The policies of `rules`, with other peers and ports. */
static void make_given(void)
{
	given[0] = (struct policy_given){.name = rules[2].policy,
					 .kind = POLICY_ADMIN,
					 .tier = TIER_ADMIN,
					 .applies = 1 << INGRESS,
					 .priority = 7,
					 .namespaces = {0, 1},
					 .rules = {{2, 1}, {0, 0}}};
	given[1] = (struct policy_given){.ns = namespaces[0].name,
					 .name = string("db"),
					 .tier = TIER_NETWORK_POLICY,
					 .applies = 3,
					 .isolates = 3,
					 .pods = {0, 1},
					 .rules = {{0, 1}, {1, 1}}};
	given_rules[0] = (struct policy_given_rule){.peers = {0, 2}, .ports = {0, 1}};
	given_rules[1] = (struct policy_given_rule){.flags = GIVEN_ANY_PEER, .ports = {1, 1}};
	given_rules[2] =
		(struct policy_given_rule){.name = rules[2].name,
					   .action = ACTION_DENY,
					   .flags = GIVEN_NAMED | GIVEN_ANY_PEER | GIVEN_ANY_PORT};
	given_peers[0] = (struct policy_given_peer){.scope = PEER_NAMESPACE, .pods = {1, 1}};
	given_peers[1] = (struct policy_given_peer){.scope = PEER_CIDR,
						    .length = 112,
						    .address = sample_address("172.17.0.0"),
						    .except = {1, 1}};
	given_ports[0] = (struct policy_given_port){
		.first = 6379, .last = 6379, .kind = PORT_RANGE, .protocol = 6};
	given_ports[1] =
		(struct policy_given_port){.name = texts[2], .kind = PORT_NAME, .protocol = 6};
}

static void make_segments(void)
{
	for (uint32_t i = 0; i <= DB_BY_NAME; i++)
		segments[i] = (struct policy_segment){.key = {{i, i}},
						      .id = 1 + i,
						      .create_generation = 1,
						      .next_variation = 1,
						      .peer_own = PEER_OWN + i,
						      .peer_common = PEER_COMMON + i};
	segments[WORLD].flags = segments[OUTSIDE].flags = BH_SEGMENT_EXTERNAL;
	segments[OUTSIDE].in = (struct policy_range){1, 1}; /* numbers[1]: matcher 1 */
	segments[DB_BY_NAME].peer_own = segments[DB_BY_NAME].peer_common = 0;
	segments[DB_BY_NAME].flags = BH_SEGMENT_EXTERNAL | BH_SEGMENT_POLICY(EGRESS);
	segments[DB_BY_NAME].fallback[EGRESS][0] = (struct bh_ports_ref){ALLOW(NP, 2), 0};
	segments[DB_BY_NAME].fallback[EGRESS][1] = (struct bh_ports_ref){ALLOW(NP, 2), 0};
	segments[GONE].delete_generation = 2;
	segments[WEB].names = (struct policy_range){2, 1};
	segments[WEB].in = (struct policy_range){1, 1};
	segments[WEB].variations = (struct policy_range){0, 1};
	segments[WEB].next_variation = 2;
	segments[DB].flags = BH_SEGMENT_POLICY(INGRESS) | BH_SEGMENT_POLICY(EGRESS);
	segments[DB].in = (struct policy_range){0, 1}; /* numbers[0]: matcher 0 */
	segments[DB].own[INGRESS] = DB_IN;
	segments[DB].own[EGRESS] = DB_OUT;
	segments[DB].common[INGRESS] = DB_IN_COMMON;
	segments[DB].fallback[INGRESS][0] = (struct bh_ports_ref){DENY(NP, 0), 0};
	segments[DB].fallback[INGRESS][1] = (struct bh_ports_ref){DENY(NP, 0), 0};
	segments[DB].fallback[EGRESS][0] = (struct bh_ports_ref){2, BH_PORTS_NAMED};
	segments[DB].fallback[EGRESS][1] = (struct bh_ports_ref){DENY(NP, 0), 0};
}

static void make_services(void)
{
	services[0] = (struct policy_service){
		.ns = namespaces[0].name, .name = string("redis"), .ports = {0, 1}};
	services[1] = (struct policy_service){
		namespaces[0].name, string("web"), POLICY_SERVICE_HEADLESS, {1, 1}, 0};
	service_ports[0] = (struct policy_service_port){0, 6379, 6, 0, {0, 2}};
	service_ports[1] = (struct policy_service_port){1, 0, 0, 0, {2, 1}};
	backends[0] = (struct policy_backend){sample_address("10.1.0.5"), nodes[0].name, 6379,
					      POLICY_BACKEND_READY | POLICY_BACKEND_SERVING, 0};
	backends[1] =
		(struct policy_backend){sample_address("192.168.7.1"), nodes[0].name, 6379,
					POLICY_BACKEND_SERVING | POLICY_BACKEND_TERMINATING, 0};
	backends[2] = (struct policy_backend){.address = sample_address("10.1.0.6")};
	frontends[0] = (struct policy_frontend){
		.port = 30379, .protocol = 6, .flags = POLICY_FRONTEND_EXTERNAL};
	frontends[1] = (struct policy_frontend){sample_address("10.96.0.1"), 0, 6379, 6, 0};
	service_cidrs[0] = (struct policy_cidr){sample_address("10.96.0.0"), 108};
	resolvers[0] = (struct policy_cidr){sample_address("10.96.0.10"), 128};
	domains[0] = (struct policy_domain){string("*.example.com"), DB_OUT, DB_BY_NAME};
	domains[1] = (struct policy_domain){string("api.example.com"), DB_OUT, DB_BY_NAME};
}

struct policy *sample_policy(void)
{
	static struct policy policy;

	if (policy.generation)
		return &policy;
	string("");
	make_endpoints();
	make_matchers();
	make_ports();
	make_given();
	make_segments();
	make_services();
	policy = (struct policy){
		.lineage = 77,
		.generation = 2,
		.next_segment = 8,
		.next_class = NEXT_CLASS,
		.next_rule = 8,
		.next_resolution = 2,
		.next_list = 3,
	};
#define TABLE(type, name, moves) \
	policy.name = name;      \
	policy.n_##name = sizeof(name) / sizeof(*name);
	POLICY_TABLES(TABLE)
#undef TABLE
	policy.n_strings = n_strings;
	return &policy;
}
