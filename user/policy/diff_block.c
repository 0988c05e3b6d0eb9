/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts pairs of kinds that change alike together in blocks: each of some kinds to each of
 * others. */
#include <string.h>

#include "policy/policy_diff.h"
#include "policy/diff_part.h"
#include "model/intern.h"

/* A kind, how it changes, and the set of kinds at the other end. */
struct row {
	uint32_t changes, own_node, set, kind;
};

struct gathering {
	bool by_from; /* rows are of the kinds that flows come from; false: that they go to */
	struct diff_pair *pairs;
	size_t n_pairs;
	struct intern sets;
	ARRAY(struct row) rows;
	size_t n_blocks;
};

static int compare_numbers(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_pairs(const void *a, const void *b, void *by_from)
{
	const struct diff_pair *x = a, *y = b;
	const uint32_t left[] = {x->changes, x->own_node, by_from ? x->from : x->to,
				 by_from ? x->to : x->from};
	const uint32_t right[] = {y->changes, y->own_node, by_from ? y->from : y->to,
				  by_from ? y->to : y->from};
	int order = 0;

	for (int i = 0; i < 4 && !order; i++)
		order = compare_numbers(left[i], right[i]);
	return order;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = compare_numbers(x->changes, y->changes);

	order = order ? order : compare_numbers(x->own_node, y->own_node);
	order = order ? order : compare_numbers(x->set, y->set);
	return order ? order : compare_numbers(x->kind, y->kind);
}

static bool same_block(const struct row *a, const struct row *b)
{
	return a->changes == b->changes && a->own_node == b->own_node && a->set == b->set;
}

static uint32_t row_kind(const struct gathering *gathering, const struct diff_pair *pair)
{
	return gathering->by_from ? pair->from : pair->to;
}

static void make_rows(struct gathering *gathering)
{
	ARRAY(uint32_t) others = {0};
	size_t next;

	for (size_t i = 0; i < gathering->n_pairs; i = next) {
		const struct diff_pair *pair = &gathering->pairs[i];
		uint32_t kind = row_kind(gathering, pair);

		others.n = 0;
		for (next = i; next < gathering->n_pairs; next++) {
			const struct diff_pair *other = &gathering->pairs[next];

			if (other->changes != pair->changes || other->own_node != pair->own_node ||
			    row_kind(gathering, other) != kind)
				break;
			array_push(&others, gathering->by_from ? other->to : other->from);
		}
		array_push(&gathering->rows,
			   ((struct row){pair->changes, pair->own_node,
					 intern_add(&gathering->sets, others.at,
						    others.n * sizeof(uint32_t), NULL),
					 kind}));
	}
	array_free(&others);
}

static void gather(struct gathering *gathering, const struct diff *diff, bool by_from)
{
	size_t n = diff->pairs.n;

	gathering->by_from = by_from;
	gathering->n_pairs = n;
	gathering->pairs = grow_zeroed(n, sizeof(*gathering->pairs));
	if (n)
		memcpy(gathering->pairs, diff->pairs.at, n * sizeof(*gathering->pairs));
	qsort_r(gathering->pairs, n, sizeof(*gathering->pairs), compare_pairs,
		by_from ? gathering : NULL);
	make_rows(gathering);
	array_sort(&gathering->rows, compare_rows);
	for (size_t i = 0; i < gathering->rows.n; i++)
		gathering->n_blocks +=
			!i || !same_block(&gathering->rows.at[i - 1], &gathering->rows.at[i]);
}

static struct diff_range add_set(struct diff *diff, const uint32_t *at, size_t n)
{
	struct diff_range range = {diff->sets.n, n};

	array_reserve(&diff->sets, n);
	memcpy(diff->sets.at + diff->sets.n, at, n * sizeof(*at));
	diff->sets.n += n;
	return range;
}

/* Returns true if the block is nothing but a kind of one member to itself. */
static bool is_itself(const struct diff *diff, const struct diff_block *block)
{
	uint32_t from = diff->sets.at[block->from.at], to = diff->sets.at[block->to.at];

	return block->from.n == 1 && block->to.n == 1 && from == to && diff->kinds.at[from].n == 1;
}

static void put_blocks(const struct gathering *gathering, struct diff *diff)
{
	ARRAY(uint32_t) kinds = {0};
	size_t next;

	for (size_t i = 0; i < gathering->rows.n; i = next) {
		const struct row *row = &gathering->rows.at[i];
		struct diff_block block = {.changes = row->changes, .own_node = row->own_node};
		struct diff_range these, others;
		const uint32_t *set;
		size_t n;

		kinds.n = 0;
		for (next = i;
		     next < gathering->rows.n && same_block(row, &gathering->rows.at[next]); next++)
			array_push(&kinds, gathering->rows.at[next].kind);
		set = intern_set(&gathering->sets, row->set, &n);
		these = add_set(diff, kinds.at, kinds.n);
		others = add_set(diff, set, n);
		block.from = gathering->by_from ? these : others;
		block.to = gathering->by_from ? others : these;
		if (!is_itself(diff, &block))
			array_push(&diff->blocks, block);
	}
	array_free(&kinds);
}

static void free_gathering(struct gathering *gathering)
{
	free(gathering->pairs);
	intern_free(&gathering->sets);
	array_free(&gathering->rows);
}

void diff_gather(struct diff *diff)
{
	struct gathering from = {0}, to = {0};

	gather(&from, diff, true);
	gather(&to, diff, false);
	put_blocks(from.n_blocks <= to.n_blocks ? &from : &to, diff);
	free_gathering(&from);
	free_gathering(&to);
}
