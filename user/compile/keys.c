// SPDX-License-Identifier: GPL-2.0-only
#include "compile/compiler.h"

#include <sodium.h>

struct policy_key bytes_key(const bytes_t *bytes)
{
	struct policy_key key;

	_Static_assert(sizeof(key) == crypto_generichash_BYTES_MIN,
		       "a key is a short BLAKE2b hash");
	crypto_generichash((unsigned char *)&key, sizeof(key), bytes->at, bytes->n, NULL, 0);
	return key;
}

void policy_name_put(bytes_t *bytes, const struct policy_object *policy)
{
	if (policy->ns_name) {
		bytes_put(bytes, policy->ns_name, strlen(policy->ns_name));
		bytes_put(bytes, "/", 1);
	}
	bytes_put(bytes, policy->name, strlen(policy->name) + 1);
}
