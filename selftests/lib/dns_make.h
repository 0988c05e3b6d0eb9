/* SPDX-License-Identifier: GPL-2.0-only */
/* Random DNS answers, as resolvers send them and as nobody should. */
#ifndef BULKHEAD_SELFTESTS_DNS_MAKE_H
#define BULKHEAD_SELFTESTS_DNS_MAKE_H

#include "selftests/lib/dns_oracle.h"
#include "selftests/lib/generate.h"

#define DNS_MADE_MAX 4096
#define DNS_CHAIN_MAX 8

struct dns_made {
	uint8_t bytes[DNS_MADE_MAX];
	size_t length;
	/* Names that were written: pointers may lead to them. */
	struct {
		struct dns_name name;
		size_t at;
	} names[64];
	size_t n_names;
	size_t records[200], n_records; /* where each answer begins */
};

/* Picks a question: of a name that one of the @n patterns stands for, or of one that is like it. */
void dns_make_question(struct random *random, const char *const *patterns, size_t n,
		       struct dns_question *question);

/* Writes the question's message. Returns its length. */
size_t dns_make_query(const struct dns_question *question, uint8_t *bytes, size_t size);

/* Makes an answer as a resolver sends it: a chain of CNAMEs in order, addresses, further sections.
 */
void dns_make_answer(struct random *random, const struct dns_question *question,
		     struct dns_made *made);

/* Changes a message in one to four ways. */
void dns_mutate(struct random *random, struct dns_made *made);

#endif
