// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "maps/conntrack.h"
#include "model/nearest.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/program.h"
#include "node/kernel/settings.h"
#include "tc.skel.h"
#include "xdp.skel.h"

enum setting_unit { TIME, COUNT, RCU };

/* s: adopted connections look 10 s older than they are (node/change/adopt.c). */
#define MIN_IDLE 15

#define LIBERAL "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"

#define RODATA(field) #field, offsetof(struct bh_tc__rodata, field)

static const struct setting {
	const char *name;
	enum setting_unit unit;
	uint32_t min, max; /* seconds, or a plain number */
	const char *constant; /* the constant's name in kern/tunables.h */
	size_t at; /* offset in .rodata */
} settings[] = {
	{"connections", COUNT, 1024, 1 << 26, RODATA(ct_capacity)},
	{"timeout-tcp", TIME, MIN_IDLE, 1 << 20, RODATA(timeout_tcp)},
	{"timeout-tcp-closing", TIME, 1, 1 << 20, RODATA(timeout_tcp_closing)},
	{"timeout-tcp-reset", TIME, 1, 1 << 20, RODATA(timeout_tcp_reset)},
	{"timeout-half-open", TIME, 1, 1 << 20, RODATA(timeout_half_open)},
	{"unanswered-stay", TIME, 1, 60, RODATA(unanswered_stay)},
	{"timeout-udp", TIME, 1, 1 << 20, RODATA(timeout_udp)},
	{"timeout-udp-stream", TIME, MIN_IDLE, 1 << 20, RODATA(timeout_udp_stream)},
	{"timeout-sctp", TIME, MIN_IDLE, 1 << 20, RODATA(timeout_sctp)},
	{"timeout-icmp", TIME, 1, 1 << 20, RODATA(timeout_icmp)},
	{"timeout-other", TIME, 1, 1 << 20, RODATA(timeout_other)},
	{"timeout-denied", TIME, 1, 1 << 20, RODATA(timeout_denied)},
	{"timeout-fragment", TIME, 1, 1 << 20, RODATA(timeout_fragment)},
	{"dns-grace", TIME, 0, 1 << 20, RODATA(dns_grace)},
	{"dns-aliases", COUNT, 0, 1, RODATA(dns_aliases)},
	{"redirect", COUNT, 0, 1, RODATA(redirect)},
	{"encapsulation", COUNT, 0, 1, RODATA(encapsulation)},
	{"ask-conntrack", COUNT, 0, 1, RODATA(ask_conntrack)},
	{"event-rate", COUNT, 0, 1 << 20, RODATA(event_rate)},
	{"event-sample", COUNT, 1, 1 << 30, RODATA(event_sample)},
	{"event-allow", COUNT, 0, 1, RODATA(event_allow)},
	{"rcu", RCU, 0, 1, RODATA(rcu_normal)},
};

static uint32_t *rodata_at(struct bh_tc__rodata *rodata, const struct setting *setting)
{
	return (uint32_t *)((char *)rodata + setting->at);
}

/* Converts times: the programs count in ticks, and are built for 250 jiffies a second. */
static void scale_times(struct bh_tc__rodata *rodata)
{
	uint64_t hz = program_jiffies_per_second();

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		uint32_t *time = rodata_at(rodata, &settings[i]);

		if (settings[i].unit == TIME)
			*time = *time * hz / 250;
	}
	rodata->event_hz = hz;
}

static const char *const rcu_words[] = {"expedited", "normal"};

/* Parses the text behind the "=" of a setting. */
static bool parse_value(const struct setting *setting, const char *text, uint32_t *value)
{
	unsigned long number;
	char *end;

	for (uint32_t i = 0; setting->unit == RCU && i < ARRAY_SIZE(rcu_words); i++)
		if (!strcmp(text, rcu_words[i])) {
			*value = i;
			return true;
		}
	if (setting->unit == RCU || *text < '0' || *text > '9')
		return false;
	number = strtoul(text, &end, 10);
	*value = number;
	return !*end && number >= setting->min && number <= setting->max;
}

static void refuse_value(struct node_handle *handle, const struct setting *setting,
			 const char *value)
{
	if (setting->unit == RCU)
		diag_error(handle->diag, NULL, setting->name, "must be %s or %s, not \"%.40s\"",
			   rcu_words[0], rcu_words[1], value);
	else
		diag_error(handle->diag, NULL, setting->name, "must be %u to %u%s, not \"%.40s\"",
			   setting->min, setting->max, setting->unit == TIME ? " (seconds)" : "",
			   value);
}

static void refuse_name(struct node_handle *handle, const char *text, size_t length)
{
	char name[64], like[NEAREST_TEXT];
	struct nearest nearest = {.word = name};

	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		nearest_try(&nearest, settings[i].name);
	diag_error(handle->diag, NULL, "--set", "there is no setting \"%s\"%s", name,
		   nearest_print(&nearest, like));
}

