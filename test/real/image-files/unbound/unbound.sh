#!/bin/sh
# As upstream where the configuration is given: its folder may be read-only, the key of the root zone is fetched into var, and the server stays
# in the foreground.
mkdir -p /opt/unbound/etc/unbound/dev 2>/dev/null
mkdir -p -m 700 /opt/unbound/etc/unbound/var
chown _unbound:_unbound /opt/unbound/etc/unbound/var
unbound-anchor -a /opt/unbound/etc/unbound/var/root.key
chown _unbound:_unbound /opt/unbound/etc/unbound/var/root.key
exec unbound -d -c /opt/unbound/etc/unbound/unbound.conf
