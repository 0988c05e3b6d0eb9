// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/class_grid.h"
#include "maps/segment.h"
#include "model/grow.h"
#include "model/search.h"

#define NO_END UINT32_MAX

/* Columns that are filled together, before they are copied into the rows. */
#define COLUMNS 64

/* What one end of a flow says. */
#define SAYS_ALLOW 1
#define SAYS_AUDIT 2

/* The segment of a kind's addresses of one IP version, or of both. */
struct grid_end {
	bool known; /* false: in no segment, isolated */
	struct policy_segment segment;
	uint32_t variation;
	uint32_t resolution; /* index of grid.resolutions */
};

/* An end by a class of its segment as a peer. */
struct grid_peer {
	uint32_t class, end;
};

typedef ARRAY(struct grid_peer) grid_peers_t;

struct grid {
	const struct grid_request *request;
	const struct evaluate_source *source;
	const struct flow_classes *kinds;
	uint32_t point;
	ARRAY(struct grid_end) ends; /* those that are no external segment's first */
	size_t n_internal;
	uint32_t (*of)[FAMILIES]; /* by kind: its ends */
	grid_peers_t own, common; /* sorted */
	struct policy_pair *pairs; /* sorted */
	size_t n_pairs;
	ARRAY(uint32_t) resolutions; /* IDs, each once */
	char *said; /* by index of a resolution: what a list of names says, or -1 */
	char *cells;
	size_t stride;
};

/* The row that is filled: what a subject says to each end. */
struct grid_row {
	const struct grid_end *subject;
	enum direction direction;
	char *at;
};

/* Ends */

static uint32_t number_of_resolution(struct grid *grid, uint32_t id)
{
	for (uint32_t i = 0; i < grid->resolutions.n; i++)
		if (grid->resolutions.at[i] == id)
			return i;
	array_push(&grid->resolutions, id);
	return grid->resolutions.n - 1;
}

static struct grid_end find_end(struct grid *grid, const struct address *address)
{
	const struct evaluate_source *source = grid->source;
	struct grid_end end = {0};
	uint32_t resolution = 0;

	end.known = source->resolve(source->places, address, &end.segment, &end.variation);
	if (end.known && end.variation)
		resolution = source->resolution(source->data, end.segment.id, end.variation);
	end.resolution = number_of_resolution(grid, resolution);
	return end;
}

static bool is_external(const struct grid_end *end)
{
	return end->known && end->segment.flags & BH_SEGMENT_EXTERNAL;
}

static bool same_end(const struct grid_end *a, const struct grid_end *b)
{
	if (!a->known || !b->known)
		return a->known == b->known;
	return a->segment.id == b->segment.id && a->variation == b->variation;
}

/* Returns the first member's address of the IP version. */
static const struct address *address_of(const struct flow_class *kind, enum family family)
{
	size_t i = 0;

	while (!kind->members[i].end.has[family])
		i++;
	return &kind->members[i].end.address[family];
}

static void add_ends(struct grid *grid, size_t number, bool external)
{
	const struct flow_class *kind = &grid->kinds->at[number];
	uint32_t *of = grid->of[number];

	for (enum family family = IPV4; family < FAMILIES; family++) {
		struct grid_end end;

		if (!kind->has[family])
			continue;
		end = find_end(grid, address_of(kind, family));
		if (is_external(&end) != external)
			continue;
		if (family && of[IPV4] != NO_END && same_end(&grid->ends.at[of[IPV4]], &end)) {
			of[family] = of[IPV4];
			continue;
		}
		of[family] = grid->ends.n;
		array_push(&grid->ends, end);
	}
}

