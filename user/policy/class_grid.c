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

/* Bytes of the rows that are evaluated at once, about: all columns are filled once for them. */
#define CELLS (32u << 20)

/* What one end of a flow says. */
#define SAYS_ALLOW 1
#define SAYS_AUDIT 2

/* The segment of a kind's addresses of one IP version, or of both. */
struct grid_end {
	struct evaluated_end is;
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
	ARRAY(struct grid_end) ends; /* those that are no external segment's first */
	size_t n_internal;
	uint32_t (*of)[FAMILIES]; /* by kind: its ends */
	grid_peers_t own, common; /* sorted */
	struct policy_pair *pairs; /* sorted */
	size_t n_pairs;
	ARRAY(uint32_t) resolutions; /* IDs, each once */
	int8_t *said; /* by index of a resolution: what a list of names says, or -1 */
	int (*visit)(void *data, size_t from, const char *cells);
	void *data;
	char *cells; /* of kinds to each kind, from @first to before @end */
	size_t first, end;
	char *block; /* of columns or rows while they are filled */
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
	const struct evaluated_end is = evaluate_address(grid->source, address);

	return (struct grid_end){
		is, number_of_resolution(grid, evaluate_resolution(grid->source, &is))};
}

static bool same_end(const struct evaluated_end *a, const struct evaluated_end *b)
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
		if (evaluated_end_is_external(&end.is) != external)
			continue;
		if (family && of[IPV4] != NO_END &&
		    same_end(&grid->ends.at[of[IPV4]].is, &end.is)) {
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
		const struct policy_segment *segment = &grid->ends.at[i].is.segment;

		if (!grid->ends.at[i].is.known)
			continue;
		array_push(&grid->own, ((struct grid_peer){segment->peer_own, i}));
		array_push(&grid->common, ((struct grid_peer){segment->peer_common, i}));
	}
	array_sort(&grid->own, compare_peers);
	array_sort(&grid->common, compare_peers);
	grid->said = grow_zeroed(grid->resolutions.n, 1);
}

/* Rows */

/* Returns true if the list allows some port. */
static bool allows_any(const struct evaluate_source *source, struct bh_ports_ref ports,
		       uint32_t resolution)
{
	if (ports.count == BH_PORTS_NAMED &&
	    !source->named(source->data, ports.at, resolution, &ports))
		return false;
	for (uint32_t i = 0; i < ports.count; i++)
		if (bh_verdict_allow(source->interval(source->data, ports.at + i).verdict))
			return true;
	return !ports.count && bh_verdict_allow(ports.at);
}

static char says(const struct grid *grid, struct bh_ports_ref ports, uint32_t resolution)
{
	uint32_t verdict;

	if (grid->request->any_port)
		return allows_any(grid->source, ports, resolution) ? SAYS_ALLOW : 0;
	verdict = evaluate_list(grid->source, ports, resolution, grid->request->point);
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
	int8_t *said = &grid->said[resolution];

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
	const struct evaluated_end *subject = &row->subject->is;
	const struct policy_segment *segment = &subject->segment;
	const enum direction direction = row->direction;

	if (!subject->known) {
		memset(row->at, 0, grid->ends.n);
		return;
	}
	memset(row->at, SAYS_ALLOW, grid->ends.n);
	if (evaluated_end_is_external(subject))
		return;
	if (segment->flags & BH_SEGMENT_POLICY(direction)) {
		fill(grid, row, segment->fallback[direction][0], 0, grid->n_internal);
		fill(grid, row, segment->fallback[direction][1], grid->n_internal, grid->ends.n);
		fill_pairs(grid, row, segment->common[direction], &grid->common);
		fill_pairs(grid, row, segment->own[direction], &grid->own);
	}
}

/* Cells */

static bool is_meant(const bool *kinds, size_t i)
{
	return !kinds || kinds[i];
}

/* Returns the cells of a kind that is evaluated now. */
static char *row_of(const struct grid *grid, size_t from)
{
	return grid->cells + (from - grid->first) * grid->kinds->n;
}

/* Returns the IP version of flows between the kinds. */
static enum family family_of(const struct flow_class *from, const struct flow_class *to)
{
	const enum family first = from->members->end.first;

	return from->has[first] && to->has[first] ? first : !first;
}

