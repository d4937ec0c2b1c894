/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An id of this host for receivers of profiles, which stays the same over restarts and changes of
 * its name. machine-id(5) is not for other hosts to see, so this is a keyed hash of it, as
 * sd_id128_get_machine_app_specific(3) makes it: `systemd-id128 machine-id --app-specific=` with
 * HOST_ID_APPLICATION prints the same.
 */
#pragma once

#define HOST_ID_APPLICATION "5d0bd7f2a4f84d3c8f6a1be2c7a94e10"

enum { HOST_ID_BYTES = 33 };

/*
 * `path` is that of the machine's id; NULL: /etc/machine-id. Returns 0 and 32 hexadecimal digits;
 * -EBADMSG the file has no id, such as on a host that has not booted; or -errno of reading it.
 */
int host_id_read(const char *path, char id[HOST_ID_BYTES]);
