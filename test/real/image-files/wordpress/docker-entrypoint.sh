#!/bin/sh
# As upstream: the program is copied into a volume that does not have it, with a configuration that reads the environment.
set -eu
case ${1:-} in apache2*) ;; *) exec "$@" ;; esac
cd /var/www/html
if [ ! -e index.php ] && [ ! -e wp-includes/version.php ]; then
  echo "WordPress not found in $PWD - copying now..." >&2
  cp -a /usr/src/wordpress/. .
  chown -R www-data:www-data .
fi
if [ ! -e wp-config.php ]; then
  cp /usr/src/wordpress/wp-config-docker.php wp-config.php
  chown www-data:www-data wp-config.php
fi
exec "$@"
