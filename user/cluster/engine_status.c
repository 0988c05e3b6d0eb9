// SPDX-License-Identifier: GPL-2.0-only
/* The conditions of PolicyStatus: how far a rollout is, which nodes are silent, which objects are
 * refused. */
#include <stdio.h>
#include <string.h>

#include "cluster/condition.h"
#include "cluster/engine.h"

/* Names one of several nodes, and counts the others. */
static void write_nodes(char *text, size_t size, const char *node, uint32_t n)
{
	if (n > 1)
		snprintf(text, size, "node %.100s and %u more", node, n - 1);
	else
		snprintf(text, size, "node %.100s", node);
}

/* The message is short: it is a printer column, which every node gets with each event. */
static struct condition rolled_out(const struct engine *engine, const struct barrier *barrier,
				   char *message, size_t size)
{
	const struct store_status *status = &engine->status;
	struct condition condition = {.type = "RolledOut", .message = message};
	char nodes[200] = "";

	if (barrier->behind)
		write_nodes(nodes, sizeof(nodes), barrier->behind, barrier->n_behind);
	if (!barrier->nodes) {
		condition.reason = "NoNode";
		snprintf(message, size, "no node reports");
	} else if (status->endpoint < status->policy) {
		condition.reason = "Installing";
		snprintf(message, size, "not installed on %s",
			 barrier->behind ? nodes : "all nodes, as last seen");
	} else if (barrier->behind) {
		condition.reason = "Activating";
		snprintf(message, size, "not active on %s", nodes);
	} else {
		condition.reason = "AllNodes";
		condition.holds = true;
		snprintf(message, size, "on all %u nodes", barrier->nodes);
	}
	return condition;
}

static struct condition heard(const struct barrier *barrier, char *message, size_t size)
{
	struct condition condition = {.type = "NodesHeard", .message = message};
	char nodes[200];

	if (!barrier->n_silent && barrier->n_late) {
		condition.reason = "NoProgress";
		write_nodes(nodes, sizeof(nodes), barrier->late, barrier->n_late);
		snprintf(message, size, "no rollout waits for %s, until it has policy %u", nodes,
			 barrier->late_lacks);
		return condition;
	}
	if (!barrier->n_silent) {
		condition.reason = "AllNodes";
		condition.holds = true;
		snprintf(message, size, "%u nodes report", barrier->nodes);
		return condition;
	}
	condition.reason = "Silent";
	write_nodes(nodes, sizeof(nodes), barrier->silent, barrier->n_silent);
	snprintf(message, size, "no rollout waits for %s, until a heartbeat comes", nodes);
	return condition;
}

/* Names one of the objects, and counts the others. @n: objects that are refused or set aside. */
static void write_faults(const struct engine *engine, size_t n, const struct waits *waits,
			 char *message, size_t size)
{
	char first[480], date[32];
	const size_t unread = objects_unread(engine->objects, first, sizeof(first));
	const size_t all = n + waits->n_late + unread;

	events_date(waits->date, date);
	if (!n && !unread && waits->n_late)
		snprintf(first, sizeof(first), "%.300s waits for its turn since %s", waits->key,
			 date);
	if (!all)
		snprintf(message, size, "no object is refused");
	else if (n && !unread && !objects_first_fault(engine->objects, first, sizeof(first)))
		snprintf(message, size, "%zu objects are refused: see their Events", all);
	else if (all > 1)
		snprintf(message, size, "%s; and %zu more: see their Events", first, all - 1);
	else
		snprintf(message, size, "%s", first);
}

bool engine_faults_written(struct engine *engine)
{
	const size_t n = engine->written_refused + engine->written_aside;
	const struct waits waits = engine_waits(engine);
	char message[sizeof(engine->written_message)], text[300];
	const size_t unread = objects_unread(engine->objects, text, sizeof(text));

	if (engine->written_faults == objects_faults(engine->objects) && !waits.n_late &&
	    !engine->written_waits && engine->written_unread == unread)
		return true;
	write_faults(engine, n, &waits, message, sizeof(message));
	if (strcmp(message, engine->written_message))
		return false;
	engine->written_faults = objects_faults(engine->objects);
	engine->written_unread = unread;
	return true;
}

static struct condition accepted(struct engine *engine)
{
	const size_t refused = engine->written_refused, n = refused + engine->written_aside;
	const struct waits waits = engine_waits(engine);
	char unread[300];

	engine->written_faults = objects_faults(engine->objects);
	engine->written_waits = waits.n_late;
	engine->written_unread = objects_unread(engine->objects, unread, sizeof(unread));
	write_faults(engine, n, &waits, engine->written_message, sizeof(engine->written_message));
	return (struct condition){.type = "ObjectsAccepted",
				  .message = engine->written_message,
				  .holds = !n && !waits.n_late && !engine->written_unread,
				  .reason = engine->written_unread ? "VersionUnread"
					    : refused		   ? "Refused"
					    : n			   ? "SetAside"
					    : waits.n_late	   ? "Waiting"
								   : "AllObjects"};
}

struct json_object *engine_conditions(struct engine *engine, const struct barrier *barrier)
{
	struct json_object *conditions = json_object_new_array();
	char texts[2][520];
	struct condition all[3] = {
		rolled_out(engine, barrier, texts[0], sizeof(texts[0])),
		heard(barrier, texts[1], sizeof(texts[1])),
		accepted(engine),
	};

	for (int i = 0; i < 3; i++) {
		all[i].generation = engine->status.observed;
		if (condition_add(conditions, engine->conditions, &all[i]))
			events_turned(engine->events, &all[i]);
	}
	json_object_put(engine->conditions);
	engine->conditions = json_object_get(conditions);
	return conditions;
}