/* Parses "NAME=NUMBER", or "rcu=WORD". */
static const struct setting *parse(struct node_handle *handle, const char *text, uint32_t *value)
{
	size_t length = strcspn(text, "=");

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *setting = &settings[i];

		if (strlen(setting->name) != length || strncmp(setting->name, text, length))
			continue;
		if (text[length] && parse_value(setting, text + length + 1, value))
			return setting;
		refuse_value(handle, setting, text + length + !!text[length]);
		return NULL;
	}
	refuse_name(handle, text, length);
	return NULL;
}

static uint32_t in_programs(const struct setting *setting, uint32_t value)
{
	if (setting->unit == TIME)
		return value * program_jiffies_per_second() >> BH_TICK_SHIFT;
	return value;
}

static int apply_one(struct node_handle *handle, struct bh_tc__rodata *rodata, const char *text)
{
	uint32_t value;
	const struct setting *setting = parse(handle, text, &value);

	if (!setting)
		return -EINVAL;
	*rodata_at(rodata, setting) = in_programs(setting, value);
	return 0;
}

/*
 * Refuses a redirect that would hide packets from a strict conntrack of the host: the conntrack
 * sees only some packets of a connection, finds them outside its window, and many rulesets drop
 * such packets.
 */
static int check_host_conntrack(struct node_handle *handle)
{
	FILE *file = fopen(LIBERAL, "re");
	int value = file ? getc(file) : '1';

	if (file)
		fclose(file);
	if (value != '0')
		return 0;
	return node_fail(handle, -EBUSY, "redirect needs 1 in " LIBERAL);
}

/* Returns a secret seed. A sender that knew the seed could make connections that all need the same
 * slots. */
static uint64_t random_seed(void)
{
	uint64_t seed = BH_CT_MIX;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed ^= (uint64_t)time(NULL) << 20;
	return seed | 1;
}

/* Reads the constants of the pinned programs. A constant that the programs lack keeps its value. */
static int read_rodata(struct node_handle *handle, struct bh_tc__rodata *rodata)
{
	CLEANUP(constants_free) struct constants constants = {};
	const struct program *program;
	int error = pins_program(handle, PROGRAM_INGRESS, &program);
	uint64_t seed;

	if (!error)
		error = constants_read(program, NULL, &constants);
	for (size_t i = 0; !error && i < ARRAY_SIZE(settings); i++)
		constants_get(&constants, settings[i].constant, rodata_at(rodata, &settings[i]),
			      sizeof(uint32_t));
	if (!error && !constants_get(&constants, "ct_seed", &seed, sizeof(seed)))
		seed = random_seed();
	if (!error)
		rodata->ct_seed = seed;
	if (!error)
		constants_get(&constants, "domain_key", (void *)rodata->domain_key,
			      sizeof(rodata->domain_key));
	return error;
}

int settings_domain_key(struct node_handle *handle)
{
	struct bh_tc__rodata rodata = {};
	SCOPED_FD int pinned = -1;
	int error = 0;

	if (handle->domain_key[0])
		return 0;
	pinned = pins_get_program(handle, PROGRAM_INGRESS);
	if (pinned != -ENOENT)
		error = read_rodata(handle, &rodata);
	if (error)
		return error;
	for (int i = 0; i < 2; i++)
		handle->domain_key[i] = rodata.domain_key[i] ? rodata.domain_key[i] : random_seed();
	return 0;
}

int settings_seed(struct node_handle *handle, uint64_t *seed)
{
	struct bh_tc__rodata rodata = {};
	int error = read_rodata(handle, &rodata);

	*seed = rodata.ct_seed;
	return error;
}

int settings_connections(struct node_handle *handle, uint32_t *capacity)
{
	struct bh_tc__rodata rodata = {};
	int error = read_rodata(handle, &rodata);

	*capacity = rodata.ct_capacity;
	return error;
}

bool settings_rcu_is_normal(struct node_handle *handle)
{
	const struct node_options *options = handle->options;
	SCOPED_FD int pinned = pins_get_program(handle, PROGRAM_INGRESS);
	struct bh_tc__rodata rodata = {};
	int error = pinned == -ENOENT ? 0 : read_rodata(handle, &rodata);

	for (size_t i = 0; pinned == -ENOENT && i < options->n_settings; i++)
		if (!strcmp(options->settings[i], "rcu=normal"))
			return true;
	return error || rodata.rcu_normal;
}

#define MEMORY_FOR_ONE 32768 /* bytes of the machine's memory for each connection, by default */
#define CONNECTIONS_MIN 131072
#define CONNECTIONS_MAX (1 << 20)

/* Returns how many connections the table has on this machine unless --set says so. */
static uint32_t default_connections(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t connections = memory / MEMORY_FOR_ONE;

	return connections < CONNECTIONS_MIN   ? CONNECTIONS_MIN
	       : connections > CONNECTIONS_MAX ? CONNECTIONS_MAX
					       : connections;
}

/* Returns the bytes of memory that are available; UINT64_MAX: not known. */
static uint64_t available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
	if (file)
		fclose(file);
	return found ? kib << 10 : UINT64_MAX;
}

