#!/bin/sh
# As upstream: arguments are the server's, which lets in who comes over the network (upstream's is built so), and root gives way to the user redis after the data folder is his.
set -e
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then set -- redis-server "$@"; fi
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . \! -user redis -exec chown redis '{}' +
  exec setpriv --reuid=redis --regid=redis --clear-groups "$0" "$@"
fi
if [ "$1" = redis-server ]; then set -- "$@" --protected-mode no; fi
exec "$@"
