// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "node/kernel/domain_maps.h"
#include "node/kernel/settings.h"

static void absorb_label(struct bh_domain_hash *hash, const char *label, size_t length)
{
	bh_domain_absorb(hash, length);
	for (size_t at = 0; at < length; at += sizeof(__u64)) {
		__u64 word = 0;

		memcpy(&word, label + at, length - at < sizeof(word) ? length - at : sizeof(word));
		bh_domain_absorb(hash, bh_domain_lower(word));
	}
}

int domains_hash(struct node_handle *handle, const char *text, __u64 *hash, struct bh_domain *name)
{
	struct bh_domain_hash walk;
	const char *end = text + strlen(text), *label;
	int error = settings_domain_key(handle);

	if (error)
		return error;
	*name = (struct bh_domain){.wildcard = !strncmp(text, "*.", 2)};
	text += name->wildcard ? 2 : 0;
	bh_domain_begin(&walk, handle->domain_key[0], handle->domain_key[1]);
	for (; end > text; end = label > text ? label - 1 : text) {
		label = end;
		while (label > text && label[-1] != '.')
			label--;
		absorb_label(&walk, label, end - label);
		name->labels++;
	}
	*hash = bh_domain_end(&walk, name->wildcard ? BH_DOMAIN_WILDCARD : BH_DOMAIN_EXACT);
	return 0;
}

int domains_own(struct node_handle *handle, const struct bh_learned_key *key,
		struct bh_learned *learned)
{
	struct bh_domain_hash walk;
	int error = settings_domain_key(handle);
	__u64 owner;

	if (error)
		return error;
	bh_domain_begin(&walk, handle->domain_key[0], handle->domain_key[1]);
	owner = bh_learned_owner(&walk, key);
	for (int i = 0; i < BH_LEARNED_NAMES; i++)
		if (!bh_learned_is_stamped(learned->until[i], owner, learned->domain[i]))
			learned->domain[i] = 0;
	return 0;
}
