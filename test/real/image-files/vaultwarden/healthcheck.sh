#!/bin/sh
exec wget -q -O /dev/null "http://127.0.0.1:${ROCKET_PORT:-80}/alive"
