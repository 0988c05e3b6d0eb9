// SPDX-License-Identifier: GPL-2.0-only
/* The follower's reports: its NodePolicyStatus, which is written after each step, and as a
 * heartbeat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/condition.h"
#include "cluster/follower.h"

/* If nothing changes, the next report follows after two fifths of the limit that the engine has
 * for a silent node, and up to half more, so that nodes do not report all at once. A quarter of the
 * limit, and ten seconds at most, is the time for an answer. So a second attempt begins before the
 * limit is reached: a lost report counts no node out. */
#define REPORT_SECONDS_MAX 10
/* A rollout waits for the reports that the policy is installed, but not for the reports that
 * endpoints have moved. Nodes spread the reports that endpoints have moved over so many us for each
 * node of the cluster, so that the API server has time for the reports that the policy is
 * installed. */
#define SPREAD_US 2000
/* A report that the server fails is tried again after a second at first. The pause grows to so many
 * ms for each node of the cluster, so that all nodes together do not keep the server down. */
#define RETRY_NODE_MS 8
#define RETRY_MAX 8000

void follower_warn(struct follower *follower, const char *what, const char *why)
{
	diag_report(follower->diag, DIAG_WARNING, NULL, NULL, "follow: %s: %s", what, why);
}

/* Warns of each kind of failure once, until a report succeeds again. */
static void warn_report(struct follower *follower, const struct api_answer *answer)
{
	if (!answer->error)
		follower->report_faults = (struct api_faults){};
	else if (api_faults_add(&follower->report_faults, answer->status, answer->error))
		follower_warn(follower, "this node's status cannot be written", answer->error);
}

unsigned int follower_limit(const struct follower *follower)
{
	const uint32_t limit = follower->wants.limit;

	return limit >= ROLLOUT_LIMIT_MIN && limit <= ROLLOUT_LIMIT_MAX ? limit
									: ROLLOUT_LIMIT_DEFAULT;
}

uint32_t follower_installed(const struct follower *follower)
{
	const struct store_status *wants = &follower->wants;
	const struct followed_node_state *has = &follower->has;
	const bool is_wanted =
		wants->policy > has->installed ||
		(wants->policy == has->installed && wants->checksum == has->installed_checksum);

	return follower->synced && has->installed > has->active && !is_wanted ? has->active
									      : has->installed;
}

static unsigned int heartbeat_ms(const struct follower *follower)
{
	return follower_limit(follower) * 400;
}

static unsigned int report_seconds(const struct follower *follower)
{
	unsigned int seconds = follower_limit(follower) / 4;

	return seconds < REPORT_SECONDS_MAX ? seconds : REPORT_SECONDS_MAX;
}

/* @answer: why the last report failed; NULL: it was not sent. */
static void report_later(struct follower *follower, const struct api_answer *answer)
{
	unsigned int most = follower->wants.nodes * RETRY_NODE_MS;

	if (most > RETRY_MAX || !follower->wants.nodes)
		most = RETRY_MAX;
	if (most < FOLLOWER_RETRY_MS || (answer && answer->absent))
		most = FOLLOWER_RETRY_MS;
	api_timer_set(follower->api, &follower->heartbeat,
		      api_backoff(&follower->report_backoff, FOLLOWER_RETRY_MS, most));
}

void follower_hear(struct follower *follower, struct heard *heard)
{
	*heard = (struct heard){.before = follower->diag->copy};
	follower->diag->copy = open_memstream(&heard->text, &heard->size);
}

void follower_end_hearing(struct follower *follower, struct heard *heard)
{
	if (follower->diag->copy)
		fclose(follower->diag->copy);
	follower->diag->copy = heard->before;
	free(follower->said);
	follower->said = NULL;
	if (heard->text && *heard->text) {
		heard->text[strcspn(heard->text, "\n")] = '\0';
		follower->said = TAKE_PTR(heard->text);
	}
	free(heard->text);
}

void follower_set_message(struct follower *follower, int error, const char *what)
{
	const char *why = follower->said ? follower->said : strerror(-error);

	free(follower->message);
	follower->message = NULL;
	follower->error = error;
	if (error && asprintf(&follower->message, "%s: %s", what, why) < 0)
		follower->message = NULL;
	free(follower->said);
	follower->said = NULL;
}

