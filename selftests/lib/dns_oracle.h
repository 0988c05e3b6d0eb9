/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A naive reading of DNS answers, written from RFC 1034, 1035, 2181 and 8499 and from what
 * NPEP-133 says of CNAME records. It copies every name, follows every pointer from the beginning
 * and checks each access; it shares no line with kern/.
 */
#ifndef BULKHEAD_SELFTESTS_DNS_ORACLE_H
#define BULKHEAD_SELFTESTS_DNS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_HEADER 12
#define DNS_A 1
#define DNS_NS 2
#define DNS_CNAME 5
#define DNS_SOA 6
#define DNS_TXT 16
#define DNS_AAAA 28
#define DNS_OPT 41
#define DNS_RRSIG 46
#define DNS_ANY 255
#define DNS_IN 1

/* RFC 1035, 2.3.4: a name in the wire's form has 255 bytes at most. */
#define DNS_NAME_MAX 255
/* More records than a message of 65,535 bytes holds addresses in: 12 bytes for each record's
 * fixed part and name, and 4 of address. */
#define DNS_RECORDS_MAX 4200

/* A name as the wire has it without compression: length, bytes, ..., 0. Bytes are anything, dots
 * included. */
struct dns_name {
	uint8_t bytes[DNS_NAME_MAX];
	size_t length; /* with the last 0; 0: no name */
};

/* What an endpoint asked. */
struct dns_question {
	uint16_t id;
	struct dns_name name;
	uint16_t type;
};

/* Why a message teaches nothing. */
enum dns_refusal {
	DNS_TAUGHT,
	DNS_SHORT, /* shorter than a header */
	DNS_NOT_ANSWER, /* a query, another opcode, or the answer of an error */
	DNS_OTHER_ID,
	DNS_OTHER_QUESTION, /* another number of questions, name, type or class */
	DNS_MALFORMED, /* a name or record of the answers that cannot be read */
	DNS_NO_ADDRESS, /* well, and no address for the question's name */
};

struct dns_address {
	uint8_t bytes[16]; /* IPv4: mapped */
	uint32_t ttl; /* the least of the record's and its chain's */
	/* each name of its chain has one CNAME only, that stands before what it leads to, and no
	 * record of another kind: a reader in one pass finds it */
	bool plain;
};

struct dns_lesson {
	enum dns_refusal refusal;
	bool truncated; /* the header's TC */
	struct dns_address addresses[DNS_RECORDS_MAX]; /* each once, in order of appearance */
	size_t n;
	size_t chain; /* CNAMEs on the longest way to an address */
};

/*
 * Reads an answer to @question. An address counts if its owner is the question's name or can be
 * reached from it through CNAMEs of the same answer section, in any order, and if its type is the
 * question's. With TC the records that are whole count.
 */
void dns_oracle_read(const uint8_t *message, size_t length, const struct dns_question *question,
		     struct dns_lesson *lesson);

/* Reads the name at @at of a message, following pointers. Returns where the name ends at @at; 0:
 * it cannot be read. */
size_t dns_oracle_name(const uint8_t *message, size_t length, size_t at, struct dns_name *name);

/* Returns true if the names are equal but for the case of ASCII letters. */
bool dns_oracle_same(const struct dns_name *a, const struct dns_name *b);

/* Returns true if @pattern, as in a policy in any case ("*.a.io", "A.io."), stands for @name. */
bool dns_oracle_matches(const char *pattern, const struct dns_name *name);

/* Makes a name of a text with dots. Returns false if it is none. */
bool dns_oracle_parse(const char *text, struct dns_name *name);

const char *dns_refusal_name(enum dns_refusal refusal);

#endif
