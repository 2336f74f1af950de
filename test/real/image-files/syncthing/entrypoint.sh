#!/bin/sh
# As in the upstream image: the home belongs to PUID:PGID, and so does the program.
set -eu
umask "${UMASK:-022}"
if [ "$(id -u)" != 0 ]; then exec "$@"; fi
chown "$PUID:$PGID" "$HOME"
exec setpriv --reuid="$PUID" --regid="$PGID" --clear-groups env HOME="$HOME" "$@"