/* Writes the Event of the load that opened pods. It follows the report, since reports are spread
 * over time, and are tried again until the server answers. */
static void tell_opened(struct follower *follower)
{
	struct opened *opened = &follower->opened;

	if (opened->line)
		events_opened(follower->events, opened->generation, opened->line,
			      follower->wants.nodes);
	free(opened->line);
	*opened = (struct opened){0};
}

void follower_opened(void *data, uint64_t generation, const char *line)
{
	struct follower *follower = data;

	tell_opened(follower);
	follower->opened = (struct opened){.generation = generation, .line = strdup(line)};
}

static struct condition ready(const struct follower *follower)
{
	return (struct condition){
		.type = "Ready",
		.holds = !follower->message,
		.reason = follower->message ? "ChangeFailed" : "AsWanted",
		.message = follower->message ? follower->message : "the last change succeeded",
	};
}

/* @text: room for the message. */
static struct condition addresses_free(const struct follower *follower, char *text, size_t size)
{
	struct address address;
	char name[ADDRESS_TEXT];
	const size_t n = follower->resting ? resting_late(follower->resting, &address) : 0;

	if (n)
		snprintf(
			text, size,
			"pods with %zu addresses stay isolated until an engine takes the addresses "
			"from their former Pods: %s",
			n, address_print(&address, name));
	else
		snprintf(text, size, "no pod waits for its address");
	return (struct condition){.type = "AddressesFree",
				  .holds = !n,
				  .reason = n ? "Resting" : "AllAddresses",
				  .message = text};
}

/* @text: room for the message. */
static struct condition policy_saved(const struct saves *saves, char *text, size_t size)
{
	if (saves->error)
		snprintf(text, size, "the node would start with an older policy or none: %s: %s",
			 saves->dir, strerror(-saves->error));
	else
		snprintf(text, size, "the node would start with the active policy");
	return (struct condition){.type = "PolicySaved",
				  .holds = !saves->error,
				  .reason = saves->error ? "CannotBeSaved" : "ActivePolicy",
				  .message = text};
}

/* @text: room for the message. */
static struct condition interfaces_known(int error, char *text, size_t size)
{
	if (error)
		snprintf(text, size,
			 "interfaces, tunnels and addresses that come are not found, so that they "
			 "are not guarded: %s",
			 strerror(-error));
	else
		snprintf(text, size, "what comes up on the node is found");
	return (struct condition){.type = "InterfacesKnown",
				  .holds = !error,
				  .reason = error ? "CannotBeListed" : "Listed",
				  .message = text};
}

/* A report has the conditions only if one has changed: the server keeps the last ones. */
static void add_conditions(struct follower *follower, struct json_object *status)
{
	struct json_object *conditions = json_object_new_array();
	const struct saves *saves = &follower->node.saves;
	char addresses[200], interfaces[200], saved[200];
	const struct condition all[] = {
		ready(follower), addresses_free(follower, addresses, sizeof(addresses)),
		interfaces_known(follower->look_error, interfaces, sizeof(interfaces)),
		policy_saved(saves, saved, sizeof(saved))};

	/* the last one only where something is saved */
	for (size_t i = 0; i < ARRAY_SIZE(all) - !saves->dir; i++)
		condition_add(conditions, follower->conditions, &all[i]);
	if (!json_object_equal(conditions, follower->conditions))
		follower->told = false;
	if (!follower->told)
		json_object_object_add(status, "conditions", json_object_get(conditions));
	json_object_put(follower->conditions);
	follower->conditions = conditions;
}

static struct json_object *report_object(struct follower *follower)
{
	struct json_object *object = json_object_new_object();
	struct json_object *status = json_object_new_object();

	api_forget_managers(object);
	json_object_object_add(object, "status", status);
	json_object_object_add(status, "latestPolicyGeneration",
			       json_object_new_int64(follower_installed(follower)));
	json_object_object_add(status, "latestEndpointGeneration",
			       json_object_new_int64(follower->has.active));
	json_object_object_add(status, "lacksGeneration", json_object_new_int64(follower->lacks));
	json_object_object_add(status, "heartbeat", api_time());
	json_object_object_add(
		status, "message",
		json_object_new_string(follower->message ? follower->message : "ok"));
	/* before the Pods are known, the server keeps the last statements */
	json_object_put(follower->left);
	follower->left = follower->resting && follower->pods_synced
				 ? resting_statements(follower->resting)
				 : NULL;
	if (follower->left)
		json_object_object_add(status, "leftAddresses", json_object_get(follower->left));
	add_conditions(follower, status);
	return object;
}

