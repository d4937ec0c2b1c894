#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Attacks by an unprivileged user, eight at once for four seconds, with the assertions that hold on a busy machine, too.
ABUSE_CHECK=yes ABUSE_USUAL_SECONDS=5 exec "$(dirname "$0")/../abuse/abuse.sh"
