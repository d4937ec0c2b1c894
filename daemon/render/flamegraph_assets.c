/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_assets.h"

/* The paths are relative to the top of the checkout, where the compiler runs. */
#define EMBED(name, path)                                \
	__asm__(".pushsection .rodata\n"                 \
		".global " #name "\n"                    \
		".global " #name "_end\n" #name ":\n"    \
		".incbin \"" path "\"\n" #name "_end:\n" \
		".byte 0\n"                              \
		".popsection\n")

EMBED(flamegraph_css, "daemon/render/flamegraph.css");
EMBED(flamegraph_js, "daemon/render/flamegraph.js");
