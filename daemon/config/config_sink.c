/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections [sink NAME]. A sink is named where it first appears, and has the defaults then. */
#include "config/config_private.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char BEGINNING[] = "sink ";

enum { BEGINNING_BYTES = sizeof(BEGINNING) - 1 };

bool config_sink_is_section(const char *section)
{
	return strncmp(section, BEGINNING, BEGINNING_BYTES) == 0 || strcmp(section, "sink") == 0;
}

/* The name becomes a folder and a label of metrics. */
static bool is_name(const char *name)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-_";
	size_t size = strspn(name, characters);

	return size > 0 && !name[size] && size < CONFIG_SINK_NAME_BYTES;
}

static int set_defaults(struct config_sink *sink)
{
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < config_sink_knob_count; i++) {
		const struct config_knob *knob = &config_sink_knobs[i];
		int r = config_knob_set(knob, knob->default_text, sink, reason);

		assert(r != -EINVAL);
		if (r < 0)
			return r;
	}
	return 0;
}

int config_sink_enter(struct config *config, const char *section, struct config_sink **ret_sink)
{
	const char *name = section[BEGINNING_BYTES - 1] ? section + BEGINNING_BYTES : "";
	struct config_sink *sink;
	int r;

	if (!is_name(name))
		return -EINVAL;
	for (size_t i = 0; i < config->sink_count; i++)
		if (strcmp(config->sinks[i].name, name) == 0) {
			*ret_sink = &config->sinks[i];
			return 0;
		}
	if (config->sink_count == CONFIG_SINKS_MAX)
		return -E2BIG;
	sink = &config->sinks[config->sink_count];
	r = set_defaults(sink);
	if (r < 0) {
		config_sink_done(sink);
		return r;
	}
	memcpy(sink->name, name, strlen(name) + 1);
	config->sink_count++;
	*ret_sink = sink;
	return 0;
}

void config_sink_done(struct config_sink *sink)
{
	for (size_t i = 0; i < config_sink_knob_count; i++) {
		config_knob_clear(&config_sink_knobs[i], sink);
		config_origin_done(&sink->origins[i]);
	}
	*sink = (struct config_sink){ 0 };
}
