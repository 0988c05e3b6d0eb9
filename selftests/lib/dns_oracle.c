// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/dns_oracle.h"

#include <string.h>

const char *dns_refusal_name(enum dns_refusal refusal)
{
	static const char *const names[] = {
		[DNS_TAUGHT] = "taught",
		[DNS_SHORT] = "short",
		[DNS_NOT_ANSWER] = "not-answer",
		[DNS_OTHER_ID] = "other-id",
		[DNS_OTHER_QUESTION] = "other-question",
		[DNS_MALFORMED] = "malformed",
		[DNS_NO_ADDRESS] = "no-address",
	};

	return names[refusal];
}

static uint8_t fold(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

/* ---- names ---- */

/* Returns the offset that a pointer leads to. RFC 1035, 4.1.4: it leads to a prior place. */
static bool pointer(const uint8_t *message, size_t length, size_t at, size_t *target)
{
	if (at + 1 >= length)
		return false;
	*target = (size_t)(message[at] & 0x3f) << 8 | message[at + 1];
	return *target < at;
}

size_t dns_oracle_name(const uint8_t *message, size_t length, size_t at, struct dns_name *name)
{
	size_t end = 0;

	name->length = 0;
	for (;;) {
		size_t n;

		if (at >= length)
			return 0;
		if ((message[at] & 0xc0) == 0xc0) {
			size_t target;

			if (!pointer(message, length, at, &target))
				return 0;
			if (!end)
				end = at + 2;
			at = target;
			continue;
		}
		if (message[at] & 0xc0)
			return 0;
		n = 1 + message[at];
		if (at + n > length || name->length + n > DNS_NAME_MAX)
			return 0;
		memcpy(name->bytes + name->length, message + at, n);
		name->length += n;
		at += n;
		if (n == 1)
			return end ? end : at;
	}
}

bool dns_oracle_same(const struct dns_name *a, const struct dns_name *b)
{
	if (a->length != b->length)
		return false;
	/* The bytes of lengths are below 64, so that folding leaves them as they are. */
	for (size_t i = 0; i < a->length; i++)
		if (fold(a->bytes[i]) != fold(b->bytes[i]))
			return false;
	return true;
}

bool dns_oracle_parse(const char *text, struct dns_name *name)
{
	name->length = 0;
	while (*text) {
		size_t n = strcspn(text, ".");

		if (!n || n > 63 || name->length + 1 + n + 1 > DNS_NAME_MAX)
			return false;
		name->bytes[name->length++] = n;
		memcpy(name->bytes + name->length, text, n);
		name->length += n;
		text += n;
		text += *text == '.';
	}
	name->bytes[name->length++] = 0;
	return true;
}

bool dns_oracle_matches(const char *pattern, const struct dns_name *name)
{
	bool wildcard = !strncmp(pattern, "*.", 2);
	struct dns_name wanted, rest = *name;

	if (!dns_oracle_parse(pattern + (wildcard ? 2 : 0), &wanted))
		return false;
	if (!wildcard)
		return dns_oracle_same(&wanted, name);
	while (rest.length > 1) {
		size_t n = 1 + rest.bytes[0];

		rest.length -= n;
		memmove(rest.bytes, rest.bytes + n, rest.length);
		if (dns_oracle_same(&wanted, &rest))
			return true;
	}
	return false;
}

/* ---- records ---- */

struct record {
	struct dns_name owner, target; /* target: a CNAME's */
	uint16_t type, class;
	uint32_t ttl;
	const uint8_t *data;
	size_t n_data;
};

struct answer {
	struct record records[DNS_RECORDS_MAX];
	size_t n;
};

static uint16_t number16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

/* RFC 2181, 8: a TTL with the most significant bit set is 0. */
static uint32_t ttl_at(const uint8_t *at)
{
	uint32_t ttl = (uint32_t)number16(at) << 16 | number16(at + 2);

	return ttl >> 31 ? 0 : ttl;
}

/* Reads the record at @at. Returns where it ends; 0: it cannot be read. */
static size_t read_record(const uint8_t *message, size_t length, size_t at, struct record *record)
{
	size_t end;

	at = dns_oracle_name(message, length, at, &record->owner);
	if (!at || at + 10 > length)
		return 0;
	record->type = number16(message + at);
	record->class = number16(message + at + 2);
	record->ttl = ttl_at(message + at + 4);
	record->n_data = number16(message + at + 8);
	record->data = message + at + 10;
	end = at + 10 + record->n_data;
	if (end > length)
		return 0;
	record->target.length = 0;
	if (record->class != DNS_IN)
		return end;
	if (record->type == DNS_CNAME &&
	    dns_oracle_name(message, end, at + 10, &record->target) != end)
		return 0;
	if ((record->type == DNS_A && record->n_data != 4) ||
	    (record->type == DNS_AAAA && record->n_data != 16))
		return 0;
	return end;
}

static bool is_cname(const struct record *record)
{
	return record->class == DNS_IN && record->type == DNS_CNAME;
}

/* ---- chains ---- */

/* How a name is reached: the records that lead to it. */
struct way {
	struct dns_name name;
	uint32_t ttl;
	size_t steps;
	size_t after; /* index behind the last record of the way */
	bool plain;
};

static size_t count_cnames(const struct answer *answer, const struct dns_name *owner)
{
	size_t n = 0;

	for (size_t i = 0; i < answer->n; i++)
		n += is_cname(&answer->records[i]) &&
		     dns_oracle_same(&answer->records[i].owner, owner);
	return n;
}

static bool has_address(const struct answer *answer, const struct dns_name *owner, uint16_t type)
{
	for (size_t i = 0; i < answer->n; i++)
		if (answer->records[i].class == DNS_IN && answer->records[i].type == type &&
		    dns_oracle_same(&answer->records[i].owner, owner))
			return true;
	return false;
}

static void add_address(struct dns_lesson *lesson, const struct record *record, uint32_t ttl,
			bool plain)
{
	struct dns_address address = {.ttl = ttl, .plain = plain};

	if (record->type == DNS_A) {
		address.bytes[10] = address.bytes[11] = 0xff;
		memcpy(address.bytes + 12, record->data, 4);
	} else {
		memcpy(address.bytes, record->data, 16);
	}
	for (size_t i = 0; i < lesson->n; i++) {
		struct dns_address *other = &lesson->addresses[i];

		if (memcmp(other->bytes, address.bytes, sizeof(address.bytes)))
			continue;
		/* The same address again: whoever learns it has either TTL. */
		if (address.ttl > other->ttl)
			other->ttl = address.ttl;
		other->plain |= plain;
		return;
	}
	lesson->addresses[lesson->n++] = address;
}

/* Adds the addresses of the name that @way leads to. */
static void add_addresses(const struct answer *answer, const struct way *way, uint16_t type,
			  struct dns_lesson *lesson)
{
	bool alone = way->plain && !count_cnames(answer, &way->name);

	for (size_t i = 0; i < answer->n; i++) {
		const struct record *record = &answer->records[i];

		if (record->class != DNS_IN || record->type != type ||
		    !dns_oracle_same(&record->owner, &way->name))
			continue;
		if (way->steps > lesson->chain)
			lesson->chain = way->steps;
		add_address(lesson, record, record->ttl < way->ttl ? record->ttl : way->ttl,
			    alone && i >= way->after);
	}
}

static bool visited(const struct way *ways, size_t n, const struct dns_name *name)
{
	for (size_t i = 0; i < n; i++)
		if (dns_oracle_same(&ways[i].name, name))
			return true;
	return false;
}

/* Raises the TTL of each name that another way leads to and lives longer by: who follows that way
 * has its TTL. Returns true if one has changed. */
static bool raise_ttls(const struct answer *answer, struct way *ways, size_t n)
{
	bool raised = false;

	for (size_t from = 0; from < n; from++)
		for (size_t i = 0; i < answer->n; i++) {
			const struct record *record = &answer->records[i];
			uint32_t ttl = record->ttl < ways[from].ttl ? record->ttl : ways[from].ttl;

			if (!is_cname(record) || !dns_oracle_same(&record->owner, &ways[from].name))
				continue;
			for (size_t to = 0; to < n; to++) {
				if (ways[to].ttl >= ttl ||
				    !dns_oracle_same(&ways[to].name, &record->target))
					continue;
				ways[to].ttl = ttl;
				raised = true;
			}
		}
	return raised;
}

/* Follows all CNAMEs from the question's name, breadth first. */
static void follow(const struct answer *answer, const struct dns_question *question,
		   struct dns_lesson *lesson)
{
	static struct way ways[DNS_RECORDS_MAX + 1];
	size_t n = 1;

	ways[0] = (struct way){.name = question->name, .ttl = UINT32_MAX, .plain = true};
	for (size_t at = 0; at < n; at++) {
		const struct way *way = &ways[at];
		bool one = count_cnames(answer, &way->name) == 1 &&
			   !has_address(answer, &way->name, question->type);

		for (size_t i = 0; i < answer->n; i++) {
			const struct record *record = &answer->records[i];

			if (!is_cname(record) || !dns_oracle_same(&record->owner, &way->name) ||
			    visited(ways, n, &record->target))
				continue;
			ways[n++] = (struct way){
				.name = record->target,
				.ttl = record->ttl < way->ttl ? record->ttl : way->ttl,
				.steps = way->steps + 1,
				.after = i + 1,
				.plain = way->plain && one && i >= way->after,
			};
		}
	}
	while (raise_ttls(answer, ways, n))
		;
	for (size_t at = 0; at < n; at++)
		add_addresses(answer, &ways[at], question->type, lesson);
}

/* ---- messages ---- */

/* Returns true if the header is that of an answer without an error. */
static bool is_answer(const uint8_t *message)
{
	return message[2] & 0x80 && !(message[2] & 0x78) && !(message[3] & 0x0f);
}

/* Reads the question section. Returns where it ends; 0: it is not @question. */
static size_t read_question(const uint8_t *message, size_t length,
			    const struct dns_question *question)
{
	struct dns_name name;
	size_t at;

	if (number16(message + 4) != 1)
		return 0;
	at = dns_oracle_name(message, length, DNS_HEADER, &name);
	if (!at || at + 4 > length || !dns_oracle_same(&name, &question->name) ||
	    number16(message + at) != question->type || number16(message + at + 2) != DNS_IN)
		return 0;
	return at + 4;
}

void dns_oracle_read(const uint8_t *message, size_t length, const struct dns_question *question,
		     struct dns_lesson *lesson)
{
	static struct answer answer;
	size_t at;

	lesson->refusal = DNS_SHORT;
	lesson->truncated = false;
	lesson->n = lesson->chain = 0;
	if (length < DNS_HEADER)
		return;
	lesson->refusal = DNS_OTHER_ID;
	if (number16(message) != question->id)
		return;
	lesson->refusal = DNS_NOT_ANSWER;
	if (!is_answer(message))
		return;
	lesson->refusal = DNS_OTHER_QUESTION;
	at = read_question(message, length, question);
	if (!at)
		return;
	lesson->truncated = message[2] & 0x02;
	answer.n = 0;
	lesson->refusal = DNS_MALFORMED;
	for (unsigned int left = number16(message + 6); left; left--) {
		if (answer.n == DNS_RECORDS_MAX)
			return;
		at = read_record(message, length, at, &answer.records[answer.n]);
		if (!at && lesson->truncated)
			break;
		if (!at)
			return;
		answer.n++;
	}
	follow(&answer, question, lesson);
	lesson->refusal = lesson->n ? DNS_TAUGHT : DNS_NO_ADDRESS;
}
