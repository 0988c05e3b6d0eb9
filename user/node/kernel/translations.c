// SPDX-License-Identifier: GPL-2.0-only
#include "node/kernel/translations.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <libnetfilter_conntrack/libnetfilter_conntrack.h>

static void read_address(const struct nf_conntrack *ct, enum nf_conntrack_attr ipv4,
			 enum nf_conntrack_attr ipv6, struct address *address)
{
	static const struct address mapped = {{[10] = 0xff, [11] = 0xff}};

	if (nfct_attr_is_set(ct, ipv6) > 0) {
		memcpy(address->bytes, nfct_get_attr(ct, ipv6), sizeof(address->bytes));
		return;
	}
	*address = mapped;
	memcpy(address->bytes + 12, nfct_get_attr(ct, ipv4), 4);
}

void tuples_read(const struct nf_conntrack *ct, struct tuple *before, struct tuple *after)
{
	*before = (struct tuple){
		.source_port = nfct_get_attr_u16(ct, ATTR_ORIG_PORT_SRC),
		.destination_port = nfct_get_attr_u16(ct, ATTR_ORIG_PORT_DST),
		.protocol = nfct_get_attr_u8(ct, ATTR_ORIG_L4PROTO),
	};
	*after = (struct tuple){
		.source_port = nfct_get_attr_u16(ct, ATTR_REPL_PORT_DST),
		.destination_port = nfct_get_attr_u16(ct, ATTR_REPL_PORT_SRC),
		.protocol = before->protocol,
	};
	read_address(ct, ATTR_ORIG_IPV4_SRC, ATTR_ORIG_IPV6_SRC, &before->source);
	read_address(ct, ATTR_ORIG_IPV4_DST, ATTR_ORIG_IPV6_DST, &before->destination);
	read_address(ct, ATTR_REPL_IPV4_DST, ATTR_REPL_IPV6_DST, &after->source);
	read_address(ct, ATTR_REPL_IPV4_SRC, ATTR_REPL_IPV6_SRC, &after->destination);
}

static bool is_translated(const struct tuple *before, const struct tuple *after)
{
	return memcmp(&before->destination, &after->destination, sizeof(before->destination)) ||
	       before->destination_port != after->destination_port;
}

struct conntrack_reading {
	struct translations *translations;
	size_t capacity;
	int error;
};

static int take(enum nf_conntrack_msg_type type, struct nf_conntrack *ct, void *data)
{
	struct conntrack_reading *reading = data;
	struct translations *list = reading->translations;
	struct translation one;

	(void)type;
	tuples_read(ct, &one.before, &one.after);
	if (!is_translated(&one.before, &one.after))
		return NFCT_CB_CONTINUE;
	if (list->n == reading->capacity) {
		size_t capacity = reading->capacity ? 2 * reading->capacity : 64;
		struct translation *more = reallocarray(list->at, capacity, sizeof(*more));

		reading->error = more ? 0 : -ENOMEM;
		if (!more)
			return NFCT_CB_FAILURE;
		list->at = more;
		reading->capacity = capacity;
	}
	list->at[list->n++] = one;
	return NFCT_CB_CONTINUE;
}

static int compare_before(const void *a, const void *b)
{
	const struct translation *x = a, *y = b;

	return memcmp(&x->before, &y->before, sizeof(x->before));
}

static int compare_after(const void *a, const void *b)
{
	const struct translation *x = a, *y = b;

	return memcmp(&x->after, &y->after, sizeof(x->after));
}

