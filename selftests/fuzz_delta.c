/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fuzzes the decompressed records of a policy delta. For an input too short for a header, the first
 * mutation is the delta between the two policies below. Every record that delta_open() accepts can
 * be read, with every reference in its table; applying the delta fails or gives a policy that
 * passes every check.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "policy/delta_view.h"
#include "policy/lazy_policy.h"
#include "policy/references.h"
#include "input/input.h"

#define MUST(true_thing)           \
	do {                       \
		if (!(true_thing)) \
			abort();   \
	} while (0)

static const char *const texts[2] = {
	"[namespace shop]\nlabels = project=a\n[node worker]\nip = 192.168.7.1\n"
	"[endpoint default/db]\nnode = worker\nip = 10.1.0.5, fd00::5\nlabels = role=db\n"
	"port = redis TCP/6379\n[endpoint shop/cart]\nip = 10.1.0.6\n"
	"[service default/s]\naddress = 10.96.0.1\nport = TCP/80\nbackends = endpoints(role=db)\n"
	"[network-policy default/p]\nendpoints = role=db\n"
	"ingress = from namespaces(project=a) ports TCP/6379, UDP/7000-7010\n",
	"[namespace shop]\nlabels = project=b\n[node worker]\nip = 192.168.7.1\n"
	"[endpoint default/db]\nnode = worker\nip = 10.1.0.5, fd00::5\nlabels = role=db\n"
	"[endpoint shop/cart]\nip = 10.1.0.7\nlabels = role=db\n"
	"[endpoint shop/more]\nip = 10.1.0.6\nnode = far\n"
	"[network-policy default/p]\nendpoints = role=db\n"
	"ingress = from namespaces(project=a) ports redis\negress = to cidr(10.0.0.0/24)\n",
};

static struct policy *compile(const char *text, const struct policy *base)
{
	struct diag diag = {0};
	struct cluster cluster;
	struct policy *policy;
	void *bytes;
	size_t size;

	cluster_init(&cluster);
	MUST(!input_parse_ini(&cluster, text, strlen(text), "policy", &diag));
	MUST(!cluster_finish(&cluster, &diag));
	MUST(!compile_cluster(&cluster, base, &diag, &policy));
	MUST(!blob_write(policy, &bytes, &size));
	free(bytes);
	cluster_free(&cluster);
	return policy;
}

static const struct policy *base_policy(void)
{
	static struct policy *base;

	if (!base)
		base = compile(texts[0], NULL);
	return base;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static struct delta *delta;

	(void)seed;
	if (!delta) {
		struct policy *next = compile(texts[1], base_policy());

		MUST(!delta_make(base_policy(), next, &delta));
		policy_free(next);
	}
	if (size >= sizeof(struct delta_header) || max_size < delta->size)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(data, delta->payload, delta->size);
	return delta->size;
}

/* Reads every record of the view and the records that it refers to. */
static void read_all(struct lazy_policy *policy)
{
	for (enum blob_table table = 0; table < BLOB_TABLES && !policy->source->error; table++)
		for (size_t i = 0; i < lazy_table_count(policy, table) && !policy->source->error;
		     i++)
			lazy_read(policy, lazy_table_record(policy, table, i),
				  table_layouts[table].size);
	for (size_t i = 0; i < policy->n_endpoints && !policy->source->error; i++)
		lazy_endpoint_by_name(policy, "shop",
				      lazy_read_string(policy, policy->endpoints[i].name));
}

static void use(const struct delta *delta)
{
	const struct lazy_policy *base = policy_lazy(base_policy());
	struct diag diag = {0};
	struct delta_view *view = NULL;
	struct lazy_policy *lazy = NULL;
	struct policy *policy = NULL;

	if (delta_check_base(delta, base, "it", NULL, &diag))
		return;
	MUST(!delta_view_open(delta, base, NULL, &diag, &view, &lazy));
	read_all(lazy);
	lazy_policy_free(lazy);
	delta_view_close(view);
	if (!delta_apply(delta, base, "it", NULL, &diag, &policy))
		MUST(policy->checksum == delta->header.checksum);
	policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag diag = {0};
	struct delta *delta;
	void *payload;

	if (size < sizeof(struct delta_header))
		return 0;
	payload = malloc(size);
	MUST(payload);
	memcpy(payload, data, size);
	((struct delta_header *)payload)->base = base_policy()->checksum;
	((struct delta_header *)payload)->blob_version = BLOB_VERSION;
	if (delta_open(payload, size, NULL, &diag, &delta)) {
		MUST(diag.errors == 1);
		return 0;
	}
	use(delta);
	delta_free(delta);
	return 0;
}
