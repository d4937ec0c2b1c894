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

void config_print(const struct config *config, struct output *output)
{
	const char *section = "";

	output_string(output, head);
	for (size_t i = 0; i < config_knob_count; i++) {
		const struct config_knob *knob = &config_knobs[i];
		const char *text = config->origins[i].text;

		if (strcmp(knob->section, section) != 0)
			output_printf(output, "\n[%s]\n", knob->section);
		else
			output_char(output, '\n');
		section = knob->section;
		output_printf(output, "# %s\n", knob->help);
		if (config_knob_is_list(knob))
			print_list(knob, config, output);
		else
			output_printf(output, "%s%s=%s\n", text ? "" : "#", knob->key,
				text ? text : knob->default_text);
	}
}
