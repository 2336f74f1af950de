#!/bin/sh
# The part of the upstream image's entrypoint that stacks rely on: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB (each also as *_FILE),
# POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD, /docker-entrypoint-initdb.d, started as root or as another user.
set -eu

from_file() {
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -n "$value" ] && [ -n "$file" ]; then echo "error: both $1 and $1_FILE are set (but are exclusive)" >&2; exit 1; fi
  [ -z "$file" ] || value=$(cat "$file")
  [ -n "$value" ] || value=${2:-}
  eval "$1=\$value"
  unset "$1_FILE"
}

if [ "${1#-}" != "$1" ]; then set -- postgres "$@"; fi
[ "$1" = postgres ] || exec "$@"

mkdir -p "$PGDATA" /var/run/postgresql
if [ "$(id -u)" = 0 ]; then
  chown -R postgres:postgres "$PGDATA" /var/run/postgresql
  chmod 0700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  from_file POSTGRES_PASSWORD
  from_file POSTGRES_USER postgres
  from_file POSTGRES_DB "$POSTGRES_USER"
  method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
  if [ -z "$POSTGRES_PASSWORD" ] && [ "$method" != trust ]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    echo '       You must specify POSTGRES_PASSWORD to a non-empty value for the superuser.' >&2
    exit 1
  fi
  password=$(mktemp)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password"
  initdb --username="$POSTGRES_USER" --pwfile="$password" ${POSTGRES_INITDB_ARGS:-}
  rm -f "$password"
  printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"

  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
  if [ "$POSTGRES_DB" != postgres ]; then
    printf 'CREATE DATABASE :"name";\n' | psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$POSTGRES_USER" -d postgres --set name="$POSTGRES_DB"
  fi
  for script in /docker-entrypoint-initdb.d/*; do
    case $script in
      *.sh) . "$script" ;;
      *.sql) psql -v ON_ERROR_STOP=1 --no-psqlrc -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$script" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
  echo 'PostgreSQL init process complete; ready for start up.'
fi
exec "$@"