int translations_read(struct translations *translations)
{
	struct nfct_handle *handle = nfct_open(CONNTRACK, 0);
	struct conntrack_reading reading = {.translations = translations};
	uint32_t families[] = {AF_INET, AF_INET6};

	*translations = (struct translations){0};
	if (!handle)
		return 0;
	nfct_callback_register(handle, NFCT_T_ALL, take, &reading);
	for (int i = 0; i < 2 && !reading.error; i++)
		nfct_query(handle, NFCT_Q_DUMP, &families[i]);
	nfct_close(handle);
	if (!reading.error && translations->n) {
		size_t size = translations->n * sizeof(*translations->at);

		translations->by_after = malloc(size);
		if (translations->by_after)
			memcpy(translations->by_after, translations->at, size);
		reading.error = translations->by_after ? 0 : -ENOMEM;
	}
	if (reading.error) {
		translations_free(translations);
		*translations = (struct translations){0};
	} else if (translations->n) {
		qsort(translations->at, translations->n, sizeof(*translations->at), compare_before);
		qsort(translations->by_after, translations->n, sizeof(*translations->at),
		      compare_after);
	}
	return reading.error;
}

void translations_free(struct translations *translations)
{
	free(translations->at);
	free(translations->by_after);
}

const struct translation *translations_before(const struct translations *translations,
					      const struct tuple *before)
{
	struct translation key = {.before = *before};

	if (!translations->n)
		return NULL;
	return bsearch(&key, translations->at, translations->n, sizeof(key), compare_before);
}

const struct translation *translations_after(const struct translations *translations,
					     const struct tuple *after)
{
	struct translation key = {.after = *after};

	if (!translations->n)
		return NULL;
	return bsearch(&key, translations->by_after, translations->n, sizeof(key), compare_after);
}

/* The answer to one question. */
struct conntrack_answer {
	struct tuple before, after;
	bool found;
};

static int take_answer(enum nf_conntrack_msg_type type, struct nf_conntrack *ct, void *data)
{
	struct conntrack_answer *answer = data;

	(void)type;
	tuples_read(ct, &answer->before, &answer->after);
	answer->found = true;
	return NFCT_CB_CONTINUE; /* the kernel's acknowledgement follows the answer */
}

static void set_address(struct nf_conntrack *ct, bool ipv4, enum nf_conntrack_attr attr4,
			enum nf_conntrack_attr attr6, const struct address *address)
{
	if (ipv4)
		nfct_set_attr(ct, attr4, address->bytes + 12);
	else
		nfct_set_attr(ct, attr6, address->bytes);
}

/* Sets the replies' tuple. The kernel looks for a tuple in either direction, and the library has
 * setters for the original one. */
static struct nf_conntrack *make_question(const struct tuple *after)
{
	struct nf_conntrack *ct = nfct_new();
	bool ipv4 = address_is_ipv4(&after->source);

	if (!ct)
		return NULL;
	nfct_set_attr_u8(ct, ATTR_ORIG_L3PROTO, ipv4 ? AF_INET : AF_INET6);
	nfct_set_attr_u8(ct, ATTR_ORIG_L4PROTO, after->protocol);
	set_address(ct, ipv4, ATTR_ORIG_IPV4_SRC, ATTR_ORIG_IPV6_SRC, &after->destination);
	set_address(ct, ipv4, ATTR_ORIG_IPV4_DST, ATTR_ORIG_IPV6_DST, &after->source);
	nfct_set_attr_u16(ct, ATTR_ORIG_PORT_SRC, after->destination_port);
	nfct_set_attr_u16(ct, ATTR_ORIG_PORT_DST, after->source_port);
	return ct;
}

bool translation_ask(struct nfct_handle **handle, const struct tuple *after, struct tuple *before)
{
	struct nf_conntrack *question;
	struct conntrack_answer answer = {.found = false};

	if (!*handle)
		*handle = nfct_open(CONNTRACK, 0);
	question = *handle ? make_question(after) : NULL;
	if (!question)
		return false;
	nfct_callback_unregister(*handle);
	nfct_callback_register(*handle, NFCT_T_ALL, take_answer, &answer);
	nfct_query(*handle, NFCT_Q_GET, question);
	nfct_destroy(question);
	if (!answer.found || !is_translated(&answer.before, &answer.after))
		return false;
	*before = answer.before;
	return true;
}

void translation_close(struct nfct_handle *handle)
{
	if (handle)
		nfct_close(handle);
}
