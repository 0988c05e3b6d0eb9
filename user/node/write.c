// SPDX-License-Identifier: GPL-2.0-only
#include "node/write.h"

int write_table(struct host *host, const struct table *table, enum node_map_id map)
{
	int error = table_write(table, host->maps[map]);

	if (error)
		return node_fail(host, error, "cannot write to %s/%s", host->pin,
				 node_map_names[map]);
	host->writes += table->n;
	return 0;
}

int write_delete(struct host *host, const struct table *table, enum node_map_id map)
{
	int error = table_delete(table, host->maps[map]);

	if (error)
		return node_fail(host, error, "cannot delete from %s/%s", host->pin,
				 node_map_names[map]);
	host->writes += table->n;
	return 0;
}

void write_flip(struct host *host, uint64_t generation)
{
	__atomic_store_n(&host->config->generation, generation, __ATOMIC_RELEASE);
	host->writes++;
}

void write_busy(struct host *host, bool busy)
{
	if (node_is_busy(host) == busy)
		return;
	__atomic_store_n(&host->config->changes, host->config->changes + 1, __ATOMIC_SEQ_CST);
	host->writes++;
}
