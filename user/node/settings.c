// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "maps/conntrack.h"
#include "node/pins.h"
#include "node/programs.h"
#include "node/settings.h"
#include "tc.skel.h"
#include "xdp.skel.h"

enum unit { ENTRIES, TIME, COUNT };

/* Connections that a first load takes over look 10 s older than they are (adopt.c). */
#define MIN_IDLE 15

#define LIBERAL "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"

#define IN_RODATA(field) offsetof(struct bh_tc__rodata, field)

static const struct setting {
	const char *name;
	enum unit unit;
	uint32_t min, max; /* entries, seconds, or just a number */
	size_t at; /* in .rodata */
	const char *maps[2]; /* ENTRIES: pin names */
} settings[] = {
	{"connections", ENTRIES, 1024, 1 << 26, 0, {"ct4", "ct6"}},
	{"half-open", ENTRIES, 1024, 1 << 26, 0, {"half4", "half6"}},
	{"timeout-tcp", TIME, MIN_IDLE, 1 << 20, IN_RODATA(timeout_tcp), {NULL}},
	{"timeout-tcp-closing", TIME, 1, 1 << 20, IN_RODATA(timeout_tcp_closing), {NULL}},
	{"timeout-half-open", TIME, 1, 1 << 20, IN_RODATA(timeout_half_open), {NULL}},
	{"timeout-udp", TIME, MIN_IDLE, 1 << 20, IN_RODATA(timeout_udp), {NULL}},
	{"timeout-sctp", TIME, MIN_IDLE, 1 << 20, IN_RODATA(timeout_sctp), {NULL}},
	{"timeout-icmp", TIME, 1, 1 << 20, IN_RODATA(timeout_icmp), {NULL}},
	{"timeout-other", TIME, 1, 1 << 20, IN_RODATA(timeout_other), {NULL}},
	{"timeout-denied", TIME, 1, 1 << 20, IN_RODATA(timeout_denied), {NULL}},
	{"timeout-fragment", TIME, 1, 1 << 20, IN_RODATA(timeout_fragment), {NULL}},
	{"redirect", COUNT, 0, 1, IN_RODATA(redirect), {NULL}},
	{"event-rate", COUNT, 0, 1 << 30, IN_RODATA(event_rate), {NULL}},
	{"event-sample", COUNT, 1, 1 << 30, IN_RODATA(event_sample), {NULL}},
	{"event-allow", COUNT, 0, 1, IN_RODATA(event_allow), {NULL}},
};

static uint32_t *rodata_at(struct bh_tc__rodata *rodata, const struct setting *setting)
{
	return (uint32_t *)((char *)rodata + setting->at);
}

/* The programs count in ticks, and come with what 250 jiffies to the second make of their times. */
static void scale_times(struct bh_tc *tc)
{
	uint64_t hz = programs_jiffies_per_second();

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		uint32_t *time = rodata_at(tc->rodata, &settings[i]);

		if (settings[i].unit == TIME)
			*time = *time * hz / 250;
	}
	tc->rodata->event_period = tc->rodata->event_period * hz / 250;
}

/* "NAME=NUMBER" */
static const struct setting *parse(struct host *host, const char *text, uint32_t *value)
{
	size_t length = strcspn(text, "=");
	unsigned long number;
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *setting = &settings[i];

		if (strlen(setting->name) != length || strncmp(setting->name, text, length))
			continue;
		number = text[length] ? strtoul(text + length + 1, &end, 10) : 0;
		if (text[length] && text[length + 1] >= '0' && text[length + 1] <= '9' && !*end &&
		    number >= setting->min && number <= setting->max) {
			*value = number;
			return setting;
		}
		diag_error(host->diag, NULL, setting->name, "is a number from %u to %u",
			   setting->min, setting->max);
		return NULL;
	}
	diag_error(host->diag, NULL, "set", "there is no setting \"%.*s\"", (int)length, text);
	return NULL;
}

static uint32_t in_programs(const struct setting *setting, uint32_t value)
{
	if (setting->unit == TIME)
		return value * programs_jiffies_per_second() >> BH_TICK_SHIFT;
	return value;
}