static void made(void *data, const struct api_answer *answer)
{
	struct follower *follower = data;

	follower->reporting = false;
	follower->exists = !answer->error || answer->status == 409;
	if (follower->exists)
		return follower_report(follower);
	warn_report(follower, answer);
	report_later(follower, answer);
}

static void make(struct follower *follower)
{
	struct json_object *object = json_object_new_object();
	struct json_object *metadata = json_object_new_object();
	struct api_request request = {
		.method = "POST",
		.path = STORE_NODE_STATUS,
		.body = object,
		.seconds = report_seconds(follower),
		.done = made,
		.data = follower,
	};

	json_object_object_add(object, "apiVersion", json_object_new_string(STORE_GROUP));
	json_object_object_add(object, "kind", json_object_new_string("NodePolicyStatus"));
	json_object_object_add(object, "metadata", metadata);
	json_object_object_add(metadata, "name", json_object_new_string(follower->options->node));
	follower->reporting = !api_send(follower->api, &request);
	if (!follower->reporting)
		report_later(follower, NULL);
	json_object_put(object);
}

static void reported(void *data, const struct api_answer *answer)
{
	struct follower *follower = data;

	follower->reporting = false;
	if (answer->status == 404) {
		follower->exists = follower->told = false;
		return make(follower);
	}
	if (answer->error && answer->status && !follower->asks_why) {
		follower->asks_why = true;
		return follower_report(follower);
	}
	follower->asks_why = false;
	warn_report(follower, answer);
	if (answer->error)
		return report_later(follower, answer);
	follower->report_backoff = 0;
	follower->told = true;
	if (follower->left)
		resting_told(follower->resting, follower->left);
	tell_opened(follower);
	follower->reported[0] = follower->sent[0];
	follower->reported[1] = follower->sent[1];
	api_timer_set(follower->api, &follower->heartbeat, api_jitter(heartbeat_ms(follower)));
	if (follower->report_again)
		follower_report(follower);
	else if (!follower->wait.due) /* else a change has failed, and is tried again in time */
		follower->go_on(follower);
}

void follower_report(struct follower *follower)
{
	char path[320];
	struct api_request request = {
		.method = "PATCH",
		.path = path,
		.brief = !follower->asks_why,
		.seconds = report_seconds(follower),
		.done = reported,
		.data = follower,
	};

	follower->report_again = follower->reporting;
	if (follower->reporting)
		return;
	if (!follower->exists)
		return make(follower);
	snprintf(path, sizeof(path), STORE_NODE_STATUS "/%s/status", follower->options->node);
	request.body = report_object(follower);
	follower->sent[0] = follower_installed(follower);
	follower->sent[1] = follower->has.active;
	/* the next one follows the answer */
	api_timer_stop(follower->api, &follower->heartbeat);
	follower->reporting = !api_send(follower->api, &request);
	if (!follower->reporting)
		report_later(follower, NULL);
	json_object_put(request.body);
}

void follower_report_spread(struct follower *follower)
{
	const uint64_t ms = (uint64_t)follower->wants.nodes * SPREAD_US / 1000;
	const unsigned int wait =
		api_random(ms < heartbeat_ms(follower) ? ms : heartbeat_ms(follower));
	const uint64_t due = follower->heartbeat.due;

	if (follower->reporting || follower->options->once || !ms)
		return follower_report(follower);
	/* no later than the heartbeat would be: a silent node counts as gone */
	if (!due || due > api_now() + wait)
		api_timer_set(follower->api, &follower->heartbeat, wait);
}

void follower_report_in_time(struct follower *follower)
{
	const unsigned int ms = heartbeat_ms(follower);

	if (follower->heartbeat.due > api_now() + ms + ms / 2)
		api_timer_set(follower->api, &follower->heartbeat, api_jitter(ms));
}
