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

bool packet_open(uint8_t version)
{
	struct packet_spec syn = {TCP(A, B, 80), .version = version};
	struct packet_spec answer = {TCP(B, A, 40000),	     .version = version, .sport = 80,
				     .flags = TCP_S | TCP_A, .seq = 5000,	 .ack = 1001};
	struct packet_spec ack = {TCP(A, B, 80), .version = version, .flags = TCP_A, .seq = 1001,
				  .ack = 5001};
	struct packet_spec datagram = {UDP(A, B, 53), .version = version};
	struct packet_spec reply = {UDP(B, A, 40000), .version = version, .sport = 53};

	return packet_expect(FROM_A, &syn, VIA_PEER, SILENT) &&
	       packet_expect(TO_B, &syn, VIA_PEER, BH_PASS_NEW) &&
	       packet_expect(FROM_B, &answer, VIA_PEER, SILENT) &&
	       packet_expect(TO_A, &answer, VIA_PEER, BH_PASS_ESTABLISHED) &&
	       packet_expect(FROM_A, &ack, VIA_PEER, SILENT) &&
	       packet_expect(TO_B, &ack, VIA_PEER, BH_PASS_ESTABLISHED) &&
	       packet_expect(FROM_A, &datagram, VIA_PEER, SILENT) &&
	       packet_expect(TO_B, &datagram, VIA_PEER, BH_PASS_NEW) &&
	       packet_expect(FROM_B, &reply, VIA_PEER, SILENT) &&
	       packet_expect(TO_B, &datagram, VIA_PEER, BH_PASS_ESTABLISHED);
}

/* Bytes of a frame's first buffer at XDP: all, none, the Ethernet header, a part of the IP header,
 * of the transport header. */
static const size_t splits[] = {SIZE_MAX, 0, 14, 30, 40, 60};

static bool split_expect(const struct packet_spec *spec, enum packet_via via, int reason)
{
	bool good = true;

	for (size_t i = 0; i < sizeof(splits) / sizeof(*splits); i++) {
		packet_node_split(splits[i]);
		if (!packet_expect(UPLINK, spec, via, reason)) {
			printf("# with %zu bytes in the first buffer\n", splits[i]);
			good = false;
		}
	}
	packet_node_split(SIZE_MAX);
	return good;
}

static bool row_passes(const struct packet_row *row, uint8_t version, bool (*before)(uint8_t))
{
	struct packet_spec spec = row->packet;
	bool good = true;

	spec.version = version;
	for (int i = 0; i < ROW_HOOKS && row->at[i].reason; i++) {
		/* The second packet is served from the verdict cache. */
		for (int twice = 0; twice < 2; twice++) {
			packet_node_forget();
			good &= !before || before(version);
			if (row->at[i].hook == UPLINK)
				good &= split_expect(&spec, row->via, row->at[i].reason) &
					packet_expect(UPLINK_TC, &spec, row->via,
						      row->at[i].reason);
			else
				good &= packet_expect(row->at[i].hook, &spec, row->via,
						      row->at[i].reason);
		}
	}
	return good;
}

int packet_table_run(const struct packet_table *table, int *number)
{
	int failed = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct packet_row *row = &table->rows[i];

		for (int version = 4; version <= 6; version += 2) {
			bool good;

			if (row->versions && !(row->versions & (version == 4 ? V4 : V6)))
				continue;
			good = row_passes(row, version, table->before);
			failed += !good;
			printf("%s %d - %s: %s, IPv%d\n", good ? "ok" : "not ok", ++*number,
			       table->name, row->name, version);
		}
	}
	return failed;
}

int packet_sequences_run(const char *name, const struct packet_sequence *sequences, size_t n,
			 uint8_t *version, bool *good, int *number)
{
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		for (*version = 4; *version <= 6; *version += 2) {
			*good = true;
			packet_node_forget();
			sequences[i].run();
			failed += !*good;
			printf("%s %d - %s%s%s, IPv%d\n", *good ? "ok" : "not ok", ++*number, name,
			       *name ? ": " : "", sequences[i].name, *version);
		}
	}
	return failed;
}

int packet_sequences(const struct packet_sequence *sequences, size_t n, uint8_t *version,
		     bool *good)
{
	int number = 0, failed;

	packet_node_open();
	failed = packet_sequences_run("", sequences, n, version, good, &number);
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
