#!/bin/sh
# As upstream: without a user nobody gets in.
set -e
if [ -n "$DISABLE_AUTHENTICATION" ]; then
  OPTIONS="--no-auth $OPTIONS"
elif [ ! -s "$PASSWORD_FILE" ]; then
  (umask 027 && touch "$PASSWORD_FILE")
  echo '**WARNING** No user exists: create_user makes one'
fi
# Several flags stand in one variable.
exec rest-server --path "$DATA_DIRECTORY" --htpasswd-file "$PASSWORD_FILE" $OPTIONS
