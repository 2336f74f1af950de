#!/bin/bash
# The container runs this script before the manager starts. It replaces package defaults that are for a standalone host. Other settings in
# /var/ossec/etc/ossec.conf are not changed.
set -eu
conf=/var/ossec/etc/ossec.conf

# Port 1514 is published for UDP; TCP remains for agents on this host's networks.
sed -i '/<remote>/,/<\/remote>/ s|<protocol>tcp</protocol>|<protocol>tcp,udp</protocol>|' "$conf"

# Address of the indexer, and the certificates that it requires.
sed -i '/<indexer>/,/<\/indexer>/ {
  s|<host>.*</host>|<host>https://wazuh.indexer:9200</host>|
  s|<ca>.*</ca>|<ca>/etc/ssl/wazuh/root-ca-manager.pem</ca>|
  s|<certificate>.*</certificate>|<certificate>/etc/ssl/wazuh/wazuh.manager.pem</certificate>|
  s|<key>.*</key>|<key>/etc/ssl/wazuh/wazuh.manager-key.pem</key>|
}' "$conf"