static bool is_asked(const struct grid *grid, const struct flow_class *from,
		     const struct flow_class *to)
{
	const bool near = from == to || from->members->is_node || to->members->is_node;

	return to->members->end.domain || (near && !grid->request->strangers);
}

/* Sets the cells to kinds from @first to before @end to what these say at ingress. */
static void fill_columns(struct grid *grid, size_t first, size_t end)
{
	const struct flow_classes *kinds = grid->kinds;
	const size_t n = grid->ends.n;

	for (size_t to = first; to < end; to++)
		for (enum family family = IPV4; family < FAMILIES; family++) {
			const uint32_t subject = grid->of[to][family];
			struct grid_row row = {.direction = INGRESS};

			if (subject == NO_END || !is_meant(grid->request->to, to))
				continue;
			row.subject = &grid->ends.at[subject];
			row.at = grid->block + ((to - first) * FAMILIES + family) * n;
			fill_row(grid, &row);
		}
	for (size_t from = grid->first; from < grid->end; from++)
		for (size_t to = first; to < end && is_meant(grid->request->from, from); to++) {
			const struct flow_class *a = &kinds->at[from], *b = &kinds->at[to];
			const enum family family = family_of(a, b);

			if (a->has[family] && b->has[family])
				row_of(grid, from)[to] =
					grid->block[((to - first) * FAMILIES + family) * n +
						    grid->of[from][family]];
		}
}

/* Sets the cells of a kind by what they say at ingress, and the kind at egress. */
static void finish_row(struct grid *grid, size_t from)
{
	const struct flow_classes *kinds = grid->kinds;
	const struct flow_class *a = &kinds->at[from];
	char *cells = row_of(grid, from);

	for (enum family family = IPV4; family < FAMILIES; family++) {
		const struct grid_row row = {
			.subject = &grid->ends.at[a->has[family] ? grid->of[from][family] : 0],
			.direction = EGRESS,
			.at = grid->block + family * grid->ends.n};

		if (a->has[family])
			fill_row(grid, &row);
	}
	for (size_t to = 0; to < kinds->n; to++) {
		const struct flow_class *b = &kinds->at[to];
		const enum family family = family_of(a, b);
		char egress;

		if (!is_meant(grid->request->to, to))
			continue;
		if (!flow_classes_connect(a, b)) {
			cells[to] = GRID_NONE;
			continue;
		}
		egress = grid->block[family * grid->ends.n + grid->of[to][family]];
		cells[to] = is_asked(grid, a, b)		 ? GRID_ASK
			    : !(cells[to] & egress & SAYS_ALLOW) ? GRID_DENY
			    : (cells[to] | egress) & SAYS_AUDIT	 ? GRID_AUDIT
								 : GRID_ALLOW;
	}
}

/* Evaluates and visits the kinds from @grid->first to before @grid->end. */
static int visit_rows(struct grid *grid)
{
	const size_t n = grid->kinds->n;
	int error = 0;

	for (size_t to = 0; to < n; to += COLUMNS)
		fill_columns(grid, to, to + COLUMNS < n ? to + COLUMNS : n);
	for (size_t from = grid->first; from < grid->end && !error; from++) {
		if (!is_meant(grid->request->from, from))
			continue;
		finish_row(grid, from);
		error = grid->visit(grid->data, from, row_of(grid, from));
	}
	return error;
}

static int make(void *data)
{
	struct grid *grid = data;
	const size_t n = grid->kinds->n,
		     rows = grid->request->rows ? grid->request->rows : CELLS / (n + 1) + 1;
	int error = 0;

	sort_records(grid->pairs, grid->n_pairs, sizeof(*grid->pairs), evaluate_compare_pairs);
	list_ends(grid);
	grid->block = grow_zeroed(grid->ends.n, COLUMNS * FAMILIES);
	grid->cells = grow_zeroed(n, rows < n ? rows : n);
	for (; grid->first < n && !error; grid->first = grid->end) {
		grid->end = n - grid->first < rows ? n : grid->first + rows;
		error = visit_rows(grid);
	}
	return error;
}

int class_grid_each(const struct grid_request *request,
		    int (*visit)(void *data, size_t from, const char *cells), void *data)
{
	struct grid grid = {.request = request,
			    .source = request->source,
			    .kinds = request->kinds,
			    .visit = visit,
			    .data = data};
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
	free(grid.cells);
	free(grid.block);
	return error;
}
