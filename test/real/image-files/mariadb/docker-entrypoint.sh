#!/bin/sh
# The part of the upstream image's entrypoint that stacks rely on: MARIADB_ROOT_PASSWORD, MARIADB_DATABASE, MARIADB_USER, MARIADB_PASSWORD
# (each also as MYSQL_*), /docker-entrypoint-initdb.d, and a user for the health check. Nothing is upgraded.
set -eu
if [ "${1#-}" != "$1" ]; then set -- mariadbd "$@"; fi
[ "$1" = mariadbd ] || exec "$@"

data=/var/lib/mysql socket=/run/mysqld/mysqld.sock
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data" /run/mysqld
  find "$data" /run/mysqld \! -user mysql -exec chown mysql:mysql '{}' +
  exec setpriv --reuid=mysql --regid=mysql --clear-groups "$0" "$@"
fi

quoted() { printf %s "$1" | sed -e 's/\\/\\\\/g' -e "s/'/''/g"; }
if [ ! -d "$data/mysql" ]; then
  root=${MARIADB_ROOT_PASSWORD:-${MYSQL_ROOT_PASSWORD:-}}
  database=${MARIADB_DATABASE:-${MYSQL_DATABASE:-}}
  user=${MARIADB_USER:-${MYSQL_USER:-}}
  password=${MARIADB_PASSWORD:-${MYSQL_PASSWORD:-}}
  if [ -z "$root" ]; then echo 'Database is uninitialized and password option is not specified' >&2; exit 1; fi
  mariadb-install-db --datadir="$data" --rpm --auth-root-authentication-method=normal --skip-test-db --skip-log-bin \
    --default-time-zone=SYSTEM --enforce-storage-engine= >/dev/null

  "$@" --skip-networking --socket="$socket" --default-time-zone=SYSTEM &
  server=$!
  until mariadb-admin --user=root --socket="$socket" ping >/dev/null 2>&1; do kill -0 "$server"; sleep 0.2; done
  health=$(head -c 24 /dev/urandom | base64 | tr -d '+/=')
  {
    echo "create user 'root'@'%' identified by '$(quoted "$root")'; grant all on *.* to 'root'@'%' with grant option;"
    for host in localhost 127.0.0.1 ::1; do echo "create user 'healthcheck'@'$host' identified by '$health';"; done
    [ -z "$database" ] || echo "create database if not exists \`$database\`;"
    if [ -n "$user" ]; then
      echo "create user '$user'@'%' identified by '$(quoted "$password")';"
      [ -z "$database" ] || echo "grant all on \`$(echo "$database" | sed 's/_/\\_/g')\`.* to '$user'@'%';"
    fi
    echo "alter user 'root'@'localhost' identified by '$(quoted "$root")';"
  } | mariadb --user=root --socket="$socket"
  (umask 077 && printf '[mariadb-client]\nuser=healthcheck\npassword=%s\nprotocol=tcp\n' "$health" >"$data/.my-healthcheck.cnf")
  export MYSQL_PWD="$root"
  for script in /docker-entrypoint-initdb.d/*; do
    case $script in
      *.sh) . "$script" ;;
      *.sql) mariadb --user=root --socket="$socket" ${database:+--database="$database"} <"$script" ;;
    esac
  done
  unset MYSQL_PWD
  kill "$server"
  wait "$server"
  echo 'MariaDB init process done. Ready for start up.'
fi
exec "$@"
