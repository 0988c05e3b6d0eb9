// SPDX-License-Identifier: GPL-2.0-only
#include "compile/spans.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define DIGIT_BITS 9
#define DIGITS (1 << DIGIT_BITS)
_Static_assert(POINTS <= 1 << (2 * DIGIT_BITS), "two digits number a point");

/* Copies the spans to @to, in the order of one digit of their first points; those with the same
 * digit stay in their order. */
static void order_by_digit(const struct span *from, size_t n, unsigned int shift, struct span *to)
{
	uint32_t ends[DIGITS + 1] = {0};

	for (size_t i = 0; i < n; i++)
		ends[(from[i].first >> shift) % DIGITS + 1]++;
	for (size_t i = 1; i < DIGITS; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < n; i++)
		to[ends[(from[i].first >> shift) % DIGITS]++] = from[i];
}

/* A tenant may list 32,768 ports in any order. */
void spans_sort(spans_t *spans)
{
	spans_t other = {0};
	size_t i = 1;

	while (i < spans->n && spans->at[i - 1].first <= spans->at[i].first)
		i++;
	if (i >= spans->n)
		return;
	array_reserve(&other, spans->n);
	order_by_digit(spans->at, spans->n, 0, other.at);
	order_by_digit(other.at, spans->n, DIGIT_BITS, spans->at);
	array_free(&other);
}

static struct span span_of(const struct port *port)
{
	const uint32_t base = bh_point(port->protocol, 0);

	if (port->kind == PORT_PROTOCOL)
		return (struct span){.first = base, .last = base + 0xffff};
	return (struct span){.first = base + port->first, .last = base + port->last};
}

/* Makes one span of those that overlap or follow one another. */
static void join(spans_t *spans)
{
	size_t n = 0;

	for (size_t i = 0; i < spans->n; i++) {
		const struct span *span = &spans->at[i];

		if (!n || span->first > spans->at[n - 1].last + 1)
			spans->at[n++] = *span;
		else if (span->last > spans->at[n - 1].last)
			spans->at[n - 1].last = span->last;
	}
	spans->n = n;
}

void spans_of_rule(struct compiler *c, struct plain_rule *plain)
{
	const struct plain_rule *last = c->rules.n ? &c->rules.at[c->rules.n - 1] : NULL;
	spans_t spans = {0};

	if (plain->any_port)
		return;
	/* one rule stands for each context of its relations */
	if (last && last->rule == plain->rule && !last->any_port) {
		plain->spans = last->spans;
		plain->n_spans = last->n_spans;
		return;
	}
	for (size_t i = 0; i < plain->rule->n_ports; i++)
		if (plain->rule->ports[i].kind != PORT_NAME)
			array_push(&spans, span_of(&plain->rule->ports[i]));
	spans_sort(&spans);
	join(&spans);
	plain->n_spans = spans.n;
	if (spans.n)
		plain->spans = obstack_copy(&c->memory, spans.at, spans.n * sizeof(*spans.at));
	array_free(&spans);
}