static int apply_one(struct host *host, struct bh_tc *tc, const char *text)
{
	uint32_t value;
	const struct setting *setting = parse(host, text, &value);
	char name[32];

	if (!setting)
		return -EINVAL;
	if (setting->unit != ENTRIES) {
		*rodata_at(tc->rodata, setting) = in_programs(setting, value);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(setting->maps); i++) {
		struct bpf_map *map;

		snprintf(name, sizeof(name), "bh_%s", setting->maps[i]);
		map = bpf_object__find_map_by_name(tc->obj, name);
		if (!map || bpf_map__set_max_entries(map, value))
			return -ENOENT;
	}
	return 0;
}

/*
 * Of what goes the shorter way the host's conntrack sees a packet now and then: where it is strict,
 * that is outside the window it knows, and many a ruleset drops such a packet.
 */
static int check_host_conntrack(struct host *host)
{
	FILE *file = fopen(LIBERAL, "re");
	int value = file ? getc(file) : '1';

	if (file)
		fclose(file);
	if (value != '0')
		return 0;
	return node_fail(host, -EBUSY, "redirect needs 1 in " LIBERAL);
}

int settings_apply(struct host *host, struct bh_tc *tc)
{
	const struct node_options *options = host->options;
	int error = 0;

	scale_times(tc);
	for (size_t i = 0; !error && i < options->n_settings; i++)
		error = apply_one(host, tc, options->settings[i]);
	if (!error && tc->rodata->redirect)
		error = check_host_conntrack(host);
	return error;
}

static int map_size(const struct host *host, const char *pin, uint32_t *size)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	SCOPED_FD int fd = pins_get(host, pin);

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return -errno;
	*size = info.max_entries;
	return 0;
}

/* The constants that the pinned programs were loaded with. */
static int read_rodata(const struct host *host, struct bh_tc__rodata *rodata)
{
	uint32_t maps[64], zero = 0, length = sizeof(struct bpf_prog_info);
	struct bpf_prog_info program = {.nr_map_ids = ARRAY_SIZE(maps), .map_ids = (uintptr_t)maps};
	SCOPED_FD int fd = pins_get(host, PROGRAM_INGRESS);

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &program, &length))
		return -errno;
	for (uint32_t i = 0; i < program.nr_map_ids && i < ARRAY_SIZE(maps); i++) {
		struct bpf_map_info info = {};
		SCOPED_FD int map = bpf_map_get_fd_by_id(maps[i]);

		length = sizeof(info);
		if (map < 0 || bpf_obj_get_info_by_fd(map, &info, &length))
			return -errno;
		/* The section ends where its last constant does, the struct where alignment wants. */
		if (!strcmp(info.name, "bh_tc.rodata") && info.value_size <= sizeof(*rodata))
			return bpf_map_lookup_elem(map, &zero, rodata);
	}
	return -ESTALE;
}

/* Both are of kern/tunables.h alone. */
_Static_assert(sizeof(struct bh_tc__rodata) == sizeof(struct bh_xdp__rodata), "tunables");

int settings_copy(struct host *host, struct bh_xdp *xdp)
{
	struct bh_tc__rodata rodata;
	int error = read_rodata(host, &rodata);

	if (error)
		return node_fail(host, error, "cannot read the settings in force");
	memcpy(xdp->rodata, &rodata, sizeof(rodata));
	return 0;
}

int settings_check(struct host *host)
{
	const struct node_options *options = host->options;
	struct bh_tc__rodata rodata;
	int error = options->n_settings ? read_rodata(host, &rodata) : 0;

	for (size_t i = 0; !error && i < options->n_settings; i++) {
		uint32_t value, has = 0;
		const struct setting *setting = parse(host, options->settings[i], &value);

		if (!setting)
			return -EINVAL;
		if (setting->unit == ENTRIES)
			error = map_size(host, setting->maps[0], &has);
		else
			has = *rodata_at(&rodata, setting);
		if (error || has == in_programs(setting, value))
			continue;
		diag_error(host->diag, NULL, setting->name,
			   "is set when the programs are first loaded: unload, then load with it");
		return -EINVAL;
	}
	return error ? node_fail(host, error, "cannot read the settings in force") : 0;
}
