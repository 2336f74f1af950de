#!/bin/sh
# Starts the engine as the upstream image's script of the same name does, from what Debian packages and without the internet: no central
# API, the hub that the package carries.
set -e

config=/etc/crowdsec

# A folder that was bind-mounted starts empty, a volume starts with what the image has.
for item in /staging/etc/crowdsec/* /staging/etc/crowdsec/.[!.]*; do
  [ -e "$item" ] && [ ! -e "$config/${item##*/}" ] && cp -a "$item" "$config/"
done
mkdir -p /var/lib/crowdsec/data "$config/acquis.d"
for item in /staging/var/lib/crowdsec/data/*; do
  [ -e "/var/lib/crowdsec/data/${item##*/}" ] || cp -a "$item" /var/lib/crowdsec/data/
done

# enable KIND NAME: what `cscli KIND install NAME` does, with the items that it needs.
enable() {
  local file below link kind item
  file=$(find "$config/hub/$1" -path "*/$2.y*ml" | head -n 1)
  [ -n "$file" ] || { echo "no $1 $2 in the hub that is packaged" >&2; return 1; }
  below=${file#"$config/hub/"}
  link=$config/$(dirname "$(dirname "$below")")/$(basename "$file")
  [ -e "$link" ] && return 0
  mkdir -p "$(dirname "$link")"
  ln -s "$file" "$link"
  [ "$1" = collections ] || return 0
  for kind in parsers scenarios postoverflows collections; do
    for item in $(sed -n "/^$kind:/,/^[a-z_]*:/s/^ *- *\([^ #]*\).*/\1/p" "$file"); do enable "$kind" "$item"; done
  done
}

if [ -z "$DISABLE_AGENT" ] || [ "$DISABLE_AGENT" = false ]; then
  for collection in crowdsecurity/linux $COLLECTIONS; do enable collections "$collection"; done
fi

if [ ! -s "$config/local_api_credentials.yaml" ]; then
  cscli --error machines add "${CUSTOM_HOSTNAME:-localhost}" --auto --force
fi

exec crowdsec -c "$config/config.yaml" "$@"
