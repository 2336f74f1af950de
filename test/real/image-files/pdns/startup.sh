#!/bin/sh
# As the upstream image's start does: fills the templates named in TEMPLATE_FILES in from the environment, tells all of it to the log, and
# starts the server. Of the templates' language it knows {{ NAME }}.
set -eu
for name in $(echo "${TEMPLATE_FILES:-}" | tr ',' ' '); do
  target=/etc/powerdns/pdns.d/$name.conf
  awk '{
    while (match($0, /[{][{] *[A-Za-z0-9_]+ *[}][}]/)) {
      variable = substr($0, RSTART + 2, RLENGTH - 4)
      gsub(/ /, "", variable)
      $0 = substr($0, 1, RSTART - 1) ENVIRON[variable] substr($0, RSTART + RLENGTH)
    }
    print
  }' "/etc/powerdns/templates.d/$name.j2" >"$target"
  echo "Created $target with content:"
  cat "$target"
done
exec /usr/local/sbin/pdns_server --disable-syslog "$@"
