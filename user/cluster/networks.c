// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/networks.h"

#include <errno.h>
#include <stdlib.h>

#include "cni/kept_lists.h"

/* After a change in the folder: whoever writes a list may not be done, and `cni uninstall` removes
 * its link after it has changed the list. */
#define SETTLE_MS 500
/* At most MOST lists get the plugin back in MINUTE_MS: two programs that disagree do not write
 * without end. */
#define MOST 4
#define MINUTE_MS 60000

struct networks {
	struct api *api;
	struct diag *diag;
	struct kept_lists *lists;
	struct api_reader reader;
	struct api_timer timer;
	uint64_t put_back;
	uint64_t since; /* ms: when this minute began; 0: none has */
	unsigned int within; /* lists that got the plugin back in this minute */
	unsigned int lacking;
};

static void on_change(void *data)
{
	struct networks *networks = data;

	const uint64_t due = networks->timer.due;

	if (kept_lists_drain(networks->lists) && (!due || due > api_now() + SETTLE_MS))
		api_timer_set(networks->api, &networks->timer, SETTLE_MS);
}

static void look(void *data)
{
	struct networks *networks = data;
	const unsigned int lacked = networks->lacking;
	const uint64_t now = api_now();
	unsigned int done;

	if (!networks->since || networks->since + MINUTE_MS <= now) {
		networks->since = now;
		networks->within = 0;
	}
	done = kept_lists_look(networks->lists, MOST - networks->within, &networks->lacking);
	networks->within += done;
	networks->put_back += done;
	if (!networks->lacking && kept_lists_are_kept(networks->lists))
		return;
	if (networks->lacking && !lacked)
		diag_warn(networks->diag, NULL, NULL,
			  "follow: a network lacks bulkhead-cni, and gets it back in a minute: "
			  "another "
			  "program writes the network again and again, or it cannot be written");
	api_timer_set(networks->api, &networks->timer, networks->since + MINUTE_MS - now);
}

int networks_open(struct api *api, const char *folder, const char *bin, struct diag *diag,
		  struct networks **opened)
{
	struct networks *networks = calloc(1, sizeof(*networks));
	int error;

	if (!networks)
		return -ENOMEM;
	*networks = (struct networks){.api = api, .diag = diag};
	error = kept_lists_open(folder, bin, diag, &networks->lists);
	if (error) {
		free(networks);
		return error;
	}
	networks->timer = (struct api_timer){.run = look, .data = networks};
	networks->reader = (struct api_reader){
		.fd = kept_lists_fd(networks->lists), .ready = on_change, .data = networks};
	api_reader_add(api, &networks->reader);
	look(networks);
	*opened = networks;
	return 0;
}

void networks_close(struct networks *networks)
{
	if (networks)
		kept_lists_close(networks->lists);
	free(networks);
}

uint64_t networks_count(const struct networks *networks, unsigned int *lacking)
{
	*lacking = networks->lacking;
	return networks->put_back;
}
