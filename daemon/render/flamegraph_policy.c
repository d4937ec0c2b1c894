/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_policy.h"

#include "base/array.h"
#include "render/content_source.h"
#include "render/difference_svg.h"
#include "render/flamegraph_assets.h"

#include <stdio.h>
#include <string.h>

/* The element's text: a newline, an asset and perhaps more (flamegraph_page.c). */
static const char *format_source(const char *asset, const char *asset_end, const char *more,
	char source[CONTENT_SOURCE_BYTES])
{
	static const char newline[] = "\n";
	const struct content_part parts[] = {
		{ newline, newline + 1 },
		{ asset, asset_end },
		{ more, more + strlen(more) },
	};

	return content_source_format(parts, ARRAY_SIZE(parts), source);
}

const char *flamegraph_policy_format(char policy[FLAMEGRAPH_POLICY_BYTES])
{
	char script[CONTENT_SOURCE_BYTES], style[CONTENT_SOURCE_BYTES],
		difference[CONTENT_SOURCE_BYTES];

	(void)snprintf(policy, FLAMEGRAPH_POLICY_BYTES,
		"default-src 'none'; script-src %s; style-src %s %s; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'",
		format_source(flamegraph_js, flamegraph_js_end, "", script),
		format_source(flamegraph_css, flamegraph_css_end, "", style),
		format_source(flamegraph_css, flamegraph_css_end, difference_svg_css, difference));
	return policy;
}
