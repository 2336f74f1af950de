# Configuration of the server. It names no secret: the unseal keys belong to their holders, tokens to the keychain.

storage "raft" {
  path    = "/openbao/data"
  node_id = "node-1"
}

listener "tcp" {
  address = "0.0.0.0:8200"

  # TLS ends at the reverse proxy; the port is published on 127.0.0.1 alone. Without a proxy in front set this to false and
  # give tls_cert_file and tls_key_file.
  tls_disable = true
}

# How clients and other nodes reach this one. BAO_API_ADDR and BAO_CLUSTER_ADDR override these.
api_addr     = "http://openbao:8200"
cluster_addr = "https://openbao:8201"

ui = true
