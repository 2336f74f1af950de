import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ComposeEditor, secretFilesOf } from './compose-editor.ts';

const shared = `# Two that share much.
x-common: &common
  restart: unless-stopped
x-env: &env
  DB_PASSWORD: "\${DB_PASSWORD:?kept by Quarterdeck}"
  GATEWAY: "\${GATEWAY:-host.containers.internal}"
services:
  app: # the page
    <<: *common
    image: team/app:1
    environment: *env
  worker:
    <<: *common
    image: team/app:1
    environment:
      <<: *env
      QUEUE: "\${DB_PASSWORD:?kept by Quarterdeck}"
`;

interface Compose {
  services: Record<
    string,
    { environment?: Record<string, string>; networks?: Record<string, unknown>; env_file?: string[]; restart?: string }
  >;
}

describe('a compose file with anchors', () => {
  it('stays to the letter where nothing has to differ', () => {
    const editor = new ComposeEditor(shared, 'compose.yaml');
    editor.setImage('app', 'team/app:1');
    expect(editor.text()).toBe(shared);
  });

  it('is changed in one service without the others', () => {
    const editor = new ComposeEditor(shared, 'compose.yaml');
    editor.join('quarterdeck-app', [{ service: 'app', aliases: ['app'] }]);
    const text = editor.text();
    expect(text).toContain('# the page');
    const { services } = parse(text) as Compose;
    expect(services['app']).toMatchObject({ restart: 'unless-stopped', networks: { 'quarterdeck-app': { aliases: ['app'] } } });
    expect(services['worker']).toMatchObject({
      restart: 'unless-stopped',
      environment: { GATEWAY: '${GATEWAY:-host.containers.internal}' },
    });
    expect(services['worker']).not.toHaveProperty('networks');
  });

  it('has its gateway named anew wherever it stands', () => {
    const editor = new ComposeEditor(shared, 'compose.yaml');
    editor.renameInEnvironment(/host\.containers\.internal/g, 'host-gateway');
    expect(editor.servicesThatName('host-gateway', {}, {})).toEqual(['app', 'worker']);
  });

  it('shows podman-compose no secret, and asks for none that it is not given', () => {
    const editor = new ComposeEditor(shared, 'compose.yaml');
    editor.moveSecrets(new Set(['DB_PASSWORD']), {});
    const text = editor.text();
    expect(secretFilesOf(text)).toEqual({
      app: { DB_PASSWORD: '${DB_PASSWORD}' },
      worker: { DB_PASSWORD: '${DB_PASSWORD}', QUEUE: '${DB_PASSWORD}' },
    });
    expect(text).not.toContain('kept by Quarterdeck}"');
    const { services } = parse(text) as Compose;
    expect(services['app']?.environment).toEqual({ GATEWAY: '${GATEWAY:-host.containers.internal}' });
    expect(services['worker']?.env_file).toHaveLength(1);
  });
});
