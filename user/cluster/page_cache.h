/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps a page of metrics, which anybody may ask for who reaches the port: a follower's takes 25
 * ms, since it counts connections, and its steps wait meanwhile. To make pages takes a tenth of the
 * time at most. A client that asks more often gets the last page.
 */
#ifndef BULKHEAD_CLUSTER_PAGE_CACHE_H
#define BULKHEAD_CLUSTER_PAGE_CACHE_H

#include <stdint.h>

#define PAGE_CACHE_REST 9 /* so many times as long as one page took none is made */

struct page_cache {
	char *text; /* NULL: none was made */
	uint64_t next; /* ms of api_now(): no page is made before */
};

/* Returns the page, which is valid until the next call, or page_cache_free(). @make: returns a new
 * page, malloc'ed, or NULL. Returns NULL if there is no page and none can be made. */
const char *page_cache_get(struct page_cache *cache, char *(*make)(void *data), void *data);

void page_cache_free(struct page_cache *cache);

#endif
