// SPDX-License-Identifier: GPL-2.0-only
/* The command adds connections to the table while programs add them: each key stays once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "node/kernel/connections.h"

#define PROGRAMS 5 /* the generation of what a program has added */

static struct connections connections;
static const struct bh_ct_key key = {.port = {1, 2}, .protocol = 17};

static int begin(void **state)
{
	(void)state;
	connections.groups = 1;
	connections.seed = BH_CT_MIX;
	connections.table = calloc(1, sizeof(*connections.table));
	return !connections.table;
}

static int end(void **state)
{
	(void)state;
	free(connections.table);
	return 0;
}

static uint64_t hash_of_key(void)
{
	__u64 word[5];

	memcpy(word, &key, sizeof(word));
	return bh_ct_hash(connections.seed, word);
}

static uint32_t *tag_at(int i, bool second)
{
	uint64_t hash = hash_of_key();
	uint32_t in = second ? bh_ct_second(hash, BH_CT_GROUP) : bh_ct_first(hash, BH_CT_GROUP);

	return &connections.table->bucket[in].tag[i];
}

/* Does what a program does before it proposes the key, in a slot of the second bucket: the command
 * takes one of the first. */
static uint32_t *fill(int i)
{
	uint32_t in = bh_ct_second(hash_of_key(), BH_CT_GROUP);

	connections.table->slot[in][i].key = key;
	connections.table->slot[in][i].ct.verdict[0] = bh_ct_word(PROGRAMS, 0, BH_CT_ALLOW);
	return tag_at(i, true);
}

static int add(void)
{
	const struct bh_ct ct = {.verdict = {bh_ct_word(1, 0, BH_CT_ALLOW)}};

	return connections_add(&connections, &key, &ct);
}

static int count(void *generations, const struct bh_ct_key *has, const struct bh_ct *ct)
{
	assert_memory_equal(has, &key, sizeof(key));
	*(uint32_t *)generations = *(uint32_t *)generations * 10 + bh_ct_generation(ct->verdict[0]);
	return 0;
}

/* Returns the generations of all entries, a digit each. */
static uint32_t entries(void)
{
	uint32_t generations = 0;

	connections_each(connections.table, count, &generations);
	return generations;
}

static void adds_one(void **state)
{
	(void)state;
	assert_int_equal(add(), 0);
	assert_int_equal(entries(), 1);
}

static void leaves_a_programs(void **state)
{
	(void)state;
	*fill(3) = bh_ct_slot_tag(hash_of_key());
	assert_int_equal(add(), 0);
	assert_int_equal(entries(), PROGRAMS);
}

/* A program that has proposed the key before it could see that the command does. Stores @tag then.
 */
static void *confirm(void *tag)
{
	while (!bh_ct_is_filled(__atomic_load_n(tag_at(0, false), __ATOMIC_SEQ_CST)))
		sched_yield();
	__atomic_store_n(tag_at(3, true), *(uint32_t *)tag, __ATOMIC_SEQ_CST);
	return NULL;
}

static void add_beside_program(uint32_t tag)
{
	pthread_t program;

	*fill(3) = BH_CT_PROPOSED(bh_ct_slot_tag(hash_of_key()));
	assert_int_equal(pthread_create(&program, NULL, confirm, &tag), 0);
	assert_int_equal(add(), 0);
	pthread_join(program, NULL);
}

static void waits_for_one_that_confirms(void **state)
{
	(void)state;
	add_beside_program(bh_ct_slot_tag(hash_of_key()));
	assert_int_equal(entries(), PROGRAMS);
}

static void waits_for_one_that_yields(void **state)
{
	(void)state;
	add_beside_program(BH_CT_FREE);
	assert_int_equal(entries(), 1);
}

int main(void)
{
#define ROW(function) cmocka_unit_test_setup_teardown(function, begin, end)
	const struct CMUnitTest tests[] = {
		ROW(adds_one),
		ROW(leaves_a_programs),
		ROW(waits_for_one_that_confirms),
		ROW(waits_for_one_that_yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
