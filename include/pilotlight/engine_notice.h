/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an engine tells its supervisor, over an AF_UNIX SOCK_SEQPACKET pair: messages of fixed size,
 * which are not answered. The engine sends without waiting: one that says too much is not heard for
 * a while (supervisor.h), and what then finds no room is lost. A notice of another size, version or
 * kind, with a descriptor, or with a text that should be none or has no end, is passed over. What
 * the supervisor has to say comes as signals: SIGHUP to read the configuration again, SIGTERM to
 * seal the open window and end.
 */
#pragma once

#include <stdint.h>

enum { PILOTLIGHT_NOTICE_VERSION = 1, PILOTLIGHT_NOTICE_TEXT_BYTES = 240 };

enum pilotlight_notice_kind {
	PILOTLIGHT_NOTICE_READY = 1, /* it samples; or the reload is done */
	PILOTLIGHT_NOTICE_RELOADING,
	PILOTLIGHT_NOTICE_STATUS,   /* `text` for `systemctl status` */
	PILOTLIGHT_NOTICE_PROGRESS, /* it has drained, and so is alive: feeds the watchdog */
	PILOTLIGHT_NOTICE_KINDS,
};

struct pilotlight_notice {
	uint32_t version;
	uint32_t kind;
	char text[PILOTLIGHT_NOTICE_TEXT_BYTES]; /* with a NUL; "" but for STATUS */
};

_Static_assert(sizeof(struct pilotlight_notice) == 248, "notice");

/* How an engine ends. Anything else is a crash, and the next one is started after a pause. */
enum {
	PILOTLIGHT_ENGINE_EXIT_DONE = 0,    /* as it was told to */
	PILOTLIGHT_ENGINE_EXIT_FAILED = 1,  /* before it was ready: it has said why */
	PILOTLIGHT_ENGINE_EXIT_MISTAKE = 2, /* likewise, as the configuration is wrong */
	/* Its window is sealed, and it wants to begin anew: its tables are full, or maps of another
	 * size are needed. The next one is started at once. */
	PILOTLIGHT_ENGINE_EXIT_RENEW = 75,
};
