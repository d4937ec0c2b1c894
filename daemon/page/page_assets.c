/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/page_assets.h"

/* The paths are relative to the top of the checkout, where the compiler runs. */
#define EMBED(name, path)                                \
	extern const char name[], name##_end[];          \
	__asm__(".pushsection .rodata\n"                 \
		".global " #name "\n"                    \
		".global " #name "_end\n" #name ":\n"    \
		".incbin \"" path "\"\n" #name "_end:\n" \
		".byte 0\n"                              \
		".popsection\n")

EMBED(page_css, "daemon/page/page.css");
EMBED(page_model_js, "daemon/page/model.js");
EMBED(page_flame_js, "daemon/page/flame.js");
EMBED(page_strip_js, "daemon/page/strip.js");
EMBED(page_heat_js, "daemon/page/heat.js");
EMBED(page_text_js, "daemon/page/text.js");
EMBED(page_address_js, "daemon/page/address.js");
EMBED(page_service_js, "daemon/page/service.js");
EMBED(page_menu_js, "daemon/page/menu.js");
EMBED(page_table_js, "daemon/page/table.js");
EMBED(page_js, "daemon/page/page.js");

const struct content_part page_style = { page_css, page_css_end };
const struct content_part page_scripts[PAGE_SCRIPTS] = {
	{ page_model_js, page_model_js_end },
	{ page_flame_js, page_flame_js_end },
	{ page_strip_js, page_strip_js_end },
	{ page_heat_js, page_heat_js_end },
	{ page_text_js, page_text_js_end },
	{ page_address_js, page_address_js_end },
	{ page_service_js, page_service_js_end },
	{ page_menu_js, page_menu_js_end },
	{ page_table_js, page_table_js_end },
	{ page_js, page_js_end },
};
