/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page as one HTML file without references: the style, the scripts, and either a profile, or
 * none. Without one, its scripts ask the service that sent it.
 *
 * Its Content-Security-Policy lets a browser run these scripts alone, which it knows by their
 * hashes, and load nothing from elsewhere. Names are in the profile's JSON and never markup.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "query/profile_difference.h"
#include "render/profile_json.h"

enum { PAGE_POLICY_BYTES = 512 };

/*
 * The policy of the page that a service sends, for the header field; `asks_service`: it may ask
 * the service for profiles. Returns `policy`.
 */
const char *page_policy_format(bool asks_service, char policy[PAGE_POLICY_BYTES]);

/* Writes the page without a profile. */
void page_write(struct output *output);

/*
 * Writes the page with a profile inside, or with the two of a difference, of `titles`. Returns 0,
 * -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report.
 */
int page_write_profile(const struct profile *profile, const struct profile_json_options *options,
	struct output *output);
int page_write_difference(const struct profile_difference *difference,
	const char *const titles[DIFFERENCE_SIDE_COUNT], enum frame_detail detail,
	struct output *output);
