// SPDX-License-Identifier: GPL-2.0-only
/* The oracle of DNS answers reads messages that were written by hand as the RFCs say, and finds in
 * the generator's answers what the generator put there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "selftests/lib/dns_make.h"

#define ANSWERS 20000

/* www.a.io, type A, class IN at offset 12; answers begin at 26. */
#define QUESTION "\3www\1a\2io\0\0\1\0\1"
#define HEAD(flags, n) "\x12\x34" flags "\0\1" n "\0\0\0\0" QUESTION
#define ONE HEAD("\x81\x80", "\0\1")
#define TWO HEAD("\x81\x80", "\0\2")
#define A_OF(owner, ttl, last) owner "\0\1\0\1" ttl "\0\4\12\0\0" last
#define TTL_60 "\0\0\0\x3c"
#define TTL_5 "\0\0\0\5"
/* CNAME to x.b.io: 8 bytes. Behind a first owner of 2 bytes its data are at 38. */
#define TO_X(owner, ttl) owner "\0\5\0\1" ttl "\0\10\1x\1b\2io\0"
#define X_AT_38 "\xc0\x26"
#define X_IN_FULL "\1x\1b\2io\0"
#define WWW "\xc0\x0c"

struct row {
	const char *name, *bytes;
	size_t length;
	enum dns_refusal refusal;
	size_t n;
	uint32_t ttl; /* of the first address */
	bool plain; /* ... is */
};

#define ROW(name, bytes, ...)                               \
	{                                                   \
		name, bytes, sizeof(bytes) - 1, __VA_ARGS__ \
	}

