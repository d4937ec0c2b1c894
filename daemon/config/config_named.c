/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections [sink NAME] and [metric NAME]. Something is named where it first appears, and has
 * the defaults then.
 */
#include "config/config_private.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

_Static_assert(offsetof(struct config_sink, name) == 0, "each begins with its name");
_Static_assert(offsetof(struct config_metric, name) == 0, "each begins with its name");

const struct config_named config_nameds[] = {
	{
		.word = "sink",
		.plural = "sinks",
		.example = "A section for each receiver of profiles",
		.knobs = config_sink_knobs,
		.knob_count = &config_sink_knob_count,
		.most = CONFIG_SINKS_MAX,
		.bytes = sizeof(struct config_sink),
		.items = offsetof(struct config, sinks),
		.count = offsetof(struct config, sink_count),
		.origins = offsetof(struct config_sink, origins),
	},
	{
		.word = "metric",
		.plural = "metrics",
		.example = "A section for each number of CPU time in functions",
		.knobs = config_metric_knobs,
		.knob_count = &config_metric_knob_count,
		.most = CONFIG_METRICS_MAX,
		.bytes = sizeof(struct config_metric),
		.items = offsetof(struct config, metrics),
		.count = offsetof(struct config, metric_count),
		.origins = offsetof(struct config_metric, origins),
	},
};
const size_t config_named_count = ARRAY_SIZE(config_nameds);

const struct config_named *config_named_find(const char *section)
{
	size_t size = strcspn(section, " ");

	for (size_t i = 0; i < config_named_count; i++)
		if (strlen(config_nameds[i].word) == size &&
			memcmp(section, config_nameds[i].word, size) == 0)
			return &config_nameds[i];
	return NULL;
}

size_t config_named_knob_find(const struct config_named *named, const char *key)
{
	size_t i = 0;

	while (i < *named->knob_count && strcmp(named->knobs[i].key, key) != 0)
		i++;
	return i;
}

static size_t *count_of(const struct config_named *named, const struct config *config)
{
	return (size_t *)((char *)config + named->count);
}

size_t config_named_items(const struct config_named *named, const struct config *config)
{
	return *count_of(named, config);
}

void *config_named_item(const struct config_named *named, const struct config *config, size_t i)
{
	return (char *)config + named->items + i * named->bytes;
}

struct config_origin *config_named_origins(const struct config_named *named, const void *item)
{
	return (struct config_origin *)((char *)item + named->origins);
}

/* The name becomes a folder, or a label of metrics. */
static bool is_name(const char *name)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-_";
	size_t size = strspn(name, characters);

	return size > 0 && !name[size] && size < CONFIG_NAME_BYTES;
}

static int set_defaults(const struct config_named *named, void *item)
{
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < *named->knob_count; i++) {
		const struct config_knob *knob = &named->knobs[i];
		int r = config_knob_is_list(knob)
				? 0
				: config_knob_set(knob, knob->default_text, item, reason);

		assert(r != -EINVAL);
		if (r < 0)
			return r;
	}
	return 0;
}

int config_named_enter(const struct config_named *named, struct config *config, const char *section,
	void **ret_item)
{
	size_t beginning = strlen(named->word), *count = count_of(named, config);
	const char *name = section[beginning] ? section + beginning + 1 : "";
	void *item;
	int r;

	if (!is_name(name))
		return -EINVAL;
	for (size_t i = 0; i < *count; i++) {
		item = config_named_item(named, config, i);
		if (strcmp(item, name) == 0) {
			*ret_item = item;
			return 0;
		}
	}
	if (*count == named->most)
		return -E2BIG;
	item = config_named_item(named, config, *count);
	r = set_defaults(named, item);
	if (r < 0) {
		config_named_done(named, item);
		return r;
	}
	memcpy(item, name, strlen(name) + 1);
	++*count;
	*ret_item = item;
	return 0;
}

void config_named_done(const struct config_named *named, void *item)
{
	for (size_t i = 0; i < *named->knob_count; i++) {
		config_knob_clear(&named->knobs[i], item);
		config_origin_done(&config_named_origins(named, item)[i]);
	}
	memset(item, 0, named->bytes);
}

bool config_sink_has_labels(const struct config_sink *sink)
{
	return strcmp(sink->type, "pyroscope") != 0 && strcmp(sink->type, "parca") != 0;
}
