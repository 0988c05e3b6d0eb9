// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/page_cache.h"

#include <stddef.h>
#include <stdlib.h>

#include "api/api.h"

const char *page_cache_get(struct page_cache *cache, char *(*make)(void *data), void *data)
{
	const uint64_t began = api_now();
	uint64_t ended;
	char *text;

	if (cache->text && began < cache->next)
		return cache->text;
	text = make(data);
	ended = api_now();
	/* a fraction of a millisecond counts as a whole one */
	cache->next = ended + (ended - began + 1) * PAGE_CACHE_REST;
	if (!text)
		return cache->text;
	free(cache->text);
	cache->text = text;
	return text;
}

void page_cache_free(struct page_cache *cache)
{
	free(cache->text);
	cache->text = NULL;
}