static const struct row rows[] = {
	ROW("an address", ONE A_OF(WWW, TTL_60, "\1"), DNS_TAUGHT, 1, 60, true),
	ROW("the owner in full, in other case", ONE A_OF("\3wWw\1A\2Io\0", TTL_60, "\1"),
	    DNS_TAUGHT, 1, 60, true),
	ROW("two addresses", TWO A_OF(WWW, TTL_60, "\1") A_OF(WWW, TTL_5, "\2"), DNS_TAUGHT, 2, 60,
	    true),
	ROW("one address twice", TWO A_OF(WWW, TTL_60, "\1") A_OF(WWW, TTL_5, "\1"), DNS_TAUGHT, 1,
	    60, true),
	ROW("a TTL of 2^31 is 0", ONE A_OF(WWW, "\x80\0\0\1", "\1"), DNS_TAUGHT, 1, 0, true),
	ROW("a chain", TWO TO_X(WWW, TTL_60) A_OF(X_AT_38, TTL_5, "\1"), DNS_TAUGHT, 1, 5, true),
	ROW("the chain's TTL is less", TWO TO_X(WWW, TTL_5) A_OF(X_IN_FULL, TTL_60, "\1"),
	    DNS_TAUGHT, 1, 5, true),
	ROW("two chains to one name",
	    HEAD("\x81\x80", "\0\4") TO_X(WWW, TTL_60) X_IN_FULL
	    "\0\5\0\1" TTL_60 "\0\10\1y\1b\2io\0" WWW "\0\5\0\1" TTL_5
	    "\0\10\1y\1b\2io\0" A_OF("\1y\1b\2io\0", TTL_60, "\1"),
	    DNS_TAUGHT, 1, 60, false),
	ROW("a chain backwards", TWO A_OF(X_IN_FULL, TTL_60, "\1") TO_X(WWW, TTL_60), DNS_TAUGHT, 1,
	    60, false),
	ROW("an address and a CNAME of one name", TWO TO_X(WWW, TTL_60) A_OF(WWW, TTL_60, "\1"),
	    DNS_TAUGHT, 1, 60, false),
	ROW("a CNAME in the wrong direction",
	    TWO "\1x\1b\2io\0\0\5\0\1" TTL_60 "\0\2" WWW A_OF(X_IN_FULL, TTL_60, "\1"),
	    DNS_NO_ADDRESS, 0, 0, false),
	ROW("a CNAME to itself", TWO WWW "\0\5\0\1" TTL_60 "\0\2" WWW A_OF(WWW, TTL_60, "\1"),
	    DNS_TAUGHT, 1, 60, false),
	ROW("an address of another name", ONE A_OF("\1x\1b\2io\0", TTL_60, "\1"), DNS_NO_ADDRESS, 0,
	    0, false),
	ROW("an address of the parent", ONE A_OF("\xc0\x10", TTL_60, "\1"), DNS_NO_ADDRESS, 0, 0,
	    false),
	ROW("a dot within a label", ONE A_OF("\5www.a\2io\0", TTL_60, "\1"), DNS_NO_ADDRESS, 0, 0,
	    false),
	ROW("another class", ONE WWW "\0\1\0\3" TTL_60 "\0\4\12\0\0\1", DNS_NO_ADDRESS, 0, 0,
	    false),
	ROW("an AAAA for the question of A",
	    ONE WWW "\0\x1c\0\1" TTL_60 "\0\20\375\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", DNS_NO_ADDRESS,
	    0, 0, false),
	ROW("only in the authority section",
	    "\x12\x34\x81\x80\0\1\0\0\0\1\0\0" QUESTION A_OF(WWW, TTL_60, "\1"), DNS_NO_ADDRESS, 0,
	    0, false),
	ROW("no such name", HEAD("\x81\x83", "\0\1") A_OF(WWW, TTL_60, "\1"), DNS_NOT_ANSWER, 0, 0,
	    false),
	ROW("a query", HEAD("\1\0", "\0\1") A_OF(WWW, TTL_60, "\1"), DNS_NOT_ANSWER, 0, 0, false),
	ROW("another opcode", HEAD("\xa1\x80", "\0\1") A_OF(WWW, TTL_60, "\1"), DNS_NOT_ANSWER, 0,
	    0, false),
	ROW("another ID", "\x12\x35\x81\x80\0\1\0\1\0\0\0\0" QUESTION A_OF(WWW, TTL_60, "\1"),
	    DNS_OTHER_ID, 0, 0, false),
	ROW("another name asked",
	    "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3wwx\1a\2io\0\0\1\0\1" A_OF(WWW, TTL_60, "\1"),
	    DNS_OTHER_QUESTION, 0, 0, false),
	ROW("another type asked",
	    "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3www\1a\2io\0\0\x1c\0\1" A_OF(WWW, TTL_60, "\1"),
	    DNS_OTHER_QUESTION, 0, 0, false),
	ROW("no question", "\x12\x34\x81\x80\0\0\0\1\0\0\0\0" A_OF(WWW, TTL_60, "\1"),
	    DNS_OTHER_QUESTION, 0, 0, false),
	ROW("two questions",
	    "\x12\x34\x81\x80\0\2\0\1\0\0\0\0" QUESTION QUESTION A_OF(WWW, TTL_60, "\1"),
	    DNS_OTHER_QUESTION, 0, 0, false),
	ROW("a pointer to itself", ONE A_OF("\xc0\x1a", TTL_60, "\1"), DNS_MALFORMED, 0, 0, false),
	ROW("a pointer forwards", ONE A_OF("\xc0\x1b", TTL_60, "\1"), DNS_MALFORMED, 0, 0, false),
	ROW("a pointer behind the end", ONE A_OF("\xff\xff", TTL_60, "\1"), DNS_MALFORMED, 0, 0,
	    false),
	ROW("a label of the form 01", ONE A_OF("\x41x\0", TTL_60, "\1"), DNS_MALFORMED, 0, 0,
	    false),
	ROW("an A of 5 bytes", ONE WWW "\0\1\0\1" TTL_60 "\0\5\12\0\0\1\1", DNS_MALFORMED, 0, 0,
	    false),
	ROW("a record that ends early", ONE WWW "\0\1\0\1" TTL_60 "\0\4\12\0\0", DNS_MALFORMED, 0,
	    0, false),
	ROW("a CNAME whose name is longer than its data",
	    TWO WWW "\0\5\0\1" TTL_60 "\0\3\1x\1b\2io\0" A_OF(WWW, TTL_60, "\1"), DNS_MALFORMED, 0,
	    0, false),
	ROW("fewer records than the header says", TWO A_OF(WWW, TTL_60, "\1"), DNS_MALFORMED, 0, 0,
	    false),
	ROW("fewer, and cut by the server", HEAD("\x83\x80", "\0\2") A_OF(WWW, TTL_60, "\1"),
	    DNS_TAUGHT, 1, 60, true),
	ROW("a record cut by the server",
	    HEAD("\x83\x80", "\0\2") A_OF(WWW, TTL_60, "\1") WWW "\0\1\0\1\0", DNS_TAUGHT, 1, 60,
	    true),
	ROW("more bytes behind", ONE A_OF(WWW, TTL_60, "\1") "garbage", DNS_TAUGHT, 1, 60, true),
	ROW("11 bytes", "\x12\x34\x81\x80\0\1\0\1\0\0\0", DNS_SHORT, 0, 0, false),
};

