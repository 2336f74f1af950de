#!/bin/bash
# Run by the manager's container before the manager starts. It changes what the package has for a host of its own; everything else in
# /var/ossec/etc/ossec.conf stays as the operator wrote it.
set -eu
conf=/var/ossec/etc/ossec.conf

# Port 1514 is published for udp; tcp stays for agents on this machine's networks.
sed -i '/<remote>/,/<\/remote>/ s|<protocol>tcp</protocol>|<protocol>tcp,udp</protocol>|' "$conf"

# Where the indexer is, and the certificates that it wants to see.
sed -i '/<indexer>/,/<\/indexer>/ {
  s|<host>.*</host>|<host>https://wazuh.indexer:9200</host>|
  s|<ca>.*</ca>|<ca>/etc/ssl/wazuh/root-ca-manager.pem</ca>|
  s|<certificate>.*</certificate>|<certificate>/etc/ssl/wazuh/wazuh.manager.pem</certificate>|
  s|<key>.*</key>|<key>/etc/ssl/wazuh/wazuh.manager-key.pem</key>|
}' "$conf"
