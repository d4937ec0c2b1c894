/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/profile_format.h"

#include "base/utf8.h"
#include "export/clickhouse.h"
#include "export/otlp.h"
#include "export/parca.h"
#include "export/pyroscope.h"
#include "page/page_html.h"
#include "query/host_sample.h"
#include "render/call_sites.h"
#include "render/flamegraph_svg.h"
#include "render/folded.h"
#include "render/profile_json.h"
#include "render/table.h"
#include "render/top_table.h"

#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

static int write_svg(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	return flamegraph_svg_write(profile, options->title, options->detail, output);
}

/* Readers would take a title for a stack. */
static int write_folded(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	return folded_write(profile, options->detail, output);
}

static int write_pprof(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	return pprof_write(profile, options->pprof_labels, output);
}

/* Neither a history nor a recording leaves the host on which it was made. */
static const char *host_name(char clean[UTF8_CLEAN_BYTES])
{
	char host[HOST_BYTES] = "";

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	(void)utf8_clean(clean, host, strlen(host));
	return clean;
}

static int write_pyroscope(const struct profile *profile,
	const struct profile_format_options *options, struct output *output)
{
	char host[UTF8_CLEAN_BYTES];

	return pyroscope_write(profile, host_name(host), options->attributes, output);
}

static int write_parca(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	char host[UTF8_CLEAN_BYTES];
	const struct parca_options batch = {
		.host = host_name(host),
		.attributes = options->attributes,
		.symbols = options->symbols,
		.late_names = options->late_names,
	};

	return parca_write(profile, &batch, output);
}

static int write_otlp(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	char host[UTF8_CLEAN_BYTES];

	return otlp_write(
		profile, options->pprof_labels, host_name(host), options->attributes, output);
}

static int write_clickhouse(const struct profile *profile,
	const struct profile_format_options *options, struct output *output)
{
	char host[UTF8_CLEAN_BYTES];
	const struct clickhouse_options batch = {
		.labels = options->pprof_labels,
		.host = host_name(host),
		.attributes = options->attributes,
		.weight = host_sample_weight(options->sample_hosts_ppm),
	};

	return clickhouse_write(profile, &batch, output);
}

static int write_table(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	char title[UTF8_CLEAN_BYTES];

	if (options->title) {
		(void)utf8_clean(title, options->title, strlen(options->title));
		output_printf(output, "# %s\n", title);
	}
	return table_write(profile, options->detail, options->rows_max, output);
}

static int write_top(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	return top_table_write(profile, options->detail, options->rows_max, output);
}

static struct profile_json_options json_options(const struct profile_format_options *options)
{
	return (struct profile_json_options){
		.title = options->title,
		.detail = options->detail,
		.frames_max = options->frames_max,
		.below = options->below,
	};
}

static int write_json(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	const struct profile_json_options json = json_options(options);

	return profile_json_write(profile, &json, output);
}

static int write_html(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	const struct profile_json_options json = json_options(options);

	return page_write_profile(profile, &json, output);
}

/* Readers would take a title for an event. */
static int write_sites(const struct profile *profile, const struct profile_format_options *options,
	struct output *output)
{
	(void)options;
	return call_sites_write(profile, output);
}

const struct profile_format profile_formats[] = {
	{ "svg", ".svg", "image/svg+xml", true, write_svg },
	{ "folded", ".folded", "text/plain; charset=utf-8", true, write_folded },
	{ "pprof", ".pb.gz", "application/octet-stream", false, write_pprof },
	{ "otlp", ".otlp.gz", "application/octet-stream", false, write_otlp },
	{ "pyroscope", ".push.pb", "application/octet-stream", false, write_pyroscope },
	{ "parca", ".parca", "application/octet-stream", false, write_parca },
	{ "clickhouse", ".clickhouse", "application/octet-stream", false, write_clickhouse },
	{ "html", ".html", "text/html; charset=utf-8", true, write_html },
	{ "json", ".json", "application/json", true, write_json },
	{ "txt", ".txt", "text/plain; charset=utf-8", true, write_table },
	{ "top", ".top", "text/plain; charset=utf-8", true, write_top },
	{ "sites", ".sites", "text/plain; charset=utf-8", true, write_sites },
	{ 0 },
};

const struct profile_format *profile_format_find(const char *name)
{
	for (const struct profile_format *format = profile_formats; format->name; format++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

const struct profile_format *profile_format_of_path(const char *path)
{
	size_t length = strlen(path);

	for (const struct profile_format *format = profile_formats; format->name; format++) {
		size_t ending = strlen(format->ending);

		if (length > ending && strcmp(path + length - ending, format->ending) == 0)
			return format;
	}
	return NULL;
}

const char *profile_format_names(void)
{
	return "svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt, top or "
	       "sites";
}
