#!/bin/sh
# As upstream: folders for the logs and the cache are made and given to the user proxy, and the logs are what the container says.
set -e
for folder in /var/log/squid /var/spool/squid /run; do
  mkdir -p "$folder"
  chown proxy:proxy "$folder"
done
for log in access cache; do
  : >>"/var/log/squid/$log.log"
  chown proxy:proxy "/var/log/squid/$log.log"
done
tail -F /var/log/squid/access.log 2>/dev/null &
tail -F /var/log/squid/cache.log 2>/dev/null &
squid -Nz -f /etc/squid/squid.conf
exec squid "$@"
