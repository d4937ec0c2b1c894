/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/page_html.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "page/page_assets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The elements' texts begin with a newline, as the hashes of the policy assume. */
static const char newline[] = "\n";

const char *page_policy_format(bool asks_service, char policy[PAGE_POLICY_BYTES])
{
	char script[CONTENT_SOURCE_BYTES], style[CONTENT_SOURCE_BYTES];
	struct content_part scripts[PAGE_SCRIPTS + 1] = { { newline, newline + 1 } };
	const struct content_part styles[] = { { newline, newline + 1 }, page_style };

	memcpy(scripts + 1, page_scripts, sizeof(page_scripts));
	(void)snprintf(policy, PAGE_POLICY_BYTES,
		"default-src 'none'; script-src %s; style-src %s; %sbase-uri 'none'; form-action "
		"'none'",
		content_source_format(scripts, ARRAY_SIZE(scripts), script),
		content_source_format(styles, ARRAY_SIZE(styles), style),
		asks_service ? "connect-src 'self'; " : "");
	return policy;
}

static void write_part(struct output *output, const struct content_part *part)
{
	output_write(output, part->begin, (size_t)(part->end - part->begin));
}

static void write_head(struct output *output, bool has_profile)
{
	char policy[PAGE_POLICY_BYTES];

	output_string(
		output, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	output_printf(output, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n",
		page_policy_format(!has_profile, policy));
	output_string(output,
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<title>Pilotlight</title>\n<style>\n");
	write_part(output, &page_style);
	output_string(output, "</style>\n</head>\n<body>\n");
}

static void write_foot(struct output *output)
{
	output_string(output, "<script type=\"module\">\n");
	for (size_t i = 0; i < PAGE_SCRIPTS; i++)
		write_part(output, &page_scripts[i]);
	output_string(output, "</script>\n</body>\n</html>\n");
}

void page_write(struct output *output)
{
	write_head(output, false);
	write_foot(output);
}

/* No string of the JSON may end the element that it is in, or begin a comment there. */
static int write_escaped(void *context, const void *bytes, size_t size)
{
	struct output *output = context;
	const char *at = bytes, *end = at + size;

	while (at < end) {
		const char *angle = memchr(at, '<', (size_t)(end - at));

		output_write(output, at, (size_t)((angle ? angle : end) - at));
		if (!angle)
			break;
		output_string(output, "\\u003c");
		at = angle + 1;
	}
	return output->error;
}

/* An element with the profile, whose start tag is `tag`. */
static int write_data(struct output *output, const char *tag, const struct profile *profile,
	const struct profile_json_options *options)
{
	_cleanup_free_ struct output *json = malloc(sizeof(*json));
	int r, error;

	if (!json)
		return -ENOMEM;
	output_string(output, tag);
	output_init(json, write_escaped, output);
	r = profile_json_write(profile, options, json);
	error = output_finish(json);
	/* That of `output`, which keeps it. */
	(void)error;
	output_string(output, "</script>\n");
	return r;
}

static const char data_tag[] = "<script type=\"application/json\" id=\"data\">";

int page_write_profile(const struct profile *profile, const struct profile_json_options *options,
	struct output *output)
{
	int r;

	write_head(output, true);
	r = write_data(output, data_tag, profile, options);
	if (r < 0)
		return r;
	write_foot(output);
	return 0;
}

int page_write_difference(const struct profile_difference *difference,
	const char *const titles[DIFFERENCE_SIDE_COUNT], enum frame_detail detail,
	struct output *output)
{
	const bool is_by_time = difference->whole == DIFFERENCE_BY_TIME;
	int r = 0;

	write_head(output, true);
	for (enum difference_side i = 0; r == 0 && i < DIFFERENCE_SIDE_COUNT; i++) {
		const struct profile_json_options options = { .title = titles[i],
			.detail = detail };

		r = write_data(output,
			i == DIFFERENCE_COMPARED ? data_tag
			: is_by_time
				? "<script type=\"application/json\" id=\"base\" data-by=\"time\">"
				: "<script type=\"application/json\" id=\"base\" "
				  "data-by=\"total\">",
			difference->sides[i], &options);
	}
	if (r < 0)
		return r;
	write_foot(output);
	return 0;
}