static void each_row(void **state)
{
	struct dns_question question = {.id = 0x1234, .type = DNS_A};
	static struct dns_lesson lesson;

	(void)state;
	assert_true(dns_oracle_parse("www.a.io", &question.name));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];

		dns_oracle_read((const uint8_t *)row->bytes, row->length, &question, &lesson);
		print_message("# %s: %s, %zu addresses\n", row->name,
			      dns_refusal_name(lesson.refusal), lesson.n);
		assert_int_equal(lesson.refusal, row->refusal);
		assert_int_equal(lesson.n, row->n);
		if (!row->n)
			continue;
		assert_int_equal(lesson.addresses[0].ttl, row->ttl);
		assert_int_equal(lesson.addresses[0].plain, row->plain);
		assert_memory_equal(lesson.addresses[0].bytes,
				    "\0\0\0\0\0\0\0\0\0\0\xff\xff\12\0\0\1", 16);
	}
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} wanted[] = {
		{"kubernetes.io", "kubernetes.io", true},
		{"kubernetes.io", "KUBERNETES.io", true},
		{"Kubernetes.IO.", "kubernetes.io", true},
		{"kubernetes.io", "www.kubernetes.io", false},
		{"kubernetes.io", "my-kubernetes.io", false},
		{"kubernetes.io", "wikipedia.org", false},
		{"blog.kubernetes.io", "kubernetes.io", false},
		{"*.kubernetes.io", "www.kubernetes.io", true},
		{"*.kubernetes.io", "latest.blog.kubernetes.io", true},
		{"*.kubernetes.io", "kubernetes.io", false},
		{"*.kubernetes.io", "my-kubernetes.io", false},
		{"*.kubernetes.io", "www.kubernetes.io.example", false},
		{"*.io", "a.io", true},
		{"*.io", "io", false},
	};
	struct dns_name dotted = {"\15kubernetes.io", 15};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct dns_name name;

		assert_true(dns_oracle_parse(wanted[i].name, &name));
		print_message("# %s %s\n", wanted[i].pattern, wanted[i].name);
		assert_int_equal(dns_oracle_matches(wanted[i].pattern, &name), wanted[i].matches);
	}
	dotted.bytes[0] = 13;
	assert_false(dns_oracle_matches("kubernetes.io", &dotted));
}

/* What resolvers send teaches at least one address for each address record, in one pass. */
static void made_answers(void **state)
{
	static const char *const names[] = {"api.example.com", "*.svc.example.org"};
	static struct dns_lesson lesson;
	static struct dns_made made;
	struct random random = {1};
	size_t taught = 0, chained = 0, many = 0;

	(void)state;
	for (int i = 0; i < ANSWERS; i++) {
		struct dns_question question;

		dns_make_question(&random, names, 2, &question);
		dns_make_answer(&random, &question, &made);
		dns_oracle_read(made.bytes, made.length, &question, &lesson);
		assert_true(lesson.refusal == DNS_TAUGHT || lesson.refusal == DNS_NO_ADDRESS);
		taught += lesson.refusal == DNS_TAUGHT;
		chained += lesson.chain == DNS_CHAIN_MAX;
		many += lesson.n >= 73;
	}
	print_message("# %zu taught, %zu by chains of 8, %zu at least 73\n", taught, chained, many);
	assert_true(taught > ANSWERS * 3 / 4 && chained > ANSWERS / 100 && many > ANSWERS / 20);
}

/* The mutator makes each refusal, and messages that still teach. */
static void mutated_answers(void **state)
{
	static const char *const names[] = {"api.example.com", "*.svc.example.org"};
	size_t refused[DNS_NO_ADDRESS + 1] = {0};
	static struct dns_lesson lesson;
	static struct dns_made made;
	struct random random = {2};

	(void)state;
	for (int i = 0; i < ANSWERS; i++) {
		struct dns_question question;

		dns_make_question(&random, names, 2, &question);
		dns_make_answer(&random, &question, &made);
		dns_mutate(&random, &made);
		dns_oracle_read(made.bytes, made.length, &question, &lesson);
		refused[lesson.refusal]++;
	}
	for (size_t i = 0; i <= DNS_NO_ADDRESS; i++) {
		print_message("# %s: %zu\n", dns_refusal_name(i), refused[i]);
		assert_true(refused[i] > ANSWERS / 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(patterns),
		cmocka_unit_test(made_answers),
		cmocka_unit_test(mutated_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
