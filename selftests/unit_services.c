// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiled Services in both forms, in a blob, and who owns an address.
 * selftests/cases/services.case has their addresses and backends. Runs from the top of the tree.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/blob_file.h"
#include "compile/compile.h"
#include "policy/frontend.h"
#include "input/input.h"
#include "selftests/lib/case_file.h"
#include "selftests/lib/dump.h"

/* The cases of services.case that are one cluster in both forms. */
static struct case_file file;
static const struct input_case *world_ini, *world_yaml;

/* Either text may be NULL. */
static struct policy *compile_texts(const char *ini, const char *yaml)
{
	struct diag diag = {0};
	struct cluster cluster;
	struct policy *policy;

	cluster_init(&cluster);
	if (ini)
		assert_int_equal(input_parse_ini(&cluster, ini, strlen(ini), "t", &diag), 0);
	if (yaml)
		assert_int_equal(input_parse_yaml(&cluster, yaml, strlen(yaml), "t", &diag), 0);
	assert_int_equal(cluster_finish(&cluster, &diag), 0);
	assert_int_equal(compile_cluster(&cluster, NULL, &diag, &policy), 0);
	cluster_free(&cluster);
	return policy;
}

static void *blob_of(struct policy *policy, size_t *size)
{
	void *bytes;

	assert_int_equal(blob_write(policy, &bytes, size), 0);
	return bytes;
}

static void both_forms(void **state)
{
	struct policy *ini = compile_texts(world_ini->text, NULL), *yaml, *read;
	size_t ini_size, yaml_size;
	void *ini_bytes = blob_of(ini, &ini_size), *yaml_bytes;
	char *listing = dump_services(ini);
	struct diag diag = {.to = stderr};

	(void)state;
	assert_string_equal(listing, world_ini->dump);
	yaml = compile_texts("[bulkhead]\nservice-cidr = fd00:96::/112, 10.96.0.0/12, "
			     "10.96.0.1/12\n",
			     world_yaml->text);
	yaml_bytes = blob_of(yaml, &yaml_size);
	free(listing);
	listing = dump_services(yaml);
	assert_string_equal(listing, world_ini->dump);
	assert_int_equal(ini_size, yaml_size);
	assert_memory_equal(ini_bytes, yaml_bytes, ini_size);
	assert_int_equal(blob_read(yaml_bytes, yaml_size, NULL, &diag, &read), 0);
	free(listing);
	listing = dump_services(read);
	assert_string_equal(listing, world_ini->dump);
	free(listing);
	free(ini_bytes);
	policy_free(ini);
	policy_free(yaml);
	policy_free(read);
}

/* The owner of an address and port. */
static void finds(void **state)
{
	static const struct {
		const char *node, *address;
		uint8_t protocol;
		uint16_t port;
		enum service_answer answer;
	} rows[] = {
		{NULL, "10.96.0.10", IPPROTO_TCP, 6379, SERVICE_FOUND},
		{NULL, "10.96.0.10", IPPROTO_UDP, 6379, SERVICE_NO_PORT},
		{NULL, "10.96.0.10", IPPROTO_ICMP, 0, SERVICE_NO_PORT},
		{NULL, "fd00:96::10", IPPROTO_UDP, 53, SERVICE_FOUND},
		{NULL, "203.0.113.1", IPPROTO_TCP, 6379, SERVICE_FOUND},
		{NULL, "203.0.113.1", IPPROTO_TCP, 80, SERVICE_NO_PORT},
		{NULL, "203.0.113.2", IPPROTO_TCP, 6379, SERVICE_NONE},
		/* A node's address is the Service's at the Service's port only. */
		{NULL, "192.168.7.2", IPPROTO_SCTP, 9, SERVICE_FOUND},
		{NULL, "192.168.7.2", IPPROTO_SCTP, 8, SERVICE_NONE},
		{"w1", "192.168.7.1", IPPROTO_TCP, 30379, SERVICE_FOUND},
		{"w1", "fd00:7::1", IPPROTO_TCP, 30379, SERVICE_FOUND},
		{"w1", "192.168.7.2", IPPROTO_TCP, 30379, SERVICE_NONE},
		{"w1", "192.168.7.1", IPPROTO_TCP, 30380, SERVICE_NONE},
		{NULL, "192.168.7.1", IPPROTO_TCP, 30379, SERVICE_NONE},
		{"w1", "10.1.0.5", IPPROTO_TCP, 30379, SERVICE_NONE},
		{NULL, "10.96.0.12", IPPROTO_TCP, 443, SERVICE_UNKNOWN},
		{NULL, "fd00:96::11", IPPROTO_TCP, 443, SERVICE_UNKNOWN},
		{NULL, "10.112.0.1", IPPROTO_TCP, 443, SERVICE_NONE},
		{NULL, "::", IPPROTO_TCP, 30379, SERVICE_NONE},
	};
	struct policy *policy = compile_texts(world_ini->text, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct service_frontends found;
		struct address address;

		assert_int_equal(address_parse(rows[i].address, &address), 0);
		if (service_find(policy, rows[i].node, &address, rows[i].protocol, rows[i].port,
				 &found) != rows[i].answer)
			fail_msg("row %zu, %s", i, rows[i].address);
	}
	assert_non_null(service_by_name(policy, "shop", "headless"));
	assert_null(service_by_name(policy, "shop", "db-0"));
	policy_free(policy);
}

/* Kubernetes lets two Services have one external address and port. */
static void shared_frontend(void **state)
{
	struct policy *policy = compile_texts("[service b/b]\naddress = 10.9.0.2\n"
					      "external-address = 203.0.113.1\nport = TCP/9\n"
					      "backends = 10.0.0.2\n"
					      "[service a/a]\naddress = 10.9.0.1\n"
					      "external-address = 203.0.113.1\nport = TCP/9\n"
					      "backends = 10.0.0.1\n",
					      NULL);
	struct service_frontends found;
	struct address address;

	(void)state;
	assert_int_equal(address_parse("203.0.113.1", &address), 0);
	assert_int_equal(service_find(policy, NULL, &address, IPPROTO_TCP, 9, &found),
			 SERVICE_FOUND);
	assert_int_equal(found.n, 2);
	policy_free(policy);
}

static int find_worlds(void **state)
{
	(void)state;
	file = case_file_read("selftests/cases/services.case");
	for (size_t i = 0; i < file.n; i++) {
		if (!strcmp(file.cases[i].name, "the world in INI"))
			world_ini = &file.cases[i];
		if (!strcmp(file.cases[i].name, "the world in YAML"))
			world_yaml = &file.cases[i];
	}
	return !world_ini || !world_yaml;
}

static int forget_worlds(void **state)
{
	(void)state;
	case_file_free(&file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms),
		cmocka_unit_test(finds),
		cmocka_unit_test(shared_frontend),
	};

	return cmocka_run_group_tests_name("services", tests, find_worlds, forget_worlds);
}
