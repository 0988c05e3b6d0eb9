// SPDX-License-Identifier: GPL-2.0-only
/*
 * An endpoint's record gives back what it was made from; what does not fit or is damaged is
 * refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "input/input.h"
#include "node/plan/added_record.h"

static void read_ini(struct cluster *cluster, const char *text)
{
	struct diag diag = {.to = stderr};

	cluster_init(cluster);
	assert_int_equal(input_parse_ini(cluster, text, strlen(text), "test", &diag), 0);
	assert_int_equal(cluster_finish(cluster, &diag), 0);
	assert_int_equal(cluster->n_endpoints, 1);
}

static void same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
	assert_string_equal(a->ns_name, b->ns_name);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->node, b->node);
	assert_string_equal(a->interface, b->interface);
	assert_int_equal(a->has_mac, b->has_mac);
	assert_memory_equal(a->mac, b->mac, sizeof(a->mac));
	assert_int_equal(a->l2, b->l2);
	assert_int_equal(a->audit, b->audit);
	assert_int_equal(a->unknown, b->unknown);
	assert_int_equal(a->rests, b->rests);
	assert_string_equal(a->uid, b->uid);
	assert_string_equal(a->attachment, b->attachment);
	assert_int_equal(a->n_addresses, b->n_addresses);
	assert_memory_equal(a->addresses, b->addresses, a->n_addresses * sizeof(*a->addresses));
	assert_int_equal(a->labels.n, b->labels.n);
	for (size_t i = 0; i < a->labels.n; i++) {
		assert_string_equal(a->labels.at[i].key, b->labels.at[i].key);
		assert_string_equal(a->labels.at[i].value, b->labels.at[i].value);
	}
	assert_int_equal(a->n_ports, b->n_ports);
	for (size_t i = 0; i < a->n_ports; i++) {
		assert_string_equal(a->ports[i].name, b->ports[i].name);
		assert_int_equal(a->ports[i].protocol, b->ports[i].protocol);
		assert_int_equal(a->ports[i].port, b->ports[i].port);
	}
	assert_int_equal(a->n_allow_source, b->n_allow_source);
	for (size_t i = 0; i < a->n_allow_source; i++) {
		assert_memory_equal(&a->allow_source[i].address, &b->allow_source[i].address,
				    sizeof(struct address));
		assert_int_equal(a->allow_source[i].length, b->allow_source[i].length);
	}
}

static const char whole[] = "[endpoint shop/db-0]\nnode = n1\ninterface = veth-0\n"
			    "ip = fd00::5, 10.1.0.5\nmac = 02:00:00:00:00:05\nmode = l2\n"
			    "labels = role=db, example.com/tier=, zone=eu-1\n"
			    "port = redis TCP/6379\nport = dns UDP/53\n"
			    "allow-source = 10.8.0.0/16, fd08::/64\naudit = yes\n";

static void all_of_it(void **state)
{
	struct cluster in, out;
	struct bh_added record;
	struct endpoint *read;

	(void)state;
	read_ini(&in, whole);
	cluster_init(&out);
	in.endpoints[0].uid = "00-1";
	in.endpoints[0].attachment = "0c:eth0";
	in.endpoints[0].unknown = in.endpoints[0].rests = true;
	assert_int_equal(record_write(&in.endpoints[0], &record), 0);
	assert_int_equal(record_read(&record, &out, &read), 0);
	same_endpoint(&in.endpoints[0], read);
	cluster_free(&in);
	cluster_free(&out);
}

static void too_much(void **state)
{
	char text[16384];
	size_t at = sprintf(text, "[endpoint shop/db]\nip = 10.1.0.1\nlabels = a=b");
	struct bh_added record;
	struct cluster in;

	(void)state;
	for (int i = 0; i < 300; i++)
		at += sprintf(text + at, ",\n\tlabel-%03d=value-%03d", i, i);
	sprintf(text + at, "\n");
	read_ini(&in, text);
	assert_int_equal(record_write(&in.endpoints[0], &record), -E2BIG);
	cluster_free(&in);
}

static void damaged(void **state)
{
	static const char *const fields[] = {"nothing=1", "ip=10.1.0.x", "port=redis", "label=a",
					     "mac=02",	  "bare",	 "mode=l3",    "audit=no"};
	struct bh_added record;
	struct endpoint *read;
	struct cluster out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		record = record_name("shop", "db");
		strcpy(record.fields, fields[i]);
		cluster_init(&out);
		assert_int_equal(record_read(&record, &out, &read), -EILSEQ);
		cluster_free(&out);
	}
	/* A string without a terminator. */
	record = record_name("shop", "db");
	memset(record.fields, 'a', sizeof(record.fields));
	cluster_init(&out);
	assert_int_equal(record_read(&record, &out, &read), -EILSEQ);
	cluster_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it),
		cmocka_unit_test(too_much),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
