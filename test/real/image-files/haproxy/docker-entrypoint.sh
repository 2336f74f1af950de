#!/bin/sh
# As upstream: options are haproxy's, which runs as a master that stays in the foreground.
set -e
if [ "${1#-}" != "$1" ]; then set -- haproxy "$@"; fi
if [ "$1" = haproxy ]; then
  shift
  set -- haproxy -W -db "$@"
fi
exec "$@"
