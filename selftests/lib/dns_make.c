// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/dns_make.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PICK(random, array) ((array)[random_below(random, COUNT(array))])

/* ---- names ---- */

static void add_label(struct dns_name *name, const void *bytes, size_t n)
{
	uint8_t label[64];

	if (name->length + 1 + n > DNS_NAME_MAX)
		return;
	label[0] = n;
	memcpy(label + 1, bytes, n);
	memmove(name->bytes + n + 1, name->bytes, name->length);
	memcpy(name->bytes, label, n + 1);
	name->length += n + 1;
}

/* Adds a label in front: short, long, or of bytes that texts write otherwise. */
static void add_some_label(struct random *random, struct dns_name *name)
{
	static const char *const labels[] = {"a", "www", "x-1", "_tcp", "deep", "a.b", ".", "*"};
	uint8_t bytes[63];
	size_t n = 1 + random_below(random, 63);

	if (random_chance(random, 80)) {
		const char *label = PICK(random, labels);

		add_label(name, label, strlen(label));
		return;
	}
	for (size_t i = 0; i < n; i++)
		bytes[i] = random_chance(random, 90) ? 'a' + random_below(random, 26)
						     : random_below(random, 256);
	add_label(name, bytes, n);
}

/* 0x20: letters in random case. */
static void mix_case(struct random *random, struct dns_name *name)
{
	for (size_t at = 0; name->bytes[at]; at += 1 + name->bytes[at])
		for (size_t i = 1; i <= name->bytes[at]; i++)
			if ((name->bytes[at + i] | 0x20) >= 'a' &&
			    (name->bytes[at + i] | 0x20) <= 'z' && random_chance(random, 50))
				name->bytes[at + i] ^= 0x20;
}

/* Turns two labels of a name into one that has a dot: "api" "example" into "api.example". */
static void join_labels(struct dns_name *name)
{
	size_t first = name->bytes[0], second = first ? name->bytes[1 + first] : 0;

	if (!second || first + 1 + second > 63)
		return;
	name->bytes[0] = first + 1 + second;
	name->bytes[1 + first] = '.';
}

/* Takes the first label off. */
static void cut_label(struct dns_name *name)
{
	size_t n = 1 + name->bytes[0];

	if (n == 1)
		return;
	name->length -= n;
	memmove(name->bytes, name->bytes + n, name->length);
}

void dns_make_question(struct random *random, const char *const *patterns, size_t n,
		       struct dns_question *question)
{
	const char *pattern = patterns[random_below(random, n)];
	bool wildcard = !strncmp(pattern, "*.", 2);

	question->id = random_below(random, 65536);
	question->type = random_chance(random, 60) ? DNS_A : DNS_AAAA;
	dns_oracle_parse(pattern + (wildcard ? 2 : 0), &question->name);
	for (unsigned int more = wildcard ? 1 + random_below(random, 3) : 0; more; more--)
		add_some_label(random, &question->name);
	switch (random_below(random, 16)) {
	case 0:
		join_labels(&question->name);
		break;
	case 1:
		cut_label(&question->name);
		break;
	case 2:
		add_some_label(random, &question->name);
		break;
	case 3:
		for (int i = 0; i < 60; i++)
			add_some_label(random, &question->name);
		break;
	default:
		break;
	}
	if (random_chance(random, 30))
		mix_case(random, &question->name);
}

/* ---- writing ---- */

static void put(struct dns_made *made, const void *bytes, size_t n)
{
	if (made->length + n > DNS_MADE_MAX)
		n = DNS_MADE_MAX - made->length;
	memcpy(made->bytes + made->length, bytes, n);
	made->length += n;
}

static void put16(struct dns_made *made, uint16_t number)
{
	put(made, (uint8_t[]){number >> 8, number}, 2);
}

static void put32(struct dns_made *made, uint32_t number)
{
	put16(made, number >> 16);
	put16(made, number);
}

static void set16(struct dns_made *made, size_t at, uint16_t number)
{
	if (at + 2 > made->length)
		return;
	made->bytes[at] = number >> 8;
	made->bytes[at + 1] = number;
}

/* Returns the place of a name that was written and equals @rest; 0: there is none. */
static size_t written(const struct dns_made *made, const struct dns_name *rest)
{
	for (size_t i = 0; i < made->n_names; i++)
		if (made->names[i].name.length == rest->length &&
		    !memcmp(made->names[i].name.bytes, rest->bytes, rest->length))
			return made->names[i].at;
	return 0;
}

static void note(struct dns_made *made, const struct dns_name *rest)
{
	if (made->n_names < COUNT(made->names) && made->length < 0x4000) {
		made->names[made->n_names].name = *rest;
		made->names[made->n_names++].at = made->length;
	}
}

