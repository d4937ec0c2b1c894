/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/sealing.h"

static void forget_future(uint64_t *time_ns, uint64_t now_ns)
{
	if (*time_ns > now_ns)
		*time_ns = 0;
}

void sealing_want(struct sealing *sealing, uint64_t until_ns, uint64_t now_ns)
{
	forget_future(&sealing->wanted_ns, now_ns);
	forget_future(&sealing->asked_ns, now_ns);
	forget_future(&sealing->answered_ns, now_ns);
	if (until_ns > now_ns)
		until_ns = now_ns;
	if (until_ns > sealing->wanted_ns)
		sealing->wanted_ns = until_ns;
}

bool sealing_is_due(const struct sealing *sealing)
{
	return sealing->wanted_ns > sealing->asked_ns;
}

void sealing_ask(struct sealing *sealing, uint64_t now_ns)
{
	if (sealing->wanted_ns > now_ns)
		sealing->wanted_ns = now_ns;
	sealing->asked_ns = now_ns;
}

bool sealing_is_awaited(const struct sealing *sealing)
{
	return sealing->wanted_ns > sealing->answered_ns;
}

void sealing_answer(struct sealing *sealing, uint64_t end_ns)
{
	/* One that is dropped at once may be before others that are being written. */
	if (end_ns > sealing->answered_ns)
		sealing->answered_ns = end_ns;
}
