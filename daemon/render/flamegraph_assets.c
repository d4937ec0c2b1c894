/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_assets.h"

/* The paths are relative to the top of the checkout, where the compiler runs. */
#define PART(file) ".incbin \"daemon/render/" file "\"\n"
#define EMBED(name, parts)                                                  \
	__asm__(".pushsection .rodata\n"                                    \
		".global " #name "\n"                                       \
		".global " #name "_end\n" #name ":\n" parts #name "_end:\n" \
		".byte 0\n"                                                 \
		".popsection\n")

EMBED(flamegraph_css, PART("flamegraph.css"));
EMBED(flamegraph_js, PART("flamegraph_frames.js") PART("flamegraph_text.js")
			     PART("flamegraph_layout.js") PART("flamegraph.js"));