static int compare_peers(const void *a, const void *b)
{
	const struct grid_peer *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void list_ends(struct grid *grid)
{
	const size_t n = grid->kinds->n;

	grid->of = grow_zeroed(n, sizeof(*grid->of));
	memset(grid->of, 0xff, n * sizeof(*grid->of));
	for (size_t i = 0; i < n; i++)
		add_ends(grid, i, false);
	grid->n_internal = grid->ends.n;
	for (size_t i = 0; i < n; i++)
		add_ends(grid, i, true);
	for (uint32_t i = 0; i < grid->ends.n; i++) {
		const struct policy_segment *segment = &grid->ends.at[i].segment;

		if (!grid->ends.at[i].known)
			continue;
		array_push(&grid->own, ((struct grid_peer){segment->peer_own, i}));
		array_push(&grid->common, ((struct grid_peer){segment->peer_common, i}));
	}
	array_sort(&grid->own, compare_peers);
	array_sort(&grid->common, compare_peers);
	grid->said = grow_zeroed(grid->resolutions.n, 1);
}

/* Rows */

static char says(const struct grid *grid, struct bh_ports_ref ports, uint32_t resolution)
{
	uint32_t verdict = evaluate_list(grid->source, ports, resolution, grid->point);

	return (bh_verdict_allow(verdict) ? SAYS_ALLOW : 0) |
	       (policy_audit_of(grid->request->names, verdict) ? SAYS_AUDIT : 0);
}

/* Returns true if the list says something else to each resolution of the peer's port names. */
static bool asks_peer(const struct grid_row *row, struct bh_ports_ref ports)
{
	return ports.count == BH_PORTS_NAMED && row->direction == EGRESS;
}

/* Has the list say something to one end. Before the first, grid->said forgets another list. */
static void say(struct grid *grid, const struct grid_row *row, struct bh_ports_ref ports,
		uint32_t end)
{
	const uint32_t resolution = grid->ends.at[end].resolution;
	char *said = &grid->said[resolution];

	if (*said < 0)
		*said = says(grid, ports, grid->resolutions.at[resolution]);
	row->at[end] = *said;
}

/* Has the list say the same to all, unless it asks the peers. */
static void prepare(struct grid *grid, const struct grid_row *row, struct bh_ports_ref ports)
{
	const bool asks = asks_peer(row, ports);

	memset(grid->said,
	       asks ? -1 : says(grid, ports, grid->resolutions.at[row->subject->resolution]),
	       grid->resolutions.n);
}

/* Fills the ends from @first to before @end. */
static void fill(struct grid *grid, const struct grid_row *row, struct bh_ports_ref ports,
		 size_t first, size_t end)
{
	if (first == end)
		return;
	prepare(grid, row, ports);
	if (!asks_peer(row, ports))
		memset(row->at + first, grid->said[0], end - first);
	for (size_t i = first; asks_peer(row, ports) && i < end; i++)
		say(grid, row, ports, i);
}

/* Fills what the pairs of one of the subject's classes say. */
static void fill_pairs(struct grid *grid, const struct grid_row *row, uint32_t class,
		       const grid_peers_t *peers)
{
	const struct policy_pair *pairs = grid->pairs;
	size_t i = class ? SEARCH(grid->n_pairs, k, pairs[k].subject < class) : grid->n_pairs;

	for (; i < grid->n_pairs && pairs[i].subject == class; i++) {
		size_t at = SEARCH(peers->n, k, peers->at[k].class < pairs[i].peer);

		if (at == peers->n || peers->at[at].class != pairs[i].peer)
			continue;
		prepare(grid, row, pairs[i].ports);
		for (; at < peers->n && peers->at[at].class == pairs[i].peer; at++)
			say(grid, row, pairs[i].ports, peers->at[at].end);
	}
}

/* Fills a row as evaluate_flow() evaluates an end. An end in no segment denies by itself, so that
 * what others say to it does not count. */
static void fill_row(struct grid *grid, const struct grid_row *row)
{
	const struct grid_end *subject = row->subject;
	const struct policy_segment *segment = &subject->segment;
	const enum direction direction = row->direction;

	if (!subject->known) {
		memset(row->at, 0, grid->ends.n);
		return;
	}
	memset(row->at, SAYS_ALLOW, grid->ends.n);
	if (is_external(subject))
		return;
	if (segment->flags & BH_SEGMENT_POLICY(direction)) {
		fill(grid, row, segment->fallback[direction][0], 0, grid->n_internal);
		fill(grid, row, segment->fallback[direction][1], grid->n_internal, grid->ends.n);
		fill_pairs(grid, row, segment->common[direction], &grid->common);
		fill_pairs(grid, row, segment->own[direction], &grid->own);
	}
}

/* Cells */

/* Returns the IP version of flows between the kinds. */
static enum family family_of(const struct flow_class *from, const struct flow_class *to)
{
	const enum family first = from->members->end.first;

	return from->has[first] && to->has[first] ? first : !first;
}

static bool is_asked(const struct flow_class *from, const struct flow_class *to)
{
	return from == to || from->members->is_node || to->members->is_node ||
	       to->members->end.domain;
}

/* Sets the cells of kinds from @first to before @end to what they say at ingress. */
static void fill_columns(struct grid *grid, size_t first, size_t end, char *block)
{
	const struct flow_classes *kinds = grid->kinds;
	const size_t n = grid->ends.n;

	for (size_t to = first; to < end; to++)
		for (enum family family = IPV4; family < FAMILIES; family++) {
			const uint32_t subject = grid->of[to][family];
			struct grid_row row = {.direction = INGRESS};

			if (subject == NO_END || !grid->request->to[to])
				continue;
			row.subject = &grid->ends.at[subject];
			row.at = block + ((to - first) * FAMILIES + family) * n;
			fill_row(grid, &row);
		}
	for (size_t from = 0; from < kinds->n; from++)
		for (size_t to = first; to < end && grid->request->from[from]; to++) {
			const struct flow_class *a = &kinds->at[from], *b = &kinds->at[to];
			const enum family family = family_of(a, b);

			if (a->has[family] && b->has[family])
				grid->cells[from * grid->stride + to] =
					block[((to - first) * FAMILIES + family) * n +
					      grid->of[from][family]];
		}
}

/* Sets the cells of a kind by what they say at ingress, and the kind at egress. @rows: by IP
 * version. */
static void finish_row(struct grid *grid, size_t from, char *rows)
{
	const struct flow_classes *kinds = grid->kinds;
	const struct flow_class *a = &kinds->at[from];
	char *cells = grid->cells + from * grid->stride;

	for (enum family family = IPV4; family < FAMILIES; family++) {
		const struct grid_row row = {
			.subject = &grid->ends.at[a->has[family] ? grid->of[from][family] : 0],
			.direction = EGRESS,
			.at = rows + family * grid->ends.n};

		if (a->has[family])
			fill_row(grid, &row);
	}
	for (size_t to = 0; to < kinds->n; to++) {
		const struct flow_class *b = &kinds->at[to];
		const enum family family = family_of(a, b);
		char egress;

		if (!flow_classes_connect(a, b)) {
			cells[to] = GRID_NONE;
			continue;
		}
		egress = rows[family * grid->ends.n + grid->of[to][family]];
		cells[to] = is_asked(a, b)			 ? GRID_ASK
			    : !(cells[to] & egress & SAYS_ALLOW) ? GRID_DENY
			    : (cells[to] | egress) & SAYS_AUDIT	 ? GRID_AUDIT
								 : GRID_ALLOW;
	}
}

static int compare_pairs(const void *a, const void *b)
{
	const struct policy_pair *x = a, *y = b;

	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

static int make(void *data)
{
	struct grid *grid = data;
	const size_t n = grid->kinds->n;
	char *block;

	sort_records(grid->pairs, grid->n_pairs, sizeof(*grid->pairs), compare_pairs);
	list_ends(grid);
	block = grow_zeroed(grid->ends.n, COLUMNS * FAMILIES);
	for (size_t first = 0; first < n; first += COLUMNS)
		fill_columns(grid, first, first + COLUMNS < n ? first + COLUMNS : n, block);
	for (size_t from = 0; from < n; from++)
		if (grid->request->from[from])
			finish_row(grid, from, block);
	free(block);
	return 0;
}

int class_grid_fill(const struct grid_request *request, char *cells, size_t stride)
{
	const struct flow *port = request->port;
	struct grid grid = {.request = request,
			    .source = request->source,
			    .kinds = request->kinds,
			    .point = bh_point(port->protocol, port->port),
			    .cells = cells,
			    .stride = stride};
	int error = grid.source->pairs(grid.source->data, &grid.pairs, &grid.n_pairs);

	if (!error)
		error = memory_guarded(make, &grid);
	array_free(&grid.ends);
	array_free(&grid.own);
	array_free(&grid.common);
	array_free(&grid.resolutions);
	free(grid.of);
	free(grid.said);
	free(grid.pairs);
	return error;
}