/* Refuses a table that is larger than the memory. */
static int check_memory(struct node_handle *handle, uint32_t connections)
{
	uint64_t need = (uint64_t)BH_CT_GROUPS(connections) * sizeof(struct bh_ct_group);
	uint64_t available = available_memory();

	if (need <= available)
		return 0;
	diag_error(handle->diag, NULL, "connections",
		   "%u need %llu MiB of memory, and %llu MiB are available", connections,
		   (unsigned long long)(need >> 20), (unsigned long long)(available >> 20));
	return -EINVAL;
}

/* Sets the constants of a first load. */
static int apply_first(struct node_handle *handle, struct bh_tc__rodata *rodata)
{
	const struct node_options *options = handle->options;
	int error = 0;

	rodata->ct_capacity = default_connections();
	for (size_t i = 0; !error && i < options->n_settings; i++)
		error = apply_one(handle, rodata, options->settings[i]);
	if (!error)
		error = check_memory(handle, rodata->ct_capacity);
	return !error && rodata->redirect ? check_host_conntrack(handle) : error;
}

static int size_table(struct bh_tc *tc)
{
	__u32 groups = BH_CT_GROUPS(tc->rodata->ct_capacity);

	tc->rodata->ct_buckets = groups * BH_CT_GROUP;
	return bpf_map__set_max_entries(tc->maps.bh_ct, groups);
}

int settings_apply(struct node_handle *handle, struct bh_tc *tc, uint32_t connections)
{
	SCOPED_FD int pinned = pins_get_program(handle, PROGRAM_INGRESS);
	int error = 0;

	scale_times(tc->rodata);
	error = settings_domain_key(handle);
	memcpy((void *)tc->rodata->domain_key, handle->domain_key, sizeof(handle->domain_key));
	if (error)
		return node_fail(handle, error, "cannot read the active settings");
	if (pinned != -ENOENT) {
		error = read_rodata(handle, tc->rodata);
		memcpy((void *)tc->rodata->domain_key, handle->domain_key,
		       sizeof(handle->domain_key));
		if (error)
			return node_fail(handle, error, "cannot read the active settings");
		if (connections)
			tc->rodata->ct_capacity = connections;
		return size_table(tc);
	}
	tc->rodata->ct_seed = random_seed();
	error = apply_first(handle, tc->rodata);
	return error ? error : size_table(tc);
}

/* both structures come from the same headers */
_Static_assert(sizeof(struct bh_tc__rodata) == sizeof(struct bh_xdp__rodata), "tunables");

int settings_copy(struct node_handle *handle, struct bh_xdp *xdp)
{
	struct bh_tc__rodata *rodata = (struct bh_tc__rodata *)xdp->rodata;
	int error;

	scale_times(rodata);
	error = read_rodata(handle, rodata);
	return error ? node_fail(handle, error, "cannot read the active settings") : 0;
}

/* Accepts a larger table of connections than @has, if there is memory for both: sets *@connections
 * to its size. The owner of the options may accept that a larger table than @wants stays. */
static int grow_table(struct node_handle *handle, uint32_t has, uint32_t wants,
		      uint32_t *connections)
{
	if (wants > has) {
		*connections = wants;
		return check_memory(handle, wants);
	}
	if (handle->options->keep_connections) {
		diag_note(handle->diag, NULL, "connections",
			  "the table keeps room for %u, not %u, while it is in use: unload, then "
			  "load with it",
			  has, wants);
		return 0;
	}
	diag_error(handle->diag, NULL, "connections",
		   "the table has room for %u, and cannot shrink while it is in use: unload, then "
		   "load with it",
		   has);
	return -EINVAL;
}

int settings_check(struct node_handle *handle, uint32_t *connections)
{
	const struct node_options *options = handle->options;
	struct bh_tc__rodata rodata = {};
	int error = options->n_settings ? read_rodata(handle, &rodata) : 0;

	*connections = 0;
	for (size_t i = 0; !error && i < options->n_settings; i++) {
		uint32_t value;
		const struct setting *setting = parse(handle, options->settings[i], &value);

		if (!setting)
			return -EINVAL;
		if (*rodata_at(&rodata, setting) == in_programs(setting, value))
			continue;
		if (rodata_at(&rodata, setting) == (uint32_t *)&rodata.ct_capacity) {
			error = grow_table(handle, rodata.ct_capacity, value, connections);
			continue;
		}
		diag_error(handle->diag, NULL, setting->name,
			   "is set when the programs are first loaded: unload, then load with it");
		return -EINVAL;
	}
	return error && error != -EINVAL
		       ? node_fail(handle, error, "cannot read the active settings")
		       : error;
}

int node_check_settings(struct node_handle *handle, bool *grow)
{
	struct bh_tc__rodata first = {};
	uint32_t connections = 0;
	int error = node_generation(handle) ? settings_check(handle, &connections)
					    : apply_first(handle, &first);

	*grow = connections;
	return error;
}
