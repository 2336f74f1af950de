#!/bin/sh
# As upstream: what a hard end left is taken away, and all arguments are the server's.
set -e
rm -f "${KEA_PIDFILE_DIR:-/run/kea}"/*.pid
exec "/usr/local/sbin/kea-$KEA_EXECUTABLE" "$@"
