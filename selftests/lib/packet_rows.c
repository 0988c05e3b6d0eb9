/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "selftests/lib/packet_rows.h"

static const char *const texts[BH_REASONS] = BH_REASON_TEXTS;

static const char *text_of(int reason)
{
	return reason < -1 ? "several" : reason < 0 ? "uncounted" : texts[reason];
}

bool packet_expect(enum packet_hook hook, const struct packet_spec *spec, enum packet_via via,
		   int reason)
{
	struct packet_result result = packet_node_run(hook, spec, via);
	bool passes = reason == SILENT || !bh_reason_drops(reason);

	if (result.reason == reason && result.passed == passes)
		return true;
	printf("# %s, IPv%d: %s (%s) instead of %s (%s)\n", packet_hook_names[hook], spec->version,
	       result.passed ? "passed" : "dropped", text_of(result.reason),
	       passes ? "passed" : "dropped", text_of(reason));
	return false;
}

static bool row_passes(const struct packet_row *row, uint8_t version)
{
	struct packet_spec spec = row->packet;
	bool good = true;

	spec.version = version;
	for (int i = 0; i < ROW_HOOKS && row->at[i].reason; i++) {
		packet_node_forget();
		good &= packet_expect(row->at[i].hook, &spec, row->via, row->at[i].reason);
		if (row->at[i].hook == UPLINK)
			good &= packet_expect(UPLINK_TC, &spec, row->via, row->at[i].reason);
	}
	return good;
}

int packet_rows(const struct packet_row *rows, size_t n)
{
	int number = 0, failed = 0;

	packet_node_open();
	for (size_t i = 0; i < n; i++) {
		for (int version = 4; version <= 6; version += 2) {
			bool good;

			if (rows[i].versions && !(rows[i].versions & (version == 4 ? V4 : V6)))
				continue;
			good = row_passes(&rows[i], version);
			failed += !good;
			printf("%s %d - %s, IPv%d\n", good ? "ok" : "not ok", ++number,
			       rows[i].name, version);
		}
	}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
