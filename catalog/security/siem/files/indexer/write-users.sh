#!/bin/bash
# Runs before the indexer, in a container of the same image, and writes the two required users. Passwords are read from the environment, and only
# their hashes are written. The indexer loads the file at its first start, when it creates its security index.
set -eu
home=/usr/share/wazuh-indexer
export OPENSEARCH_JAVA_HOME=$home/jdk

# Prints the bcrypt hash of the password in the named variable.
hash_of() {
  bash "$home/plugins/opensearch-security/tools/hash.sh" -env "$1" | grep -o '\$2[aby]\$[0-9]*\$[./A-Za-z0-9]*' | tail -n 1
}

admin=$(hash_of INDEXER_PASSWORD)
dashboard=$(hash_of DASHBOARD_PASSWORD)
[ -n "$admin" ] && [ -n "$dashboard" ]

umask 077
cat > "$home/opensearch-security/internal_users.yml.new" <<USERS
_meta:
  type: internalusers
  config_version: 2
admin:
  hash: "$admin"
  reserved: true
  backend_roles:
    - admin
  description: Administrator of the Wazuh indexer and dashboard
kibanaserver:
  hash: "$dashboard"
  reserved: true
  description: Account of the Wazuh dashboard at the indexer
USERS
mv "$home/opensearch-security/internal_users.yml.new" "$home/opensearch-security/internal_users.yml"
