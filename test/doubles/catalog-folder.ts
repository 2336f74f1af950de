import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeOwnFile } from '../../source/config/own-files.ts';

/** A small entry without anything wrong; tests break it by replacing a piece of its text. */
export const soundComponent = `id: notes
group: productivity
kind: Note keeper
deploy: compose
product: {name: Notes}

services:
  app: {main: true, role: server}
  db: {role: database}

ports:
  web: {role: web page, exposure: loopback, web: true}

fields:
  - {name: APP_SECRET, type: secret-string, secret: true, target: environment, generator: "hex:16"}
  - {name: SIGNUP, type: string-boolean, target: environment, default: "true"}
  - {name: DATABASE_URL, type: database-url, secret: true, target: environment}
  - {name: theme, type: enum, enum: [dark, light], target: config, default: dark, excludes: [colours]}
  - {name: colours, type: string, target: config}

volumes:
  /data: {description: everything}

backup:
  - {id: data, volume: data, method: stop}

calls:
  health:
    title: Is it up?
    reads: true
    http: {method: GET, port: web, path: /health}
  add:
    title: Add a note
    inputs:
      text: {type: string, description: the note}
    http: {method: POST, port: web, path: /notes, json: {text: <text>}}
  count:
    title: How many notes?
    reads: true
    exec: {service: app, argv: [notes, count]}

probe:
  call: health
  states:
    - when: 'status == 200 && has(json.ready) && !json.ready'
      state: loading {json.percent} %
      severity: busy

checks:
  - id: many-notes
    calls: [count]
    when: 'calls.count.ok && int(calls.count.text) > 1000'
    level: notice
    message: There are many notes.
    remedy: Remove some.

operations:
  - {id: add-note, title: Add a note, call: add, right: operate}
`;

export const soundCompose = `services:
  app:
    image: notes/notes:latest
    restart: unless-stopped
    depends_on: [db]
    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-8300}:80"
    environment:
      APP_SECRET: "\${APP_SECRET:?kept by Quarterdeck}"
      SIGNUP: "\${SIGNUP:-true}"
      DATABASE_URL: "\${DATABASE_URL:?kept by Quarterdeck}"
    volumes:
      - data:/data
  db:
    image: postgres:16-alpine
    restart: unless-stopped
volumes:
  data: {}
`;

/** A catalog folder in a temporary place: path inside it to text. Remove it with the returned function. */
export async function catalogFolder(files: Readonly<Record<string, string>>): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'));
  for (const [path, text] of Object.entries(files)) await writeOwnFile(join(folder, path), text);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
