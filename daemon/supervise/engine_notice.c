/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_notice.h"

#include "broker/broker_socket.h"

#include <errno.h>
#include <string.h>

int engine_notice_check(const void *bytes, size_t size)
{
	struct pilotlight_notice notice;

	if (size != sizeof(notice))
		return -EBADMSG;
	memcpy(&notice, bytes, sizeof(notice));
	if (notice.version != PILOTLIGHT_NOTICE_VERSION || notice.kind < PILOTLIGHT_NOTICE_READY ||
		notice.kind >= PILOTLIGHT_NOTICE_KINDS)
		return -EBADMSG;
	if (!memchr(notice.text, '\0', sizeof(notice.text)))
		return -EBADMSG;
	return notice.kind == PILOTLIGHT_NOTICE_STATUS || notice.text[0] == '\0' ? 0 : -EBADMSG;
}

int engine_notice_receive(int fd, struct pilotlight_notice *ret_notice)
{
	struct pilotlight_notice notice;
	struct broker_message message;
	int r = broker_socket_receive(fd, &notice, sizeof(notice), 0, &message);

	if (r < 0)
		return r;
	if (message.has_lost_fds)
		return -EBADMSG;
	r = engine_notice_check(&notice, message.size);
	if (r == 0)
		*ret_notice = notice;
	return r;
}
