import { componentFiles } from './deploy-fixture.ts';

/** What the catalog's VPN gateway declares, with a program that answers as its control server does and no tunnel behind it. Its image is `local/ID`. */
export function gatewayFiles(id: string, port: number): Record<string, string> {
  return componentFiles(
    id,
    `services:
  front:
    image: local/${id}:latest
    restart: unless-stopped
    command: ["sh", "-c", "mkdir -p /www/v1/publicip; echo '{\\"public_ip\\":\\"198.51.100.7\\",\\"country\\":\\"Sweden\\"}' >/www/v1/publicip/ip; trap 'exit 0' TERM; httpd -f -p 8000 -h /www & wait"]
    environment:
      CONTROL_API_KEY: "\${CONTROL_API_KEY:?kept by Quarterdeck, use quarterdeck compose}"
      COUNTRY: "\${COUNTRY:-Sweden}"
    ports:
      - "\${CONTROL_BIND:-127.0.0.1}:\${CONTROL_PORT:-${port}}:8000/tcp"
`,
    `ports: {control: {role: control server, exposure: loopback}}
fields:
  - {name: control API key, type: secret-string, secret: true, required: true, target: environment, env: CONTROL_API_KEY, generator: "alphanumeric:32"}
  - {name: country, type: string, target: environment, env: COUNTRY, default: Sweden}
api: {name: gluetun, port: control}
calls:
  publicaddress:
    title: Address
    reads: true
    auth: "header X-API-Key: <CONTROL_API_KEY>"
    inputs: {CONTROL_API_KEY: {type: secret-string, description: key, secret: true}}
    http: {method: GET, port: control, path: /v1/publicip/ip, headers: {X-API-Key: <CONTROL_API_KEY>}}
`,
  );
}