/* Writes a name, with a pointer to an earlier place where @compress. */
static void put_name(struct dns_made *made, const struct dns_name *name, bool compress)
{
	struct dns_name rest = *name;

	while (rest.length > 1) {
		size_t at = compress ? written(made, &rest) : 0;

		if (at) {
			put16(made, 0xc000 | at);
			return;
		}
		note(made, &rest);
		put(made, rest.bytes, 1 + rest.bytes[0]);
		cut_label(&rest);
	}
	put(made, "", 1);
}

static size_t begin_record(struct dns_made *made, const struct dns_name *owner, uint16_t type,
			   uint32_t ttl, bool compress)
{
	put_name(made, owner, compress);
	put16(made, type);
	put16(made, DNS_IN);
	put32(made, ttl);
	put16(made, 0);
	return made->length;
}

static void end_record(struct dns_made *made, size_t data)
{
	set16(made, data - 2, made->length - data);
}

static uint32_t make_ttl(struct random *random)
{
	static const uint32_t ttls[] = {0,     1,	   5,	       30,	  300,
					86400, 0x7fffffff, 0x80000000, 0xffffffff};

	return PICK(random, ttls);
}

static void put_address(struct random *random, struct dns_made *made, const struct dns_name *owner,
			uint16_t type, bool compress)
{
	size_t data = begin_record(made, owner, type, make_ttl(random), compress);
	uint8_t bytes[16] = {0xfd, [13] = 9};

	if (type == DNS_A)
		memcpy(bytes, (uint8_t[]){10, 9, 0}, 3);
	bytes[type == DNS_A ? 2 : 14] = random_below(random, 4);
	bytes[type == DNS_A ? 3 : 15] = random_below(random, 256);
	put(made, bytes, type == DNS_A ? 4 : 16);
	end_record(made, data);
}

static void put_other(struct random *random, struct dns_made *made, const struct dns_name *owner,
		      bool compress)
{
	static const uint16_t types[] = {DNS_RRSIG, DNS_TXT, DNS_A, DNS_AAAA, 65280};
	uint16_t type = PICK(random, types);
	size_t data;

	if (type == DNS_A || type == DNS_AAAA) {
		put_address(random, made, owner, type, compress);
		return;
	}
	data = begin_record(made, owner, type, make_ttl(random), compress);
	for (unsigned int n = random_below(random, 40); n; n--)
		put(made, (uint8_t[]){random_below(random, 256)}, 1);
	end_record(made, data);
}

