/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_knob.h"

#include <string.h>

static const char head[] =
	"# SPDX-License-Identifier: GPL-2.0-or-later\n"
	"#\n"
	"# Configuration of pilotlightd; see pilotlight.conf(5). Lines that begin with '#' show "
	"the\n"
	"# defaults. Put changes into drop-in files, which package updates leave alone:\n"
	"# " CONFIG_FILE ".d/*.conf. They are read after this file, in the\n"
	"# order of their names. Check them with `pilotlightd --check`, then apply them with\n"
	"# `systemctl reload pilotlightd`.\n";

static void print_list(
	const struct config_knob *knob, const struct config *config, struct output *output)
{
	const struct config_list *list =
		(const struct config_list *)((const char *)config + knob->offset);

	if (list->count == 0)
		output_printf(output, "#%s=\n", knob->key);
	for (size_t i = 0; i < list->count; i++)
		output_printf(output, "%s=%s\n", knob->key, list->items[i]);
}

static void print_value(
	const struct config_knob *knob, const struct config_origin *origin, struct output *output)
{
	output_printf(output, "%s%s=%s\n", origin->text ? "" : "#", knob->key,
		origin->text ? origin->text : knob->default_text);
}

/* An example if `sink` is NULL. */
static void print_sink(const struct config_sink *sink, struct output *output)
{
	static const struct config_origin unset = { 0 };

	if (sink)
		output_printf(output, "\n[sink %s]\n", sink->name);
	else
		output_string(output,
			"\n# A section for each receiver of profiles, with a name of your choice.\n"
			"#[sink example]\n");
	for (size_t i = 0; i < config_sink_knob_count; i++) {
		if (i > 0)
			output_char(output, '\n');
		output_printf(output, "# %s\n", config_sink_knobs[i].help);
		print_value(&config_sink_knobs[i], sink ? &sink->origins[i] : &unset, output);
	}
}

void config_print(const struct config *config, struct output *output)
{
	const char *section = "";

	output_string(output, head);
	for (size_t i = 0; i < config_knob_count; i++) {
		const struct config_knob *knob = &config_knobs[i];

		if (strcmp(knob->section, section) != 0)
			output_printf(output, "\n[%s]\n", knob->section);
		else
			output_char(output, '\n');
		section = knob->section;
		output_printf(output, "# %s\n", knob->help);
		if (config_knob_is_list(knob))
			print_list(knob, config, output);
		else
			print_value(knob, &config->origins[i], output);
	}
	for (size_t i = 0; i < config->sink_count; i++)
		print_sink(&config->sinks[i], output);
	if (config->sink_count == 0)
		print_sink(NULL, output);
}
