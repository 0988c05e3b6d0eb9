// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "policy/asides.h"

void asides_free(struct asides *asides)
{
	for (size_t i = 0; asides && i < asides->n; i++) {
		free(asides->at[i].ns);
		free(asides->at[i].name);
		free(asides->at[i].why);
	}
	if (asides)
		free(asides->at);
	free(asides);
}