size_t dns_make_query(const struct dns_question *question, uint8_t *bytes, size_t size)
{
	static struct dns_made made;

	made.length = made.n_names = 0;
	put16(&made, question->id);
	put(&made, (uint8_t[]){1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, 10);
	put_name(&made, &question->name, false);
	put16(&made, question->type);
	put16(&made, DNS_IN);
	if (made.length > size)
		return 0;
	memcpy(bytes, made.bytes, made.length);
	return made.length;
}

/* A target that shares its end with the question's name, or does not. */
static void make_target(struct random *random, const struct dns_question *question,
			struct dns_name *target)
{
	static const char *const ends[] = {"cdn.example.net", "api.example.com", "example.org"};

	*target = question->name;
	if (random_chance(random, 50))
		cut_label(target);
	else
		dns_oracle_parse(PICK(random, ends), target);
	for (unsigned int more = random_below(random, 3); more; more--)
		add_some_label(random, target);
}

/* The authority and additional sections, which teach nothing. */
static void put_sections(struct random *random, struct dns_made *made,
			 const struct dns_question *question, bool compress)
{
	unsigned int authority = random_chance(random, 20), more = random_below(random, 3);

	for (unsigned int i = 0; i < authority + more; i++)
		put_address(random, made, &question->name, question->type, compress);
	set16(made, 8, authority);
	set16(made, 10, more + 1);
	put(made, (uint8_t[]){0, 0, DNS_OPT, 0x04, 0xd0, 0, 0, 0, 0, 0, 0}, 11);
}

static void begin_answer(struct dns_made *made)
{
	if (made->n_records < COUNT(made->records))
		made->records[made->n_records++] = made->length;
}

void dns_make_answer(struct random *random, const struct dns_question *question,
		     struct dns_made *made)
{
	static const unsigned int sizes[] = {0, 1, 1, 1, 2, 4, 20, 73, 100};
	unsigned int chain =
		random_chance(random, 50) ? random_below(random, DNS_CHAIN_MAX + 1) : 0;
	unsigned int addresses = PICK(random, sizes);
	bool compress = random_chance(random, 85), others = random_chance(random, 15);
	struct dns_name owner = question->name, target;

	made->length = made->n_names = made->n_records = 0;
	put16(made, question->id);
	put(made, (uint8_t[]){0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, 10);
	put_name(made, &question->name, false);
	put16(made, question->type);
	put16(made, DNS_IN);
	for (unsigned int i = 0; i < chain; i++) {
		size_t data;

		make_target(random, question, &target);
		begin_answer(made);
		data = begin_record(made, &owner, DNS_CNAME, make_ttl(random), compress);
		put_name(made, &target, compress);
		end_record(made, data);
		owner = target;
	}
	for (unsigned int i = 0; i < addresses && made->length < 3700; i++) {
		begin_answer(made);
		if (others && random_chance(random, 30))
			put_other(random, made, &owner, compress);
		else
			put_address(random, made, &owner, question->type, compress);
	}
	set16(made, 6, made->n_records);
	put_sections(random, made, question, compress);
}

/* ---- mutations ---- */

static size_t some_place(struct random *random, const struct dns_made *made)
{
	return made->length ? random_below(random, made->length) : 0;
}

static void insert(struct dns_made *made, size_t at, const void *bytes, size_t n)
{
	if (made->length + n > DNS_MADE_MAX || at > made->length)
		return;
	memmove(made->bytes + at + n, made->bytes + at, made->length - at);
	memcpy(made->bytes + at, bytes, n);
	made->length += n;
}

static void cut(struct dns_made *made, size_t at, size_t n)
{
	if (at + n > made->length)
		return;
	memmove(made->bytes + at, made->bytes + at + n, made->length - at - n);
	made->length -= n;
}

/* A byte of the header or of the question, of which each bit matters. */
static void change_front(struct random *random, struct dns_made *made)
{
	size_t at = random_below(random, made->length < 48 ? made->length : 48);

	made->bytes[at] ^= 1 << random_below(random, 8);
}

static void change_header(struct random *random, struct dns_made *made)
{
	static const size_t counts[] = {4, 6, 8, 10};
	static const uint16_t numbers[] = {0, 1, 2, 3, 73, 255, 256, 65535};

	switch (random_below(random, 5)) {
	case 0:
		made->bytes[2] ^= 0x02; /* TC */
		break;
	case 1:
		made->bytes[2] ^= 0x80 >> random_below(random, 5); /* QR, opcode */
		break;
	case 2:
		made->bytes[3] = (made->bytes[3] & 0xf0) | random_below(random, 16); /* RCODE */
		break;
	case 3:
		set16(made, PICK(random, counts), PICK(random, numbers));
		break;
	default:
		set16(made, 0, random_below(random, 65536));
		break;
	}
}

/* A pointer to anywhere, at anywhere: forwards, to itself, into a record's fields. */
static void change_pointer(struct random *random, struct dns_made *made)
{
	size_t at = some_place(random, made);

	if (made->n_records && random_chance(random, 70))
		at = made->records[random_below(random, made->n_records)];
	set16(made, at, 0xc000 | (random_chance(random, 80) ? some_place(random, made) : at));
}

/* Another type, class, TTL or length at a record's usual place, behind a pointer as its name. */
static void change_record(struct random *random, struct dns_made *made)
{
	static const uint16_t numbers[] = {0, 1, 2, 3, 4, 5, 16, 28, 41, 255, 0x8000, 0xffff};
	size_t at;

	if (!made->n_records)
		return;
	at = made->records[random_below(random, made->n_records)];
	set16(made, at + 2 + 2 * random_below(random, 5), PICK(random, numbers));
}

/* Moves, doubles or drops a record. */
static void change_order(struct random *random, struct dns_made *made)
{
	uint8_t record[512];
	size_t i, n, to;

	if (made->n_records < 2)
		return;
	i = random_below(random, made->n_records - 1);
	n = made->records[i + 1] - made->records[i];
	to = made->records[random_below(random, made->n_records)];
	if (n > sizeof(record) || made->records[i + 1] > made->length)
		return;
	memcpy(record, made->bytes + made->records[i], n);
	if (random_chance(random, 60))
		cut(made, made->records[i], n);
	if (random_chance(random, 80))
		insert(made, to <= made->length ? to : made->length, record, n);
}

static void change_byte(struct random *random, struct dns_made *made)
{
	static const uint8_t bytes[] = {0, 1, 3, 0x2e, 0x3f, 0x40, 0x80, 0xc0, 0xff};
	size_t at = some_place(random, made);

	made->bytes[at] =
		random_chance(random, 50) ? PICK(random, bytes) : random_below(random, 256);
}

static void change_length(struct random *random, struct dns_made *made)
{
	uint8_t bytes[16];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = random_below(random, 256);
	switch (random_below(random, 3)) {
	case 0:
		made->length = some_place(random, made);
		break;
	case 1:
		insert(made, some_place(random, made), bytes, 1 + random_below(random, 16));
		break;
	default:
		cut(made, some_place(random, made), 1 + random_below(random, 16));
		break;
	}
}

void dns_mutate(struct random *random, struct dns_made *made)
{
	static void (*const ways[])(struct random * random, struct dns_made * made) = {
		change_front, change_header, change_pointer, change_record,
		change_order, change_byte,   change_byte,    change_length,
	};

	for (unsigned int n = 1 + random_below(random, 4); n && made->length >= DNS_HEADER; n--)
		PICK(random, ways)(random, made);
}
